"""Blocks of columns of equal size: multiblock PLS, by the plain algorithm."""

from functools import partial

import numpy as np
import pytest

from plsdof import pls_path
from plsdof.chemometrics import Preprocessor, block_importance, preprocessed, vip
from plsdof.errors import InvalidInputError
from plsdof.large import ArrayBlocks

SIZES = (4, 2, 3)


def make(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 9)) @ rng.normal(size=(9, 9)) * 10.0 ** rng.uniform(-2, 2, size=9)
    return X, X @ (rng.normal(size=9) / X.std(axis=0)) + rng.normal(size=25)


def multiblock(blocks, y, m):
    """MB-PLS of Westerhuis, Kourti & MacGregor (1998), super-score deflation; y centred."""
    blocks, residual = [one - one.mean(axis=0) for one in blocks], y - y.mean()
    # Every block has the sum of squares one.
    blocks = [one / np.linalg.norm(one) for one in blocks]
    for _ in range(m):
        weights = [one.T @ residual for one in blocks]
        lengths = [np.linalg.norm(w) for w in weights]
        scores = np.column_stack(
            [one @ w / size for one, w, size in zip(blocks, weights, lengths, strict=True)]
        )
        super_weight = scores.T @ residual
        t = scores @ (super_weight / np.linalg.norm(super_weight))
        blocks = [one - np.outer(t, t @ one) / (t @ t) for one in blocks]
        residual = residual - t * (t @ residual) / (t @ t)
    return y - residual


@pytest.mark.parametrize("m", [1, 2, 4])
def test_it_is_multiblock_pls(m):
    X, y = make()
    rows = Preprocessor("autoscale,blocks:4+2+3").fit_transform(X)
    standard = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    expected = multiblock(np.split(standard, [4, 6], axis=1), y, m)
    path = pls_path(rows, y, m, scale=False)
    np.testing.assert_allclose(path.fitted[m], expected, rtol=1e-10)
    step, trace = 1e-5, 0.0
    for i in range(25):
        moved = [y + sign * step * np.eye(25)[i] for sign in (1, -1)]
        up, down = (multiblock(np.split(standard, [4, 6], axis=1), one, m)[i] for one in moved)
        trace += (up - down) / (2 * step)
    assert path.dof[m] == pytest.approx(trace, abs=1e-6)


def test_folds_make_blocks_of_their_own_rows():
    X, y = make(1)
    recipe = preprocessed("blocks:4+2+3", partial(pls_path, max_components=3, scale=False))
    path = recipe.fit(X, y)
    fold = np.arange(25) % 5
    left = path.left_out([(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(5)])
    train, test = fold != 2, fold == 2
    chain = Preprocessor("blocks:4+2+3").fit(X[train])
    part = pls_path(chain.transform(X[train]), y[train], 3, scale=False)
    expected = y[test] - part.predict(chain.transform(X[test]))
    np.testing.assert_allclose(left.residuals[:, test], expected, atol=1e-8)


def test_rows_read_in_blocks_and_kept_chains_are_the_same():
    X, y = make(2)
    X[:, 6:] = 1.0  # a block that does not vary
    chain = Preprocessor("blocks:4+2+3").fit(X)
    read = Preprocessor("blocks:4+2+3").fit_blocks(ArrayBlocks(X, y, axis=0))
    kept = Preprocessor.from_content(chain.to_content(), 9)
    for other in (read, kept):
        np.testing.assert_allclose(other.transform(X), chain.transform(X), atol=1e-12)
    variances = chain.transform(X).var(axis=0, ddof=1)
    np.testing.assert_allclose([variances[:4].sum(), variances[4:6].sum()], 1.0)
    np.testing.assert_array_equal(variances[6:], 0.0)


def test_importance_of_blocks_is_that_of_their_variables():
    X, y = make(3)
    model = pls_path(X, y, 3)[3]
    found = block_importance(model, SIZES)
    np.testing.assert_allclose(np.mean(found**2), 1.0)
    assert found[1] == pytest.approx(np.sqrt(3 / 9 * np.sum(vip(model)[4:6] ** 2)))


@pytest.mark.parametrize("steps", ["blocks", "blocks:4+2", "blocks:9+0", "blocks:4,5", "blocks:x"])
def test_sizes_that_do_not_fit_are_refused(steps):
    with pytest.raises(InvalidInputError):
        Preprocessor(steps).fit(make()[0])
    with pytest.raises(InvalidInputError):
        block_importance(pls_path(*make(), 2)[1], [4, 2])
