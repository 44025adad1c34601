"""`Path.refit`: other responses of the same rows, on one decomposition of X."""

import numpy as np
import pytest
from _helpers.responses import make_responses, scaled

from plsdof import kernel_pls_path, pcr_path, penalized_pls_path, pls_path, ridge_path
from plsdof._core import routes
from plsdof.errors import RankExhaustedWarning

WEIGHTS = np.array([0.0, 1.0, 2.0, 1.5] * 5)


def refitted(make, X, Y, sample_weight=None, **options):
    """Fit the first column of Y, and refit that to the others."""
    first = make(X, Y[:, 0], sample_weight=sample_weight, **options)
    kept = Y if sample_weight is None else Y[sample_weight > 0]
    return [first, *(first.refit(y) for y in kept.T[1:])]


def solvers(paths):
    return {path.exact.decomposition.solver for path in paths}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["auto", "svd", "gram"])
def test_columns_equal_single_paths_and_share_one_decomposition(weighted, solver):
    X, Y = make_responses(20, 5, 3)
    weights = WEIGHTS if weighted else None
    paths = refitted(pls_path, X, Y, sample_weight=weights, solver=solver)
    for j, path in enumerate(paths):
        single = pls_path(X, Y[:, j], sample_weight=weights, solver=solver)
        np.testing.assert_allclose(path.dof, single.dof, rtol=1e-10)
        np.testing.assert_allclose(path.coef, single.coef, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(path.intercept, single.intercept, rtol=1e-8)
        assert path.exact.decomposition is paths[0].exact.decomposition


def test_x_is_decomposed_once_for_many_responses(monkeypatch):
    calls = []

    def counted(gram):
        calls.append(gram.side)
        return decompose_gram(gram)

    decompose_gram = routes.decompose_gram
    monkeypatch.setattr(routes, "decompose_gram", counted)
    X, Y = make_responses(30, 5, 40)
    assert [len(path) for path in refitted(pls_path, X, Y)] == 40 * [6]
    assert calls == ["features"]


def test_one_response_that_needs_the_svd_takes_all_of_them_there():
    X, Y = make_responses(30, 8, 2, decay=0.0)
    hard, _ = make_responses(30, 8, 2, decay=6.0)
    assert solvers(refitted(pls_path, X, Y)) == {"gram"}
    # The first response lives on the leading direction and outside of X, which "gram" resolves.
    leading = np.linalg.svd(scaled(hard))[0][:, [0, 20]].sum(axis=1)
    assert solvers([pls_path(hard, leading, 1)]) == {"gram"}
    both = np.column_stack([leading, Y[:, 0]])
    with pytest.warns(RankExhaustedWarning):
        assert solvers(refitted(pls_path, hard, both, max_components=8)) == {"svd"}


METHODS = {
    "pls": (pls_path, {"max_components": 3}),
    "pcr": (pcr_path, {"max_components": 3, "scale": False}),
    "ridge": (ridge_path, {"alphas": [10.0, 1.0]}),
    "ridge, default penalties": (ridge_path, {}),
    "kernel": (kernel_pls_path, {"gamma": 0.2, "max_components": 3}),
    "penalised": (penalized_pls_path, {"strength": 2.0, "max_components": 3, "solver": "auto"}),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_fits_columns_as_if_they_came_alone(name, weighted):
    make, options = METHODS[name]
    X, Y = make_responses(20, 5, 3)
    weights = WEIGHTS if weighted else None
    paths = refitted(make, X, Y, sample_weight=weights, **options)
    for path, y in zip(paths, Y.T, strict=True):
        single = make(X, y, sample_weight=weights, **options)
        assert type(path) is type(single)
        np.testing.assert_allclose(path.dof, single.dof, rtol=1e-8)
        np.testing.assert_allclose(path.predict(X), single.predict(X), rtol=1e-7, atol=1e-7)


def test_a_refitted_column_that_needs_the_svd_takes_all_of_them_there():
    hard, Y = make_responses(30, 8, 2, decay=6.0)
    leading = np.linalg.svd(hard - hard.mean(axis=0))[0][:, [0, 20]].sum(axis=1)
    both = np.column_stack([leading, Y[:, 0]])
    options = {"strength": 0.0, "solver": "auto"}
    one = penalized_pls_path(hard, leading, max_components=1, **options)
    assert solvers([one]) == {"gram"}
    with pytest.warns(RankExhaustedWarning, match="components asked for"):
        paths = refitted(penalized_pls_path, hard, both, max_components=8, **options)
    assert solvers(paths) == {"svd"}
