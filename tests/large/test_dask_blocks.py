"""Dask arrays and dataframes as blocks, on every scheduler, and with a worker that dies."""

import logging
import os
import re
import signal
import sys
import threading
import time
import uuid
from functools import partial
from operator import add
from pathlib import Path

import numpy as np
import pytest
from _helpers.problems import make_problem
from numpy.testing import assert_allclose, assert_array_equal

from plsdof import pls_path
from plsdof._core.standardize import standardize
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.large.dask import dask_blocks
from plsdof.large.sources import block_gram

REASON = "dask is not installed: pip install 'plsdof[large]'"
dask = pytest.importorskip("dask", reason=REASON)
da = pytest.importorskip("dask.array", reason=REASON)
distributed = pytest.importorskip("distributed", reason=REASON)


@pytest.fixture(scope="module")
def cluster():
    """A client of two worker processes, current only where a test says so."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(silence_logs=logging.CRITICAL, **options) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(params=["threads", "synchronous", "cluster"])
def scheduler(request):
    if request.param == "cluster":
        with request.getfixturevalue("cluster").as_current():
            yield request.param
    else:
        with dask.config.set(scheduler=request.param):
            yield request.param


@pytest.fixture
def local():
    with dask.config.set(scheduler="synchronous"):
        yield


# What workers run: found by name, as the functions of the package are.


def contents(block):
    return [(block.first, block.X.copy(), block.y, block.weights)]


def second_moments(block):
    table = np.column_stack([block.X, block.y])
    return table.T @ table


def product(block, *, v):
    return block.X.T @ (block.X @ v)


def overwrite(block):
    block.X[...] = -1.0
    return float(block.X.sum())


def write_order(block):
    return str(block.first)


def bracket(a, b):
    return f"({a}{b})"


def assembled(blocks):
    """The table, response and weights that the blocks are made of."""
    parts = blocks.reduce(contents, add)
    sizes = [X.shape[blocks.axis] for _, X, _, _ in parts]
    assert [first for first, *_ in parts] == np.cumsum([0, *sizes[:-1]]).tolist()
    assert all(X.dtype == y.dtype == np.float64 for _, X, y, _ in parts)
    X = np.concatenate([X for _, X, _, _ in parts], axis=blocks.axis)
    if blocks.axis == 1:
        for _, _, y, weights in parts:
            assert_array_equal(y, parts[0][2])
            assert_array_equal(weights, parts[0][3])
        return X, parts[0][2], parts[0][3]
    weights = None if parts[0][3] is None else np.concatenate([w for *_, w in parts])
    return X, np.concatenate([y for _, _, y, _ in parts]), weights


def of_unknown_rows(array):
    """The same array, without dask knowing how many rows there are."""
    keep = da.ones(array.shape[0], chunks=(array.chunks[0],), dtype=bool)
    return array[keep]


@pytest.mark.usefixtures("local")
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("shape", [(23, 7), (7, 23)], ids=["tall", "wide"])
@pytest.mark.parametrize("chunks", [(5, -1), (-1, 3), (5, 3)], ids=["rows", "columns", "both"])
@pytest.mark.parametrize("unknown", [False, True], ids=["known", "unknown"])
def test_blocks_are_the_data(axis, shape, chunks, unknown):
    X, y = make_problem(*shape, seed=1)
    table, response = da.from_array(X, chunks=chunks), da.from_array(y, chunks=4)
    if unknown:
        table, response = of_unknown_rows(table), of_unknown_rows(response.rechunk(chunks[0]))
    blocks = dask_blocks(table, response, np.arange(len(y)), axis)
    assert blocks.axis == ((0 if len(X) >= X.shape[1] else 1) if axis is None else axis)
    assert (blocks.n_rows, blocks.n_columns, blocks.names) == (*shape, None)
    for found, expected in zip(assembled(blocks), (X, y, np.arange(len(y))), strict=True):
        assert_array_equal(found, expected)


@pytest.mark.usefixtures("local")
@pytest.mark.parametrize("kind", [np.float32, np.int16, np.uint8, bool])
def test_numbers_of_any_type_become_float64(kind):
    X = np.random.default_rng(0).integers(0, 9, size=(12, 4)).astype(kind)
    y = np.arange(12).astype(kind)
    found = assembled(dask_blocks(da.from_array(X, chunks=(5, 2)), da.from_array(y, chunks=6)))
    assert_array_equal(found[0], X.astype(float))
    assert_array_equal(found[1], y.astype(float))


@pytest.mark.parametrize("kind", ["numpy", "list", "array", "column", "unknown"])
@pytest.mark.usefixtures("local")
def test_response_and_weights_come_in_many_kinds(kind):
    X, y = make_problem(20, 3, seed=2)
    convert = {
        "numpy": lambda v: v,
        "list": list,
        "array": lambda v: da.from_array(v, chunks=6),
        "column": lambda v: da.from_array(v[:, None], chunks=6),
        "unknown": lambda v: of_unknown_rows(da.from_array(v, chunks=7)),
    }[kind]
    weights = np.arange(20.0)
    if kind == "column":
        found = assembled(dask_blocks(da.from_array(X, chunks=(7, 3)), convert(y), weights))
    else:
        found = assembled(
            dask_blocks(da.from_array(X, chunks=(7, 3)), convert(y), convert(weights))
        )
    for array, expected in zip(found, (X, y, weights), strict=True):
        assert_array_equal(array, expected)


@pytest.mark.usefixtures("local")
def test_weights_of_one_are_no_weights():
    X, y = make_problem(20, 3, seed=2)
    table = da.from_array(X, chunks=(7, 3))
    assert assembled(dask_blocks(table, y, np.ones(20)))[2] is None
    assert_array_equal(assembled(dask_blocks(table, y, 2.0))[2], np.full(20, 2.0))


# Dataframes.


@pytest.fixture
def frame():
    pd = pytest.importorskip("pandas")
    pytest.importorskip("dask.dataframe", reason=REASON)
    X, y = make_problem(30, 3, seed=3)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    return table.assign(count=np.arange(30) % 4, y=y)


def stored(frame, kind, folder):
    """The frame in three partitions: in memory, and in files."""
    dd = pytest.importorskip("dask.dataframe", reason=REASON)
    frame = dd.from_pandas(frame, npartitions=3)
    if kind == "memory":
        return frame
    if kind == "csv":
        frame.to_csv(str(folder / "part-*.csv"), index=False)
        return dd.read_csv(str(folder / "part-*.csv"))
    frame.to_parquet(folder, write_index=False)
    return dd.read_parquet(folder)


@pytest.mark.usefixtures("local")
@pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning")  # dask's own
@pytest.mark.parametrize("kind", ["memory", "csv", "parquet"])
@pytest.mark.parametrize("vectors", ["names", "series", "arrays", "numpy", "frame"])
def test_blocks_are_the_dataframe(kind, vectors, frame, tmp_path):
    table = stored(frame, kind, tmp_path)
    if vectors == "names":
        blocks = dask_blocks(table, "y", "count")
    else:
        convert = {
            "series": lambda name: table[name],
            "arrays": lambda name: table[name].values.compute_chunk_sizes(),
            "numpy": lambda name: frame[name].to_numpy(),
            "frame": lambda name: table[[name]],
        }[vectors]
        blocks = dask_blocks(table[["a", "b", "c"]], convert("y"), convert("count"))
    assert blocks.names == ("a", "b", "c")
    assert (blocks.axis, blocks.n_rows, blocks.n_columns) == (0, 30, 3)
    X, y, weights = assembled(blocks)
    assert_allclose(X, frame[["a", "b", "c"]], rtol=1e-12)
    assert_allclose(y, frame["y"], rtol=1e-12)
    assert_array_equal(weights, frame["count"])


@pytest.mark.usefixtures("local")
def test_wide_dataframe_is_cut_by_columns(frame):
    dd = pytest.importorskip("dask.dataframe", reason=REASON)
    table = dd.from_pandas(frame.iloc[:3], npartitions=2)
    with dask.config.set({"array.chunk-size": "50B"}):
        blocks = dask_blocks(table, "y")
    assert (blocks.axis, len(blocks.pieces)) == (1, 2)
    assert_array_equal(assembled(blocks)[0], frame.iloc[:3][["a", "b", "c", "count"]])


@pytest.mark.usefixtures("local")
def test_empty_partitions_are_left_out(frame):
    table = stored(frame.rename_axis("row"), "memory", None)
    blocks = dask_blocks(table.query("row >= 10"), "y")
    assert [piece[:2] for piece in blocks.pieces] == [(1, 0), (2, 10)]
    assert_array_equal(assembled(blocks)[1], frame["y"][10:])
    with pytest.raises(InvalidInputError, match="X has no rows"):
        dask_blocks(table.query("row >= 99"), "y")


@pytest.mark.usefixtures("local")
def test_nullable_columns_are_numbers_unless_something_is_missing(frame):
    table = stored(frame.convert_dtypes(), "memory", None)
    assert_array_equal(assembled(dask_blocks(table, "y"))[0][:, 3], frame["count"])
    frame = frame.astype({"count": "Int64"})
    frame.loc[12, "count"] = None
    blocks = dask_blocks(stored(frame, "memory", None), "y")
    with pytest.raises(
        InvalidInputError, match=r"chunk 1: .* column\(s\) 'count', the first in row 12"
    ):
        assembled(blocks)


# Reductions.


@pytest.mark.usefixtures("scheduler")
@pytest.mark.parametrize("chunks", [(50, 5), (20, 2)])
def test_sums_and_products_equal_those_of_numpy(chunks):
    X, y = make_problem(230, 5, seed=4)
    v = np.random.default_rng(5).normal(size=(5, 3))
    blocks = dask_blocks(da.from_array(X, chunks=chunks), da.from_array(y, chunks=50))
    table = np.column_stack([X, y])
    assert_allclose(blocks.reduce(second_moments, add), table.T @ table, rtol=1e-12)
    assert_allclose(blocks.reduce(partial(product, v=v), np.add), X.T @ (X @ v), rtol=1e-12)
    wide = dask_blocks(da.from_array(X.T, chunks=(2, 50)), np.ones(5))
    assert_allclose(wide.reduce(product_of_rows, add), X.T @ X, rtol=1e-12)


def product_of_rows(block):
    return block.X @ block.X.T


@pytest.mark.usefixtures("scheduler")
def test_results_are_merged_in_pairs_of_neighbours():
    blocks = dask_blocks(da.zeros((5, 2), chunks=(1, 1)), np.ones(5))
    assert blocks.reduce(write_order, bracket) == "(((01)(23))4)"


@pytest.mark.usefixtures("scheduler")
@pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler")  # which is the point
def test_a_run_can_be_repeated_to_the_last_digit():
    X, y = make_problem(230, 5, seed=4)
    blocks = dask_blocks(da.from_array(X, chunks=(9, 5)), y)
    first = blocks.reduce(second_moments, add)
    with dask.config.set(scheduler="synchronous"):
        assert_array_equal(blocks.reduce(second_moments, add), first)


@pytest.mark.usefixtures("local")
def test_single_block_needs_no_merge():
    X, y = make_problem(20, 3, seed=2)
    assert_allclose(dask_blocks(da.from_array(X), y).reduce(product_of_rows, None), X @ X.T)


@pytest.mark.usefixtures("local")
def test_workers_may_overwrite_their_block_only():
    X, y = make_problem(20, 3, seed=2)
    before = X.copy()
    for table in (da.from_array(X, chunks=(5, 3)), da.from_array(X, chunks=(5, 3)).persist()):
        blocks = dask_blocks(table, y)
        assert blocks.reduce(overwrite, add) == -60.0
        assert_array_equal(X, before)
        assert_array_equal(assembled(blocks)[0], before)


@pytest.mark.usefixtures("local")
def test_every_pass_reads_every_chunk_once():
    loads = []

    def load(block_info=None):
        loads.append(block_info[None]["chunk-location"][0])
        return np.full((4, 3), float(loads[-1]))

    table = da.map_blocks(load, chunks=((4,) * 5, (3,)), dtype=float, meta=np.empty((0, 0)))
    blocks = dask_blocks(table[:, :2], table[:, 2])
    assert loads == []
    for _ in range(2):
        assert blocks.reduce(second_moments, add)[0, 0] == 4 * (0 + 1 + 4 + 9 + 16)
    assert sorted(loads) == sorted([0, 1, 2, 3, 4] * 2)


@pytest.mark.usefixtures("local")
def test_columns_named_in_a_dataframe_cost_no_second_reading(frame):
    dd = pytest.importorskip("dask.dataframe", reason=REASON)
    loads = []

    def load(start):
        loads.append(start)
        return frame.iloc[start : start + 10]

    blocks = dask_blocks(dd.from_map(load, [0, 10, 20], meta=frame.iloc[:0]), "y", "count")
    loads.clear()  # those that counted the rows
    assembled(blocks)
    assert sorted(loads) == [0, 10, 20]


@pytest.mark.usefixtures("local")
def test_merged_blocks_are_cut_to_the_size_of_a_chunk():
    X, y = make_problem(40, 10, seed=2)
    with dask.config.set({"array.chunk-size": "800B"}):  # ten rows
        blocks = dask_blocks(da.from_array(X, chunks=(40, 2)), y)
    assert len(blocks.pieces) == 4
    assert_array_equal(assembled(blocks)[0], X)


@pytest.mark.usefixtures("local")
@pytest.mark.parametrize("axis", [0, 1])
def test_large_chunks_are_worked_on_in_blocks_that_fit_the_cache(axis, monkeypatch):
    monkeypatch.setattr("plsdof.large.dask.block_length", lambda width: 2 if width > 3 else 1)
    X, y = make_problem(20, 12, seed=2)
    blocks = dask_blocks(da.from_array(X, chunks=(10, 6)), y, np.arange(20), axis)
    assert max(part[1].shape[axis] for part in blocks.reduce(contents, add)) == 2
    for found, expected in zip(assembled(blocks), (X, y, np.arange(20)), strict=True):
        assert_array_equal(found, expected)


# Faults in the data.


@pytest.mark.usefixtures("scheduler")
@pytest.mark.parametrize(("axis", "chunk"), [(0, 2), (1, 1)])
def test_missing_values_are_named_by_chunk_column_and_row(axis, chunk):
    X, y = make_problem(20, 6, seed=2)
    X[12:14, 4] = np.nan
    blocks = dask_blocks(da.from_array(X, chunks=(5, 3)), y, axis=axis)
    message = rf"In chunk {chunk}: .* NaN or infinity, in column\(s\) '4', the first in row 12;"
    with pytest.raises(InvalidInputError, match=message):
        blocks.reduce(second_moments, add)


@pytest.mark.usefixtures("local")
@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ({"y": np.inf}, "In chunk 2: .* NaN or infinity, in column.* 'y', the first in row 12"),
        (
            {"w": np.nan},
            "In chunk 2: .* NaN or infinity, in column.* 'sample_weight', the first in row 12",
        ),
        ({"w": -1.0}, "In chunk 2: sample_weight must be finite and not negative"),
    ],
)
def test_faults_of_dask_vectors_are_found_by_the_workers(vectors, message):
    X, _ = make_problem(20, 6, seed=2)
    arrays = {"y": np.arange(20.0), "w": np.ones(20)}
    for name, value in vectors.items():
        arrays[name][12] = value
    y, w = (da.from_array(arrays[name], chunks=5) for name in "yw")
    with pytest.raises(InvalidInputError, match=message):
        dask_blocks(da.from_array(X, chunks=(5, 6)), y, w).reduce(second_moments, add)


@pytest.mark.usefixtures("local")
def test_masked_values_are_missing_values():
    table = da.ma.masked_equal(da.arange(12.0, chunks=12).reshape(6, 2), 5.0)
    with pytest.raises(InvalidInputError, match=r"column\(s\) '1', the first in row 2"):
        dask_blocks(table, np.ones(6)).reduce(second_moments, add)


@pytest.mark.usefixtures("local")
def test_text_is_named_by_column(frame):
    dd = pytest.importorskip("dask.dataframe", reason=REASON)
    with pytest.raises(InvalidInputError, match="must be numeric; 'b' is of type str"):
        dask_blocks(stored(frame.astype({"b": "string"}), "memory", None), "y")
    frame["c"] = frame["c"].astype(object)
    with dask.config.set({"dataframe.convert-string": False}):
        table = dd.from_pandas(frame, npartitions=3)
    with pytest.raises(InvalidInputError, match="'c' is of type object"):
        dask_blocks(table, "y")
    with pytest.raises(InvalidInputError, match="'X' is of type object"):
        dask_blocks(da.from_array(np.ones((6, 4), dtype=object), chunks=(3, 2)), np.ones(6))


ROWS = da.ones((6, 2), chunks=(3, 2))


@pytest.mark.usefixtures("local")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((6, 2)), np.ones(6)), "X must be a dask array or data frame; got ndarray"),
        ((da.ones(6), np.ones(6)), r"X must have two dimensions .* shape \(6,\)"),
        ((da.ones((6, 0)), np.ones(6)), r"1 column; .* shape \(6, 0\)"),
        ((da.ones((6, 2))[:0], np.ones(0)), r"at least 2 rows .* shape \(0, 2\)"),
        ((ROWS.astype(complex), np.ones(6)), "must be numeric; 'X' is of type complex128"),
        ((ROWS, np.ones(5)), "y has 5 entries but X has 6 rows"),
        ((ROWS, da.ones(7)), r"y must have one value per row of X, 6 in all; got shape \(7,\)"),
        ((ROWS, da.ones((6, 2))), "y must have one value per row of X.* PLSRegressor"),
        ((ROWS, da.ones(6).astype("M8[s]")), "must be numeric; 'y' is of type datetime64"),
        ((ROWS, "fat"), "y"),
        ((ROWS, np.ones(6), da.ones(5)), r"sample_weight must have .* got shape \(5,\)"),
        ((ROWS, np.ones(6), -np.ones(6)), "sample_weight must be finite and not negative"),
        ((ROWS, np.ones(6), None, 2), r"axis must be 0 .* or None; got 2"),
    ],
)
def test_what_cannot_be_used_is_refused(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        dask_blocks(*arguments)


@pytest.mark.usefixtures("local")
def test_partitions_of_different_lengths_are_matched_by_rows(frame):
    table = da.from_array(np.arange(12.0).reshape(6, 2), chunks=(3, 2))
    response = of_unknown_rows(da.from_array(np.arange(6.0), chunks=((2, 4),)))
    assert_array_equal(assembled(dask_blocks(table, response))[1], np.arange(6.0))
    frames = stored(frame, "memory", None)
    with pytest.raises(InvalidInputError, match="one value per row of X, 30 in all"):
        dask_blocks(frames[["a", "b"]], frames[frames["a"] > 0]["y"])


@pytest.mark.usefixtures("local")
def test_unknown_columns_of_a_dataframe_are_refused(frame):
    with pytest.raises(InvalidInputError, match="'fat' must be the name of one column of X, but 0"):
        dask_blocks(stored(frame, "memory", None), "fat")


def test_dask_that_is_missing_is_asked_for(monkeypatch):
    blocks = dask_blocks(ROWS, np.ones(6))
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'plsdof\[large\]'"):
        blocks.reduce(second_moments, add)


# Schedulers.


@pytest.mark.usefixtures("local")
def test_progress_is_shown_on_stderr_alone(capsys):
    blocks = dask_blocks(ROWS, np.ones(6), progress=True)
    assert blocks.reduce(second_moments, add, "moments").shape == (3, 3)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("moments\n")
    assert "100% Completed" in shown.err


class Carrier:
    """Work that carries much, and leaves a file wherever it is unpacked."""

    def __init__(self, folder, n_bytes):
        self.folder = folder
        self.vectors = np.zeros(n_bytes // 8)

    def __setstate__(self, state):
        self.__dict__ = state
        (Path(self.folder) / f"{os.getpid()}-{uuid.uuid4().hex}").touch()

    def __call__(self, block):
        return len(self.vectors) + 0 * block.first


def test_what_work_carries_is_sent_once_per_worker(cluster, tmp_path):
    blocks = dask_blocks(da.ones((24, 2), chunks=(1, 2)), np.ones(24))
    # Beyond 10 MB dask warns, and warnings are errors here.
    with cluster.as_current():
        assert blocks.reduce(Carrier(str(tmp_path), 12_000_000), max) == 1_500_000
    unpacked = [file.name.split("-")[0] for file in tmp_path.iterdir()]
    assert set(unpacked) > {str(os.getpid())}
    assert len(unpacked) <= 4  # scheduler and two workers, and one more on the way


# The Gram matrix, against the one of the dense data.


@pytest.mark.usefixtures("scheduler")
@pytest.mark.parametrize(
    ("axis", "limit"), [(0, 5000), (1, 5000), (0, 2)], ids=["tall", "wide", "products"]
)
def test_gram_matrix_equals_that_of_the_dense_data(axis, limit):
    X, y = make_problem(*((60, 9) if axis == 0 else (9, 60)), seed=7, decay=1.0)
    weights = np.arange(len(y)) % 4
    table = da.from_array(X, chunks=(8, 4))
    gram = block_gram(dask_blocks(table, da.from_array(y, chunks=8), weights), limit=limit)
    data = standardize(X, y, sample_weight=weights)
    near = partial(assert_allclose, rtol=1e-10, atol=1e-10)
    near(gram.units.x_mean, data.units.x_mean)
    near(gram.units.x_scale, data.units.x_scale)
    near(gram.total, data.y @ data.y)
    expected = data.X.T @ data.X if axis == 0 else data.X @ data.X.T
    near(gram.response, data.X.T @ data.y if axis == 0 else data.y)
    near(gram.matrix, expected)
    reached = gram.to_samples if axis == 0 else gram.to_features
    near(reached(np.eye(gram.order)), data.X if axis == 0 else data.X.T)


@pytest.mark.usefixtures("local")
def test_gram_matrix_of_a_dataframe_keeps_its_names(frame):
    gram = block_gram(dask_blocks(stored(frame, "memory", None), "y", "count"))
    data = standardize(frame[["a", "b", "c"]], frame["y"], sample_weight=frame["count"])
    assert gram.units.names == ("a", "b", "c")
    assert gram.units.n_rows == data.units.n_rows
    assert_allclose(gram.matrix, data.X.T @ data.X, rtol=1e-10, atol=1e-10)


@pytest.mark.usefixtures("scheduler")
@pytest.mark.parametrize("shape", [(80, 12), (12, 80)], ids=["tall", "wide"])
def test_path_of_dask_data_is_that_of_the_data_in_memory(shape):
    X, y = make_problem(*shape, seed=8, decay=1.0)
    table, response = da.from_array(X, chunks=(20, 20)), da.from_array(y, chunks=20)
    path, expected = pls_path(table, response, 5), pls_path(X, y, 5)
    for name in ("dof", "rss", "coef", "intercept"):
        assert_allclose(getattr(path, name), getattr(expected, name), rtol=1e-8, atol=1e-8)


# A worker that dies.


def slow_moments(block, *, folder):
    (Path(folder) / f"{os.getpid()}-{block.first}-{uuid.uuid4().hex}").touch()
    time.sleep(0.25)
    return second_moments(block)


def wait_until(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def test_worker_killed_in_mid_run_changes_nothing(cluster, tmp_path):
    X, y = make_problem(160, 4, seed=6)
    blocks = dask_blocks(da.from_array(X, chunks=(10, 4)), y)
    with dask.config.set(scheduler="synchronous"):
        undisturbed = blocks.reduce(second_moments, add)
    found = []

    def run():
        with cluster.as_current():
            found.append(blocks.reduce(partial(slow_moments, folder=str(tmp_path)), add))

    def begun_by(pid):
        return len(list(tmp_path.glob(f"{pid}-*")))

    cluster.wait_for_workers(2, timeout=60)
    victim, other = cluster.run(os.getpid).values()
    runner = threading.Thread(target=run)
    runner.start()
    wait_until(lambda: begun_by(victim) >= 2)  # one at work, one done
    assert not found
    os.kill(victim, signal.SIGKILL)
    runner.join(timeout=60)
    assert not runner.is_alive()
    assert_array_equal(found[0], undisturbed)
    begun = [file.name.split("-")[1] for file in tmp_path.iterdir()]
    assert len(begun) > len(set(begun)) == 16  # what was lost was done again
    assert victim not in cluster.run(os.getpid).values()
    assert other in cluster.run(os.getpid).values()


@pytest.mark.parametrize(
    ("cut", "shape"), [(lambda chunk: chunk[:, :4], "(10, 4)"), (lambda chunk: chunk[:5], "(5, 6)")]
)
def test_chunks_that_are_not_what_dask_was_told_are_refused(cut, shape):
    rng = np.random.default_rng(0)
    X = da.from_array(rng.normal(size=(40, 6)), chunks=(10, 6))
    lying = X.map_blocks(cut, chunks=((10,) * 4, (6,)), meta=np.empty((0, 0)))
    message = f"has shape {re.escape(shape)}, where dask was told \\(10, 6\\)"
    with pytest.raises(InvalidInputError, match=message):
        pls_path(lying, rng.normal(size=40))
