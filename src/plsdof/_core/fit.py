"""From data to a path: PLS, PCR and ridge regression."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeVar, get_args

from plsdof._core.exact import Exact
from plsdof._core.filters import pcr_filter, pls_filter, ridge_filter, supervised_pcr_filter
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_count,
    as_positive,
    read_only,
    require_flag,
)
from plsdof._core.path import Path
from plsdof._core.paths import PCRPath, PLSPath, RidgePath
from plsdof._core.plugins import Source, opened
from plsdof._core.recipe import Method, Recipe
from plsdof._core.routes import MakeFilter, count_gram, count_rows
from plsdof._core.spectrum import COUNTED, SOLVERS, Solver
from plsdof._core.standardize import (
    Observations,
    as_observations,
    constant_between,
    response_varies,
    warn_constant_columns,
)
from plsdof._core.warnings import is_quiet, warn_caller
from plsdof.errors import (
    InvalidInputError,
    NotAvailableError,
    RankExhaustedWarning,
)

PathType = TypeVar("PathType", bound=Path)
Order = Literal["variance", "correlation"]


def pls_path(
    X: Any,
    y: Any = None,
    max_components: int | None = None,
    *,
    scale: bool = True,
    sample_weight: Any = None,
    solver: Solver = "auto",
    progress: bool = False,
) -> PLSPath:
    r"""Fit Partial Least Squares with 0, 1, ..., M components, with exact Degrees of Freedom.

    With the filter factors f and rotated orthonormal scores T of m components,

        DoF(m) = 1 + sum_i f_i + 2 sum_i (1 - f_i) h_i,     h_i = sum_{j <= m} T_ij^2,

    the trace of d yhat_m / d y (Kraemer & Sugiyama 2011, eq. (dof)), in closed form.

    Parameters
    ----------
    X : (n, p) array or data frame
        Predictors, one row per observation. Also a scipy sparse matrix, a
        np.memmap or zarr array, a dask array or data frame, blocks of rows or columns as
        `file_blocks` makes them, or `large.Moments`: these are never put into one dense array (see
        the notes).
    y : (n,) array
        Response; blocks and moments have it already.
    max_components : int, optional
        Largest model wanted; by default all that the data support. A small number is much
        faster, because no singular vectors are needed.
    scale : bool
        Scale the columns of X to unit variance (divisor n - 1).
    sample_weight : (n,) array, optional
        Weights; integer weights mean repeated rows.
    solver : {"auto", "svd", "gram"}
        "svd" gives all digits; "gram" works on the smaller of X'X and XX' and is faster; "auto"
        takes "gram" if its estimated errors are below 1e-5 of the Degrees of Freedom and 1e-4 of
        the residual sums of squares, else works on X itself.
    progress : bool
        Show bars on stderr while large data are read (needs rich).

    Returns
    -------
    PLSPath
        Frozen; arrays over models have M + 1 rows and start at the empty model.

    Notes
    -----
    Nothing is computed before it is asked for. `Path.select` and coefficients need products with X
    only; Degrees of Freedom need one decomposition of X plus O(r M^2) time, memory O(np + rM), the
    first time. With few components
    (about min(n, p) / 3 or less) eigenvalues without vectors and 3M/2 + 2 products with X or the
    smaller Gram matrix take the place of the decomposition.

    Large data come down to the smaller one of X'X and XX', formed in one or two passes; results
    agree with those in memory up to rounding, but solver "svd" is not available as a fallback.
    Beyond order 15,000 Degrees of Freedom are not computed; everything that does without them is
    there.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=30)
    >>> path = pls_path(X, y)
    >>> path.dof.round(2)
    array([1.  , 5.12, 4.76, 4.96, 5.  ])
    >>> path.select("bic").n_components
    2
    """
    recipe = _recipe("pls", scale, solver, max_components=max_components)
    method = partial(pls_filter, max_components=recipe.options["max_components"])
    source = opened(X, y, sample_weight, progress=progress)
    return _made(PLSPath, recipe, method, source or checked(X, y, sample_weight, scale))


def pcr_path(
    X: Any,
    y: Any = None,
    max_components: int | None = None,
    *,
    order: Order = "variance",
    among: int | None = None,
    scale: bool = True,
    sample_weight: Any = None,
    solver: Solver = "auto",
) -> PCRPath:
    """Fit principal components regression with 0..M components; DoF = m + 1.

    X, y, max_components, scale, sample_weight and solver are those of `pls_path`.

    Parameters
    ----------
    order : {"variance", "correlation"}
        Take the components with the largest variance first, or those with the largest squared
        correlation with y. The second looks at y to choose, so its Degrees of Freedom are not
        m + 1; no exact formula is known, and they are reported as nan (criteria are then
        undefined too: use cross-validation).
    among : int, optional
        With order "correlation" only the components with so many largest variances are
        candidates, as in the R package plsdof, where it is ``m``; by default all.

    Examples
    --------
    >>> path = pcr_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> path.dof
    array([1., 2., 3.])
    """
    as_choice(order, "order", get_args(Order))
    options = {"max_components": max_components, "order": order, "among": among}
    recipe = _recipe("pcr", scale, solver, **options)
    method = partial(pcr_filter, max_components=recipe.options["max_components"])
    if order == "correlation":
        kept = None if among is None else as_count(among, "among", minimum=1)
        method = partial(supervised_pcr_filter, **method.keywords, among=kept)
    data = opened(X, y, sample_weight) or checked(X, y, sample_weight, scale)
    return _made(PCRPath, recipe, method, data)


def ridge_path(
    X: Any,
    y: Any = None,
    alphas: Any = None,
    *,
    scale: bool = True,
    sample_weight: Any = None,
    solver: Solver = "auto",
) -> RidgePath:
    """Fit ridge regression for a list of penalties; DoF = 1 + sum lambda / (lambda + alpha).

    The penalty is on the paper's scale: the coefficients of the standardised predictors (divisor
    n - 1) solve (X'X + alpha I) b = X'y.

    Parameters
    ----------
    alphas : array of float, optional
        Penalties, one model each, in this order; 0 is least squares (the shortest coefficients
        that attain it). By default 50 values, largest (simplest model) first, from where the
        penalties leave next to nothing of the fit to where they leave all of it.
    X, y, scale, sample_weight, solver
        As for `pls_path`.

    Examples
    --------
    >>> path = ridge_path([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0], alphas=[2.0, 1e-9])
    >>> path.dof.round(6)
    array([1.5, 2. ])
    """
    recipe = _recipe("ridge", scale, solver, alphas=alphas)
    method = partial(ridge_filter, alphas=recipe.options["alphas"])
    data = opened(X, y, sample_weight) or checked(X, y, sample_weight, scale)
    return _made(RidgePath, recipe, method, data)


# What the methods have in common: rows in memory, or read into a Gram matrix
# ---------------------------------------------------------------------------


def _recipe(name: str, scale: bool, solver: str, **options: Any) -> Recipe:
    """Check the options that all methods have, and return the recipe."""
    require_flag(scale)
    as_choice(solver, "solver", SOLVERS)
    return METHODS[name].recipe(**options, scale=scale, solver=solver)


def _made(
    kind: type[PathType], recipe: Recipe, method: MakeFilter, data: Observations | Source
) -> PathType:
    """Return the path of rows in memory, or of data that are read into a Gram matrix."""
    krylov = kind is PLSPath
    if isinstance(data, Observations):
        return finished(kind, recipe, data, partial(count_rows, method=method, krylov=krylov))
    if recipe.options["solver"] == "svd":
        raise NotAvailableError(
            "solver='svd' needs X as one dense array in memory; use solver='auto' for sparse and "
            "large data, or pass np.asarray(X)."
        )
    gram, given = data.read(recipe.options["scale"])
    count: Callable[..., Exact] = partial(count_gram, gram=gram, method=method, krylov=krylov)
    if not krylov:
        gram.require_countable()  # only PLS does without a decomposition
    if gram.order > COUNTED and recipe.options["max_components"] is None:
        n, p = gram.units.n_rows, len(gram.units.x_mean)
        raise InvalidInputError(
            f"X has {n} rows and {p} columns, too many for all components; say how many are wanted "
            "at most, for example max_components=10."
        )
    return finished(kind, recipe, given, count, gram.max_rank)


def checked(X: Any, y: Any, sample_weight: Any, scale: bool) -> Observations:
    """Check data, once, and warn of what is unusual about them."""
    ready = isinstance(X, Observations)  # checked before; its owner copies what may change
    if y is None and not ready:
        raise InvalidInputError("y is missing; give one response per row of X.")
    given = X if ready else as_observations(X, y, sample_weight)
    response_varies(given.y)
    columns = given.columns
    warn_constant_columns(columns.constant, given.names)
    if not scale:
        constant_between(columns.lowest, columns.highest, scale=False)
    if not ready:
        given.own()
    return given


def finished(
    kind: type[PathType],
    recipe: Recipe,
    given: Observations | None,
    count: Callable[..., Exact],
    most: int | None = None,
    **further: Any,
) -> PathType:
    """Return a path that counts on demand.

    ``most`` is the largest number of components that there can be, by default the smaller one of
    columns and rows less one.
    """
    asked, size = recipe.options.get("max_components"), ""
    if given is not None:
        n, p = given.X.shape
        most = min(n - 1, p) if most is None else most
        size = f": X has {n} rows and {p} columns"
    assert most is not None
    if asked is not None and asked > most:  # this much is known without counting
        warn_caller(
            f"{asked} components asked for, at most {most} supported{size}.", RankExhaustedWarning
        )
        asked = None
    return kind(
        recipe=recipe,
        _make=partial(count, given, recipe),
        given=given,
        _asked=asked,
        _quiet=is_quiet(RankExhaustedWarning),
        **further,
    )


def optional_count(max_components: int | None) -> int | None:
    """Check a number of components that may be left out."""
    return None if max_components is None else as_count(max_components, "max_components")


def optional_penalties(alphas: Any) -> Array | None:
    """Check penalties that may be left out."""
    return None if alphas is None else read_only(as_positive(alphas, "alphas", or_zero=True))


# Every list of methods, in options, tables and pictures, is derived from this one.
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(name="pls", label="PLS", path=pls_path, size="max_components", check=optional_count),
        Method(name="pcr", label="PCR", path=pcr_path, size="max_components", check=optional_count),
        Method(
            name="ridge", label="ridge", path=ridge_path, size="alphas", check=optional_penalties
        ),
    )
}


def method_label(name: str) -> str:
    """Return what a heading calls a method; other names are their own label.

    Examples
    --------
    >>> method_label("pls"), method_label("forest")
    ('PLS', 'forest')
    """
    return METHODS[name].label if name in METHODS else name
