"""Gram matrices of blocks against standardised data in memory."""

import pickle
from functools import partial

import numpy as np
import pytest
from _helpers.problems import make_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from plsdof._core.standardize import standardize
from plsdof.errors import ConstantColumnWarning, InvalidInputError
from plsdof.large.blocks import ArrayBlocks
from plsdof.large.sources import block_gram

close = partial(np.testing.assert_allclose, rtol=1e-10)
# X'X formed, XX' formed, and products with X'X by passes over the rows.
WAYS = [(0, 5000), (1, 5000), (0, 0)]


def blocks_of(X, y, weights=None, *, axis, size):
    """Cut into blocks of ``size`` rows or columns."""
    return ArrayBlocks(X, y, weights, axis=axis, memory=8 * size * X.shape[1 - axis])


def assert_equals_dense(gram, X, y, weights, scale):
    """Compare everything that a Gram has with dense products."""
    data = standardize(X, y, scale=scale, sample_weight=weights)
    Z, t = data.X, data.y
    features = gram.side == "features"
    dense = Z.T @ Z if features else Z @ Z.T
    size = np.abs(dense).max()
    v = np.random.default_rng(1).normal(size=(gram.order, 3))
    close(gram.matrix, dense, atol=1e-10 * size)
    close(gram.response, Z.T @ t if features else t, atol=1e-10 * np.abs(t).max())
    assert gram.total == pytest.approx(t @ t, rel=1e-10)
    back = gram.to_samples if features else gram.to_features
    expected = (Z if features else Z.T) @ v
    close(back(v), expected, atol=1e-10 * np.abs(expected).max())
    close(back(v[:, 0]), expected[:, 0], atol=1e-10 * np.abs(expected).max())
    assert_same_units(gram.units, data.units)


def assert_same_units(units, expected):
    close(units.x_mean, expected.x_mean)
    close(units.x_scale, expected.x_scale)
    assert units.y_mean == pytest.approx(expected.y_mean, rel=1e-10)
    assert units.n == pytest.approx(expected.n, rel=1e-14)
    assert units.n_rows == expected.n_rows
    assert (units.row_scale is None) == (expected.row_scale is None)
    if expected.row_scale is not None:
        close(units.row_scale, expected.row_scale)


@pytest.mark.parametrize(("axis", "limit"), WAYS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("shape", [(40, 9), (9, 40), (30, 1), (2, 3)])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_blocks_give_what_standardised_data_give(axis, limit, weighted, scale, shape, size):
    X, y = make_problem(*shape, seed=3)
    X = X + 50.0
    weights = None
    if weighted:
        weights = np.random.default_rng(2).uniform(0.2, 2.0, shape[0])
        weights[5::4] = 0.0
    gram = block_gram(blocks_of(X, y, weights, axis=axis, size=size), scale=scale, limit=limit)
    assert gram.side == ("samples" if axis else "features")
    assert_equals_dense(gram, X, y, weights, scale)


@pytest.mark.parametrize(("axis", "limit"), WAYS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint8", "bool", ">f8"])
def test_any_real_type_is_taken(axis, limit, dtype):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2 if dtype == "bool" else 100, size=(30, 12)).astype(dtype)
    y = rng.normal(size=30)
    gram = block_gram(blocks_of(X, y, axis=axis, size=5), limit=limit)
    assert_equals_dense(gram, X, y, None, True)


@pytest.mark.parametrize(("axis", "limit"), WAYS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ratio", [1e6, 1e8, 1e9])
def test_large_means_cost_no_digits(axis, limit, weighted, ratio):
    X, y = make_problem(50, 6, seed=8)
    X, y = X + ratio, y - ratio
    weights = np.random.default_rng(2).uniform(0.2, 2.0, 50) if weighted else None
    gram = block_gram(blocks_of(X, y, weights, axis=axis, size=4), limit=limit)
    assert_equals_dense(gram, X, y, weights, True)


@pytest.mark.parametrize(("axis", "limit"), WAYS)
@pytest.mark.parametrize("scale", [True, False])
def test_constant_columns_count_nothing_and_warn_once(axis, limit, scale):
    X, y = make_problem(30, 8, seed=4)
    X[:, [1, 6]] = [0.1, 0.0]
    blocks = blocks_of(X, y, axis=axis, size=3)
    blocks.names = tuple("abcdefgh")
    with pytest.warns(ConstantColumnWarning, match="'b', 'g'") as caught:
        gram = block_gram(blocks, limit=limit, scale=scale)
    assert len(caught) == 1
    with pytest.warns(ConstantColumnWarning, match="do not vary"):
        assert_equals_dense(gram, X, y, None, scale)
    assert gram.units.names == tuple("abcdefgh")


@pytest.mark.parametrize("limit", [0, 5000])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_columns_whose_squares_leave_the_range_are_refused(limit, scale, size):
    X, y = make_problem(30, 5, seed=4)
    X[:, 2] *= size
    with pytest.raises(InvalidInputError, match="squares leave the range"):
        block_gram(blocks_of(X, y, axis=0, size=3), limit=limit, scale=scale)


def test_blocks_of_columns_are_for_few_rows():
    X, y = make_problem(9, 12)
    with pytest.raises(InvalidInputError, match=r"at most 8 rows, but there are 9.*axis=0"):
        block_gram(blocks_of(X, y, axis=1, size=3), limit=8)


@pytest.mark.parametrize(("axis", "limit"), WAYS)
def test_bad_weights_and_responses_are_refused_as_in_memory(axis, limit):
    X, y = make_problem(12, 5, seed=4)
    cases = [
        (y, np.r_[1.0, np.zeros(11)], "at least 2"),
        (y, np.full(12, 0.01), "sample_weight sums to 0.12"),
        (y * 1e-200, None, "y has entries of magnitude"),
    ]
    for response, weights, message in cases:
        blocks = blocks_of(X, response, weights, axis=axis, size=3)
        with pytest.raises(InvalidInputError, match=message):
            block_gram(blocks, limit=limit)
    with pytest.raises(InvalidInputError, match="limit must be"):
        block_gram(blocks_of(X, y, axis=0, size=3), limit=-1)


@pytest.mark.parametrize(("axis", "limit"), WAYS)
def test_a_constant_response_is_zero(axis, limit):
    X, _ = make_problem(12, 5, seed=4)
    gram = block_gram(blocks_of(X, np.full(12, 0.1), axis=axis, size=3), limit=limit)
    assert gram.total == 0.0
    assert not gram.response.any()


class Remote:
    """Blocks that send everything through pickle and merge in pairs, as a cluster does."""

    def __init__(self, blocks):
        self.blocks = blocks
        self.axis, self.names = blocks.axis, blocks.names
        self.n_columns, self.n_rows = blocks.n_columns, blocks.n_rows
        self.passes = 0

    def reduce(self, work, merge, _=""):
        self.passes += 1
        work, merge = pickle.loads(pickle.dumps((work, merge)))
        parts = self.blocks.reduce(lambda block: [pickle.dumps(work(block))], lambda a, b: a + b)
        parts = [pickle.loads(part) for part in parts]
        for part in parts:
            freeze(part)
        while len(parts) > 1:
            parts = [
                merge(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i]
                for i in range(0, len(parts), 2)
            ]
        return parts[0]


def freeze(part):
    """Make every array in a result read-only, so that merging cannot change it."""
    for value in part if isinstance(part, list | tuple) else getattr(part, "__dict__", {}).values():
        freeze(value)
    if isinstance(part, np.ndarray):
        part.flags.writeable = False


@pytest.mark.parametrize(("axis", "limit"), WAYS)
def test_work_can_be_sent_elsewhere_and_merging_changes_no_part(axis, limit):
    X, y = make_problem(40, 10, seed=6)
    weights = np.random.default_rng(2).uniform(0.2, 2.0, 40)
    blocks = Remote(blocks_of(X, y, weights, axis=axis, size=3))
    gram = block_gram(blocks, limit=limit)
    assert blocks.passes == 1
    assert_equals_dense(gram, X, y, weights, True)


def test_a_large_matrix_is_formed_by_a_pass_of_its_own():
    X, y = make_problem(40, 10, seed=6)
    blocks = Remote(blocks_of(X, y, axis=0, size=3))
    gram = block_gram(blocks, limit=0)
    assert blocks.passes == 1
    for _ in range(2):
        assert gram.matrix.shape == (10, 10)
        assert blocks.passes == 2


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(2, 30),
    p=st.integers(1, 30),
    size=st.integers(1, 40),
    way=st.sampled_from(WAYS),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_cut_gives_the_same(n, p, size, way, seed):
    X, y = make_problem(n, p, seed=seed)
    gram = block_gram(blocks_of(X, y, axis=way[0], size=size), limit=way[1])
    assert_equals_dense(gram, X, y, None, True)
