"""What this room says: why something is not available, and what a result assumes."""

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof import kernel_pls_path, pls_path
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.inference import (
    coefficient_inference,
    noise_interval,
    permutation_test,
    prediction_interval,
    residual_bootstrap,
    simultaneous_band,
)

X, Y = make_problem(20, 4, seed=9)
PATH = pls_path(X, Y)
FULL = pls_path(*make_problem(8, 20, seed=8))

UNAVAILABLE = {
    "one coefficient per row": lambda: coefficient_inference(
        kernel_pls_path(X, Y)[1], covariance="jackknife"
    ),
    "leaves no residual": lambda: coefficient_inference(FULL[len(FULL) - 1], noise="jacobian"),
    "not for an average": lambda: residual_bootstrap(PATH.average()),
    "not exchangeable": lambda: permutation_test(
        pls_path(X, Y, sample_weight=np.arange(1.0, 21.0))
    ),
    "empty model": lambda: permutation_test(pls_path(X, Y, 0)),
}
INVALID = {
    "homoscedastic": lambda: coefficient_inference(PATH[1], covariance="hc0"),
    "between 0 and 1": lambda: coefficient_inference(PATH[1], level=95),
    "got ndarray": lambda: residual_bootstrap(X),
    r"path\[m\]": lambda: coefficient_inference(PATH),
    "rng must be": lambda: simultaneous_band(PATH[2], rng="x"),
    "n_permutations must be": lambda: permutation_test(PATH, n_permutations=5),
    "method='left-out' is for kind='observation'": lambda: prediction_interval(
        PATH[1], X, kind="mean", method="left-out"
    ),
}


@pytest.mark.parametrize("words", UNAVAILABLE)
def test_what_is_not_available_says_why(words):
    with pytest.raises(NotAvailableError, match=words):
        UNAVAILABLE[words]()


@pytest.mark.parametrize("words", INVALID)
def test_input_errors_say_what_is_allowed(words):
    with pytest.raises(InvalidInputError, match=words):
        INVALID[words]()


def test_results_say_what_they_assume():
    assert "any kurtosis" in noise_interval(PATH[2]).assumptions
    found = permutation_test(PATH, n_permutations=19)
    assert str(len(found.permuted)) in found.message
    assert found.assumptions.startswith("Null:")
