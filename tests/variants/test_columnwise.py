"""One path per column of Y, on one decomposition of X."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from _helpers.responses import make_responses, scaled

from plsdof import kernel_pls_path, pcr_path, penalized_pls_path, pls_path, ridge_path
from plsdof._core import routes
from plsdof.errors import InvalidInputError, RankExhaustedError, RankExhaustedWarning
from plsdof.variants.columnwise import pcr_paths, pls_paths, refit_columns, ridge_paths


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["auto", "svd", "gram"])
def test_columns_equal_single_paths_and_share_one_decomposition(weighted, solver):
    X, Y = make_responses(20, 5, 3)
    weights = np.array([0.0, 1.0, 2.0, 1.5] * 5) if weighted else None
    paths = pls_paths(X, Y, sample_weight=weights, solver=solver)
    assert len(paths) == 3
    for j, path in enumerate(paths):
        single = pls_path(X, Y[:, j], sample_weight=weights, solver=solver)
        np.testing.assert_allclose(path.dof, single.dof, rtol=1e-10)
        np.testing.assert_allclose(path.coef, single.coef, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(path.intercept, single.intercept, rtol=1e-8)
        assert path.exact.decomposition is paths[0].exact.decomposition


def test_x_is_decomposed_once_for_many_responses(monkeypatch):
    calls = []

    def counted(data, solver):
        calls.append(solver)
        return decompose(data, solver)

    decompose = routes.decompose
    monkeypatch.setattr(routes, "decompose", counted)
    X, Y = make_responses(30, 5, 40)
    assert [len(path) for path in pls_paths(X, Y)] == 40 * [6]
    assert calls == ["gram"]


def test_one_response_that_needs_the_svd_takes_all_of_them_there():
    X, Y = make_responses(30, 8, 2, decay=0.0)
    hard, _ = make_responses(30, 8, 2, decay=6.0)
    assert solvers(pls_paths(X, Y)) == {"gram"}
    # The first response lives on the leading direction and outside of X, which "gram" resolves.
    leading = np.linalg.svd(scaled(hard))[0][:, [0, 20]].sum(axis=1)
    assert solvers(pls_paths(hard, leading, 1)) == {"gram"}
    both = np.column_stack([leading, Y[:, 0]])
    with pytest.warns(RankExhaustedWarning):
        assert solvers(pls_paths(hard, both, 8)) == {"svd"}


def test_names_of_responses_are_kept():
    X, Y = make_responses(20, 4, 2)
    paths = pls_paths(X, pd.DataFrame(Y, columns=["fat", "water"]), 2)
    assert paths.names == ("fat", "water")
    assert paths["water"] is paths[1]
    assert "'fat', 'water'" in repr(paths)
    with pytest.raises(KeyError, match="'sugar' is not a response; there are 'fat', 'water'"):
        paths["sugar"]
    assert pls_paths(X, Y, 2).names == ("0", "1")
    assert pls_paths(X, Y[:, 0], 2).names == ("0",)


def test_every_response_reports_that_it_ends_early():
    X, Y = make_responses(20, 4, 2)
    with pytest.warns(RankExhaustedWarning, match="9 components asked for, at most 4 supported"):
        pls_paths(X, Y, 9)
    with pytest.raises(RankExhaustedError, match="4 supported"):
        pls_paths(X, Y, 9, strict=True)


def refitted(make):
    """Return a function of X and Y that fits the first column and refits it to the others."""

    def fit(X, Y, sample_weight=None, **options):
        return refit_columns(partial(make, **options), X, Y, sample_weight=sample_weight)

    return fit


def solvers(paths):
    return {path.exact.decomposition.solver for path in paths}


METHODS = {
    "pls": (pls_path, pls_paths, {"max_components": 3}),
    "pcr": (pcr_path, pcr_paths, {"max_components": 3, "scale": False}),
    "ridge": (ridge_path, ridge_paths, {"alphas": [10.0, 1.0]}),
    "ridge, default penalties": (ridge_path, ridge_paths, {}),
    "kernel": (
        kernel_pls_path,
        refitted(kernel_pls_path),
        {"gamma": 0.2, "max_components": 3},
    ),
    "penalised": (
        penalized_pls_path,
        refitted(penalized_pls_path),
        {"strength": 2.0, "max_components": 3, "solver": "auto"},
    ),
    "refitted pls": (pls_path, refitted(pls_path), {"max_components": 3}),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_fits_columns_as_if_they_came_alone(name, weighted):
    one, several, options = METHODS[name]
    X, Y = make_responses(20, 5, 3)
    weights = np.array([0.0, 1.0, 2.0, 1.5] * 5) if weighted else None
    paths = several(X, Y, sample_weight=weights, **options)
    assert len(paths) == 3
    for path, y in zip(paths, Y.T, strict=True):
        single = one(X, y, sample_weight=weights, **options)
        assert type(path) is type(single)
        np.testing.assert_allclose(path.dof, single.dof, rtol=1e-8)
        np.testing.assert_allclose(path.predict(X), single.predict(X), rtol=1e-7, atol=1e-7)


def test_a_refitted_column_that_needs_the_svd_takes_all_of_them_there():
    hard, Y = make_responses(30, 8, 2, decay=6.0)
    leading = np.linalg.svd(hard - hard.mean(axis=0))[0][:, [0, 20]].sum(axis=1)
    both = np.column_stack([leading, Y[:, 0]])
    fit = partial(refitted(penalized_pls_path), strength=0.0, solver="auto")
    assert solvers(fit(hard, leading, max_components=1)) == {"gram"}
    with pytest.warns(RankExhaustedWarning, match="components asked for"):
        assert solvers(fit(hard, both, max_components=8)) == {"svd"}


def test_unusable_options_are_refused():
    X, Y = make_responses(12, 4, 2)
    with pytest.raises(InvalidInputError, match="solver must be one of"):
        pls_paths(X, Y, solver="qr")
    with pytest.raises(InvalidInputError, match="alphas must be finite and >= 0"):
        ridge_paths(X, Y, [-1.0])
    with pytest.raises(InvalidInputError, match="max_components must be >= 0"):
        pcr_paths(X, Y, -1)
