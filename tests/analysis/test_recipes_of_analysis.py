"""Preprocessing chosen with the size: an analysis that follows the best recipe of a pool."""

import sys

import numpy as np
import pytest

from plsdof import RecipeRegressor
from plsdof.datasets import load_gasoline, load_ozone, make_spectra
from plsdof.errors import InvalidInputError
from plsdof.workbench.analysis import Request, analyse


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
