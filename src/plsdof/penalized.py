"""Penalised Partial Least Squares: smooth coefficient curves and additive spline models.

The weight vectors maximise the covariance of X w with y under w'w + w'Pw = 1, which leads to
w = (I + P)^{-1} X'y (Kraemer, Boulesteix & Tutz 2008). With R R' = (I + P)^{-1} this is PLS on
X R, that is, on the spectrum of K = X (I + P)^{-1} X'.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from plsdof._validation import Array, as_choice, as_count, as_matrix, read_only
from plsdof.decomposition import SOLVERS, Decomposition, decompose
from plsdof.errors import ConstantColumnWarning, InvalidInputError
from plsdof.filters import pls_filter
from plsdof.joint_selection import JointSelection, select_jointly
from plsdof.methods import optional_count, report_end
from plsdof.noise import Noise
from plsdof.path_types import PLSPath
from plsdof.penalties import (
    Metric,
    as_block_sizes,
    as_penalty,
    difference_metric,
    matrix_metric,
)
from plsdof.routes import first_accurate, solvers
from plsdof.standardize import Standardized, require_flag, standardize
from plsdof.threads import threads_for


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PenalizedPLSPath(PLSPath):
    """Penalised Partial Least Squares for 0..M components.

    The weight vectors are orthonormal in the metric I + P. ``strength`` multiplies the penalty.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 20)).cumsum(axis=1)
    >>> penalized_pls_path(X, X[:, 5] + rng.normal(size=30), max_components=3, strength=5.0)
    PenalizedPLSPath(4 models, n=30, p=20, rank=20, solver=...)
    """

    strength: float
    metric: Metric

    @cached_property
    def x_loadings(self) -> Array:
        """Loadings X't / (t't), standardised units. Shape (p, M)."""
        # What the parent maps from rotated coordinates is (I + P)^{-1} X't / (t't).
        return read_only(self.metric.apply(super().x_loadings))


def penalized_pls_path(
    X: Any,
    y: Any,
    penalty: Any = None,
    *,
    order: int = 2,
    strength: float = 1.0,
    blocks: Any = None,
    max_components: int | None = None,
    scale: bool = False,
    sample_weight: Any = None,
    solver: str = "auto",
    strict: bool = False,
) -> PenalizedPLSPath:
    r"""Fit penalised Partial Least Squares with 0..M components, with exact Degrees of Freedom.

    PLS on the spectrum of K = X (I + strength P)^{-1} X'; DoF(m) = 1 + sum f + 2 sum (1 - f) h as
    for `pls_path`, which is the case of strength 0.

    Parameters
    ----------
    X : (n, p) array or data frame
        Predictors: a spectrum whose neighbouring columns belong together, or the B-splines of
        `spline_basis`.
    y : (n,) array
    penalty : (p, p) array, optional
        Symmetric positive semi-definite P. By default differences of neighbouring coefficients.
    order : int
        Order of the differences; not used with ``penalty``.
    strength : float
        Factor >= 0 of the penalty. It has no unit: I + strength P.
    blocks : int or sequence of int, optional
        Number of columns of each variable (one number if it is the same for all); differences are
        taken within blocks only. By default all columns are one block.
    max_components : int, optional
        Largest model wanted; by default all that the data support.
    scale : bool
        Scale the columns to unit variance first. The penalty then smooths the coefficients of the
        scaled columns; False, the default, smooths ``coef`` itself.
    sample_weight : (n,) array, optional
        Weights; integer weights mean repeated rows.
    solver : {"auto", "svd", "gram"}
        As for `pls_path`.
    strict : bool
        Raise `RankExhaustedError` instead of warning when ``max_components`` is not reached.

    Returns
    -------
    PenalizedPLSPath

    Notes
    -----
    Without scaling, a column that does not vary in the data may still have a coefficient, the one
    that its neighbours suggest; it acts on new rows only.

    Cost: that of `pls_path`, plus O(n p order) for differences, or O(n p^2 + p^3) for a dense
    penalty matrix. The error of the eigenvalues grows with the square root of the strength for
    differences, and with the strength itself for a given matrix; ``dof_error`` shows it.

    References
    ----------
    N. Kraemer, A.-L. Boulesteix and G. Tutz (2008), Penalized partial least squares with
    applications to B-spline transformations and functional data, Chemometrics and Intelligent
    Laboratory Systems 94, 60-69.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 100)).cumsum(axis=1)
    >>> y = X[:, 40:60].mean(axis=1) + rng.normal(size=40)
    >>> rough, smooth = (penalized_pls_path(X, y, strength=s).coef[3] for s in (0.0, 1e3))
    >>> bool(np.abs(np.diff(smooth, 2)).sum() < 0.1 * np.abs(np.diff(rough, 2)).sum())
    True
    """
    metric = _metric(as_matrix(X).shape[1], penalty, order, blocks, as_strength(strength))
    data = _standardized(X, y, scale, sample_weight)
    return _fit(data, metric, float(strength), max_components, solver, strict)


def select_strength(
    X: Any,
    y: Any,
    strengths: Any = None,
    *,
    by: str = "bic",
    penalty: Any = None,
    order: int = 2,
    blocks: Any = None,
    max_components: int = 30,
    scale: bool = False,
    solver: str = "auto",
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
    """Choose the number of components and the strength of the penalty together.

    Parameters
    ----------
    strengths : array of float, optional
        Strengths >= 0 to compare; by default 0 and 8 values from 1e-1 to 1e6.
    by : {"bic", "aic", "gmdl", "aicc", "cp", "gcv", "cv"}
        A criterion, or cross-validated mean squared error.
    dof, noise, rule, cv, groups, random_state, n_jobs, progress
        See `plsdof.joint_selection.select_jointly`.
    X, y, penalty, order, blocks, max_components, scale, solver, sample_weight
        See `penalized_pls_path`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 100)).cumsum(axis=1)
    >>> y = X[:, 40:60].mean(axis=1) + rng.normal(size=40)
    >>> choice = select_strength(X, y, [0.0, 10.0, 1000.0])
    >>> choice.scores.shape[0], choice.value in (0.0, 10.0, 1000.0)
    (3, True)
    """
    values = default_strengths() if strengths is None else strengths
    checked = np.array([as_strength(value) for value in np.atleast_1d(values)])
    make = partial(
        penalized_pls_path,
        penalty=penalty,
        order=order,
        blocks=blocks,
        max_components=max_components,
        scale=scale,
        solver=solver,
    )
    return select_jointly(
        X,
        y,
        make,
        checked,
        parameter_name="strength",
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


def default_strengths() -> Array:
    """Return 0 and 8 strengths from 0.1 to 1e6."""
    return np.concatenate([[0.0], np.logspace(-1, 6, 8)])


def as_strength(strength: Any) -> float:
    """Return a finite number >= 0."""
    number = isinstance(strength, int | float | np.number) and not isinstance(strength, bool)
    if not number or not 0 <= strength < np.inf:
        raise InvalidInputError(
            f"strength must be a finite number >= 0; got {strength!r:.80}. Use select_strength to "
            "compare several."
        )
    return float(strength)


def _metric(p: int, penalty: Any, order: int, blocks: Any, strength: float) -> Metric:
    if penalty is None:
        sizes = as_block_sizes(blocks, p)
        return difference_metric(sizes, as_count(order, "order", minimum=1), strength)
    if blocks is not None:
        raise InvalidInputError(
            "blocks says where differences are taken and has no meaning with a given penalty; "
            "leave one of the two out."
        )
    return matrix_metric(as_penalty(penalty, p), strength)


def _standardized(X: Any, y: Any, scale: bool, sample_weight: Any) -> Standardized:
    require_flag(scale)
    if scale:
        return standardize(X, y, scale=True, sample_weight=sample_weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantColumnWarning)
        data = standardize(X, y, scale=False, sample_weight=sample_weight)
    # A constant column may get a coefficient from its neighbours.
    ones = read_only(np.ones_like(data.units.x_scale))
    return replace(data, units=replace(data.units, x_scale=ones))


def _fit(
    data: Standardized,
    metric: Metric,
    strength: float,
    max_components: int | None,
    solver: str,
    strict: bool,
) -> PenalizedPLSPath:
    as_choice(solver, "solver", SOLVERS)
    make = partial(pls_filter, max_components=optional_count(max_components))
    whitened = replace(data, X=read_only(metric.whiten(data.X)))
    routes = (
        PenalizedPLSPath.build(
            data,
            _penalized(decompose(whitened, attempt), data.X, metric),
            make,
            strength=strength,
            metric=metric,
        )
        for attempt in solvers(solver)
    )
    with threads_for(data.X.shape):
        path = first_accurate(routes, max_components)
    report_end(path, strict, max_components)
    return path


def _penalized(whitened: Decomposition, X: Array, metric: Metric) -> Decomposition:
    """Turn the decomposition of X R into one whose features are the columns of X."""
    # A relative perturbation of A is one of K, in the order of positive semi-definite matrices.
    error = 2 * metric.rounding * whitened.eigenvalues
    return replace(
        whitened,
        right=read_only(metric.unwhiten(whitened.feature_basis)),
        X=X if whitened.left is None else None,
        eigenvalue_error=read_only(whitened.eigenvalue_error + error),
    )
