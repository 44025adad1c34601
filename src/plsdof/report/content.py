"""Everything a report says, as one dictionary that becomes the page's embedded data."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.criteria import Selection, criterion_label, is_squared, rule_in_words
from plsdof._core.fit import method_label
from plsdof._core.inputs import Array, constant_columns_text
from plsdof._core.path import Path, PLSPath
from plsdof._core.work import with_progress
from plsdof.chemometrics.diagnostics import Diagnostic
from plsdof.chemometrics.merit import HEADINGS, RMSE_NAMES, TestSet, figures_of_merit
from plsdof.chemometrics.rows import outliers
from plsdof.chemometrics.variables import explained_variance
from plsdof.complexity.comparison import Comparison
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.inference.intervals import (
    CoefficientInference,
    noise_interval,
    prediction_interval,
    simultaneous_band,
)
from plsdof.inference.permutation import PermutationTest
from plsdof.plotting.coefficients import inference_or_reason
from plsdof.plotting.curves import (
    LEAVE_ONE_OUT,
    TITLES,
    default_quantity,
    padded,
    permutation_bins,
)
from plsdof.plotting.overview import information_criterion
from plsdof.plotting.rows import left_out_predictions
from plsdof.plotting.style import is_curve, model_words, readable, spans_decades
from plsdof.report._matrices import components, importance, spectra
from plsdof.report._subject import MOST_ROWS, Subject, evenly_spaced, rounded, rounded_one
from plsdof.selection.agreement import FEWEST_DOF, GROUPS_REMARK, UNSTABLE_REMARK, agreement
from plsdof.selection.cross_validation import CrossValidation

# The numbers of the rows: fit, residual, leverage and distances from the model
# -----------------------------------------------------------------------------

# Order of the bits in "flags", and how the page calls them.
KINDS = {"t2": "T²", "q": "Q", "leverage": "leverage", "studentized": "residual"}
_LEVERAGE_FACTOR = 3.0
_MOST_SUSPECTS = 10

Flags = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class _RowNumbers:
    """Numbers per row, limits and flags (a bit per kind) of one model."""

    values: dict[str, Array]
    limits: dict[str, float]
    flags: Flags
    notes: list[str]


@dataclass(frozen=True, kw_only=True, eq=False)
class RowSample:
    """Which rows are drawn, and what is known of them in the chosen model."""

    places: npt.NDArray[np.intp]
    total: int
    chosen: _RowNumbers


def sample_rows(subject: Subject) -> RowSample:
    """Draw all rows, or evenly spaced ones and those the chosen model flags most."""
    total, chosen = len(subject.y), _row_numbers(subject, subject.chosen)
    places = np.arange(total)
    if total > MOST_ROWS:
        unusual = _most_flagged(chosen)[: MOST_ROWS // 4]
        places = np.union1d(unusual, evenly_spaced(total, MOST_ROWS - len(unusual)))
    return RowSample(places=places, total=total, chosen=chosen)


def row_facts(subject: Subject, sample: RowSample) -> dict[str, Any]:
    """Return what is known of the rows before any model: number, label, observed response."""
    return {
        "number": subject.row_numbers[sample.places].tolist(),
        "labels": None
        if subject.row_labels is None
        else [subject.row_labels[i] for i in sample.places],
        "observed": rounded(subject.y[sample.places]),
        "total": sample.total,
        "q_limit": subject.q_limit,
        "kinds": KINDS if subject.component_path is not None else {"leverage": KINDS["leverage"]},
    }


def row_details(subject: Subject, place: int, sample: RowSample) -> dict[str, Any]:
    """Return fit, residuals and diagnostics of the drawn rows, and the most unusual of all rows."""
    numbers = sample.chosen if place == subject.chosen else _row_numbers(subject, place)
    drawn, left_out = sample.places, _left_out(subject, place)
    bits = {kind: 1 << i for i, kind in enumerate(KINDS)}
    return {
        **{name: rounded(values[drawn]) for name, values in numbers.values.items()},
        "left_out": None if left_out is None else rounded(left_out[drawn]),
        "flags": numbers.flags[drawn].tolist(),
        "limits": {kind: rounded_one(value) for kind, value in numbers.limits.items()},
        "counts": {
            kind: int(np.count_nonzero(numbers.flags & bits[kind])) for kind in numbers.limits
        },
        "flagged": int(np.count_nonzero(numbers.flags)),
        "suspects": _suspects(subject, numbers),
        "notes": numbers.notes,
    }


def _left_out(subject: Subject, place: int) -> Array | None:
    """Return what was predicted for every row when it was left out; None if that is not known."""
    cv, sample, (path, index) = subject.cv, subject.sample, subject.at(place)
    if cv is None or cv.predictions is None or path is not subject.path:
        return None
    if sample is not None:
        return left_out_predictions(cv, index)[sample]
    return None if len(cv.y) != len(subject.y) else left_out_predictions(cv, index)


def _row_numbers(subject: Subject, place: int) -> _RowNumbers:
    path, index = subject.at(place)
    fitted, pls = path.fitted[index], subject.component_path
    fit = {"fitted": fitted, "residual": subject.y - fitted}
    if pls is None:
        found = {"leverage": _leverage(path, index)}
    else:
        # A sample is judged as rows that are not part of the fit: next to all rows it is small.
        X = None if subject.sample is None else subject.features
        components = subject.components_at(place)
        options: dict[str, Any] = {"level": subject.level, "q_limit": subject.q_limit}
        options["left_out"] = subject.left_out.get(components)
        found = outliers(pls, components, subject.y, X, **options).diagnostics
        if path is not subject.path:
            # An average has residuals and leverage of its own, but no components.
            own = outliers(path, index, subject.y, X, level=subject.level).diagnostics
            found = {**found, **{kind: own[kind] for kind in ("leverage", "studentized")}}
    flags = np.zeros(len(subject.y), dtype=np.intp)
    for i, kind in enumerate(KINDS):
        if kind in found:
            flags |= found[kind].flags.astype(np.intp) << i
    return _RowNumbers(
        values=fit | {kind: one.values for kind, one in found.items()},
        limits={kind: one.limit for kind, one in found.items()},
        flags=flags,
        notes=[f"{KINDS[kind]}: {one.message}" for kind, one in found.items() if one.message],
    )


def _leverage(path: Path, index: int) -> Diagnostic:
    values = path.leverage(index)
    limit = _LEVERAGE_FACTOR * float(values.mean())
    return Diagnostic(
        name="leverage",
        values=values,
        limit=limit,
        flags=values > limit,
        level=None,
        method=f"{_LEVERAGE_FACTOR:g} times the average",
    )


def _most_flagged(numbers: _RowNumbers) -> npt.NDArray[np.intp]:
    """Return the flagged rows: most flags first, then furthest beyond a limit."""
    count = np.bitwise_count(numbers.flags).astype(np.intp)
    excess = np.zeros(len(count))
    for kind, limit in numbers.limits.items():
        if limit > 0:
            excess = np.fmax(excess, np.abs(numbers.values[kind]) / limit)
    order = np.lexsort([-excess, -count])
    return order[count[order] > 0]


def _suspects(subject: Subject, numbers: _RowNumbers) -> list[dict[str, Any]]:
    rows = _most_flagged(numbers)[:_MOST_SUSPECTS]
    table = {name: rounded(values[rows]) for name, values in numbers.values.items()}
    table["observed"] = rounded(subject.y[rows])
    return [
        {
            "row": int(subject.row_numbers[row]),
            "label": "" if subject.row_labels is None else subject.row_labels[row],
            "why": ", ".join(
                word for bit, word in enumerate(KINDS.values()) if numbers.flags[row] >> bit & 1
            ),
            **{name: values[k] for name, values in table.items()},
        }
        for k, row in enumerate(rows)
    ]


# Rows that took no part in the fit, and how well each kind of row is predicted
# -----------------------------------------------------------------------------


def test_facts(subject: Subject) -> dict[str, Any] | None:
    """Return what is known of the rows of the test set before any model."""
    test = subject.test
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
        **_test_interval(subject, test, drawn),
    }


def _test_interval(subject: Subject, test: TestSet, drawn: npt.NDArray[np.intp]) -> dict[str, Any]:
    """Return prediction intervals of the chosen model, and how many test rows they hold."""
    try:
        found = prediction_interval(
            *subject.at(subject.chosen),
            test.X,
            level=subject.level,
            method=subject.intervals,
            covariance=subject.covariance,
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


def test_predictions(subject: Subject) -> Array | None:
    """Return what every model predicts for the test set, simplest model first. Shape (K, rows)."""
    if subject.test is None:
        return None
    found = subject.path.predict(subject.test.X)[subject.order]
    return (
        found
        if subject.average is None
        else np.vstack([found, subject.average.predict(subject.test.X)])
    )


def merit_table(subject: Subject, place: int, tested: Array | None) -> list[dict[str, Any]]:
    """Return figures of merit of one model for fitted, left out and test rows."""
    path, index = subject.at(place)
    sets = [("calibration", subject.y, path.fitted[index])]
    left_out = _left_out(subject, place)
    if left_out is not None:
        sets.append(("cross-validation", subject.y, left_out))
    if subject.test is not None and tested is not None:
        sets.append(("test", subject.test.observed, tested[place]))
    return [_merit(*one) for one in sets if np.isfinite(one[2]).any()]


def _merit(name: str, observed: Array, predicted: Array) -> dict[str, Any]:
    known = np.isfinite(predicted)
    figures = figures_of_merit(observed[known], predicted[known])
    numbers = {key: rounded_one(getattr(figures, key)) for key, _, _ in HEADINGS}
    return {"name": name, "error": RMSE_NAMES[name], "n": figures.n, **numbers}


# The numbers of the models: curves over all of them, and the details of those on the slider
# ------------------------------------------------------------------------------------------

_MOST_STRONGEST = 10
_ROUNDING = 1e-12


def all_models(subject: Subject) -> dict[str, Any]:
    """Return one list per quantity, with one entry per model, simplest first."""
    path = subject.path
    numbers = _columns(path, subject.order)
    size = len(subject.order)
    numbers |= {
        "x_explained": 100 * x_explained(subject)[subject.order],
        "score": criterion_scores(subject)[subject.order],
        "cv_error": subject.cv_error[subject.order],
        "cv_std_error": subject.cv_std_error[subject.order],
        "loo_rmse": subject.errors[0].get(LEAVE_ONE_OUT, padded(np.array([]), size))[subject.order],
    }
    words = [model_words(float(v), path.parameter_name) for v in numbers["parameter"]]
    if subject.average is not None:
        mean = subject.average.path
        own = _columns(mean, np.array([0])) | {"loo_rmse": _average_left_out(mean)}
        numbers = {
            name: np.append(values, own.get(name, [np.nan])) for name, values in numbers.items()
        }
        words.append("weighted average")
    numbers["cv_rmse"] = np.sqrt(numbers["cv_error"])
    shown = {name: [rounded_one(v) for v in values] for name, values in numbers.items()}
    return {"words": words, **shown}


def _average_left_out(mean: Path) -> Array:
    """Return the leave-one-out error of an average, nan where a row fits itself. Shape (1,)."""
    found = mean.leave_one_out()
    return np.where(found.largest_leverage < 1, found.rmse, np.nan)


def _columns(path: Path, rows: Any) -> dict[str, Array]:
    """Return what is known of all models of a path."""
    columns = {
        "parameter": path.parameters,
        "dof": path.dof,
        "naive_dof": path.naive_dof,
        "rss": path.rss,
        "explained": 100 * explained(path),
        "sigma": np.sqrt(path.noise_variance()),
    }
    return {name: values[rows] for name, values in columns.items()}


def error_curves(subject: Subject) -> list[dict[str, Any]]:
    """Return estimates of the error on new rows, in units of the response, with error bars."""
    errors, std_errors = subject.errors
    mean = subject.average

    def shown(values: Array) -> list[Any]:
        return [rounded_one(v) for v in values[subject.order]]

    def of_average(name: str) -> list[Any]:
        """Only leave-one-out is known of an average."""
        if mean is None:
            return []
        known = name == LEAVE_ONE_OUT
        return [rounded_one(float(_average_left_out(mean.path)[0])) if known else None]

    return [
        {
            "name": name,
            "value": shown(values) + of_average(name),
            "std_error": shown(std_errors[name]) if name in std_errors else None,
            "reliable": _reliable(subject) if name == LEAVE_ONE_OUT else None,
        }
        for name, values in errors.items()
        if np.isfinite(values).any()
    ]


def errors_axis(subject: Subject) -> dict[str, Any]:
    """Say how far the axis of `error_curves` goes, and whether it is logarithmic."""
    errors, std_errors = subject.errors
    above = [errors[name] + std_errors[name] for name in std_errors]
    simplest = [float(values[subject.order[0]]) for values in errors.values()]
    top = _top(simplest, np.concatenate([np.zeros(0), *above]))
    values = np.concatenate([np.zeros(0), *errors.values()])
    return {"log": spans_decades(values[values <= top]), "top": rounded_one(top)}


def _reliable(subject: Subject) -> list[bool] | None:
    """Say where leave-one-out without refits can be relied on; None if it can everywhere."""
    if subject.sample is not None:  # it is not shown
        return None
    reliable = subject.path.leave_one_out().reliable[subject.order]
    if subject.average is not None:
        reliable = np.append(reliable, subject.average.path.leave_one_out().reliable)
    return None if reliable.all() else reliable.tolist()


def explained(path: Path) -> Array:
    """Return R^2 of every model of the path; nan for a response that does not vary."""
    total = path.spectrum.total
    share = 1 - path.rss / (total if total > 0 else np.nan)
    # The empty model explains nothing, up to rounding.
    return np.where(np.abs(share) < _ROUNDING, 0.0, share)


def x_explained(subject: Subject) -> Array:
    """Return the share of the variance of X in the components; nan for methods without scores."""
    path = subject.path
    if not isinstance(path, PLSPath):
        return padded(np.array([]), len(path.dof))
    # The empty model uses nothing of X.
    share = np.concatenate([[0.0], explained_variance(path).x_cumulative])
    return padded(share[: len(path.dof)], len(path.dof))


def criterion_scores(subject: Subject) -> Array:
    """Return the information criterion of every model; nan if there is none."""
    found = information_criterion(subject.path, subject.selection)
    size = len(subject.path.dof)
    return padded(np.array([]) if found is None else found[1], size)


def criterion_facts(subject: Subject) -> dict[str, Any]:
    """Say which criterion is drawn and how."""
    found = information_criterion(subject.path, subject.selection)
    name = "" if found is None else found[0]
    same_axis = is_squared(name)
    scores = criterion_scores(subject)
    both = np.concatenate([scores, subject.cv_error]) if same_axis or not name else scores
    top = np.nan
    if same_axis:
        top = _top([scores[subject.order[0]]], subject.cv_error + subject.cv_std_error)
        both = both[both <= top]
    return {
        "name": criterion_label(name),
        "same_axis": same_axis,
        "log": spans_decades(both),
        "cv_log": spans_decades(both if same_axis else subject.cv_error),
        "top": rounded_one(top) if same_axis else None,
    }


def _top(simplest: Iterable[float], above: Array) -> float:
    """Return where pictures of errors end: above the simplest model and what is known well.

    Estimates that explode where Degrees of Freedom come near n must not hide the others.
    """
    return 1.15 * float(np.nanmax([*simplest, *above], initial=0.0)) or np.nan


def model_details(
    subject: Subject, place: int, sample: RowSample, tested: Array | None
) -> dict[str, Any]:
    """Return everything the page shows about one model of the slider."""
    path, index = subject.at(place)
    errors = subject.errors_of_coefficients(place)
    inference, reason = inference_or_reason(path, index, level=subject.level, **errors)
    return {
        "place": place,
        "reason": reason,
        **_noise_limits(subject, place),
        **_curve(subject, place, inference, errors),
        "strongest": _strongest(subject, place, inference),
        "assumes": "" if inference is None else inference.assumptions,
        "rows": row_details(subject, place, sample),
        "test": None
        if tested is None
        else rounded(tested[place][evenly_spaced(tested.shape[1], MOST_ROWS)]),
        "merit": merit_table(subject, place, tested),
        **importance(subject, subject.components_at(place)),
    }


def _noise_limits(subject: Subject, place: int) -> dict[str, Any]:
    try:
        interval = noise_interval(*subject.at(place), level=subject.level)
    except NotAvailableError:
        return {"sigma_low": None, "sigma_high": None, "sigma_assumes": ""}
    low, high = np.sqrt([interval.lower[0], interval.upper[0]])
    limits = {"sigma_low": rounded_one(low), "sigma_high": rounded_one(high)}
    return limits | {"sigma_assumes": interval.assumptions}


def _curve(
    subject: Subject, place: int, inference: CoefficientInference | None, errors: dict[str, Any]
) -> dict[str, Any]:
    drawn, (path, index) = subject.shown_features, subject.at(place)
    scale = subject.effect_scale[drawn]
    curve: dict[str, Any] = {
        "coef": rounded(path.coef[index][drawn] * scale),
        "lower": None,
        "upper": None,
        "widening": None,
        "distinct": None,
        "distinct_at_once": None,
    }
    if inference is None:
        return curve
    draws = subject.draws(place)
    band = simultaneous_band(path, index, level=subject.level, n_draws=draws, **errors)
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
    subject: Subject, place: int, inference: CoefficientInference | None
) -> list[dict[str, Any]]:
    path, index = subject.at(place)
    coef = path.coef[index]
    size = coef * subject.features.std(axis=0) if inference is None else inference.statistic
    first = np.argsort(-np.abs(size), kind="stable")[:_MOST_STRONGEST]
    return [_one_coefficient(subject, int(j), coef, inference) for j in first if coef[j] != 0]


def _one_coefficient(
    subject: Subject, j: int, coef: Array, inference: CoefficientInference | None
) -> dict[str, Any]:
    row: dict[str, Any] = {"name": subject.axis.names[j], "coef": rounded_one(coef[j])}
    if inference is None:
        return row | {"lower": None, "upper": None, "p": None}
    return row | {
        "lower": rounded_one(inference.lower[j]),
        "upper": rounded_one(inference.upper[j]),
        "p": rounded_one(inference.p_value[j], 2),
    }


# Everything a report says, as one dictionary that becomes the page's embedded data
# ---------------------------------------------------------------------------------

_DOF_WORDS = {
    "exact": "with exact Degrees of Freedom",
    "smoothed": "with smoothed Degrees of Freedom",
    "naive": "with the number of components + 1 as Degrees of Freedom",
    "clipped": "with Degrees of Freedom limited to min(n - 1, p + 1)",
}
_METHODS = {
    "PLSPath": "PLS",
    "PCRPath": "PCR",
    "RidgePath": "Ridge regression",
    "KernelPLSPath": "Kernel PLS",
    "PenalizedPLSPath": "Penalised PLS",
}


def report_content(subject: Subject, *, progress: bool = False) -> dict[str, Any]:
    """Return the data of a report; all numbers are rounded as they are shown."""
    sample, tested = sample_rows(subject), test_predictions(subject)
    places: Iterable[int] = subject.shown
    if progress:
        places = with_progress(subject.shown, len(subject.shown), "Models of the report")
    return {
        "response": readable(subject.response),
        "source": readable(subject.source, 200) if subject.source else "",
        "method": _method(subject),
        "parameter_name": subject.path.parameter_name,
        "n": rounded_one(subject.path.spectrum.n),
        "p": subject.features.shape[1],
        "level": rounded_one(100 * subject.level),
        "choice": _choice(subject.selection),
        "chosen": subject.chosen,
        "average": None if subject.average is None else subject.chosen,
        "heaviest": subject.heaviest,
        "first": subject.shown.start,
        "criterion": criterion_facts(subject),
        "models": all_models(subject),
        "features": _features(subject),
        "rows": row_facts(subject, sample),
        "test": test_facts(subject),
        "merit_headings": [list(one) for one in HEADINGS],
        "errors": error_curves(subject),
        "errors_axis": errors_axis(subject),
        "details": [model_details(subject, place, sample, tested) for place in places],
        "spectra": spectra(subject, sample.places),
        "components": components(subject, sample.places),
        "comparison": None
        if subject.comparison is None
        else _compared(subject, subject.comparison),
        "other_choice": _other_choice(subject),
        "permutation": None if subject.permutation is None else _permuted(subject.permutation),
        "stability": "" if subject.stability is None else subject.stability.message,
        "search": subject.search,
        "notes": _notes(subject),
    }


def _method(subject: Subject) -> str:
    name = type(subject.path).__name__
    return _METHODS.get(name, name.removesuffix("Path"))


def _choice(selection: Selection) -> str:
    """Say how the model was chosen."""
    if selection.rule == "given":
        return "its size was given"
    if selection.rule == "average":
        return selection.message[0].upper() + selection.message[1:]
    words = rule_in_words(selection.rule, criterion_label(selection.criterion))
    if selection.criterion.startswith("cv-") and selection.criterion != "cv-error":
        words = f"{words.replace('smallest', 'largest')} correlation"
    # Where rows left out decided, Degrees of Freedom did not.
    cost = "" if selection.rule == "left-out" else _DOF_WORDS.get(selection.dof, "")
    return f"{words} {cost}".rstrip()


def _features(subject: Subject) -> dict[str, Any]:
    axis, drawn = subject.axis, subject.shown_features
    return {
        "layout": "curve" if is_curve(axis) else "names",
        "title": axis.title,
        "positions": [float(f"{axis.positions[j]:.10g}") for j in drawn],
        "names": [readable(axis.names[j], 40) for j in drawn],
        "word": axis.title.partition(" (")[0] if axis.is_numeric else "predictor",
        "per": "unit" if axis.is_numeric else "standard deviation",
        "total": len(axis.names),
    }


def _other_choice(subject: Subject) -> dict[str, str] | None:
    """Return what cross-validation would have taken, or GCV where it was the choice."""
    by_cv = subject.selection.criterion.startswith("cv-")
    if not by_cv and subject.cv is None:
        return None
    try:
        other = subject.path.select() if by_cv or subject.cv is None else subject.cv.select()
    except NotAvailableError:
        return None
    return {
        "by": "GCV with smoothed Degrees of Freedom" if by_cv else "cross-validation",
        "words": model_words(other.parameter, other.parameter_name),
        "simpler": "" if by_cv else _simplest_within_error(subject.cv),
    }


def _simplest_within_error(cv: CrossValidation | None) -> str:
    """Return the model that the one-standard-error rule takes, in words; empty if undefined."""
    try:
        found = None if cv is None else cv.select(rule="one-standard-error")
    except NotAvailableError:
        return ""
    return "" if found is None else model_words(found.parameter, found.parameter_name)


def _notes(subject: Subject) -> list[str]:
    """Return what a careful reader should know about this path and this choice."""
    path, (answering, index) = subject.path, subject.at(subject.chosen)
    dof, n = float(answering.dof[index]), path.spectrum.n
    said = _remarks(subject.selection)
    # Columns that a search leaves out do not vary any more.
    constant = "" if subject.search else _constant_columns(subject)
    notes = [*subject.notes, said, constant, path.message]
    notes += [] if subject.cv is None else _doubts(subject, subject.cv)
    by_rule = subject.selection.rule != "given" and "last model" not in said
    by_rule = by_rule and subject.average is None
    is_last = subject.chosen == len(subject.order) - 1 and len(subject.order) > 1
    if is_last and by_rule and not _is_complete(path):
        notes.append("The richest model tried was chosen: allow more, the best may lie beyond.")
    if subject.chosen == 0 and "empty model" not in said and path.parameter_name == "n_components":
        notes.append("The model without predictors was chosen: they do not help to predict.")
    if dof >= n and "close to n" not in said:
        notes.append(f"The chosen model has {dof:.1f} Degrees of Freedom for {n:g} observations.")
    if dof < FEWEST_DOF:
        notes.append(UNSTABLE_REMARK)
    if subject.average is not None and subject.component_path is not None:
        notes.append(
            "An average has no components of its own: T², Q, VIP and selectivity ratio are those "
            f"of the model with most weight, {path.label(subject.selection.index)}."
        )
    if len(subject.shown) < subject.count:
        notes.append(
            f"The page describes {len(subject.shown)} of {subject.count} models in detail."
        )
    return list(dict.fromkeys(readable(note, 400) for note in notes if note))


def _doubts(subject: Subject, cv: CrossValidation) -> list[str]:
    """Return what cross-validation says against the choice, and against itself."""
    found = [cv.message, "" if cv.groups is None else GROUPS_REMARK]
    if subject.selection.rule != "average":
        found += agreement(subject.path, subject.selection, cv)
    return found


def _remarks(selection: Selection) -> str:
    """Return what is unusual about a choice that was made."""
    if selection.rule == "given" or not selection.remarks:
        return ""
    return f"About the choice: {' '.join(selection.remarks)}"


def _is_complete(path: Path) -> bool:
    """Whether there is no richer model than the last one."""
    of_components = path.parameter_name == "n_components"
    everything = min(path.spectrum.rank, path.spectrum.n - 1)
    return bool(path.message) or (of_components and len(path.dof) - 1 >= everything)


def _constant_columns(subject: Subject) -> str:
    constant = np.flatnonzero(~np.isfinite(subject.path.units.x_scale))
    return constant_columns_text([subject.axis.names[j] for j in constant]) if constant.size else ""


def _permuted(test: PermutationTest) -> dict[str, Any]:
    counts, edges = permutation_bins(test.permuted)
    return {
        "p": rounded_one(test.p_value),
        "score": rounded_one(test.score),
        "count": len(test.permuted),
        "counts": counts.tolist(),
        "edges": rounded(edges),
        "message": test.message,
        "assumes": test.assumptions,
    }


def _compared(subject: Subject, table: Comparison) -> dict[str, Any]:
    by = default_quantity(table)
    values = table.columns()[by]
    return {
        "by": by,
        "title": TITLES[by],
        "log": spans_decades(values),
        "methods": [_one_method(subject, table, name, by) for name in table.paths],
    }


def _one_method(subject: Subject, table: Comparison, name: str, by: str) -> dict[str, Any]:
    rows = np.flatnonzero(table.method == name)
    values = table.columns()[by]
    order = rows[table.paths[name].simplest_first()]
    found: dict[str, Any] = {
        "name": readable(method_label(name), 30),
        "dof": [rounded_one(v) for v in table.dof[order]],
        "value": [rounded_one(v) for v in values[order]],
        "near": _nearest(subject, table, order),
        "best": None,
    }
    known = values[order]
    if by == "cv_error" and not np.all(np.isnan(known)):
        found["best"] = int(np.nanargmin(known))
    names = [
        model_words(float(v), table.paths[name].parameter_name) for v in table.parameter[order]
    ]
    return found | {"words": names}


def _nearest(subject: Subject, table: Comparison, order: Any) -> int | None:
    """Return the place of the model whose Degrees of Freedom are nearest to the chosen one's."""
    path, index = subject.at(subject.chosen)
    distance = np.abs(table.dof[order] - float(path.dof[index]))
    return None if np.all(np.isnan(distance)) else int(np.nanargmin(distance))
