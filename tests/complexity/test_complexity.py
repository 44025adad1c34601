"""Degrees of Freedom of any regressor: what the results say, and how they are obtained."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from _helpers.problems import make_problem
from _helpers.regressors import (
    CHOOSING,
    FIXED_BY_CHOICE,
    LINEAR,
    TIGHT,
    N,
    P,
    drawn_dof,
    make_data,
    scaled,
)
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor, StackingRegressor
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    Lasso,
    LassoCV,
    LassoLars,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from plsdof import PLSRegressor, RecipeRegressor, pcr_path, pls_path, ridge_path
from plsdof.chemometrics import Preprocessor
from plsdof.complexity.regressors import degrees_of_freedom, monte_carlo_dof
from plsdof.errors import InvalidInputError, NotAvailableError


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.mark.parametrize("name", LINEAR)
def test_the_size_of_the_perturbations_does_not_matter_for_linear_fits(name, data):
    X, y = data
    small, large = (
        degrees_of_freedom(LINEAR[name], X, y, "monte-carlo", noise=1.0, step=step, n_draws=4)
        for step in (1e-3, 1.0)
    )
    np.testing.assert_allclose(small.draws, large.draws, atol=1e-6)


def test_least_squares_has_one_per_independent_predictor_and_the_intercept(data):
    X, y = data
    doubled = np.column_stack([X, X[:, 0] - 2 * X[:, 1]])
    assert degrees_of_freedom(LinearRegression(), X, y).value == P + 1
    assert degrees_of_freedom(LinearRegression(), doubled, y).value == P + 1
    assert degrees_of_freedom(Ridge(1e-9), doubled, y).value == pytest.approx(P + 1)


def test_lasso_counts_non_zeros_and_repeated_predictors_once(data):
    X, y = data
    count = np.count_nonzero(Lasso(0.1, **TIGHT).fit(X, y).coef_)
    assert 1 < count < P
    assert degrees_of_freedom(Lasso(0.1, **TIGHT), X, y).value == count + 1
    twice = np.column_stack([X, X])
    split = Lasso(0.1, selection="random", random_state=0, **TIGHT)
    assert degrees_of_freedom(split, twice, y).value == count + 1
    assert degrees_of_freedom(Lasso(100.0), X, y).value == 1


def test_masked_values_are_missing_to_the_regressor(data):
    X, y = data
    with pytest.raises(ValueError, match="Input X contains NaN"):
        degrees_of_freedom(Ridge(), np.ma.masked_equal(X, X[2, 1]), y)


@pytest.mark.parametrize("k", [1, 3, 7, N])
def test_nearest_neighbours_have_n_over_k(k, data):
    assert degrees_of_freedom(KNeighborsRegressor(k), *data).value == pytest.approx(N / k)


def test_rows_that_coincide_share_their_weight():
    X, y = make_data()
    X[3] = X[7] = X[1]
    model = KNeighborsRegressor(4, weights="distance")
    own = [clone(model).fit(X, unit).predict(X)[i] for i, unit in enumerate(np.eye(len(y)))]
    assert degrees_of_freedom(model, X, y).value == pytest.approx(sum(own), rel=1e-12)
    assert sum(own) <= len(y) - 2


def test_nearest_neighbours_of_repeated_rows_count_own_weights_only():
    X = np.repeat(np.arange(5.0), 3)[:, None]
    y = np.arange(15.0)
    by_distance = KNeighborsRegressor(4, weights="distance")
    # Three rows at distance zero share the weight.
    assert degrees_of_freedom(by_distance, X, y).value == pytest.approx(5.0)


def test_sparse_predictors_and_frames_give_the_same_as_arrays(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    for model in (LinearRegression(), Ridge(2.0), KNeighborsRegressor(3)):
        expected = degrees_of_freedom(model, X, y).value
        sparse = degrees_of_freedom(model, scipy.sparse.csr_matrix(X), y)
        assert sparse.value == pytest.approx(expected)
        assert degrees_of_freedom(model, frame, y).value == pytest.approx(expected)
        assert degrees_of_freedom(model, X.tolist(), y.tolist()).value == pytest.approx(expected)


def test_text_columns_and_missing_values_are_the_business_of_the_estimator(data):
    X, y = data
    frame = pd.DataFrame({"x": X[:, 0], "group": np.where(np.arange(N) % 3 == 0, "a", "b")})
    frame.loc[4, "x"] = np.nan
    columns = ColumnTransformer(
        [("number", SimpleImputer(), ["x"]), ("word", OneHotEncoder(), ["group"])]
    )
    assert degrees_of_freedom(make_pipeline(columns, LinearRegression()), frame, y).value == 3
    tree = DecisionTreeRegressor(max_depth=1)
    assert degrees_of_freedom(tree, frame[["x"]], y, n_draws=4).method == "monte-carlo"


@pytest.mark.parametrize("name", CHOOSING)
def test_a_choice_by_y_is_counted_by_default_and_taken_as_given_by_exact(name, data):
    model, chosen = CHOOSING[name]
    given = degrees_of_freedom(model, *data, "exact")
    assert given.method == "conditional"
    assert chosen in given.message
    assert "not included" in given.message
    counted = degrees_of_freedom(model, *data, n_draws=4)
    assert counted.method == "monte-carlo"
    assert counted.conditional == given.value
    assert chosen in counted.message
    assert len(counted.draws) == 4


@pytest.mark.parametrize("name", FIXED_BY_CHOICE)
def test_the_conditional_value_is_that_of_the_chosen_model(name, data):
    model = CHOOSING[name][0]
    fixed = FIXED_BY_CHOICE[name](clone(model).fit(*data))
    conditional = degrees_of_freedom(model, *data, "exact").value
    assert conditional == pytest.approx(degrees_of_freedom(fixed, *data).value, rel=1e-6)


def test_an_average_holds_something_fixed_and_says_so(data):
    model = PLSRegressor("average")
    given = degrees_of_freedom(model, *data, "exact")
    assert given.method == "conditional"
    assert "Given the models with weight" in given.message
    assert given.value == pytest.approx(clone(model).fit(*data).dof_)
    counted = degrees_of_freedom(model, *data, n_draws=4)
    assert counted.method == "monte-carlo"
    assert counted.conditional == given.value


class Halved(RegressorMixin, BaseEstimator):
    """The smoother y / 2: linear, but no class we know."""

    def fit(self, X, y):  # noqa: ARG002
        self.values_ = y / 2
        return self

    def predict(self, X):  # noqa: ARG002
        return self.values_


class SecretLinearRegression(LinearRegression):
    """A subclass may do anything."""


UNKNOWN = {
    "unknown class": Halved(),
    "subclass": SecretLinearRegression(),
    "subclass of the same name": type("Ridge", (Ridge,), {})(),
    "tree": DecisionTreeRegressor(max_depth=2),
    "support vectors": SVR(C=1.0),
    "choice of predictors": make_pipeline(SelectKBest(f_regression, k=2), LinearRegression()),
    "unknown transformer": make_pipeline(KMeans(2, n_init=1), LinearRegression()),
    "hidden in a union": make_pipeline(
        FeatureUnion([("a", StandardScaler()), ("b", SelectKBest(f_regression, k=1))]), Ridge()
    ),
    "transformed response": TransformedTargetRegressor(Ridge(), transformer=StandardScaler()),
    "least angles": LassoLars(0.1),
    "kernel ridge": KernelRidge(alpha=0.3, kernel="rbf", gamma=0.1),
    "a penalty chosen by folds": LassoCV(cv=3, alphas=20),
    "search": GridSearchCV(KNeighborsRegressor(), {"n_neighbors": [2, 5, 9]}, cv=3),
    "random features": scaled(Nystroem(n_components=8), Ridge(0.1)),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_no_rule_covers_goes_to_monte_carlo_and_is_refused_as_exact(name, data):
    result = degrees_of_freedom(UNKNOWN[name], *data, n_draws=4)
    assert result.method == "monte-carlo"
    assert result.conditional is None
    assert "Monte Carlo because" in result.message
    with pytest.raises(NotAvailableError, match="Use method='monte-carlo'"):
        degrees_of_freedom(UNKNOWN[name], *data, "exact")


def test_a_regressor_that_shows_predict_only_once_it_is_fitted_is_one(data):
    stacked = StackingRegressor([("least squares", LinearRegression())])
    assert degrees_of_freedom(stacked, *data, noise=1.0, n_draws=4).method == "monte-carlo"


def test_a_function_of_x_counts_as_blind(data):
    model = make_pipeline(FunctionTransformer(np.abs), LinearRegression())
    assert degrees_of_freedom(model, *data).value == P + 1


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(Preprocessor("adaptive"), PLSRegressor(3)),
        RecipeRegressor(3, recipes=["adaptive"]),
    ],
    ids=["step", "recipe"],
)
def test_a_step_that_looks_at_y_is_counted_by_perturbing_it(model):
    """The formula, which takes the columns for given, is far from the derivative of the whole."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 8))
    y = X[:, 0] + X[:, 1] + rng.normal(size=40)
    with pytest.raises(NotAvailableError, match="looks at"):
        degrees_of_freedom(model, X, y, "exact")
    found = degrees_of_freedom(model, X, y, n_draws=200)
    assert "0.02 x the noise's" in found.message
    assert found.method == "monte-carlo"
    step = 1e-5
    derivative = sum(
        (model.fit(X, y + e).predict(X) - model.fit(X, y - e).predict(X))[i] / (2 * step)
        for i, e in enumerate(step * np.eye(40))
    )
    assert abs(found.value - derivative) < 4 * found.std_error
    blind = make_pipeline(Preprocessor("autoscale"), PLSRegressor(3))
    assert degrees_of_freedom(blind, X, y).method == "exact"


def test_the_length_of_the_perturbation_is_taken_out_of_the_draws(data):
    result = degrees_of_freedom(Halved(), *data, n_draws=10)
    np.testing.assert_allclose(result.draws, N / 2)
    assert result.std_error < 1e-10


def test_standard_error_is_the_spread_of_repeated_estimates():
    H = np.linalg.qr(np.random.default_rng(0).normal(size=(25, 6)))[0]
    estimates = [
        monte_carlo_dof(
            lambda y, seed: H @ (H.T @ y),  # noqa: ARG005
            np.zeros(25),
            step=1.0,
            n_draws=20,
            rng=np.random.default_rng(seed),
        )
        for seed in range(300)
    ]
    values = np.array([estimate.value for estimate in estimates])
    claimed = np.sqrt(np.mean([estimate.std_error**2 for estimate in estimates]))
    assert abs(values.mean() - 6) < 4 * claimed / np.sqrt(300)
    # A spread of 300 is known to about 4 %.
    assert values.std(ddof=1) == pytest.approx(claimed, rel=0.16)


def test_a_tree_has_more_degrees_of_freedom_than_leaves():
    X, y = make_problem(80, 4, seed=1, noise=1.0)
    for leaves in (2, 4, 8):
        model = DecisionTreeRegressor(max_leaf_nodes=leaves, random_state=0)
        result = degrees_of_freedom(model, X, y, n_draws=60)
        assert result.value - 4 * result.std_error > leaves


def test_a_tree_that_interpolates_has_n(data):
    result = degrees_of_freedom(DecisionTreeRegressor(random_state=0), *data, n_draws=10)
    assert result.value == pytest.approx(N)


def test_choosing_one_of_two_means_costs_what_theory_says():
    # Two observations with mean zero and variance one; keep the larger, set the other to zero.
    # sum cov(yhat_i, y_i) = E max(y_1^2, y_2^2) = E |y|^2 max(cos^2, sin^2) = 2 (1/2 + 1/pi).
    expected = 1 + 2 / np.pi

    def keep_larger(response, seed):  # noqa: ARG001
        return np.where(np.abs(response) == np.abs(response).max(), response, 0.0)

    estimate = monte_carlo_dof(
        keep_larger, np.zeros(2), step=1.0, n_draws=4000, rng=np.random.default_rng(0)
    )
    assert estimate.std_error < 0.03
    assert abs(estimate.value - expected) < 3 * estimate.std_error


def test_results_do_not_depend_on_the_number_of_processes(data):
    forest = RandomForestRegressor(5, min_samples_leaf=3)
    one = degrees_of_freedom(forest, *data, n_draws=6)
    two = degrees_of_freedom(forest, *data, n_draws=6, n_jobs=2)
    assert_array_equal(one.draws, two.draws)
    assert one.value == two.value
    assert degrees_of_freedom(forest, *data, n_draws=6, rng=1).value != one.value


def test_the_estimator_is_left_alone(data):
    tree = DecisionTreeRegressor(max_depth=2)
    degrees_of_freedom(tree, *data, n_draws=4)
    assert not hasattr(tree, "tree_")
    assert tree.random_state is None


def test_progress_is_shown_on_stderr(data, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    degrees_of_freedom(SVR(), *data, n_draws=4, progress=True)
    shown = capsys.readouterr()
    assert "Draws" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize(("path", "index"), [("pls", 2), ("pls", 0), ("pcr", 3), ("ridge", 1)])
def test_monte_carlo_agrees_with_the_value_of_a_path(path, index, data):
    X, y = data
    made = {"pls": pls_path, "pcr": pcr_path, "ridge": ridge_path}[path](X, y)
    drawn = drawn_dof(made, y, index, step=1e-4, n_draws=16)
    assert abs(drawn.value - made.dof[index]) <= 3 * drawn.std_error + 1e-5


def test_supervised_components_cost_more_than_their_number():
    X, y = make_problem(40, 8, seed=2, noise=3.0)
    path = pcr_path(X, y, order="correlation")
    result = drawn_dof(path, y, 2, step=0.5 * path[2].noise_std, n_draws=200)
    assert result.value - 3 * result.std_error > 3


def test_the_result_carries_what_criteria_need(data):
    X, y = data
    result = degrees_of_freedom(Ridge(1.0), X, y)
    residuals = y - Ridge(1.0).fit(X, y).predict(X)
    assert result.n == N
    assert result.rss == pytest.approx(residuals @ residuals)
    assert float(result) == result.value
    assert repr(result).startswith("Ridge: ")
    assert "exact" in repr(result)


def test_the_result_is_frozen_and_its_draws_read_only(data):
    result = degrees_of_freedom(SVR(), *data, n_draws=4)
    assert result.draws.mean() == pytest.approx(result.value)
    with pytest.raises(AttributeError, match="cannot assign"):
        result.value = 3.0
    with pytest.raises(ValueError, match="read-only"):
        result.draws[0] = 3.0


def test_support_vector_regression_counts_its_free_support_vectors():
    # The fit is linear between changes of the set of residuals on the margin, and its Degrees of
    # Freedom are the size of that set (Gunter & Zhu 2007).
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=80)
    model = SVR(tol=1e-8)
    dual = np.abs(model.fit(X, y).dual_coef_[0])
    free = np.count_nonzero((dual > 1e-8) & (dual < 1 - 1e-8))
    result = degrees_of_freedom(model, X, y)
    assert abs(result.value - free) < 3 * result.std_error
    assert degrees_of_freedom(model, X, y, step=0.5).value < free - 3


def test_default_step_depends_on_jumps_and_is_stated(data):
    X, y = data
    tree = DecisionTreeRegressor(max_depth=2)
    stated = degrees_of_freedom(tree, X, y, n_draws=4).message
    assert "0.5 x the noise's (5-fold cross-validation)" in stated
    pipeline = make_pipeline(StandardScaler(), SVR())
    stated = degrees_of_freedom(pipeline, X, y, n_draws=4).message
    assert "0.02 x the noise's (5-fold cross-validation)" in stated
    for model in (
        make_pipeline(SelectKBest(f_regression, k=2), SVR()),
        PLSRegressor("bic"),
    ):  # a choice jumps
        stated = degrees_of_freedom(model, X, y, n_draws=4).message
        assert "0.5 x the noise's (5-fold cross-validation)" in stated
    given = degrees_of_freedom(SVR(), X, y, n_draws=4, noise=4.0, step=0.25).message
    assert "standard deviation 0.5 = 0.25 x the noise's (as given)" in given


def test_warnings_of_the_draws_are_counted_in_the_message(data):
    model = MLPRegressor(hidden_layer_sizes=(3,), max_iter=2, random_state=0)
    with pytest.warns(UserWarning, match="Maximum iterations"):
        result = degrees_of_freedom(model, *data, n_draws=4)
    assert "4 draw(s) issued ConvergenceWarning" in result.message


INVALID = {
    "a classifier": (lambda X, y: (LogisticRegression(), X, y), "defined for regressors"),
    "a transformer": (lambda X, y: (StandardScaler(), X, y), "defined for regressors"),
    "a word": (lambda X, y: ("ridge", X, y), "'ridge' of type str"),
    "a class": (lambda X, y: (Ridge, X, y), r"give an instance, Ridge\(\)"),
    "two responses": (lambda X, y: (Ridge(), X, np.c_[y, y]), "once per column"),
    "NaN in y": (lambda X, y: (Ridge(), X, np.where(y > y[0], np.nan, y)), "NaN or infinity"),
    "NaN in X": (lambda X, y: (Ridge(), np.where(X > 1, np.nan, X), y), "Input X contains NaN"),
    "other lengths": (lambda X, y: (Ridge(), X[:-1], y), f"{N - 1} rows"),
    "no data": (lambda X, y: (Ridge(), None, X @ X[0] + y), "X must be"),
    "a path": (lambda X, y: (pls_path(X, y), X, y), "a path has its own"),
    "negative responses": (
        lambda X, y: (PoissonRegressor(), X, np.maximum(y, 0.0)),
        "give a smaller step",
    ),
    "no noise": (lambda X, y: (SVR(), X, np.ones(len(y))), r"Give noise=<variance>"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_input_is_refused_with_advice(name, data):
    make, message = INVALID[name]
    with pytest.raises(InvalidInputError, match=message):
        degrees_of_freedom(*make(*data), n_draws=5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "fast"}, "method must be one of 'auto', 'exact', 'monte-carlo'"),
        ({"n_draws": 3}, "n_draws must be >= 4"),
        ({"noise": -1.0}, "noise must be finite and > 0"),
        ({"step": [0.1, 0.2]}, "step must be one number"),
        ({"rng": "x"}, "rng must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_invalid_options_are_refused_with_advice(options, message, data):
    with pytest.raises(InvalidInputError, match=message):
        degrees_of_freedom(SVR(), *data, **options)
