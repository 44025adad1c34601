"""Table 1 and Figures 1 to 3: the data sets."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from plsdof import cross_validate, datasets, dof_lower_bound, paper, pcr_path, pls_path, ridge_path
from plsdof.datasets.real import DatasetUnavailableError
from plsdof.errors import MissingExtraError
from reproduction.data import make_kin
from reproduction.page import LOOKS, boxes, legend, panels
from reproduction.work import (
    N_FOLDS,
    N_TRAIN,
    Array,
    Check,
    Exhibit,
    Settings,
    Store,
    Values,
    claim_of,
    generator,
    repeated,
)

# The three data sets of the paper, or labelled stand-ins for what is out of reach
# --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A data set: its name in the paper, X (n, p), y (n,), and what stands in for it, if so."""

    name: str
    X: Array
    y: Array
    stand_in: str = ""


def load_sources(folder: Path | None, seed: int) -> dict[str, Source]:
    """Load kin, ozone and cookie; simulate kin and cookie where they cannot be had."""
    found = {}
    for key, name, load, make in (
        ("kin", "kin (fh)", partial(datasets.fetch_kin32fh, data_home=folder), _kin_stand_in),
        ("ozone", "ozone", datasets.load_ozone, None),
        ("cookie", "cookie", partial(datasets.fetch_cookie, data_home=folder), _cookie_stand_in),
    ):
        try:
            bunch = load()
            X, y, stand_in = bunch.data, bunch.target, ""
        except (DatasetUnavailableError, MissingExtraError):
            assert make is not None
            X, y = make(generator(seed, f"{key} stand-in"))
            stand_in = f"{name} was not available: SIMULATED STAND-IN, not the published data."
        found[key] = Source(name=name, X=X, y=y, stand_in=stand_in)
    return found


def _kin_stand_in(rng: np.random.Generator) -> tuple[Array, Array]:
    made = make_kin(rng=rng)
    return made.X, made.y


def _cookie_stand_in(rng: np.random.Generator) -> tuple[Array, Array]:
    made = datasets.make_spectra(random_state=rng)
    return made.data, made.target


def _with_stand_ins(text: str, sources: Mapping[str, Source]) -> str:
    return " ".join([text, *(s.stand_in for s in sources.values() if s.stand_in)])


# Table 1: collinearity
# ---------------------

# As printed: mean absolute correlation.
PRINTED = {"kin": 0.009, "ozone": 0.260, "cookie": 0.867}


def mean_absolute_correlation(X: Array) -> float:
    """Return 2 / (p^2 - p) sum_{i<j} |s_ij|, s_ij the correlations of the columns (section 3.1)."""
    correlations = np.asarray(np.corrcoef(X, rowvar=False))
    return float(np.abs(correlations[np.triu_indices(len(correlations), 1)]).mean())


def table1(sources: Mapping[str, Source]) -> Exhibit:
    """Reproduce Table 1: variables, examples and mean absolute correlation."""
    rows, checks = [], []
    for key, source in sources.items():
        value, printed = float(mean_absolute_correlation(source.X)), PRINTED[key]
        n, p = source.X.shape
        rows.append((source.name, p, n, value, printed, bool(source.stand_in)))
        claim = claim_of(f"table1-{key}")
        checks.append(Check(claim=claim, value=value, about=source.stand_in))
    return Exhibit(
        name="table1",
        title="Table 1: three data sets of different collinearity",
        caption=_with_stand_ins(
            "Mean absolute correlation between predictors, and the value printed in the paper. "
            "cookie: 70 of 72 dough pieces, without rows 23 and 61, response fat.",
            sources,
        ),
        columns="data_set variables examples mean_absolute_correlation printed stand_in",
        rows=rows,
        checks=tuple(checks),
    )


# Figure 1: Degrees of Freedom against components
# -----------------------------------------------

# Largest model in Figure 1, and rows of kin in it.
_CURVE_COMPONENTS, _KIN_ROWS = 20, 300


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """Degrees of Freedom of one data set for m = 0..M components.

    Attributes
    ----------
    source : Source
        The data, for kin the rows that are used.
    bound : float or None
        Lower bound for one component; None where the theorem's condition fails.
    dof : (M+1,) array
        Closed form.
    krylov, lanczos : (M+1,) arrays
        The paper's two algorithms.
    """

    source: Source
    bound: float | None
    dof: Array
    krylov: Array
    lanczos: Array

    @property
    def margin(self) -> Array:
        """DoF(m) - (m + 1) for m >= 1, rid of rounding errors."""
        return np.round(self.dof - np.arange(len(self.dof)) - 1.0, 9)[1:] + 0.0


def compute_curves(sources: Mapping[str, Source]) -> dict[str, Curve]:
    """Compute the Degrees of Freedom by the closed form and by the paper's algorithms."""
    curves = {}
    for key, source in sources.items():
        rows = _KIN_ROWS if key == "kin" else None
        X, y = source.X[:rows], source.y[:rows]
        M = min(_CURVE_COMPONENTS, X.shape[1], len(X) - 1)
        curves[key] = Curve(
            source=Source(name=source.name, X=X, y=y, stand_in=source.stand_in),
            bound=dof_lower_bound(X),
            dof=pls_path(X, y, M).dof,
            krylov=paper.krylov(X, y, M).dof,
            lanczos=paper.lanczos(X, y, M).dof,
        )
    return curves


def fig1(curves: Mapping[str, Curve]) -> Exhibit:
    """Reproduce Figure 1: Degrees of Freedom against the number of components."""
    rows = [
        (c.source.name, m, c.dof[m], m + 1, c.bound, c.krylov[m], c.lanczos[m], stand_in)
        for c in curves.values()
        for stand_in in [bool(c.source.stand_in)]
        for m in range(len(c.dof))
    ]
    return Exhibit(
        name="fig1",
        title="Figure 1: Degrees of Freedom of Partial Least Squares",
        caption=_with_stand_ins(
            "Degrees of Freedom against the number of components (stars). Solid line: the naive "
            "m + 1. Dashed line: the lower bound for one component, where the theorem's condition "
            "is met. kin (fh): the first 300 rows. On cookie the paper's Krylov algorithm is "
            "shown too (crosses): its basis loses all digits after a few components.",
            {name: curve.source for name, curve in curves.items()},
        ),
        columns="data_set components dof naive lower_bound krylov lanczos stand_in",
        rows=rows,
        checks=tuple(_fig1_checks(curves)),
        draw=partial(_draw_curves, curves),
    )


def _fig1_checks(curves: Mapping[str, Curve]) -> Iterator[Check]:
    stand_ins = " ".join(c.source.stand_in for c in curves.values() if c.source.stand_in)

    def check(name: str, value: float, note: str = "", about: str = "") -> Check:
        note = f"{curves[about].source.stand_in if about in curves else stand_ins} {note}".strip()
        return Check(claim=claim_of(name, about), value=float(value), about=note)

    for key, curve in curves.items():
        below = ", ".join(
            f"m = {m} (DoF {curve.dof[m]:.3f})" for m in np.flatnonzero(curve.margin < 0)[:3] + 1
        )
        note = f"Below at {below}." if below else ""
        yield check("fig1-above-naive-{}", curve.margin.min(), note, key)

    kin, ozone, cookie = (curves[key].dof for key in ("kin", "ozone", "cookie"))
    size = min(len(kin), len(ozone), len(cookie))
    unordered = (kin[1:size] <= ozone[1:size]) | (ozone[1:size] <= cookie[1:size])
    last = int(np.argmax(unordered)) if unordered.any() else size - 1
    note = (
        f"One component: kin {kin[1]:.2f}, ozone {ozone[1]:.2f}, cookie {cookie[1]:.2f}. "
        f"This order lasts up to m = {last}; then cookie with its 700 variables passes ozone, "
        "whose Degrees of Freedom end at p + 1 = 13."
    )
    yield check("fig1-collinearity", min(kin[1] - ozone[1], ozone[1] - cookie[1]), note)

    bounds = {key: curve.bound for key, curve in curves.items() if curve.bound is not None}
    agree = sum((key in bounds) == (key != "cookie") for key in curves)
    yield check("fig1-bound-condition", agree)
    over = {key: curves[key].dof[1] - bound for key, bound in bounds.items()}
    note = "; ".join(f"{key}: {curves[key].dof[1]:.3f} against {bounds[key]:.3f}" for key in bounds)
    yield check("fig1-bound", min(over.values(), default=np.nan), f"{note}.")

    for label in ("Krylov", "Lanczos"):
        dof = getattr(curves["cookie"], label.lower())
        error = np.nan_to_num(np.abs(dof - cookie), nan=np.inf)
        claim = claim_of("fig1-{}-cookie", label)
        note = curves["cookie"].source.stand_in
        if not claim.allows(error.max()):
            m = int(np.argmax(error > claim.below))
            note += f" Wrong from m = {m} here: {dof[m]:.2f} instead of {cookie[m]:.2f}."
        yield Check(claim=claim, value=float(error.max()), about=note.strip())


def _draw_curves(curves: Mapping[str, Curve]) -> Any:
    figure, axes = panels(1, len(curves), width=9.0, height=3.6)
    for ax, (key, curve) in zip(axes[0], curves.items(), strict=True):
        m = np.arange(len(curve.dof))
        ax.plot(m, m + 1.0, "-", color="#0072B2", label="naive, m + 1")
        if curve.bound is not None:
            ax.axhline(curve.bound, linestyle="--", color="#009E73", label="lower bound, m = 1")
        if key == "cookie":  # wild values at the edge of the panel
            low, high = -30.0, curve.dof.max() + 30.0
            shown = np.clip(curve.krylov, low, high)
            ax.plot(m, shown, "x", color="#D55E00", label="paper's Krylov algorithm")
            text = f"Krylov cut off at {low:.0f} and {high:.0f}"
            ax.text(0.02, 0.98, text, va="top", fontsize=7.5, transform=ax.transAxes)
        ax.plot(m, curve.dof, "*", color="black", markersize=6.0, label="exact")
        n, p = curve.source.X.shape
        mark = " (stand-in)" if curve.source.stand_in else ""
        ax.set(title=f"{curve.source.name}{mark}\nn = {n}, p = {p}", xlabel="number of components")
        ax.set_xticks(range(0, len(m), 4))
    axes[0][0].set_ylabel("Degrees of Freedom")
    named = {
        label: handle
        for ax in axes[0]
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=len(named))
    return figure


# Figures 2 and 3: PLS, principal components and ridge regression on ozone
# ------------------------------------------------------------------------

PATHS: dict[str, Callable[..., Any]] = {"PLS": pls_path, "PCR": pcr_path, "ridge": ridge_path}
METHODS = tuple(PATHS)


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


def compare(store: Store, settings: Settings) -> Comparison:
    """Do the splits that are missing, and put all of them together."""
    ozone = datasets.load_ozone()
    work = partial(compare_once, ozone.data, ozone.target, settings.seed)
    units = [(repeat,) for repeat in range(settings.repeats)]
    values = store.finish("comparison", units, work, settings.seed)
    size = min(len(curve) for one in values for pair in one["training"] for curve in pair)
    return Comparison(
        test_error=np.array([one["test_error"] for one in values]),
        parameter=np.array([one["parameter"] for one in values]),
        dof=np.array([one["dof"] for one in values]),
        training=np.array([[[c[:size] for c in p] for p in one["training"]] for one in values]),
        settings=settings,
    )


def compare_once(X: Array, y: Array, seed: int, repeat: int) -> Values:
    """Choose and test one model of each kind on one split, with the same rows and folds."""
    rng = generator(seed, "comparison", repeat)
    order = rng.permutation(len(y))
    folds = KFold(N_FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    train, test = order[:N_TRAIN], order[N_TRAIN:]
    values: Values = {"test_error": [], "parameter": [], "dof": [], "training": []}
    for method, fit in PATHS.items():
        path = fit(X[train], y[train])
        chosen = cross_validate(X[train], y[train], path.recipe, folds).select()
        residuals = y[test] - path.predict(X[test])[chosen.index]
        values["test_error"].append(np.mean(residuals**2))
        values["parameter"].append(chosen.parameter)
        values["dof"].append(path.dof[chosen.index])
        if method != "ridge":
            values["training"].append([path.rss / N_TRAIN, path.dof])
    return values


def _design(results: Comparison) -> str:
    return (
        f"{len(results.dof)} random splits into {N_TRAIN} training rows and the remaining test "
        "rows."
    )


def fig2(results: Comparison) -> Exhibit:
    """Reproduce Figure 2: error, components and Degrees of Freedom of the chosen models."""
    rows = []
    for r, k in np.ndindex(results.dof.shape):
        parameter: Sequence[Any] = (int(results.parameter[r, k]), None)
        if METHODS[k] == "ridge":
            parameter = (None, results.parameter[r, k])
        rows.append((r, METHODS[k], results.test_error[r, k], *parameter, results.dof[r, k]))
    return Exhibit(
        name="fig2",
        title="Figure 2: PLS, PCR and ridge regression on ozone",
        caption=f"{_design(results)} Left: mean squared error of prediction on the test rows. "
        "Centre: number of components chosen by 10-fold cross-validation. Right: Degrees of "
        "Freedom of the chosen model. Boxes: quartiles; whiskers: up to 1.5 times their distance. "
        "reading: the unit of the ozone data, which their source does not name. Appendix A has "
        "other seeds.",
        columns="repeat method test_error components alpha dof",
        rows=rows,
        checks=tuple(_fig2_checks(results)),
        draw=partial(_draw_comparison, results),
    )


def _fig2_checks(results: Comparison) -> Iterator[Check]:
    def spread(sample: Array) -> Any:
        return sample.mean(axis=0).max() / sample.mean(axis=0).min()

    def gap(sample: Array) -> Any:
        return np.mean(sample[:, 0] - sample[:, 1])

    for name, statistic, sample in (
        ("fig2-similar-error", spread, results.test_error),
        ("fig2-fewer-components", gap, results.parameter[:, :2]),
        ("fig2-more-dof", gap, results.dof),
    ):
        means = zip(METHODS, sample.mean(axis=0), strict=False)
        note = "Means: " + ", ".join(f"{method} {mean:.2f}" for method, mean in means) + "."
        check = Check(claim=claim_of(name), value=np.nan, about=note)
        yield repeated(check, statistic, sample, results.settings)


def _draw_comparison(results: Comparison) -> Any:
    figure, axes = panels(1, 3)
    for ax, values, title, unit in (
        (axes[0][0], results.test_error, "Test error", "mean squared error (reading²)"),
        (axes[0][1], results.parameter[:, :2], "Components", "number of components"),
        (axes[0][2], results.dof, "Degrees of Freedom", "Degrees of Freedom"),
    ):
        methods = METHODS[: values.shape[1]]
        for k, method in enumerate(methods):
            boxes(ax, [values[:, k]], [k], method, 0.6)
        ax.set_xticks(range(len(methods)), methods)
        ax.set(title=title, ylabel=unit, xlim=(-0.6, len(methods) - 0.4))
        ax.grid(visible=False, axis="x")
    return figure


def fig3(results: Comparison) -> Exhibit:
    """Reproduce Figure 3: training error against components and Degrees of Freedom."""
    mean = results.training.mean(axis=0)
    return Exhibit(
        name="fig3",
        title="Figure 3: training error of PLS and PCR on ozone",
        caption=f"{_design(results)} Mean training error |y - yhat|^2/n of models with one "
        "component or more, against the number of components (left) and against the mean Degrees "
        "of Freedom (right); reading: the unit of the ozone data. Appendix A has other seeds.",
        columns="method components mean_training_error mean_dof",
        rows=[
            (METHODS[k], m, mean[k, 0, m], mean[k, 1, m]) for k, m in np.ndindex(2, mean.shape[2])
        ],
        checks=tuple(_fig3_checks(results)),
        draw=partial(_draw_training, mean[:, :, 1:]),
    )


def _fig3_checks(results: Comparison) -> Iterator[Check]:
    training = results.training
    # Both are least squares with all components, where the difference is rounding.
    gain = np.round(training[:, 0, 0, 1:] / training[:, 1, 0, 1:] - 1.0, 9)
    note = f"On average over runs and m PLS is {-100 * gain.mean():.0f} percent lower."
    claim = claim_of("fig3-lower-error")
    yield Check(claim=claim, value=float(gain.max()) + 0.0, about=note)

    (pls, _), (pcr, _) = training.mean(axis=0)
    gap = np.mean(np.abs(pcr[1:] / pls[1:] - 1.0))
    note = f"At equal numbers of components it is {gap:.3f}."
    check = Check(claim=claim_of("fig3-marginal"), value=np.nan, about=note)
    yield repeated(check, _gap_by_dof, training, results.settings)

    for first, name in ((1, "fig3-at-least-4"), (3, "fig3-exceeds-10")):
        dof = training[:, 0, 1, first:]
        note = (
            f"Smallest at m = {first + int(np.argmin(dof.mean(axis=0)))}. In single runs the "
            f"smallest is {dof.min():.2f}; the figure shows means."
        )
        check = Check(claim=claim_of(name), value=np.nan, about=note)
        yield repeated(check, lambda s: s.mean(axis=0).min(), dof, results.settings)


def _gap_by_dof(training: Array) -> float:
    (pls, pls_dof), (pcr, pcr_dof) = training.mean(axis=0)
    matched = np.interp(pls_dof[1:], pcr_dof, pcr)
    return float(np.mean(np.abs(matched / pls[1:] - 1.0)))


def _draw_training(mean: Array) -> Any:
    figure, axes = panels(1, 2)
    left, right = axes[0]
    for method, (error, dof) in zip(("PLS", "PCR"), mean, strict=True):
        left.plot(np.arange(1, len(error) + 1), error, label=method, **LOOKS[method].curve)
        # The Degrees of Freedom of PLS do not always grow with m: points, not a line.
        options = LOOKS[method].curve | ({"linestyle": "none"} if method == "PLS" else {})
        right.plot(dof, error, label=method, **options)
    left.set(xlabel="number of components", ylabel="mean training error (reading²)")
    left.set_xticks(range(2, mean.shape[2] + 1, 2))
    right.set(xlabel="mean Degrees of Freedom", ylabel="mean training error (reading²)")
    for ax in axes[0]:
        legend(ax)
    return figure
