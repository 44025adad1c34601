"""From data that are not one array to a Gram matrix, and to paths."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from plsdof._core.filters import pls_filter, ridge_filter
from plsdof._core.fit import (
    METHODS,
    counted,
    optional_count,
    optional_penalties,
    pcr_method,
)
from plsdof._core.inputs import as_generator, as_positive, require_flag
from plsdof._core.krylov import Count
from plsdof._core.path import Path, PCRPath, PLSPath, RidgePath
from plsdof._core.routes import gram_route, precise_routes, whole_gram_route, whole_routes
from plsdof._core.spectrum import FORMED, Gram
from plsdof._core.work import progress_bar
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.large.block_gram import block_gram
from plsdof.large.blocks import Blocks, is_dask, is_sliced, open_blocks
from plsdof.large.factors import refined
from plsdof.large.moments import Moments
from plsdof.large.probes import Sampling, count_by_probes
from plsdof.large.sparse import operator_gram

# Gram matrices of data that are sparse, implicit, on disk or on a cluster
# ------------------------------------------------------------------------


def large_gram(
    X: Any,
    y: Any,
    *,
    scale: bool = True,
    sample_weight: Any = None,
    progress: bool = False,
    limit: int = FORMED,
) -> Gram | None:
    """Return the Gram matrix of data that are not to be put into one dense array, else None.

    Parameters
    ----------
    X : scipy sparse matrix or LinearOperator, dask collection, np.memmap or zarr array
        Anything else is left to `standardize`.
    limit : int
        Order up to which the matrix is formed; beyond, it is only multiplied with.
    """
    if scipy.sparse.issparse(X) or isinstance(X, scipy.sparse.linalg.LinearOperator):
        return operator_gram(X, y, scale=scale, sample_weight=sample_weight, limit=limit)
    blocks = open_blocks(X, y, sample_weight, progress=progress)
    return None if blocks is None else block_gram(blocks, scale=scale, limit=limit)


def recognises(X: Any) -> bool:
    """Whether X is sparse, an operator, on disk or on a cluster: not to be made an array."""
    return (
        scipy.sparse.issparse(X)
        or isinstance(X, scipy.sparse.linalg.LinearOperator)
        or is_dask(X)
        or is_sliced(X)
    )


def read_gram(X: Any, y: Any, *, solver: str = "auto", **options: Any) -> Gram:
    """Return the Gram matrix of data that `recognises` knows, for a solver that can do with it."""
    if solver == "svd":
        raise NotAvailableError(
            "solver='svd' needs X as one dense array in memory; use solver='auto' for sparse and "
            "large data, or pass np.asarray(X)."
        )
    gram = large_gram(X, y, **options)
    assert gram is not None
    return gram


def source_gram(source: Any, *, scale: bool = True, limit: int = FORMED) -> Gram:
    """Return the Gram matrix of data that hold their own response.

    A Gram has been scaled, or not, when it was made.
    """
    require_flag(scale)
    if isinstance(source, Gram):
        divisors = source.units.x_scale
        if not scale and np.any((divisors != 1.0) & np.isfinite(divisors)):
            raise InvalidInputError(
                "scale=False comes too late for a Gram of scaled columns; give it to the function "
                "that makes the Gram, such as block_gram or operator_gram."
            )
        return source
    if isinstance(source, Moments):
        return source.gram(scale)
    if hasattr(source, "reduce") and hasattr(source, "n_columns"):
        return block_gram(source, scale=scale, limit=limit)
    raise InvalidInputError(
        "The source must be Moments, Blocks (see file_blocks) or a Gram; got "
        f"{type(source).__name__}. "
        "For a table X and a response y use the function without '_from' in its name."
    )


@contextmanager
def _counting(
    gram: Gram,
    max_components: int | None,
    tolerance: float,
    rng: Any,
    progress: bool,
) -> Iterator[Count | None]:
    """Provide how traces of ``gram`` are counted, None if its eigenvalues can be computed."""
    if gram.matrix is not None:
        yield None
        return
    if max_components is None:
        raise InvalidInputError(
            f"X has {gram.units.n_rows} rows and {len(gram.units.x_mean)} columns, too many for "
            "all components; say how many are wanted at most, for example max_components=10."
        )
    seed = int(as_generator(rng).integers(2**63))
    share = float(as_positive(tolerance, "tolerance")[0])
    with progress_bar("Random probes", wanted=progress) as told:
        sampling = Sampling(n_components=max_components, tolerance=share, seed=seed, progress=told)
        yield partial(count_by_probes, sampling=sampling)


# PLS, PCR and ridge for data that hold their own response: moments, and tables in blocks
# ---------------------------------------------------------------------------------------


def pls_path_from(
    source: Moments | Blocks | Gram,
    max_components: int | None = None,
    *,
    scale: bool = True,
    strict: bool = False,
    tolerance: float = 0.01,
    rng: Any = 0,
    progress: bool = False,
) -> PLSPath:
    """Fit Partial Least Squares to data that hold their own response.

    Parameters
    ----------
    source : Moments, Blocks or Gram
        Moments that were collected piece by piece, or a table in blocks, as `file_blocks` makes
        of files; or their Gram matrix, which has its scaling already.
    max_components, scale, strict, tolerance, rng, progress
        As for `pls_path`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> moments = Moments.empty()
    >>> for day in range(5):
    ...     X = rng.normal(size=(30, 4))
    ...     y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=30)
    ...     moments = moments.partial_fit(X, y)
    >>> pls_path_from(moments, 3).select("bic").n_components
    3
    """
    method = partial(pls_filter, max_components=optional_count(max_components))
    gram = source_gram(source, scale=scale)
    with _counting(gram, max_components, tolerance, rng, progress) as count:
        exact = gram_route(gram, method, max_components, count)
    routes = partial(precise_routes, method=method, components=max_components)
    exact = refined(exact, gram, max_components, routes)
    recipe = METHODS["pls"].recipe(max_components=max_components, scale=scale, solver="auto")
    return counted(PLSPath, recipe, exact, strict)


def pcr_path_from(
    source: Moments | Blocks | Gram,
    max_components: int | None = None,
    *,
    order: str = "variance",
    among: int | None = None,
    scale: bool = True,
    strict: bool = False,
) -> PCRPath:
    """Fit principal components regression to data that hold their own response.

    Parameters
    ----------
    source : Moments, Blocks or Gram
        As for `pls_path_from`, with at most 5,000 rows or columns.
    max_components, order, scale, strict
        As for `pcr_path`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> moments = Moments.of(X, X @ [1.0, 2.0, 0.0, -1.0])
    >>> pcr_path_from(moments).dof
    array([1., 2., 3., 4., 5.])
    """
    method = pcr_method(order, max_components, among)
    gram = source_gram(source, scale=scale)
    exact = whole_gram_route(gram, method)
    routes = partial(whole_routes, method=method, solver="svd")
    exact = refined(exact, gram, max_components, routes)
    recipe = METHODS["pcr"].recipe(
        max_components=max_components, order=order, among=among, scale=scale, solver="auto"
    )
    return counted(PCRPath, recipe, exact, strict)


def ridge_path_from(
    source: Moments | Blocks | Gram, alphas: Any = None, *, scale: bool = True
) -> RidgePath:
    """Fit ridge regression to data that hold their own response.

    Parameters
    ----------
    source : Moments, Blocks or Gram
        As for `pls_path_from`, with at most 5,000 rows or columns.
    alphas, scale
        As for `ridge_path`.

    Examples
    --------
    >>> moments = Moments.of([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])
    >>> ridge_path_from(moments, alphas=[2.0, 1e-9]).dof.round(6)
    array([1.5, 2. ])
    """
    gram = source_gram(source, scale=scale)
    penalties = optional_penalties(alphas)
    method = partial(ridge_filter, alphas=penalties)
    exact = whole_gram_route(gram, method)
    routes = partial(whole_routes, method=method, solver="svd")
    recipe = METHODS["ridge"].recipe(alphas=penalties, scale=scale, solver="auto")
    return counted(RidgePath, recipe, refined(exact, gram, None, routes), False)


# How each method takes such data, by its name.
PATHS_FROM: dict[str, Callable[..., Path]] = {
    "pls": pls_path_from,
    "pcr": pcr_path_from,
    "ridge": ridge_path_from,
}
