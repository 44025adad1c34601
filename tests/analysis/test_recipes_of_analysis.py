"""Preprocessing chosen with the size: an analysis that follows the best recipe of a pool."""

import sys

import numpy as np
import pytest
from _helpers.analyses import analyse

from plsdof import RecipeRegressor
from plsdof._core.choice import recipe_in_words
from plsdof.datasets import load_gasoline, load_ozone, make_spectra
from plsdof.errors import InvalidInputError
from plsdof.workbench.analysis import Request
from plsdof.workbench.analysis.remarks import best_single


def test_the_choice_is_that_of_the_estimator():
    X, y = load_gasoline(return_X_y=True, as_frame=True)
    found = analyse(X, y, Request(preprocess="auto"))
    model = RecipeRegressor().fit(X, y)
    assert found.data.recipe == model.recipe_
    assert found.model.index == model.n_components_
    np.testing.assert_allclose(found.model.fitted, model.predict(X), rtol=1e-7)
    np.testing.assert_allclose(found.model.rmse, model.model_.rmse)
    np.testing.assert_allclose(found.model.scores, model.model_.scores, rtol=1e-6)


def test_a_table_with_columns_of_any_units_has_recipes_of_its_own():
    X, y = load_ozone(return_X_y=True, as_frame=True)
    found = analyse(X, y, Request(preprocess="auto"))
    model = RecipeRegressor(recipes="table").fit(X, y)
    assert found.data.recipe == model.recipe_ == "adaptive"
    assert found.remark("supervised") is not None
    np.testing.assert_allclose(found.model.rmse, model.model_.rmse, rtol=1e-7)


@pytest.mark.parametrize("names", ["wavelengths", "counted", "words"])
def test_columns_decide_as_they_do_for_the_estimator_and_it_is_said(names):
    X, y = load_ozone(return_X_y=True, as_frame=True)
    called = {"wavelengths": range(900, 924, 2), "counted": range(1, 13)}
    X = X.set_axis([str(one) for one in called.get(names, X.columns)], axis=1)
    model = RecipeRegressor().fit(X, y)
    found = analyse(X, y, Request(preprocess="auto"))
    remark, same = found.remark("recipes-by-columns"), model.remarks_[0]
    assert remark.words == same.words
    assert remark.mend == {"preprocess": f"auto:{same.mend['recipes']}"}
    assert found.model.rmse == pytest.approx(model.model_.rmse, rel=1e-7)
    other = analyse(X, y, Request(**remark.mend))
    assert other.remark("recipes-by-columns") is None
    asked = RecipeRegressor(recipes=same.mend["recipes"]).fit(X, y)
    assert other.model.rmse == pytest.approx(asked.model_.rmse, rel=1e-7)


def test_the_single_model_beside_an_average_is_the_one_that_would_be_chosen():
    X, y = load_gasoline(return_X_y=True, as_frame=True)
    average = analyse(X, y, Request(preprocess="auto", criterion="average"))
    single = analyse(X, y, Request(preprocess="auto"))
    name, error = best_single(average.model, average.selection)
    assert name == f"{recipe_in_words(single.data.recipe)}, {single.model.label}"
    assert error == pytest.approx(single.model.rmse, rel=1e-9)


def scattered():
    """Spectra whose rows are multiplied by numbers of their own."""
    spectra = make_spectra(60, 80, response="water", random_state=0)
    rng = np.random.default_rng(0)
    X = np.asarray(spectra.data) * rng.uniform(0.6, 1.6, size=(60, 1)) + rng.normal(size=(60, 1))
    names = [str(1100 + 2 * i) for i in range(X.shape[1])]
    import pandas as pd

    return pd.DataFrame(X, columns=names), np.asarray(spectra.target)


def test_a_recipe_that_is_clearly_better_is_named():
    X, y = scattered()
    plain = analyse(X, y)
    best = analyse(X, y, Request(preprocess="auto"))
    assert plain.remark("better-recipe") is not None
    assert best.remark("better-recipe") is None
    assert best.model.rmse < plain.model.rmse


def test_none_is_named_where_it_would_not_help():
    X, y = load_gasoline(return_X_y=True, as_frame=True)
    assert analyse(X, y).remark("better-recipe") is None


@pytest.mark.parametrize("preprocess", ["none", "auto"])
def test_recipes_of_spectra_need_no_extra(monkeypatch, preprocess):
    X, y = load_gasoline(return_X_y=True, as_frame=True)
    request = Request(preprocess=preprocess)
    expected = analyse(X, y, request)
    for name in ("scatter", "derivative", "baseline"):
        monkeypatch.setitem(sys.modules, f"chemotools.{name}", None)
    found = analyse(X, y, request)
    assert found.remarks == expected.remarks
    assert found.model.rmse == expected.model.rmse


@pytest.mark.parametrize(
    "options",
    [{"method": "pcr"}, {"criterion": "bic"}, {"components": 3}, {"scale": True}],
)
def test_what_does_not_go_together_is_refused(options):
    with pytest.raises(InvalidInputError):
        Request(preprocess="auto", **options)
