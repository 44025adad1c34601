"""Given kernel matrices that are not quite kernels: corrected with a warning, or refused."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import pairwise

from plsdof.errors import InvalidInputError
from plsdof.estimators.flexible import KernelPLSRegressor
from plsdof.variants.kernel import (
    IndefiniteKernelWarning,
    kernel_pls_path,
    positive_kernel,
    positive_part,
)

N = 20


def make_kernel(seed=0, p=5):
    rng = np.random.default_rng(seed)
    X = 3 * rng.uniform(size=(N, p))
    return X, pairwise.linear_kernel(X), X[:, 0] + 0.1 * rng.normal(size=N)


def centred(K, weights=None):
    w = np.ones(len(K)) if weights is None else weights
    C = np.eye(len(K)) - np.outer(np.ones(len(K)), w) / w.sum()
    root = np.sqrt(w)
    return root[:, None] * (C @ K @ C.T) * root


def test_a_kernel_needs_no_correction():
    for K in (make_kernel()[1], pairwise.rbf_kernel(make_kernel()[0]), np.ones((N, N))):
        assert positive_part(K) is None


@pytest.mark.parametrize("kernel", [pairwise.linear_kernel, pairwise.rbf_kernel])
def test_values_of_single_precision_need_no_correction(kernel):
    X, _, y = make_kernel()
    rounded = kernel(X.astype(np.float32))
    # Rounding that differs on the two sides of the diagonal.
    rounded = np.triu(rounded) + np.tril(np.nextafter(rounded, np.float32(9e9)), -1)
    assert np.any(rounded != rounded.T)
    corrected, part = positive_kernel(rounded.astype(float))
    assert part is None
    np.testing.assert_array_equal(corrected, corrected.T)
    model = KernelPLSRegressor(kernel="precomputed", max_components=3).fit(rounded, y)
    if kernel is pairwise.rbf_kernel:
        exact = KernelPLSRegressor(kernel="precomputed", max_components=3).fit(kernel(X), y)
        np.testing.assert_allclose(model.predict(rounded), exact.predict(kernel(X)), atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_negative_eigenvalues_are_set_to_zero_and_the_others_stay(weighted):
    _, K, _ = make_kernel()
    weights = np.random.default_rng(1).integers(1, 4, N).astype(float) if weighted else None
    with pytest.warns(IndefiniteKernelWarning, match=r"eigenvalues run from -.*% of the sum"):
        corrected = positive_part(np.floor(K), weights)(np.floor(K))
    before = np.linalg.eigvalsh(centred(np.floor(K), weights))
    after = np.linalg.eigvalsh(centred(corrected, weights))
    assert before[0] < -0.5
    np.testing.assert_allclose(after, np.maximum(before, 0.0), atol=1e-9)
    np.testing.assert_allclose(corrected, corrected.T, atol=1e-12)


def test_no_matrix_with_a_positive_centred_version_is_nearer():
    _, K, _ = make_kernel()
    with pytest.warns(IndefiniteKernelWarning):
        change = positive_part(np.floor(K))(np.floor(K)) - np.floor(K)
    negative = np.linalg.eigvalsh(centred(np.floor(K)))
    assert np.linalg.norm(change) == pytest.approx(np.linalg.norm(negative[negative < 0]))


def test_kernel_values_as_given_predict_what_was_fitted():
    _, K, y = make_kernel()
    with pytest.warns(IndefiniteKernelWarning):
        model = KernelPLSRegressor(3, kernel="precomputed").fit(np.floor(K), y)
    np.testing.assert_allclose(model.predict(np.floor(K)), model.path_.fitted[3], atol=1e-9)
    scores = model.transform(np.floor(K))
    np.testing.assert_allclose(scores, model.path_.x_scores[:, :3], atol=1e-9)


def test_degrees_of_freedom_are_exact_for_the_corrected_kernel():
    _, K, y = make_kernel()
    steps = 1e-5 * np.eye(N)

    def fit(response):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            return KernelPLSRegressor(2, kernel="precomputed").fit(np.floor(K), response)

    expected = sum(
        (fit(y + e).predict(np.floor(K)) - fit(y - e).predict(np.floor(K)))[i] / 2e-5
        for i, e in enumerate(steps)
    )
    assert fit(y).dof_ == pytest.approx(expected, abs=1e-5)


def test_integer_weights_mean_repeated_rows():
    _, K, y = make_kernel()
    weights = np.random.default_rng(2).integers(0, 4, N)
    rows = np.repeat(np.arange(N), weights)
    K = np.floor(K)
    with pytest.warns(IndefiniteKernelWarning):
        weighted = KernelPLSRegressor(2, kernel="precomputed").fit(K, y, sample_weight=weights)
    with pytest.warns(IndefiniteKernelWarning):
        repeated = KernelPLSRegressor(2, kernel="precomputed").fit(K[np.ix_(rows, rows)], y[rows])
    assert weighted.dof_ == pytest.approx(repeated.dof_, rel=1e-7)
    np.testing.assert_allclose(weighted.predict(K), repeated.predict(K[:, rows]), rtol=1e-6)


def test_new_rows_are_corrected_as_training_rows_are():
    _, K, y = make_kernel()
    K = np.floor(K)
    weights = np.where(np.arange(N) < 15, 1.0, 0.0)
    with pytest.warns(IndefiniteKernelWarning):
        model = KernelPLSRegressor(2, kernel="precomputed").fit(K, y, sample_weight=weights)
    with pytest.warns(IndefiniteKernelWarning):
        shorter = KernelPLSRegressor(2, kernel="precomputed").fit(K[:15, :15], y[:15])
    np.testing.assert_allclose(model.predict(K), shorter.predict(K[:, :15]), rtol=1e-7)
    np.testing.assert_allclose(
        model.predict_interval(K), shorter.predict_interval(K[:, :15]), rtol=1e-6
    )


def test_folds_of_a_corrected_kernel_need_no_further_correction():
    _, K, y = make_kernel()
    with pytest.warns(IndefiniteKernelWarning) as caught:
        KernelPLSRegressor("cv", kernel="precomputed", cv=4, max_components=3).fit(np.floor(K), y)
    assert len([one for one in caught if one.category is IndefiniteKernelWarning]) == 1


def test_distances_are_refused_with_advice():
    X, _, y = make_kernel()
    with pytest.raises(InvalidInputError, match=r"If X holds distances.*exp\(-gamma"):
        KernelPLSRegressor(kernel="precomputed").fit(pairwise.euclidean_distances(X), y)


def test_the_path_itself_refuses_an_indefinite_kernel():
    _, K, y = make_kernel()
    with pytest.raises(InvalidInputError, match="must be positive semi-definite"):
        kernel_pls_path(np.floor(K), y, "precomputed")


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((3, 4)), "square kernel matrix"),
        (np.array([[1.0, 0.2], [0.1, 1.0]]), "must be symmetric"),
    ],
)
def test_matrices_that_cannot_be_kernels_are_refused(K, message):
    with pytest.raises(InvalidInputError, match=message):
        positive_part(K)
