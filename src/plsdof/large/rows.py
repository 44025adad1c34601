"""Some rows of a table in blocks, changed on the way; and a path seen through some rows."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from plsdof._core.exact import Exact
from plsdof._core.inputs import Array, read_only
from plsdof._core.path import Path
from plsdof._core.spectrum import Reached
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.large.blocks import Block, Blocks, Part

Mask = npt.NDArray[np.bool_]
Change = Callable[[Array], Array]
AnyPath = TypeVar("AnyPath", bound=Path)


class RowBlocks:
    """Some rows of a table in blocks of rows, after a change that treats each row by itself.

    Parameters
    ----------
    blocks : Blocks
        Blocks of rows (axis 0).
    keep : (n,) array of bool, optional
        Which rows there are; all by default.
    change : callable, optional
        From (rows, p) to (rows, p), such as ``Preprocessor.transform``. If it raises an error with
        a method ``renamed``, rows are called by their numbers in the whole table, from 1.

    Attributes
    ----------
    y : (rows,) array or None
        The response, known after the first pass.

    Examples
    --------
    >>> import operator
    >>> from plsdof.large.blocks import ArrayBlocks
    >>> blocks = ArrayBlocks(np.arange(6.0).reshape(3, 2), [0.0, 1.0, 2.0], memory=16)
    >>> some = RowBlocks(blocks, np.array([True, False, True]), np.negative)
    >>> some.reduce(lambda block: [(block.first, block.X.tolist())], operator.add)
    [(0, [[-0.0, -1.0]]), (1, []), (1, [[-4.0, -5.0]])]
    >>> some.y
    array([0., 2.])
    """

    axis = 0

    def __init__(
        self, blocks: Blocks, keep: Mask | None = None, change: Change | None = None
    ) -> None:
        if blocks.axis != 0:
            raise InvalidInputError("Rows can be chosen from blocks of rows only; use axis=0.")
        self.blocks, self.keep, self.change = blocks, keep, change
        self.n_columns, self.names = blocks.n_columns, blocks.names
        self.y: Array | None = None

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if it is not known before reading."""
        return self.blocks.n_rows if self.keep is None else int(np.count_nonzero(self.keep))

    def reduce(
        self,
        work: Callable[[Block], Part],
        merge: Callable[[Part, Part], Part],
        description: str = "",
    ) -> Part:
        """Return the merged results of ``work`` on every block, some maybe empty; see `Blocks`."""
        some = partial(_on_rows, keep=self.keep, change=self.change)
        if self.y is not None:
            plain: Callable[[Block], Part] = partial(some, work=work)
            return self.blocks.reduce(plain, merge, description)
        both: Callable[[Block], tuple[Part, list[Array]]] = partial(
            some, work=partial(_with_response, work=work)
        )
        result: tuple[Part, list[Array]] = self.blocks.reduce(
            both, partial(_merged, merge=merge), description
        )
        self.y = read_only(np.concatenate(result[1]))
        return result[0]


def _with_response(block: Block, *, work: Callable[[Block], Part]) -> tuple[Part, list[Array]]:
    y = np.array(block.y)  # a worker may change the block
    return work(block), [y]


def _merged(
    a: tuple[Part, list[Array]],
    b: tuple[Part, list[Array]],
    *,
    merge: Callable[[Part, Part], Part],
) -> tuple[Part, list[Array]]:
    return merge(a[0], b[0]), a[1] + b[1]


def _on_rows(
    block: Block, *, work: Callable[[Block], Part], keep: Mask | None, change: Change | None
) -> Part:
    X, y, weights, first = block.X, block.y, block.weights, block.first
    places = np.arange(first, first + len(X))
    if keep is not None:
        kept = keep[first : first + len(X)]
        first = int(np.count_nonzero(keep[:first]))
        if not kept.all():
            X, y, places = X[kept], y[kept], places[kept]
            weights = None if weights is None else weights[kept]
    if change is not None and len(X):
        X = changed(change, X, places)
    return work(Block(X=X, y=y, weights=weights, first=first))


def changed(change: Change, X: Array, places: npt.NDArray[np.intp]) -> Array:
    """Apply a change to rows, which messages call by their numbers from 1."""
    try:
        return change(np.ascontiguousarray(X))
    except InvalidInputError as error:
        if not hasattr(error, "renamed"):
            raise
        raise error.renamed([str(place + 1) for place in places]) from error


def take_rows(blocks: Blocks) -> Array:
    """Return the predictors of all rows as one array, by one pass. Shape (rows, p)."""
    return np.concatenate(blocks.reduce(_copied, _appended, "Rows"))


def _copied(block: Block) -> list[Array]:
    return [np.array(block.X, order="C")]


def _appended(a: list[Array], b: list[Array]) -> list[Array]:
    return a + b


def at_rows(path: AnyPath, X: Array) -> AnyPath:
    """Return the same models with other rows in the place of those they were fitted to.

    Coefficients, Degrees of Freedom and sums of squares stay those of all rows. Fitted values,
    scores and leverages are those of the rows X, (m, p): of a random sample of a table that is not
    in memory, for example. What takes sums over rows, such as leave-one-out, is not available.

    Examples
    --------
    >>> from plsdof import pls_path_from
    >>> from plsdof.large import ArrayBlocks
    >>> X = np.array([[1.0, 4.0], [2.0, 6.0], [3.0, 5.0], [4.0, 9.0]])
    >>> path = pls_path_from(ArrayBlocks(X, [1.0, 2.0, 4.0, 4.0]), 1)
    >>> np.allclose(at_rows(path, X[[2]]).fitted, path.fitted[:, [2]])
    True
    """
    return replace(path, _make=partial(_exact_at_rows, path.exact, X), _given=None)


def _exact_at_rows(exact: Exact, X: Array) -> Exact:
    if exact.decomposition.right is None:
        raise NotAvailableError(
            "This path was fitted in the space of its rows, which cannot be replaced by others."
        )
    units = exact.units
    scale = np.where(np.isfinite(units.x_scale), units.x_scale, np.inf)
    rows = read_only((X - units.x_mean) / scale)
    return replace(
        exact,
        units=replace(units, n_rows=len(X), row_scale=None),
        decomposition=replace(
            exact.decomposition,
            X=Reached(forward=partial(np.matmul, rows), backward=partial(np.matmul, rows.T)),
        ),
        full=None if exact.full is None else partial(_whole_at_rows, exact, X),
    )


def _whole_at_rows(exact: Exact, X: Array) -> Exact:
    return _exact_at_rows(exact.complete(), X)
