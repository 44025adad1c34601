"""Names of responses and features on what the estimators return."""

from collections.abc import Sequence
from typing import Any

from plsdof._validation import Array, feature_names

_LIMITS = ["lower", "upper"]


def response_names(y: Any) -> tuple[str, ...] | None:
    """Return the column names of a frame, or the name of a series; None if there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> response_names(pd.Series([1.0, 2.0], name="octane"))
    ('octane',)
    """
    names = feature_names(y)
    if names is not None:
        return names
    name = getattr(y, "name", None)
    is_series = name not in (None, "") and hasattr(y, "to_numpy")
    return (str(name),) if is_series else None


def name_rows(limits: Array, rows: Sequence[str] | None) -> Any:
    """Name the rows of (k, 2) limits; they stay an array without names, or without pandas."""
    if rows is None or (pandas := _pandas()) is None:
        return limits
    return pandas.DataFrame(limits, index=list(rows), columns=_LIMITS)


def name_features(
    values: Array, features: Sequence[str] | None, responses: Sequence[str] | None
) -> Any:
    """Name (p,) or (q, p) values by features and, if there are several, by responses."""
    if features is None or (pandas := _pandas()) is None:
        return values
    if values.ndim == 1:
        return pandas.Series(values, index=list(features))
    columns = _or_numbers(responses, len(values), "y")
    return pandas.DataFrame(values.T, index=list(features), columns=columns)


def name_coefficients(
    limits: Array, responses: Sequence[str] | None, features: Sequence[str] | None
) -> Any:
    """Name (q, p, 2) limits by rows (response, feature), if either kind has names."""
    named = responses is not None or features is not None
    if not named or (pandas := _pandas()) is None:
        return limits
    q, p, _ = limits.shape
    labels = [_or_numbers(responses, q, "y"), _or_numbers(features, p, "x")]
    index = pandas.MultiIndex.from_product(labels, names=["response", "feature"])
    return pandas.DataFrame(limits.reshape(q * p, 2), index=index, columns=_LIMITS)


def name_predictions(limits: Array, responses: Sequence[str] | None, index: Any) -> Any:
    """Name (n, q, 2) limits by columns (response, limit), if responses have names."""
    if responses is None or (pandas := _pandas()) is None:
        return limits
    columns = pandas.MultiIndex.from_product([list(responses), _LIMITS])
    return pandas.DataFrame(limits.reshape(len(limits), -1), index=index, columns=columns)


def row_labels(X: Any) -> Any:
    """Return the index of a pandas frame, None for anything else."""
    return getattr(X, "index", None) if hasattr(X, "iloc") else None


def _or_numbers(names: Sequence[str] | None, count: int, letter: str) -> list[str]:
    return [f"{letter}{i}" for i in range(count)] if names is None else [str(n) for n in names]


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        return None
    return pandas
