"""Routes from data to a path: the fast ones first, the accurate ones as a fallback."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NoReturn, TypeGuard, TypeVar

import numpy as np

from plsdof._validation import Array
from plsdof.compression import Compressed, compress_gram, compress_svd, krylov_steps
from plsdof.decomposition import decompose, decompose_gram, spectrum_on_gram
from plsdof.errors import NotAvailableError
from plsdof.filters import Filter
from plsdof.gram import FORMED, Gram, dense_gram
from plsdof.path import Path
from plsdof.sampled_trace import Sampling, count_by_probes
from plsdof.spectrum import Spectrum
from plsdof.standardize import Observations, Standardized, Units, standardize_observations
from plsdof.tall import TallRows, tall_gram

PathType = TypeVar("PathType", bound=Path)
Method = Callable[[Spectrum], Filter]

# solver="auto" keeps a fast route only if the estimated errors are below these.
_AUTO_DOF_ERROR = 1e-10
_AUTO_COEF_ERROR = 1e-9
# They hardly ever are if the eigenvalue of the last component is below this share of the first.
_HOPELESS = 5e-5


def first_accurate(routes: Iterator[PathType], asked: int | None) -> PathType:
    """Return the first path that its own error estimate supports, the last one if there is none."""
    for path in routes:
        if is_accurate(path, asked):
            break
    return path


def is_accurate(path: Path, asked: int | None) -> bool:
    """Whether the a-posteriori check supports a path that was made with less than full accuracy."""
    complete = path.spectrum.unresolved == 0 or (asked is not None and len(path.dof) > asked)
    dof_error = path.dof_error / np.maximum(1.0, np.abs(path.dof))
    return bool(
        complete
        and not path.message
        and np.all(np.nan_to_num(dof_error) <= _AUTO_DOF_ERROR)
        and np.all(path.coef_error <= _AUTO_COEF_ERROR)
    )


def solvers(solver: str) -> tuple[str, ...]:
    """Return what is tried in turn."""
    return ("gram", "svd") if solver == "auto" else (solver,)


def whole_routes(
    kind: type[PathType], data: Standardized, method: Method, solver: str, **further: object
) -> Iterator[PathType]:
    """Fit with all singular vectors: from the Gram matrix, then from X itself."""
    for attempt in solvers(solver):
        yield kind.build(data, decompose(data, attempt), method, **further)


def krylov_routes(
    kind: type[PathType],
    given: Observations,
    scale: bool,
    method: Method,
    solver: str,
    components: int | None,
) -> Iterator[PathType]:
    """Fit Partial Least Squares; few components of many need no singular vectors."""
    hopeless = solver == "auto" and gram_is_hopeless(given.X, components, scale)
    if solver == "svd" or not _few(components, min(given.X.shape)):
        data = standardize_observations(given, scale=scale)
        yield from whole_routes(kind, data, method, "svd" if hopeless else solver)
        return
    rows: Standardized | TallRows
    if hopeless:
        rows = standardize_observations(given, scale=scale)
    else:
        gram, rows = tall_gram(given, scale=scale) or _dense(given, scale)
        compressed = compress_gram(gram, components, y=rows.y)
        whole = partial(_whole, kind, rows.standardized, method, "gram")
        yield _in_krylov_space(kind, gram.units, compressed, method, whole)
    if solver == "auto":
        data = rows.standardized()
        whole = partial(_whole, kind, data.standardized, method, "svd")
        yield _in_krylov_space(kind, data.units, compress_svd(data, components), method, whole)
        yield whole()


def gram_route(
    kind: type[PathType],
    gram: Gram,
    method: Method,
    components: int | None,
    sampling: Sampling | None,
) -> PathType:
    """Fit Partial Least Squares to data that are only there as a Gram matrix, formed or not."""
    if sampling is not None:
        count = partial(count_by_probes, sampling=sampling)
        compressed = compress_gram(gram, sampling.n_components, count=count)
        return _in_krylov_space(kind, gram.units, compressed, method, _too_large)
    if not _few(components, gram.order):
        return whole_gram_route(kind, gram, method)
    whole = partial(whole_gram_route, kind, gram, method)
    compressed = compress_gram(gram, components)
    if gram.side == "samples" and compressed.spectrum.unresolved:
        # Lanczos from y keeps a node near zero for what X does not reach, at the cost of digits.
        return whole()
    return _in_krylov_space(kind, gram.units, compressed, method, whole)


def whole_gram_route(
    kind: type[PathType], gram: Gram, method: Method, **further: object
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
    """Whether a look at some rows shows that the Gram matrix cannot carry so many components.

    The smallest one of m Ritz values is at most the m-th eigenvalue, and rounding, relative to
    the largest one, is divided by it. A wrong answer costs time only.
    """
    if not components or components + 2 > min(X.shape):
        return False
    some = X[np.linspace(0, len(X) - 1, min(2 * components + 10, len(X)), dtype=np.intp)]
    with np.errstate(all="ignore"):
        some = some - some.mean(axis=0)
        if scale:
            spread = np.abs(some).max(axis=0)  # squares may leave the range of float64
            some /= np.where(spread > 0, spread, 1.0)
        gram = some @ some.T
    if not np.all(np.isfinite(gram)):
        return False
    eigenvalues = np.linalg.eigvalsh(gram)
    return bool(eigenvalues[-components] < _HOPELESS * eigenvalues[-1])


def _whole(
    kind: type[PathType], data: Callable[[], Standardized], method: Method, solver: str
) -> PathType:
    return next(whole_routes(kind, data(), method, solver))


def _dense(given: Observations, scale: bool) -> tuple[Gram, Standardized]:
    data = standardize_observations(given, scale=scale)
    return dense_gram(data), data


def _in_krylov_space(
    kind: type[PathType],
    units: Units,
    compressed: Compressed,
    method: Method,
    full: Callable[[], PathType],
) -> PathType:
    return kind.assemble(units, compressed.decomposition, compressed.spectrum, method, full=full)
