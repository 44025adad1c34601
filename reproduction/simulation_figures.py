"""Figures 4 to 8 and the appendices: what the simulation shows, by both rules of choice."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from reproduction.data_figures import Comparison, fig2, fig3
from reproduction.page import LOOKS, boxes, legend, panels
from reproduction.simulation import (
    FIRST,
    METHODS,
    OTHER_CRITERIA,
    PAPER,
    SHOWN,
    Simulation,
)
from reproduction.work import (
    MAX_COMPONENTS,
    N_TRAIN,
    Array,
    Check,
    Exhibit,
    Settings,
    Statistic,
    claim_of,
    repeated,
)

Results = Mapping[str, Simulation]

_CV, _LANCZOS, _KRYLOV, _NAIVE, _EXACT = range(len(SHOWN))
_OTHERS = [_CV, _LANCZOS, _KRYLOV]
# Dimension from which on the naive approach is said to be considerably worse, and the two
# dimensions of Figure 6.
_HIGH, _FLAT, _STEEP = 90, 50, 210
_BOTH = (
    "Top: the paper's rule to the letter, the minimum of BIC before the first negative Degrees of "
    "Freedom. Bottom: R's rule, the first local minimum of BIC, as in the R package plsdof. "
    "Cross-validation is the same in both."
)


def _both(results: Results) -> tuple[Simulation, Simulation]:
    return results[PAPER], results[FIRST]


def design(results: Simulation) -> str:
    """Say in a sentence what was simulated."""
    return (
        f"{results.settings.repeats} repeats for each number d of radial basis functions of ozone; "
        f"{N_TRAIN} training rows, the other rows for testing; var(f)/sigma^2 = 9; 0 to "
        f"{MAX_COMPONENTS} components (fewer where d allows no more)."
    )


def _tidy(results: Results, *values: str) -> list[tuple[Any, ...]]:
    """Return one row per rule, dimension, repeat and method."""
    return [
        (one.rule, d, r, SHOWN[j], *(getattr(one, value)[r, k, j] for value in values))
        for one in _both(results)
        for k, d in enumerate(one.dimensions)
        for r, j in np.ndindex(one.settings.repeats, len(SHOWN))
    ]


# What the checks are made of: ratios of medians and differences of means, by dimension
# -------------------------------------------------------------------------------------


def _ratio(sample: Array, method: int, other: int | list[int]) -> Array:
    """Ratio of medians; to the largest of several others."""
    medians = np.median(sample, axis=0)
    return np.asarray(medians[:, method] / medians[:, np.atleast_1d(other)].max(axis=1))


def _geometric(sample: Array, method: int, other: int) -> float:
    return float(np.exp(np.mean(np.log(_ratio(sample, method, other)))))


def _gap(sample: Array, method: int, other: list[int]) -> Array:
    """Difference of means; to the largest of the others."""
    means = sample.mean(axis=0)
    return np.asarray(means[:, method] - means[:, other].max(axis=1))


def _medians(sample: Array) -> Array:
    return np.asarray(np.median(sample, axis=0))


class _Judge:
    """Makes the checks of one simulation."""

    def __init__(self, results: Simulation, rule: str) -> None:
        self.results, self.rule = results, rule

    def __call__(
        self, name: str, statistic: Statistic, sample: Array, note: str = "", about: str = ""
    ) -> Check:
        check = Check(claim=claim_of(name, about), value=np.nan, about=note, rule=self.rule)
        return repeated(check, statistic, sample, self.results.settings)

    def listed(self, values: Array, digits: int = 2) -> str:
        """List numbers by dimension."""
        pairs = zip(self.results.dimensions, values, strict=True)
        return "By dimension: " + ", ".join(f"{v:.{digits}f} (d = {d})" for d, v in pairs) + "."


# Figures 4 to 7: error, complexity and noise level of the chosen models
# ----------------------------------------------------------------------


def fig4(results: Results) -> Exhibit:
    """Reproduce Figure 4: normalised test error of the chosen models."""
    return Exhibit(
        name="fig4",
        title="Figure 4: normalised test error",
        caption=f"{design(results[PAPER])} {_BOTH} Test error divided by that of the mean of the "
        "training responses. Left: medians over the repeats. Right: boxplots without NAIVE. EXACT "
        "is the closed form of this package with BIC. What the paper says of this figure rests on "
        "R's rule: by its own, BIC is far from cross-validation, with any Degrees of Freedom.",
        columns="rule dimension repeat method test_error",
        rows=_tidy(results, "test_error"),
        checks=tuple(check for one in _both(results) for check in fig4_checks(one)),
        draw=partial(_draw_errors, results),
    )


def fig4_checks(results: Simulation) -> Iterator[Check]:
    """Check what the paper says about test errors."""
    judge, error = _Judge(results, results.rule), results.test_error
    for name, about, method, other in (
        ("fig4-{}-like-cv", "LANCZOS", _LANCZOS, _CV),
        ("fig4-{}-like-cv", "KRYLOV", _KRYLOV, _CV),
        ("fig4-exact-like-cv", "", _EXACT, _CV),
        ("fig4-krylov-like-lanczos", "", _KRYLOV, _LANCZOS),
    ):
        note = judge.listed(_ratio(error, method, other))
        yield judge(name, partial(_geometric, method=method, other=other), error, note, about)
    note = judge.listed(_ratio(error, _NAIVE, _OTHERS))
    high = [k for k, d in enumerate(results.dimensions) if d >= _HIGH]
    if high:
        worst = error[:, high]
        yield judge("fig4-naive-worse", lambda s: _ratio(s, _NAIVE, _OTHERS).min(), worst, note)
    if _FLAT in results.dimensions:
        at = error[:, [results.dimensions.index(_FLAT)]]
        yield judge("fig4-naive-d50", lambda s: _ratio(s, _NAIVE, _OTHERS)[0], at)


def fig5(results: Results) -> Exhibit:
    """Reproduce Figure 5: components and Degrees of Freedom of the chosen models."""
    return Exhibit(
        name="fig5",
        title="Figure 5: complexity of the chosen models",
        caption=f"{design(results[PAPER])} {_BOTH} Left: number of components chosen (mean). "
        "Right: Degrees of Freedom of the chosen model (mean), by the closed form for every "
        "method; dotted: the number of training rows. Bars: one standard error. NAIVE takes larger "
        "models by either rule, but considerably larger ones by R's rule only.",
        columns="rule dimension repeat method components dof dof_by_method",
        rows=_tidy(results, "components", "dof", "own_dof"),
        checks=tuple(check for one in _both(results) for check in fig5_checks(one)),
        draw=partial(_draw_complexity, results),
    )


def fig5_checks(results: Simulation) -> Iterator[Check]:
    """Check what the paper says about components and Degrees of Freedom."""
    judge, components = _Judge(results, results.rule), results.components
    for what, values in (("components", components), ("dof", results.dof)):
        note = judge.listed(_gap(values, _NAIVE, _OTHERS), 1)
        name = f"fig5-naive-more-{what}"
        yield judge(name, lambda s: _gap(s, _NAIVE, _OTHERS).mean(), values, note)
    if _FLAT in results.dimensions:
        at = components[:, results.dimensions.index(_FLAT)]
        yield judge("fig5-naive-d50", _naive_factor, at)
    same = components[..., _EXACT] == components[..., _LANCZOS]
    yield judge("fig5-exact-is-lanczos", np.mean, same.astype(np.float64))


def _naive_factor(components: Array) -> float:
    means = components.mean(axis=0)
    return float(means[_NAIVE] / means[_OTHERS].max())


def fig6(results: Results) -> Exhibit:
    """Reproduce Figure 6: test error against the number of components."""
    one = results[PAPER]
    shown = [d for d in (_FLAT, _STEEP) if d in one.dimensions]
    return Exhibit(
        name="fig6",
        title="Figure 6: scaled mean test error against the number of components",
        caption=f"{design(one)} Mean over the repeats of the normalised test error, scaled to a "
        "minimum of 1 for each d: the curves do not depend on a rule of choice. Stars: the number "
        "of components that NAIVE chooses on average by the paper's rule (filled) and by R's "
        "(open), where the checks look.",
        columns="dimension components mean_test_error scaled_test_error",
        rows=[
            (d, m, mean, mean / curve.min())
            for d in shown
            for curve in [one.curves[one.dimensions.index(d)].mean(axis=0)]
            for m, mean in enumerate(curve)
        ],
        checks=tuple(check for one in _both(results) for check in fig6_checks(one)),
        draw=partial(_draw_scaled, results, shown),
    )


def fig6_checks(results: Simulation) -> Iterator[Check]:
    """Check what the paper says about the loss by too many components."""
    if not {_FLAT, _STEEP} <= set(results.dimensions):
        return
    judge = _Judge(results, results.rule)
    flat, steep = (results.curves[results.dimensions.index(d)] for d in (_FLAT, _STEEP))
    size = flat.shape[1]
    m, k = (min(results.mean_choice("NAIVE", d), size - 1) for d in (_FLAT, _STEEP))
    note = (
        f"NAIVE chooses {m} components for d = 50 and {k} for d = 210 on average; the best "
        f"numbers are {flat.mean(axis=0).argmin()} and {steep.mean(axis=0).argmin()}."
    )

    def losses(sample: Array) -> tuple[float, float]:
        """Loss by the mean choice of NAIVE for d = 50 and for d = 210."""
        mean = sample.mean(axis=0)
        return mean[m] / mean[:size].min(), mean[size + k] / mean[size:].min()

    both = np.column_stack([flat, steep])
    yield judge("fig6-d50-flat", lambda s: losses(s)[0], both, note)
    yield judge("fig6-d210-steep", lambda s: losses(s)[1], both, note)
    yield judge("fig6-steeper", lambda s: losses(s)[1] / losses(s)[0], both, note)


def fig7(results: Results) -> Exhibit:
    """Reproduce Figure 7: estimated by true noise level."""
    return Exhibit(
        name="fig7",
        title="Figure 7: estimated noise level",
        caption=f"{design(results[PAPER])} {_BOTH} Estimated standard deviation of the noise "
        "divided by the true one, for the chosen model, on the training rows. Dashed line: the "
        "optimum 1. What the paper says of LANCZOS and KRYLOV rests on R's rule.",
        columns="rule dimension repeat method noise_ratio",
        rows=[row for row in _tidy(results, "noise_ratio") if row[3] != "CV"],
        checks=tuple(check for one in _both(results) for check in fig7_checks(one)),
        draw=partial(_draw_noise, results),
    )


def fig7_checks(results: Simulation) -> Iterator[Check]:
    """Check what the paper says about the noise level."""
    judge = _Judge(results, results.rule)
    for method in (_LANCZOS, _KRYLOV):
        ratio = results.noise_ratio[..., method]
        note = judge.listed(_medians(ratio))
        yield judge("fig7-{}-above", lambda s: _medians(s).mean(), ratio, note, SHOWN[method])
    naive = results.noise_ratio[..., _NAIVE]
    note = judge.listed(_medians(naive))
    yield judge("fig7-naive-below", lambda s: _medians(s).max(), naive, note)
    ends = naive[:, [0, -1]]
    yield judge("fig7-naive-deteriorates", lambda s: np.diff(_medians(s))[0], ends, note)


# Figure 8 and its section: runtime, and where the Degrees of Freedom turn negative
# ---------------------------------------------------------------------------------


def fig8(results: Results) -> Exhibit:
    """Reproduce Figure 8: time to score all models."""
    one = results[PAPER]
    return Exhibit(
        name="fig8",
        title="Figure 8: runtime",
        caption=f"{design(one)} Median processor time in milliseconds to score all models, one "
        "thread, on the machine that made this page. The figure rests on neither rule: choosing "
        "among the scores takes no time. Left: all methods. Right: without LANCZOS. EXACT is the "
        "closed form of this package.",
        columns="dimension repeat method seconds",
        rows=[
            (d, r, SHOWN[j], one.seconds[r, k, j])
            for k, d in enumerate(one.dimensions)
            for r, j in np.ndindex(one.settings.repeats, len(SHOWN))
        ],
        checks=(*_time_checks(one), *negative_checks(one)),
        draw=partial(_draw_runtime, one),
    )


def _time_checks(results: Simulation) -> Iterator[Check]:
    judge, seconds = _Judge(results, ""), results.seconds
    others = [_CV, _KRYLOV, _NAIVE]
    note = judge.listed(_ratio(seconds, _LANCZOS, others))
    yield judge("fig8-lanczos-slowest", lambda s: _ratio(s, _LANCZOS, others)[-1], seconds, note)
    yield judge(
        "fig8-naive-fastest", lambda s: max(_ratio(s, _NAIVE, j).max() for j in _OTHERS), seconds
    )
    note = judge.listed(_ratio(seconds, _KRYLOV, _CV))
    yield judge("fig8-krylov-cv", lambda s: _ratio(s, _KRYLOV, _CV).max(), seconds, note)
    note = judge.listed(_ratio(seconds, _EXACT, _KRYLOV))
    yield judge("fig8-exact-krylov", lambda s: _ratio(s, _EXACT, _KRYLOV).max(), seconds, note)


def negative_checks(results: Simulation) -> Iterator[Check]:
    """Check what the paper says about negative Degrees of Freedom, which no rule changes."""
    judge, genuine = _Judge(results, ""), results.genuine[..., [_LANCZOS, _KRYLOV]]
    negative = ~np.isnan(genuine)
    shares = negative.mean(axis=(0, 1))
    note = f"LANCZOS {shares[0]:.3f}, KRYLOV {shares[1]:.3f} of the repeats."
    found = negative.astype(np.float64)
    yield judge("fig8-negative-dof", lambda s: s.mean(axis=(0, 1)).min(), found, note)
    if negative.any():
        counts = [
            f"{name} {int(np.sum(genuine[..., j] >= 0.0))} of {int(negative[..., j].sum())}"
            for j, name in enumerate(("LANCZOS", "KRYLOV"))
        ]
        note = ", ".join(counts) + "."
        yield judge("fig8-negative-is-rounding", _share_of_rounding, genuine, note)


def _share_of_rounding(genuine: Array) -> float:
    found = genuine[~np.isnan(genuine)]
    return float(np.mean(found >= 0.0)) if len(found) else float("nan")


# AIC and gMDL in place of BIC: Section "Experiments", second paragraph
# ---------------------------------------------------------------------


def criteria(results: Results) -> Exhibit:
    """Check that the observations on the naive count do not depend on the criterion."""
    rows: list[tuple[Any, ...]] = []
    for one in _both(results):
        for label in OTHER_CRITERIA:
            for dof in ("EXACT", "NAIVE"):
                at = (..., METHODS.index(f"{dof}-{label}"))
                columns = (
                    one.dimensions,
                    _medians(one.test_error[at]),
                    one.components[at].mean(axis=0),
                    one.dof[at].mean(axis=0),
                    _medians(one.noise_ratio[at]),
                )
                rows += [(one.rule, label, dof, *row) for row in zip(*columns, strict=True)]
    return Exhibit(
        name="criteria",
        title="AIC and gMDL in place of BIC",
        caption=f"{design(results[PAPER])} The paper reports BIC only and says that its main "
        "observations on the difference between its Degrees of Freedom and the naive count do not "
        "depend on the criterion. Median normalised test error, mean number of components, mean "
        "Degrees of Freedom and median estimated by true noise level of the chosen models. With "
        "AIC it rests on R's rule, as with BIC; with gMDL either rule will do.",
        columns="rule criterion method dimension median_test_error "
        "mean_components mean_dof median_noise_ratio",
        rows=rows,
        checks=tuple(check for one in _both(results) for check in criteria_checks(one)),
    )


def criteria_checks(results: Simulation) -> Iterator[Check]:
    """Check for AIC and gMDL what the paper says about BIC."""
    error = results.test_error
    high = [k for k, d in enumerate(results.dimensions) if d >= _HIGH]
    for label in OTHER_CRITERIA:
        judge = partial(_Judge(results, results.rule), about=label)
        listed = _Judge(results, results.rule).listed
        exact, naive = (METHODS.index(f"{dof}-{label}") for dof in ("EXACT", "NAIVE"))
        note = listed(_ratio(error, exact, _CV))
        statistic: Statistic = partial(_geometric, method=exact, other=_CV)
        yield judge("criteria-{}-like-cv", statistic, error, note)
        if high:
            pair = error[:, high][..., [naive, exact]]
            note = listed(_ratio(error, naive, exact))
            yield judge("criteria-{}-naive-worse", lambda s: _ratio(s, 0, 1).min(), pair, note)
        for what, values in (("components", results.components), ("dof", results.dof)):
            pair = values[..., [naive, exact]]
            note = listed(_gap(pair, 0, [1]), 1)
            name = "criteria-{}-naive-more-" + what
            yield judge(name, lambda s: _gap(s, 0, [1]).mean(), pair, note)
        ratio = results.noise_ratio[..., naive]
        note = listed(_medians(ratio))
        yield judge("criteria-{}-naive-noise-below", lambda s: _medians(s).max(), ratio, note)


# Appendices: other seeds, another reading of the text, and the rule of choice
# ----------------------------------------------------------------------------

READINGS = {
    "squared": "as printed, exp(-|x - c|^2)",
    "plain": "the distance is not squared, exp(-|x - c|)",
}


def seeds_of(settings: Settings, distance: str) -> list[Settings]:
    """Return the settings of one reading for every seed; without intervals."""
    return [
        replace(settings, seed=settings.seed + k, draws=0, distance=distance)
        for k in range(settings.seeds)
    ]


def readings(
    comparisons: Sequence[Comparison], simulations: Mapping[str, Sequence[Results]]
) -> Exhibit:
    """Tell which claims depend on the seed, on the rule, or on the reading of the text.

    Parameters
    ----------
    comparisons : sequence of Comparison
        One per seed.
    simulations : mapping
        For every one of `READINGS` one simulation per seed.
    """
    found: dict[tuple[str, str, str], dict[str, list[Check]]] = {}

    def sort_in(reading: str, check: Check) -> None:
        key = (check.claim.name, check.rule or "—", check.claim.required)
        found.setdefault(key, {}).setdefault(reading, []).append(check)

    for one in comparisons:
        for check in (*fig2(one).checks, *fig3(one).checks):
            sort_in("squared", check)
    for reading, results in simulations.items():
        for check in (check for one in results for check in _untimed(one)):
            sort_in(reading, check)
    settings = comparisons[0].settings
    return Exhibit(
        name="readings",
        title="Appendix A: other seeds and another reading of the simulation",
        caption=f"{settings.repeats} repeats for each of the seeds {settings.seed} to "
        f"{settings.seed + len(comparisons) - 1}; a seed draws other centres, responses and "
        "splits. Every cell says for how many seeds a check holds, and the smallest and the "
        "largest number. "
        + " ".join(f"{name}: {text}." for name, text in READINGS.items())
        + " Figures 2 and 3 do not depend on this.",
        columns=f"check rule required {' '.join(READINGS)}",
        rows=[
            (*key, *(_cell(cells.get(reading, [])) for reading in READINGS))
            for key, cells in found.items()
        ],
    )


def _untimed(results: Results) -> Iterator[Check]:
    for one in _both(results):
        for checks in (fig4_checks, fig5_checks, fig6_checks, fig7_checks, criteria_checks):
            yield from checks(one)
    yield from negative_checks(results[PAPER])


def _cell(checks: Sequence[Check]) -> str:
    if not checks:
        return "—"
    values = sorted(check.value for check in checks)
    holding = sum(check.holds for check in checks)
    return f"{holding} of {len(checks)}: {values[0]:.3g} to {values[-1]:.3g}"


def rules(results: Results) -> Exhibit:
    """Compare the rules of choice: the median normalised test error of BIC with the exact DoF."""
    errors = {rule: _medians(one.test_error[..., _EXACT]) for rule, one in results.items()}
    errors["cross-validation"] = _medians(results[PAPER].test_error[..., _CV])
    return Exhibit(
        name="rules",
        title="Appendix B: the rule of choice",
        caption=f"{design(results[PAPER])} Median normalised test error of the model that BIC with "
        "the exact Degrees of Freedom and the noise level of eq. (sigmastar) chooses. The paper's "
        "section 4 takes the minimum before the first negative Degrees of Freedom, which are "
        "rare: models that nearly interpolate the training rows take part, and with their "
        "residuals the criterion goes to zero.",
        columns="dimension " + " ".join(rule.replace(" ", "_") for rule in errors),
        rows=[
            (d, *(float(error[k]) for error in errors.values()))
            for k, d in enumerate(results[PAPER].dimensions)
        ],
    )


# Pictures
# --------

_AXIS = "number d of basis functions"


def _draw_errors(results: Results) -> Any:
    figure, axes = panels(2, 2, width=9.0, height=3.6)
    for (left, right), one in zip(axes, _both(results), strict=True):
        _lines(left, one.dimensions, np.median(one.test_error, axis=0), SHOWN)
        left.set_ylabel(f"{one.rule}\nmedian normalised test error")
        _grouped_boxes(right, one, one.test_error, [m for m in SHOWN if m != "NAIVE"])
        right.set_ylabel("normalised test error")
    return figure


def _draw_complexity(results: Results) -> Any:
    figure, axes = panels(2, 2, width=9.0, height=3.6)
    for row, one in zip(axes, _both(results), strict=True):
        for ax, values, label in (
            (row[0], one.components, f"{one.rule}\nmean number of components"),
            (row[1], one.dof, "mean Degrees of Freedom"),
        ):
            error = values.std(axis=0) / np.sqrt(len(values))
            _lines(ax, one.dimensions, values.mean(axis=0), SHOWN, error)
            ax.set_ylabel(label)
            ax.set_ylim(bottom=0.0)
        row[1].axhline(N_TRAIN, color="black", linewidth=0.8, linestyle=(0, (1, 3)))
        row[1].set_ylim(top=1.12 * N_TRAIN)
    return figure


def _draw_scaled(results: Results, dimensions: Sequence[int]) -> Any:
    from matplotlib.ticker import FuncFormatter, LogLocator

    figure, axes = panels(1, 1, width=5.0, height=3.6)
    ax, one = axes[0][0], results[PAPER]
    for d, method in zip(dimensions, ("CV", "NAIVE"), strict=False):
        mean = one.curves[one.dimensions.index(d)].mean(axis=0)
        scaled = mean / mean.min()
        ax.plot(scaled, label=f"d = {d}", **LOOKS[method].curve)
        for chosen, face in zip(_both(results), ("black", "white"), strict=True):
            m = min(chosen.mean_choice("NAIVE", d), len(scaled) - 1)
            label = f"NAIVE, {chosen.rule}" if d == dimensions[-1] else None
            star = ax.plot(m, scaled[m], "*", color="black", markersize=11, zorder=3, label=label)
            star[0].set_markerfacecolor(face)
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(base=10.0, subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    ax.set(xlabel="number of components", ylabel="scaled mean test error")
    ax.legend()
    return figure


def _draw_noise(results: Results) -> Any:
    figure, axes = panels(2, 1, width=7.5, height=3.4)
    for (ax,), one in zip(axes, _both(results), strict=True):
        _grouped_boxes(ax, one, one.noise_ratio, SHOWN[1:])
        ax.axhline(1.0, color="black", linestyle="--", linewidth=1.0)
        ax.set_ylabel(f"{one.rule}\nestimated / true noise level")
        ax.set_ylim(bottom=0.0)
    return figure


def _draw_runtime(results: Simulation) -> Any:
    figure, axes = panels(1, 2, width=9.0, height=3.8)
    for ax, left_out in zip(axes[0], ("", "LANCZOS"), strict=True):
        methods = [method for method in SHOWN if method != left_out]
        _lines(ax, results.dimensions, 1000.0 * np.median(results.seconds, axis=0), methods)
        ax.set_ylabel("median time (ms)")
        ax.set_ylim(bottom=0.0)
    return figure


def _lines(
    ax: Any,
    dimensions: Sequence[int],
    values: Array,
    methods: Sequence[str],
    error: Array | None = None,
) -> None:
    for k, method in enumerate(methods):
        j = METHODS.index(method)
        # A little apart, so that bars and markers of equal values can be told apart.
        apart = 0.0 if error is None else 2.0 * (k - (len(methods) - 1) / 2)
        bars = None if error is None else error[:, j]
        options = LOOKS[method].curve | {"label": method, "capsize": 2.0, "yerr": bars}
        ax.errorbar(np.array(dimensions) + apart, values[:, j], **options)
    ax.set_xticks(dimensions)
    ax.set_xlabel(_AXIS)
    legend(ax)


def _grouped_boxes(ax: Any, results: Simulation, values: Array, methods: Sequence[str]) -> None:
    width, handles = 0.8 / len(methods), []
    for k, method in enumerate(methods):
        column = values[..., METHODS.index(method)]
        places = np.arange(len(results.dimensions)) + width * (k - (len(methods) - 1) / 2)
        box = boxes(ax, list(column.T), places.tolist(), method, 0.85 * width)
        box.set_label(method)
        handles.append(box)
    ax.set_xticks(range(len(results.dimensions)), [str(d) for d in results.dimensions])
    ax.set_xlabel(_AXIS)
    ax.grid(visible=False, axis="x")
    legend(ax, *handles)
