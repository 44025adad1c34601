"""Triangular factors of data that come in pieces, where X'X has too few digits.

X'X squares the singular values, so that directions below 1e-8 of the largest one drown in rounding:
the rule for spectra. A triangular factor R with R'R = [X y]'[X y] keeps them all (a "tall and
skinny QR", Demmel, Grigori, Hoemmen and Langou 2012, SIAM J. Sci. Comput. 34, A206-A239). By the
rule for moments, the factor of two pieces is that of R_a, R_b and one more row. X'X costs less than
half as much, and is tried first.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof._core.inputs import Array, read_only
from plsdof._core.moments import Moments, block_moments
from plsdof._core.rows import Block
from plsdof._core.standardize import Standardized

_EPS = float(np.finfo(np.float64).eps)
# Rows are collected up to this many times the number of columns: a decomposition of n rows costs
# n p^2, one of p rows and a few more p^3 each time.
_MOST_ROWS = 2


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A triangular factor of the centred columns [X y] of some rows.

    Attributes
    ----------
    moments : Moments
        Means and squares of the same rows.
    matrix : (k, p + 1) array
        R, or more rows with the same products.
    """

    moments: Moments
    matrix: Array


def block_factor(block: Block) -> Factor | None:
    """Return the factor of a block of rows without weights. Cost: O(rows p^2)."""
    columns = np.column_stack([block.X, block.y])
    moments = block_moments(block, products=False)
    if not moments.n_rows:
        return None
    columns -= moments.mean
    columns -= moments.rest
    return Factor(moments=moments, matrix=_shortened(columns))


def merge_factors(a: Factor | None, b: Factor | None) -> Factor | None:
    """Return the factor of the rows of both. Cost: O(p^3) once in p rows or more."""
    if a is None or b is None:
        return b if a is None else a
    one, other, moments = a.moments, b.moments, a.moments.merge(b.moments)
    step = (other.mean - one.mean) + (other.rest - one.rest)
    root = np.sqrt(one.n * (other.n / moments.n)) * step
    return Factor(moments=moments, matrix=_shortened(np.vstack([a.matrix, b.matrix, root])))


def _shortened(rows: Array) -> Array:
    """Make a triangle of rows when there are enough of them to be worth it."""
    return _triangle(rows) if len(rows) > _MOST_ROWS * rows.shape[1] else rows


def _triangle(columns: Array) -> Array:
    found: Any = np.linalg.qr(columns, mode="r")
    return np.asarray(found)


def standardized_factor(
    factor: Factor | None, scale: bool, names: tuple[str, ...] | None
) -> Standardized:
    """Return standardised data that have the same products as all rows.

    There are at most p + 1 of them; ``units`` are those of all rows.
    """
    assert factor is not None
    units = factor.moments.units(scale, names)
    matrix = _triangle(factor.matrix)
    X = matrix[:, :-1] / units.x_scale
    size = factor.moments.magnitude[:-1] / units.x_scale
    n, largest = factor.moments.n_rows, float(np.linalg.norm(X, 2))
    # The same limits as for all rows in memory, see `centre_columns` and `numerical_rank`.
    entries = _EPS * np.sqrt(n) * float(np.linalg.norm(size))
    return Standardized(
        X=read_only(X),
        y=read_only(matrix[:, -1].copy()),
        units=units,
        rounding=max(entries, max(n, X.shape[1]) * _EPS * largest),
    )
