"""Is there anything at all? A permutation test of the whole procedure, the choice included."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof._core.inputs import Array, as_count, as_generator, read_only
from plsdof._core.model import as_path
from plsdof.errors import NotAvailableError
from plsdof.inference.resampling import many_models

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
    dof : (K,) array
        Degrees of Freedom in the scores, averaged over the permutations.
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
    dof: Array
    total: float

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
            f"p = {self.p_value:.3g}: {lower} of {len(self.permuted)} permutations of the response "
            "have a score as good as the data."
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
    progress: bool = False,
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
    progress : bool
        Show a bar on stderr (needs rich).

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
    n_permutations = as_count(n_permutations, "n_permutations", minimum=19)
    path = as_path(path)
    exact = path.exact
    if exact.units.row_scale is not None:
        raise NotAvailableError(
            "Weighted rows are not exchangeable, so their responses cannot be permuted; repeat "
            "rows instead of weighting them."
        )
    largest = len(path) - 1
    if largest < 1:
        raise NotAvailableError("The path has the empty model only, which no test can reject.")
    complete = exact.complete()
    centred = path._response() - exact.units.y_mean
    generator = as_generator(rng)
    # The data themselves come first.
    drawn = np.array([centred, *(generator.permutation(centred) for _ in range(n_permutations))])
    Z = drawn @ complete.decomposition.sample_basis
    total = float(centred @ centred)
    spare = complete.spectrum.residual_dimension > 0
    outside = np.maximum(total - np.vecdot(Z, Z), 0.0) if spare else np.zeros(len(Z))
    rss, dof, start = [], [], 0
    for part in many_models(complete, Z, largest, progress=progress):
        rows = slice(start, start + len(part.dof))
        rss.append(part.rss(Z[rows], outside[rows]))
        dof.append(part.dof)
        start = rows.stop
    n, size = exact.spectrum.n, min(one.shape[1] for one in dof)
    scores, expected = _scores(
        np.concatenate([one[:, :size] for one in rss]),
        np.concatenate([one[:, :size] for one in dof]),
        n,
    )
    best = scores.min(axis=1)
    better = int(np.count_nonzero(best[1:] <= best[0]))
    return PermutationTest(
        p_value=(1 + better) / (1 + n_permutations),
        score=float(best[0]),
        permuted=read_only(best[1:]),
        index=int(np.argmin(scores[0])),
        dof=read_only(expected),
        total=total / n / (1.0 - 1.0 / n) ** 2,
    )


def _scores(rss: Array, dof: Array, n: float) -> tuple[Array, Array]:
    """Return scores (B, K), infinite for what is not a candidate, and the average dof (K,)."""
    # Single values are heavy-tailed; the average is what they estimate.
    expected = np.clip(np.nan_to_num(dof, nan=n), 1.0, n).mean(axis=0)
    candidate = expected <= _MOST_DOF * n
    candidate[0] = False
    if not candidate.any():
        candidate[1 + int(np.argmin(expected[1:]))] = True
    share = 1.0 - np.minimum(expected, 0.999 * n) / n
    scores = rss / n / share**2
    return np.where(candidate & np.isfinite(scores), scores, np.inf), expected
