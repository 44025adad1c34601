"""Arrays read block by block."""

import operator
import threading

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof._core.inputs import require_finite_columns
from plsdof._core.moments import Moments, block_moments
from plsdof.errors import InvalidInputError
from plsdof.large.blocks import (
    ArrayBlocks,
    ahead,
    as_axis,
    block_length,
)
from plsdof.large.sources import block_gram, open_source, recognises


def collected(blocks):
    """All blocks, copied."""
    return blocks.reduce(
        lambda block: [
            (block.X.copy(), block.y.copy(), copy_of(block.weights), block.first, block.X.flags)
        ],
        operator.add,
    )


def copy_of(weights):
    return None if weights is None else weights.copy()


def memory_map(folder, X, name="X.dat", mode="r", order="C"):
    file = folder / name
    written = np.memmap(file, dtype=X.dtype, mode="w+", shape=X.shape, order=order)
    written[:] = X
    written.flush()
    return np.memmap(file, dtype=X.dtype, mode=mode, shape=X.shape, order=order)


def zarr_array(X, chunks):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(
        zarr.storage.MemoryStore(), shape=X.shape, chunks=chunks, dtype=X.dtype
    )
    array[:] = X
    return array


class Sliced:
    """Has shape, dtype and two-dimensional slices, and remembers what was asked for."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype
        self.asked = []

    def __getitem__(self, index):
        self.asked.append(index)
        return self.values[index]

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("the whole array was asked for")


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("size", [1, 3, 4, 50])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_blocks_put_together_are_the_data(axis, size, dtype):
    X = np.random.default_rng(0).integers(0, 99, size=(11, 7)).astype(dtype)
    y, weights = np.arange(11.0), np.linspace(0, 2, 11)
    source = Sliced(X)
    blocks = ArrayBlocks(source, y, weights, axis=axis, memory=8 * size * X.shape[1 - axis])
    for _ in range(2):  # every pass starts again
        found = collected(blocks)
        np.testing.assert_array_equal(np.concatenate([block[0] for block in found], axis=axis), X)
        for values, response, w, first, flags in found:
            rows = slice(first, first + len(values)) if axis == 0 else slice(None)
            np.testing.assert_array_equal(response, y[rows])
            np.testing.assert_array_equal(w, weights[rows])
            assert values.dtype == np.float64
            assert values.shape[axis] <= size
            assert flags.c_contiguous
            assert flags.writeable
    assert (blocks.n_rows, blocks.n_columns, blocks.axis, blocks.names) == (11, 7, axis, None)


def test_work_may_change_a_block_without_changing_the_data():
    X, y = make_problem(9, 3)
    before = X.copy()
    blocks = ArrayBlocks(X, y, memory=24)

    def spoil(block):
        block.X[:] = 7.0
        return 1

    assert blocks.reduce(spoil, operator.add) == 9
    np.testing.assert_array_equal(X, before)


def test_the_next_block_is_read_while_one_is_worked_on():
    started = threading.Event()

    class Watched(Sliced):
        def __getitem__(self, index):
            if index[0].start == 1:
                started.set()
            return super().__getitem__(index)

    blocks = ArrayBlocks(Watched(np.eye(3)), np.arange(3.0), axis=0, memory=24)
    # The work on the first block can end only because the second one is read meanwhile.
    assert blocks.reduce(lambda _: started.wait(timeout=10), operator.and_)


def test_reading_ahead_passes_errors_on_and_stops():
    def items():
        yield 1
        yield 2
        raise ValueError("broken disk")

    seen = []
    with pytest.raises(ValueError, match="broken disk"):
        seen.extend(ahead(items()))
    assert list(ahead(iter(()))) == []
    running = threading.active_count()
    early = ahead(iter(range(100)))
    assert next(early) == 0
    early.close()
    assert threading.active_count() == running


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
@pytest.mark.parametrize("axis", [0, 1])
def test_memory_maps_are_read_as_they_are(tmp_path, order, mode, axis):
    X, y = make_problem(40, 6, seed=1)
    mapped = memory_map(tmp_path, X, mode=mode, order=order)
    if mode == "c":
        mapped[3] = X[3] = 5.0  # in memory only
    blocks = ArrayBlocks(mapped, memory_map(tmp_path, y, "y.dat"), axis=axis)
    for _ in range(2):
        found = collected(blocks)
        np.testing.assert_array_equal(np.concatenate([b[0] for b in found], axis=axis), X)
        whole = found[0][1] if axis else np.concatenate([b[1] for b in found])
        np.testing.assert_array_equal(whole, y)
    if mode == "r+":
        mapped[5] = X[5] = 9.0
        found = collected(blocks)
        np.testing.assert_array_equal(np.concatenate([b[0] for b in found], axis=axis), X)


def test_a_part_of_a_memory_map_is_that_part(tmp_path):
    X, y = make_problem(40, 6, seed=1)
    mapped = memory_map(tmp_path, X)[10:, ::2]
    (found,) = collected(ArrayBlocks(mapped, y[10:]))
    np.testing.assert_array_equal(found[0], X[10:, ::2])


@pytest.mark.parametrize("axis", [0, 1])
def test_zarr_chunks_are_read_once_each(axis):
    X, y = make_problem(60, 20, seed=1)
    array = zarr_array(X, (7, 6))
    size = (40, 15)[axis]
    blocks = ArrayBlocks(array, y, axis=axis, memory=8 * size * X.shape[1 - axis])
    chunk = (7, 6)[axis]
    assert blocks.step % chunk == 0
    assert size - chunk < blocks.step <= size
    found = collected(blocks)
    np.testing.assert_array_equal(np.concatenate([b[0] for b in found], axis=axis), X)
    # A chunk that is a little longer than a block is taken whole.
    assert ArrayBlocks(array, y, axis=axis, memory=64).step == chunk


def test_everything_on_disk_gives_the_same_gram(tmp_path):
    X, y = make_problem(60, 20, seed=1)
    weights = np.random.default_rng(0).uniform(0, 2, 60)
    expected = block_gram(ArrayBlocks(X, y, weights)).matrix
    sources = [
        (memory_map(tmp_path, X), memory_map(tmp_path, y, "y"), memory_map(tmp_path, weights, "w")),
        (zarr_array(X, (7, 6)), zarr_array(y, (9,)), zarr_array(weights, (9,))),
        (zarr_array(X, (7, 6)), list(y), list(weights)),
    ]
    for source in sources:
        np.testing.assert_allclose(block_gram(ArrayBlocks(*source)).matrix, expected, rtol=1e-12)


def test_data_in_memory_are_left_to_others(tmp_path):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, _ = make_problem(6, 2)
    columns, mapped = {"a": X[:, 0], "b": X[:, 1]}, memory_map(tmp_path, X)
    assert recognises(mapped)
    copies = (mapped + 1.0, mapped[[0, 1, 2]])
    for data in (X, X.tolist(), pandas.DataFrame(columns), polars.DataFrame(columns), *copies):
        assert not recognises(data)


def test_blocks_are_cut_along_the_longer_axis(tmp_path):
    for shape, axis in (((9, 4), 0), ((4, 9), 1), ((4, 4), 0)):
        X, y = make_problem(*shape)
        assert ArrayBlocks(memory_map(tmp_path, X), y).axis == axis


def test_blocks_of_columns_are_for_kernels_that_can_be_formed():
    assert as_axis(None, 5000, 6000) == 1
    assert as_axis(None, 5001, 6000) == 0


def test_dask_collections_go_through_the_same_door():
    array = pytest.importorskip("dask.array")
    X, y = make_problem(20, 3, seed=2)
    blocks = open_source(array.from_array(X, chunks=(6, 3)), y).X
    np.testing.assert_allclose(
        block_gram(blocks).matrix, block_gram(ArrayBlocks(X, y)).matrix, rtol=1e-12
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("axis", [0, 1])
def test_values_that_are_not_finite_are_named_by_row_and_column(bad, axis):
    X, y = make_problem(20, 9)
    X[13, 7] = bad
    blocks = ArrayBlocks(X, y, axis=axis, memory=8 * 4 * X.shape[1 - axis])
    with pytest.raises(InvalidInputError, match=r"'7', the first in row 13"):
        blocks.reduce(block_moments, Moments.merge)
    names = tuple("abcdefghi")
    with pytest.raises(InvalidInputError, match=r"column\(s\) 'h'"):
        ArrayBlocks(X, y, axis=axis, names=names).reduce(block_moments, Moments.merge)


def test_finite_values_whose_sum_overflows_are_fine():
    X = np.full((4, 2), 1.5e308)
    require_finite_columns(X, (), "X")
    with pytest.raises(InvalidInputError, match="row 2"):
        require_finite_columns(np.where(np.arange(4)[:, None] == 2, np.inf, X), (), "X")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones(4), np.ones(4)), "two dimensions"),
        ((np.ones((1, 2)), np.ones(1)), r"at least 2 rows .* shape \(1, 2\)"),
        ((np.ones((3, 0)), np.ones(3)), r"1 column; .* shape \(3, 0\)"),
        ((np.ones((3, 2), dtype=complex), np.ones(3)), "real numbers"),
        ((np.array([["a"], ["b"]]), np.ones(2)), "real numbers"),
        ((np.ones((3, 2)), np.ones(2)), "y has 2 entries but X has 3 rows"),
        ((np.ones((3, 2)), [1.0, np.nan, 1.0]), "y contains 1 value"),
        ((np.ones((3, 2)), np.ones(3), np.ones(2)), "sample_weight must have one entry per row"),
        ((np.ones((3, 2)), np.ones(3), [-1.0, 1.0, 1.0]), "not negative"),
    ],
)
def test_bad_data_are_refused(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        ArrayBlocks(*arguments)


def test_bad_vectors_on_disk_are_refused(tmp_path):
    X, y = make_problem(6, 2)
    short = memory_map(tmp_path, y[:5], "short")
    with pytest.raises(InvalidInputError, match="y has 5 entries but X has 6 rows"):
        ArrayBlocks(X, short)
    with pytest.raises(InvalidInputError, match="sample_weight must have one entry per row"):
        ArrayBlocks(X, y, short)
    y[4] = np.nan
    with pytest.raises(InvalidInputError, match="y contains 1 value"):
        ArrayBlocks(X, memory_map(tmp_path, y, "nan"))


def test_bad_options_are_refused():
    X, y = make_problem(6, 2)
    with pytest.raises(InvalidInputError, match="axis must be 0"):
        ArrayBlocks(X, y, axis=2)
    with pytest.raises(InvalidInputError, match="memory must be"):
        ArrayBlocks(X, y, memory=0)


def test_block_length_never_exceeds_the_memory():
    for width in (1, 10, 500, 5000, 10**5, 10**8):
        length = block_length(width)
        assert length == 1 or 8 * width * length <= 64 * 2**20
        assert block_length(width, 80) == max(1, 10 // width)


def test_progress_is_shown_on_stderr_if_asked_for(capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    X, y = make_problem(6, 2)
    ArrayBlocks(X, y, memory=16).reduce(block_moments, Moments.merge, "Reading rows")
    assert capsys.readouterr().err == ""
    result = ArrayBlocks(X, y, memory=16, progress=True).reduce(
        block_moments, Moments.merge, "Reading rows"
    )
    shown = capsys.readouterr()
    assert "Reading rows" in shown.err
    assert shown.out == ""
    assert result.n_rows == 6
