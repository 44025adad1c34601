"""Kernel functions, and the two ways kernel values come about: from rows, or given."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from plsdof._validation import (
    Array,
    as_choice,
    as_count,
    as_matrix,
    as_new_rows,
    as_positive,
)
from plsdof.errors import InvalidInputError

KERNELS = ("rbf", "laplacian", "poly", "linear", "precomputed")
# Kernels with a width, and those that do not see (after centring) where the origin is.
WITH_GAMMA = ("rbf", "laplacian", "poly")
ORIGIN_FREE = ("rbf", "laplacian", "linear")

KernelFunction = Callable[[Array, Array], npt.ArrayLike]


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
        For "callable".
    """

    name: str
    gamma: float | None
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
            return np.asarray((gamma * (A @ B.T) + self.coef0) ** self.degree)
        # Distances without cancellation: rows that are close together matter most.
        if self.name == "rbf":
            return np.exp(-gamma * cdist(A, B, "sqeuclidean"))
        return np.exp(-gamma * cdist(A, B, "cityblock"))

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
class KernelRows:
    """Training rows as the kernel sees them: ``(x - mean) / scale``."""

    kernel: Kernel
    rows: Array
    mean: Array
    scale: Array
    names: tuple[str, ...] | None

    def training_values(self) -> Array:
        """Return the kernel matrix of the training rows. Shape (n_rows, n_rows)."""
        return self.kernel(self.rows, self.rows)

    def values(self, X_new: Any) -> Array:
        """Return the kernel values of new rows with the training rows. Shape (n_new, n_rows)."""
        new = as_new_rows(X_new, len(self.mean), self.names)
        return self.kernel((new - self.mean) / self.scale, self.rows)

    @property
    def max_rank(self) -> int | None:
        """What the rank of the kernel matrix cannot exceed."""
        return self.kernel.max_rank(len(self.mean))


@dataclass(frozen=True, kw_only=True, eq=False)
class GivenKernel:
    """A kernel matrix given instead of rows; ``kept`` are its rows with positive weight."""

    kernel: Kernel
    gram: Array
    kept: npt.NDArray[np.intp]
    max_rank: int | None = None

    def training_values(self) -> Array:
        """Return the kernel matrix of the training rows. Shape (n_rows, n_rows)."""
        return self.gram[np.ix_(self.kept, self.kept)]

    def values(self, X_new: Any) -> Array:
        """Check kernel values of new rows with all training rows, (n_new, n)."""
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
        gamma=None if gamma is None else _as_width(gamma),
        degree=as_count(degree, "degree", minimum=1),
        coef0=float(coef0),
        function=function,
    )


def _as_width(gamma: Any) -> float:
    values = as_positive(gamma, "gamma")
    if len(values) != 1:
        raise InvalidInputError(
            f"gamma must be one number; got {len(values)}. Use select_kernel to compare several."
        )
    return float(values[0])


def require_symmetric(values: Array) -> None:
    """Refuse training values that are not square and symmetric."""
    n_rows, n_columns = values.shape
    if n_rows != n_columns:
        raise InvalidInputError(
            f"With kernel='precomputed' X must be the square kernel matrix of the training rows; "
            f"got shape {values.shape}."
        )
    off = float(np.abs(values - values.T).max())
    if off > 1e-8 * float(np.abs(values).max()):
        raise InvalidInputError(
            f"The kernel matrix of the training rows must be symmetric; entries differ from their "
            f"mirror images by up to {off:.3g}."
        )


def _checked_values(function: KernelFunction, A: Array, B: Array) -> Array:
    values = as_matrix(function(A, B), "the result of the kernel function")
    if values.shape != (len(A), len(B)):
        raise InvalidInputError(
            f"A kernel function must return one row per row of its first and one column per row "
            f"of its second argument, here {(len(A), len(B))}; got shape {values.shape}."
        )
    return values
