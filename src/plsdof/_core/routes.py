"""From data to the closed form: the Gram matrix where it has enough digits, else the SVD."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NoReturn, TypeGuard

import numpy as np

from plsdof._core.compression import Count, compress_gram, krylov_steps
from plsdof._core.exact import Exact
from plsdof._core.filters import Filter
from plsdof._core.moments import tall_gram
from plsdof._core.spectrum import (
    FORMED,
    Gram,
    Spectrum,
    decompose,
    decompose_gram,
    dense_gram,
    spectrum_on_gram,
)
from plsdof._core.standardize import Observations, Standardized, standardize_observations
from plsdof.errors import NotAvailableError

MakeFilter = Callable[[Spectrum], Filter]

# solver="auto" keeps the Gram route if the estimated errors, relative to Degrees of Freedom,
# coefficients and residual sums of squares, are within these: nobody uses more than five digits of
# a Degree of Freedom, and estimates exceed errors by factors of 3 to 10^4.
_DOF_ERROR, _COEF_ERROR, _RSS_ERROR = 1e-5, 1e-5, 1e-4
# Residual sums of squares below this share of |y|^2 count as nothing in that.
_NEGLIGIBLE_RSS = 1e-10


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
    rss = np.maximum(exact.rss, _NEGLIGIBLE_RSS * exact.spectrum.total)
    return bool(
        complete
        and not ended
        and not np.any(exact.filter.dof_error > _DOF_ERROR * np.maximum(1.0, np.abs(exact.dof)))
        and np.all(exact.coef_error <= _COEF_ERROR)
        and np.all(exact.filter.rss_error <= _RSS_ERROR * rss)
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
    if solver == "svd" or not _few(components, min(given.X.shape)):
        yield from whole_routes(standardize_observations(given, scale=scale), method, solver)
        return
    data: Standardized | None = None
    if (tall := tall_gram(given, scale=scale)) is not None:
        gram, y = tall
    else:
        data = standardize_observations(given, scale=scale)
        gram, y = dense_gram(data), data.y
    whole = partial(whole_gram_route, gram, method)
    yield Exact.assemble(gram.units, *compress_gram(gram, components, y=y), method, full=whole)
    if solver == "auto":
        data = standardize_observations(given, scale=scale) if data is None else data
        yield from whole_routes(data, method, "svd")


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
        return Exact.assemble(gram.units, *compressed, method, full=_too_large)
    if not _few(components, gram.order):
        return whole_gram_route(gram, method)
    whole = partial(whole_gram_route, gram, method)
    return Exact.assemble(gram.units, *compress_gram(gram, components), method, full=whole)


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
