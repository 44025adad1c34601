"""Preprocessing of spectra: a chain of steps.

A chain is written as words with commas between them, each with its parameters after colons:

==========================  ====================================================================
``snv``                     standard normal variate: each row minus its mean, by its deviation
``msc[:mean|median]``       multiplicative scatter correction against the mean (or median) row
``savgol:window:degree:derivative``
                            Savitzky-Golay derivative; numbers as in ``savgol:15:2:1``
``smooth[:window[:degree]]``
                            Savitzky-Golay smoothing; 11:2 by default
``detrend[:degree]``        each row minus its polynomial over the columns; 1 by default
``baseline[:lambda[:p]]``   each row minus its baseline by asymmetric least squares; 1e4:0.01
``center``                  columns minus their means
``autoscale``               columns minus their means, by their standard deviations (n - 1)
``blocks:sizes``            blocks of columns by the roots of their total variances: ``700+12``
``adaptive``                the same, times the size of their coefficients in a ridge regression
``impute[:rank]``           missing values filled by a few components of X; the first step, if any
``columns:first:end``       some neighbouring columns, numbered from 0, ``end`` not among them
``none``                    nothing; to compare other chains with
==========================  ====================================================================

None of these but ``adaptive`` looks at the response. Given the rows of X, the preprocessed X is
fixed, so the Degrees of Freedom of a model that is fitted to it are exact, as for any other X.

``msc``, ``center``, ``autoscale``, ``blocks``, ``adaptive`` and ``impute`` learn something from the
rows (a reference, means, deviations, components). Cross-validation has to fit them
without the held-out rows; a path made by `preprocessed` does that. The other steps treat each row
by itself.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Self

import numpy as np

from plsdof._core.fit import METHODS
from plsdof._core.inputs import Array, as_matrix, as_new_rows, as_weights
from plsdof._core.moments import Moments, block_moments
from plsdof._core.recipe import Recipe
from plsdof._core.rows import Block
from plsdof._core.standardize import require_enough
from plsdof.chemometrics.missing import filled, low_rank
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.large.blocks import RowBlocks, Rows

# What steps learn, by name: (p,) or (p, k) arrays
Learned = Mapping[str, Array]
# Values that differ by a smaller share are equal up to rounding.
_FLAT = 1e-12

# Steps that treat each row by itself
# -----------------------------------


def _snv(rows: Array, _: Learned) -> Array:
    """Return rows with mean 0 and variance 1 (Barnes, Dhanoa & Lister 1989)."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(centred / np.sqrt(np.mean(centred**2, axis=1, keepdims=True)))


def _filtered(rows: Array, _: Learned, window_length: int, polyorder: int, deriv: int = 0) -> Array:
    """Smooth rows, or take derivatives; beyond the ends they go on as they end.

    Savitzky & Golay (1964): the value, or derivative, in the middle of a polynomial that is fitted
    to each window. It is a weighted sum of what is in the window.
    """
    half, p = window_length // 2, rows.shape[1]
    places = np.arange(-half, half + 1) / half
    fit = np.linalg.pinv(np.vander(places, polyorder + 1, increasing=True))
    weights = fit[deriv] * math.factorial(deriv) / half**deriv
    padded, found = np.pad(rows, ((0, 0), (half, half)), mode="edge"), np.zeros_like(rows)
    for k, weight in enumerate(weights):
        found += weight * padded[:, k : k + p]
    return found


def _detrended(rows: Array, _: Learned, order: int) -> Array:
    """Take a polynomial over the columns off each row."""
    places = np.arange(rows.shape[1])
    return np.asarray(rows - np.polyval(np.polyfit(places, rows.T, order), places[:, None]).T)


def _above_baseline(rows: Array, _: Learned, lam: float, penalty: float) -> Array:
    """Take a smooth line below each row off it."""
    try:
        from chemotools.baseline import AsLs
    except ImportError as error:
        raise MissingExtraError("chemotools", "spectra", "The step baseline") from error
    made = AsLs(lam=lam, penalty=penalty).fit(rows)
    # It would begin with weights from the first row; where it ends is the same.
    made.w_init_ = np.ones(rows.shape[1])
    return np.asarray(made.transform(rows))


def _window(rows: Array, _: Learned, first: int, end: int) -> Array:
    """Return some neighbouring columns."""
    return rows[:, first:end]


# Steps that learn from rows: in memory, or from moments of rows that are read in blocks
# --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Training:
    """Rows with positive weights that a step learns from, in blocks unless there is ``block``."""

    step: str
    block: Block | None = None
    blocks: Rows | None = None

    @property
    def moments(self) -> Moments:
        """Means, sums of squares and extrema of the columns; one pass over the rows."""
        work = partial(block_moments, products=False)
        if self.block is not None:
            return work(self.block)
        assert self.blocks is not None
        found = self.blocks.reduce(work, Moments.merge, f"What {self.step} learns")
        if not found.n_rows:
            raise InvalidInputError(f"{self.step} learns from rows, and there are none.")
        return found

    @property
    def rows(self) -> Block:
        """The rows themselves."""
        if self.block is None:
            raise InvalidInputError(
                f"{self.step} needs all rows at once, but the table is read piece by piece; read "
                "it into memory.",
                mend={"in_memory": True},
            )
        return self.block


def _reference(training: _Training, method: str) -> Learned:
    """Learn the mean or median of weighted rows."""
    if method == "mean":
        return {"reference_": training.moments.x_mean}
    # Halfway between the lower and the upper median: those of rows repeated weight times
    rows, weights = training.rows.X, training.rows.weights
    lower, upper = (
        sign * np.quantile(sign * rows, 0.5, 0, method="inverted_cdf", weights=weights)
        for sign in (1.0, -1.0)
    )
    return {"reference_": np.asarray((lower + upper) / 2.0)}


def _corrected(rows: Array, learned: Learned, **_: Any) -> Array:
    """Take the intercept of its line on the reference off each row, and divide by the slope."""
    reference = learned["reference_"]
    if np.ptp(reference) <= _FLAT * np.abs(rows).max(initial=0.0):
        raise InvalidInputError(
            "msc is not defined: its reference, the middle of all rows, does not vary over the "
            "columns. Use it before other steps, or use snv."
        )
    level = reference.mean()
    slope = rows @ (reference - level) / np.sum((reference - level) ** 2)
    return np.asarray((rows - rows.mean(axis=1, keepdims=True)) / slope[:, None] + level)


def _means(training: _Training) -> Learned:
    return {"mean_": training.moments.x_mean}


def _deviations(training: _Training) -> Learned:
    """Learn means and standard deviations, 1 of a column that does not vary."""
    found = training.moments
    return {"mean_": found.x_mean, "scale_": np.where(found.constant, 1.0, _spread(found))}


def _block_deviations(training: _Training, sizes: tuple[int, ...]) -> Learned:
    """Learn means, and roots of the total variances of blocks of columns, which get equal weight.

    PLS of such columns is multiblock PLS (MB-PLS with deflation by the super-scores; Westerhuis,
    Kourti & MacGregor 1998, Journal of Chemometrics 12, 301-321), with its Degrees of Freedom.
    """
    found = training.moments
    if sum(sizes) != len(found.x_mean) or 0 in sizes:
        raise InvalidInputError(
            f"blocks must cover the {len(found.x_mean)} columns; got sizes {sizes}, which cover "
            f"{sum(sizes)}. Write blocks:700+12 for 700 columns, then 12."
        )
    roots = np.sqrt(np.add.reduceat(_spread(found) ** 2, np.cumsum((0, *sizes))[:-1]))
    return {"mean_": found.x_mean, "scale_": np.repeat(np.where(roots > 0, roots, 1.0), sizes)}


def _spread(moments: Moments) -> Array:
    """Return standard deviations with divisor n - 1; of one row they are nan."""
    with np.errstate(invalid="ignore"):
        return np.sqrt(moments.squares / (moments.n - 1.0))


def _adaptive(training: _Training) -> Learned:
    """Learn deviations over |b_j| / max |b|, b the coefficients of a ridge regression.

    Its penalty is the median of the squared singular values of the columns that are not zero: half
    of the directions are kept, half of them shrink. A column without a coefficient gets next to no
    weight. They depend on y, so Degrees of Freedom that take them as given are too small; errors of
    held-out rows, for which they are learned anew, are right.
    """
    given, learned = training.rows, _deviations(training)
    rows = _scaled(given.X, learned)
    response = given.y - np.average(given.y, weights=given.weights)
    if given.weights is not None:
        root = np.sqrt(given.weights)
        rows, response = root[:, None] * rows, root * response
    # The smaller one of X'X and XX': (X'X + penalty)^-1 X'y = X'(XX' + penalty)^-1 y.
    wide = rows.shape[1] > len(rows)
    gram = rows @ rows.T if wide else rows.T @ rows
    squares = np.linalg.eigvalsh(gram)
    found = squares > np.finfo(float).eps * max(rows.shape) * squares.max(initial=0.0)
    penalty = np.median(squares[found]) if found.any() else np.finfo(float).tiny
    gram.flat[:: len(gram) + 1] += penalty
    solved = np.linalg.solve(gram, response if wide else rows.T @ response)
    b = np.abs(rows.T @ solved if wide else solved)
    # A scale must be a number: a column of no use is divided by a large one.
    weight = np.maximum(b / max(b.max(), np.finfo(float).tiny), np.finfo(float).eps)
    return {**learned, "scale_": learned["scale_"] / weight}


def _adaptive_scales(X: Array, y: Array, trained: Array) -> Array:
    """Return what columns are divided by, (F, p), in fits to rows with these weights (F, n)."""
    found = []
    for weights in trained:
        kept = weights > 0
        own = None if np.all(weights[kept] == 1.0) else weights[kept]
        block = Block(X=X[kept], y=y[kept], weights=own, first=0)
        found.append(_adaptive(_Training("adaptive", block))["scale_"])
    return np.array(found)


def _scaled(rows: Array, learned: Learned, **_: Any) -> Array:
    """Take the means of columns off, and divide by their scales, if there are any."""
    return np.asarray((rows - learned["mean_"]) / learned.get("scale_", 1.0))


def _components(training: _Training, rank: int) -> Learned:
    """Learn what fills holes."""
    return low_rank(training.rows.X, rank, training.rows.weights)


# The steps by name
# -----------------


def _whole(text: str) -> int:
    if not re.fullmatch("[0-9]{1,6}", text):
        raise ValueError(text)
    return int(text)


def _between(low: float, high: float, text: str) -> float:
    if not low < float(text) < high:
        raise ValueError(text)
    return float(text)


_positive, _share = partial(_between, 0, np.inf), partial(_between, 0, 1)


@dataclass(frozen=True)
class StepKind:
    """A kind of preprocessing.

    Attributes
    ----------
    apply : callable
        Of rows and of what was learned, with the parameters: prepared rows.
    example : str
        How it is written, for messages.
    parameters : dict
        What the functions take, in the order of the text: what reads it (and raises ValueError
        or KeyError), and its default (None: it has to be given).
    learn : callable or None
        Of training rows, with the parameters: what it learns.
    learned : tuple of str
        The names of that.
    along : bool
        Whether it goes along the columns and takes them for evenly spaced.
    supervised : bool
        Whether it looks at the response.
    linear : bool
        Whether a prepared row is linear in the row.
    """

    apply: Callable[..., Array]
    example: str
    parameters: Mapping[str, tuple[Callable[[str], Any], Any]] = field(default_factory=dict)
    learn: Callable[..., Learned] | None = None
    learned: tuple[str, ...] = ()
    along: bool = False
    supervised: bool = False
    linear: bool = True


_SCALED = ("mean_", "scale_")
IMPUTE, COLUMNS, NOTHING = "impute", "columns", "none"
STEPS: Mapping[str, StepKind] = {
    "snv": StepKind(_snv, "snv", linear=False),
    "msc": StepKind(
        _corrected,
        "msc or msc:median",
        {"method": ({"mean": "mean", "median": "median"}.__getitem__, "mean")},
        _reference,
        ("reference_",),
        linear=False,
    ),
    "savgol": StepKind(
        _filtered,
        "savgol:15:2:1 (window, degree, derivative)",
        dict.fromkeys(("window_length", "polyorder", "deriv"), (_whole, None)),
        along=True,
    ),
    "smooth": StepKind(
        _filtered,
        "smooth or smooth:11:2 (window, degree)",
        {"window_length": (_whole, 11), "polyorder": (_whole, 2)},
        along=True,
    ),
    "detrend": StepKind(
        _detrended, "detrend or detrend:2 (degree)", {"order": (_whole, 1)}, along=True
    ),
    "baseline": StepKind(
        _above_baseline,
        "baseline or baseline:1e5:0.01 (smoothness, asymmetry)",
        {"lam": (_positive, 1e4), "penalty": (_share, 0.01)},
        along=True,
        linear=False,
    ),
    "center": StepKind(_scaled, "center", learn=_means, learned=("mean_",)),
    "autoscale": StepKind(_scaled, "autoscale", learn=_deviations, learned=_SCALED),
    "blocks": StepKind(
        _scaled,
        "blocks:700+12 (numbers of columns)",
        {"sizes": (lambda text: tuple(map(_whole, text.split("+"))), None)},
        _block_deviations,
        _SCALED,
    ),
    "adaptive": StepKind(_scaled, "adaptive", learn=_adaptive, learned=_SCALED, supervised=True),
    IMPUTE: StepKind(
        filled,
        "impute or impute:3 (components)",
        {"rank": (_whole, 0)},
        _components,
        (*_SCALED, "loadings_"),
    ),
    COLUMNS: StepKind(
        _window,
        "columns:0:50 (the first column, and the one behind the last)",
        dict.fromkeys(("first", "end"), (_whole, None)),
    ),
}


def parse_chain(text: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return the steps of a chain with their parameters; refuse what is not one.

    Examples
    --------
    >>> parse_chain("savgol:15:2:1, SNV")
    (('savgol', {'window_length': 15, 'polyorder': 2, 'deriv': 1}), ('snv', {}))
    >>> parse_chain("none")
    ()
    """
    words = [word.strip().lower() for word in text.split(",")] if isinstance(text, str) else []
    if words == [NOTHING]:
        return ()
    if not any(words):
        raise InvalidInputError(
            f"a chain of steps such as savgol:15:2:1,snv is needed; got {text!r:.60}."
        )
    chain = tuple(_parsed(word) for word in words)
    if IMPUTE in [name for name, _ in chain[1:]]:
        raise InvalidInputError(f"{IMPUTE} must be the first step: others need all values.")
    return chain


@lru_cache(maxsize=256)
def _parsed(word: str) -> tuple[str, dict[str, Any]]:
    name, *given = word.split(":")
    if name not in STEPS:
        known = ", ".join(STEPS)
        raise InvalidInputError(
            f"{name[:40]!r} is not a step of preprocessing; there are {known} (and none alone)."
        )
    step = STEPS[name]
    values = {key: default for key, (_, default) in step.parameters.items()}
    try:
        for (key, (read, _)), text in zip(step.parameters.items(), given, strict=False):
            values[key] = read(text)
        wrong = len(given) > len(values) or None in values.values()
    except (ValueError, KeyError):
        wrong = True
    if wrong:
        raise InvalidInputError(f"{word[:60]!r} has the wrong parameters; write {step.example}.")
    window, degree = values.get("window_length", 3), values.get("polyorder", 1)
    if window < 3 or window % 2 == 0 or not values.get("deriv", 0) <= degree < window:
        raise InvalidInputError(
            f"{word[:60]!r}: the window must be odd and larger than the degree, and the degree not "
            f"below the derivative; write {step.example}."
        )
    return name, values


# The chain as one transformer
# ----------------------------


class UndefinedRowsError(InvalidInputError):
    """A step is not defined for some rows, whose positions, counted from 0, are in ``rows``."""

    def __init__(self, step: str, rows: Sequence[int], names: Sequence[str] = ()) -> None:
        self.step, self.rows = step, tuple(rows)
        shown = list(names) or [str(row) for row in self.rows]
        more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
        which = f"row {shown[0]}" if len(shown) == 1 else f"rows {', '.join(shown[:8])}{more}"
        super().__init__(
            f"{step} is not defined for {which}: all values there are equal. Leave out such rows, "
            f"or do without {step}."
        )

    def renamed(self, names: Sequence[str]) -> "UndefinedRowsError":
        """Return the same error with other names for the rows, one for each row of X."""
        return UndefinedRowsError(self.step, self.rows, [names[row] for row in self.rows])


def columns_after(steps: Sequence[tuple[str, Mapping[str, Any]]], p: int) -> range:
    """Return which of p columns there are after some steps of a chain.

    Examples
    --------
    >>> columns_after(parse_chain("snv,columns:2:9"), 10)
    range(2, 9)
    """
    kept = range(p)
    for name, parameters in steps:
        if name == COLUMNS:
            kept = kept[parameters["first"] : parameters["end"]]
    return kept


class Chain:
    """A chain of preprocessing steps; `plsdof.chemometrics.Preprocessor` for scikit-learn.

    Parameters
    ----------
    steps : str
        Steps with commas between them, such as "savgol:15:2:1,snv".

    Attributes
    ----------
    learned_ : list of dict
        What each step learned: arrays by name, of none that treats each row by itself.
    n_features_in_ : int
    """

    def __init__(self, steps: str = NOTHING) -> None:
        self.steps = steps

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from rows, and return them preprocessed: each step is applied once."""
        return self.learn(self._checked(X, reset=True), y, sample_weight)

    def learn(
        self, X: Array, y: Any, sample_weight: Any = None, made: dict[str, Any] | None = None
    ) -> Any:
        """Do what `fit_transform` does with rows that have been checked.

        ``made`` keeps what each step gives, for other chains of the same rows that begin alike.
        """
        values, made, self.n_features_in_ = X, {} if made is None else made, X.shape[1]
        weights, known = as_weights(sample_weight, len(values)), np.ones(len(values), dtype=bool)
        response = np.asarray(y, dtype=np.float64) if self.looks_at_y else np.zeros(len(values))
        if weights is not None:  # nothing is learned from rows without weight
            require_enough(int(np.count_nonzero(weights)), float(weights.sum()))
            known = weights > 0
            weights = weights[known]
        self.learned_: list[Learned] = []
        steps = parse_chain(self.steps)
        for i, (name, parameters) in enumerate(steps):
            start = repr(steps[: i + 1])
            if start not in made:
                rows = {}
                if STEPS[name].learn is not None:
                    kept = values[known], response[known]
                    rows["block"] = Block(X=kept[0], y=kept[1], weights=weights, first=0)
                learned = _learned(name, parameters, values.shape[1], **rows)
                # The next step learns from rows as this one leaves them.
                made[start] = learned, _applied(name, parameters, learned, values)
            learned, values = made[start]
            self.learned_.append(learned)
        return values

    def fit_blocks(self, blocks: Rows) -> Self:
        """Learn from a table that is read block by block; one pass for each step that learns.

        Examples
        --------
        >>> from plsdof.large import ArrayBlocks
        >>> rows = np.array([[1.0, 2.0, 4.0], [2.0, 3.0, 3.0], [1.0, 5.0, 8.0]])
        >>> chain = Chain("msc").fit_blocks(ArrayBlocks(rows, [0.0, 0.0, 0.0], axis=0))
        >>> np.allclose(chain.transform(rows), Chain("msc").fit_transform(rows))
        True
        """
        self.n_features_in_, self.learned_ = blocks.n_columns, []
        steps = parse_chain(self.steps)
        for i, (name, parameters) in enumerate(steps):
            # The next step learns from rows as those before leave them.
            before = RowBlocks(blocks, None, self.transform if i else None)
            p = len(columns_after(steps[:i], blocks.n_columns))
            self.learned_.append(_learned(name, parameters, p, blocks=before))
        return self

    def fold_scales(self, X: Array, y: Array) -> Any:
        """Return what makes divisors of columns for every fold; None if it takes more than that."""
        only = [name for name, _ in parse_chain(self.steps)] == ["adaptive"]
        return partial(_adaptive_scales, X, y) if only else None

    def transform(self, X: Any) -> Any:
        """Return the preprocessed rows, (n, p)."""
        values = self._checked(X, reset=False)
        steps = parse_chain(self.steps)
        for (name, parameters), learned in zip(steps, self.learned_, strict=False):
            values = _applied(name, parameters, learned, values)
        return values

    @property
    def learns_from_rows(self) -> bool:
        """Whether some step depends on the rows it was fitted to."""
        return any(STEPS[name].learned for name, _ in parse_chain(self.steps))

    @property
    def looks_at_y(self) -> bool:
        """Whether some step depends on the response."""
        return any(STEPS[name].supervised for name, _ in parse_chain(self.steps))

    @property
    def is_linear(self) -> bool:
        """Whether the result is linear in the rows, apart from what was learned from others."""
        return all(STEPS[name].linear for name, _ in parse_chain(self.steps))

    @property
    def fills_holes(self) -> bool:
        """Whether values may be missing: the first step fills them."""
        return any(name == IMPUTE for name, _ in parse_chain(self.steps)[:1])

    @property
    def goes_along_columns(self) -> bool:
        """Whether some step takes columns that follow each other for evenly spaced ones."""
        return any(STEPS[name].along for name, _ in parse_chain(self.steps))

    def _checked(self, X: Any, *, reset: bool) -> Array:
        """Check rows; with ``reset`` those that the steps learn from."""
        if reset:
            return as_matrix(X, holes=self.fills_holes)
        return as_new_rows(X, self.n_features_in_, None, holes=self.fills_holes)

    def to_content(self) -> dict[str, Any]:
        """Return what a file has to keep: the steps, and (p,) lists of what they learned.

        Examples
        --------
        >>> chain = Chain("center")
        >>> _ = chain.fit_transform([[1.0, 2.0], [3.0, 4.0]])
        >>> chain.to_content()
        {'steps': 'center', 'learned': [{'mean_': [2.0, 3.0]}]}
        """
        learned = [{key: one[key].tolist() for key in one} for one in self.learned_]
        return {"steps": self.steps, "learned": learned}

    @classmethod
    def from_content(cls, content: Mapping[str, Any], p: int) -> Self:
        """Return the fitted chain of p columns that `to_content` described.

        Examples
        --------
        >>> content = {"steps": "center", "learned": [{"mean_": [2.0, 3.0]}]}
        >>> Chain.from_content(content, 2).transform([[5.0, 7.0]])
        array([[3., 4.]])
        """
        chain = cls(str(content.get("steps")))
        steps, learned = parse_chain(chain.steps), content.get("learned")
        if not isinstance(learned, list) or len(learned) != len(steps):
            raise InvalidInputError("learned must have one entry for each step.")
        chain.n_features_in_ = p
        chain.learned_ = []
        for i, ((name, _), entry) in enumerate(zip(steps, learned, strict=True)):
            size = len(columns_after(steps[:i], p))
            found = {key: _vector(name, key, entry, size) for key in STEPS[name].learned}
            chain.learned_.append(found)
        return chain


def _vector(name: str, key: str, learned: Any, p: int) -> Array:
    try:
        values = np.asarray(learned[key], dtype=np.float64)
    except (TypeError, KeyError, ValueError):
        values = np.zeros(0)
    shape = (p, values.shape[-1]) if key == "loadings_" and values.ndim == 2 else (p,)
    good = values.shape == shape and np.isfinite(values).all()
    if not good or (key == "scale_" and not np.all(values > 0)):
        raise InvalidInputError(
            f"{name} needs {key}: {p} finite numbers, which are positive in a scale."
        )
    return values


def _require_columns(name: str, parameters: Mapping[str, Any], p: int) -> None:
    if name == COLUMNS:
        if not parameters["first"] < parameters["end"] <= p:
            raise InvalidInputError(
                f"columns:{parameters['first']}:{parameters['end']} are not among {p} columns."
            )
        return
    if STEPS[name].learned and name != "msc":  # columns by themselves
        return
    least = max(3, parameters.get("window_length", 0), parameters.get("order", 0) + 2)
    if p < least:
        raise InvalidInputError(
            f"{name} needs at least {least} columns, neighbours in a spectrum; there are {p}."
        )


def _learned(name: str, parameters: dict[str, Any], p: int, **rows: Any) -> Learned:
    """Learn what one step learns from rows of p columns."""
    _require_columns(name, parameters, p)
    learn = STEPS[name].learn
    return {} if learn is None else learn(_Training(name, **rows), **parameters)


def _applied(name: str, parameters: dict[str, Any], learned: Learned, values: Array) -> Array:
    """Prepare rows, and refuse those whose result is not defined."""
    bad = np.empty(0, dtype=np.intp)
    if name in ("snv", "msc"):
        # Values that are equal up to rounding have no deviation to divide by.
        flat = np.ptp(values, axis=1) <= _FLAT * np.abs(values).max(axis=1)
        bad = np.flatnonzero(flat)
    if not len(bad):
        changed = STEPS[name].apply(values, learned, **parameters)
        bad = np.flatnonzero(~np.isfinite(changed).all(axis=1))
    if len(bad):
        raise UndefinedRowsError(name, bad.tolist())
    return changed


# A path after preprocessing: every fold fits the chain without its held-out rows
# -------------------------------------------------------------------------------


def preprocessed(steps: str, path: Recipe | Callable[..., Any]) -> Recipe:
    """Return a recipe that fits a chain and then a method to its result.

    Parameters
    ----------
    steps : str
        As for `Preprocessor`.
    path : Recipe or callable
        Of the method: ``path.recipe`` of a path, or `pls_path`, `pcr_path`, `ridge_path`, also with
        options (``functools.partial``).

    Returns
    -------
    Recipe
        ``left_out``, ``select``, ``average`` and intervals of the path that it fits, and
        `plsdof.cross_validate` of this recipe, learn what the chain learns from training rows
        only.

    Examples
    --------
    >>> from plsdof import cross_validate, pls_path
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True)
    >>> recipe = preprocessed("msc", partial(pls_path, max_components=5))
    >>> float(cross_validate(X, y, recipe).rmse[-1].round(2))
    0.24
    >>> float(recipe.fit(X, y).left_out().rmse[-1].round(2))
    0.24
    """
    parse_chain(steps)
    if isinstance(path, Recipe):
        recipe = path
    else:
        function, options = getattr(path, "func", path), getattr(path, "keywords", {})
        known = [one for one in METHODS.values() if one.path is function]
        if not known:
            raise InvalidInputError(
                "path must be a recipe (path.recipe), or pls_path, pcr_path or ridge_path; got "
                f"{path!r:.80}."
            )
        recipe = known[0].recipe(**options)
    return replace(recipe, prepare=None if steps == NOTHING else partial(Chain, steps))
