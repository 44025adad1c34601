"""Regression methods as filters on the spectrum.

A method is a function that takes a `Spectrum` and returns a `Filter`. With rotated coordinates
z = U'y the fit is zhat = f * z; Partial Least Squares also returns rotated scores T, and the
Jacobian is

    d zhat / d z = diag(f) + 2 T T' diag(1 - f)

with an empty T for methods that are linear in y (ridge, principal components, least squares).
Components that are chosen by y have no Jacobian here: their Degrees of Freedom are nan.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from plsdof._core import rounding
from plsdof._core.display import plural
from plsdof._core.inputs import Array, read_only
from plsdof._core.krylov import Bidiagonalization, golub_kahan, residuals_at, running_sums
from plsdof._core.spectrum import Spectrum

_EPS = float(np.finfo(np.float64).eps)
# The grid of ridge penalties runs from 0.01 Degrees of Freedom above the mean to 0.01 below least
# squares. That is up to 20 decades: with 50 penalties neighbours differ by a factor of at most 2.5,
# and the error changes little from one to the next.
_GRID_ENDS, _GRID_SIZE = 0.01, 50


@dataclass(frozen=True, kw_only=True)
class Filter:
    """One regression method on one spectrum, for all model sizes at once.

    Attributes
    ----------
    factors : (K, r) array
        f, one row per model.
    residuals : (K, r) array
        phi = 1 - f, kept apart because each loses digits where the other does not.
    scores : (r, k) array
        Orthonormal rotated scores; model number m uses the first m columns. (r, 0) for methods
        that are linear in y.
    dof : (K,) array
        1 + sum f + 2 sum (1 - f) h with h_i = sum_j T_ij^2 (trace of the Jacobian of the fit).
    dof_error : (K,) array
        Estimated absolute error of ``dof``.
    rss_error : (K,) array
        Estimated absolute error of the residual sums of squares.
    coef_error : (K,) array
        Estimated error of the coefficients of standardised predictors, relative to their norm.
    residual_trace, residual_trace_error : (K,) arrays
        trace (I - H)(I - H)' = n - 1 - sum f (2 - f), which the residual sum of squares is
        divided by to estimate the noise variance, and its estimated absolute error.
    naive_dof : (K,) array
        Number of components + 1, as if the components were given; 1 + sum f for ridge.
    message : str
        Why the path ends where it does; empty if it has all models asked for.
    parameters : (K,) array or None
        What tells the models apart, where that is not a number of components.
    beyond : (K, c) array or None
        f at `Spectrum.others`.
    """

    factors: Array
    residuals: Array
    scores: Array
    dof: Array
    dof_error: Array
    rss_error: Array
    coef_error: Array
    residual_trace: Array
    residual_trace_error: Array
    naive_dof: Array
    message: str = ""
    parameters: Array | None = None
    beyond: Array | None = None
    # Whether I - d zhat / d z is a reflection times diag(phi).
    reflects: ClassVar[bool] = True

    def jacobian(self, index: int) -> Array:
        """Return d zhat / d z in rotated coordinates, (r, r)."""
        return self.times_jacobian(np.eye(self.factors.shape[1]), index)

    def times_jacobian(self, rows: Array, index: int) -> Array:
        """Return rows @ (d zhat / d z) for (k, r) rows. Cost: O(k r m)."""
        T = self.scores[:, :index]
        feedback: Array = (rows @ T) @ (T.T * self.residuals[index])
        direct: Array = rows * self.factors[index]
        return direct + 2 * feedback


@dataclass(frozen=True, kw_only=True)
class PLSFilter(Filter):
    """Filter of Partial Least Squares, with its Lanczos decomposition.

    ``weights`` (r, k) are W, ``diagonal`` and ``superdiagonal`` (k,) are those of L, and
    ``loadings`` (k,) are T'z.
    """

    weights: Array
    diagonal: Array
    superdiagonal: Array
    loadings: Array


@np.errstate(invalid="ignore", over="ignore")
def pls_filter(spectrum: Spectrum, max_components: int | None = None) -> PLSFilter:
    """Partial Least Squares, 0..M components.

    M is the smallest of ``max_components``, the number of distinct eigenvalues that y excites
    (the dimension of the Krylov space), and the last size whose Degrees of Freedom are certain
    to about six digits. The error estimate is the largest change over copies of the spectrum
    that are perturbed by as much as the decomposition may be off, times a safety factor, plus
    what eigenvalues below the resolution of the solver could contribute.

    Cost: O(r M^2) time, O(r M) memory.
    """
    largest = np.sqrt(spectrum.eigenvalues[0]) if len(spectrum.eigenvalues) else 1.0
    norm = float(np.linalg.norm(spectrum.z)) or 1.0
    # The data, in which equal eigenvalues act as one node, and perturbed copies, which show what
    # rounding may do, go through one recursion as a batch.
    copies = rounding.perturbed_copies(spectrum)
    nodes = copies.nodes
    dimension = nodes.dimension
    wanted = dimension if max_components is None else min(max_components, dimension)
    run = golub_kahan(copies.eigenvalues, copies.z, copies.excited, wanted, copies.dimension)
    # DoF = 1 + sum f + 2 sum (1 - f) h, for the data (first) and for every copy.
    traces = _traces(run, copies, spectrum)
    errors = rounding.pls_errors(spectrum, copies, run, traces)
    # Sizes that are too uncertain are not returned.
    kept = 1 + errors.supported(traces.dof[0])
    # From nodes back to the directions that share them.
    member = nodes.member
    factors, residuals = (part[0].take(member, axis=1) for part in (run.factors, run.residuals))
    return PLSFilter(
        factors=read_only(factors[:kept]),
        residuals=read_only(residuals[:kept]),
        scores=read_only((run.scores[0, : kept - 1].take(member, axis=1) * nodes.share).T),
        dof=read_only(traces.dof[0, :kept]),
        dof_error=read_only(errors.dof[:kept]),
        rss_error=read_only(errors.rss[:kept]),
        coef_error=read_only(errors.coef[:kept]),
        residual_trace=read_only(traces.squares[0, :kept]),
        residual_trace_error=read_only(errors.trace[:kept]),
        naive_dof=read_only(1.0 + np.arange(kept)),
        weights=read_only((run.weights[0, : kept - 1].take(member, axis=1) * nodes.share).T),
        diagonal=read_only(run.diagonal[0, : kept - 1] * largest),
        superdiagonal=read_only(run.superdiagonal[0, : kept - 1] * largest),
        loadings=read_only(run.loadings[0, : kept - 1] * norm),
        beyond=read_only(1.0 - traces.outer[0, :kept, : len(spectrum.others)]),
        message=_why_ended(kept - 1, dimension, max_components, spectrum),
    )


def pcr_filter(spectrum: Spectrum, max_components: int | None = None) -> Filter:
    """Principal components regression: f_i = 1 for the m largest eigenvalues, DoF = m + 1.

    The path ends before the first model that keeps one of two components whose eigenvalues
    cannot be told apart: their directions are whatever the decomposition made of rounding.
    """
    # Components whose singular values are mostly rounding are not candidates.
    r = rounding.resolved_components(spectrum)
    size = 1 + (r if max_components is None else min(max_components, r))
    kept = np.arange(spectrum.rank) < np.arange(size)[:, None]
    ended = max_components is not None and max_components > r
    ended |= max_components is None and spectrum.collinear > 0
    message = f"X has rank {r}, so there are only {r} principal components." if ended else ""
    factors, message = _determined(spectrum, kept.astype(np.float64), message)
    naive = 1.0 + np.arange(len(factors), dtype=np.float64)
    return _linear_filter(spectrum, factors, naive, message)


def _determined(spectrum: Spectrum, factors: Array, message: str) -> tuple[Array, str]:
    """End the path before the first model that parts equal eigenvalues, and say so."""
    parted = (factors[:, :-1] != factors[:, 1:]) & rounding.tied_components(spectrum)
    models = parted.any(axis=1)
    if not models.any():
        return factors, message
    component = int(np.argmax(models))
    return factors[:component], (
        f"component {component} has the same eigenvalue as another one, up to rounding, so that "
        "its direction, and with it the model, is not determined by the data."
    )


def supervised_pcr_filter(
    spectrum: Spectrum, max_components: int | None = None, among: int | None = None
) -> Filter:
    """Principal components in the order of their squared correlation with y.

    Those with the ``among`` largest eigenvalues are candidates, by default all.

    Which components are kept then depends on y, and the fit jumps where the order changes, so
    the trace of its derivative is not unbiased any more for the Degrees of Freedom: they exceed
    m + 1 by an amount that depends on the unknown mean. They are reported as nan.
    """
    candidates = spectrum.rank if among is None else min(among, spectrum.rank)
    if among is not None:
        max_components = candidates if max_components is None else min(max_components, candidates)
    # Component i is kept by models of more than rank_of[i] components.
    rank_of = np.arange(spectrum.rank)
    order = np.argsort(-np.abs(spectrum.z[:candidates]), kind="stable")
    rank_of[order] = np.arange(candidates)
    plain = pcr_filter(replace(spectrum, computed_basis=False), max_components)
    factors, message = _determined(spectrum, plain.factors[:, rank_of], plain.message)
    dof = np.full(len(factors), np.nan)
    dof[0] = 1.0
    # With every component kept nothing is left to choose, and the fit is least squares.
    if len(factors) == spectrum.rank + 1:
        dof[-1] = spectrum.rank + 1.0
    found = _linear_filter(spectrum, factors, plain.naive_dof[: len(factors)], message)
    return replace(found, dof=read_only(dof), dof_error=read_only(0.0 * dof))


def ridge_grid(eigenvalues: Array) -> Array:
    r"""Return penalties that lead from the mean to least squares, largest first. Shape (50,).

    With alpha_1 = sum lambda / d and alpha_50 = d / sum (1 / lambda) the Degrees of Freedom are
    within d of those of the mean and of least squares,

        sum lambda / (lambda + alpha_1) <= d,     sum alpha_50 / (lambda + alpha_50) <= d,

    whatever the unit of X and however fast its spectrum falls; evenly spaced in log alpha.
    Directions below the rounding of the largest one do not make the grid any longer.

    Examples
    --------
    >>> lam = np.array([4.0, 1.0])
    >>> alphas = ridge_grid(lam)
    >>> len(alphas), (lam / (lam + alphas[[0, -1], None])).sum(axis=1).round(2)
    (50, array([0.01, 1.99]))
    """
    if not len(eigenvalues):  # nothing varies: any penalty does
        return np.ones(1)
    largest = float(eigenvalues[0])
    first = float(np.sum(eigenvalues / largest)) / _GRID_ENDS
    last = _GRID_ENDS / float(np.sum(largest / np.maximum(eigenvalues, _EPS * largest)))
    # Ends are whole tenths of a power of ten: the same numbers wherever the data come from.
    unit = np.log10(largest)
    high, low = np.ceil(10 * (np.log10(first) + unit)), np.floor(10 * (np.log10(last) + unit))
    return np.asarray(10.0 ** np.linspace(high / 10, low / 10, _GRID_SIZE))


def ridge_filter(spectrum: Spectrum, alphas: Array | None = None) -> Filter:
    """Ridge regression: f_i = lambda_i / (lambda_i + alpha), DoF = 1 + sum f.

    The penalties are by default those of `ridge_grid`.
    """
    lam = spectrum.eigenvalues
    alphas = ridge_grid(lam) if alphas is None else alphas
    denominator = lam + alphas[:, None]
    factors = lam / denominator
    # df/dlambda = alpha / (lambda + alpha)^2, times the error of lambda.
    change = alphas[:, None] / denominator * (spectrum.eigenvalue_error / denominator)
    # Eigenvalues below the floor of the solver could add at most floor / (floor + alpha) each.
    share = np.divide(
        spectrum.floor, spectrum.floor + alphas, out=np.ones_like(alphas), where=alphas > 0
    )
    # f / S below the floor is largest at the floor, or at the penalty.
    lowest = np.minimum(spectrum.floor, alphas)
    below = rounding.Below(
        factors=np.where(alphas > 0, share, 0.0),
        slopes=np.divide(
            np.sqrt(lowest), lowest + alphas, out=np.zeros_like(alphas), where=alphas > 0
        ),
        missed=spectrum.unresolved * share,
    )
    naive = 1.0 + factors.sum(axis=1)
    found = _linear_filter(spectrum, factors, naive, "", change, below)
    return replace(found, parameters=read_only(alphas))


def _linear_filter(
    spectrum: Spectrum,
    factors: Array,
    naive: Array,
    message: str,
    change: Array | float = 0.0,
    below: rounding.Below | None = None,
) -> Filter:
    """Return a filter that is linear in y, whose factors may be off by ``change``."""
    errors = rounding.linear_errors(spectrum, factors, change, below)
    return Filter(
        factors=read_only(factors),
        residuals=read_only(1.0 - factors),
        scores=read_only(np.zeros((factors.shape[1], 0))),
        dof=read_only(1.0 + factors.sum(axis=1)),
        dof_error=read_only(errors.dof),
        rss_error=read_only(errors.rss),
        coef_error=read_only(errors.coef),
        residual_trace=read_only(
            np.sum((1.0 - factors) ** 2, axis=1) + spectrum.residual_dimension
        ),
        residual_trace_error=read_only(errors.trace),
        naive_dof=read_only(naive),
        message=message,
    )


def _traces(run: Bidiagonalization, copies: rounding.Copies, spectrum: Spectrum) -> rounding.Traces:
    """Add up Degrees of Freedom and squared residual filters over all directions."""
    nodes, weights = copies.nodes, copies.nodes.outer_weights
    inner, outer = run.residuals, residuals_at(run, copies.outer)
    # h_i = sum_j T_ij^2 for m = 0..k, zero on nodes that y does not excite.
    h = np.zeros((inner.shape[1], *copies.z.shape))
    np.square(run.scores.transpose(1, 0, 2), out=h[1:], where=copies.excited)
    h = running_sums(h).transpose(1, 0, 2)
    dof = 1.0 + ((1.0 - inner) * nodes.multiplicity + 2.0 * inner * h).sum(axis=2)
    dof += np.vecdot(1.0 - outer, weights)
    squares = np.vecdot(inner**2, nodes.multiplicity) + np.vecdot(outer**2, weights)
    squares += spectrum.residual_dimension
    return rounding.Traces(leverage=h, outer=outer, dof=dof, squares=squares)


def _why_ended(size: int, dimension: int, max_components: int | None, spectrum: Spectrum) -> str:
    if dimension == 0 and max_components != 0:
        return "y does not vary along any direction of X, so it has no component."
    ends_before = dimension < spectrum.rank
    collinear = 0 if ends_before else spectrum.collinear
    wanted = dimension + collinear if max_components is None else max_components
    if size >= wanted:
        return ""
    if size < dimension:
        return rounding.uncertain_from(size + 1)
    if collinear:
        return (
            f"Columns of X are collinear, or rows repeated: {plural(collinear, 'direction')} of X "
            f"cannot be told from rounding, so component {size} completes the least-squares fit."
        )
    if spectrum.unresolved and not ends_before:
        return (
            f"{plural(spectrum.unresolved, 'further direction')} of X cannot be told from zero in "
            "its Gram matrix, which has half the digits of X; solver='svd' has all of them."
        )
    return (
        f"y excites {plural(dimension, 'distinct eigenvalue')} of XX', so component {dimension} "
        "completes the least-squares fit and is the last one."
    )


# Averages of models, as one more filter
# --------------------------------------


@dataclass(frozen=True, kw_only=True)
class AverageFilter(Filter):
    """The average of all models of a filter, with given weights: one model, number 0.

    ``feedback`` (k, r) has the rows t_j' diag(sum_{m >= j} w_m phi_m): what the dependence of the
    scores on y adds to the derivative.
    """

    feedback: Array
    reflects: ClassVar[bool] = False

    def times_jacobian(self, rows: Array, index: int) -> Array:  # noqa: ARG002
        """Return rows @ (d zhat / d z) for (k, r) rows, the weights held fixed. Cost: O(k r M)."""
        direct: Array = rows * self.factors[0]
        return direct + 2 * (rows @ self.scores) @ self.feedback


def averaged(spectrum: Spectrum, fitted: Filter, weights: Array) -> AverageFilter:
    r"""Combine the models of a filter with weights.

    zhat = (sum_m w_m f_m) z has the derivative sum_m w_m J_m with the weights held fixed. They
    were chosen by the same response, which costs Degrees of Freedom, too: with W_l the sums of the
    weights of the first l of k models that have any,

        DoF = sum_m w_m DoF(m) + sum_{l < k} W_l,

    which agrees with Monte Carlo to a few tenths. Cost: O(r K M).
    """
    kept = weights > 0
    factors, residuals = weights @ fitted.factors, weights @ fitted.residuals
    # sum_{m >= j} w_m phi_m for j = 1..k; models without components have no scores.
    k = fitted.scores.shape[1]
    tails = np.cumsum((weights[:, None] * fitted.residuals)[::-1], axis=0)[::-1]
    feedback = fitted.scores.T * tails[1 : k + 1]

    def mean(values: Array) -> Array:
        """Average over the models that count; others may not be defined."""
        return read_only([weights @ np.where(kept, values, 0.0)])

    price = float(np.cumsum(weights[kept])[:-1].sum())
    # The derivative is diag(f) + 2 T feedback.
    crossed = 2.0 * float(residuals @ np.sum(fitted.scores * feedback.T, axis=1))
    squared = float(np.sum((fitted.scores.T @ fitted.scores) * (feedback @ feedback.T)))
    return AverageFilter(
        factors=read_only(factors[None]),
        residuals=read_only(residuals[None]),
        scores=fitted.scores,
        dof=read_only(mean(fitted.dof) + price),
        dof_error=mean(fitted.dof_error),
        rss_error=mean(fitted.rss_error),
        coef_error=mean(fitted.coef_error),
        residual_trace_error=mean(fitted.residual_trace_error),
        residual_trace=read_only(
            [_sum_of_squares(spectrum, fitted, weights) - 2.0 * crossed + 4.0 * squared]
        ),
        naive_dof=read_only([weights @ fitted.naive_dof]),
        feedback=read_only(feedback),
    )


def _sum_of_squares(spectrum: Spectrum, fitted: Filter, weights: Array) -> float:
    """Return the sum of (1 - f)^2 over all directions of the samples but the mean."""
    f = weights @ fitted.factors
    beyond = np.zeros(0) if fitted.beyond is None else weights @ fitted.beyond
    explained = spectrum.multiplicity @ (f * (2.0 - f)) + np.sum(beyond * (2.0 - beyond))
    return spectrum.n - 1.0 - float(explained)
