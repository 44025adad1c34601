"""PLSRegressor(missing="impute"): holes filled by X alone, made again without held-out rows."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from plsdof import PCRegressor, PLSRegressor, load_model, pls_path
from plsdof.chemometrics import Preprocessor
from plsdof.datasets import load_ozone
from plsdof.errors import InvalidInputError

X, y = load_ozone(return_X_y=True)
X, y = X[:60], y[:60]
HOLES = X.copy()
HOLES[np.random.default_rng(3).uniform(size=X.shape) < 0.1] = np.nan


@parametrize_with_checks([PLSRegressor(1, missing="impute")])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_the_fit_is_that_to_the_completed_rows():
    model = PLSRegressor(3, missing="impute").fit(HOLES, y)
    imputer = Preprocessor("impute").fit(HOLES)
    path = pls_path(imputer.transform(HOLES), y, 3)
    np.testing.assert_allclose(model.coef_, path.coef[3])
    assert model.dof_ == pytest.approx(path.dof[3])
    assert model.n_imputed_ == np.isnan(HOLES).sum()
    expected = path.predict(imputer.transform(HOLES[:7]))[3]
    np.testing.assert_allclose(model.predict(HOLES[:7]), expected)
    np.testing.assert_allclose(model.transform(HOLES).shape, (60, 3))


@pytest.mark.parametrize("kind", [PLSRegressor, PCRegressor])
def test_folds_impute_anew(kind):
    model = kind(cv=5, max_components=4, missing="impute").fit(HOLES, y)
    left = model.selection_.left_out
    test = np.arange(60) % 5 == 2
    alone = kind(model.n_components_, missing="impute").fit(HOLES[~test], y[~test])
    expected = y[test] - alone.predict(HOLES[test])
    np.testing.assert_allclose(left.residuals[model.n_components_, test], expected, atol=1e-8)


def test_intervals_averages_and_files(tmp_path):
    model = PLSRegressor("average", missing="impute", cv=5).fit(HOLES, y)
    limits = model.predict_interval(HOLES[:5])
    assert np.all(limits[:, 0] < model.predict(HOLES[:5]))
    model.save(tmp_path / "model.json")
    kept = load_model(tmp_path / "model.json")
    np.testing.assert_allclose(kept.predict(HOLES[:5]), model.predict(HOLES[:5]))


def test_tags_follow():
    assert PLSRegressor(missing="impute").__sklearn_tags__().input_tags.allow_nan
    tags = PLSRegressor().__sklearn_tags__()
    assert not tags.input_tags.allow_nan
    assert tags.input_tags.sparse
    assert not PLSRegressor(missing="impute").__sklearn_tags__().input_tags.sparse


def test_what_cannot_be_filled_is_refused():
    with pytest.raises(InvalidInputError):
        PLSRegressor().fit(HOLES, y)
    with pytest.raises(InvalidInputError):
        PLSRegressor(missing="guess").fit(X, y)
    infinite = HOLES.copy()
    infinite[0, 0] = np.inf
    with pytest.raises(InvalidInputError):
        PLSRegressor(missing="impute").fit(infinite, y)
    with pytest.raises(InvalidInputError):
        PLSRegressor(missing="impute").fit(HOLES, np.where(y > 5, y, np.nan))
    model = PLSRegressor(2, missing="impute").fit(HOLES, y)
    assert not hasattr(model.set_params(missing="raise").fit(X, y), "n_imputed_")
