"""Everything a report says about an analysis, as one dictionary: the page's embedded data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.choice import LEFT_OUT
from plsdof._core.criteria import criterion_label, is_squared
from plsdof._core.display import model_in_words
from plsdof._core.inputs import Array
from plsdof._core.model import Model
from plsdof._core.path import PLSPath
from plsdof._core.work import cached_property
from plsdof.analysis import Analysis
from plsdof.analysis.analysis import has_scores
from plsdof.analysis.data import Numbers, StreamedProblem
from plsdof.analysis.remarks import said
from plsdof.chemometrics.diagnostics import Diagnostic, Limit, diagnose, squared_rows
from plsdof.chemometrics.merit import HEADINGS, RMSE_NAMES, TestSet, figures_of_merit
from plsdof.chemometrics.rows import OutlierTable, outliers
from plsdof.chemometrics.variables import explained_variance
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.inference.intervals import (
    CoefficientInference,
    coefficient_inference,
    noise_interval,
    prediction_interval,
    simultaneous_band,
)
from plsdof.inference.permutation import PermutationTest
from plsdof.plotting.style import FeatureAxis, feature_axis, is_curve, readable, spans_decades
from plsdof.report._numbers import evenly_spaced, rounded, rounded_one

# How much goes into one file: about 2 MB of numbers at most.
MOST_MODELS = 60
MOST_ROWS = 500
MOST_FEATURES = 2000
MOST_COEFFICIENTS = 60_000
# Multiplications spent on the models of the slider: seconds, half a minute at most.
_MOST_WORK = 3e11
_FEWEST_MODELS = 5
# Draws for the band of all coefficients, of the chosen model and of others: the critical value is
# off by about 1% or 2%.
_DRAWS, _FEW_DRAWS = 2000, 500
_MOST_STRONGEST = 10
_MOST_SUSPECTS = 10
# A leverage above so many times the average is worth a look: customary.
_LEVERAGE_FACTOR = 3.0
# Order of the bits in "flags", and how the page calls them.
KINDS = {"t2": "T²", "q": "Q", "leverage": "leverage", "studentized": "residual"}


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """An analysis as the page shows it: models by their place, simplest first.

    The average of all models, if that was the choice, comes after them.
    """

    analysis: Analysis

    @property
    def level(self) -> float:
        """Of all intervals and limits."""
        return self.analysis.request.level

    @cached_property
    def y(self) -> Array:
        """Responses of the rows that are drawn, all or a sample."""
        return self.analysis.drawn.rows.y

    @cached_property
    def rows(self) -> Array:
        """These rows, as the model sees them."""
        return self.analysis.drawn.X

    @property
    def is_average(self) -> bool:
        """Whether the average was chosen."""
        return self.analysis.model.is_average

    @cached_property
    def heaviest(self) -> int:
        """Place of the model chosen, or of the one with most weight in an average."""
        return int(np.flatnonzero(self.analysis.order == self.analysis.index)[0])

    @property
    def chosen(self) -> int:
        """Place of the chosen model: after all of them for an average."""
        return len(self.analysis.order) if self.is_average else self.heaviest

    @cached_property
    def shown(self) -> range:
        """Places of the models on the slider: all, or as many as fit, around the chosen one."""
        total = len(self.analysis.order) + self.is_average
        (n, p), r = self.rows.shape, max(1.0, self.analysis.path.exact.spectrum.rank)
        # Diagnostics of the rows; intervals of the coefficients; draws for their band.
        work = 6 * n * r**2 + 2 * p * r**2 + _FEW_DRAWS * p * r
        most = min(total, MOST_MODELS, max(_FEWEST_MODELS, int(_MOST_WORK / work)))
        start = max(0, min(self.chosen - most // 2, total - most))
        return range(start, start + most)

    @cached_property
    def models(self) -> dict[int, Model]:
        """The models on the slider, by place."""
        analysis = self.analysis
        return {
            place: analysis.model
            if place == self.chosen
            else analysis.at(int(analysis.order[place]))
            for place in self.shown
        }

    def predicted(self, model: Model) -> Array:
        """Return predictions of the rows that are drawn."""
        return np.asarray(model.intercept + self.rows @ model.coef)

    @cached_property
    def axis(self) -> FeatureAxis:
        """Names and positions of the predictors."""
        return feature_axis(self.analysis.data.names, self.rows.shape[1])

    @cached_property
    def shown_features(self) -> npt.NDArray[np.intp]:
        """Predictors that are drawn, from left to right: all, or evenly spaced ones."""
        most = min(MOST_FEATURES, MOST_COEFFICIENTS // max(1, len(self.shown)))
        order = self.axis.order
        return order[evenly_spaced(len(order), most)]

    @cached_property
    def effect_scale(self) -> Array:
        """What coefficients are multiplied by in the picture: 1 for spectra, else deviations."""
        if self.axis.is_numeric:
            return np.ones(self.rows.shape[1])
        return np.asarray(self.rows.std(axis=0, ddof=1))

    @cached_property
    def pls(self) -> PLSPath | None:
        """The path if it is one of plain PLS, which has components to show."""
        path = self.analysis.path
        return path if has_scores(path) else None  # type: ignore[return-value]

    @cached_property
    def diagnosed(self) -> "RowNumbers":
        """What is known of the rows in the chosen model."""
        return row_numbers(self, self.chosen)

    @cached_property
    def places(self) -> npt.NDArray[np.intp]:
        """Rows that are drawn: all, or evenly spaced ones and the most unusual ones."""
        total = len(self.y)
        if total <= MOST_ROWS:
            return np.arange(total)
        unusual = self.diagnosed.unusual[: MOST_ROWS // 4]
        return np.union1d(unusual, evenly_spaced(total, MOST_ROWS - len(unusual)))


def report_content(analysis: Analysis, each: Callable[[range], Any] = iter) -> dict[str, Any]:
    """Return the data of a report; all numbers are rounded as they are shown.

    ``each`` goes through the models of the slider, and may show how far it is.
    """
    from plsdof.report._matrices import components, spectra

    view, data = View(analysis=analysis), analysis.data
    tested = _test_predictions(view)
    return {
        "response": readable(data.response),
        "source": readable(data.source, 200) if data.source else "",
        "method": analysis.path.recipe.method.label,
        "parameter_name": analysis.path.parameter_name,
        "n": rounded_one(analysis.path.exact.spectrum.n),
        "p": view.rows.shape[1],
        "level": rounded_one(100 * view.level),
        "choice": analysis.reason,
        "error_words": analysis.errors,
        "chosen": view.chosen,
        "average": view.chosen if view.is_average else None,
        "heaviest": view.heaviest,
        "first": view.shown.start,
        "criterion": _criterion(view),
        "errors_log": spans_decades(analysis.rmsecv),
        "models": _all_models(view),
        "features": _features(view),
        "rows": _row_facts(view),
        "test": _test_facts(view),
        "merit_headings": [list(one) for one in HEADINGS],
        "details": [_details(view, place, tested) for place in each(view.shown)],
        "spectra": spectra(view),
        "components": components(view),
        "permutation": None if analysis.permutation is None else _permuted(analysis.permutation),
        "search": "" if analysis.search is None else readable(analysis.search.words, 900),
        "notes": _notes(view),
        "recipe": [[name, readable(text, 400)] for name, text in analysis.recipe.items()],
    }


def _notes(view: View) -> list[str]:
    """Return the remarks, and what the page leaves out."""
    analysis = view.analysis
    # What the text of the page says already.
    found = [one.text for one in analysis.remarks if one.kind not in ("search", "average")]
    data = analysis.data
    if isinstance(data, StreamedProblem) and len(view.y) < data.shape[0]:
        found.append(said("sample", shown=len(view.y), total=data.shape[0]).text)
    if view.is_average and view.pls is not None:
        found.append(
            "An average has no components of its own: T², Q, leverage, studentised residuals, VIP "
            f"and selectivity ratio are those of the model with most weight, "
            f"{analysis.path._label(analysis.index)}."
        )
    total = len(analysis.order) + view.is_average
    if len(view.shown) < total:
        found.append(f"The page describes {len(view.shown)} of {total} models in detail.")
    return [readable(text, 600) for text in found]


def _features(view: View) -> dict[str, Any]:
    axis, drawn = view.axis, view.shown_features
    return {
        "layout": "curve" if is_curve(axis) else "names",
        "title": axis.title,
        "positions": [float(f"{axis.positions[j]:.10g}") for j in drawn],
        "names": [readable(axis.names[j], 40) for j in drawn],
        "word": axis.title.partition(" (")[0] if axis.is_numeric else "predictor",
        "per": "unit" if axis.is_numeric else "standard deviation",
        "total": len(axis.names),
    }


def _permuted(test: PermutationTest) -> dict[str, Any]:
    bins = min(40, max(5, round(np.sqrt(len(test.permuted)))))
    counts, edges = np.histogram(test.permuted, bins=bins)
    return {
        "p": rounded_one(test.p_value),
        "score": rounded_one(test.score),
        "count": len(test.permuted),
        "counts": counts.tolist(),
        "edges": rounded(edges),
        "message": test.message,
        "assumes": test.assumptions,
    }


# Curves over the models
# ----------------------


def _criterion(view: View) -> dict[str, Any]:
    """Say which criterion is drawn, if one chose the model."""
    chosen = view.analysis.selection
    by_criterion = chosen.criterion != LEFT_OUT
    return {
        "name": criterion_label(chosen.criterion) if by_criterion else "",
        "unit": " (response²)" if by_criterion and is_squared(chosen.criterion) else "",
        "log": by_criterion and spans_decades(chosen.scores),
    }


def _all_models(view: View) -> dict[str, Any]:
    """Return one list per quantity, with one entry per model, simplest first."""
    analysis, path = view.analysis, view.analysis.path
    exact, missing = path.exact, np.full(len(path), np.nan)
    total = exact.spectrum.total or np.nan
    numbers = {
        "parameter": path.parameters,
        "dof": path.dof,
        "naive_dof": path.naive_dof,
        "rss": path.rss,
        "explained": 100 * (1 - path.rss / total),
        "sigma": analysis.sigmas,
        "x_explained": _x_explained(view),
        "score": analysis.selection.scores
        if view.analysis.selection.criterion != LEFT_OUT
        else missing,
        "rmsecv": analysis.rmsecv,
        "rmsecv_std_error": analysis.rmsecv_std_error,
    }
    numbers = {name: np.asarray(values)[analysis.order] for name, values in numbers.items()}
    # The empty model explains nothing, up to rounding.
    numbers["explained"] = np.where(np.abs(numbers["explained"]) < 1e-10, 0.0, numbers["explained"])
    names = [model_in_words(float(v), path.parameter_name) for v in numbers["parameter"]]
    if view.is_average:
        mean = analysis.model
        own = {
            "parameter": mean.parameter,
            "dof": mean.dof,
            "naive_dof": float(mean.exact.filter.naive_dof[0]),
            "rss": mean.rss,
            "explained": 100 * analysis.r_squared,
            "sigma": analysis.noise_std,
            "rmsecv": mean.rmse,
        }
        numbers = {n: np.append(values, own.get(n, np.nan)) for n, values in numbers.items()}
        names.append("weighted average")
    return {"words": names} | {n: [rounded_one(v) for v in vs] for n, vs in numbers.items()}


def _x_explained(view: View) -> Array:
    """Return the share of the variance of X in the components; nan for methods without scores."""
    path = view.analysis.path
    if view.pls is None:
        return np.full(len(path), np.nan)
    # The empty model uses nothing of X.
    share = np.concatenate([[0.0], 100 * explained_variance(path).x_cumulative])
    return share[: len(path)]


# One model of the slider
# -----------------------


def _details(view: View, place: int, tested: dict[int, Array] | None) -> dict[str, Any]:
    """Return everything the page shows about one model."""
    from plsdof.report._matrices import importance

    model = view.models[place]
    inference, reason = _inference(view, place)
    predicted = None if tested is None else tested[place]
    return {
        "place": place,
        "reason": reason,
        **_noise_limits(view, place),
        **_curve(view, place, inference),
        "strongest": _strongest(view, model, inference),
        "assumes": "" if inference is None else inference.assumptions,
        "rows": _row_details(view, place),
        "test": None
        if predicted is None
        else rounded(predicted[evenly_spaced(len(predicted), MOST_ROWS)]),
        "merit": _merits(view, place, predicted),
        **importance(view, model),
    }


def _inference(view: View, place: int) -> tuple[CoefficientInference | None, str]:
    """Return intervals for the coefficients of a model, or why there are none."""
    analysis, model = view.analysis, view.models[place]
    if place == view.chosen:
        reasons = ("no-intervals", "intervals-memory", "no-std-errors")
        known = [one.text for one in analysis.remarks if one.kind in reasons]
        return analysis.inference, known[0] if known else ""
    if analysis.inference is None and analysis.remark("no-intervals") is None:
        return None, ""
    try:
        return coefficient_inference(model, level=view.level, **_covariance(view, place)), ""
    except NotAvailableError:
        return None, said(
            "no-intervals", dof=model.dof, n=float(analysis.path.exact.spectrum.n)
        ).text


def _covariance(view: View, place: int) -> dict[str, Any]:
    """Return how standard errors of a model are made: by fits without rows for the chosen one."""
    wanted = view.analysis.request.covariance
    if wanted == "jackknife" and place != view.chosen:
        wanted = "homoscedastic"
    return {"covariance": wanted, "noise": view.analysis.noise_kind}


def _noise_limits(view: View, place: int) -> dict[str, Any]:
    interval = view.analysis.sigma
    if place != view.chosen:
        try:
            interval = noise_interval(view.models[place], level=view.level)
        except NotAvailableError:
            interval = None
    if interval is None:
        return {"sigma_low": None, "sigma_high": None, "sigma_assumes": ""}
    low, high = np.sqrt([interval.lower[0], interval.upper[0]])
    limits = {"sigma_low": rounded_one(low), "sigma_high": rounded_one(high)}
    return limits | {"sigma_assumes": interval.assumptions}


def _curve(view: View, place: int, inference: CoefficientInference | None) -> dict[str, Any]:
    drawn, model = view.shown_features, view.models[place]
    scale = view.effect_scale[drawn]
    curve: dict[str, Any] = dict.fromkeys(
        ("lower", "upper", "widening", "distinct", "distinct_at_once")
    )
    curve["coef"] = rounded(model.coef[drawn] * scale)
    if inference is None:
        return curve
    draws = _DRAWS if place == view.chosen else _FEW_DRAWS
    how = _covariance(view, place)
    band = simultaneous_band(model, level=view.level, n_draws=draws, **how)
    return curve | {
        "lower": rounded(inference.lower[drawn] * scale),
        "upper": rounded(inference.upper[drawn] * scale),
        # The band is the intervals, wider by one factor.
        "widening": rounded_one(band.critical / inference.critical),
        "distinct": _without_zero(inference.lower, inference.upper),
        "distinct_at_once": _without_zero(band.lower, band.upper),
    }


def _without_zero(lower: Array, upper: Array) -> int:
    return int(np.count_nonzero((lower > 0) | (upper < 0)))


def _strongest(
    view: View, model: Model, inference: CoefficientInference | None
) -> list[dict[str, Any]]:
    coef = model.coef
    size = coef * view.rows.std(axis=0) if inference is None else inference.statistic
    first = np.argsort(-np.abs(size), kind="stable")[:_MOST_STRONGEST]
    found = []
    for j in first[coef[first] != 0]:
        row = {"name": view.axis.names[j], "coef": rounded_one(coef[j])}
        row |= dict.fromkeys(("lower", "upper", "p"))
        if inference is not None:
            row["lower"] = rounded_one(inference.lower[j])
            row["upper"] = rounded_one(inference.upper[j])
            row["p"] = rounded_one(inference.p_value[j], 2)
        found.append(row)
    return found


# The rows: fit, residual, leverage and distances from the model
# --------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class RowNumbers:
    """Numbers per row, their limits, flags (a bit per kind), and unusual rows, worst first."""

    values: dict[str, Array]
    found: dict[str, Diagnostic]
    flags: Numbers
    unusual: Numbers


def row_numbers(view: View, place: int) -> RowNumbers:
    """Return what is known of all rows in one model."""
    model = view.models[place]
    fitted = model.fitted if view.analysis.drawn.places is None else view.predicted(model)
    values = {"fitted": fitted, "residual": view.y - fitted}
    table = _outliers(view, place)
    if table is None:
        found, order = {"leverage": _leverage(view, model)}, None
    else:
        found, order = table.diagnostics, table.order
    flags = np.zeros(len(view.y), dtype=np.intp)
    for i, kind in enumerate(KINDS):
        if kind in found:
            flags |= found[kind].flags.astype(np.intp) << i
    if order is None:
        order = np.argsort(-found["leverage"].values, kind="stable")
    return RowNumbers(
        values=values | {kind: one.values for kind, one in found.items()},
        found=found,
        flags=flags,
        unusual=order[flags[order] > 0],
    )


def _outliers(view: View, place: int) -> OutlierTable | None:
    analysis, model = view.analysis, view.models[place]
    if view.pls is None:
        return None
    if place == view.chosen and analysis.unusual is not None:
        return analysis.unusual
    if analysis.drawn.places is None:
        return outliers(model, level=view.level, limit="cross-validated")
    # A sample is judged as rows that are not part of the fit: next to all rows it is small.
    return outliers(model, view.rows, view.y, level=view.level)


def _leverage(view: View, model: Model) -> Diagnostic:
    if view.analysis.drawn.places is None:
        values = model.leverage()
    else:
        exact = model.exact
        reach = exact.standardized_times(view.rows, exact.standardized_coef_factor(model.row))
        values = 1.0 / exact.spectrum.n + squared_rows(reach)
    limit = Limit(
        value=_LEVERAGE_FACTOR * float(values.mean()), method=f"{_LEVERAGE_FACTOR:g} x the average"
    )
    return diagnose("leverage", values, limit, None)


def _row_facts(view: View) -> dict[str, Any]:
    """Return what is known of the rows before any model: number, label, observed response."""
    rows, drawn = view.analysis.drawn.rows, view.places
    found = view.diagnosed.found
    return {
        "number": np.asarray(rows.numbers)[drawn].tolist(),
        "labels": None
        if rows.labels is None
        else [readable(str(rows.labels[i]), 40) for i in drawn],
        "observed": rounded(view.y[drawn]),
        "total": len(view.y),
        "q_limit": found["q"].method if "q" in found else "",
        "kinds": {kind: name for kind, name in KINDS.items() if kind in found},
    }


def _row_details(view: View, place: int) -> dict[str, Any]:
    """Return fit, residuals and diagnostics of the drawn rows, and the most unusual of all rows."""
    numbers = view.diagnosed if place == view.chosen else row_numbers(view, place)
    drawn, left_out = view.places, _left_out(view, place)
    bits = {kind: 1 << i for i, kind in enumerate(KINDS)}
    return {
        **{name: rounded(values[drawn]) for name, values in numbers.values.items()},
        "left_out": None if left_out is None else rounded(left_out[drawn]),
        "flags": numbers.flags[drawn].tolist(),
        "limits": {kind: rounded_one(one.limit) for kind, one in numbers.found.items()},
        "counts": {
            kind: int(np.count_nonzero(numbers.flags & bits[kind])) for kind in numbers.found
        },
        "flagged": int(np.count_nonzero(numbers.flags)),
        "suspects": _suspects(view, numbers),
        "notes": [
            f"{KINDS[kind]}: {one.message}" for kind, one in numbers.found.items() if one.message
        ],
    }


def _suspects(view: View, numbers: RowNumbers) -> list[dict[str, Any]]:
    first, rows = numbers.unusual[:_MOST_SUSPECTS], view.analysis.drawn.rows
    table = {name: rounded(values[first]) for name, values in numbers.values.items()}
    table["observed"] = rounded(view.y[first])
    return [
        {
            "row": int(rows.numbers[row]),
            "label": "" if rows.labels is None else readable(str(rows.labels[row]), 40),
            "why": ", ".join(
                word for bit, word in enumerate(KINDS.values()) if numbers.flags[row] >> bit & 1
            ),
            **{name: values[k] for name, values in table.items()},
        }
        for k, row in enumerate(first)
    ]


def _left_out(view: View, place: int) -> Array | None:
    """Return what was predicted for every row when it was left out; None if that is not known."""
    analysis, model = view.analysis, view.models[place]
    if analysis.left_out is None or model.index >= len(analysis.left_out.rss):
        return None
    found, places = model.left_out_residuals, analysis.drawn.places
    return np.asarray(view.y - (found if places is None else found[places]))


# Rows that took no part in the fit, and how well each kind of row is predicted
# -----------------------------------------------------------------------------


def _test_predictions(view: View) -> dict[int, Array] | None:
    """Return what every model of the slider predicts for the test set, by place."""
    test = view.analysis.test
    if test is None:
        return None
    return {
        place: test.predicted if place == view.chosen else model.intercept + test.X @ model.coef
        for place, model in view.models.items()
    }


def _test_facts(view: View) -> dict[str, Any] | None:
    """Return what is known of the rows of the test set before any model."""
    test = view.analysis.test
    if test is None:
        return None
    drawn = evenly_spaced(len(test.observed), MOST_ROWS)
    labels = test.labels
    return {
        "source": readable(test.source, 60) if test.source else "",
        "number": np.asarray(test.row_numbers)[drawn].tolist(),
        "labels": None if labels is None else [readable(str(labels[i]), 40) for i in drawn],
        "observed": rounded(test.observed[drawn]),
        "total": len(test.observed),
        **_test_interval(view, test, drawn),
    }


def _test_interval(view: View, test: TestSet, drawn: npt.NDArray[np.intp]) -> dict[str, Any]:
    """Return prediction intervals of the chosen model, and how many test rows they hold."""
    request = view.analysis.request
    try:
        found = prediction_interval(
            view.analysis.model, test.X, level=view.level, method=request.intervals
        )
    except (NotAvailableError, InvalidInputError):
        return {"lower": None, "upper": None, "inside": None, "assumes": ""}
    inside = (found.lower <= test.observed) & (test.observed <= found.upper)
    return {
        "lower": rounded(found.lower[drawn]),
        "upper": rounded(found.upper[drawn]),
        "inside": int(np.count_nonzero(inside)),
        "assumes": found.assumptions,
    }


def _merits(view: View, place: int, tested: Array | None) -> list[dict[str, Any]]:
    """Return figures of merit of one model for fitted, left out and test rows."""
    analysis, model = view.analysis, view.models[place]
    if place == view.chosen:
        found = analysis.merit
    else:
        found = {"calibration": figures_of_merit(view.y, view.predicted(model))}
        left_out = _left_out(view, place)
        if left_out is not None:
            found["cross-validation"] = figures_of_merit(view.y, left_out)
        if analysis.test is not None and tested is not None:
            found["test"] = figures_of_merit(analysis.test.observed, tested)
    return [
        {"name": name, "error": RMSE_NAMES[name], "n": one.n}
        | {key: rounded_one(getattr(one, key)) for key, _, _ in HEADINGS}
        for name, one in found.items()
    ]
