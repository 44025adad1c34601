"""The answer does not depend on the container."""

import numpy as np
import pytest
import scipy.sparse

from plsdof import (
    KernelPLSRegressor,
    PenalizedPLSRegressor,
    PLS2Regressor,
    PLSRegressor,
    RecipeRegressor,
    RidgeRegressor,
    cross_validate,
    pcr_path,
    pls_path,
    ridge_path,
)
from plsdof.errors import InvalidInputError
from plsdof.large import ArrayBlocks
from plsdof.workbench.tables.blocks import file_blocks


def framed(X, y, _):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]), y


def mapped(X, y, folder):
    X.tofile(folder / "X.bin")
    return np.memmap(folder / "X.bin", dtype=np.float64, mode="r", shape=X.shape), y


def zarred(X, y, folder):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(
        store=str(folder / "X.zarr"), shape=X.shape, chunks=(17, 5), dtype="f8"
    )
    array[:] = X
    return array, y


def dasked(X, y, _):
    array = pytest.importorskip("dask.array")
    return array.from_array(X, chunks=(23, 7)), y


def dask_framed(X, y, _):
    frames = pytest.importorskip("dask.dataframe")
    return frames.from_pandas(framed(X, y, _)[0], npartitions=3), y


def row_blocks(X, y, _):
    return ArrayBlocks(X, y, axis=0, memory=8 * 13 * X.shape[1]), None


def column_blocks(X, y, _):
    return ArrayBlocks(X, y, axis=1, memory=8 * 3 * X.shape[0]), None


def foldered(X, y, folder):
    names = ",".join([*(f"x{i}" for i in range(X.shape[1])), "y"])
    place = folder / "csv"
    place.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(y)), 3)):
        table = np.column_stack([X[rows], y[rows]])
        lines = [names, *(",".join(map(repr, map(float, row))) for row in table)]
        (place / f"{number}.csv").write_text("\n".join(lines))
    return file_blocks(place, "y", memory=8 * 13 * X.shape[1]), None


CONTAINERS = {
    "frame": framed,
    "csr": lambda X, y, _: (scipy.sparse.csr_array(X), y),
    "csc": lambda X, y, _: (scipy.sparse.csc_matrix(X), y),
    "memory map": mapped,
    "zarr": zarred,
    "dask array": dasked,
    "dask frame": dask_framed,
    "blocks of rows": row_blocks,
    "blocks of columns": column_blocks,
    "CSV folder": foldered,
}


def design(seed):
    """Draw a shape, a conditioning, offsets, zeros and a signal."""
    rng = np.random.default_rng(seed)
    n, p = (int(rng.integers(12, 120)), int(rng.integers(2, 60)))
    scores = rng.normal(size=(n, 4)) * [3.0, 1.0, 0.5, 0.2]
    X = scores @ rng.normal(size=(4, p)) + rng.choice([0.01, 0.3, 1.0]) * rng.normal(size=(n, p))
    X = X * rng.lognormal(sigma=1.0, size=p) + rng.choice([0.0, 5.0, 1e4])
    if rng.random() < 0.4:
        X *= rng.random((n, p)) < 0.3
    y = scores @ rng.normal(size=4) + rng.choice([0.1, 0.5]) * rng.normal(size=n)
    return X, y + rng.choice([0.0, 1e3])


def same_choice(found, expected):
    assert found.index == expected.index
    assert found.criterion == expected.criterion == "left-out"
    size = min(len(found.scores), len(expected.scores))
    np.testing.assert_allclose(found.scores[:size], expected.scores[:size], rtol=1e-6)


@pytest.fixture(params=CONTAINERS)
def container(request, tmp_path):
    return lambda X, y: CONTAINERS[request.param](X, y, tmp_path)


@pytest.mark.filterwarnings("ignore:.*components asked for", "ignore:.*do not vary")
@pytest.mark.parametrize("seed", range(4))
def test_the_choice_is_that_of_an_array(container, seed):
    X, y = design(seed)
    source = container(X, y)
    found, expected = pls_path(*source), pls_path(X, y)
    same_choice(found.select(), expected.select())
    average, other = found.average(), expected.average()
    np.testing.assert_allclose(average.predict(X), other.predict(X), rtol=1e-5, atol=1e-6 * y.std())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*components asked for", "ignore:.*do not vary")
@pytest.mark.parametrize("seed", range(100, 150))
def test_the_choice_is_that_of_an_array_on_fifty_designs(container, seed):
    X, y = design(seed)
    same_choice(pls_path(*container(X, y)).select(), pls_path(X, y).select())


OPTIONS = {
    "folds": lambda _: {"cv": 5},
    "groups": lambda n: {"groups": np.arange(n) // 4},
    "both": lambda n: {"cv": 4, "groups": np.arange(n) // 3},
    "pairs": lambda n: {"cv": [(np.arange(n) % 3 != f, np.arange(n) % 3 == f) for f in range(3)]},
    "huber": lambda _: {"loss": "huber"},
}


@pytest.mark.parametrize("option", OPTIONS)
def test_options_are_obeyed(container, option):
    X, y = design(1)
    options = OPTIONS[option](len(y))
    found, expected = pls_path(*container(X, y), 6), pls_path(X, y, 6)
    same_choice(found.select(**options), expected.select(**options))
    left = {name: value for name, value in options.items() if name != "loss"}
    for name in ("residuals", "leverage", "rss"):
        np.testing.assert_allclose(
            getattr(found.left_out(**left), name),
            getattr(expected.left_out(**left), name),
            rtol=1e-6,
            atol=1e-7,
        )


@pytest.mark.parametrize("fit", [pcr_path, ridge_path])
def test_other_methods_choose_as_from_an_array(container, fit):
    X, y = design(2)
    found, expected = fit(*container(X, y)), fit(X, y)
    same_choice(found.select(), expected.select())
    np.testing.assert_allclose(found.left_out().leverage, expected.left_out().leverage, rtol=1e-6)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("name", ["csr", "memory map", "dask array"])
def test_weights_too(name, scale, tmp_path):
    X, y = design(3)
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    source, _ = CONTAINERS[name](X, y, tmp_path)
    found = pls_path(source, y, 5, sample_weight=weights, scale=scale)
    expected = pls_path(X, y, 5, sample_weight=weights, scale=scale)
    same_choice(found.select(), expected.select())
    same_choice(found.select(cv=4), expected.select(cv=4))
    np.testing.assert_allclose(found.noise_variance(), expected.noise_variance(), rtol=1e-6)


ESTIMATORS = {
    "left-out": lambda: PLSRegressor(),
    "five folds": lambda: PLSRegressor(cv=5),
    "average": lambda: PLSRegressor("average"),
    "cross-validated": lambda: PLSRegressor("cv", cv=4, max_components=6),
    "bic": lambda: PLSRegressor("bic"),
    "scale": lambda: PLSRegressor(scale="auto", max_components=6),
    "ridge": lambda: RidgeRegressor(),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_choose_as_from_an_array(container, name):
    X, y = design(5)
    source = container(X, y)
    found, expected = ESTIMATORS[name]().fit(*source), ESTIMATORS[name]().fit(X, y)
    assert found.selection_.index == expected.selection_.index
    rows = framed(X[:5], None, None)[0] if hasattr(found, "feature_names_in_") else X[:5]
    np.testing.assert_allclose(found.predict(rows), expected.predict(X[:5]), rtol=1e-6)
    np.testing.assert_allclose(
        found.predict_interval(rows), expected.predict_interval(X[:5]), rtol=1e-5
    )
    assert found.noise_std_ == pytest.approx(expected.noise_std_, rel=1e-5)


def test_groups_of_an_estimator_stay_together(container):
    X, y = design(5)
    groups = np.arange(len(y)) // 5
    found = PLSRegressor().fit(*container(X, y), groups=groups)
    expected = PLSRegressor().fit(X, y, groups=groups)
    assert found.selection_.index == expected.selection_.index
    assert found.model_.left_out.groups == expected.model_.left_out.groups


def test_a_dask_frame_has_names_and_may_hold_the_response(tmp_path):
    X, y = design(5)
    frames = pytest.importorskip("dask.dataframe")
    table, _ = framed(X, y, tmp_path)
    frame, whole = (frames.from_pandas(one, npartitions=3) for one in (table, table.assign(y=y)))
    model = PLSRegressor().fit(frame, y)
    assert list(model.feature_names_in_) == list(frame.columns)
    np.testing.assert_allclose(model.predict(frame), PLSRegressor().fit(X, y).predict(X), rtol=1e-6)
    assert "y" not in PLSRegressor(2).fit(whole, "y").feature_names_in_


IN_MEMORY = {
    "kernel": lambda: KernelPLSRegressor(2),
    "penalised": lambda: PenalizedPLSRegressor(2),
    "PLS2": lambda: PLS2Regressor(2),
    "recipes": lambda: RecipeRegressor(recipes=["scale"], max_components=2),
}


@pytest.mark.parametrize("name", IN_MEMORY)
def test_methods_that_need_the_rows_in_memory_read_dask_and_refuse_blocks(name):
    X, y = design(5)
    frames = pytest.importorskip("dask.dataframe")
    table = framed(X, y, None)[0]
    response = table["x0"].rename("y") - table["x1"]
    frame, responses = (frames.from_pandas(one, npartitions=3) for one in (table, response))
    found = IN_MEMORY[name]().fit(frame, responses)
    expected = IN_MEMORY[name]().fit(X, response.to_numpy())
    np.testing.assert_allclose(found.predict(table), expected.predict(X), rtol=1e-9)
    with pytest.raises(InvalidInputError, match="in memory"):
        IN_MEMORY[name]().fit(*row_blocks(X, y, None))


@pytest.mark.parametrize("method", ["pls", "pcr", "ridge"])
def test_cross_validation_has_the_numbers_of_an_array(container, method):
    X, y = design(2)
    source = container(X, y)
    found, expected = cross_validate(*source, method, 4), cross_validate(X, y, method, 4)
    size = min(len(found.rmse), len(expected.rmse), 8)
    np.testing.assert_allclose(found.rmse[:size], expected.rmse[:size], rtol=1e-6)
