"""Figure 7: the estimated noise level in the simulation."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from plsdof._validation import Array
from plsdof.experiments.accuracy import per_dimension, tidy
from plsdof.experiments.checks import Check, Claim, repeated
from plsdof.experiments.draw_simulation import draw_noise
from plsdof.experiments.exhibit import Exhibit
from plsdof.experiments.simulation import Simulation, design

# The paper says "slightly" without a number.
SLIGHTLY = 1.5


def fig7(results: Simulation) -> Exhibit:
    """Reproduce Figure 7: estimated by true noise level."""
    rows = [row for row in tidy(results, results.noise_ratio) if row[2] != "CV"]
    return Exhibit(
        name="fig7",
        title="Figure 7: estimated noise level",
        caption=f"{design(results)} Estimated standard deviation of the noise divided by the true "
        "one, for the chosen model, on the training rows. Dashed line: the optimum 1.",
        columns=("dimension", "repeat", "method", "noise_ratio"),
        rows=rows,
        checks=tuple(_checks(results)),
        draw=partial(draw_noise, results),
    )


def _checks(results: Simulation) -> Iterator[Check]:
    seed = results.settings.seed
    for method in ("LANCZOS", "KRYLOV"):
        ratio = results.of(results.noise_ratio, method)
        claim = Claim(
            name=f"fig7-{method.lower()}-above",
            text=f"{method} slightly overestimates the noise level.",
            measure="mean over d of median sigma-hat / sigma",
            above=1.0,
            below=SLIGHTLY,
            note=f"By dimension: {per_dimension(results, _medians(ratio))}. "
            f'We call up to {SLIGHTLY} "slightly".',
        )
        yield repeated(claim, lambda sample: float(_medians(sample).mean()), ratio, seed)
    naive = results.of(results.noise_ratio, "NAIVE")
    by_dimension = f"By dimension: {per_dimension(results, _medians(naive))}."
    yield repeated(
        Claim(
            name="fig7-naive-below",
            text="NAIVE underestimates the noise level.",
            measure="largest over d of median sigma-hat / sigma",
            below=1.0,
            note=by_dimension,
        ),
        lambda sample: float(_medians(sample).max()),
        naive,
        seed,
    )
    if len(results.dimensions) > 1:
        yield repeated(
            Claim(
                name="fig7-naive-deteriorates",
                text="The estimate of NAIVE deteriorates for higher dimensions.",
                measure="median sigma-hat / sigma, largest d - smallest d",
                below=0.0,
                note=by_dimension,
            ),
            lambda sample: float(_medians(sample)[-1] - _medians(sample)[0]),
            naive,
            seed,
        )


def _medians(ratio: Array) -> Array:
    """Median by dimension."""
    return np.asarray(np.median(ratio, axis=0))
