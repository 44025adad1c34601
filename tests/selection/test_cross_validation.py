"""Cross-validation: fits and scores of the folds against independent computations."""

import numpy as np
import pytest
from _helpers.made_results import made_from_predictions
from _helpers.problems import make_problem
from numpy.testing import assert_allclose, assert_array_equal

from plsdof import pcr_path, pls_path, ridge_path
from plsdof.errors import NotAvailableError
from plsdof.selection.cross_validation import cross_validate, make_folds


def test_every_fold_equals_a_dense_loop_with_scikit_learn(problem):
    from scipy.stats import pearsonr
    from sklearn.cross_decomposition import PLSRegression

    X, y = problem
    result = cross_validate(X, y, cv=5, max_components=6)
    for i in range(5):
        test = np.arange(47) % 5 == i
        for m in range(1, 7):
            model = PLSRegression(m, scale=True).fit(X[~test], y[~test])
            yhat = np.ravel(model.predict(X[test]))
            assert_allclose(result.predictions[0, m, test], yhat, rtol=1e-9)
            assert_allclose(result.fold_errors[i, m], np.mean((y[test] - yhat) ** 2), rtol=1e-9)
            assert_allclose(result.fold_correlations[i, m], pearsonr(yhat, y[test])[0], rtol=1e-9)
        assert_allclose(result.predictions[0, 0, test], y[~test].mean(), rtol=1e-12)


def test_errors_are_those_of_all_rows_and_correlations_means_over_folds(problem):
    result = cross_validate(*problem, cv=5, max_components=4)
    residuals = result.predictions[0] - problem[1]
    assert_allclose(result.mean_error, np.mean(residuals**2, axis=1))
    even = cross_validate(problem[0][:45], problem[1][:45], cv=5, max_components=4)
    assert_allclose(even.mean_error, even.fold_errors.mean(axis=0))
    assert_allclose(even.std_error, even.fold_errors.std(axis=0, ddof=1) / np.sqrt(5))
    sizes = np.array([len(fold.test) for fold in result.folds])
    shares = sizes / 47
    spread = shares @ (result.fold_errors - result.mean_error) ** 2
    assert_allclose(result.std_error, np.sqrt(spread / 4))
    assert_allclose(result.mean_correlation[1:], result.fold_correlations[:, 1:].mean(axis=0))
    assert_array_equal(sizes, [10, 10, 9, 9, 9])


@pytest.mark.parametrize(("path", "block"), [("pls", "cv"), ("pcr", "pcr_cv")])
def test_errors_and_choices_equal_those_of_r(reference, path, block):
    expected = getattr(reference, block)
    size = len(expected["error"])
    result = cross_validate(reference.X, reference.y, path, max_components=size - 1)
    # R's plsdof averages over folds, whatever their sizes.
    assert_allclose(result.fold_errors.mean(axis=0), expected["error"], rtol=1e-10)
    assert result.select().n_components == expected["m_opt"]
    if "m_opt_cor" in expected:
        assert result.select("pearson").n_components == expected["m_opt_cor"]


def ridge_with_divisor_n(X, y, penalties):
    """Ridge on predictors scaled with divisor n: X'X is n/(n-1) times ours, and so is alpha."""
    return ridge_path(X, y, penalties * (len(y) - 1) / len(y))


def test_ridge_errors_and_choice_equal_those_of_r(reference):
    penalties, errors = np.array(reference.ridge_cv["lambda"]), []
    X, y = reference.X, reference.y
    for fold in make_folds(X, y, 10):
        part = ridge_with_divisor_n(X[fold.train], y[fold.train], penalties)
        errors.append(np.mean((y[fold.test] - part.predict(X[fold.test])) ** 2, axis=1))
    found = np.mean(errors, axis=0)
    assert_allclose(found, reference.ridge_cv["error"], rtol=1e-9)
    chosen = int(np.argmin(found))
    assert penalties[chosen] == reference.ridge_cv["lambda_opt"]
    coef = ridge_with_divisor_n(X, y, penalties).coef[chosen]
    # Rounding is relative to the largest coefficient, and differs between processors.
    assert_allclose(
        coef, reference.ridge_cv["coefficients"], rtol=1e-9, atol=1e-11 * max(abs(coef))
    )


def test_a_recipe_without_penalties_has_the_same_ones_in_every_fold(problem):
    X, y = problem
    by_recipe = cross_validate(X, y, ridge_path(X, y).recipe)
    assert_allclose(by_recipe.rmse, cross_validate(X, y, "ridge").rmse, rtol=1e-12)


def test_ridge_equals_scikit_learn(problem):
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import KFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = problem[0][:45], problem[1][:45]
    # StandardScaler divides by n; every training part has 36 rows.
    models = [make_pipeline(StandardScaler(), Ridge(a * 36 / 35)) for a in (10.0, 1.0)]
    folds = KFold(5)
    expected = [
        cross_val_score(m, X, y, cv=folds, scoring="neg_mean_squared_error") for m in models
    ]
    result = cross_validate(X, y, "ridge", folds, alphas=[10.0, 1.0])
    assert_allclose(result.fold_errors, -np.array(expected).T, rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_uneven_folds_with_ties_equal_those_of_scipy(weighted):
    from scipy.stats import pearsonr

    rng = np.random.default_rng(4)
    sizes = np.array([5, 9, 1, 5, 2])
    predictions = rng.integers(0, 4, (3, 22)).astype(float)
    predictions[1, 5:14] = 2.0  # does not vary in fold 1
    observed = rng.integers(0, 5, 22).astype(float)
    weights = rng.uniform(0.5, 2.0, 22) if weighted else None
    result = made_from_predictions(predictions, observed, sizes, weights)
    errors, correlations = result.fold_errors, result.fold_correlations
    for i, end in enumerate(np.cumsum(sizes)):
        rows = slice(end - sizes[i], end)
        w = None if weights is None else weights[rows]
        for k, yhat in enumerate(predictions[:, rows]):
            target = observed[rows]
            assert_allclose(errors[i, k], np.average((yhat - target) ** 2, weights=w))
            if np.ptp(target) == 0:
                assert np.isnan(correlations[i, k])
                continue
            if np.ptp(yhat) == 0:  # a constant has no correlation with anything
                assert correlations[i, k] == 0
                continue
            expected = pearsonr(yhat, target).statistic
            if w is not None:
                moments = np.cov(yhat, target, aweights=w)
                expected = moments[0, 1] / np.sqrt(moments[0, 0] * moments[1, 1])
            assert_allclose(correlations[i, k], expected, atol=1e-14)
    assert correlations[1, 1] == 0
    assert np.isnan(correlations[2, 0])


def test_scale_is_passed_on(problem):
    X, y = problem
    result = cross_validate(X, y, cv=4, max_components=2, scale=False)
    test = np.arange(47) % 4 == 1
    path = pls_path(X[~test], y[~test], 2, scale=False)
    assert_allclose(result.predictions[0][:, test], path.predict(X[test]), rtol=1e-12)
    other = cross_validate(X, y, cv=4, max_components=2)
    assert not np.allclose(result.mean_error[1:], other.mean_error[1:], rtol=1e-3)


def test_sample_weights_enter_fits_and_errors(problem):
    X, y = problem
    w = np.random.default_rng(1).uniform(0.5, 3.0, size=47)
    result = cross_validate(X, y, cv=4, max_components=3, sample_weight=w)
    for i in range(4):
        test = np.arange(47) % 4 == i
        path = pls_path(X[~test], y[~test], 3, sample_weight=w[~test])
        squares = (path.predict(X[test]) - y[test]) ** 2
        assert_allclose(result.fold_errors[i], np.average(squares, axis=1, weights=w[test]))
        moments = np.cov(path.predict(X[test])[2], y[test], aweights=w[test])
        correlation = moments[0, 1] / np.sqrt(moments[0, 0] * moments[1, 1])
        assert_allclose(result.fold_correlations[i, 2], correlation)


def test_rows_of_weight_zero_count_for_nothing(problem):
    X, y = problem
    kept = np.arange(47) % 3 > 0
    w = np.where(kept, 1.5, 0.0)
    junk = np.where(kept, y, 1e6)
    folds = [(np.arange(47) % 4 != i, np.arange(47) % 4 == i) for i in range(4)]
    full = cross_validate(X, junk, cv=folds, max_components=3, sample_weight=w)
    fewer = [(train[kept], test[kept]) for train, test in folds]
    part = cross_validate(X[kept], y[kept], cv=fewer, max_components=3, sample_weight=w[kept])
    assert_allclose(full.fold_errors, part.fold_errors, rtol=1e-10)
    assert_allclose(full.fold_correlations, part.fold_correlations, rtol=1e-10)
    assert_allclose(full.row_losses().sum(axis=0), part.row_losses().sum(axis=0), rtol=1e-9)


def test_a_fold_without_weight_is_left_out_of_the_means():
    X, y = make_problem(12, 2, seed=5)
    w = np.ones(12)
    w[0] = 0.0
    result = cross_validate(X, y, cv=12, sample_weight=w)
    assert np.isnan(result.fold_errors[0]).all()
    assert_allclose(result.mean_error, result.fold_errors[1:].mean(axis=0))
    assert_allclose(result.std_error, result.fold_errors[1:].std(axis=0, ddof=1) / np.sqrt(11))


def test_data_frames_give_the_same_result(problem):
    import pandas as pd
    import polars as pl

    X, y = problem
    names = [f"x{i}" for i in range(8)]
    expected = cross_validate(X, y, cv=3).fold_errors
    as_pandas = cross_validate(pd.DataFrame(X, columns=names), pd.Series(y), cv=3)
    as_polars = cross_validate(pl.DataFrame(X, schema=names), pl.Series(y), cv=3)
    assert_allclose(as_pandas.fold_errors, expected, rtol=1e-12)
    assert_allclose(as_polars.fold_errors, expected, rtol=1e-12)


def test_leave_one_out_errors_equal_the_hat_matrix_shortcut():
    X, y = make_problem(20, 3, seed=2)
    result = cross_validate(X, y, cv=20)
    path = pls_path(X, y)
    residuals = y - path.fitted[3]  # least squares: PLS with all components
    assert_allclose(result.mean_error[3], np.mean((residuals / (1 - path.leverage(3))) ** 2))
    assert_allclose(result.mean_error[0], np.var(y) * (20 / 19) ** 2)


def test_sizes_are_cut_to_what_the_smallest_fold_supports():
    X, y = make_problem(12, 30, seed=0)
    result = cross_validate(X, y, cv=[(range(6), range(6, 12)), (range(4, 12), range(4))])
    assert_array_equal(result.parameters, np.arange(6))  # 6 rows support 5 components
    assert cross_validate(X, y, cv=3).message == ""


def test_models_that_a_fold_does_not_have_are_left_out():
    X, y = make_problem(20, 4, seed=1)
    X[1::2, 3] = 0.0  # without the even rows there is one column less
    folds = [(np.arange(1, 20, 2), np.arange(0, 20, 2)), (np.arange(0, 20, 2), np.arange(1, 20, 2))]
    result = cross_validate(X, y, cv=folds)
    assert len(result.parameters) == 4
    assert result.message
    first = result.predictions[0][:, ::2]
    assert_allclose(first[3], pls_path(X[1::2, :3], y[1::2], 3).predict(X[::2, :3])[3])


def test_constant_response_leaves_the_empty_model():
    X, _ = make_problem(15, 3, seed=0)
    result = cross_validate(X, np.full(15, 0.1), cv=3, max_components=2)
    assert_array_equal(result.parameters, [0.0])
    assert_allclose(result.mean_error, 0.0, atol=1e-30)
    assert result.message


def test_constant_response_works_without_warnings():
    X, _ = make_problem(15, 3, seed=0)
    result = cross_validate(X, np.full(15, 0.1), "ridge", 3, alphas=[1.0])
    assert_allclose(result.mean_error, 0.0, atol=1e-30)
    assert np.isnan(result.mean_correlation).all()
    with pytest.raises(NotAvailableError):
        result.select("pearson")


def test_ridge_default_penalties_are_common_to_all_folds(problem):
    X, y = problem
    result = cross_validate(X, y, "ridge", 5)
    assert_allclose(result.parameters, ridge_path(X, y).alphas)


def test_a_recipe_is_as_good_as_a_name_and_another_solver_is_refitted(problem):
    X, y = problem
    named = cross_validate(X, y, "pls", 5, max_components=4)
    recipe = pls_path(X, y, 4).recipe
    assert_array_equal(cross_validate(X, y, recipe, 5).fold_errors, named.fold_errors)
    slow = cross_validate(X, y, recipe.with_options(solver="svd"), 5)
    assert_allclose(slow.fold_errors, named.fold_errors, rtol=1e-9)


def test_a_recipe_remembers_all_of_its_options(problem):
    X, y = problem
    recipe = pcr_path(X, y, order="correlation", among=3).recipe
    found = cross_validate(X, y, recipe, 5)
    test = np.arange(47) % 5 == 0
    path = pcr_path(X[~test], y[~test], order="correlation", among=3)
    assert_allclose(found.predictions[0][:, test], path.predict(X[test]))
