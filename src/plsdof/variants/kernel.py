"""Kernel Partial Least Squares: the same path on the spectrum of a centred kernel matrix.

With the feature map behind the kernel, K = Phi Phi', the scores of kernel PLS span K y, ..., K^m y
(Rosipal & Trejo 2001), so that filter, Degrees of Freedom, criteria and intervals are those of
the linear method. What replaces the predictors of a row x are its kernel values k(x, x_i) with the
training rows, and what replaces the coefficients are dual ones, one per training row.
"""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist, pdist

from plsdof._core.exact import Exact, row_norms
from plsdof._core.filters import pls_filter
from plsdof._core.fit import finished, optional_count
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_count,
    as_matrix,
    as_new_rows,
    as_one_positive,
    opened_table,
    read_only,
    require_flag,
)
from plsdof._core.left_out import Problem
from plsdof._core.paths import PLSPath
from plsdof._core.recipe import Method, Recipe
from plsdof._core.spectrum import BACKWARD, Decomposition
from plsdof._core.standardize import (
    LARGE,
    Observations,
    Standardized,
    as_observations,
    centre_response,
    standardize_observations,
)
from plsdof._core.store import Predicted
from plsdof._core.threads import threads_for
from plsdof._core.training import TrainingRows
from plsdof._core.warnings import quietly
from plsdof.errors import InvalidInputError, NotAvailableError

# Kernel functions, and training rows as they see them
# ----------------------------------------------------

KernelName = Literal["rbf", "laplacian", "poly", "linear", "precomputed"]
KERNELS = get_args(KernelName)
# Kernels with a width, and those that do not see (after centring) where the origin is.
WITH_GAMMA = ("rbf", "laplacian", "poly")
ORIGIN_FREE = ("rbf", "laplacian", "linear")
# What gamma multiplies, where that is a distance of two rows.
DISTANCES: dict[str, Any] = {"rbf": "sqeuclidean", "laplacian": "cityblock"}

# What kernel values may differ by from their mirror images, relative to the largest, and the share
# of the largest eigenvalue that negative ones may have: the rounding of 32-bit floats.
_ROUNDING = 1e-6

# A wide kernel, nearly linear between neighbours: half of the pairs of rows have values above .88.
_WIDE = 8.0

KernelFunction = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel function and its parameters; call it with two sets of rows.

    Attributes
    ----------
    name : str
        One of `KERNELS`, or "callable".
    gamma : float or None
        None for kernels without a width.
    degree : int
    coef0 : float
    function : callable or None
        For "callable" and "precomputed".
    """

    name: str
    gamma: float | None = None
    degree: int
    coef0: float
    function: KernelFunction | None = None

    def __call__(self, A: Array, B: Array) -> Array:
        """Return the kernel values of all pairs of rows. Shape (len(A), len(B))."""
        gamma = 1.0 if self.gamma is None else self.gamma
        if self.function is not None:
            return _checked_values(self.function, A, B)
        if self.name == "linear":
            return A @ B.T
        if self.name == "poly":
            with np.errstate(over="ignore", invalid="ignore"):  # refused, see `require_symmetric`
                return np.asarray((gamma * (A @ B.T) + self.coef0) ** self.degree)
        # Distances without cancellation: rows that are close together matter most.
        return np.asarray(np.exp(-gamma * cdist(A, B, DISTANCES[self.name])))

    @property
    def roundings(self) -> int:
        """How many roundings of its size a kernel value may be off."""
        return 2 + (self.degree if self.name == "poly" else 0)

    def max_rank(self, n_features: int) -> int | None:
        """Return the dimension of the feature space without its constant; None if infinite."""
        if self.name == "linear":
            return n_features
        if self.name != "poly":
            return None
        homogeneous = self.coef0 == 0
        monomials = math.comb(n_features + self.degree - homogeneous, self.degree)
        return monomials if homogeneous else monomials - 1

    def __str__(self) -> str:
        if self.gamma is None:
            return self.name
        tail = f", degree={self.degree}, coef0={self.coef0:g}" if self.name == "poly" else ""
        return f"{self.name}(gamma={self.gamma:g}{tail})"


@dataclass(frozen=True, kw_only=True, eq=False)
class Lookup:
    """A given kernel matrix as a function of rows: each row is its own number."""

    gram: Array

    def __call__(self, A: Array, B: Array) -> Array:
        """Return the kernel values of all pairs of rows. Shape (len(A), len(B))."""
        return self.gram[np.ix_(A[:, 0].astype(np.intp), B[:, 0].astype(np.intp))]


@dataclass(frozen=True, kw_only=True, eq=False)
class KernelInputs:
    """Training rows as the kernel sees them: ``(x - mean) / scale - rest``.

    Of a kernel of distances ``mean`` may be any point.
    ``rest`` is what rounding has left of the means, which would move the origin of a kernel that
    sees it: where the mean is a date in seconds, by 1e-7 s. Rows of a given kernel matrix are their
    numbers.
    """

    kernel: Kernel
    rows: Array
    mean: Array
    rest: Array
    scale: Array
    names: tuple[str, ...] | None

    @property
    def gram(self) -> Array | None:
        """The kernel matrix of kernel "precomputed", of all rows that were given."""
        found = self.kernel.function if self.kernel.name == "precomputed" else None
        return found.gram if isinstance(found, Lookup) else None

    @property
    def kept(self) -> npt.NDArray[np.intp]:
        """Which rows of `gram` have a positive weight."""
        return self.rows[:, 0].astype(np.intp)

    def training_values(self) -> Array:
        """Return the kernel matrix of the training rows. Shape (n_rows, n_rows)."""
        return self.kernel(self.rows, self.rows)

    def values(self, X_new: Any, names: tuple[str, ...] | None = None) -> Array:
        """Return the kernel values of new rows with the training rows. Shape (n_new, n_rows)."""
        if self.gram is None:
            new = as_new_rows(X_new, len(self.mean), names or self.names)
            return self.kernel((new - self.mean) / self.scale - self.rest, self.rows)
        values = as_matrix(X_new, "X_new")
        if values.shape[1] != len(self.gram):
            raise InvalidInputError(
                f"With kernel='precomputed' X_new must hold the kernel values of new rows with "
                f"the {len(self.gram)} training rows; got {values.shape[1]} column(s)."
            )
        return values[:, self.kept]


def as_kernel(
    kernel: str | KernelFunction, gamma: float | None, degree: int, coef0: float
) -> Kernel:
    """Check a kernel and its parameters; gamma None stays None until p is known."""
    function = kernel if callable(kernel) else None
    name = "callable" if callable(kernel) else as_choice(kernel, "kernel", KERNELS)
    if not (isinstance(coef0, int | float | np.number) and 0 <= coef0 < np.inf):
        raise InvalidInputError(
            f"coef0 must be a number >= 0, or the kernel is not positive; got {coef0!r}."
        )
    if gamma is not None and name not in WITH_GAMMA:
        raise InvalidInputError(
            f"gamma applies to the kernels {', '.join(map(repr, WITH_GAMMA))}; got "
            f"gamma={gamma!r} with kernel {name!r}. Leave it out."
        )
    return Kernel(
        name=name,
        gamma=None if gamma is None else as_one_positive(gamma, "gamma"),
        degree=as_count(degree, "degree", minimum=1),
        coef0=float(coef0),
        function=function,
    )


def as_symmetric(values: Array) -> Array:
    """Return the kernel matrix of training rows; refuse one that is not square and symmetric.

    What rounding to 32-bit floats made different on both sides of the diagonal is averaged.
    """
    n_rows, n_columns = values.shape
    if n_rows != n_columns:
        raise InvalidInputError(
            f"With kernel='precomputed' X must be the square kernel matrix of the training rows; "
            f"got shape {values.shape}."
        )
    if not float(np.abs(values).max()) < LARGE:
        raise InvalidInputError(
            "Values of the kernel, or their squares, leave the range of 64-bit floats. Use "
            "scale=True, other units or a smaller gamma."
        )
    off = float(np.abs(values - values.T).max())
    if off > _ROUNDING * float(np.abs(values).max()):
        raise InvalidInputError(
            f"The kernel matrix of the training rows must be symmetric; entries differ from their "
            f"mirror images by up to {off:.3g}."
        )
    return (values + values.T) / 2 if off > 0 else values


def _checked_values(function: KernelFunction, A: Array, B: Array) -> Array:
    values = as_matrix(function(A, B), "the result of the kernel function")
    if values.shape != (len(A), len(B)):
        raise InvalidInputError(
            f"A kernel function must return one row per row of its first and one column per row "
            f"of its second argument, here {(len(A), len(B))}; got shape {values.shape}."
        )
    return values


# Decomposition of a centred kernel matrix
# ----------------------------------------

_EPS = float(np.finfo(np.float64).eps)
_SAFETY = 4.0
# Eigenvalues that may be zero are at least this share of their error, to divide by.
_TINY = 1e-3


def from_gram(
    gram: Array, *, error: float = 0.0, max_rank: int | None = None, row_scale: Array | None = None
) -> Decomposition:
    """Decompose a centred Gram (kernel) matrix G = U diag(lambda) U' that comes without X.

    The features are then the columns of the kernel itself: with ``right = row_scale * U / S`` the
    coefficients ``right (f z / S)`` multiply the centred kernel values between a new row and the
    training rows (dual coefficients).

    Parameters
    ----------
    gram : (n_rows, n_rows) array
        Symmetric, positive semi-definite, rows and columns centred, both multiplied by
        ``row_scale``.
    error : float
        How far ``gram`` may be off, as a spectral norm. Negative eigenvalues tell as well, and the
        larger of the two counts.
    max_rank : int, optional
        What the rank is known not to exceed; n_rows - 1 by default.
    row_scale : (n_rows,) array, optional
        Square roots of the weights.

    Notes
    -----
    Eigenvalues that cannot be told from zero are kept, with their mean as common value and an
    unknown share of y (``z_amplification``): they do not take part in the choice of components,
    but dual coefficients f z / lambda do not vanish with lambda, and new rows see that.

    Cost: O(n^3) time, O(n^2) memory.

    Examples
    --------
    >>> rows = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    >>> from_gram(rows @ rows.T, max_rank=2).eigenvalues.round(12)
    array([8., 2.])
    """
    n_rows = len(gram)
    limit = n_rows - 1 if max_rank is None else min(max_rank, n_rows - 1)
    # Centring left the mean with eigenvalue zero; lift it out, or it mixes with the small ones.
    mean = np.ones(n_rows) if row_scale is None else row_scale
    lift = 2 * n_rows * float(np.abs(gram).max(initial=0.0)) / float(mean @ mean)
    eigenvalues, vectors = np.linalg.eigh(gram + lift * np.outer(mean, mean))
    eigenvalues, vectors = eigenvalues[-2::-1], vectors[:, -2::-1]
    largest, lowest = max(float(eigenvalues[0]), 0.0), float(eigenvalues[-1])
    if -lowest > max(_ROUNDING * largest, _SAFETY * error):
        raise InvalidInputError(
            f"The kernel matrix must be positive semi-definite; after centring its smallest "
            f"eigenvalue is {lowest:.3g}, the largest {largest:.3g}. Use another kernel or other "
            "parameters; distances become a kernel by exp(-gamma * distance**2)."
        )
    error = max(error, -lowest) + 2 * BACKWARD * _EPS * largest
    eigenvalues, left = eigenvalues[:limit], vectors[:, :limit]
    resolved = _resolved(eigenvalues, max(n_rows * _EPS * largest, 2 * _SAFETY * error), error)
    r = int(np.count_nonzero(resolved))
    eigenvalues = _pooled(eigenvalues, resolved, error)
    right = left / np.sqrt(eigenvalues)
    return Decomposition(
        eigenvalues=read_only(eigenvalues),
        # Errors of the unresolved eigenvalues do not add up in their mean.
        eigenvalue_error=read_only(np.where(resolved, error, error / np.sqrt(limit - r or 1))),
        z_amplification=read_only(np.where(resolved, 1.0, 1.0 / (BACKWARD * _EPS))),
        left=read_only(left),
        right=read_only(right if row_scale is None else right * row_scale[:, None]),
        X=None,
        unresolved=0,
        floor=0.0,
        solver="gram",
    )


def _resolved(eigenvalues: Array, floor: float, error: float) -> npt.NDArray[np.bool_]:
    """Return which eigenvalues lie above the floor, and clearly above the mean of the others."""
    resolved = eigenvalues > floor
    while not resolved.all():
        mean = eigenvalues[~resolved].mean()
        above = resolved & (eigenvalues > mean + 2 * _SAFETY * error)
        if np.array_equal(above, resolved):
            break
        resolved = above
    return resolved


def _pooled(eigenvalues: Array, resolved: npt.NDArray[np.bool_], error: float) -> Array:
    """Give eigenvalues that cannot be told apart, or from zero, their mean."""
    if error <= 0:  # nothing but zeros
        return np.ones_like(eigenvalues)
    separate = -np.diff(eigenvalues, prepend=np.inf) > 2 * _SAFETY * error
    separate = np.where(resolved, separate, np.diff(resolved, prepend=True))
    member = np.cumsum(separate) - 1
    mean: Array = np.bincount(member, weights=eigenvalues) / np.bincount(member)
    return np.maximum(mean, _TINY * error).take(member)


# Kernel Partial Least Squares: the same path on the spectrum of a centred kernel matrix
# --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class KernelRows(TrainingRows):
    """Training rows that new rows are compared with by a kernel."""

    inputs: KernelInputs
    names: tuple[str, ...] | None

    def new(self, X_new: Any, *, sparse: bool = True) -> Array:  # noqa: ARG002
        """Return the kernel values of new dense rows with the training rows. (n_new, n_rows)."""
        if self.before is None:
            return self.inputs.values(X_new, self.names)
        holes = self.before.fills_holes
        rows = as_new_rows(X_new, self.n_features, self.names, holes=holes)
        return self.inputs.values(self.before.transform(rows))

    @property
    def is_dual(self) -> bool:
        """True: `coef` has one entry per training row."""
        return True

    def same_models(self) -> Recipe:
        """Return the recipe; that of a given kernel matrix finds its values by row numbers."""
        if self.inputs.gram is None:
            return self.path.recipe
        # Of some rows, as their numbers find the kernel values.
        return self.path.recipe.with_options(kernel=self.inputs.kernel.function, scale=False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class KernelPLSPath(PLSPath):
    """Kernel Partial Least Squares for 0..M components.

    Whatever has one row or column per feature in `PLSPath` has one per training row here: ``coef``
    (M + 1, n_rows) are dual coefficients, which multiply the kernel values k(x, x_i), and weights,
    loadings and rotations are dual likewise. Methods that take new rows take rows of predictors,
    or of kernel values for kernel "precomputed".

    Examples
    --------
    >>> kernel_pls_path([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 0.5, 0.0], "rbf", 2)
    KernelPLSPath(n=4, kernel=rbf(gamma=1))
    """

    _inputs: KernelInputs

    def inverse_transform(self, scores: Any) -> Array:  # noqa: ARG002
        """Raise an error: features of a kernel cannot be turned back into predictors."""
        raise NotAvailableError(
            "Scores of kernel PLS stand for features of the kernel, not for predictors, so there "
            "is nothing to transform them back to; use pls_path for that."
        )

    @property
    def rows(self) -> TrainingRows:
        """The training rows, and the kernel values of new rows with them."""
        return KernelRows(
            self, self._before, self._prepared, inputs=self._inputs, names=self._names
        )

    @property
    def feature_names(self) -> None:
        """None: coefficients belong to rows, not to columns."""
        return None

    def _counted_at(self, rows: Array) -> Predicted:
        """Return predictions with the errors of coefficients in the space of the features."""
        exact = self.exact
        D, found = exact.decomposition, super()._counted_at(rows)
        rotated = exact.rotated_fit / D.singular_values
        sizes = row_norms((rows - exact.x_mean) @ D.feature_basis)
        # Values of new rows are rounded, too.
        rounding = self._inputs.kernel.roundings * _EPS * float(np.abs(rows).max(initial=0.0))
        error = (exact.coef_error * row_norms(rotated))[:, None] * sizes
        error[~(row_norms(rotated) > 0)] = 0.0
        return replace(found, error=error + rounding * row_norms(exact.coef)[:, None])

    def problem(self) -> Problem | None:
        """Return the centred kernel matrix for the recursion; None where rows are scaled."""
        # The kernel of rows that are scaled is another one without some of them.
        if self.given is None or (self.recipe.options["scale"] and self._inputs.gram is None):
            return None
        values = self._inputs.training_values()
        centred = _centred(values, np.full(len(values), 1.0 / len(values)))
        size = self._inputs.kernel.roundings * len(values) * float(np.abs(values).max())
        return Problem(given=self.given, scale=False, kernel=centred, size=size)

    def __repr__(self) -> str:
        n = self.exact.n if self.given is None else self.given.n
        return f"KernelPLSPath(n={n:g}, kernel={self._inputs.kernel})"


def kernel_pls_path(
    X: Any,
    y: Any,
    kernel: KernelName | KernelFunction = "rbf",
    max_components: int | None = None,
    *,
    gamma: float | Literal["median"] | None = None,
    degree: int = 3,
    coef0: float = 1.0,
    scale: bool = True,
    sample_weight: Any = None,
) -> KernelPLSPath:
    r"""Fit kernel Partial Least Squares with 0..M components, with exact Degrees of Freedom.

    With K_c = C K C = U diag(lambda) U', C = I - 11'/n, and the filter factors f of PLS on it,

        yhat = ybar + U (f * z),      yhat(x) = ybar + (k(x) - kbar)' U (f * z / lambda),

    and DoF(m) = 1 + sum_i f_i + 2 sum_i (1 - f_i) h_i as for `pls_path`.

    Parameters
    ----------
    X : (n, p) array or data frame
        Predictors; the (n, n) kernel matrix of the training rows for kernel "precomputed".
    y : (n,) array
    kernel : {"rbf", "laplacian", "poly", "linear", "precomputed"} or callable
        exp(-gamma |x - x'|^2), exp(-gamma |x - x'|_1), (gamma x'x' + coef0)^degree, x'x', given
        values, or a function (A, B) -> (len(A), len(B)) that is symmetric and positive
        semi-definite.
    max_components : int, optional
        Largest model wanted; by default all that the data support.
    gamma : float or "median", optional
        Inverse width, 1 / p by default. `KernelPLSRegressor` chooses among several. "median", of
        kernels "rbf" and "laplacian": 1 / (8 times the median distance of two rows), the distance
        being what gamma multiplies.
    degree, coef0 : int and float
        Of the polynomial kernel.
    scale : bool
        Standardise the columns of X before the kernel (divisor n - 1). Without it the kernel sees
        X as it is. Not used with kernel "precomputed".
    sample_weight : (n,) array, optional
        Weights; integer weights mean repeated rows.

    Returns
    -------
    KernelPLSPath

    Notes
    -----
    Cost: O(n^2 p + n^3) time, O(n^2) memory. X has no decomposition to fall back on, so
    eigenvalues of K_c below about n eps lambda_1 cannot be told from zero; what that may change
    is in ``dof_error``, and the path ends where it matters.

    References
    ----------
    R. Rosipal and L. J. Trejo (2001), Kernel partial least squares regression in reproducing
    kernel Hilbert space, Journal of Machine Learning Research 2, 97-123.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(60, 1))
    >>> y = np.sin(4 * X[:, 0]) + 0.1 * rng.normal(size=60)
    >>> path = kernel_pls_path(X, y, gamma=1.0)
    >>> path.select("bic").n_components
    5
    >>> path.dof[:6].round(1)
    array([1. , 3. , 5.1, 5.2, 7.5, 6.4])
    """
    require_flag(scale)
    if by_median := isinstance(gamma, str):
        as_choice(gamma, "gamma", ("median",))
        as_choice(kernel, "kernel of gamma='median'", tuple(DISTANCES))
    function = as_kernel(kernel, None if isinstance(gamma, str) else gamma, degree, coef0)
    if function.name == "precomputed":
        X, y, sample_weight = opened_table(X, y, sample_weight)
        # Row numbers stand in for the predictors that are not there.
        gram = as_symmetric(as_matrix(X, min_rows=2))
        function = replace(function, function=Lookup(gram=read_only(gram)))
        X = np.arange(len(gram), dtype=np.float64)[:, None]
    given = as_observations(X, y, sample_weight)
    given.own()
    scaled = scale and function.name != "precomputed"
    inputs, data = _kernel_rows(given, function, scaled, by_median=by_median)
    recipe = KERNEL_PLS.recipe(
        kernel=kernel,
        max_components=max_components,
        gamma=inputs.kernel.gamma,
        degree=degree,
        coef0=coef0,
        scale=scale,
    )
    count, most = partial(_count, inputs, data), len(given.y) - 1
    path = finished(KernelPLSPath, recipe, given, count, most=most, _inputs=inputs)
    if not by_median:  # those that belong to it are kernels, and a recipe may never be counted
        _ = path.exact  # refuses what is not a kernel, where it comes in
    return path


def _kernel_rows(
    given: Observations, kernel: Kernel, scale: bool, *, by_median: bool
) -> tuple[KernelInputs, Standardized]:
    as_it_is = not scale and kernel.name not in ORIGIN_FREE
    with quietly() if as_it_is else nullcontext():  # such a kernel does see constant columns
        data = standardize_observations(given, scale=scale)
    p = given.X.shape[1]
    mean, spread, rest = np.zeros(p), np.ones(p), np.zeros(p)
    rows = given.X
    if not as_it_is:
        mean, spread = data.units.x_mean, data.units.x_scale
        if kernel.name in DISTANCES:
            # Rows keep their digits where most of them are; rows far away move the mean.
            mean = np.median(given.X, axis=0)
        rows = (rows - mean) / spread
        if kernel.name not in DISTANCES:
            rest = np.average(rows, axis=0, weights=given.weights)
    if kernel.name in WITH_GAMMA and kernel.gamma is None:
        gamma = 1.0 / p
        if by_median:
            gamma = _of_median(pdist(rows, DISTANCES[kernel.name]), given.weights)
        kernel = replace(kernel, gamma=gamma)
    inputs = KernelInputs(
        kernel=kernel,
        rows=read_only(rows - rest),
        mean=read_only(mean),
        rest=read_only(rest),
        scale=read_only(spread),
        names=given.names,
    )
    return inputs, data


def _of_median(distances: Array, weights: Array | None) -> float:
    """Return 1 / (8 times the median distance) of all pairs of different rows."""
    pairs = np.ones(len(distances))
    if weights is not None:
        pairs = np.outer(weights, weights)[np.triu_indices(len(weights), 1)]
    apart = distances > 0
    if not apart.any():
        return 1.0
    middle = np.quantile(distances[apart], 0.5, weights=pairs[apart], method="inverted_cdf")
    return float(1.0 / (_WIDE * middle))


def _count(inputs: KernelInputs, data: Standardized, given: Observations, recipe: Recipe) -> Exact:
    values, row_scale = as_symmetric(inputs.training_values()), data.units.row_scale
    weights = np.ones(len(values)) if given.weights is None else given.weights
    magnitude = float(np.abs(values).max()) * float(weights.max())
    gram = _centred(values, weights / weights.sum())
    if row_scale is not None:
        gram *= row_scale[:, None] * row_scale
    with threads_for(gram.shape):
        decomposition = from_gram(
            gram,
            # Rounding of the values, before centring made them smaller.
            error=inputs.kernel.roundings * _EPS * math.sqrt(len(values)) * magnitude,
            max_rank=inputs.kernel.max_rank(len(inputs.mean)),
            row_scale=row_scale,
        )
    # The response may be another one than that of the data, on the same rows.
    response = centre_response(given.y, row_scale)
    units = replace(
        data.units,
        x_mean=read_only(weights @ values / weights.sum()),
        x_scale=read_only(np.ones(len(values))),
        y_mean=response.mean,
        names=None,
    )
    make = partial(pls_filter, max_components=recipe.options["max_components"])
    return Exact.build(replace(data, units=units, y=response.values), decomposition, make)


def _centred(values: Array, share: Array) -> Array:
    """Centre rows and columns by their weighted means, twice to remove what rounding leaves."""
    centred = values.copy()
    for _ in range(2):
        centred -= share @ centred
        centred -= (centred @ share)[:, None]
    return centred


KERNEL_PLS = Method(
    name="kernel",
    label="kernel PLS",
    path=kernel_pls_path,
    size="max_components",
    check=optional_count,
)
