"""Checks of data: replicates, rows in time order, copies of the response; and quiet without."""

import numpy as np
import pytest
from _helpers.analyses import analyse

from plsdof import PLS2Regressor, PLSRegressor, RecipeRegressor, pls_path
from plsdof.chemometrics.data_checks import data_remarks, near_rows
from plsdof.chemometrics.suspects import affine_copies
from plsdof.datasets import load_gasoline, load_ozone, make_spectra


def replicates(samples=40, times=5, p=60, noise=0.3, seed=0):
    """Return pure noise, measured several times, in random order, and the sample of each row."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(samples, p)), times, axis=0)
    X += noise * rng.normal(size=X.shape)
    y, sample = np.repeat(rng.normal(size=samples), times), np.repeat(np.arange(samples), times)
    order = rng.permutation(len(y))
    return X[order], y[order], sample[order]


def walk(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = np.cumsum(rng.normal(size=(n, 30)), axis=0)
    return X, X[:, 0] + np.cumsum(rng.normal(size=n))


def keys(model):
    return [one.key for one in data_remarks(model)]


@pytest.mark.parametrize("times", [2, 3, 5])
def test_noisy_replicates_are_found(times):
    X, y, sample = replicates(times=times)
    model = PLSRegressor().fit(X, y)
    (found,) = data_remarks(model.model_)
    assert (found.key, found.severity) == ("dependent-neighbours", "warning")
    groups = np.asarray(found.mend["groups"])
    # The sets are the samples.
    assert len(np.unique(groups * 1000 + sample)) == len(np.unique(groups)) == 40
    assert len(found.rows) == len(y)
    # What it says is true: with these groups nothing is left of the fit.
    assert model.model_.left_out.q2[model.model_.index] > 0.3
    mended = PLSRegressor().fit(X, y, groups=groups)
    assert mended.model_.left_out.q2.max() < 0.1
    assert keys(mended.model_) == []


def test_rows_in_time_order_are_found():
    ratios = []
    for seed in range(10):
        X, y = walk(seed=seed)
        plain = PLSRegressor().fit(X, y)
        (found,) = data_remarks(plain.model_)
        assert found.key == "dependent-blocks"
        # The mend can be given as it is, and states larger errors.
        ratios.append(PLSRegressor(**found.mend).fit(X, y).model_.rmse / plain.model_.rmse)
    assert min(ratios) > 1.3
    assert np.mean(ratios) > 1.6


def test_the_error_of_blocks_is_that_of_another_run():
    X, y = walk()
    model = PLSRegressor().fit(X, y).model_
    (found,) = data_remarks(model)
    path = pls_path(X, y)
    folds = ("blocks:5", 5, None)
    blocks, interleaved, usual = (path.left_out(cv).rmse[model.index] for cv in folds)
    ratio = blocks / max(interleaved, usual)
    assert f"{ratio:.1f} times" in found.words
    # Who holds out blocks already need not be told.
    assert keys(PLSRegressor(**found.mend).fit(X, y).model_) == []


def test_rows_that_resemble_the_next_ones_are_found():
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(2000 + seed)
        steps = 0.3 * rng.normal(size=(80, 7))
        for row in range(1, 80):
            steps[row] += 0.95 * steps[row - 1]
        X = steps[:, :6] @ rng.normal(size=(6, 30)) + 0.1 * rng.normal(size=(80, 30))
        found += keys(PLSRegressor().fit(X, steps[:, 6] + 0.5 * steps[:, 0]).model_) != []
    assert found >= 10


@pytest.mark.parametrize("load", [load_gasoline, load_ozone])
def test_real_data_are_quiet(load):
    X, y = load(return_X_y=True)
    assert keys(PLSRegressor().fit(X, y).model_) == []
    assert PLSRegressor(3).fit(X, y).remarks_ == ()


def test_a_table_sorted_by_its_response_is_not_one_in_time_order():
    made = make_spectra(60, 40, random_state=0)
    order = np.argsort(made.target)
    assert keys(pls_path(made.data[order], made.target[order])[4]) == []


def test_random_rows_are_quiet():
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(25 + seed, 3 + seed))
        found += keys(pls_path(X, X[:, 0] + rng.normal(size=len(X)))[2])
    assert len(found) <= 2


def test_copies_of_the_response_are_named():
    X, y = load_ozone(return_X_y=True, as_frame=True)
    X = X.assign(celsius=(y - 32) / 1.8)
    model = PLSRegressor(2).fit(X, y)
    (found,) = (one for one in model.remarks_ if one.key == "affine-copy")
    assert found.columns == (X.shape[1] - 1,)
    assert "celsius" in found.words
    # Also with rounding; not if the correlation is lower, nor in data without noise.
    rounded = np.column_stack([X["celsius"].round(1), y + np.std(y) * 0.1 * np.sin(np.arange(203))])
    assert [one.columns for one in affine_copies(rounded, np.asarray(y))] == [(0,)]
    assert not list(affine_copies(np.outer(np.asarray(y), np.arange(1, 60)), np.asarray(y)))


def test_sets_of_near_rows_are_the_samples():
    X, _, sample = replicates(noise=0.1)
    codes = near_rows(X)
    assert len(set(zip(codes.tolist(), sample.tolist(), strict=True))) == 40
    assert codes[0] == 0
    # Rows that are near the next one are one set, however far apart its ends are.
    places = [np.arange(10.0), 1000 + np.arange(10.0), 2000 + 100 * np.arange(20.0)]
    found = near_rows(np.concatenate(places)[:, None])
    np.testing.assert_array_equal(found, [*[0] * 10, *[1] * 10, *range(2, 22)])
    # Two clouds are not replicates.
    clouds = np.random.default_rng(0).normal(size=(40, 3)) + 50 * (np.arange(40) % 2)[:, None]
    assert near_rows(clouds) is None


def test_every_door_says_the_same():
    X, y, _ = replicates(20, 3)
    assert analyse(X, y).remark("dependent-neighbours") is not None
    average = RecipeRegressor("average", recipes=["none", "scale"]).fit(X, y)
    assert "dependent-neighbours" in [one.key for one in average.remarks_]
    two = PLS2Regressor(2).fit(X, np.column_stack([y, -y]))
    assert [one.key for one in two.remarks_] == ["dependent-neighbours"]
