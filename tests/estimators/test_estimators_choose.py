"""Estimators: the default choice, averages, and rows that belong together."""

import numpy as np
import pandas as pd
import pytest
from _helpers.latent import latent_data

from plsdof import (
    KernelPLSRegressor,
    PCRegressor,
    PenalizedPLSRegressor,
    PLSRegressor,
    RidgeRegressor,
    pls_path,
)
from plsdof.errors import EmptyModelWarning
from plsdof.models.files import load_model, save_model

X, Y = latent_data(40, 8, 0, noise=1.0)
ESTIMATORS = [
    PLSRegressor,
    PCRegressor,
    RidgeRegressor,
    KernelPLSRegressor,
    PenalizedPLSRegressor,
]


def averaging(kind, **options):
    return kind(**{"alpha" if kind is RidgeRegressor else "n_components": "average"}, **options)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_default_is_the_error_of_rows_left_out(kind):
    model = kind().fit(X, Y)
    assert (model.selection_.criterion, model.selection_.rule) == ("left-out", "best-model")
    left = model.path_.left_out()
    assert model.selection_.left_out.press.min() == pytest.approx(left.press.min(), rel=1e-9)
    # The error to report is that of the choice made again without each fold.
    held = model.selection_.held_out.residuals
    assert model.model_.rmse == pytest.approx(left.root_mean_square(held), rel=1e-9)
    assert f"{model.model_.rmse:.4g}" in model.selection_.message


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_average_answers_like_any_model(kind):
    model = averaging(kind).fit(X, Y)
    average = model.path_.average()
    np.testing.assert_allclose(model.predict(X), average.fitted, rtol=1e-7)
    assert model.dof_ == pytest.approx(average.dof)
    assert model.noise_std_ == pytest.approx(average.noise_std)
    assert model.selection_.rule == "average"
    limits = model.predict_interval(X[:3])
    assert np.all(limits[:, 0] < model.predict(X[:3]))
    assert np.all(limits[:, 1] > model.predict(X[:3]))


def test_an_average_has_intervals_scores_and_a_summary():
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = PLSRegressor("average").fit(frame, Y)
    limits = model.conf_int()
    assert limits.index.tolist() == list("abcdefgh")
    np.testing.assert_allclose(limits.mean(axis=1), model.coef_)
    assert model.transform(frame).shape == (40, model.model_.index)
    assert 0 < model.n_components_ < 8
    assert "average" in str(model.summary())


def test_a_width_and_an_average_go_together():
    model = KernelPLSRegressor("average", gamma=[0.01, 0.1]).fit(X, Y)
    assert model.selection_.rule == "average"
    np.testing.assert_allclose(model.predict(X), model.model_.fitted)


def test_an_average_is_kept_in_a_file(tmp_path):
    model = PLSRegressor("average").fit(X, Y)
    save_model(model, tmp_path / "model.json")
    kept = load_model(tmp_path / "model.json")
    np.testing.assert_allclose(kept.predict(X), model.predict(X))


def test_groups_are_left_out_together_and_lead_to_simpler_models_and_wider_intervals():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(20), 5)
    rows = np.repeat(rng.normal(size=(20, 30)), 5, axis=0) + 0.01 * rng.normal(size=(100, 30))
    y = np.repeat(rng.normal(size=20), 5)
    alone = PLSRegressor().fit(rows, y)
    together = PLSRegressor().fit(rows, y, groups=groups)
    assert together.n_components_ < alone.n_components_
    width = np.diff(together.predict_interval(rows[:1]))
    assert width > 2 * np.diff(alone.predict_interval(rows[:1]))


def test_unknown_words_are_refused():
    with pytest.raises(ValueError, match="'average'"):
        PLSRegressor("mean").fit(X, Y)


def test_a_path_of_an_estimator_is_the_whole_path():
    model = PLSRegressor("average", max_components=5).fit(X, Y)
    np.testing.assert_allclose(model.path_.dof, pls_path(X, Y, 5).dof)


def contrast(seed):
    """A signal behind a strong direction that has nothing to do with it."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(40, 1))
    rows = 3.0 * common + rng.normal(size=(40, 10))
    return rows, rows @ np.resize([1.0, -1.0], 10) + rng.normal(size=40)


@pytest.mark.parametrize(("seed", "rule"), [(0, "paper"), (3, "first-minimum")])
def test_an_empty_model_is_not_chosen_in_silence(seed, rule):
    X, y = contrast(seed)
    first = PLSRegressor("bic", rule=rule)
    with pytest.warns(EmptyModelWarning):
        first.fit(X, y)
    assert first.n_components_ == 0
    assert first.selection_.remark("empty-model") is not None
    # The warning is about the choice, not about empty models that were asked for.
    assert PLSRegressor(0).fit(X, y).n_components_ == 0
    assert PLSRegressor().fit(X, y).n_components_ > 0
