"""Figures of merit: against scikit-learn and scipy, and where they are not defined."""

import numpy as np
import pytest
from _helpers.problems import make_problem
from scipy import stats
from sklearn.metrics import r2_score, root_mean_squared_error

from plsdof import pcr_path, pls_path, ridge_path
from plsdof.chemometrics import figures_of_merit
from plsdof.chemometrics.merit import figures_of_fit
from plsdof.errors import InvalidInputError


def test_figures_are_those_of_other_libraries():
    rng = np.random.default_rng(0)
    y = 50 + rng.normal(size=37)
    predicted = 0.9 * y + 5.3 + 0.2 * rng.normal(size=37)
    found = figures_of_merit(y, predicted)
    assert found.n == 37
    assert found.rmse == pytest.approx(root_mean_squared_error(y, predicted), rel=1e-12)
    assert found.r2 == pytest.approx(r2_score(y, predicted), rel=1e-12)
    assert found.bias == pytest.approx(np.mean(predicted - y), rel=1e-12)
    assert found.sep == pytest.approx(np.std(predicted - y, ddof=1), rel=1e-12)
    assert found.rpd == pytest.approx(np.std(y, ddof=1) / found.sep, rel=1e-12)
    assert found.rpiq == pytest.approx(stats.iqr(y) / found.sep, rel=1e-12)
    line = stats.linregress(y, predicted)
    assert found.slope == pytest.approx(line.slope, rel=1e-10)
    assert found.intercept == pytest.approx(line.intercept, rel=1e-10)
    assert found.rmse**2 == pytest.approx(found.bias**2 + found.sep**2 * 36 / 37, rel=1e-12)
    assert found.std_errors["slope"] == pytest.approx(line.stderr, rel=1e-8)
    assert found.std_errors["intercept"] == pytest.approx(line.intercept_stderr, rel=1e-8)
    assert found.std_errors["bias"] == pytest.approx(stats.sem(predicted - y), rel=1e-12)


def test_figures_do_not_depend_on_a_large_offset():
    y = np.array([1.0, 2.0, 4.0, 8.0])
    predicted = y + np.array([0.25, -0.25, 0.5, 0.0])
    plain, far = figures_of_merit(y, predicted), figures_of_merit(y + 2.0**30, predicted + 2.0**30)
    for name in ("rmse", "r2", "bias", "sep", "rpd", "rpiq", "slope"):
        assert getattr(far, name) == pytest.approx(getattr(plain, name), rel=1e-12)


@pytest.mark.parametrize("make", [pls_path, pcr_path, ridge_path])
def test_figures_of_a_fit_are_those_of_its_fitted_values(make):
    X, y = make_problem(30, 5, seed=1)
    path = make(X, y)
    model = path[len(path) // 2]
    found, known = figures_of_fit(model), figures_of_merit(y, model.fitted)
    for name in ("rmse", "r2", "sep", "rpd", "rpiq", "slope", "intercept"):
        assert getattr(found, name) == pytest.approx(getattr(known, name), rel=1e-9)
    assert figures_of_fit(model, y) == found


def test_what_is_not_defined_is_nan():
    one = figures_of_merit([3.0], [4.0])
    assert (one.rmse, one.bias) == (1.0, 1.0)
    assert np.isnan([one.r2, one.sep, one.rpd, one.rpiq, one.slope, one.intercept]).all()
    flat = figures_of_merit([3.0, 3.0], [4.0, 5.0])
    assert np.isnan([flat.r2, flat.rpd, flat.slope, flat.intercept]).all()
    exact = figures_of_merit([3.0, 4.0], [3.0, 4.0])
    assert exact.r2 == 1.0
    assert np.isnan([exact.rpd, exact.rpiq]).all()


def test_what_does_not_belong_together_is_refused():
    with pytest.raises(InvalidInputError):
        figures_of_merit([1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(InvalidInputError):
        figures_of_merit([], [])
