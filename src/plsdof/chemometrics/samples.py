"""Samples: splits into a calibration and a test set, and replicates of a sample.

Rows are split by distances, at random, or the last ones are taken.

=================  ==========================================================================
``kennard-stone``  the calibration begins with the two rows farthest apart; then always that
                   row joins which is farthest from those chosen (from the nearest of them)
``spxy``           the same with distances in X and in y, each divided by its largest one
``duplex``         calibration and test set take turns to choose in this way, so that both
                   cover the range; when the test set is full the rest is calibration
``random``         drawn, the same rows every time
``last``           the last rows of the table, such as the newest samples
=================  ==========================================================================

Rows of one group stay together: groups are split, by their means.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import fdtri

from plsdof._core import inputs
from plsdof._core.folds import group_codes
from plsdof._core.inputs import Array
from plsdof.errors import InvalidInputError

SplitMethod = Literal["kennard-stone", "spxy", "duplex", "random", "last"]
SPLITS: tuple[SplitMethod, ...] = get_args(SplitMethod)
# Their distances take 800 MB.
_MOST_UNITS = 10_000

Mask = npt.NDArray[np.bool_]


def parse_split(text: str) -> tuple[SplitMethod, float]:
    """Return method and share of the test set of a text such as "kennard-stone:0.3".

    Examples
    --------
    >>> parse_split("duplex:0.25")
    ('duplex', 0.25)
    """
    name, _, share = text.partition(":")
    try:
        fraction = float(share)
    except ValueError as error:
        raise InvalidInputError(
            f"a way to split and the share of the test set are needed, such as kennard-stone:0.3; "
            f"got {text[:40]!r}."
        ) from error
    return inputs.as_choice(name, "the way to split", SPLITS), inputs.as_fraction(
        fraction, "the share"
    )


def split_rows(
    X: Any,
    y: Any,
    method: SplitMethod = "kennard-stone",
    fraction: float = 0.3,
    *,
    groups: Any = None,
    scale: bool = False,
) -> Mask:
    """Return which rows are the test set. Shape (n,).

    Parameters
    ----------
    X : (n, p) array or data frame
    y : (n,) array
        For "spxy".
    method : {"kennard-stone", "spxy", "duplex", "random", "last"}
    fraction : float
        Share of the rows (or groups) that are tested, rounded up.
    groups : (n,) array, optional
        Rows that stay together, such as replicates; distances are those of their means.
    scale : bool
        Divide columns by their standard deviations before distances are taken.

    Notes
    -----
    A test set by "kennard-stone" and "spxy" is inside the range of the calibration: its error is
    smaller than that of new rows at random. Cost: O(n^2 p), 8 n^2 bytes; O(n) for "random" and
    "last".

    References
    ----------
    R. W. Kennard, L. A. Stone (1969), Computer aided design of experiments, Technometrics 11,
    137-148. R. K. H. Galvao et al. (2005), A method for calibration and validation subset
    partitioning, Talanta 67, 736-740. R. D. Snee (1977), Validation of regression models: methods
    and examples, Technometrics 19, 415-428.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [10.0]])
    >>> np.flatnonzero(split_rows(X, X[:, 0], "kennard-stone", 0.4))
    array([1, 2])
    """
    values = inputs.as_matrix(X)
    n = len(values)
    codes = np.arange(n) if groups is None else group_codes(groups, n)
    units = int(codes.max()) + 1
    tested = int(np.ceil(inputs.as_fraction(fraction, "fraction") * units - 1e-9))
    if units - tested < 2:
        what = "rows" if groups is None else "groups"
        raise InvalidInputError(
            f"a test set of {tested} of {units} {what} leaves too few to fit; give a smaller share."
        )
    inputs.as_choice(method, "method", SPLITS)
    chosen = np.arange(units) >= units - tested
    if method == "random":
        from sklearn.model_selection import ShuffleSplit  # importing it takes half a second

        _, drawn = next(ShuffleSplit(1, test_size=tested, random_state=0).split(chosen))
        chosen = np.isin(np.arange(units), drawn)
    elif method != "last":
        if units > _MOST_UNITS:
            raise InvalidInputError(
                f"{method} compares all pairs of {units:,} rows, which is too much; use random."
            )
        distance = _distances(values, codes, scale)
        if method == "spxy":
            of_y = _distances(inputs.as_response(y, n)[:, None], codes, False)
            distance = distance / (distance.max() or 1.0) + of_y / (of_y.max() or 1.0)
        fitted, duplex = _taken(distance, units - tested, tested if method == "duplex" else 0)
        chosen = duplex if method == "duplex" else ~fitted
    return np.asarray(chosen[codes])


def _distances(values: Array, codes: npt.NDArray[np.intp], scale: bool) -> Array:
    """Return distances between the means of groups."""
    from scipy.spatial.distance import cdist

    if scale:
        spread = values.std(axis=0)
        values = values / np.where(spread > 0, spread, 1.0)
    means = averaged(values, codes)
    return np.asarray(cdist(means, means))


def _taken(distance: Array, first: int, second: int) -> tuple[Mask, Mask]:
    """Return which units two sets of these sizes take in turns; the second one may be empty."""
    free = np.ones(len(distance), dtype=bool)
    sets = [np.zeros_like(free) for _ in range(2)]
    sizes, nearest = (first, second), [np.full(len(free), np.inf) for _ in range(2)]
    turns = [turn for turn, size in enumerate(sizes) if size]

    def take(turn: int, unit: int) -> None:
        sets[turn][unit], free[unit] = True, False
        np.minimum(nearest[turn], distance[unit], out=nearest[turn])

    # The two farthest apart of those that are left.
    for turn in turns:
        among = np.where(free[:, None] & free, distance, -1.0)
        for unit in np.unravel_index(np.argmax(among), among.shape)[: sizes[turn]]:
            take(turn, int(unit))
    # Then always the one whose nearest member is farthest away.
    while any(sets[turn].sum() < sizes[turn] for turn in turns):
        for turn in turns:
            if sets[turn].sum() < sizes[turn]:
                take(turn, int(np.argmax(np.where(free, nearest[turn], -1.0))))
    return sets[0], sets[1]


# Replicates: repeated measurements of a sample, their means, and how far they may differ
# ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Repeatability:
    """How far predictions of replicates are apart.

    Attributes
    ----------
    std : float
        Standard deviation within samples, pooled: the root of
        sum_g sum_i (yhat_gi - mean_g)^2 / sum_g (n_g - 1). nan if no sample has two.
    dof : int
        sum_g (n_g - 1).
    spread : (G,) array
        Standard deviation of the replicates of every sample; nan for single ones.
    counts : (G,) array of int
        n_g.

    References
    ----------
    ISO 5725-2:2019, Accuracy of measurement methods and results, part 2.
    """

    std: float
    dof: int
    spread: Array
    counts: Array


def averaged(values: Any, samples: Any, *, known: bool = False) -> Array:
    """Return means over the rows of each sample, in the order in which samples appear.

    With ``known`` missing values do not count; without, they make the mean missing.

    Examples
    --------
    >>> averaged([[1.0], [2.0], [4.0]], ["a", "b", "b"])
    array([[1.],
           [3.]])
    """
    rows = inputs.as_float(values, "values")
    codes = group_codes(samples, len(rows))
    there = ~np.isnan(rows) if known else np.ones(rows.shape, dtype=bool)
    sums, counts = np.zeros((2, codes.max() + 1, *rows.shape[1:]))
    np.add.at(sums, codes, np.where(there, rows, 0.0))
    np.add.at(counts, codes, there)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / counts)


def repeatability(predictions: Any, samples: Any) -> Repeatability:
    """Compare predictions of the replicates of each sample.

    Examples
    --------
    >>> found = repeatability([1.0, 3.0, 5.0, 5.0, 7.0], ["a", "a", "b", "b", "c"])
    >>> found.std, found.dof, found.spread.round(3)
    (1.0, 2, array([1.414, 0.   ,   nan]))
    """
    values = inputs.as_response(predictions, len(predictions))
    codes = group_codes(samples, len(values))
    counts = np.bincount(codes)
    squares = np.bincount(codes, (values - averaged(values, codes)[codes]) ** 2)
    dof = int((counts - 1).sum())
    with np.errstate(invalid="ignore"):
        spread = np.sqrt(squares / np.where(counts > 1, counts - 1, np.nan))
    std = float(np.sqrt(squares.sum() / dof)) if dof else float("nan")
    return Repeatability(
        std=std, dof=dof, spread=inputs.read_only(spread), counts=inputs.read_only(counts)
    )


def spread_limit(std: float, dof: float, counts: Any, level: float = 0.95) -> Array:
    """Return what the standard deviation of n replicates exceeds with probability 1 - level.

    std sqrt(F(level; n - 1, dof)), as both are variances of the same noise; nan for n = 1.

    Examples
    --------
    >>> spread_limit(1.0, 30, [1, 2, 5]).round(3)
    array([  nan, 2.042, 1.64 ])
    """
    n = np.asarray(counts, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(std * np.sqrt(fdtri(np.where(n > 1, n - 1, np.nan), dof, level)))
