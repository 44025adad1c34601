"""The joint choice of components and another parameter."""

from functools import partial

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof import cross_validate, kernel_pls_path, penalized_pls_path
from plsdof.estimators import KernelPLSRegressor, PenalizedPLSRegressor


def make_curve(n, p, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    return X, np.sin(3 * X[:, 0]) + X[:, -1] ** 2 + 0.2 * rng.normal(size=n)


@pytest.mark.filterwarnings("ignore::plsdof.errors.RankExhaustedWarning")
@pytest.mark.parametrize("by", ["bic", "gcv", "left-out"])
def test_the_choice_is_the_best_of_the_choices_of_all_values(by):
    X, y = make_curve(50, 2, seed=13)
    widths = [0.01, 0.1, 1.0, 5.0]
    model = KernelPLSRegressor(by, gamma=widths, max_components=12).fit(X, y)
    paths = [kernel_pls_path(X, y, gamma=g, max_components=12) for g in widths]
    choices = [path.select(by) for path in paths]
    best = int(np.argmin([one.scores[one.index] for one in choices]))
    joint = model.joint_selection_
    assert model.gamma_ == joint.value == widths[best]
    assert model.n_components_ == choices[best].n_components
    assert model.path_.recipe.gamma == widths[best]
    for row, one in zip(joint.scores, choices, strict=True):
        np.testing.assert_allclose(row[: len(one.scores)], one.scores)
        assert np.isnan(row[len(one.scores) :]).all()
    assert f"gamma={widths[best]:g}" in repr(joint)


@pytest.mark.parametrize("seed", range(4))
def test_errors_that_differ_by_rounding_only_go_to_the_first_value(seed):
    # Three columns predict without error whatever the penalty, once all are used.
    X, y = make_problem(30, 3, seed=seed, noise=0.0)
    model = PenalizedPLSRegressor("cv", strength=[0.0, 0.1, 1.0, 10.0], cv=3).fit(X, y)
    assert np.all(model.joint_selection_.scores[:, 3] < 1e-20)
    assert (model.strength_, model.n_components_) == (0.0, 3)


def test_models_that_the_whole_data_do_not_support_are_not_chosen(monkeypatch):
    X, y = make_problem(30, 5, seed=1, noise=0.1)
    monkeypatch.setattr("plsdof._core.path.Path._has", lambda self, m: m < len(self))
    count = penalized_pls_path.__globals__["pls_filter"]

    def shortened(spectrum, max_components):
        return count(spectrum, max_components=1 if spectrum.n == 30 else max_components)

    monkeypatch.setattr("plsdof.variants.penalized.pls_filter", shortened)
    model = PenalizedPLSRegressor("cv", strength=[1.0], cv=3).fit(X, y)
    assert model.selection_.scores.argmin() > 1
    assert model.n_components_ == 1


def test_largest_models_are_compared_at_a_fixed_number_of_components():
    X, y = make_problem(40, 6, seed=2)
    values = [0.0, 1.0, 100.0]
    model = PenalizedPLSRegressor(2, strength=values).fit(X, y)
    scores = [penalized_pls_path(X, y, strength=s).left_out().press[2] / 40 for s in values]
    assert model.n_components_ == 2
    assert model.selection_ is None
    assert model.strength_ == values[int(np.argmin(scores))]
    np.testing.assert_allclose(model.joint_selection_.scores[:, 2], scores)


def test_groups_stay_together():
    X, y = make_problem(24, 3, seed=4)
    groups = np.repeat(np.arange(6), 4)
    model = PenalizedPLSRegressor("cv", strength=[1.0], cv=6).fit(X, y, groups=groups)
    errors = []
    for group in range(6):
        test = groups == group
        path = penalized_pls_path(X[~test], y[~test], strength=1.0)
        errors.append(np.mean((path.predict(X[test]) - y[test]) ** 2, axis=1))
    np.testing.assert_allclose(model.joint_selection_.scores[0], np.mean(errors, axis=0), rtol=1e-9)


@pytest.mark.parametrize("without", [[], slice(None, None, 5)])
def test_weights_count_in_the_cross_validation(without):
    X, y = make_curve(30, 2, seed=17)
    weights = np.random.default_rng(0).uniform(0.5, 2, 30)
    weights[without] = 0.0  # a whole fold that does not count, for one
    model = KernelPLSRegressor("cv", gamma=[0.5], cv=5, max_components=4)
    fit = partial(kernel_pls_path, gamma=0.5, max_components=4)
    result = cross_validate(X, y, fit, cv=5, sample_weight=weights)
    scores = model.fit(X, y, sample_weight=weights).joint_selection_.scores
    np.testing.assert_allclose(scores[0], result.mean_error, rtol=1e-10)
    assert model.n_components_ == result.select().n_components


@pytest.mark.parametrize("unit", [1e-65, 1e65])
def test_the_choice_does_not_depend_on_the_unit_of_y(unit):
    X, y = make_problem(30, 8, seed=4)
    model = PenalizedPLSRegressor("cv", strength=[0.0, 1.0, 10.0], cv=5)
    plain, scaled = (model.fit(X, one).joint_selection_.value for one in (y, y * unit))
    assert scaled == plain


def test_an_average_is_taken_at_the_value_of_the_best_single_model():
    X, y = make_curve(40, 2, seed=3)
    model = KernelPLSRegressor("average", gamma=[0.1, 1.0]).fit(X, y)
    assert model.model_.is_average
    assert model.gamma_ == KernelPLSRegressor(gamma=[0.1, 1.0]).fit(X, y).gamma_
