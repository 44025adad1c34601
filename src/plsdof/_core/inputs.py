"""Checks of what comes in: tables, responses, weights, options. The only place where they are."""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from plsdof._core.warnings import warn_caller
from plsdof.errors import (
    InvalidInputError,
    LowLevelWarning,
    NotNumericError,
    ResponseInPredictorsWarning,
)

Array = npt.NDArray[np.float64]

# Weights beyond this one lead out of the range of floats.
_HEAVIEST = 1e70
# Counts beyond this one are mistakes.
_MOST = 10**12
# A million draws give quantiles and p-values three digits; all of them may keep 4 GB of numbers.
_MOST_DRAWS, _MOST_KEPT = 10**6, 5 * 10**8
# How the names of types of dates, times and time spans begin, in numpy, pandas and polars.
_DATES = re.compile("date|time|duration")


def read_only(array: Any) -> Array:
    """Return a read-only float64 array."""
    result = np.asarray(array, dtype=np.float64)
    if result.flags.writeable:
        result = result.view()
        result.flags.writeable = False
    return result


def feature_names(X: Any, name: str = "X") -> tuple[str, ...] | None:
    """Return the column names of a pandas or polars frame or Arrow table, None for others.

    Names are text: the wavelength 1100 is the column "1100", so that columns in another order are
    noticed. Two columns of one name are refused, because nothing could tell them apart in new
    rows, and so are text and numbers together in training data, as in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> feature_names(pd.DataFrame([[0.1, 0.2]], columns=[1100, 1102]))
    ('1100', '1102')
    """
    labels = _column_labels(X)
    if labels is None:
        return None
    names = tuple(map(str, labels))
    if len(set(names)) < len(names):
        twice = [label for label, count in Counter(names).items() if count > 1]
        raise InvalidInputError(
            f"{name} has several columns called {shortened(twice)}; every column needs a name of "
            "its own (as text: 1 and '1' are one name). Rename or drop them."
        )
    if name == "X" and len({isinstance(label, str) for label in labels}) > 1:
        raise InvalidInputError(
            f"{name} has columns whose names are text and others whose names are numbers; make "
            f"all of them text: {name}.columns = {name}.columns.astype(str)."
        )
    return names


def _column_labels(X: Any) -> Sequence[Any] | None:
    """Return the labels of the columns of a frame or Arrow table, None for others."""
    if not hasattr(X, "shape"):
        return None
    # The columns of an Arrow table are their values; only it has no types per column.
    arrow = hasattr(X, "column_names") and not hasattr(X, "dtypes")
    columns = X.column_names if arrow else getattr(X, "columns", None)
    if columns is None or callable(columns):
        return None
    # One by one the labels of an Index are slow: half a millisecond for 500 columns.
    return list(columns.tolist() if hasattr(columns, "tolist") else columns)


def require_same_columns(
    names: tuple[str, ...] | None,
    known: tuple[str, ...] | None,
    what: str = "X_new",
    *,
    ordered: bool = True,
) -> None:
    """Refuse other columns than the known ones and, unless told otherwise, another order."""
    if names is None or known is None or names == known:
        return
    missing = [label for label in known if label not in set(names)]
    unknown = [label for label in names if label not in set(known)]
    if not missing and not unknown:
        if not ordered:
            return
        first = next(i for i, label in enumerate(names) if label != known[i])
        raise InvalidInputError(
            f"{what} has the columns of the training data in another order: column {first} is "
            f"{names[first][:60]!r} instead of {known[first][:60]!r}. Give the same columns in "
            "the same order."
        )
    parts = [f"without {shortened(missing)}"] if missing else []
    parts += [f"with {shortened(unknown)} in addition"] if unknown else []
    raise InvalidInputError(
        f"{what} has other columns than the training data, {len(names)} column(s) instead of "
        f"{len(known)}, {' and '.join(parts)}. Give the same columns."
    )


def opened_table(X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any, Any]:
    """Take the columns named by ``y`` and ``sample_weight`` out of a frame; leave values alone.

    A list of names as ``y`` means several responses.

    Examples
    --------
    >>> import pandas as pd
    >>> X, y, _ = opened_table(pd.DataFrame({"a": [1.0, 2.0], "fat": [3.0, 4.0]}), "fat")
    >>> list(X.columns), y.tolist()
    (['a'], [3.0, 4.0])
    """
    several = isinstance(y, list | tuple) and len(y) > 0 and all(isinstance(one, str) for one in y)
    words = [one for one in (*(y if several else [y]), sample_weight) if isinstance(one, str)]
    labels = _column_labels(X)
    if not words or (several and labels is None):
        return X, y, sample_weight
    if labels is None or not hasattr(X, "drop"):
        raise InvalidInputError(
            f"{words[0]!r} names a column, but X is a {type(X).__name__} without named columns; "
            "give the values themselves, or a data frame of pandas or polars."
        )
    dropped = [named_column(word, X) for word in words]
    if several:
        y = X.select(dropped[: len(y)]) if hasattr(X, "select") else X[dropped[: len(y)]]
    elif isinstance(y, str):
        y = X[dropped[0]]
    if isinstance(sample_weight, str):
        sample_weight = X[dropped[-1]]
    return X.drop(columns=dropped) if hasattr(X, "iloc") else X.drop(dropped), y, sample_weight


def named_column(value: Any, X: Any) -> Any:
    """Return the label of the column that a word names; None if ``value`` is not a word."""
    if not isinstance(value, str):
        return None
    labels = list(_column_labels(X) or X.columns)
    found = [label for label in labels if str(label) == value]
    if len(found) != 1:
        raise InvalidInputError(
            f"{value!r} must be the name of one column of X, but {len(found)} are called so; the "
            f"columns are {shortened([str(label) for label in labels])}."
        )
    return found[0]


def as_matrix(X: Any, name: str = "X", *, min_rows: int = 1, holes: bool = False) -> Array:
    """Return ``X`` as a finite two-dimensional float64 array (no copy if it is one).

    With ``holes`` values may be missing.
    """
    names = feature_names(X, name)
    array = as_float(X, name)
    if array.ndim != 2:
        hint = " Reshape your data: x.reshape(-1, 1) is one column." if array.ndim == 1 else ""
        raise InvalidInputError(
            f"{name} must be a table of two dimensions (rows, columns); got an array of "
            f"{array.ndim} dimension(s) with shape {array.shape}.{hint}"
        )
    n_rows, n_columns = array.shape
    if n_rows < min_rows:
        raise InvalidInputError(
            f"{name} has {n_rows} row(s) (n_samples = {n_rows}); at least {min_rows} are needed. "
            "Check that rows are observations and columns are variables."
        )
    if n_columns == 0:
        raise InvalidInputError(
            f"{name} has 0 feature(s) (shape={array.shape}) while a minimum of 1 is required."
        )
    checked = np.nan_to_num(array, nan=0.0, posinf=np.inf, neginf=-np.inf) if holes else array
    require_finite_columns(checked, names, name, row_labels(X))
    return array


def as_new_rows(X_new: Any, p: int, known: tuple[str, ...] | None, *, holes: bool = False) -> Array:
    """Return new rows as an array, after comparing columns with those of the training data."""
    names = feature_names(X_new, "X_new")
    require_same_columns(names, known, ordered=False)
    array = as_matrix(X_new, "X_new", holes=holes)
    if names is not None and known is not None and names != known:
        array = array[:, [names.index(label) for label in known]]
    if array.shape[1] != p:
        raise InvalidInputError(
            f"X_new has {array.shape[1]} column(s), but the model was fitted on {p}. Give the "
            "columns of the training data in the same order."
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
    array = as_float(y, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InvalidInputError(
            f"{name} must be one response per row, shape ({n_rows},); got shape {array.shape}. "
            "For several responses use pls2_path (components that they share), or call the "
            "function once per column."
        )
    if array.shape[0] != n_rows:
        raise InvalidInputError(
            f"{name} has {array.shape[0]} entries but X has {n_rows} rows; "
            "both must describe the same observations."
        )
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise InvalidInputError(
            f"{name} contains {len(bad)} value(s) that are NaN or infinity, the first in "
            f"{_row_words(int(bad[0]), row_labels(y))}; drop these rows or fill the values in "
            "before fitting."
        )
    return array


def require_response_outside(
    X: Array, y: Array, names: tuple[str, ...] | None, label: Any = None
) -> None:
    """Refuse a response that is a column of X by name and values; warn if it is by values only."""
    copies = [i for i in np.flatnonzero(X[0] == y[0]) if np.array_equal(X[:, i], y)]
    if not copies or len(y) < 5 or np.all(y == y[0]):  # by chance, or for no reason
        return
    where = int(copies[0])
    if names is not None and names[where] == str(label):
        raise InvalidInputError(
            f"y is called {str(label)[:60]!r} and {str(label)[:60]!r} is also a column of X with "
            "the same values, which would predict itself; drop that column from X."
        )
    shown = repr(names[where][:60]) if names else str(where)
    warn_caller(
        f"y is the same as column {shown} of X, which predicts it without error; drop that column "
        "from X if it is the response.",
        ResponseInPredictorsWarning,
    )


def as_weights(sample_weight: Any, n_rows: int) -> Array | None:
    """Return non-negative weights, or None when every weight is one."""
    if sample_weight is None:
        return None
    weights = as_float(sample_weight, "sample_weight")
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise InvalidInputError(
            f"sample_weight must have one entry per row, shape ({n_rows},); "
            f"got shape {weights.shape}."
        )
    if not np.all((weights >= 0) & (weights <= _HEAVIEST)):
        raise InvalidInputError(
            f"sample_weight must be finite and not negative, and at most {_HEAVIEST:g}; weights "
            "count as repeated rows."
        )
    return None if np.all(weights == 1) else weights


def as_count(value: Any, name: str, *, minimum: int = 0, most: int = _MOST) -> int:
    """Return ``value`` as an int that is at least ``minimum``."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not minimum <= value <= most:
        limit = f"at most {most:,}" if whole and value > minimum else f">= {minimum}"
        noun = "" if whole else "a whole number "
        raise InvalidInputError(f"{name} must be {noun}{limit}; got {value!s:.80}.")
    return int(value)


def as_draws(value: Any, name: str, *, minimum: int, kept: int = 1) -> int:
    """Return a number of draws, permutations or repeats; each keeps so many numbers in memory."""
    return as_count(value, name, minimum=minimum, most=min(_MOST_DRAWS, _MOST_KEPT // max(kept, 1)))


Word = TypeVar("Word", bound=str)


def as_choice(value: Any, name: str, allowed: Sequence[Word]) -> Word:
    """Return ``value`` if it is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        near = get_close_matches(str(value).lower(), allowed, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidInputError(f"{name} must be one of {words}; got {value!r}.{hint}")
    return cast(Word, value)


def as_fraction(value: Any, name: str) -> float:
    """Return ``value`` as a number strictly between 0 and 1."""
    try:
        number = float("nan") if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not 0 < number < 1:
        example = number / 100 if 1 < number < 100 else 0.95
        raise InvalidInputError(
            f"{name} must be between 0 and 1, such as {example:g}; got {value!r}."
        )
    return number


def as_level(level: Any) -> float:
    """Return a confidence level; warn of one below a half, which is perhaps meant as 1 - level."""
    value = as_fraction(level, "level")
    if value < 0.5:
        warn_caller(
            f"level = {value:g} asks for intervals that cover {100 * value:g}%; for those that "
            f"miss so often use level={1 - value:g}.",
            LowLevelWarning,
        )
    return value


def as_positive(values: Any, name: str, *, or_zero: bool = False) -> Array:
    """Return a vector of finite positive numbers, or of numbers that are not negative."""
    array = np.atleast_1d(as_float(values, name))
    if array.ndim != 1 or array.size == 0:
        raise InvalidInputError(f"{name} must be a list of numbers; got shape {array.shape}.")
    allowed = array >= 0 if or_zero else array > 0
    if not np.all(np.isfinite(array) & allowed):
        sign = ">= 0" if or_zero else "> 0"
        raise InvalidInputError(f"{name} must be finite and {sign}; got {array.tolist()!r:.80}.")
    return array


def as_one_positive(value: Any, name: str, *, or_zero: bool = False) -> float:
    """Return one finite positive number, or one that is not negative."""
    numbers = as_positive(value, name, or_zero=or_zero)
    if len(numbers) != 1:
        raise InvalidInputError(
            f"{name} must be one number; got {len(numbers)}. Estimators choose among several."
        )
    return float(numbers[0])


def as_measured(values: Any, name: str) -> Any:
    """Return values with NaN for masked ones, after refusing dates and plans of a table."""
    if hasattr(values, "__dask_graph__") and hasattr(values, "compute"):
        values = values.compute()
    kind = type(values).__name__
    if kind in ("Gram", "Moments") or (hasattr(values, "reduce") and hasattr(values, "n_columns")):
        raise InvalidInputError(
            f"{name} is of type {kind}, and this needs an array in memory; PLS, principal "
            "components and ridge regression do not."
        )
    if hasattr(values, "collect"):
        raise InvalidInputError(
            f"{name} is a {type(values).__name__}, which holds no values yet; call its method "
            ".collect() first."
        )
    # The types of a frame are made anew every time they are read.
    framed = hasattr(values, "columns") and hasattr(values, "dtypes")
    kinds = list(values.dtypes) if framed else [getattr(values, "dtype", None)]
    dates = {kind for kind in set(kinds) if _DATES.match(str(kind).lower())}
    if dates:
        labels = zip(feature_names(values) or (), kinds, strict=False)
        found = shortened([label for label, kind in labels if kind in dates])
        raise InvalidInputError(
            f"{name} holds dates or time spans{f' in column(s) {found}' if found else ''}; convert "
            "them to numbers in a unit of your choice."
        )
    return unmasked(values)


def unmasked(values: Any) -> Any:
    """Return values with NaN for masked ones.

    Examples
    --------
    >>> unmasked(np.ma.masked_equal([1.0, 2.0], 2.0))
    array([ 1., nan])
    """
    if not isinstance(values, np.ma.MaskedArray) or not np.ma.is_masked(values):
        return values
    kind = np.float64 if values.dtype.kind in "biuf" else object
    return np.ma.filled(values.astype(kind), np.nan)


def as_float(values: Any, name: str) -> Array:
    """Return numbers of any kind and shape as float64; say which column is text or dates."""
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    if hasattr(values, "toarray") or hasattr(values, "matvec"):
        raise InvalidInputError(
            f"{name} is sparse or a linear operator ({type(values).__name__}), which is not "
            "supported here; convert it with .toarray() if it fits in memory."
        )
    values = as_measured(values, name)
    array = _raw_array(values, name)
    if array.dtype.kind == "c":
        raise InvalidInputError(
            f"Complex data not supported: {name} holds complex numbers; pass real ones."
        )
    try:
        if array.dtype == object and hasattr(values, "iloc"):
            return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise NotNumericError(
            f"{name} must be numeric; {_where_not_numeric(values)}could not be read as numbers "
            f"({error}). Drop text columns or encode them first."
        ) from error


def _raw_array(values: Any, name: str) -> npt.NDArray[Any]:
    try:
        if hasattr(values, "to_numpy"):
            return np.asarray(values.to_numpy())
        is_foreign = hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray)
        return np.from_dlpack(values) if is_foreign else np.asarray(values)
    except (TypeError, ValueError, RuntimeError, AttributeError, BufferError) as error:
        where = f" on the device {values.device}" if hasattr(values, "device") else ""
        raise InvalidInputError(
            f"{name} must be a numeric table; could not turn a {type(values).__name__}{where} "
            f"into an array ({error}). Give it as a numpy array."
        ) from error


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


def row_labels(X: Any) -> Any:
    """Return the index of a pandas frame or series, None for anything else."""
    return getattr(X, "index", None) if hasattr(X, "iloc") else None


def _row_words(row: int, labels: Any) -> str:
    """Say which row, by its number and by its name if that is another one."""
    label = row if labels is None else labels[row]
    return f"row {row}" if str(label) == str(row) else f"row {row} ({str(label)[:60]!r})"


def require_finite_columns(
    array: Array,
    names: tuple[str, ...] | None,
    name: str,
    labels: Any = None,
    *,
    row: int = 0,
    column: int = 0,
) -> None:
    """Refuse NaN and infinity, and say in which columns and from which row on.

    ``row`` and ``column`` are the numbers of the first ones.
    """
    # One pass over the data in the good case: the sum is finite unless something is not,
    # or the sum itself overflows; only then look closer.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):
            return
    bad = ~np.isfinite(array)
    if not bad.any():
        return
    columns = np.flatnonzero(bad.any(axis=0))
    found = [names[i] if names else str(i) for i in columns + column]
    first = int(np.flatnonzero(bad.any(axis=1))[0]) + row
    raise InvalidInputError(
        f"{name} contains {int(bad.sum())} value(s) that are NaN or infinity, in column(s) "
        f"{shortened(found)}, the first in {_row_words(first, labels)}; drop these rows or "
        "columns, or fill the values in before fitting."
    )


def shortened(labels: Sequence[str], most: int = 5) -> str:
    """Return the first few labels, each cut to a readable length, and how many more there are."""
    shown = ", ".join(repr(label[:60]) for label in labels[:most])
    return shown + (f" and {len(labels) - most} more" if len(labels) > most else "")


def as_generator(rng: Any, name: str = "rng") -> np.random.Generator:
    """Return a random generator from a seed or a generator."""
    # numpy takes more, such as True and matrices, which crash the interpreter.
    generators = np.random.Generator | np.random.RandomState
    if rng is None or isinstance(rng, generators):
        return np.random.default_rng(rng)
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(rng)
    raise InvalidInputError(
        f"{name} must be a whole number >= 0, a numpy Generator or None; got {rng!r:.80}."
    )


def require_flag(value: Any, name: str = "scale") -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInputError(
            f"{name} must be True or False; got {type(value).__name__}."
            + " To use divisors of your own, divide the columns before the fit." * (name == "scale")
        )


def require_type(value: Any, kind: type, name: str, made_by: str) -> None:
    """Refuse what is not a result of the function that makes such results."""
    if not isinstance(value, kind):
        raise InvalidInputError(
            f"{name} must be a {kind.__name__}, as {made_by} returns it; got "
            f"{type(value).__name__}."
        )
