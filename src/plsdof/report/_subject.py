"""What a report is about: a path, the choice on it, and the data; and how it rounds numbers."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.averaging import Average
from plsdof._core.criteria import Selection
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_fraction,
    as_matrix,
    as_response,
    feature_names,
    require_type,
)
from plsdof._core.models import Integers
from plsdof._core.path import Path, PLSPath
from plsdof._core.work import cached_property
from plsdof.chemometrics.merit import TestSet
from plsdof.chemometrics.rows import LeftOutRows, has_left_out_limits, left_out_rows_of
from plsdof.complexity.comparison import Comparison
from plsdof.errors import InvalidInputError
from plsdof.inference.intervals import COVARIANCES, INTERVAL_METHODS
from plsdof.inference.permutation import PermutationTest
from plsdof.inference.resampling import leave_out
from plsdof.plotting.curves import error_estimates, padded
from plsdof.plotting.style import FeatureAxis, Fitted, average_of, feature_axis, readable
from plsdof.selection.cross_validation import CrossValidation
from plsdof.selection.stability import SelectionFrequency

# Numbers as a report shows them: rounded once, so that page and embedded data say the same
# -----------------------------------------------------------------------------------------

DIGITS = 4
_MOST_DIGITS = 15

Number = float | int | None


def rounded(values: Any, digits: int = DIGITS) -> list[Number]:
    """Round to significant digits; None for what is not finite.

    Values that differ little compared with their size keep as many more digits as it takes to
    tell them apart.

    Examples
    --------
    >>> rounded([1.23456789, float("nan")])
    [1.235, None]
    >>> rounded([100000.1234567, 100000.7654321])
    [100000.123, 100000.765]
    """
    array = np.asarray(values, dtype=np.float64).ravel()
    pattern = f"%.{min(digits + _more_digits(array), _MOST_DIGITS)}g"
    return [_rounded(value, pattern) for value in array.tolist()]


def rounded_one(value: float, digits: int = DIGITS) -> Number:
    """Round one number to significant digits; None if it is not finite."""
    return rounded([value], digits)[0]


def shown(value: Number) -> str:
    """Write a rounded number so that reading it gives the same number again.

    Examples
    --------
    >>> shown(12.0), shown(0.00012), shown(1e-12), shown(None)
    ('12', '0.00012', '1e-12', 'not defined')
    """
    if value is None:
        return "not defined"
    text = repr(float(value)).removesuffix(".0")
    if "e" not in text or abs(value) < 1e-6 or abs(value) >= 1e21:
        return text
    return np.format_float_positional(value, trim="-")


def _more_digits(array: npt.NDArray[np.float64]) -> int:
    """Return how many leading digits all values have in common."""
    known = array[np.isfinite(array)]
    if not known.size:
        return 0
    with np.errstate(over="ignore"):
        ratio = np.abs(known).max() / np.ptp(known) if np.ptp(known) > 0 else 1.0
    return int(np.clip(np.floor(np.log10(max(ratio, 1.0)) + 0.5), 0, _MOST_DIGITS))


def _rounded(value: float, pattern: str) -> Number:
    """Round by a format; whole numbers become integers, which makes the data shorter."""
    if not math.isfinite(value):
        return None
    result = float(pattern % value)
    if not math.isfinite(result):  # rounded up beyond the largest number
        return value
    return int(result) if result.is_integer() and abs(result) < 1e15 else result


# What a report is about: a path, the choice on it, and the data, checked to belong together
# ------------------------------------------------------------------------------------------

# How much goes into one file: about 2 MB of numbers at most.
MOST_MODELS = 60
MOST_ROWS = 500
MOST_FEATURES = 2000
MOST_COEFFICIENTS = 60_000
# Multiplications spent on the models of the slider: seconds, half a minute at most.
_MOST_WORK = 3e11
_FEWEST_MODELS = 5
# Multiplications spent on fits without each fold, for the limit of Q: seconds.
_MOST_WORK_OF_FOLDS = 5e9
# The same for the fits without single rows.
_MOST_LEFT_OUT = 1e10
# Draws for the band of all coefficients: the critical value is off by about 1% or 2%.
_DRAWS, _FEW_DRAWS = 2000, 500
# Entries of the factor of the covariance, from which on 2000 draws for every model take seconds.
_LARGE_FACTOR = 100_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Subject:
    """A path with everything the report says about it; models are counted simplest first.

    The average of all models, if that was the choice, comes after them.
    """

    path: Path
    selection: Selection
    average: Average | None
    features: Array
    y: Array
    names: tuple[str, ...] | None
    row_labels: tuple[str, ...] | None
    response: str
    source: str
    cv: CrossValidation | None
    comparison: Comparison | None
    level: float
    stability: SelectionFrequency | None
    notes: tuple[str, ...]
    row_numbers: npt.NDArray[np.intp]
    groups: tuple[str, ...] | None
    raw: Array | None
    raw_names: tuple[str, ...] | None
    preprocessing: str
    search: str
    test: TestSet | None
    intervals: str
    covariance: str
    permutation: PermutationTest | None
    sample: npt.NDArray[np.intp] | None

    @cached_property
    def order(self) -> Integers:
        """Rows of the path, simplest model first."""
        return self.path.simplest_first()

    @cached_property
    def heaviest(self) -> int:
        """Place in `order` of the model chosen, or of the one with most weight in an average."""
        return int(np.flatnonzero(self.order == self.selection.index)[0])

    @property
    def chosen(self) -> int:
        """Place of the chosen model: in `order`, or after all of them for an average."""
        return self.heaviest if self.average is None else len(self.order)

    @property
    def count(self) -> int:
        """Number of places."""
        return len(self.order) + (self.average is not None)

    def at(self, place: int) -> tuple[Path, int]:
        """Return the path and the row that answer questions about the model at a place."""
        if self.average is not None and place == len(self.order):
            return self.average.path, 0
        return self.path, int(self.order[place])

    def components_at(self, place: int) -> int:
        """Return the row whose components are shown: of an average those of most weight."""
        return self.selection.index if place == self.chosen else int(self.order[place])

    @cached_property
    def q_limit(self) -> str:
        """Where the limit of Q comes from: rows left out, unless that takes long."""
        pls = self.component_path
        (n, p), folds = self.features.shape, 10
        work = folds * n * p * min(n, p)
        if pls is not None and has_left_out_limits(pls) and work <= _MOST_WORK_OF_FOLDS:
            return "cross-validated"
        return "moments"

    @cached_property
    def left_out(self) -> dict[int, LeftOutRows]:
        """Rows left out, by the number of components of the models on the slider.

        Empty where the limit of Q does not come from them.
        """
        pls = self.component_path
        if pls is None or self.q_limit != "cross-validated":
            return {}
        models = sorted({self.components_at(place) for place in self.shown})
        return dict(zip(models, left_out_rows_of(pls, models), strict=True))

    @cached_property
    def axis(self) -> FeatureAxis:
        """Names and positions of the predictors."""
        return feature_axis(self.names, self.features.shape[1])

    @cached_property
    def effect_scale(self) -> Array:
        """What coefficients are multiplied by in the picture: 1 for spectra, else deviations."""
        if self.axis.is_numeric:
            return np.ones(self.features.shape[1])
        return np.asarray(self.features.std(axis=0, ddof=1))

    @property
    def component_path(self) -> PLSPath | None:
        """The path if it is one of plain PLS, which T^2, Q and studentised residuals need."""
        return self.path if type(self.path) is PLSPath else None

    @cached_property
    def cv_error(self) -> Array:
        """Cross-validated mean squared errors in the order of the path; nan where unknown."""
        return self._from_cv("mean_error")

    @cached_property
    def cv_std_error(self) -> Array:
        """Standard errors of `cv_error`."""
        return self._from_cv("std_error")

    @cached_property
    def errors(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Errors on new rows by name, and their standard errors; see `error_estimates`."""
        return error_estimates(self.path, self.cv)

    @cached_property
    def shown(self) -> range:
        """Places of the models on the slider: all, or as many as fit, around the chosen one."""
        total = self.count
        most = min(total, MOST_MODELS, max(_FEWEST_MODELS, self._affordable()))
        start = max(0, min(self.chosen - most // 2, total - most))
        return range(start, start + most)

    @cached_property
    def shown_features(self) -> npt.NDArray[np.intp]:
        """Predictors that are drawn, from left to right: all, or evenly spaced ones."""
        most = min(MOST_FEATURES, MOST_COEFFICIENTS // max(1, len(self.shown)))
        order = self.axis.order
        return order[evenly_spaced(len(order), most)]

    def draws(self, place: int) -> int:
        """Draws for the band of a model: fewer if the problem is large, except for the chosen."""
        return _DRAWS if place == self.chosen else self._draws_beside_chosen

    def errors_of_coefficients(self, place: int) -> dict[str, Any]:
        """Return which standard errors the coefficients of a model have, for `inference`.

        Fits without single rows are made for the chosen model, and for the others if that is
        quick; these are homoscedastic otherwise, and the page says so.
        """
        if self.covariance != "jackknife":
            return {"covariance": self.covariance}
        work = len(self.shown) * len(self.y) * self.path.spectrum.rank**3
        too_long = place != self.chosen and work > _MOST_LEFT_OUT
        if too_long or self.path.is_dual:
            return {"covariance": "homoscedastic"}
        return {"covariance": "jackknife", "left_out": leave_out(*self.at(place))}

    def _from_cv(self, name: str) -> Array:
        values = [] if self.cv is None else getattr(self.cv, name)
        return padded(np.asarray(values), len(self.path.dof))

    def _affordable(self) -> int:
        (n, p), r = self.features.shape, max(1.0, self.path.spectrum.rank)
        # Diagnostics of the rows; intervals of the coefficients; draws for their band.
        return int(_MOST_WORK / (6 * n * r**2 + 2 * p * r**2 + self._draws_beside_chosen * p * r))

    @property
    def _draws_beside_chosen(self) -> int:
        is_large = self.features.shape[1] * self.path.spectrum.rank > _LARGE_FACTOR
        return _FEW_DRAWS if is_large else _DRAWS


def evenly_spaced(total: int, most: int) -> npt.NDArray[np.intp]:
    """Return all of 0..total-1, or ``most`` of them.

    Examples
    --------
    >>> evenly_spaced(3, 5), evenly_spaced(9, 3)
    (array([0, 1, 2]), array([0, 4, 8]))
    """
    if total <= most:
        return np.arange(total)
    return np.linspace(0, total - 1, most).round().astype(np.intp)


def make_subject(
    model: Fitted,
    *,
    X: Any,
    y: Any,
    row_labels: Iterable[Any] | None,
    response: str,
    source: str,
    comparison: Comparison | None,
    level: float,
    stability: SelectionFrequency | None,
    notes: Iterable[str],
    row_numbers: Iterable[int] | None = None,
    groups: Iterable[Any] | None = None,
    raw: Any = None,
    preprocessing: str = "",
    search: str = "",
    test: TestSet | None = None,
    intervals: str = "normal",
    covariance: str = "homoscedastic",
    permutation: PermutationTest | None = None,
    sample: Any = None,
) -> Subject:
    """Check that path, choice, data and cross-validation belong together."""
    path, selection = model.path, model.selection
    X = X if model.rows is None else model.rows(X)
    features = path.check_new_rows(X)
    y = as_response(y, len(features))
    index = path.index(selection.index)
    if path.parameters[index] != selection.parameter:
        raise InvalidInputError(
            f"selection is row {index} with {selection.parameter_name} = {selection.parameter:g}, "
            f"but that row of the path has {path.parameters[index]:g}; give a selection made from "
            "this path."
        )
    _require_training_rows(path, index, features, y, is_sample=sample is not None)
    _require_same_models(path, model.cv)
    return Subject(
        path=path,
        selection=selection,
        average=average_of(path, selection),
        features=features,
        y=y,
        names=path.feature_names or feature_names(X),
        row_labels=_as_labels(row_labels, len(y), "row_labels"),
        response=response,
        source=source,
        cv=model.cv,
        comparison=comparison,
        level=as_fraction(level, "level"),
        stability=stability,
        notes=tuple(notes),
        row_numbers=_as_row_numbers(row_numbers, len(y)),
        groups=_as_labels(groups, len(y), "groups"),
        raw=_as_raw(raw, len(y)),
        raw_names=None if raw is None else feature_names(raw),
        preprocessing=readable(preprocessing, 200) if preprocessing else "",
        search=readable(search, 600) if search else "",
        test=test,
        intervals=as_choice(intervals, "intervals", INTERVAL_METHODS),
        covariance=as_choice(covariance, "covariance", COVARIANCES),
        permutation=permutation,
        sample=None if sample is None else np.asarray(sample, dtype=np.intp),
    )


def _as_labels(labels: Iterable[Any] | None, n_rows: int, what: str) -> tuple[str, ...] | None:
    if labels is None:
        return None
    found = tuple(readable(str(one), 40) for one in labels)
    _require_one_per_row(len(found), n_rows, what)
    return found


def _as_row_numbers(numbers: Iterable[int] | None, n_rows: int) -> npt.NDArray[np.intp]:
    found = np.arange(1, n_rows + 1) if numbers is None else np.asarray(list(numbers), np.intp)
    _require_one_per_row(len(found), n_rows, "row_numbers")
    return found


def _as_raw(raw: Any, n_rows: int) -> Array | None:
    if raw is None:
        return None
    found = as_matrix(raw, "raw")
    _require_one_per_row(len(found), n_rows, "raw")
    return found


def _require_one_per_row(found: int, n_rows: int, what: str) -> None:
    if found != n_rows:
        raise InvalidInputError(
            f"{what} has {found} entries for {n_rows} rows; give one for every row of X."
        )


def _require_training_rows(
    path: Path, index: int, features: Array, y: Array, *, is_sample: bool
) -> None:
    if len(y) != path.units.n_rows:
        raise InvalidInputError(
            f"X has {len(y)} row(s), but the path was fitted on {path.units.n_rows} (rows with "
            "weight 0 do not count); give exactly these rows."
        )
    fitted = path.intercept[index] + features @ path.coef[index]
    weight = 1.0 if path.units.row_scale is None else path.units.row_scale
    size = 1e-6 * np.sqrt(path.spectrum.total) + 1e-9 * float(np.abs(y).max())
    rss = float(np.sum((weight * (y - path.fitted[index])) ** 2))
    same_y = is_sample or np.isclose(rss, path.rss[index], rtol=1e-6, atol=size**2)
    if not same_y or np.linalg.norm(fitted - path.fitted[index]) > size:
        what = "X" if same_y else "y"
        raise InvalidInputError(
            f"{what} is not the data the path was fitted on: its fitted values, or residuals, "
            "differ from those of the path. Give the training rows in their order."
        )


def _require_same_models(path: Path, cv: CrossValidation | None) -> None:
    if cv is None:
        return
    require_type(cv, CrossValidation, "cv", "cross_validate")
    size = min(len(cv.parameters), len(path.parameters))
    if cv.parameter_name != path.parameter_name or not np.allclose(
        cv.parameters[:size], path.parameters[:size]
    ):
        raise InvalidInputError(
            "cv describes other models than the path; cross-validate the same method with the "
            "same numbers of components or alphas."
        )
