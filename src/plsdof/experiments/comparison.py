"""Figures 2 and 3: PLS, principal components and ridge regression on ozone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from plsdof._validation import Array
from plsdof.cross_validation import cross_validate
from plsdof.experiments.checks import Check, Claim, fixed, repeated
from plsdof.experiments.draw_data import draw_comparison, draw_training
from plsdof.experiments.exhibit import Exhibit
from plsdof.experiments.settings import Settings, generator
from plsdof.experiments.sources import Source
from plsdof.experiments.work import Values
from plsdof.methods import pcr_path, pls_path, ridge_path
from plsdof.path import Path

REGRESSIONS: dict[str, Callable[..., Path]] = {
    "PLS": pls_path,
    "PCR": pcr_path,
    "ridge": ridge_path,
}
METHODS = tuple(REGRESSIONS)


@dataclass(frozen=True, kw_only=True)
class Split:
    """One random split of ozone."""

    repeat: int

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"r{self.repeat:04d}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """All splits together; R repeats, methods in the order PLS, PCR, ridge.

    Attributes
    ----------
    test_error : (R, 3) array
        Mean squared error of prediction of the model chosen by cross-validation.
    parameter : (R, 3) array
        Its number of components, for ridge its penalty.
    dof : (R, 3) array
        Its Degrees of Freedom.
    training : (R, 2, 2, M+1) array
        For PLS and PCR: training error and Degrees of Freedom for m = 0..M components.
    settings : Settings
    """

    test_error: Array
    parameter: Array
    dof: Array
    training: Array
    settings: Settings


def compare_once(split: Split, source: Source, settings: Settings) -> Values:
    """Choose and test one model of each kind on one split.

    All three see the same rows and the same folds.
    """
    rng = generator(settings.seed, "comparison", split.repeat)
    order = rng.permutation(len(source.y))
    folds = int(rng.integers(2**31))
    train, test = order[: settings.n_train], order[settings.n_train :]
    return {
        method: _fit_and_test(method, source, train, test, folds, settings.n_folds)
        for method in METHODS
    }


def gather(values: Sequence[Values], settings: Settings) -> Comparison:
    """Put the splits together."""

    def column(name: str) -> Array:
        return np.array([[one[method][name] for method in METHODS] for one in values], float)

    curves = [
        [[one[method]["training_error"], one[method]["path_dof"]] for method in METHODS[:2]]
        for one in values
    ]
    size = min(len(curve) for one in curves for pair in one for curve in pair)
    training = [[[c[:size] for c in pair] for pair in one] for one in curves]
    return Comparison(
        test_error=column("test_error"),
        parameter=column("parameter"),
        dof=column("dof"),
        training=np.array(training, dtype=np.float64),
        settings=settings,
    )


def fig2(results: Comparison) -> Exhibit:
    """Reproduce Figure 2: error, components and Degrees of Freedom of the chosen models."""
    rows = [
        (r, method, results.test_error[r, k], *_parameter(results, r, k), results.dof[r, k])
        for r in range(len(results.dof))
        for k, method in enumerate(METHODS)
    ]
    return Exhibit(
        name="fig2",
        title="Figure 2: PLS, PCR and ridge regression on ozone",
        caption=f"{_design(results)} Left: mean squared error of prediction on the test rows. "
        "Centre: number of components chosen by 10-fold cross-validation. Right: Degrees of "
        "Freedom of the chosen model. Boxes: quartiles; whiskers: up to 1.5 times their distance. "
        "reading: the unit of the ozone data, which their source does not name.",
        columns=("repeat", "method", "test_error", "components", "alpha", "dof"),
        rows=rows,
        checks=tuple(_fig2_checks(results)),
        draw=partial(draw_comparison, results),
    )


def fig3(results: Comparison) -> Exhibit:
    """Reproduce Figure 3: training error against components and Degrees of Freedom."""
    mean = results.training.mean(axis=0)
    rows = [
        (method, m, mean[k, 0, m], mean[k, 1, m])
        for k, method in enumerate(METHODS[:2])
        for m in range(mean.shape[2])
    ]
    return Exhibit(
        name="fig3",
        title="Figure 3: training error of PLS and PCR on ozone",
        caption=f"{_design(results)} Mean training error |y - yhat|^2/n of models with one "
        "component or more, against the number of components (left) and against the mean Degrees "
        "of Freedom (right); reading: the unit of the ozone data.",
        columns=("method", "components", "mean_training_error", "mean_dof"),
        rows=rows,
        checks=tuple(_fig3_checks(results)),
        draw=partial(draw_training, results),
    )


def _fit_and_test(
    method: str, source: Source, train: Any, test: Any, folds: int, n_folds: int
) -> Values:
    X, y = source.X[train], source.y[train]
    path = REGRESSIONS[method](X, y)
    chosen = cross_validate(
        X, y, path=method.lower(), cv=n_folds, random_state=folds, keep_predictions=False
    ).select()
    residuals = source.y[test] - path.predict(source.X[test])[chosen.index]
    values = {
        "parameter": chosen.parameter,
        "dof": path.dof[chosen.index],
        "test_error": np.mean(residuals**2),
    }
    if method != "ridge":
        values |= {"training_error": path.rss / len(y), "path_dof": path.dof}
    return values


def _design(results: Comparison) -> str:
    return (
        f"{len(results.dof)} random splits into {results.settings.n_train} training rows and the "
        "remaining test rows."
    )


def _parameter(results: Comparison, r: int, k: int) -> tuple[int | None, float | None]:
    value = results.parameter[r, k]
    return (None, value) if METHODS[k] == "ridge" else (int(value), None)


def _fig2_checks(results: Comparison) -> Iterator[Check]:
    seed = results.settings.seed
    means = results.test_error.mean(axis=0)
    yield repeated(
        Claim(
            name="fig2-similar-error",
            text="The predictive performance of PLS, PCR and ridge regression is similar.",
            measure="largest / smallest mean test error",
            below=1.1,
            note="Mean test errors: "
            + ", ".join(f"{m} {v:.2f}" for m, v in zip(METHODS, means, strict=True))
            + '. We call 10 percent "similar".',
        ),
        lambda sample: sample.mean(axis=0).max() / sample.mean(axis=0).min(),
        results.test_error,
        seed,
    )
    components = results.parameter[:, :2]
    yield repeated(
        Claim(
            name="fig2-fewer-components",
            text="On average PLS selects fewer components than PCR.",
            measure="mean components, PLS - PCR",
            below=0.0,
            note=f"PLS {components[:, 0].mean():.2f}, PCR {components[:, 1].mean():.2f}.",
        ),
        lambda sample: np.mean(sample[:, 0] - sample[:, 1]),
        components,
        seed,
    )
    yield repeated(
        Claim(
            name="fig2-more-dof",
            text="In terms of Degrees of Freedom PLS selects more complex models than PCR.",
            measure="mean DoF, PLS - PCR",
            above=0.0,
            note=f"PLS {results.dof[:, 0].mean():.2f}, PCR {results.dof[:, 1].mean():.2f}, ridge "
            f"{results.dof[:, 2].mean():.2f}.",
        ),
        lambda sample: np.mean(sample[:, 0] - sample[:, 1]),
        results.dof,
        seed,
    )


def _fig3_checks(results: Comparison) -> Iterator[Check]:
    yield _lower_training_error(results)
    yield _marginal_in_dof(results)
    yield _at_least(results, first=1, bound=4.0, text="All PLS models with m >= 1 use at least 4")
    yield _at_least(results, first=3, bound=10.0, text="PLS models with m >= 3 use more than 10")


def _lower_training_error(results: Comparison) -> Check:
    error = results.training[:, :, 0, 1:]
    # Both are least squares with all components, where the difference is rounding.
    gain = np.round(error[:, 0] / error[:, 1] - 1.0, 9)
    claim = Claim(
        name="fig3-lower-error",
        text="For a fixed number of components the training error of PLS is lower than that of "
        "PCR.",
        measure="largest relative excess of PLS over PCR, all runs and m",
        below=0.0,
        note=f"On average over runs and m PLS is {-100 * gain.mean():.0f} percent lower. A theorem "
        "(de Jong 1993), so it has to hold in each run; zero is reached with all components.",
    )
    return fixed(claim, gain.max() + 0.0)


def _marginal_in_dof(results: Comparison) -> Check:
    claim = Claim(
        name="fig3-marginal",
        text="In terms of Degrees of Freedom the difference of the errors is marginal.",
        measure="mean |PCR/PLS - 1| of mean training errors at equal DoF",
        below=0.1,
        note=f"At equal numbers of components it is {_gap_by_components(results.training):.3f}. "
        'PCR is interpolated between its models; we call 10 percent "marginal".',
    )
    return repeated(claim, _gap_by_dof, results.training, results.settings.seed)


def _gap_by_dof(training: Array) -> float:
    (pls, pls_dof), (pcr, pcr_dof) = training.mean(axis=0)
    matched = np.interp(pls_dof[1:], pcr_dof, pcr)
    return float(np.mean(np.abs(matched / pls[1:] - 1.0)))


def _gap_by_components(training: Array) -> float:
    (pls, _), (pcr, _) = training.mean(axis=0)
    return float(np.mean(np.abs(pcr[1:] / pls[1:] - 1.0)))


def _at_least(results: Comparison, *, first: int, bound: float, text: str) -> Check:
    dof = results.training[:, 0, 1, first:]
    m = first + int(np.argmin(dof.mean(axis=0)))
    claim = Claim(
        name=f"fig3-{'at-least' if first == 1 else 'exceeds'}-{bound:g}",
        text=f"{text} Degrees of Freedom.",
        measure=f"smallest mean DoF, m >= {first}",
        above=bound,
        note=f"Smallest at m = {m}. In single runs the smallest is {dof.min():.2f}; the figure "
        "shows means.",
        otherwise="The mean over random splits is a little below the printed bound; with one "
        "component the theorem's lower bound is about 3.6 on ozone.",
    )
    return repeated(claim, lambda sample: sample.mean(axis=0).min(), dof, results.settings.seed)
