"""Coercion and checking of input: the only place where it happens."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof.errors import InvalidInputError

Array = npt.NDArray[np.float64]

# Up to here, whole numbers that differ do so as float64, too.
_WHOLE = 2.0**53


def read_only(array: Any) -> Array:
    """Return a float64 array that nobody can change by accident."""
    result = np.asarray(array, dtype=np.float64)
    if result.flags.writeable:
        result = result.view()
        result.flags.writeable = False
    return result


def feature_names(X: Any) -> tuple[str, ...] | None:
    """Return the column names of a pandas or polars frame or Arrow table, None for others."""
    if not hasattr(X, "shape"):
        return None
    # The columns of an Arrow table are their values; only it has no types per column.
    arrow = hasattr(X, "column_names") and not hasattr(X, "dtypes")
    columns = X.column_names if arrow else getattr(X, "columns", None)
    if columns is None or callable(columns):
        return None
    return tuple(str(name) for name in columns)


def as_matrix(X: Any, name: str = "X", *, min_rows: int = 1) -> Array:
    """Return ``X`` as a finite two-dimensional float64 array (no copy if it is one)."""
    names = feature_names(X)
    array = _as_float(X, name)
    if array.ndim != 2:
        hint = " Reshape a single feature with x.reshape(-1, 1)." if array.ndim == 1 else ""
        raise InvalidInputError(
            f"{name} must be a table of two dimensions (rows, columns); got an array of "
            f"{array.ndim} dimension(s) with shape {array.shape}.{hint}"
        )
    n_rows, n_columns = array.shape
    if n_rows < min_rows:
        raise InvalidInputError(
            f"{name} has {n_rows} row(s); at least {min_rows} are needed. "
            "Check that rows are observations and columns are variables."
        )
    if n_columns == 0:
        raise InvalidInputError(f"{name} has no columns; at least one predictor is needed.")
    _require_finite_columns(array, names, name)
    return array


def as_new_rows(X_new: Any, p: int, known: tuple[str, ...] | None) -> Array:
    """Return new rows as an array, after comparing columns with those of the training data."""
    names = feature_names(X_new)
    array = as_matrix(X_new, "X_new")
    if array.shape[1] != p:
        raise InvalidInputError(
            f"X_new has {array.shape[1]} column(s), but the model was fitted on {p}."
        )
    if names is not None and known is not None and names != known:
        first = next(i for i in range(p) if names[i] != known[i])
        raise InvalidInputError(
            f"X_new has other columns than the training data: column {first} is "
            f"{names[first][:60]!r} instead of {known[first][:60]!r}. Give the same columns in the "
            "same order."
        )
    return array


def as_sparse_rows(X_new: Any, p: int) -> Any:
    """Return new rows in compressed sparse row format, after counting their columns."""
    rows = X_new.tocsr()
    if rows.ndim != 2 or rows.shape[1] != p:
        raise InvalidInputError(
            f"X_new must have two dimensions and {p} column(s), as the model was fitted on; got "
            f"shape {rows.shape}."
        )
    if not np.all(np.isfinite(rows.data)):
        raise InvalidInputError("X_new contains NaN or infinite values; remove or fill them in.")
    return rows


def as_response(y: Any, n_rows: int, name: str = "y") -> Array:
    """Return ``y`` as a finite float64 vector with one entry per row of X."""
    array = _as_float(y, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InvalidInputError(
            f"{name} must be one response per row, shape ({n_rows},); got shape {array.shape}. "
            "For several responses use pls_paths (one model each) or pls2_path (one for all), or "
            "call the function once per column."
        )
    if array.shape[0] != n_rows:
        raise InvalidInputError(
            f"{name} has {array.shape[0]} entries but X has {n_rows} rows; "
            "both must describe the same observations."
        )
    bad = int(np.count_nonzero(~np.isfinite(array)))
    if bad:
        raise InvalidInputError(
            f"{name} contains {bad} value(s) that are NaN or infinity; "
            "drop these rows or fill the values in before fitting."
        )
    return array


def as_weights(sample_weight: Any, n_rows: int) -> Array | None:
    """Return non-negative weights, or None when every weight is one."""
    if sample_weight is None:
        return None
    weights = _as_float(sample_weight, "sample_weight")
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise InvalidInputError(
            f"sample_weight must have one entry per row, shape ({n_rows},); "
            f"got shape {weights.shape}."
        )
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise InvalidInputError("sample_weight must be finite and not negative.")
    if np.all(weights == 1):
        return None
    return weights


def as_count(value: Any, name: str, *, minimum: int = 0) -> int:
    """Return ``value`` as an int that is at least ``minimum``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise InvalidInputError(
            f"{name} must be a whole number >= {minimum}; got {value!r} "
            f"of type {type(value).__name__}."
        )
    if value < minimum:
        raise InvalidInputError(f"{name} must be >= {minimum}; got {value}.")
    return int(value)


def as_choice(value: Any, name: str, allowed: Sequence[str]) -> str:
    """Return ``value`` if it is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise InvalidInputError(f"{name} must be one of {words}; got {value!r}.")
    return value


def as_fraction(value: Any, name: str) -> float:
    """Return ``value`` as a number strictly between 0 and 1."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 < number < 1:
        raise InvalidInputError(f"{name} must be between 0 and 1, such as 0.95; got {value!r}.")
    return number


def as_positive(values: Any, name: str) -> Array:
    """Return a vector of finite positive numbers."""
    array = np.atleast_1d(_as_float(values, name))
    if array.ndim != 1 or array.size == 0:
        raise InvalidInputError(f"{name} must be a list of numbers; got shape {array.shape}.")
    if not np.all(np.isfinite(array)) or np.any(array <= 0):
        raise InvalidInputError(f"{name} must be finite and > 0; got {array.tolist()!r:.80}.")
    return array


def as_measured(values: Any, name: str) -> Any:
    """Return values with NaN for masked ones, after refusing dates and plans of a table."""
    if type(values).__name__ == "LazyFrame":
        raise InvalidInputError(
            f"{name} is a LazyFrame, which holds no values yet; call its method .collect() first."
        )
    if _is_date(getattr(values, "dtype", None)):
        raise InvalidInputError(_dates(name))
    is_frame = hasattr(values, "columns") and hasattr(values, "dtypes")
    kinds = list(values.dtypes) if is_frame else []
    if any(map(_is_date, set(kinds))):
        labels = zip(feature_names(values) or (), kinds, strict=True)
        found = shortened([label for label, kind in labels if _is_date(kind)])
        raise InvalidInputError(_dates(name, f" in column(s) {found}"))
    return unmasked(values)


def unmasked(values: Any) -> Any:
    """Return values with NaN for masked ones."""
    if not isinstance(values, np.ma.MaskedArray) or not np.ma.is_masked(values):
        return values
    kind = np.float64 if values.dtype.kind in "biuf" else object
    return np.ma.filled(values.astype(kind), np.nan)


def _is_date(kind: Any) -> bool:
    """Whether a type of numpy, pandas or polars is that of dates, times or time spans."""
    if hasattr(kind, "is_temporal"):
        return bool(kind.is_temporal())
    return getattr(kind, "kind", "") in ("m", "M")


def _dates(name: str, where: str = "") -> str:
    return (
        f"{name} holds dates or time spans{where}; convert them to numbers in a unit of your "
        "choice."
    )


def _as_float(values: Any, name: str) -> Array:
    if hasattr(values, "toarray") or hasattr(values, "matvec"):
        raise InvalidInputError(
            f"{name} is sparse or a linear operator ({type(values).__name__}), which is not "
            "supported here; convert it with .toarray() if it fits in memory."
        )
    values = as_measured(values, name)
    array = _raw_array(values, name)
    if array.dtype.kind == "c":
        raise InvalidInputError(f"{name}: complex data not supported; pass real numbers.")
    if _is_date(array.dtype):
        raise InvalidInputError(_dates(name))
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = _narrowed(array)
    try:
        if array.dtype == object and hasattr(values, "iloc"):
            return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
        numbers = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{name} must be numeric; {_where_not_numeric(values)}could not be read as numbers "
            f"({error}). Drop text columns or encode them first."
        ) from error
    _require_resolved(array, numbers, values, name)
    return numbers


def _require_resolved(array: npt.NDArray[Any], numbers: Array, values: Any, name: str) -> None:
    """Refuse whole numbers that differ, but not as float64."""
    if array.dtype.kind not in "iu" or array.size == 0 or np.abs(numbers).max() <= _WHOLE:
        return
    lost = np.atleast_1d((array != array[:1]).any(axis=0) & (numbers == numbers[:1]).all(axis=0))
    if lost.any():
        names = feature_names(values)
        labels = [names[i] if names else str(i) for i in np.flatnonzero(lost)]
        where = f" in column(s) {shortened(labels)}" if array.ndim == 2 else ""
        raise InvalidInputError(
            f"{name} has whole numbers{where} that are too large to differ as 64-bit floats; "
            "subtract a constant from them first."
        )


def _raw_array(values: Any, name: str) -> npt.NDArray[Any]:
    try:
        if hasattr(values, "to_numpy"):
            return np.asarray(values.to_numpy())
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{name} must be a numeric table; could not turn a {type(values).__name__} "
            f"into an array ({error})."
        ) from error


def _narrowed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Round long doubles to float64; what overflows becomes infinite and is reported later."""
    with np.errstate(over="ignore"):
        return array.astype(np.float64)


def _where_not_numeric(values: Any) -> str:
    names = feature_names(values)
    if names is None:
        return "it "
    text = []
    for position, label in enumerate(names):
        column = values.iloc[:, position] if hasattr(values, "iloc") else values[label]
        try:
            np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError):
            text.append(label)
    return f"column(s) {shortened(text)} " if text else "it "


def _require_finite_columns(array: Array, names: tuple[str, ...] | None, name: str) -> None:
    # One pass over the data in the good case: the sum is finite unless something is not,
    # or the sum itself overflows; only then look closer.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):
            return
    bad = ~np.isfinite(array)
    if not bad.any():
        return
    columns = np.flatnonzero(bad.any(axis=0))
    labels = [names[i] if names else str(i) for i in columns]
    raise InvalidInputError(
        f"{name} contains {int(bad.sum())} value(s) that are NaN or infinity, in column(s) "
        f"{shortened(labels)}; drop these rows or columns, or fill the values in before fitting."
    )


def shortened(labels: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(repr(label[:60]) for label in labels[:most])
    return shown + (f" and {len(labels) - most} more" if len(labels) > most else "")


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a random generator from a seed or a generator."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"random_state must be a whole number >= 0, a numpy Generator or None; "
            f"got {random_state!r}."
        ) from error
