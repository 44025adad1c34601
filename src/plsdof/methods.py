"""The methods: a path class and a function from data to it for PLS, PCR and ridge."""

from functools import partial
from typing import Any, Protocol

import numpy as np

from plsdof._validation import Array, as_choice, as_count, as_positive, read_only
from plsdof.decomposition import SOLVERS
from plsdof.errors import RankExhaustedError, RankExhaustedWarning, warn_caller
from plsdof.filters import (
    pcr_filter,
    pls_filter,
    ridge_filter,
    supervised_pcr_filter,
)
from plsdof.gram import Gram
from plsdof.large import large_gram, refuse_svd, sampling_of
from plsdof.path_types import PCRPath, PLSPath, RidgePath
from plsdof.routes import (
    Method,
    PathType,
    first_accurate,
    gram_route,
    krylov_routes,
    whole_gram_route,
    whole_routes,
)
from plsdof.standardize import Standardized, as_observations, require_flag, standardize
from plsdof.threads import threads_for


def pls_path(
    X: Any,
    y: Any,
    max_components: int | None = None,
    *,
    scale: bool = True,
    sample_weight: Any = None,
    solver: str = "auto",
    strict: bool = False,
    tolerance: float = 0.01,
    random_state: Any = 0,
    progress: bool = False,
) -> PLSPath:
    r"""Fit Partial Least Squares with 0, 1, ..., M components, with exact Degrees of Freedom.

    With the filter factors f and rotated orthonormal scores T of m components,

        DoF(m) = 1 + sum_i f_i + 2 sum_i (1 - f_i) h_i,     h_i = sum_{j <= m} T_ij^2,

    the trace of d yhat_m / d y (Kraemer & Sugiyama 2011, eq. (dof)), in closed form.

    Parameters
    ----------
    X : (n, p) array or data frame
        Predictors, one row per observation. Also a scipy sparse matrix or LinearOperator, a
        np.memmap or zarr array, a dask array or data frame: these are never put into one dense
        array (see the notes).
    y : (n,) array
        Response.
    max_components : int, optional
        Largest model wanted; by default all that the data support. A small number is much
        faster, because no singular vectors are needed.
    scale : bool
        Scale the columns of X to unit variance (divisor n - 1).
    sample_weight : (n,) array, optional
        Weights; integer weights mean repeated rows.
    solver : {"auto", "svd", "gram"}
        "svd" is the most accurate; "gram" works on the smaller of X'X and XX' and is faster;
        "auto" takes "gram" if its estimated error is negligible, else "svd".
    strict : bool
        Raise `RankExhaustedError` instead of warning when ``max_components`` is not reached.
    tolerance : float
        Relative standard error of the Degrees of Freedom to be reached where they have to be
        estimated (``path.dof_std_error``).
    random_state : int, numpy Generator or None
        For these estimates.
    progress : bool
        Show bars on stderr while large data are read and probed (needs rich).

    Returns
    -------
    PLSPath
        Frozen; arrays over models have M + 1 rows and start at the empty model.

    Notes
    -----
    Cost: one decomposition of X plus O(r M^2) time; memory O(np + rM). With few components
    (about min(n, p) / 4 or less) the eigenvalues of the smaller Gram matrix and 2M + 2 products
    with it take the place of the decomposition.

    Large data come down to the smaller one of X'X and XX', formed in one or two passes if its
    order is at most 5,000; results then agree with those in memory up to rounding, but solver
    "svd" is not available as a fallback. Beyond that, products with X are all that is needed, and
    the Degrees of Freedom have a standard error.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=30)
    >>> path = pls_path(X, y)
    >>> path.dof.round(2)
    array([1.  , 5.12, 4.76, 4.96, 5.  ])
    >>> path.select("bic").n_components
    2
    """
    method = partial(pls_filter, max_components=optional_count(max_components))
    as_choice(solver, "solver", SOLVERS)
    gram = large_gram(X, y, scale=scale, sample_weight=sample_weight, progress=progress)
    if gram is None:
        require_flag(scale)
        given = as_observations(X, y, sample_weight)
        with threads_for(given.X.shape):
            routes = krylov_routes(PLSPath, given, scale, method, solver, max_components)
            path = first_accurate(routes, max_components)
    else:
        refuse_svd(solver)
        with sampling_of(gram, max_components, tolerance, random_state, progress) as sampling:
            path = gram_route(PLSPath, gram, method, max_components, sampling)
    report_end(path, strict, max_components)
    return path


def pcr_path(
    X: Any,
    y: Any,
    max_components: int | None = None,
    *,
    order: str = "variance",
    scale: bool = True,
    sample_weight: Any = None,
    solver: str = "auto",
    strict: bool = False,
) -> PCRPath:
    """Fit principal components regression with 0..M components; DoF = m + 1.

    Parameters are those of `pls_path`, and

    Parameters
    ----------
    order : {"variance", "correlation"}
        Take the components with the largest variance first, or those with the largest squared
        correlation with y. The second looks at y to choose, so its Degrees of Freedom are not
        m + 1; no exact formula is known, and they are reported as nan (criteria are then
        undefined too: use cross-validation).

    Examples
    --------
    >>> path = pcr_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> path.dof
    array([1., 2., 3.])
    """
    method = pcr_method(order, max_components)
    as_choice(solver, "solver", SOLVERS)
    problem = _problem(X, y, scale, sample_weight, solver)
    path = _whole(PCRPath, problem, method, solver, max_components)
    report_end(path, strict, max_components)
    return path


def ridge_path(
    X: Any,
    y: Any,
    alphas: Any = None,
    *,
    scale: bool = True,
    sample_weight: Any = None,
    solver: str = "auto",
) -> RidgePath:
    """Fit ridge regression for a list of penalties; DoF = 1 + sum lambda / (lambda + alpha).

    The penalty is on the paper's scale: the coefficients of the standardised predictors (divisor
    n - 1) solve (X'X + alpha I) b = X'y.

    Parameters
    ----------
    alphas : array of float, optional
        Penalties > 0, one model each, in this order. By default 50 values from 1e-4 to 1e4
        times n, largest (simplest model) first.
    X, y, scale, sample_weight, solver
        As for `pls_path`.

    Examples
    --------
    >>> path = ridge_path([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0], alphas=[2.0, 1e-9])
    >>> path.dof.round(6)
    array([1.5, 2. ])
    """
    as_choice(solver, "solver", SOLVERS)
    problem = _problem(X, y, scale, sample_weight, solver)
    penalties = as_penalties(alphas, problem.units.n)
    method = partial(ridge_filter, alphas=penalties)
    return _whole(RidgePath, problem, method, solver, None, alphas=penalties)


def default_alphas(n: float) -> Array:
    """Return 50 penalties from 1e4 n to 1e-4 n, n the number of rows or the sum of the weights."""
    return np.logspace(4, -4, 50) * n


def optional_count(max_components: int | None) -> int | None:
    """Check a number of components that may be left out."""
    return None if max_components is None else as_count(max_components, "max_components")


def pcr_method(order: str, max_components: int | None) -> Method:
    """Return principal components regression as a filter."""
    as_choice(order, "order", ("variance", "correlation"))
    rule = pcr_filter if order == "variance" else supervised_pcr_filter
    return partial(rule, max_components=optional_count(max_components))


def as_penalties(alphas: Any, n: float) -> Array:
    """Check penalties of ridge regression; by default `default_alphas`."""
    return read_only(as_positive(default_alphas(n) if alphas is None else alphas, "alphas"))


def _problem(X: Any, y: Any, scale: bool, sample_weight: Any, solver: str) -> Standardized | Gram:
    gram = large_gram(X, y, scale=scale, sample_weight=sample_weight)
    if gram is None:
        return standardize(X, y, scale=scale, sample_weight=sample_weight)
    refuse_svd(solver)
    return gram


def _whole(
    kind: type[PathType],
    problem: Standardized | Gram,
    method: Method,
    solver: str,
    asked: int | None,
    **further: Any,
) -> PathType:
    if isinstance(problem, Gram):
        return whole_gram_route(kind, problem, method, **further)
    with threads_for(problem.X.shape):
        return first_accurate(whole_routes(kind, problem, method, solver, **further), asked)


class Ended(Protocol):
    """A path that knows why it ends where it does."""

    @property
    def dof(self) -> Array:
        """One entry per model."""

    @property
    def message(self) -> str:
        """Why there are no more; empty if there are all that were asked for."""


def report_end(path: Ended, strict: bool, asked: int | None) -> None:
    """Warn, or raise if ``strict``, where a path is shorter than asked for."""
    size = len(path.dof) - 1
    if not path.message or (asked is None and size > 0):
        return
    wanted = "components" if asked is None else f"{asked} components"
    text = f"{wanted} asked for, {size} supported: {path.message}"
    if strict:
        raise RankExhaustedError(text)
    warn_caller(text, RankExhaustedWarning)
