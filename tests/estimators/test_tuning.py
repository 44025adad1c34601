"""The joint choice of components and another parameter: every value is a recipe of one pool."""

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof import kernel_pls_path, penalized_pls_path
from plsdof._core.objective import chosen_without, objective
from plsdof.errors import InvalidInputError
from plsdof.estimators import KernelPLSRegressor, PenalizedPLSRegressor


def make_curve(n, p, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    return X, np.sin(3 * X[:, 0]) + X[:, -1] ** 2 + 0.2 * rng.normal(size=n)


@pytest.mark.filterwarnings("ignore::plsdof.errors.RankExhaustedWarning")
def test_the_choice_is_the_best_vertex_of_the_pool_of_all_values():
    X, y = make_curve(50, 2, seed=13)
    widths = [0.01, 0.1, 1.0, 5.0]
    model = KernelPLSRegressor(gamma=widths, max_components=12).fit(X, y)
    paths = [kernel_pls_path(X, y, gamma=g, max_components=12) for g in widths]
    value, size = objective([path.left_out() for path in paths]).best_vertex()
    assert (model.gamma_, model.n_components_) == (widths[value], size)
    assert model.path_.recipe.gamma == widths[value]
    assert model.selection_.recipe_name == f"gamma = {widths[value]:g}"
    np.testing.assert_allclose(model.predict(X), paths[value].predict(X)[size])


def test_an_average_mixes_the_models_of_all_values():
    X, y = make_curve(50, 2, seed=13)
    widths = [0.1, 1.0, 5.0]
    model = KernelPLSRegressor("average", gamma=widths, max_components=8).fit(X, y)
    paths = [kernel_pls_path(X, y, gamma=g, max_components=8) for g in widths]
    weights = objective([path.left_out() for path in paths]).best_point()
    assert sum(w.any() for w in weights) > 1
    expected = sum(w @ path.predict(X)[: len(w)] for w, path in zip(weights, paths, strict=True))
    np.testing.assert_allclose(model.predict(X), expected)
    held = chosen_without([path.left_out() for path in paths], average=True)
    assert model.model_.rmse == pytest.approx(np.sqrt(np.mean(held.residuals**2)), rel=1e-6)
    assert not hasattr(model, "dual_coef_")
    lower, upper = model.predict_interval(X).T
    assert np.all(lower < expected)
    assert np.all(upper > expected)


def test_an_average_of_strengths_has_coefficients():
    X, y = make_problem(40, 6, seed=2, noise=1.0)
    model = PenalizedPLSRegressor("average", strength=[0.0, 10.0, 1000.0]).fit(X, y)
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.predict(X))


def test_values_are_compared_at_a_fixed_number_of_components():
    X, y = make_problem(40, 6, seed=2)
    values = [0.0, 1.0, 100.0]
    model = PenalizedPLSRegressor(2, strength=values).fit(X, y)
    scores = [penalized_pls_path(X, y, strength=s).left_out().press[2] / 40 for s in values]
    assert model.n_components_ == 2
    assert model.strength_ == values[int(np.argmin(scores))]


@pytest.mark.parametrize("choice", ["bic", "cv"])
def test_other_choices_take_one_value(choice):
    X, y = make_problem(40, 6, seed=2)
    with pytest.raises(InvalidInputError):
        PenalizedPLSRegressor(choice, strength=[0.0, 1.0]).fit(X, y)
    assert PenalizedPLSRegressor(choice, strength=1.0).fit(X, y).n_components_ >= 0


def test_groups_stay_together():
    X, y = make_problem(24, 3, seed=4)
    groups = np.repeat(np.arange(6), 4)
    model = PenalizedPLSRegressor(strength=[0.0, 1.0]).fit(X, y, groups=groups)
    fold = model.selection_.left_out.fold
    assert all(len(set(fold[groups == g])) == 1 for g in range(6))
    assert len(model.selection_.pool) == 2


@pytest.mark.parametrize("unit", [1e-65, 1e65])
def test_the_choice_does_not_depend_on_the_unit_of_y(unit):
    X, y = make_problem(30, 8, seed=4)
    model = PenalizedPLSRegressor(strength=[0.0, 1.0, 10.0], cv=5)
    plain, scaled = (model.fit(X, one).strength_ for one in (y, y * unit))
    assert scaled == plain
