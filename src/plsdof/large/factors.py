"""Triangular factors of data that come in pieces, where X'X has too few digits.

X'X squares the singular values, so that directions below 1e-8 of the largest one drown in rounding:
the rule for spectra. A triangular factor R with R'R = [X y]'[X y] keeps them all (a "tall and
skinny QR", Demmel, Grigori, Hoemmen and Langou 2012, SIAM J. Sci. Comput. 34, A206-A239). With
every piece centred at its own mean, and d the difference of two means (see `large.moments`),

    R'R = R_a'R_a + R_b'R_b + (n_a n_b / n) d d',

so the factor of both is that of R_a, R_b and one more row. X'X costs less than half as much, and is
tried first.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from plsdof._core.exact import Exact
from plsdof._core.inputs import Array, Standardized, read_only
from plsdof._core.routes import first_accurate, is_accurate
from plsdof._core.spectrum import Gram, Reached
from plsdof.large.blocks import Block, Blocks
from plsdof.large.moments import Sums, block_sums, merge_sums, scale_sums

_EPS = float(np.finfo(np.float64).eps)
_POWER_STEPS = 30
# Rows are collected up to this many times the number of columns: a decomposition of n rows costs
# n p^2, one of p rows and a few more p^3 each time.
_MOST_ROWS = 2


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A triangular factor of the centred columns [X y] of some rows.

    Attributes
    ----------
    sums : Sums
        Means and squares of the same rows.
    matrix : (k, p + 1) array or None
        R, or more rows with the same products; None where squares of some column leave the range
        of float64.
    """

    sums: Sums
    matrix: Array | None


def factor_of_block(block: Block) -> Factor | None:
    """Return the factor of a block of rows without weights. Cost: O(rows p^2)."""
    if not len(block.X):
        return None
    columns = np.column_stack([block.X, block.y])
    sums = block_sums(block, products=False)
    assert sums is not None
    if _is_extreme(sums):
        return Factor(sums=sums, matrix=None)
    columns -= sums.mean
    columns -= sums.rest
    return Factor(sums=sums, matrix=_shortened(columns))


def merge_factors(a: Factor | None, b: Factor | None) -> Factor | None:
    """Return the factor of the rows of both. Cost: O(p^3) once in p rows or more."""
    if a is None or b is None:
        return b if a is None else a
    sums = merge_sums(a.sums, b.sums)
    assert sums is not None
    if a.matrix is None or b.matrix is None:
        return Factor(sums=sums, matrix=None)
    step = (b.sums.mean - a.sums.mean) + (b.sums.rest - a.sums.rest)
    root = np.sqrt(a.sums.n * (b.sums.n / sums.n)) * step
    stacked = np.vstack([a.matrix, b.matrix, root])
    return Factor(sums=sums, matrix=_shortened(stacked))


def _shortened(rows: Array) -> Array:
    """Make a triangle of rows when there are enough of them to be worth it."""
    return _triangle(rows) if len(rows) > _MOST_ROWS * rows.shape[1] else rows


def _triangle(columns: Array) -> Array:
    found: Any = np.linalg.qr(columns, mode="r")
    return np.asarray(found)


def _is_extreme(sums: Sums) -> bool:
    return bool(np.any((sums.exponent != 0) & (sums.magnitude > 0)))


def factor_blocks(blocks: Blocks) -> Factor | None:
    """Return the factor of a table in blocks of rows, by one pass."""
    return blocks.reduce(factor_of_block, merge_factors, "Triangular factor")


def standardized_factor(
    factor: Factor | None, scale: bool, names: tuple[str, ...] | None
) -> Standardized | None:
    """Return standardised data that have the same products as all rows; None if in doubt.

    There are at most p + 1 of them; ``units`` are those of all rows.
    """
    if factor is None or factor.matrix is None:
        return None
    scaled = scale_sums(factor.sums, scale, names)
    matrix = _triangle(factor.matrix)
    X = matrix[:, :-1] * scaled.factor
    size = np.where(scaled.factor > 0, factor.sums.magnitude[:-1] * scaled.factor, 0.0)
    n, largest = factor.sums.n_rows, _largest_singular_value(X)
    # The same limits as for all rows in memory, see `centre_columns` and `numerical_rank`.
    entries = _EPS * np.sqrt(n) * float(np.linalg.norm(size))
    return Standardized(
        X=read_only(X),
        y=read_only(matrix[:, -1].copy()),
        units=scaled.units,
        rounding=max(entries, max(n, X.shape[1]) * _EPS * largest),
        is_factor=True,
    )


def _largest_singular_value(X: Array) -> float:
    v = np.ones(X.shape[1])
    for _ in range(_POWER_STEPS):
        length = float(np.linalg.norm(v))
        if length == 0:
            return 0.0
        v = X.T @ (X @ (v / length))
    return float(np.sqrt(np.linalg.norm(v)))


def refined(
    path: Exact,
    gram: Gram,
    asked: int | None,
    routes: Callable[[Standardized], Iterator[Exact]],
) -> Exact:
    """Return a path from a Gram matrix if it is accurate, else one from a factor.

    ``routes`` go from standardised data to paths, of which the first accurate one is taken. A path
    that cannot be had more accurately is returned as it is.
    """
    if gram.refine is None or is_accurate(path, asked):
        return path
    data = gram.refine()
    return path if data is None else _with_rows(first_accurate(routes(data), asked), gram)


def _with_rows(path: Exact, gram: Gram) -> Exact:
    """Let a path reach the rows of the data, in the place of those of their factor."""
    rows = Reached(forward=gram.to_samples, backward=None)
    basis = path.decomposition.feature_basis
    return replace(
        path,
        decomposition=replace(path.decomposition, left=None, right=basis, X=rows),
        full=None if path.full is None else partial(_whole_with_rows, path, gram),
    )


def _whole_with_rows(path: Any, gram: Gram) -> Any:
    return _with_rows(path.complete(), gram)
