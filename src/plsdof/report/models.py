"""The numbers of the models: curves over all of them, and the details of those on the slider."""

from typing import Any

import numpy as np

from plsdof._validation import Array
from plsdof.chemometrics import explained_variance
from plsdof.errors import NotAvailableError
from plsdof.inference import CoefficientInference, noise_interval, simultaneous_band
from plsdof.path_types import PLSPath
from plsdof.plotting.coefficients import inference_or_reason
from plsdof.plotting.curves import padded
from plsdof.plotting.overview import information_criterion
from plsdof.plotting.style import IN_SQUARED_UNITS, model_words, spans_decades
from plsdof.report.rounding import rounded, rounded_one
from plsdof.report.rows import RowSample, row_details
from plsdof.report.subject import Subject

_MOST_STRONGEST = 10
_ROUNDING = 1e-12


def all_models(subject: Subject) -> dict[str, Any]:
    """Return one list per quantity, with one entry per model, simplest first."""
    path, order = subject.path, subject.order
    columns = {
        "parameter": path.parameters,
        "dof": path.dof,
        "naive_dof": path.naive_dof,
        "rss": path.rss,
        "explained": 100 * explained(subject),
        "x_explained": 100 * x_explained(subject),
        "sigma": np.sqrt(path.noise_variance()),
        "score": criterion_scores(subject),
        "cv_error": subject.cv_error,
        "cv_std_error": subject.cv_std_error,
        "cv_rmse": np.sqrt(subject.cv_error),
    }
    numbers = {name: [rounded_one(v) for v in values[order]] for name, values in columns.items()}
    words = [model_words(float(v), path.parameter_name) for v in path.parameters[order]]
    return {"words": words, **numbers}


def explained(subject: Subject) -> Array:
    """Return R^2 of every model of the path; nan for a response that does not vary."""
    total = subject.path.spectrum.total
    share = 1 - subject.path.rss / (total if total > 0 else np.nan)
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
    same_axis = name in IN_SQUARED_UNITS
    scores = criterion_scores(subject)
    both = np.concatenate([scores, subject.cv_error]) if same_axis or not name else scores
    return {
        "name": name.upper(),
        "same_axis": same_axis,
        "log": spans_decades(both),
        "cv_log": spans_decades(both if same_axis else subject.cv_error),
    }


def model_details(subject: Subject, place: int, sample: RowSample) -> dict[str, Any]:
    """Return everything the page shows about one model of the slider."""
    index = int(subject.order[place])
    inference, reason = inference_or_reason(subject.path, index, level=subject.level)
    return {
        "place": place,
        "reason": reason,
        **_noise_limits(subject, index),
        **_curve(subject, index, inference),
        "strongest": _strongest(subject, index, inference),
        "rows": row_details(subject, index, sample),
    }


def _noise_limits(subject: Subject, index: int) -> dict[str, Any]:
    try:
        interval = noise_interval(subject.path, index, level=subject.level)
    except NotAvailableError:
        return {"sigma_low": None, "sigma_high": None}
    low, high = np.sqrt([interval.lower[0], interval.upper[0]])
    return {"sigma_low": rounded_one(low), "sigma_high": rounded_one(high)}


def _curve(subject: Subject, index: int, inference: CoefficientInference | None) -> dict[str, Any]:
    drawn = subject.shown_features
    scale = subject.effect_scale[drawn]
    curve: dict[str, Any] = {
        "coef": rounded(subject.path.coef[index][drawn] * scale),
        "lower": None,
        "upper": None,
        "widening": None,
        "distinct": None,
        "distinct_at_once": None,
    }
    if inference is None:
        return curve
    draws = subject.draws(index)
    band = simultaneous_band(subject.path, index, level=subject.level, n_draws=draws)
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
    subject: Subject, index: int, inference: CoefficientInference | None
) -> list[dict[str, Any]]:
    coef = subject.path.coef[index]
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
