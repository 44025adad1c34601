"""From data to the closed form: the fast routes first, the accurate ones as a fallback."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NoReturn, TypeGuard

import numpy as np

from plsdof._core.exact import Exact
from plsdof._core.filters import Filter
from plsdof._core.inputs import (
    Array,
    Observations,
    Standardized,
    Units,
    standardize_observations,
)
from plsdof._core.krylov import Compressed, Count, compress_gram, compress_svd, krylov_steps
from plsdof._core.moments import tall_gram
from plsdof._core.peeling import SMALL, compress_peeled, refine
from plsdof._core.spectrum import (
    FORMED,
    Gram,
    Spectrum,
    decompose,
    decompose_gram,
    dense_gram,
    spectrum_on_gram,
)
from plsdof.errors import NotAvailableError

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


def first_accurate(routes: Iterator[Exact], asked: int | None) -> Exact:
    """Return the first one that its own error estimate supports, the last one if there is none."""
    for exact in routes:
        if is_accurate(exact, asked):
            break
    return exact


def is_accurate(exact: Exact, asked: int | None) -> bool:
    """Whether the a-posteriori check supports what was made with less than full accuracy."""
    everything = exact.spectrum.unresolved == 0
    complete = everything or (asked is not None and len(exact.dof) > asked)
    # Nobody finds a component beyond the largest rank there can be.
    ended = bool(exact.filter.message) and not (
        everything and len(exact.dof) - 1 == exact.spectrum.rank
    )
    # A model that interpolates leaves rounding; its digits are not worth a decomposition.
    negligible = _NEGLIGIBLE_RSS * exact.spectrum.total
    limits = _limits(exact.units.n_rows, len(exact.units.x_mean)) if everything else _FEW_LIMITS
    return bool(
        complete
        and not ended
        and not np.any(exact.filter.dof_error > limits.dof * np.maximum(1.0, np.abs(exact.dof)))
        and np.all(exact.coef_error <= limits.coef)
        and np.all(exact.filter.rss_error <= limits.rss * np.maximum(exact.rss, negligible))
    )


def solvers(solver: str) -> tuple[str, ...]:
    """Return what is tried in turn."""
    return ("gram", "svd") if solver == "auto" else (solver,)


def whole_routes(data: Standardized, method: MakeFilter, solver: str) -> Iterator[Exact]:
    """Fit with all singular vectors: from the Gram matrix, then from X itself."""
    for attempt in solvers(solver):
        yield Exact.build(data, decompose(data, attempt), method)


def krylov_routes(
    given: Observations,
    scale: bool,
    method: MakeFilter,
    solver: str,
    components: int | None,
) -> Iterator[Exact]:
    """Fit Partial Least Squares; few components of many need no singular vectors."""
    few = _few(components, min(given.X.shape))
    if solver == "auto" and few and len(given.X) <= min(SMALL, given.X.shape[1]):
        yield from _small_routes(given, scale, method, components or 0)
        return
    hopeless = solver == "auto" and gram_is_hopeless(given.X, components, scale)
    if solver == "svd" or not _few(components, min(given.X.shape)):
        whole_data = standardize_observations(given, scale=scale)
        yield from whole_routes(whole_data, method, "svd" if hopeless else solver)
        return
    data: Standardized | None = None
    if not hopeless:
        if (tall := tall_gram(given, scale=scale)) is not None:
            gram, y = tall
        else:
            data = standardize_observations(given, scale=scale)
            gram, y = dense_gram(data), data.y
        compressed = compress_gram(gram, components, y=y)
        whole = partial(whole_gram_route, gram, method)
        yield _in_krylov_space(gram.units, compressed, method, whole)
    if solver == "auto":
        data = standardize_observations(given, scale=scale) if data is None else data
        yield from precise_routes(data, method, components)


def precise_routes(
    data: Standardized,
    method: MakeFilter,
    components: int | None,
) -> Iterator[Exact]:
    """Fit Partial Least Squares where the Gram matrix has too few digits."""
    whole = partial(_whole, data, method, "svd")
    if _few(components, min(data.X.shape)):
        # Spectra: a few directions hide the others from the Gram matrix.
        if (peeled := compress_peeled(data, components)) is not None:
            yield _in_krylov_space(data.units, peeled, method, whole)
        compressed = compress_svd(data, components)
        yield _in_krylov_space(data.units, compressed, method, whole)
    yield whole()


def _small_routes(
    given: Observations, scale: bool, method: MakeFilter, components: int
) -> Iterator[Exact]:
    """Fit to few rows of many columns: all eigenvectors cost less than to do without."""
    data = standardize_observations(given, scale=scale)
    rough = decompose(data, "gram")
    if not _is_hopeless(rough.eigenvalues, components, data.X.shape):
        yield Exact.build(data, rough, method)
    if (better := refine(data, rough)) is not None:
        yield Exact.build(data, better, method)
    yield _whole(data, method, "svd")


def gram_route(
    gram: Gram,
    method: MakeFilter,
    components: int | None,
    count: Count | None = None,
) -> Exact:
    """Fit Partial Least Squares to data that are only there as a Gram matrix, formed or not.

    ``count`` is how traces are counted where the eigenvalues are too many to compute; it needs
    a number of ``components``.
    """
    if count is not None:
        assert components is not None
        compressed = compress_gram(gram, components, count=count)
        return _in_krylov_space(gram.units, compressed, method, _too_large)
    if not _few(components, gram.order):
        return whole_gram_route(gram, method)
    whole = partial(whole_gram_route, gram, method)
    compressed = compress_gram(gram, components)
    return _in_krylov_space(gram.units, compressed, method, whole)


def whole_gram_route(gram: Gram, method: MakeFilter) -> Exact:
    """Fit any method with all eigenvectors of a formed Gram matrix."""
    if gram.matrix is None:
        _too_large()
    decomposition = decompose_gram(gram)
    spectrum = spectrum_on_gram(gram, decomposition)
    return Exact.assemble(gram.units, decomposition, spectrum, method)


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


def _whole(data: Standardized, method: MakeFilter, solver: str) -> Exact:
    return next(whole_routes(data, method, solver))


def _in_krylov_space(
    units: Units,
    compressed: Compressed,
    method: MakeFilter,
    full: Callable[[], Exact],
) -> Exact:
    return Exact.assemble(units, compressed.decomposition, compressed.spectrum, method, full=full)
