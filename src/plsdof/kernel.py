"""Kernel Partial Least Squares: the same path on the spectrum of a centred kernel matrix.

With the feature map behind the kernel, K = Phi Phi', the scores of kernel PLS span K y, ..., K^m y
(Rosipal & Trejo 2001), so that filter, Degrees of Freedom, criteria and intervals are those of
the linear method. What replaces the predictors of a row x are its kernel values k(x, x_i) with the
training rows, and what replaces the coefficients are dual ones, one per training row.
"""

import math
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from plsdof._validation import Array, as_choice, as_matrix, as_positive, as_weights, read_only
from plsdof.errors import ConstantColumnWarning
from plsdof.filters import pls_filter
from plsdof.joint_selection import JointSelection, select_jointly
from plsdof.kernel_decomposition import from_gram
from plsdof.kernel_functions import (
    ORIGIN_FREE,
    WITH_GAMMA,
    GivenKernel,
    Kernel,
    KernelFunction,
    KernelRows,
    as_kernel,
    require_symmetric,
)
from plsdof.methods import optional_count, report_end
from plsdof.noise import Noise
from plsdof.path_types import PLSPath
from plsdof.standardize import Standardized, standardize
from plsdof.threads import threads_for

_EPS = float(np.finfo(np.float64).eps)


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
    KernelPLSPath(3 models, n=4, kernel=rbf(gamma=1), rank=3)
    """

    inputs: KernelRows | GivenKernel

    @property
    def kernel(self) -> Kernel:
        """The kernel function and its parameters."""
        return self.inputs.kernel

    def check_new_rows(self, X_new: Any, *, sparse: bool = False) -> Array:  # noqa: ARG002
        """Return the kernel values of new dense rows with the training rows. (n_new, n_rows)."""
        return self.inputs.values(X_new)

    def __repr__(self) -> str:
        return (
            f"KernelPLSPath({len(self.dof)} models, n={self.spectrum.n:g}, kernel={self.kernel}, "
            f"rank={self.spectrum.rank})"
        )


def kernel_pls_path(
    X: Any,
    y: Any,
    kernel: str | KernelFunction = "rbf",
    max_components: int | None = None,
    *,
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 1.0,
    scale: bool = True,
    sample_weight: Any = None,
    strict: bool = False,
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
    gamma : float, optional
        Inverse width, 1 / p by default. `select_kernel` chooses it.
    degree, coef0 : int and float
        Of the polynomial kernel.
    scale : bool
        Standardise the columns of X before the kernel (divisor n - 1). Without it the kernel sees
        X as it is. Not used with kernel "precomputed".
    sample_weight : (n,) array, optional
        Weights; integer weights mean repeated rows.
    strict : bool
        Raise `RankExhaustedError` instead of warning when ``max_components`` is not reached.

    Returns
    -------
    KernelPLSPath

    Notes
    -----
    Cost: O(n^2 p + n^3) time, O(n^2) memory. There is no decomposition of X to fall back on, so
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
    function = as_kernel(kernel, gamma, degree, coef0)
    inputs: KernelRows | GivenKernel
    if function.name == "precomputed":
        inputs, data = _given_kernel(X, y, function, sample_weight)
    else:
        inputs, data = _kernel_rows(X, y, function, scale, sample_weight)
    return _fit(inputs, data, max_components, strict)


def select_kernel(
    X: Any,
    y: Any,
    gammas: Any = None,
    *,
    kernel: str = "rbf",
    by: str = "bic",
    max_components: int = 30,
    degree: int = 3,
    coef0: float = 1.0,
    scale: bool = True,
    sample_weight: Any = None,
    dof: str = "exact",
    noise: Noise = None,
    rule: str | None = None,
    cv: Any = 10,
    groups: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> JointSelection:
    """Choose the number of components and the width of a kernel together.

    Parameters
    ----------
    gammas : array of float, optional
        Inverse widths to compare; by default 7 values from 0.01 / p to 10 / p.
    kernel : {"rbf", "laplacian", "poly"}
    by : {"bic", "aic", "gmdl", "aicc", "cp", "gcv", "cv"}
        A criterion, or cross-validated mean squared error.
    dof, noise, rule, cv, groups, random_state, n_jobs, progress
        See `plsdof.joint_selection.select_jointly`.
    X, y, max_components, degree, coef0, scale, sample_weight
        See `kernel_pls_path`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(60, 1))
    >>> y = np.sin(4 * X[:, 0]) + 0.1 * rng.normal(size=60)
    >>> choice = select_kernel(X, y, [0.1, 1.0, 10.0])
    >>> choice.value, choice.n_components
    (0.1, 5)
    """
    as_choice(kernel, "kernel", WITH_GAMMA)
    widths = default_gammas(as_matrix(X).shape[1]) if gammas is None else gammas
    make = partial(
        kernel_pls_path,
        kernel=kernel,
        max_components=max_components,
        degree=degree,
        coef0=coef0,
        scale=scale,
    )
    return select_jointly(
        X,
        y,
        make,
        as_positive(widths, "gammas"),
        parameter_name="gamma",
        by=by,
        dof=dof,
        noise=noise,
        rule=rule,
        cv=cv,
        groups=groups,
        random_state=random_state,
        sample_weight=sample_weight,
        n_jobs=n_jobs,
        progress=progress,
    )


def default_gammas(n_features: int) -> Array:
    """Return 7 inverse widths from 0.01 / p to 10 / p."""
    return np.logspace(-2, 1, 7) / n_features


def _kernel_rows(
    X: Any, y: Any, kernel: Kernel, scale: bool, sample_weight: Any
) -> tuple[KernelRows, Standardized]:
    as_it_is = not scale and kernel.name not in ORIGIN_FREE
    with warnings.catch_warnings():
        if as_it_is:  # such a kernel does see constant columns
            warnings.simplefilter("ignore", ConstantColumnWarning)
        data = standardize(X, y, scale=scale, sample_weight=sample_weight)
    units = data.units
    p = len(units.x_mean)
    mean, spread = (np.zeros(p), np.ones(p)) if as_it_is else (units.x_mean, units.x_scale)
    rows = as_matrix(X)
    weights = as_weights(sample_weight, len(rows))
    rows = rows if weights is None else rows[weights > 0]
    if kernel.name in WITH_GAMMA and kernel.gamma is None:
        kernel = replace(kernel, gamma=1.0 / p)
    inputs = KernelRows(
        kernel=kernel,
        rows=read_only((rows - mean) / spread),
        mean=read_only(mean),
        scale=read_only(spread),
        names=units.names,
    )
    return inputs, data


def _given_kernel(
    X: Any, y: Any, kernel: Kernel, sample_weight: Any
) -> tuple[GivenKernel, Standardized]:
    gram = as_matrix(X, min_rows=2)
    require_symmetric(gram)
    # Row numbers stand in for the predictors that are not there.
    numbers = np.arange(len(gram), dtype=np.float64)[:, None]
    data = standardize(numbers, y, scale=False, sample_weight=sample_weight)
    weights = as_weights(sample_weight, len(gram))
    kept = np.flatnonzero(np.ones(len(gram)) if weights is None else weights)
    return GivenKernel(kernel=kernel, gram=read_only(gram), kept=kept), data


def _fit(
    inputs: KernelRows | GivenKernel,
    data: Standardized,
    max_components: int | None,
    strict: bool,
) -> KernelPLSPath:
    values, row_scale = inputs.training_values(), data.units.row_scale
    require_symmetric(values)
    weights = np.ones(len(values)) if row_scale is None else row_scale**2
    magnitude = float(np.abs(values).max()) * float(weights.max())
    gram = _centred(values, weights / weights.sum())
    if row_scale is not None:
        gram *= row_scale[:, None] * row_scale
    with threads_for(gram.shape):
        decomposition = from_gram(
            gram,
            # Rounding of the values, before centring made them smaller.
            error=inputs.kernel.roundings * _EPS * math.sqrt(len(values)) * magnitude,
            max_rank=inputs.max_rank,
            row_scale=row_scale,
        )
    units = replace(
        data.units,
        x_mean=read_only(weights @ values / weights.sum()),
        x_scale=read_only(np.ones(len(values))),
        names=None,
    )
    make = partial(pls_filter, max_components=optional_count(max_components))
    path = KernelPLSPath.build(replace(data, units=units), decomposition, make, inputs=inputs)
    report_end(path, strict, max_components)
    return path


def _centred(values: Array, share: Array) -> Array:
    """Centre rows and columns by their weighted means, twice to remove what rounding leaves."""
    centred = values.copy()
    for _ in range(2):
        centred -= share @ centred
        centred -= (centred @ share)[:, None]
    return centred
