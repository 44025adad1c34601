"""From data that are not one array to a Gram matrix, and to paths.

Tall data (p <= limit, blocks of rows): X'X from merged moments, one pass. Wide data (n <= limit,
blocks of columns): XX' as the sum of the kernels of all blocks, one pass. Both large: one pass for
means and scales, and one for every product with the matrix, which is never formed.
"""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from plsdof._core.compression import Count
from plsdof._core.exact import Exact
from plsdof._core.filters import pls_filter, ridge_filter
from plsdof._core.fit import METHODS, counted, optional_count, optional_penalties, pcr_method
from plsdof._core.inputs import Array, as_count, as_generator, as_positive, read_only, require_flag
from plsdof._core.moments import Moments as Moments
from plsdof._core.moments import block_moments
from plsdof._core.parallel import progress_bar
from plsdof._core.path import Path, PCRPath, PLSPath, RidgePath
from plsdof._core.routes import (
    first_accurate,
    gram_route,
    is_accurate,
    whole_gram_route,
    whole_routes,
)
from plsdof._core.rows import Block, RowProducts, Rows, weighed
from plsdof._core.spectrum import FORMED, Gram, Reached, formed
from plsdof._core.standardize import (
    Response,
    Standardized,
    Units,
    centre_columns,
    centre_response,
    require_enough,
    warn_constant_columns,
)
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.large.blocks import is_blocks, is_dask, is_sliced, open_blocks, paired
from plsdof.large.factors import block_factor, merge_factors, standardized_factor
from plsdof.large.probes import count_by_probes
from plsdof.large.sparse import operator_gram

# The Gram matrix of blocks
# -------------------------


def block_gram(blocks: Rows, *, scale: bool = True, limit: int = FORMED) -> Gram:
    """Return the Gram matrix of standardised data that come in blocks.

    Parameters
    ----------
    blocks : Rows
        Blocks of rows give X'X, blocks of columns give XX'.
    scale : bool
        Scale the predictors to unit variance (divisor n - 1).
    limit : int
        Largest order of a matrix that is formed. Beyond it ``times`` passes over blocks of rows;
        blocks of columns are refused.

    Returns
    -------
    Gram
        Equal to what `standardize` and dense products give, up to rounding. ``to_samples``
        (blocks of rows) and ``to_features`` (blocks of columns) pass over the data.

    Warns
    -----
    ConstantColumnWarning

    Notes
    -----
    Cost of formed matrices: O(n p min(n, p)) time, one pass, one block and three matrices of
    memory. Otherwise O(n p) time and one pass for ``block_gram`` and for every call of ``times``,
    however many vectors it is given; O(n + p) memory for each of them.

    Examples
    --------
    >>> from plsdof.large.blocks import ArrayBlocks
    >>> X, y = np.array([[1.0, 4.0], [2.0, 6.0], [3.0, 5.0]]), np.arange(3.0)
    >>> gram = block_gram(ArrayBlocks(X, y, memory=16))
    >>> gram.matrix
    array([[2., 1.],
           [1., 2.]])
    >>> gram.to_samples(np.eye(2))
    array([[-1., -1.],
           [ 0.,  1.],
           [ 1.,  0.]])
    """
    limit = as_count(limit, "limit")
    require_flag(scale)
    gram = (_from_rows if blocks.axis == 0 else _from_columns)(blocks, scale, limit)
    warn_constant_columns(np.isinf(gram.units.x_scale), gram.units.names)
    return gram


def _from_rows(blocks: Rows, scale: bool, limit: int) -> Gram:
    products = blocks.n_columns <= limit
    work = partial(_moments_and_roots, products=products)
    found: Moments
    found, roots = blocks.reduce(work, partial(paired, merge=Moments.merge), "Means and products")
    row_scale = None
    if any(isinstance(part, np.ndarray) for part in roots):
        each = [np.ones(part) if isinstance(part, int) else part for part in roots]
        row_scale = read_only(np.concatenate(each))
    units = found.units(scale, blocks.names, row_scale)
    passes = RowProducts(rows=blocks, units=units, shift=units.x_mean, rest=found.rest[:-1])
    if products:
        return found.standardized(
            units,
            to_samples=passes.to_samples,
            refine=None if row_scale is not None else cache(partial(_factored, blocks, scale)),
        )
    response, total = found.response(units)
    return Gram(
        side="features",
        units=units,
        response=response,
        total=total,
        trace=float(np.sum(found.squares / units.x_scale**2)),
        times=passes.times,
        to_samples=passes.to_samples,
    )


def _factored(blocks: Rows, scale: bool) -> Standardized:
    factor = blocks.reduce(block_factor, merge_factors, "Triangular factor")
    return standardized_factor(factor, scale, blocks.names)


def _moments_and_roots(block: Block, *, products: bool) -> tuple[Moments, list[Array | int]]:
    """Return moments of rows, and square roots of weights, or how many have weight one."""
    weights = block.weights
    roots = len(block.X) if weights is None else np.sqrt(weights[weights > 0])
    return block_moments(block, products=products), [roots]


def _divided(values: Array, divisor: Array) -> Array:
    """Divide the rows of an array of one or two dimensions."""
    return np.asarray((values.T / divisor).T)


@dataclass(frozen=True, kw_only=True)
class _ColumnPart:
    """Means and scales of some columns, and what all blocks have in common."""

    mean: Array
    scale: Array
    response: Response
    n: float
    row_scale: Array | None


def _from_columns(blocks: Rows, scale: bool, limit: int) -> Gram:
    if (blocks.n_rows or 0) > limit:
        raise InvalidInputError(
            f"Blocks of columns are for at most {limit:,} rows, but there are {blocks.n_rows:,}; "
            "cut the table into blocks of rows, axis=0."
        )
    work = partial(_kernel_and_units, scale=scale)
    kernel, parts = blocks.reduce(work, partial(paired, merge=operator.add), "Kernel")
    response = parts[0].response
    units = Units(
        n=parts[0].n,
        n_rows=len(response.values),
        x_mean=read_only(np.concatenate([part.mean for part in parts])),
        x_scale=read_only(np.concatenate([part.scale for part in parts])),
        y_mean=response.mean,
        row_scale=parts[0].row_scale,
        names=blocks.names,
    )
    return formed(
        read_only(kernel),
        side="samples",
        units=units,
        response=response.values,
        total=float(response.values @ response.values),
        to_features=partial(_to_features, blocks, units),
    )


def _kernel_and_units(block: Block, *, scale: bool) -> tuple[Array, list[_ColumnPart]]:
    X, y, weights = weighed(block)
    n = float(len(X)) if weights is None else float(weights.sum())
    if weights is not None:
        require_enough(weights)
    columns = centre_columns(X, weights, n, scale)
    row_scale = None if weights is None else read_only(np.sqrt(weights))
    values = columns.values
    if row_scale is not None:
        values *= row_scale[:, None]
    part = _ColumnPart(
        mean=columns.mean,
        scale=columns.scale,
        response=centre_response(y, row_scale),
        n=n,
        row_scale=row_scale,
    )
    return values @ values.T, [part]


def _to_features(blocks: Rows, units: Units, v: Array) -> Array:
    """Return X' v of the standardised data, by one pass.

    Means are known to their rounding only, which has no effect on vectors that are orthogonal to
    the roots of the weights.
    """
    root = np.ones(len(v)) if units.row_scale is None else units.row_scale
    balanced = v - np.multiply.outer(root, root @ v / units.n)
    work = partial(_column_product, u=balanced, units=units)
    return np.concatenate(blocks.reduce(work, operator.add, "Coefficients"))


def _column_product(block: Block, *, u: Array, units: Units) -> list[Array]:
    X, _, _ = weighed(block)
    columns = slice(block.first, block.first + X.shape[1])
    X -= units.x_mean[columns]
    if units.row_scale is not None:
        X *= units.row_scale[:, None]
    return [_divided(X.T @ u, units.x_scale[columns])]


# Gram matrices of whatever comes in
# ----------------------------------


def recognises(X: Any) -> bool:
    """Whether X is sparse, an operator, on disk or on a cluster: not to be made an array."""
    return _is_operator(X) or is_dask(X) or is_sliced(X)


def _is_operator(X: Any) -> bool:
    return scipy.sparse.issparse(X) or isinstance(X, scipy.sparse.linalg.LinearOperator)


def read_gram(
    X: Any,
    y: Any,
    *,
    solver: str = "auto",
    scale: bool = True,
    sample_weight: Any = None,
    progress: bool = False,
    limit: int = FORMED,
) -> Gram:
    """Return the Gram matrix of data that `recognises` knows, for a solver that can do with it.

    Up to the order ``limit`` the matrix is formed; beyond, it is only multiplied with.
    """
    if solver == "svd":
        raise NotAvailableError(
            "solver='svd' needs X as one dense array in memory; use solver='auto' for sparse and "
            "large data, or pass np.asarray(X)."
        )
    if _is_operator(X):
        return operator_gram(X, y, scale=scale, sample_weight=sample_weight, limit=limit)
    blocks = open_blocks(X, y, sample_weight, progress=progress)
    assert blocks is not None
    return block_gram(blocks, scale=scale, limit=limit)


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
                "that makes the Gram, such as Moments.gram."
            )
        return source
    if isinstance(source, Moments):
        return source.gram(scale)
    if is_blocks(source):
        return block_gram(source, scale=scale, limit=limit)
    raise InvalidInputError(
        "The source must be Moments, Blocks (see file_blocks) or a Gram; got "
        f"{type(source).__name__}. "
        "For a table X and a response y use the function without '_from' in its name."
    )


def _count(
    gram: Gram,
    max_components: int | None,
    tolerance: float,
    rng: Any,
    progress: Callable[[int, int], object] | None,
) -> Count | None:
    """Return how traces of ``gram`` are counted, None if its eigenvalues can be computed."""
    if gram.matrix is not None:
        return None
    if max_components is None:
        raise InvalidInputError(
            f"X has {gram.units.n_rows} rows and {len(gram.units.x_mean)} columns, too many for "
            "all components; say how many are wanted at most, for example max_components=10."
        )
    return partial(
        count_by_probes,
        n_components=max_components,
        tolerance=float(as_positive(tolerance, "tolerance")[0]),
        seed=int(as_generator(rng).integers(2**63)),
        progress=progress,
    )


def refined(
    path: Exact,
    gram: Gram,
    wanted: int | None,
    routes: Callable[[Standardized], Iterator[Exact]],
) -> Exact:
    """Return a path from a Gram matrix if it is accurate, else one from a factor.

    ``routes`` go from standardised data to paths, of which the first accurate one is taken. A path
    that cannot be had more accurately is returned as it is.
    """
    if gram.refine is None or is_accurate(path, wanted):
        return path
    data = gram.refine()
    return path if data is None else _with_rows(first_accurate(routes(data), wanted), gram)


def _with_rows(path: Exact, gram: Gram) -> Exact:
    """Let a path reach the rows of the data, in the place of those of their factor."""
    rows = Reached(forward=gram.to_samples, backward=None)
    basis = path.decomposition.feature_basis
    return replace(
        path,
        decomposition=replace(path.decomposition, left=None, right=basis, X=rows),
        full=None if path.full is None else partial(_whole_with_rows, path, gram),
    )


def _whole_with_rows(path: Any, gram: Gram) -> Any:
    return _with_rows(path.complete(), gram)


# PLS, PCR and ridge for data that hold their own response: moments, and tables in blocks
# ---------------------------------------------------------------------------------------


def pls_path_from(
    source: Moments | Rows | Gram,
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
    watched = progress and gram.matrix is None
    with progress_bar("Random probes", wanted=watched) as told:
        count = _count(gram, max_components, tolerance, rng, told)
        exact = gram_route(gram, method, max_components, count)
    routes = partial(whole_routes, method=method, solver="svd")
    exact = refined(exact, gram, max_components, routes)
    recipe = METHODS["pls"].recipe(max_components=max_components, scale=scale, solver="auto")
    return counted(PLSPath, recipe, exact, strict)


def pcr_path_from(
    source: Moments | Rows | Gram,
    max_components: int | None = None,
    *,
    order: Literal["variance", "correlation"] = "variance",
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
    exact = _whole_path(source, pcr_method(order, max_components, among), scale, max_components)
    recipe = METHODS["pcr"].recipe(
        max_components=max_components, order=order, among=among, scale=scale, solver="auto"
    )
    return counted(PCRPath, recipe, exact, strict)


def ridge_path_from(
    source: Moments | Rows | Gram, alphas: Any = None, *, scale: bool = True
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
    penalties = optional_penalties(alphas)
    exact = _whole_path(source, partial(ridge_filter, alphas=penalties), scale, None)
    recipe = METHODS["ridge"].recipe(alphas=penalties, scale=scale, solver="auto")
    return counted(RidgePath, recipe, exact, False)


def _whole_path(source: Any, method: Any, scale: bool, wanted: int | None) -> Exact:
    """Fit a method that needs all eigenvalues."""
    gram = source_gram(source, scale=scale)
    routes = partial(whole_routes, method=method, solver="svd")
    return refined(whole_gram_route(gram, method), gram, wanted, routes)


# How each method takes such data, by its name.
PATHS_FROM: dict[str, Callable[..., Path]] = {
    "pls": pls_path_from,
    "pcr": pcr_path_from,
    "ridge": ridge_path_from,
}
