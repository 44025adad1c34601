"""Several responses, one model each: a path per column of Y on one decomposition of X.

This is the plain meaning of a response with several columns: every column is fitted as if it came
alone, and only what depends on X is computed once. `pls2` has one set of components for all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from plsdof._core.fit import pcr_path, pls_path, ridge_path
from plsdof._core.inputs import (
    Array,
    as_matrix,
    as_weights,
    feature_names,
    opened_table,
    shortened,
)
from plsdof._core.path import Path, PCRPath, PLSPath, RidgePath

PathType = TypeVar("PathType", bound=Path)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ResponsePaths(Generic[PathType]):
    """One path per response; ``paths[j]`` and ``paths["name"]`` are `Path` objects.

    Attributes
    ----------
    paths : tuple of Path
        In the order of the columns of Y. They share one decomposition of X.
    names : tuple of str
        Column names of Y; "0", "1", ... if it had none.

    Examples
    --------
    >>> import pandas as pd
    >>> Y = pd.DataFrame({"fat": [1.0, 2.0, 3.0], "water": [3.0, 1.0, 2.0]})
    >>> paths = pls_paths([[1.0], [2.0], [4.0]], Y)
    >>> paths, paths["fat"].dof
    (ResponsePaths(2 responses: 'fat', 'water'), array([1., 2.]))
    """

    paths: tuple[PathType, ...]
    names: tuple[str, ...]

    def __getitem__(self, key: int | str) -> PathType:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"{key!r} is not a response; there are {shortened(self.names, 10)}.")
            key = self.names.index(key)
        return self.paths[key]

    def __iter__(self) -> Iterator[PathType]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    def __repr__(self) -> str:
        return f"ResponsePaths({len(self)} responses: {shortened(self.names)})"


def pls_paths(
    X: Any,
    Y: Any,
    max_components: int | None = None,
    *,
    scale: bool = True,
    sample_weight: Any = None,
    solver: str = "auto",
    strict: bool = False,
) -> ResponsePaths[PLSPath]:
    """Fit PLS1 to every column of Y, decomposing X once.

    Every response has its own components and its own exact Degrees of Freedom, as if
    `pls_path` had been called for it alone.

    Parameters
    ----------
    X : (n, p) array or data frame
    Y : (n, q) array or data frame, or (n,) array
        One response per column; names of a data frame are kept.
    max_components, scale, sample_weight, solver, strict
        As for `pls_path`.

    Returns
    -------
    ResponsePaths

    Notes
    -----
    Cost: one decomposition of X, plus O(n r + r M^2) time per response.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> Y = X[:, :2] + rng.normal(size=(30, 2))
    >>> paths = pls_paths(X, Y)
    >>> [path.select("bic").n_components for path in paths]
    [1, 2]
    """
    make = partial(
        pls_path, max_components=max_components, scale=scale, solver=solver, strict=strict
    )
    return refit_columns(make, X, Y, sample_weight=sample_weight)


def pcr_paths(
    X: Any,
    Y: Any,
    max_components: int | None = None,
    *,
    scale: bool = True,
    sample_weight: Any = None,
    solver: str = "auto",
    strict: bool = False,
) -> ResponsePaths[PCRPath]:
    """Fit principal components regression to every column of Y; parameters as for `pls_paths`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> [path.dof[-1] for path in pcr_paths(X, X[:, :2] + rng.normal(size=(30, 2)))]
    [np.float64(5.0), np.float64(5.0)]
    """
    make = partial(
        pcr_path, max_components=max_components, scale=scale, solver=solver, strict=strict
    )
    return refit_columns(make, X, Y, sample_weight=sample_weight)


def ridge_paths(
    X: Any,
    Y: Any,
    alphas: Any = None,
    *,
    scale: bool = True,
    sample_weight: Any = None,
    solver: str = "auto",
) -> ResponsePaths[RidgePath]:
    """Fit ridge regression to every column of Y; parameters as for `ridge_path`.

    Examples
    --------
    >>> paths = ridge_paths([[1.0], [2.0], [4.0]], [[1.0, 3.0], [2.0, 1.0], [3.0, 2.0]], [2.0])
    >>> [path.dof.round(6) for path in paths]
    [array([1.5]), array([1.5])]
    """
    make = partial(ridge_path, alphas=alphas, scale=scale, solver=solver)
    return refit_columns(make, X, Y, sample_weight=sample_weight)


def refit_columns(
    make: Callable[..., PathType], X: Any, Y: Any, *, sample_weight: Any = None
) -> ResponsePaths[PathType]:
    """Fit any method to the first column of Y, and refit it to the others.

    Parameters
    ----------
    make : callable
        ``make(X, y, sample_weight=...)`` returns a path.
    X, Y, sample_weight
        As for `pls_paths`.
    """
    X, Y, sample_weight = opened_table(X, Y, sample_weight)
    names, responses = as_responses(Y)
    first = make(X, responses[:, 0], sample_weight=sample_weight)
    others = kept_rows(responses, sample_weight).T[1:]
    return ResponsePaths(paths=(first, *(first.refit(y) for y in others)), names=names)


def as_responses(Y: Any) -> tuple[tuple[str, ...], Array]:
    """Return names and values of the responses, (n, q)."""
    names = feature_names(Y)
    try:
        one = names is None and np.ndim(Y) == 1
    except ValueError:  # rows of different lengths
        one = False
    if one:
        Y = np.asanyarray(Y)[:, None]  # with its mask, if there is one
    values = as_matrix(Y, "Y", min_rows=2)
    return names or tuple(map(str, range(values.shape[1]))), values


def kept_rows(responses: Array, sample_weight: Any) -> Array:
    """Leave out rows without weight."""
    weights = as_weights(sample_weight, len(responses))
    return responses if weights is None else responses[weights > 0]
