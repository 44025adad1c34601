"""Estimators: the default choice, averages, and rows that belong together."""

import numpy as np
import pandas as pd
import pytest
from _helpers.latent import latent_data

from plsdof import (
    KernelPLSRegressor,
    PCRegressor,
    PenalizedPLSRegressor,
    PLS2Regressor,
    PLSRegressor,
    RidgeRegressor,
    degrees_of_freedom,
    pls_path,
)
from plsdof.errors import EmptyModelWarning
from plsdof.files.models import detach, load_model, save_model

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
def test_the_default_is_gcv_with_smoothed_degrees_of_freedom(kind):
    choice = kind().fit(X, Y).selection_
    rule = "global-minimum" if kind in (PCRegressor, RidgeRegressor) else "patient"
    assert (choice.criterion, choice.dof, choice.rule) == ("gcv", "smoothed", rule)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_average_answers_like_any_model(kind):
    model = averaging(kind).fit(X, Y)
    average = model.path_.average()
    np.testing.assert_allclose(model.predict(X), average.fitted, rtol=1e-7)
    assert model.dof_ == pytest.approx(average.dof)
    assert model.noise_std_ == pytest.approx(average.noise_std)
    assert len(model.path_.dof) > 1
    assert model.selection_.rule == "average"
    limits = model.predict_interval(X[:3])
    assert np.all(limits[:, 0] < model.predict(X[:3]))
    assert np.all(limits[:, 1] > model.predict(X[:3]))
    assert degrees_of_freedom(model, X, Y, "exact").value == pytest.approx(model.dof_)


def test_an_average_has_intervals_scores_and_a_summary():
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = PLSRegressor("average").fit(frame, Y)
    limits = model.conf_int()
    assert limits.index.tolist() == list("abcdefgh")
    np.testing.assert_allclose(limits.mean(axis=1), model.coef_)
    assert model.transform(frame).shape == (40, model.index_)
    assert 0 < model.n_components_ < 8
    assert "average" in str(model.summary())
    # No criterion judges an average, least of all that of the empty model.
    assert "criterion" not in str(model.summary())
    assert "criterion (gcv)" in str(PLSRegressor().fit(frame, Y).summary())


def test_several_responses_are_averaged_one_by_one_or_together():
    two = np.column_stack([Y, X[:, 0] + Y])
    each = PLSRegressor("average").fit(X, two)
    assert each.coef_.shape == (2, 8)
    np.testing.assert_allclose(each.coef_[0], PLSRegressor("average", solver="svd").fit(X, Y).coef_)
    joint = PLS2Regressor("average").fit(X, two)
    np.testing.assert_allclose(joint.predict(X), joint.path_.average().fitted)
    assert joint.dof_ == pytest.approx(joint.average_.dof)


def test_a_width_and_an_average_go_together():
    model = KernelPLSRegressor("average", gamma=[0.01, 0.1]).fit(X, Y)
    assert model.selection_.rule == "average"
    np.testing.assert_allclose(model.predict(X), model.average_.fitted)


def test_an_average_is_kept_in_a_file(tmp_path):
    model = PLSRegressor("average").fit(X, Y)
    save_model(detach(model), tmp_path / "model.json")
    kept = load_model(tmp_path / "model.json")
    np.testing.assert_allclose(kept.predict(X), model.predict(X))
    np.testing.assert_allclose(kept.dof, model.dof_)


def test_with_groups_the_default_is_cross_validation_over_them():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(20), 5)
    rows = np.repeat(rng.normal(size=(20, 30)), 5, axis=0) + 0.01 * rng.normal(size=(100, 30))
    y = np.repeat(rng.normal(size=20), 5)
    alone = PLSRegressor().fit(rows, y)
    together = PLSRegressor().fit(rows, y, groups=groups)
    assert together.selection_.criterion == "cv-error"
    assert together.cv_results_.groups is not None
    assert "Rows of one group are not independent" in together.selection_.message
    assert together.n_components_ < alone.n_components_
    assert PLSRegressor("bic").fit(rows, y, groups=groups).selection_.criterion == "bic"


@pytest.mark.parametrize(
    "model", [PLSRegressor("average"), PLSRegressor("bic"), KernelPLSRegressor(gamma=[0.01, 0.1])]
)
def test_every_choice_with_groups_says_what_intervals_do_not_know(model):
    model.fit(X, Y, groups=np.repeat(np.arange(10), 4))
    assert "noise level and intervals do not know" in model.selection_.message


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


def test_an_empty_model_is_not_chosen_in_silence():
    X, y = contrast(0)
    first = PLSRegressor("bic", rule="first-minimum")
    with pytest.warns(EmptyModelWarning, match="empty model, although .* would score lower"):
        first.fit(X, y)
    assert first.n_components_ == 0
    # The warning is about the choice, not about empty models that were asked for.
    assert PLSRegressor(0).fit(X, y).n_components_ == 0
    assert PLSRegressor().fit(X, y).n_components_ > 0
    two = np.column_stack([y, y + 0.1 * np.random.default_rng(1).normal(size=40)])
    with pytest.warns(EmptyModelWarning, match="empty model"):
        PLS2Regressor("bic", rule="first-minimum").fit(X, two)


def test_an_average_of_the_empty_model_says_so():
    assert pls_path(*contrast(0)).average().selection.empty_remark == ""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(20, 40)), rng.normal(size=20)
    # Exact Degrees of Freedom of models that interpolate may make a later score lower.
    empty = pls_path(X, y).average("exact")
    np.testing.assert_array_equal(empty.weights[1:], 0)
    assert "empty model, although 18 components" in empty.selection.message
    with pytest.warns(EmptyModelWarning, match="18 components"):
        PLSRegressor("average", dof="exact", max_components=19).fit(X, y)
