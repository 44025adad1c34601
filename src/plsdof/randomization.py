"""The randomization test: which models predict worse than the best one."""

from dataclasses import dataclass
from typing import Any

from plsdof._validation import Array, read_only
from plsdof.cross_validated import CrossValidation, sign_flip_p_values
from plsdof.readable import one_line


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RandomizationTest:
    """Test of every model against the one with the smallest cross-validated error.

    ``differences`` (K,) are the mean differences of the squared errors, ``p_values`` (K,) the
    probabilities of one at least as large if both models were equally good, ``reference`` the
    row of the best model, ``n_permutations`` the number of random sign patterns.

    Examples
    --------
    >>> from plsdof import cross_validate
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> randomization_test(cross_validate(X, y, max_components=4))
    RandomizationTest(5 models, reference=4, n_permutations=999)
    """

    differences: Array
    p_values: Array
    reference: int
    n_permutations: int

    def __repr__(self) -> str:
        return one_line(
            self,
            f"{len(self.p_values)} models",
            reference=self.reference,
            n_permutations=self.n_permutations,
        )


def randomization_test(
    result: CrossValidation, *, n_permutations: int = 999, random_state: Any = 0
) -> RandomizationTest:
    """Test whether models predict worse than the best one, after van der Voet (1994).

    With d_i the difference of the squared out-of-fold residuals of a model and of the model with
    the smallest error, the statistic is mean(d). If both predict equally well the two residuals
    of a row could be exchanged, which turns the sign of d_i; the p-value is the share

        (1 + #{mean(s * d) >= mean(d)}) / (1 + n_permutations)

    over random signs s, one-sided, the data themselves counted in.

    Parameters
    ----------
    result : CrossValidation
        With its predictions. Repeats are averaged within rows first; rows of one group share a
        sign, since they are not independent; weights multiply d.
    n_permutations : int
        Number of random sign patterns, shared by all models.
    random_state : int or numpy Generator
        The default makes the test reproducible.

    Notes
    -----
    Cost: O(n K) per pattern, in blocks of at most 8 MB.

    References
    ----------
    H. van der Voet (1994), Comparing the predictive accuracy of models using a simple
    randomization test, Chemometrics and Intelligent Laboratory Systems 25, 313-323.

    Examples
    --------
    >>> import numpy as np
    >>> from plsdof import cross_validate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 5))
    >>> y = X @ [1.0, 2.0, 0.0, -1.0, 0.0] + rng.normal(size=40)
    >>> test = randomization_test(cross_validate(X, y, max_components=2))
    >>> test.reference, test.p_values.round(3)
    (2, array([0.001, 0.275, 1.   ]))
    """
    losses, best = result.row_losses(), result.select().index
    p_values = sign_flip_p_values(losses, best, n_permutations, random_state)
    means = losses.sum(axis=0)  # every row's loss is its share of the mean
    return RandomizationTest(
        differences=read_only(means - means[best]),
        p_values=read_only(p_values),
        reference=best,
        n_permutations=int(n_permutations),
    )
