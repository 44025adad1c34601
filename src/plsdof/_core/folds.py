"""Folds: splitting rows into training and test parts.

`make_folds` says which rows belong to which, for cross-validation, the jackknife and the bootstrap.
A `Split` holds all folds of one of these as arrays, for fits that advance together.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.display import one_line
from plsdof._core.inputs import Array, as_count, as_draws, as_generator
from plsdof._core.threads import cached_property
from plsdof.errors import InvalidInputError

Integers = npt.NDArray[np.intp]
# The word for as many folds as there are rows, or groups.
LEAVE_ONE_OUT = "loo"
# The word for folds of consecutive rows, with their number after a colon; 10 without it.
BLOCKS = "blocks"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Fold:
    """One split of the rows.

    Attributes
    ----------
    test : (t,) array of int
        Rows that are predicted.
    n_rows : int
        Number of rows of the data.
    repeat : int
        Folds with the same number have no test row in common.
    train_rows : (s,) array of int or None
        Rows to fit on; None means all but ``test``, and keeps leave-one-out small.
    """

    test: Integers
    n_rows: int
    repeat: int = 0
    train_rows: Integers | None = None

    @property
    def train(self) -> Integers:
        """Rows to fit on."""
        if self.train_rows is not None:
            return self.train_rows
        kept = np.ones(self.n_rows, dtype=bool)
        kept[self.test] = False
        return np.flatnonzero(kept)

    @property
    def n_fitted(self) -> int:
        """Number of different rows to fit on."""
        given = self.train_rows
        return self.n_rows - len(self.test) if given is None else len(np.unique(given))

    def __repr__(self) -> str:
        sizes = f"{len(self.train)} training rows", f"{len(self.test)} test rows"
        return one_line(self, *sizes, repeat=self.repeat)


def make_folds(
    X: Any,
    y: Any,
    cv: Any = 10,
    groups: Any = None,
    *,
    repeats: int = 1,
    rng: Any = None,
) -> tuple[Fold, ...]:
    """Split the rows of X into folds.

    Parameters
    ----------
    X, y : arrays with n rows
        Only passed on to a splitter.
    cv : int, "loo", "blocks:k", splitter, or iterable of (train, test)
        A number of folds k; or "loo", every row (or group) a fold of its own; or "blocks:k", k
        folds of consecutive rows (or groups, in the order in which they appear), for rows in the
        order of time; "blocks" are 10; or anything with ``split(X, y, groups)`` as in
        scikit-learn; or pairs of row numbers (or boolean masks).
    groups : (n,) array, optional
        Rows with the same label stay together when ``cv`` is a number; passed to a splitter.
        There are at most as many folds as groups.
    repeats : int
        How often to split, when ``cv`` is a number.
    rng : int or numpy Generator, optional
        Makes random folds, when ``cv`` is a number. Without it row (or group) number i belongs
        to fold i mod k ("venetian blinds"); with ``repeats`` > 1 it defaults to 0.

    Notes
    -----
    Groups are dealt out from the largest to the smallest, each to the fold with the fewest rows.
    Cost: O(n) per repeat, O(G log k) more for G groups.

    Examples
    --------
    >>> [fold.test.tolist() for fold in make_folds(np.zeros((7, 1)), np.zeros(7), 3)]
    [[0, 3, 6], [1, 4], [2, 5]]
    >>> [fold.test.tolist() for fold in make_folds(np.zeros((7, 1)), np.zeros(7), "blocks:3")]
    [[0, 1, 2], [3, 4], [5, 6]]
    """
    try:
        n = int(X.shape[0] if hasattr(X, "shape") else len(X))
    except (TypeError, IndexError):
        raise InvalidInputError(f"X must have rows to leave out; got {X!r:.60}.") from None
    codes = None if groups is None else group_codes(groups, n)
    units = n if codes is None else int(codes.max()) + 1
    if isinstance(cv, str) and cv == LEAVE_ONE_OUT:
        cv, repeats, rng = units, 1, None
    blocks = number_of_blocks(cv)
    cv, given = cv if blocks is None else blocks, not isinstance(cv, int | np.integer)
    if given and (repeats != 1 or rng is not None):
        raise InvalidInputError(
            f"repeats and rng apply when cv is a number of folds; got repeats={repeats}, "
            f"rng={rng!r} with given folds. Set them in the splitter instead."
        )
    if isinstance(cv, int | np.integer):
        k = as_count(cv, "cv", minimum=2)
        k = k if codes is None else max(2, min(k, units))
        repeats = as_draws(repeats, "repeats", minimum=1, kept=n)
        random = None if rng is None and repeats == 1 else as_generator(0 if rng is None else rng)
        folds = _dealt_folds(n, k, codes, repeats, random, in_blocks=blocks is not None)
    else:
        folds = _given_folds(_pairs(cv, X, y, groups), n)
    for number, fold in enumerate(folds):
        if fold.n_fitted < 2:
            raise InvalidInputError(
                f"fold {number} leaves {fold.n_fitted} row(s) to fit on; at least 2 are needed. "
                "Use more rows, or more folds."
            )
    return tuple(folds)


def number_of_blocks(cv: Any) -> int | None:
    """Return the number of folds of consecutive rows that a text asks for, None if it does not.

    Examples
    --------
    >>> number_of_blocks("blocks:5"), number_of_blocks("blocks"), number_of_blocks(5)
    (5, 10, None)
    """
    if not isinstance(cv, str) or cv.partition(":")[0] != BLOCKS:
        return None
    number = cv.partition(":")[2] if ":" in cv else "10"
    if not number.isdecimal() or len(number) > 9 or int(number) < 2:
        raise InvalidInputError(f"cv must be blocks:K with a number K >= 2; got {cv[:40]!r}.")
    return int(number)


def group_codes(groups: Any, n: int) -> Integers:
    """Number the groups 0, 1, ... in order of appearance. Shape (n,)."""
    try:
        labels = np.asarray(groups)
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    except (TypeError, ValueError) as error:  # of several kinds, or lists of different lengths
        raise InvalidInputError(
            f"groups mixes labels that cannot be compared ({error}); use only numbers or only "
            "text, and fill in missing labels."
        ) from error
    if labels.shape != (n,) or (labels.dtype.kind == "f" and np.isnan(labels).any()):
        raise InvalidInputError(
            f"groups must have one label per row, shape ({n},), and no NaN; got shape "
            f"{labels.shape}."
        )
    codes = np.empty(len(first), dtype=np.intp)
    codes[np.argsort(first)] = np.arange(len(first))
    return codes[inverse]


def _dealt_folds(
    n: int,
    k: int,
    codes: Integers | None,
    repeats: int,
    rng: np.random.Generator | None,
    *,
    in_blocks: bool,
) -> list[Fold]:
    units = n if codes is None else int(codes.max()) + 1
    if k > units:
        what = "rows" if codes is None else "groups"
        advice = f"Use cv <= {units}." if units > 1 else f"Give at least 2 {what}, or none."
        raise InvalidInputError(
            f"cv = {k} folds need at least {k} {what}; there are {units}. {advice}"
        )
    folds = []
    for repeat in range(repeats):
        order = np.arange(units) if rng is None else rng.permutation(units)
        if in_blocks:
            blocks = np.arange(units) * k // units
            fold_of = blocks if codes is None else blocks[codes]
        else:
            fold_of = _deal_groups(order, k, codes)
        tests = np.split(np.argsort(fold_of, kind="stable"), np.cumsum(np.bincount(fold_of))[:-1])
        folds += [Fold(test=test, n_rows=n, repeat=repeat) for test in tests]
    return folds


def _deal_groups(order: Integers, k: int, codes: Integers | None) -> Integers:
    fold_of = np.empty_like(order)
    if codes is None:  # rows in turn, as groups of one size would be
        fold_of[order] = np.arange(len(order)) % k
        return fold_of
    sizes, filled = np.bincount(codes), [(0, fold) for fold in range(k)]
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        rows, fold = filled[0]
        fold_of[group] = fold
        heapq.heapreplace(filled, (rows + int(sizes[group]), fold))
    return fold_of[codes]


def _pairs(cv: Any, X: Any, y: Any, groups: Any) -> Iterator[Any]:
    allowed = (
        'cv must be a number of folds >= 2, "loo", "blocks:5", a scikit-learn splitter (with a '
        "method split(X, y, groups)), or an iterable of (train, test) pairs of row numbers"
    )
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise InvalidInputError(f"{allowed}; got {cv!r:.80} of type {type(cv).__name__}.")
    try:
        yield from cv.split(X, y, groups) if hasattr(cv, "split") else cv
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{cv!r:.80} could not split the rows: {error}") from error


def _given_folds(pairs: Iterable[Any], n: int) -> list[Fold]:
    folds: list[Fold] = []
    tested = np.zeros(n, dtype=bool)
    repeat = 0
    for number, pair in enumerate(pairs):
        train, test = _as_pair(pair, number, n)
        if tested[test].any():
            repeat, tested = repeat + 1, np.zeros(n, dtype=bool)
        tested[test] = True
        fold = Fold(test=test, n_rows=n, repeat=repeat)
        if not np.array_equal(fold.train, train):
            fold = Fold(test=test, n_rows=n, repeat=repeat, train_rows=train)
        folds.append(fold)
    if not folds:
        raise InvalidInputError("cv gives no folds; at least one (train, test) pair is needed.")
    return folds


def _as_pair(pair: Any, number: int, n: int) -> tuple[Integers, Integers]:
    if not isinstance(pair, Sequence) or len(pair) != 2:
        raise InvalidInputError(
            f"cv must give (train, test) pairs of row numbers; item {number} is {pair!r:.80}. "
            "For one fold label per row use scikit-learn's PredefinedSplit."
        )
    train = _as_rows(pair[0], f"the training part of fold {number}", n)
    test = _as_rows(pair[1], f"the test part of fold {number}", n)
    if len(np.unique(test)) < len(test):
        raise InvalidInputError(f"fold {number} tests a row twice; test rows must be distinct.")
    shared = np.intersect1d(train, test)
    if len(shared):
        raise InvalidInputError(
            f"fold {number} has {len(shared)} row(s) in both parts, such as row {shared[0]}; "
            "errors on rows that were fitted say nothing about new ones."
        )
    return train, test


def _as_rows(rows: Any, what: str, n: int) -> Integers:
    array = np.asarray(rows)
    if array.dtype == bool and array.shape == (n,):
        array = np.flatnonzero(array)
    integers = array.ndim == 1 and array.size > 0 and array.dtype.kind in "iu"
    if not integers or array.min() < 0 or array.max() >= n:
        raise InvalidInputError(
            f"{what} must be row numbers in 0..{n - 1}, at least one, or a boolean mask of length "
            f"{n}; got {array.tolist()!r:.80}."
        )
    return array.astype(np.intp)


# All folds together
# ------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """Which rows each fold leaves out, and which it fits.

    Attributes
    ----------
    rows, fold : (N,) arrays of int
        Rows that are left out and predicted, fold after fold, and the fold of each.
    count : int
        Number of folds.
    trains : sequence of (s,) arrays of int or None, optional
        Rows to fit on, where these are not all others.
    """

    rows: Integers
    fold: Integers
    count: int
    trains: Sequence[Integers | None] | None = None

    @classmethod
    def of(cls, fold: Integers) -> "Split":
        """Leave out every row once, with the rows of its fold (n,)."""
        rows = np.argsort(fold, kind="stable")
        return cls(rows=rows, fold=fold[rows], count=int(fold.max()) + 1)

    @classmethod
    def given(
        cls, tests: Sequence[Integers], trains: Sequence[Integers | None] | None = None
    ) -> "Split":
        """Leave out given rows, fold by fold; those fitted may be given, too."""
        if trains is not None and all(train is None for train in trains):
            trains = None
        rows = np.concatenate([np.zeros(0, dtype=np.intp), *tests])
        fold = np.repeat(np.arange(len(tests)), [len(test) for test in tests])
        return cls(rows=rows, fold=fold, count=len(tests), trains=trains)

    @cached_property
    def tests(self) -> list[Integers]:
        """The rows that each fold leaves out."""
        ends = np.searchsorted(self.fold, np.arange(1, self.count))
        return np.split(self.rows, ends) if self.count else []

    def fitted(self, fold: int, n: int) -> Integers:
        """Return the rows that a fold fits, of n rows."""
        given = None if self.trains is None else self.trains[fold]
        return np.setdiff1d(np.arange(n), self.tests[fold]) if given is None else given

    @cached_property
    def is_single(self) -> bool:
        """Whether each fold leaves out one row, and fits all others."""
        return self.trains is None and np.array_equal(self.fold, np.arange(self.count))

    def is_partition(self, n: int) -> bool:
        """Whether every one of n rows is left out once, and all others are fitted."""
        if self.trains is not None or len(self.rows) != n:
            return False
        return bool(np.all(np.bincount(self.rows, minlength=n) == 1))

    def training_weights(self, n: int, weights: Array | None) -> Array:
        """Return the weights of all rows in each fold and, last, in the fit to all. (F + 1, n)."""
        kept = np.ones((self.count + 1, n))
        kept.reshape(-1)[self.places(n)] = 0.0
        for row, train in zip(kept, self.trains or (), strict=False):
            if train is not None:
                row[:] = np.bincount(train, minlength=n)
        return kept if weights is None else kept * weights

    def places(self, n: int) -> Integers:
        """Where the held-out rows stand in an (F, n) array. Shape (N,)."""
        return self.fold * n + self.rows

    def part(self, first: int, last: int) -> "Split":
        """Return some of the folds."""
        here = (self.fold >= first) & (self.fold < last)
        trains = None if self.trains is None else self.trains[first:last]
        return Split(
            rows=self.rows[here],
            fold=self.fold[here] - first,
            count=min(last, self.count) - first,
            trains=trains,
        )


def evenly_spaced(rows: Integers) -> Any:
    """Return rows as a slice where they are evenly spaced: its rows need not be copied."""
    if len(rows) < 2:
        return rows
    step = int(rows[1] - rows[0])
    even = step > 0 and bool(np.all(np.diff(rows) == step))
    return slice(int(rows[0]), int(rows[-1]) + 1, step) if even else rows
