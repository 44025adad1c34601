"""Fits to changed responses: drawn again, or permuted.

`residual_bootstrap` and `permutation_test` fit many responses of the same X at once, on one
decomposition (`many_models`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from plsdof._core.criteria import Noise
from plsdof._core.display import p_in_words
from plsdof._core.exact import Exact
from plsdof._core.filters import PLSFilter
from plsdof._core.inputs import Array, as_draws, as_generator, as_level, read_only
from plsdof._core.krylov import golub_kahan
from plsdof._core.model import as_model, as_path
from plsdof._core.rounding import distinct_nodes
from plsdof.errors import NotAvailableError
from plsdof.inference.intervals import Interval, model_with_article

# Numbers that the recursion holds at once for responses drawn again: 32 MB.
_AT_ONCE = 4_000_000
# What a coordinate of a response of length one is at least, so that it can be divided by.
_FAINT = 1e-30


# Responses drawn again
# ---------------------


def residual_bootstrap(
    model: Any,
    *,
    n_draws: int = 500,
    level: float = 0.95,
    noise: Noise = None,
    rng: Any = 0,
) -> Interval:
    """Refit responses made of the fit plus resampled residuals, X kept fixed.

    The residuals are centred and scaled to the noise variance of the model, so that their
    optimism does not shrink the standard errors. With weights w it is the residuals times the
    roots of the weights that are drawn: the noise variance of row i is taken as sigma^2 / w_i.

    Parameters
    ----------
    model : Model, or a fitted estimator
        One model, not an average.
    n_draws : int
        Number of resampled responses, at least 2.
    level : float
        Share of the coefficients of the draws between the limits.
    noise : str or float, optional
        Noise variance of the resampled residuals, see `Path.noise_variance`.
    rng : int or numpy Generator, optional
        The default makes it reproducible.

    Returns
    -------
    Interval
        One entry per feature: its coefficient, the standard deviation over the draws, and the
        central share ``level`` of them.

    Notes
    -----
    Cost: O(n r + r M^2) per draw, many draws at once; X is not decomposed again. Reference: Efron &
    Tibshirani (1993), chapter 9.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> from plsdof import pls_path
    >>> path = pls_path(*load_ozone(return_X_y=True))
    >>> residual_bootstrap(path[2], n_draws=200).std_error[:3].round(2)
    array([0.05, 0.02, 0.15])
    >>> path.coef_std_error(2)[:3].round(2)  # analytic, at once
    array([0.06, 0.02, 0.14])
    """
    model = as_model(model)
    complete = model.exact.complete()
    units, p = complete.units, len(model.coef)
    n_draws = as_draws(n_draws, "n_draws", minimum=2, kept=units.n_rows + p)
    # Residuals in units where rows have equal noise, of the size of the noise.
    root = 1.0 if units.row_scale is None else units.row_scale
    residuals = root * model.residuals
    residuals = residuals - residuals.mean()
    spread = np.sqrt(np.mean(residuals**2))
    if spread > 0:
        residuals = residuals * np.sqrt(model.noise_variance(noise)) / spread
    drawn = as_generator(rng).choice(residuals, (n_draws, units.n_rows))
    # The fit is what they are added to; coefficients in rotated coordinates, then of the features.
    Z = _rotated(complete, root * (model.fitted - units.y_mean) + drawn)
    factors = [factors[:, -1] for factors, _ in many_models(complete, Z, model.row)]
    rotated = np.concatenate(factors) * Z / complete.decomposition.singular_values
    tail = (1.0 - as_level(level)) / 2.0
    with np.errstate(over="ignore"):  # units of 1e-200 may lead out of the range of floats
        replicates = complete.decomposition.to_features(rotated.T).T / units.x_scale
    lower, upper = np.quantile(replicates, [tail, 1.0 - tail], axis=0)
    return Interval(
        center=model.coef,
        std_error=read_only(replicates.std(axis=0, ddof=1)),
        lower=read_only(lower),
        upper=read_only(upper),
        level=level,
        critical=float("nan"),
        names=model.path.feature_names,
        assumptions=f"X and {model_with_article(model.label)} held fixed; residuals drawn again, "
        f"{n_draws} times; covers the expected coefficients, not the true ones.",
    )


def _rotated(complete: Exact, responses: Array) -> Array:
    """Return (B, r) coordinates of (B, n) responses, which have equal noise in all rows."""
    root = complete.units.row_scale
    ones = np.ones(responses.shape[1]) if root is None else root
    ones = ones / np.sqrt(complete.spectrum.n)
    # Centring, in the weighted metric.
    centred = responses - (responses @ ones)[:, None] * ones
    return np.asarray(centred @ complete.decomposition.sample_basis)


def many_models(path: Exact, Z: Array, max_components: int) -> Iterator[tuple[Array, Array]]:
    """Fit a method to many responses, given as (B, r) rotated coordinates.

    One recursion runs on a batch of them; yields factors (b, K, r) and Degrees of Freedom (b, K) of
    one part of the batch after the other, for models of 0..max_components components (all models
    of a method that is linear in y). Rounding errors are not estimated here. Cost: O(r M^2) time
    per response, bounded memory.
    """
    if not path.filter.reflects:
        raise NotAvailableError(
            "Responses are drawn again for single models of one response, not for an average of "
            "them or for PLS2; choose one model."
        )
    linear = not isinstance(path.filter, PLSFilter)
    if linear and np.isnan(path.dof).any():
        raise NotAvailableError("This method chooses components by looking at y; refit it instead.")
    size = max(1, _AT_ONCE // max(1, Z.shape[1] * (max_components + 2)))
    for start in range(0, len(Z), size):
        part = Z[start : start + size]
        if linear:
            shape = (len(part), *path.filter.factors.shape)
            factors = np.broadcast_to(path.filter.factors, shape)
            yield factors, np.broadcast_to(path.dof, shape[:2])
        else:
            yield _pls_models(path, part, max_components)


def _pls_models(path: Exact, Z: Array, max_components: int) -> tuple[Array, Array]:
    nodes = distinct_nodes(path.spectrum)
    g = len(nodes.eigenvalues)
    # Norms over the eigenvalues that one node stands for.
    squares = np.zeros((g, len(Z)))
    np.add.at(squares, nodes.member, Z.T**2)
    z = np.sqrt(squares.T)
    length = np.linalg.norm(z, axis=1, keepdims=True)
    z /= np.where(length > 0, length, 1.0)  # zero: a response that does not vary
    z = np.maximum(z, _FAINT)  # a node that a response does not excite at all
    eigenvalues = np.broadcast_to(nodes.eigenvalues, z.shape)
    run = golub_kahan(eigenvalues, z, np.ones(g, dtype=bool), max_components)
    h = np.cumsum(run.scores**2, axis=1)
    dof = np.ones(run.residuals.shape[:2])
    with np.errstate(invalid="ignore", over="ignore"):
        dof += run.factors @ nodes.multiplicity
        dof[:, 1:] += 2.0 * np.vecdot(run.residuals[:, 1:], h)
    return run.factors.take(nodes.member, axis=2), dof


# Is there any relation at all? A permutation test of the whole procedure, the choice included
# ----------------------------------------------------------------------------------------

# Models with more than this share of n as Degrees of Freedom are not candidates.
_MOST_DOF = 0.9


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PermutationTest:
    """The best score of a method on its data, and on permuted responses.

    Attributes
    ----------
    p_value : float
        (1 + number of permutations with a score as small) / (1 + number of permutations).
    score : float
        Smallest score over all model sizes, on the data.
    permuted : (B,) array
        The same on permuted responses.
    index : int
        Row of the path of the smallest score.
    total : float
        Score of the empty model, to compare with.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> permutation_test(pls_path(*load_ozone(return_X_y=True)), n_permutations=99)
    PermutationTest(p_value=0.01, best of 99 permutations 63.23, score=20.52)
    """

    p_value: float
    score: float
    permuted: Array
    index: int
    total: float

    @classmethod
    def of(cls, scores: Array, total: float) -> Self:
        """Return the test by scores (1 + B, K) of all models: of the data, then of permutations."""
        best = scores.min(axis=1)
        return cls(
            p_value=float(np.mean(best <= best[0])),
            score=float(best[0]),
            permuted=read_only(best[1:]),
            index=int(np.argmin(scores[0])),
            total=total,
        )

    @property
    def assumptions(self) -> str:
        """What is tested, in one line."""
        return (
            "Null: the response is unrelated to the rows of X, which are exchangeable; the best "
            "score over all model sizes is compared, so the choice is part of the test."
        )

    @property
    def message(self) -> str:
        """The result in a sentence."""
        lower = int(np.count_nonzero(self.permuted <= self.score))
        return (
            f"{p_in_words(self.p_value)}: {lower} of {len(self.permuted)} permutations of the "
            "response have a score as good as the data."
        )

    def __repr__(self) -> str:
        best = float(self.permuted.min())
        return (
            f"PermutationTest(p_value={self.p_value:.3g}, best of {len(self.permuted)} "
            f"permutations {best:.4g}, score={self.score:.4g})"
        )


def permutation_test(
    path: Any,
    *,
    n_permutations: int = 999,
    rng: Any = 0,
) -> PermutationTest:
    """Test whether the response has anything to do with X, for the whole path at once.

    The score of model m is that of generalised cross-validation,

        (RSS(m) / n) / (1 - D(m) / n)^2,

    with the Degrees of Freedom D(m) averaged over the permutations, which is what they are
    expected to be without a relation. The smallest one over m >= 1 is compared with that of
    permuted responses, so that looking for the best size is part of the test.

    Parameters
    ----------
    path : Path
        Fitted without sample weights.
    n_permutations : int
        At least 19; 999 by default.
    rng : int or numpy Generator, optional
        The default makes the test reproducible.

    Returns
    -------
    PermutationTest

    Notes
    -----
    The p-value is exact for exchangeable rows: at most alpha of the tests reject at level alpha.
    Cost: one recursion for all permutations, O(r M^2) time each; X is not decomposed again. 999
    permutations of 70 x 700 spectra with 30 components take less than a second. Reference: Phipson
    & Smyth (2010), Statistical Applications in Genetics and Molecular Biology 9, 39.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 8))
    >>> permutation_test(pls_path(X, rng.normal(size=40)), n_permutations=199).p_value > 0.05
    True
    >>> permutation_test(pls_path(X, X[:, 0] + rng.normal(size=40))).p_value
    0.001
    """
    path = as_path(path)
    kept = len(path.response()) + len(path)
    n_permutations = as_draws(n_permutations, "n_permutations", minimum=19, kept=kept)
    exact = path.exact
    if path.rows.require().weights is not None:
        raise NotAvailableError(
            "Weighted rows are not exchangeable, so their responses cannot be permuted; repeat "
            "rows instead of weighting them."
        )
    largest = len(path) - 1
    if largest < 1:
        raise NotAvailableError("The path has the empty model only, which no test can reject.")
    complete = exact.complete()
    centred = path.response() - exact.y_mean
    generator = as_generator(rng)
    # The data themselves come first.
    drawn = np.array([centred, *(generator.permutation(centred) for _ in range(n_permutations))])
    Z = _rotated(complete, drawn)
    total = float(centred @ centred)
    spare = complete.spectrum.residual_dimension > 0
    outside = np.maximum(total - np.vecdot(Z, Z), 0.0) if spare else np.zeros(len(Z))
    sums, dofs, start = [], [], 0
    for factors, dof in many_models(complete, Z, largest):
        left = (1.0 - factors) * Z[start : start + len(dof), None]
        sums.append(np.vecdot(left, left))
        dofs.append(dof)
        start += len(dof)
    n, size = exact.n, min(dof.shape[1] for dof in dofs)
    rss = np.concatenate([rss[:, :size] for rss in sums]) + outside[:, None]
    scores = _scores(rss, np.concatenate([dof[:, :size] for dof in dofs]), n)
    return PermutationTest.of(scores, total / n / (1.0 - 1.0 / n) ** 2)


def _scores(rss: Array, dof: Array, n: float) -> Array:
    """Return scores (B, K), infinite for what is not a candidate."""
    # Single values are heavy-tailed; the average is what they estimate.
    expected = np.clip(np.nan_to_num(dof, nan=n), 1.0, n).mean(axis=0)
    candidate = expected <= _MOST_DOF * n
    candidate[0] = False
    if not candidate.any():
        candidate[1 + int(np.argmin(expected[1:]))] = True
    share = 1.0 - np.minimum(expected, 0.999 * n) / n
    scores = rss / n / share**2
    return np.where(candidate & np.isfinite(scores), scores, np.inf)
