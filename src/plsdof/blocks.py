"""Data cut into blocks, wherever they are: one after the other, or spread over machines."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from plsdof._validation import Array

Part = TypeVar("Part")


@dataclass(frozen=True, kw_only=True)
class Block:
    """Some rows of the data, or some of its columns.

    Attributes
    ----------
    X : (rows, columns) array
        Finite float64, for the worker to change as it likes.
    y : (rows,) array
    weights : (rows,) array or None
    first : int
        Number of the block's first row (blocks of rows) or first column (blocks of columns).
    """

    X: Array
    y: Array
    weights: Array | None
    first: int


class Blocks(Protocol):
    """A table and its response, cut along one axis.

    Everything that is computed of large data is a sum over blocks: moments, kernels, and products
    with the data. ``reduce`` is the only way in which it is read.
    """

    @property
    def axis(self) -> int:
        """0 for blocks of rows, 1 for blocks of columns."""

    @property
    def n_columns(self) -> int:
        """Number p of predictors."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if it is not known before reading."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the predictors, if they have any."""

    def reduce(
        self,
        work: Callable[[Block], Part],
        merge: Callable[[Part, Part], Part],
        description: str = "",
    ) -> Part:
        """Return the merged results of ``work`` on every block.

        ``merge`` must be associative; results are merged in the order of the blocks, so that a
        run can be repeated to the last digit. Both functions must be picklable.
        """
