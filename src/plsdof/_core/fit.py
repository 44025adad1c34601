"""From data to a path: PLS, PCR and ridge regression."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn, Protocol, TypeGuard, TypeVar

import numpy as np

from plsdof._core.filters import (
    Filter,
    pcr_filter,
    pls_filter,
    ridge_filter,
    ridge_grid,
    supervised_pcr_filter,
)
from plsdof._core.inputs import (
    Array,
    Observations,
    Standardized,
    Units,
    as_choice,
    as_count,
    as_nonnegative,
    as_observations,
    read_only,
    require_flag,
    standardize,
    standardize_observations,
)
from plsdof._core.krylov import (
    Compressed,
    Count,
    compress_gram,
    compress_svd,
    krylov_steps,
)
from plsdof._core.other_data import room_for
from plsdof._core.path import Path, PCRPath, PLSPath, RidgePath
from plsdof._core.peeling import SMALL, compress_peeled, refine
from plsdof._core.spectrum import (
    FORMED,
    SOLVERS,
    Gram,
    Spectrum,
    TallRows,
    decompose,
    decompose_gram,
    dense_gram,
    spectrum_on_gram,
    tall_gram,
)
from plsdof._core.work import threads_for
from plsdof.errors import (
    InvalidInputError,
    NotAvailableError,
    RankExhaustedError,
    RankExhaustedWarning,
    warn_caller,
)

# Routes from data to a path: the fast ones first, the accurate ones as a fallback
# --------------------------------------------------------------------------------

PathType = TypeVar("PathType", bound=Path)
MakeFilter = Callable[[Spectrum], Filter]


# solver="auto" keeps a fast route only if the estimated errors are within these.
@dataclass(frozen=True, kw_only=True)
class _Limits:
    """Relative errors, and the share of the first eigenvalue below which they hardly ever hold."""

    dof: float
    coef: float
    rss: float
    hopeless: float


_FEW_LIMITS = _Limits(dof=1e-9, coef=1e-8, rss=1e-8, hopeless=5e-5)
# Estimates are for the worst case. From this many rows and columns on rounding errors average out,
# and estimates exceed errors by a factor of a hundred and more, if all eigenvalues are resolved.
_MANY = 64
# From this many on, the smallest eigenvalues of a matrix that is about square are not.
_SQUARE = 1000
_MANY_LIMITS = _Limits(dof=1e-7, coef=1e-6, rss=5e-6, hopeless=3e-7)
# Residual sums of squares below this share of |y|^2 count as nothing in that.
_NEGLIGIBLE_RSS = 1e-10


def _limits(n_rows: int, n_columns: int) -> _Limits:
    order = min(n_rows, n_columns)
    about_square = order >= max(_SQUARE, 0.9 * max(n_rows, n_columns))
    return _MANY_LIMITS if order >= _MANY and not about_square else _FEW_LIMITS


def first_accurate(routes: Iterator[PathType], asked: int | None) -> PathType:
    """Return the first path that its own error estimate supports, the last one if there is none."""
    for path in routes:
        if is_accurate(path, asked):
            break
    return path


def is_accurate(path: Path, asked: int | None) -> bool:
    """Whether the a-posteriori check supports a path that was made with less than full accuracy."""
    everything = path.spectrum.unresolved == 0
    complete = everything or (asked is not None and len(path.dof) > asked)
    # Nobody finds a component beyond the largest rank there can be.
    ended = bool(path.message) and not (everything and len(path.dof) - 1 == path.spectrum.rank)
    # A model that interpolates leaves rounding; its digits are not worth a decomposition.
    negligible = _NEGLIGIBLE_RSS * path.spectrum.total
    limits = _limits(path.units.n_rows, len(path.units.x_mean)) if everything else _FEW_LIMITS
    return bool(
        complete
        and not ended
        and not np.any(path.dof_error > limits.dof * np.maximum(1.0, np.abs(path.dof)))
        and np.all(path.coef_error <= limits.coef)
        and np.all(path.rss_error <= limits.rss * np.maximum(path.rss, negligible))
    )


def solvers(solver: str) -> tuple[str, ...]:
    """Return what is tried in turn."""
    return ("gram", "svd") if solver == "auto" else (solver,)


def whole_routes(
    kind: type[PathType], data: Standardized, method: MakeFilter, solver: str, **further: object
) -> Iterator[PathType]:
    """Fit with all singular vectors: from the Gram matrix, then from X itself."""
    for attempt in solvers(solver):
        yield kind.build(data, decompose(data, attempt), method, **further)


def krylov_routes(
    kind: type[PathType],
    given: Observations,
    scale: bool,
    method: MakeFilter,
    solver: str,
    components: int | None,
) -> Iterator[PathType]:
    """Fit Partial Least Squares; few components of many need no singular vectors."""
    few = _few(components, min(given.X.shape))
    if solver == "auto" and few and len(given.X) <= min(SMALL, given.X.shape[1]):
        yield from _small_routes(kind, given, scale, method, components or 0)
        return
    hopeless = solver == "auto" and gram_is_hopeless(given.X, components, scale)
    if solver == "svd" or not _few(components, min(given.X.shape)):
        whole_data = standardize_observations(given, scale=scale)
        yield from whole_routes(kind, whole_data, method, "svd" if hopeless else solver)
        return
    data: Standardized | None = None
    response = read_only(given.y.copy())
    if not hopeless:
        rows: Standardized | TallRows
        if (tall := tall_gram(given, scale=scale)) is not None:
            gram, rows = tall
        else:
            rows = data = standardize_observations(given, scale=scale)
            gram = dense_gram(data)
        compressed = compress_gram(gram, components, y=rows.y)
        whole = partial(whole_gram_route, kind, gram, method)
        yield _in_krylov_space(kind, gram.units, compressed, method, whole, response)
    if solver == "auto":
        data = standardize_observations(given, scale=scale) if data is None else data
        yield from precise_routes(kind, data, method, components, response)


def precise_routes(
    kind: type[PathType],
    data: Standardized,
    method: MakeFilter,
    components: int | None,
    response: Array | None = None,
) -> Iterator[PathType]:
    """Fit Partial Least Squares where the Gram matrix has too few digits."""
    whole = partial(_whole_path, kind, data, method, "svd")
    if _few(components, min(data.X.shape)):
        # Spectra: a few directions hide the others from the Gram matrix.
        if (peeled := compress_peeled(data, components)) is not None:
            yield _in_krylov_space(kind, data.units, peeled, method, whole, response)
        compressed = compress_svd(data, components)
        yield _in_krylov_space(kind, data.units, compressed, method, whole, response)
    yield whole()


def _small_routes(
    kind: type[PathType], given: Observations, scale: bool, method: MakeFilter, components: int
) -> Iterator[PathType]:
    """Fit to few rows of many columns: all eigenvectors cost less than to do without."""
    data = standardize_observations(given, scale=scale)
    rough = decompose(data, "gram")
    if not _is_hopeless(rough.eigenvalues, components, data.X.shape):
        yield kind.build(data, rough, method)
    if (better := refine(data, rough)) is not None:
        yield kind.build(data, better, method)
    yield _whole_path(kind, data, method, "svd")


def gram_route(
    kind: type[PathType],
    gram: Gram,
    method: MakeFilter,
    components: int | None,
    count: Count | None = None,
) -> PathType:
    """Fit Partial Least Squares to data that are only there as a Gram matrix, formed or not.

    ``count`` is how traces are counted where the eigenvalues are too many to compute; it needs
    a number of ``components``.
    """
    if count is not None:
        assert components is not None
        compressed = compress_gram(gram, components, count=count)
        return _in_krylov_space(kind, gram.units, compressed, method, _too_large)
    if not _few(components, gram.order):
        return whole_gram_route(kind, gram, method)
    whole = partial(whole_gram_route, kind, gram, method)
    compressed = compress_gram(gram, components)
    return _in_krylov_space(kind, gram.units, compressed, method, whole)


def whole_gram_route(
    kind: type[PathType], gram: Gram, method: MakeFilter, **further: object
) -> PathType:
    """Fit any method with all eigenvectors of a formed Gram matrix."""
    if gram.matrix is None:
        _too_large()
    decomposition = decompose_gram(gram)
    spectrum = spectrum_on_gram(gram, decomposition)
    return kind.assemble(gram.units, decomposition, spectrum, method, **further)


def _too_large() -> NoReturn:
    raise NotAvailableError(
        "This needs every direction of X, and X is too large for that: more than "
        f"{FORMED:,} rows and columns. What there is at this size: coefficients, predictions, "
        "Degrees of Freedom, noise level and criteria of Partial Least Squares with a given "
        "max_components."
    )


def _few(components: int | None, order: int) -> TypeGuard[int]:
    """Whether components are few enough that singular vectors are needed for nothing."""
    return components is not None and 2 * krylov_steps(components) <= order


def gram_is_hopeless(X: Array, components: int | None, scale: bool) -> bool:
    """Whether a look at some of X shows that the Gram matrix cannot carry so many components.

    The smallest one of m Ritz values is at most the m-th eigenvalue, and rounding, relative to
    the largest one, is divided by it. A wrong answer costs time only.
    """
    if not components or components + 2 > min(X.shape):
        return False
    n, p = X.shape
    rows = np.linspace(0, n - 1, min(2 * components + 10, n), dtype=np.intp)
    columns = np.linspace(0, p - 1, min(4 * components + 100, p), dtype=np.intp)
    some = X[rows[:, None], columns]
    with np.errstate(all="ignore"):
        some = some - some.mean(axis=0)
        if scale:
            spread = np.abs(some).max(axis=0)  # squares may leave the range of float64
            some /= np.where(spread > 0, spread, 1.0)
        gram = some @ some.T
    if not np.all(np.isfinite(gram)):
        return False
    return _is_hopeless(np.linalg.eigvalsh(gram)[::-1], components, X.shape)


def _is_hopeless(eigenvalues: Array, components: int, shape: tuple[int, ...]) -> bool:
    """The same from eigenvalues, largest first, of an (n, p) matrix."""
    last = eigenvalues[max(components - 1, 0) :][:1]
    return bool(np.any(last < _limits(*shape).hopeless * eigenvalues[:1]))


def _whole_path(
    kind: type[PathType], data: Standardized, method: MakeFilter, solver: str
) -> PathType:
    return next(whole_routes(kind, data, method, solver))


def _in_krylov_space(
    kind: type[PathType],
    units: Units,
    compressed: Compressed,
    method: MakeFilter,
    full: Callable[[], PathType],
    response: Array | None = None,
) -> PathType:
    return kind.assemble(
        units,
        compressed.decomposition,
        compressed.spectrum,
        method,
        full=full,
        response=response,
    )


def remembering(
    path: PathType, data: Observations | Standardized, fit: Callable[..., Path]
) -> PathType:
    """Return the path with its response and a way to fit the same method to other rows."""
    y = data.y
    if isinstance(data, Standardized):
        scale = 1.0 if data.units.row_scale is None else data.units.row_scale
        y = data.units.y_mean + data.y / scale
    return replace(path, response=read_only(y), fit_again=fit)


# The methods: a path class and a function from data to it for PLS, PCR and ridge
# -------------------------------------------------------------------------------


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
        "auto" takes "gram" if its estimated error is negligible, else a peeled Gram matrix (see
        the documentation of numerics), else "svd".
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
    (about min(n, p) / 4 or less) the eigenvalues of the smaller Gram matrix and 3M/2 + 2 products
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
    if (room := room_for(X)) is not None:
        gram = room.read_gram(
            X, y, scale=scale, sample_weight=sample_weight, solver=solver, progress=progress
        )
        return room.pls_path_from(
            gram,
            max_components,
            strict=strict,
            tolerance=tolerance,
            random_state=random_state,
            progress=progress,
        )
    require_flag(scale)
    given = as_observations(X, y, sample_weight)
    with threads_for(given.X.shape):
        routes = krylov_routes(PLSPath, given, scale, method, solver, max_components)
        path = first_accurate(routes, max_components)
    report_end(path, strict, max_components)
    again = partial(pls_path, max_components=max_components, scale=scale, solver=solver)
    return remembering(path, given, again)


def pcr_path(
    X: Any,
    y: Any,
    max_components: int | None = None,
    *,
    order: str = "variance",
    among: int | None = None,
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
    among : int, optional
        With order "correlation" only the components with so many largest variances are
        candidates, as in the R package plsdof, where it is ``m``; by default all.

    Examples
    --------
    >>> path = pcr_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> path.dof
    array([1., 2., 3.])
    """
    method = pcr_method(order, max_components, among)
    as_choice(solver, "solver", SOLVERS)
    if (room := room_for(X)) is not None:
        gram = room.read_gram(X, y, scale=scale, sample_weight=sample_weight, solver=solver)
        return room.pcr_path_from(gram, max_components, order=order, among=among, strict=strict)
    data = standardize(X, y, scale=scale, sample_weight=sample_weight)
    with threads_for(data.X.shape):
        path = first_accurate(whole_routes(PCRPath, data, method, solver), max_components)
    report_end(path, strict, max_components)
    again = partial(
        pcr_path, max_components=max_components, order=order, scale=scale, solver=solver
    )
    return remembering(path, data, again)


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
        Penalties, one model each, in this order; 0 is least squares (the shortest coefficients
        that attain it). By default 50 values, largest (simplest model) first, from where the
        eigenvalues of X'X leave next to nothing of the fit to where they leave all of it.
    X, y, scale, sample_weight, solver
        As for `pls_path`.

    Examples
    --------
    >>> path = ridge_path([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0], alphas=[2.0, 1e-9])
    >>> path.dof.round(6)
    array([1.5, 2. ])
    """
    as_choice(solver, "solver", SOLVERS)
    if (room := room_for(X)) is not None:
        gram = room.read_gram(X, y, scale=scale, sample_weight=sample_weight, solver=solver)
        return room.ridge_path_from(gram, alphas)
    data = standardize(X, y, scale=scale, sample_weight=sample_weight)
    with threads_for(data.X.shape):
        path = first_accurate(ridge_routes(data, alphas, solver), None)
    # Whatever is fitted again, to some of the rows say, has the penalties of all of them.
    again = partial(ridge_path, alphas=path.alphas, scale=scale, solver=solver)
    return remembering(path, data, again)


def ridge_routes(data: Standardized, alphas: Any, solver: str) -> Iterator[RidgePath]:
    """Fit ridge regression from the Gram matrix, then from X itself."""
    for attempt in solvers(solver):
        decomposition = decompose(data, attempt)
        penalties = as_penalties(alphas, decomposition.eigenvalues)
        method = partial(ridge_filter, alphas=penalties)
        yield RidgePath.build(data, decomposition, method, alphas=penalties)


@dataclass(frozen=True, kw_only=True)
class Method:
    """A regression method: how it is fitted, and all that others need to know about it.

    Attributes
    ----------
    name : str
        The word that chooses it, such as "pls".
    label : str
        What headings and legends call it.
    path : callable
        From (X, y) and options to a path of all its models.
    size : {"max_components", "alphas"}
        The option that says which models there are.
    default_size : callable or None
        From the number of rows to that option, so that the fits of several parts of the data have
        the same models; None where leaving it out does.
    """

    name: str
    label: str
    path: Callable[..., Path]
    size: str
    default_size: Callable[[float], Array] | None = None

    def sized(self, n: float, *, scale: bool = True, **sizes: Any) -> partial[Path]:
        """Return the method as a function of (X, y) alone, the same for any part of n rows.

        ``sizes`` may hold the sizes of other methods as long as they are None.

        Examples
        --------
        >>> fit = METHODS["pcr"].sized(4, max_components=1, alphas=None)
        >>> fit([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0]).dof
        array([1., 2.])
        """
        for name, value in sizes.items():
            if name != self.size and value is not None:
                raise InvalidInputError(
                    f"{name} does not apply to {self.name!r}; got {name}={value!r:.80}. Leave it "
                    f"out; {self.name!r} takes {self.size}."
                )
        size = sizes.get(self.size)
        if size is None and self.default_size is not None:
            size = self.default_size(n)
        checked = optional_count(size) if self.size == "max_components" else as_penalties(size)
        return partial(self.path, **{self.size: checked}, scale=scale)


def default_alphas(n: float) -> Array:
    """Return 50 penalties from 1e4 n to 1e-4 n, n the number of rows or the sum of the weights."""
    return np.logspace(4, -4, 50) * n


def optional_count(max_components: int | None) -> int | None:
    """Check a number of components that may be left out."""
    return None if max_components is None else as_count(max_components, "max_components")


def pcr_method(order: str, max_components: int | None, among: int | None = None) -> MakeFilter:
    """Return principal components regression as a filter."""
    as_choice(order, "order", ("variance", "correlation"))
    size = optional_count(max_components)
    if order == "variance":
        return partial(pcr_filter, max_components=size)
    kept = None if among is None else as_count(among, "among", minimum=1)
    return partial(supervised_pcr_filter, max_components=size, among=kept)


def as_penalties(alphas: Any, eigenvalues: Array | None = None) -> Array:
    """Check penalties of ridge regression; without any, make `ridge_grid`. 0 is least squares."""
    if alphas is None and eigenvalues is not None:
        return read_only(ridge_grid(eigenvalues))
    return read_only(as_nonnegative(alphas, "alphas"))


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
    require_flag(strict, "strict")
    size = len(path.dof) - 1
    if not path.message or (asked is None and size > 0):
        return
    wanted = "No component" if asked is None else f"{asked} components asked for, {size}"
    text = f"{wanted} supported: {path.message}"
    if strict:
        raise RankExhaustedError(text)
    warn_caller(text, RankExhaustedWarning)


# Every list of methods, in options, tables and pictures, is derived from this one.
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(name="pls", label="PLS", path=pls_path, size="max_components"),
        Method(name="pcr", label="PCR", path=pcr_path, size="max_components"),
        Method(
            name="ridge",
            label="ridge",
            path=ridge_path,
            size="alphas",
            default_size=default_alphas,
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
