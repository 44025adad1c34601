"""Several responses, one model each: a path per column of Y on one decomposition of X.

This is the plain meaning of a response with several columns: every column is fitted as if it came
alone, and only what depends on X is computed once. `pls2` has one set of components for all.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from plsdof._core.filters import pcr_filter, pls_filter, ridge_filter
from plsdof._core.fit import (
    MakeFilter,
    is_accurate,
    optional_count,
    pcr_path,
    pls_path,
    remembering,
    report_end,
    ridge_path,
    whole_routes,
)
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_matrix,
    as_nonnegative,
    as_weights,
    feature_names,
    opened_table,
    read_only,
    shortened,
    standardize,
)
from plsdof._core.path import Path, PCRPath, PLSPath, RidgePath
from plsdof._core.spectrum import SOLVERS
from plsdof._core.work import threads_for
from plsdof.errors import RankExhaustedWarning

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
    method = partial(pls_filter, max_components=optional_count(max_components))
    again = partial(pls_path, max_components=max_components)
    paths = _fit_columns(PLSPath, X, Y, method, scale, sample_weight, solver, again, max_components)
    return _reported(paths, strict, max_components)


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
    method = partial(pcr_filter, max_components=optional_count(max_components))
    again = partial(pcr_path, max_components=max_components)
    paths = _fit_columns(PCRPath, X, Y, method, scale, sample_weight, solver, again, max_components)
    return _reported(paths, strict, max_components)


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
    X, Y, sample_weight = opened_table(X, Y, sample_weight)
    if alphas is None:
        # The penalties follow the eigenvalues of X, which all responses share.
        first = as_responses(Y)[1][:, 0]
        options = {"scale": scale, "sample_weight": sample_weight, "solver": solver}
        alphas = ridge_path(X, first, **options).alphas
    penalties = read_only(as_nonnegative(alphas, "alphas"))
    method = partial(ridge_filter, alphas=penalties)
    again = partial(ridge_path, alphas=penalties)
    return _fit_columns(
        RidgePath, X, Y, method, scale, sample_weight, solver, again, alphas=penalties
    )


def refit_columns(
    make: Callable[..., PathType], X: Any, Y: Any, *, sample_weight: Any = None, **options: Any
) -> ResponsePaths[PathType]:
    """Fit any method to the first column of Y, and refit it to the others.

    Parameters
    ----------
    make : callable
        ``make(X, y, sample_weight=..., **options)`` returns a path.
    X, Y, sample_weight
        As for `pls_paths`.
    **options
        Of ``make``, ``max_components`` among them. With ``solver="auto"`` all columns get the
        decomposition that the most delicate one needs.
    """
    names, responses = as_responses(Y)
    kept, asked = kept_rows(responses, sample_weight), options.get("max_components")
    for solver in ("auto", "svd") if options.get("solver") == "auto" else (None,):
        chosen = options if solver is None else {**options, "solver": solver}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankExhaustedWarning)  # reported below, for all
            first = make(X, responses[:, 0], sample_weight=sample_weight, **chosen)
        paths = _others(first, kept)
        if first.solver == "svd" or all(is_accurate(path, asked) for path in paths):
            break
    return _reported(ResponsePaths(paths=paths, names=names), False, asked)


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


def _fit_columns(
    kind: type[PathType],
    X: Any,
    Y: Any,
    method: MakeFilter,
    scale: bool,
    sample_weight: Any,
    solver: str,
    again: Callable[..., PathType],
    asked: int | None = None,
    **further: object,
) -> ResponsePaths[PathType]:
    as_choice(solver, "solver", SOLVERS)
    X, Y, sample_weight = opened_table(X, Y, sample_weight)
    names, responses = as_responses(Y)
    data = standardize(X, responses[:, 0], scale=scale, sample_weight=sample_weight)
    kept = kept_rows(responses, sample_weight)
    same = partial(again, scale=scale, solver=solver)
    with threads_for(data.X.shape):
        for first in whole_routes(kind, data, method, solver, **further):
            paths = _others(remembering(first, data, same), kept)
            if all(is_accurate(path, asked) for path in paths):
                break
    return ResponsePaths(paths=paths, names=names)


def _others(first: PathType, responses: Array) -> tuple[PathType, ...]:
    """Refit the path of the first response to the others."""
    return (first, *(first.refit(y) for y in responses.T[1:]))


def _reported(
    paths: ResponsePaths[PathType], strict: bool, asked: int | None
) -> ResponsePaths[PathType]:
    for path in paths:
        report_end(path, strict, asked)
    return paths
