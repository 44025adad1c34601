r"""Are rows independent? Checks of data that were fitted.

Cross-validated errors hold for new rows only if the rows are independent. Where they are
not, errors depend on which rows are held out together. The same model is tried with other folds:

- five *blocks* of consecutive rows: they differ from as many interleaved folds where rows are in
  time order and drift, or where replicates stand together;
- *neighbours*: rows that are far nearer to each other than to all others, such as replicates. The
  single linkage tree of the rows is cut where its heights jump.

Errors more than half as large again (`_WORSE`) are a remark. All of this is done when remarks
are asked for, and costs three more runs of cross-validation.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from plsdof._core.folds import Integers, make_folds
from plsdof._core.inputs import Array
from plsdof._core.left_out import LeftOut
from plsdof._core.model import Mixture, Model, members_of
from plsdof._core.remarks import Remark
from plsdof.chemometrics.suspects import suspects

# Errors of other folds that are so many times those of the usual ones: rows are not independent.
# Of randomly ordered rows of real data, blocks exceed it in 1.4 % of samples.
_WORSE = 1.5
# Ten blocks of 80 rows have neighbours that know too much: of random walks and the like, five are
# found four times as often.
_BLOCKS = 5
# Heights of a tree jump where one is so many times the one before.
_JUMP = 1.5
# Fewer rows show nothing; of more rows, or a larger table, the check takes as long as the fit.
_FEWEST, _MOST_ROWS, _MOST_NUMBERS = 20, 1_000, 10**7


def data_remarks(model: Model) -> tuple[Remark, ...]:
    """Return what is worth knowing about the data that a model was fitted to.

    There are no remarks without rows in memory, or with too few or too many of them.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True)
    >>> data_remarks(pls_path(X, y)[4])
    ()
    """
    if isinstance(model, Mixture):
        model = members_of(model)[int(np.argmax(model.shares))]
    given = model.path.given
    if given is None or not isinstance(given.X, np.ndarray):
        return ()
    X, y, chosen = given.X, given.y, model.selection
    left = None if chosen is None else chosen.left_out
    grouped = left is not None and left.groups is not None
    # What would mend them is done to a table.
    found = [replace(one, mend={}) for one in suspects(X, y, columns=given.names, grouped=grouped)]
    return (*found, *dependence_remarks(model))


def dependence_remarks(model: Model) -> tuple[Remark, ...]:
    """Return what errors of other folds say about rows that are not independent."""
    if isinstance(model, Mixture):
        model = members_of(model)[int(np.argmax(model.shares))]
    given = model.path.given
    if given is None or not isinstance(given.X, np.ndarray):
        return ()
    X, y = given.X, given.y
    is_checked = len(y) >= _FEWEST and X.size <= _MOST_NUMBERS
    if not is_checked or model.left_out.groups is not None:
        return ()
    return tuple(dependent_rows(model, X, y))


def dependent_rows(model: Model, X: Array, y: Array) -> Iterator[Remark]:
    """Say that errors are far larger where other rows are held out together."""
    n, usual = len(y), _error(model, model.left_out)
    if not usual > 0:
        return
    codes = near_rows(X / _spread(X) if model.path.recipe.options.get("scale", True) else X)
    if codes is not None:
        ratio = _error(model, _held_out(model, codes, int(codes.max()) + 1)) / usual
        if ratio > _WORSE:
            sizes = np.bincount(codes)
            yield Remark(
                key="dependent-neighbours",
                severity="warning",
                rows=tuple(np.flatnonzero(sizes[codes] > 1).tolist()),
                mend={"groups": codes.tolist()},
                words=f"{np.count_nonzero(sizes > 1)} sets of up to {sizes.max()} rows are far "
                "nearer to each other than to all others, such as replicates; held out together "
                f"their errors are {ratio:.1f} times as large. Say which rows are of one sample.",
            )
            return
    order = np.diff(y)
    # In a table sorted by its response blocks have the ends of its range.
    if not (np.all(order >= 0) or np.all(order <= 0)):
        kinds = _blocks(n), np.arange(n) % _BLOCKS
        blocks, interleaved = (_error(model, _held_out(model, fold)) for fold in kinds)
        ratio = blocks / max(interleaved, usual)
        if ratio > _WORSE:
            yield Remark(
                key="dependent-blocks",
                severity="warning",
                mend={"cv": f"blocks:{_BLOCKS}"},
                words=f"Errors of blocks of consecutive rows are {ratio:.1f} times those of "
                "interleaved folds: rows are not independent, and errors of new rows will be "
                "larger than stated. Hold out blocks, or groups of rows that belong together.",
            )


def _spread(X: Array) -> Array:
    spread = X.std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def _blocks(n: int) -> Integers:
    """Return folds of consecutive rows."""
    codes = np.empty(n, dtype=np.intp)
    for number, fold in enumerate(make_folds(np.empty((n, 0)), np.empty(n), f"blocks:{_BLOCKS}")):
        codes[fold.test] = number
    return codes


def _held_out(model: Model, fold: Integers, groups: int | None = None) -> LeftOut:
    """Return the rows of other folds."""
    most = model.index if model.weights is None else len(model.weights) - 1
    return model.path.store.left_out(fold, groups, through=most)


def _error(model: Model, left: LeftOut) -> float:
    """Return the root mean squared error of the same model, with no choice made again."""
    weights = np.eye(model.index + 1)[-1] if model.weights is None else model.weights
    used = weights[: len(left.residuals)]
    return left.root_mean_square(used @ left.residuals[: len(used)])


def near_rows(X: Array) -> Integers | None:
    """Number the sets of rows that are far nearer to each other than to all others.

    None if there are no such sets: at least a quarter of the rows would have to be in one, and no
    set may have more than a quarter of them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(rng.normal(size=(8, 4)), 3, axis=0) + 0.01 * rng.normal(size=(24, 4))
    >>> near_rows(X)[:6], near_rows(rng.normal(size=(24, 4)))
    (array([0, 0, 0, 1, 1, 1]), None)
    """
    n = len(X)
    if n > _MOST_ROWS:
        return None
    from scipy.cluster.hierarchy import fcluster, linkage  # importing it takes a moment

    X = X - X.mean(axis=0)
    size, above = np.vecdot(X, X), np.triu_indices(n, 1)
    squares = (size[:, None] + size - 2.0 * X @ X.T)[above]
    tree = linkage(np.sqrt(np.maximum(squares, 0.0)), method="single")
    rising, least = np.maximum(tree[:, 2], np.finfo(float).tiny), n // 4
    jumps = rising[least:] / rising[least - 1 : -1]
    if not jumps.max() >= _JUMP:
        return None
    sets = fcluster(tree, rising[least - 1 + int(np.argmax(jumps))], criterion="distance")
    _, first, codes = np.unique(sets, return_index=True, return_inverse=True)
    codes = np.argsort(np.argsort(first))[codes]  # numbered as they appear
    return None if np.bincount(codes).max() > n // 4 else codes
