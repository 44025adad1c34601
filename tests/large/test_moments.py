"""Merged moments against exact arithmetic and against the dense way."""

from fractions import Fraction

import numpy as np
import pytest
from _helpers.problems import make_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from plsdof import pcr_path, ridge_path
from plsdof._core import spectrum
from plsdof._core.standardize import standardize
from plsdof.errors import ConstantColumnWarning, InvalidInputError, NotAvailableError
from plsdof.large import Moments
from plsdof.large.blocks import ArrayBlocks
from plsdof.large.sources import block_gram


def exact_scatter(X, y, weights):
    """Means and centred products of [X y] in rational arithmetic, rounded once at the end."""
    rows = [[Fraction(float(v)) for v in (*row, t)] for row, t in zip(X, y, strict=True)]
    w = [Fraction(float(v)) for v in weights]
    n, columns = sum(w), range(len(rows[0]))
    mean = [sum(a * row[j] for a, row in zip(w, rows, strict=True)) / n for j in columns]
    centred = [[row[j] - mean[j] for j in columns] for row in rows]
    scatter = [
        [float(sum(a * c[i] * c[j] for a, c in zip(w, centred, strict=True))) for j in columns]
        for i in columns
    ]
    return np.array([float(m) for m in mean]), np.array(scatter)


def scatter_of(moments):
    xy = moments.xy[:, None]
    return np.block([[moments.xx, xy], [xy.T, np.array([[moments.yy]])]])


def in_pieces(X, y, weights, cuts):
    moments = Moments.empty()
    for rows in np.split(np.arange(len(X)), sorted(cuts)):
        if len(rows):
            moments.partial_fit(X[rows], y[rows], None if weights is None else weights[rows])
    return moments


def relative(difference, scatter):
    size = np.sqrt(np.diag(scatter))
    return np.abs(difference / np.outer(size, size)).max()


@pytest.mark.parametrize("ratio", [0.0, 1e6, 1e8, 1e12])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cuts", [(), (1, 2, 3), (30,), (5, 6, 20, 39)])
def test_moments_are_exact_to_rounding_however_large_the_means(ratio, weighted, cuts):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3)) + ratio * np.array([1.0, -1.0, 0.7])
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=40)
    weights = rng.uniform(0.1, 3.0, 40) if weighted else None
    mean, scatter = exact_scatter(X, y, np.ones(40) if weights is None else weights)
    moments = in_pieces(X, y, weights, cuts)
    assert relative(scatter_of(moments) - scatter, scatter) < 2e-15
    # Eight digits of the data are lost in their means; the products must not lose them again.
    np.testing.assert_allclose(
        np.append(moments.x_mean, moments.y_mean), mean, rtol=1e-15, atol=1e-14
    )


def test_a_first_piece_far_from_the_others_costs_no_digits():
    rng = np.random.default_rng(4)
    X = np.vstack([np.zeros((3, 2)), 1e8 + rng.normal(size=(30, 2))])
    y = rng.normal(size=33)
    _, scatter = exact_scatter(X, y, np.ones(33))
    moments = in_pieces(X, y, None, (3, 10, 20))
    assert relative(scatter_of(moments) - scatter, scatter) < 2e-15
    # The same rows without the first ones: what the later pieces add is still exact.
    tail = in_pieces(X[3:], y[3:], None, (10, 20))
    _, scatter = exact_scatter(X[3:], y[3:], np.ones(30))
    assert relative(scatter_of(tail) - scatter, scatter) < 2e-15


@settings(max_examples=50, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 25), max_size=6),
    ratio=st.sampled_from([0.0, 1.0, 1e6, 1e8]),
    weighted=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_grouping_gives_the_same_moments(cuts, ratio, weighted, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(25, 4)) + ratio, rng.normal(size=25) - ratio
    weights = rng.integers(0, 3, 25).astype(float) if weighted else None
    if weights is not None:
        weights[:2] = 1.0
    whole, merged = Moments.of(X, y, weights), in_pieces(X, y, weights, cuts)
    scatter = scatter_of(whole)
    assert relative(scatter_of(merged) - scatter, scatter) < 5e-14
    assert merged.n == whole.n
    assert merged.n_rows == whole.n_rows


def test_merging_is_associative_and_leaves_its_parts_alone():
    X, y = make_problem(30, 5, seed=1)
    a, b, c = (Moments.of(X[i::3], y[i::3]) for i in range(3))
    before = a.xx.copy(), b.xx.copy(), b.x_mean.copy()
    left, right = a.merge(b).merge(c), a.merge(b.merge(c))
    np.testing.assert_allclose(left.xx, right.xx, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(a.xx, before[0])
    np.testing.assert_array_equal(b.xx, before[1])
    np.testing.assert_array_equal(b.x_mean, before[2])
    assert left.n_rows == 30


@pytest.mark.parametrize("ratio", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_was_merged_comes_off_again(ratio, weighted):
    X, y = make_problem(40, 5, seed=3)
    X, y = X + ratio, y - ratio
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 40) if weighted else None
    whole, left = Moments.of(X, y, weights), slice(0, None, 4)
    kept = np.arange(40) % 4 != 0
    some = [None if weights is None else weights[rows] for rows in (left, kept)]
    found = whole.without(Moments.of(X[left], y[left], some[0]))
    expected = Moments.of(X[kept], y[kept], some[1])
    scatter = scatter_of(expected)
    assert relative(scatter_of(found) - scatter, scatter) < 1e-13
    # Means near zero have the rounding of the values that they are means of.
    np.testing.assert_allclose(found.x_mean, expected.x_mean, rtol=1e-14, atol=1e-15)
    assert (found.n, found.n_rows) == (pytest.approx(expected.n, rel=1e-14), 30)
    np.testing.assert_array_equal(whole.without(Moments.empty()).xx, whole.xx)


def test_integer_weights_are_repeated_rows_and_zero_ones_are_left_out():
    X, y = make_problem(20, 3, seed=2)
    counts = np.arange(20) % 4
    X[counts == 0] = 1e6  # would show in the means
    weighted = Moments.of(X, y, counts)
    repeated = Moments.of(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.xx, repeated.xx, rtol=1e-13)
    np.testing.assert_allclose(weighted.xy, repeated.xy, rtol=1e-12)
    assert weighted.n == repeated.n
    assert weighted.n_rows == 15


def test_a_piece_without_weight_changes_nothing():
    X, y = make_problem(20, 3, seed=2)
    moments = Moments.of(X, y)
    before = moments.xx.copy()
    assert moments.partial_fit(X * 5, y, np.zeros(20)) is moments
    np.testing.assert_array_equal(moments.xx, before)
    assert Moments.of(X, y, np.zeros(20)).merge(moments).n_rows == 20
    assert Moments.empty().merge(Moments.empty()).n_rows == 0


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_gram_is_that_of_standardised_data(scale, weighted):
    X, y = make_problem(50, 7, seed=5)
    X = X + 1e4
    weights = np.random.default_rng(0).uniform(0, 2, 50) if weighted else None
    data = standardize(X, y, scale=scale, sample_weight=weights)
    gram = in_pieces(X, y, weights, (7, 8, 30)).gram(scale)
    np.testing.assert_allclose(gram.matrix, data.X.T @ data.X, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(gram.response, data.X.T @ data.y, rtol=1e-10)
    np.testing.assert_allclose(gram.units.x_scale, data.units.x_scale, rtol=1e-12)
    np.testing.assert_allclose(gram.units.x_mean, data.units.x_mean, rtol=1e-14)
    assert gram.total == pytest.approx(data.y @ data.y, rel=1e-12)
    assert gram.units.y_mean == pytest.approx(data.units.y_mean, rel=1e-13)
    assert gram.units.n == pytest.approx(data.units.n, rel=1e-14)
    assert gram.max_rank == 7
    np.testing.assert_array_equal(gram.matrix, gram.matrix.T)
    assert gram.to_samples is None


def test_gram_does_not_change_the_moments():
    X, y = make_problem(20, 3)
    moments = Moments.of(X, y)
    first = moments.gram().matrix.copy()
    np.testing.assert_array_equal(moments.gram().matrix, first)
    with pytest.raises(ValueError, match="read-only"):
        moments.xx[0, 0] = 1.0


@pytest.mark.parametrize("value", [0.1, 0.0, 1e8 + 0.3, 1e60, 1e-200])
@pytest.mark.parametrize("scale", [True, False])
def test_constant_columns_are_found_as_in_standardize(value, scale):
    X, y = make_problem(30, 4, seed=6)
    X[:, 2] = value
    with pytest.warns(ConstantColumnWarning, match=r"do not vary: '2'"):
        data = standardize(X, y, scale=scale)
    with pytest.warns(ConstantColumnWarning, match=r"do not vary: '2'") as caught:
        gram = in_pieces(X, y, None, (3, 20)).gram(scale)
    assert caught[0].filename == __file__
    assert gram.units.x_scale[2] == np.inf
    assert gram.units.x_mean[2] == pytest.approx(value, rel=1e-15)
    assert not gram.matrix[2].any()
    np.testing.assert_allclose(gram.matrix, data.X.T @ data.X, rtol=1e-10, atol=1e-10)


def test_a_column_that_varies_between_pieces_only_is_not_constant():
    X, y = make_problem(20, 2, seed=7)
    X[:, 1] = np.repeat([1.0, 2.0], 10)
    gram = in_pieces(X, y, None, (10,)).gram()
    np.testing.assert_allclose(gram.units.x_scale[1], np.std(X[:, 1], ddof=1), rtol=1e-14)


def test_a_constant_response_is_zero():
    X, _ = make_problem(20, 2, seed=7)
    gram = in_pieces(X, np.full(20, 0.1), None, (7,)).gram()
    assert gram.total == 0.0
    assert not gram.response.any()
    assert gram.units.y_mean == 0.1


@pytest.mark.parametrize("sizes", [(1.0, 1e60), (0.0, 1e-60), (1e-200, 1.0)])
def test_pieces_of_very_different_size_merge(sizes):
    X, y = make_problem(40, 3, seed=9)
    X[:20, 1] *= sizes[0]
    X[20:, 1] *= sizes[1]
    data = standardize(X, y)
    gram = in_pieces(X, y, None, (20,)).gram()
    np.testing.assert_allclose(gram.matrix, data.X.T @ data.X, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(gram.response, data.X.T @ data.y, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("size", [1e200, 1e-200, 1.5e308, 1e-300])
def test_columns_whose_squares_leave_the_range_are_refused(size):
    X, y = make_problem(10, 2)
    X, y = X / np.abs(X).max(), y / np.abs(y).max()
    with pytest.raises(InvalidInputError, match="X has entries of magnitude"):
        Moments.of(X * [size, 1.0], y).gram()
    with pytest.raises(InvalidInputError, match="y has entries of magnitude"):
        Moments.of(X, y * size).gram()


def test_names_are_kept_and_compared():
    pandas = pytest.importorskip("pandas")
    X, y = make_problem(12, 2)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    moments = Moments.of(frame[:6], y[:6]).partial_fit(X[6:], y[6:])
    assert moments.gram().units.names == ("a", "b")
    with pytest.raises(InvalidInputError, match="without 'b' and with 'c' in addition"):
        moments.partial_fit(frame.rename(columns={"b": "c"}), y)
    assert moments.n_rows == 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (np.where(X[3, 1] == X, np.nan, X), y), r"NaN or infinity.*'1'"),
        (lambda X, y: (X[:, 0], y), "two dimensions"),
        (lambda X, y: (X, y[:-1]), "y has 9 entries but X has 10 rows"),
        (lambda X, y: (X[:, :1], y), "have 1 column"),
    ],
)
def test_bad_rows_are_refused_and_not_added(change, message):
    X, y = make_problem(10, 2)
    moments = Moments.of(X, y)
    with pytest.raises(InvalidInputError, match=message):
        moments.partial_fit(*change(X, y))
    assert moments.n_rows == 10


def test_too_few_rows_are_refused():
    with pytest.raises(InvalidInputError, match=r"0 row\(s\)"):
        Moments.empty().gram()
    with pytest.raises(InvalidInputError, match=r"1 row\(s\)"):
        Moments.of([[1.0], [2.0]], [1.0, 2.0], [0.0, 3.0]).gram()
    with pytest.raises(InvalidInputError, match=r"sample_weight sums to 0\.2"):
        Moments.of([[1.0], [2.0]], [1.0, 2.0], [0.1, 0.1]).gram()
    with pytest.raises(NotAvailableError, match="no rows have been added"):
        _ = Moments.empty().x_mean
    assert Moments.empty().n == Moments.empty().n_rows == 0


@pytest.mark.parametrize("scale", [True, False])
def test_other_methods_take_moments_too(scale):
    X, y = make_problem(60, 5)
    moments = Moments.of(X[:20], y[:20]).merge(Moments.of(X[20:], y[20:]))
    pairs = [
        (pcr_path(moments, max_components=4, scale=scale), pcr_path(X, y, 4, scale=scale)),
        (ridge_path(moments, scale=scale), ridge_path(X, y, scale=scale)),
        (ridge_path(moments, alphas=[1.0], scale=scale), ridge_path(X, y, [1.0], scale=scale)),
    ]
    for found, expected in pairs:
        np.testing.assert_allclose(found.dof, expected.dof, rtol=1e-10)
        np.testing.assert_allclose(found.rss, expected.rss, rtol=1e-9)
        np.testing.assert_allclose(found.coef, expected.coef, atol=1e-10)
        np.testing.assert_array_equal(found.parameters, expected.parameters)


def test_other_methods_refuse_what_is_too_large_for_them(monkeypatch):
    X, y = make_problem(60, 5)
    with monkeypatch.context() as patched:
        patched.setattr(spectrum, "COUNTED", 3)
        for fit in (pcr_path, ridge_path):
            with pytest.raises(NotAvailableError):
                fit(block_gram(ArrayBlocks(X, y), limit=3), None)
    with pytest.raises(InvalidInputError, match="order must be"):
        pcr_path(Moments.of(X, y), order="random")
    with pytest.warns(match="9 components asked for, at most 5 supported"):
        pcr_path(Moments.of(X, y), max_components=9)
