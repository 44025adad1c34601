"""Every public object of every kind of fit can be looked at: nothing raises but where it must."""

import inspect
import pickle

import numpy as np
import pytest
import scipy.sparse
from _helpers.problems import make_problem
from sklearn.base import clone

from plsdof import (
    KernelPLSRegressor,
    PCRegressor,
    PenalizedPLSRegressor,
    PLS2Regressor,
    PLSClassifier,
    PLSRegressor,
    RecipeRegressor,
    RidgeRegressor,
    cross_validate,
    kernel_pls_path,
    pcr_path,
    penalized_pls_path,
    pls2_path,
    pls_path,
    ridge_path,
)
from plsdof.errors import RelativeWeightsWarning
from plsdof.large import Moments

X, Y = make_problem(40, 5, seed=1, decay=1)
NOISE = np.random.default_rng(3).normal(size=(40, 6))[:, 5]
KINDS = {
    "pls": lambda: pls_path(X, Y),
    "counted": lambda: _counted(pls_path(X, Y, 3)),
    "weighted": lambda: pls_path(X, Y, sample_weight=np.arange(40) % 3 + 1),
    "pcr": lambda: pcr_path(X, Y),
    "supervised pcr": lambda: pcr_path(X, Y, order="correlation"),
    "ridge": lambda: ridge_path(X, Y),
    "kernel": lambda: kernel_pls_path(X, Y, max_components=5),
    "precomputed": lambda: kernel_pls_path(X @ X.T, Y, "precomputed", 3),
    "penalised": lambda: penalized_pls_path(X, Y),
    "sparse": lambda: pls_path(scipy.sparse.csr_array(X), Y),
    "moments": lambda: pls_path(Moments.of(X, Y)),
    "moments, few": lambda: pls_path(Moments.of(X, Y), max_components=2),
    "pls2": lambda: pls2_path(X[:, :3], X[:, 3:]),
    "model": lambda: pls_path(X, Y)[2],
    "average": lambda: pls_path(X, Y).average(),
    "ridge average": lambda: ridge_path(X, Y).average(),
    "model of moments": lambda: pls_path(Moments.of(X, Y))[2],
    "left out": lambda: pls_path(X, Y).left_out(),
    "selection": lambda: pls_path(X, Y).select(),
    "ridge selection": lambda: ridge_path(X, Y).select("bic"),
    "cross-validation": lambda: cross_validate(X, Y),
    "estimator": lambda: PLSRegressor().fit(X, Y),
    "unfitted": PLSRegressor,
    "sparse estimator": lambda: PLSRegressor().fit(scipy.sparse.csr_array(X), Y),
    "ridge estimator": lambda: RidgeRegressor().fit(X, Y),
    "kernel estimator": lambda: KernelPLSRegressor(2).fit(X, Y),
    "pls2 estimator": lambda: PLS2Regressor().fit(X[:, :3], X[:, 3:]),
    "recipes": lambda: RecipeRegressor().fit(X, Y),
    "average over recipes": lambda: RecipeRegressor("average").fit(X, Y),
    "classifier": lambda: PLSClassifier().fit(X, np.median(Y) < Y),
    # Nothing predicts a response that is noise.
    "empty": lambda: PLSRegressor(0).fit(X, Y),
    "empty by choice": lambda: PLSRegressor().fit(X, NOISE),
    "empty pcr": lambda: PCRegressor(0).fit(X, Y),
    "empty kernel": lambda: KernelPLSRegressor(0).fit(X, Y),
    "empty penalised": lambda: PenalizedPLSRegressor(0).fit(X, Y),
    "empty pls2": lambda: PLS2Regressor(0).fit(X[:, :3], X[:, 3:]),
    "empty recipes": lambda: RecipeRegressor(0).fit(X, Y),
    "empty model": lambda: pls_path(X, Y)[0],
}


def _counted(path):
    assert len(path.dof) == 4
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_every_attribute_is_there_or_not_and_says_so_to_hasattr(kind):
    made = KINDS[kind]()
    members = dict(inspect.getmembers(made))
    assert members
    for name in dir(made):
        assert isinstance(hasattr(made, name), bool)
    assert repr(made)
    if hasattr(made, "_repr_html_"):
        assert made._repr_html_()


@pytest.mark.parametrize("kind", KINDS)
def test_every_object_survives_pickling(kind):
    made = KINDS[kind]()
    again = pickle.loads(pickle.dumps(made))
    assert repr(again) == repr(made)


def test_relative_weights_are_noticed_and_counts_are_not():
    weights = np.linspace(0.1, 1.0, 40) / 40
    with pytest.warns(RelativeWeightsWarning):
        pls_path(X, Y, sample_weight=40 * weights / 4)
    pls_path(X, Y, sample_weight=weights / weights.mean())
    pls_path(X, Y, sample_weight=np.full(40, 3.0))


@pytest.mark.parametrize("kind", KINDS)
def test_every_estimator_can_be_cloned_after_a_fit(kind):
    made = KINDS[kind]()
    if hasattr(made, "get_params"):
        assert clone(made).get_params().keys() == made.get_params().keys()


def test_the_scores_of_an_empty_model_have_no_columns():
    empty = PLSRegressor(0).fit(X, Y)
    assert empty.y_scores_.shape == empty.x_scores_.shape == (40, 0)


@pytest.mark.parametrize(
    "kind",
    [
        "pls",
        "pcr",
        "ridge",
        "model",
        "average",
        "estimator",
        "ridge estimator",
        "kernel estimator",
        "recipes",
        "classifier",
        "empty by choice",
        "empty model",
    ],
)
def test_showing_computes_nothing(kind):
    made = KINDS[kind]()
    path = getattr(made, "path_", getattr(made, "path", made))
    before = set(vars(path)), set(vars(made)), path.is_counted
    assert dir(made)
    assert repr(made)
    assert made._repr_html_()
    assert (set(vars(path)), set(vars(made)), path.is_counted) == before
