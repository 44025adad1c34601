"""Choosing a model, or an average of models, and putting the choice into words.

*By cross-validation.* The best vertex, or the best point, of `plsdof._core.objective`.

*By a criterion.* A small score, by one of three `RULES`.

*Remarks.* What is unusual about a choice is a `Remark`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from plsdof._core.criteria import criterion_label
from plsdof._core.display import (
    as_html,
    data_frame,
    listed_in_words,
    one_line,
    plural,
    runs_in_words,
    significant,
)
from plsdof._core.inputs import Array, as_choice, read_only
from plsdof._core.left_out import MOST_COMPONENTS, LeftOut
from plsdof._core.objective import (
    EQUAL,
    HeldOut,
    Pools,
    best_points,
    chosen_without,
    mean_of,
    objective,
)
from plsdof._core.remarks import Remark
from plsdof._core.threads import cached_property
from plsdof.errors import NotAvailableError

if TYPE_CHECKING:
    from pandas import DataFrame

Rule = Literal["first-minimum", "paper", "global-minimum"]
RULES: tuple[Rule, ...] = get_args(Rule)
LEFT_OUT: Final = "left-out"
# From this share of n on, Degrees of Freedom are close to n.
_NEAR = 0.9
# A sentence names at most this many models of an average, and a gain of at least this share.
_MOST_NAMED = 4
_WORTH_SAYING = 0.01
# What sentences call the two recipes without preparation.
_IN_WORDS = {"none": "as measured", "scale": "scaled"}


_TEXTS = {
    "no-rows": "GCV chose it, because the data have no rows that could be held out: they are "
    "moments or a Gram matrix.",
    "empty-model": "This is the empty model, although {better} would score lower: do not conclude "
    "that there is nothing to predict.",
    "last-model": "The largest model considered is the best one: larger ones may do better"
    "{beside}.",
    "edge": "This is the {which} penalty that was tried: {other} ones may do better.",
    "near-n": "Its Degrees of Freedom are close to n = {n:g}: it nearly interpolates the data, and "
    "its noise level is not reliable{beside}.",
    "undefined": "Not defined for {models} with too many Degrees of Freedom.",
    "as-good": "{count} models, {named}, are as good: their errors differ by less than one "
    "standard error of the difference.",
    "as-good-recipes": "Other recipes are as good: {named}.",
    "exhausted-folds": "Without the rows of fold {named} the data do not support {label}: a "
    "smaller model took its place there, and the cross-validated error is not that of this model.",
    "capped": "Every model misses {named} by more than four robust standard deviations. {counted} "
    "as four in the choice, so that no row rules it; look at the values.",
    "average": "The average of models has an error of {error}, {gain:.0f}% lower.",
}


def remark(key: str, **facts: object) -> Remark:
    """Return the remark of a key, with its facts in words."""
    return Remark(key=key, words=_TEXTS[key].format(**facts))


@dataclass(frozen=True, kw_only=True, repr=False)
class Selection:
    """A chosen model and the scores behind the choice.

    Attributes
    ----------
    index : int
        Row of the path.
    recipe : int
        Which recipe of a pool; 0 for one path.
    recipe_name : str
        What it is called; empty for one path.
    parameter : float
        Number of components, or alpha for ridge regression.
    parameter_name : str
        "n_components" or "alpha".
    scores : (K,) array
        What was compared, one number per model; nan where it is not defined.
    criterion : str
        "left-out", the name of a criterion, or "cv-error" and the like.
    rule : str
        Which of the models is taken.
    remarks : tuple of Remark
        Anything unusual about it, found when first read.
    left_out : LeftOut or None
        The held-out rows behind the choice, if it is theirs.
    pool : tuple of LeftOut
        Those of all recipes, where several were compared.
    recipes : tuple of str
        What these recipes are called.
    weights : mapping of str to array, or None
        Of an average: the weights of the models of each recipe, by its name.
    parts : tuple of mapping
        Of an average over nested pools: the weights of each pool, whose mean they are.
    pools : tuple of tuple of int
        Which recipes belong to each of these pools.
    loss : {"squared", "huber"}
        How their errors were added up.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> choice = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0]).select("bic")
    >>> choice.n_components, choice.summary
    (1, '1 component (2.00 Degrees of Freedom): the first minimum of BIC.')
    """

    index: int
    recipe: int = 0
    recipe_name: str = ""
    parameter: float
    parameter_name: str
    scores: Array
    criterion: str
    rule: str
    left_out: LeftOut | None = None
    pool: tuple[LeftOut, ...] = ()
    recipes: tuple[str, ...] = ()
    weights: Mapping[str, Array] | None = None
    parts: tuple[Mapping[str, Array], ...] = ()
    pools: tuple[tuple[int, ...], ...] = ()
    loss: str = "squared"
    _summary: str | Callable[[float], str] = ""
    _remarks: tuple[Remark, ...] | Callable[[], tuple[Remark, ...]] = ()

    @cached_property
    def summary(self) -> str:
        """The choice in one sentence, with the cross-validated error by `held_out`."""
        if not callable(self._summary):
            return self._summary
        assert self.left_out is not None
        return self._summary(self.left_out.root_mean_square(self.held_out.residuals))

    @cached_property
    def held_out(self) -> HeldOut:
        """Rows held out, the choice made again without each fold: the error to report.

        The smallest of many cross-validated errors flatters.
        """
        if self.left_out is None:
            raise NotAvailableError("This choice was not made by cross-validation.")
        pool, is_average = self.pool or (self.left_out,), self.rule == "average"
        return chosen_without(pool, self.loss, average=is_average, pools=self.pools)

    @cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """Anything unusual about the choice."""
        return self._remarks() if callable(self._remarks) else self._remarks

    @property
    def message(self) -> str:
        """The choice in words, with anything unusual about it."""
        return " ".join([self.summary, *map(str, self.remarks)])

    def remark(self, key: str) -> Remark | None:
        """Return the remark of a key, None if there is none."""
        return next((one for one in self.remarks if one.key == key), None)

    @property
    def n_components(self) -> int:
        """Number of components chosen."""
        if self.parameter_name != "n_components":
            raise AttributeError(
                f"This choice is {self.parameter_name} = {self.parameter:g}, not a number of "
                "components; read .parameter or .index."
            )
        return int(self.parameter)

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with the score of every model."""
        return data_frame({"model": np.arange(len(self.scores)), self.criterion: self.scores})

    def _repr_html_(self) -> str:
        """Return the choice in words, and the scores behind it as a table."""
        known = "n_components" if self.parameter_name == "n_components" else "model"
        columns = {known: np.arange(len(self.scores)), f"score ({self.criterion})": self.scores}
        if self.left_out is not None and len(self.left_out.rmse) == len(self.scores):
            columns["RMSE"] = self.left_out.rmse
        return as_html(repr(self), columns, notes=[self.message], chosen=self.index)

    def __repr__(self) -> str:
        return one_line(
            self,
            f"{self.parameter_name}={self.parameter:g}",
            criterion=self.criterion,
            rule=self.rule,
            score=float(self.scores[self.index]),
        )


# By a criterion: three rules
# ---------------------------


def choose(scores: npt.ArrayLike, rule: str, dof: npt.ArrayLike | None = None) -> int:
    """Apply a rule of choice by name to scores, simplest model first; nan never wins.

    Parameters
    ----------
    rule : {"first-minimum", "paper", "global-minimum"}
        The first score whose successor is not lower (the rule of R's plsdof); the smallest score
        among the models before the first one with negative Degrees of Freedom (Kraemer & Sugiyama
        2011, section 4); the smallest score of all.
    dof : (K,) array
        Degrees of Freedom, for "paper".

    Examples
    --------
    >>> scores = [5.0, 3.0, 4.0, 1.0]
    >>> choose(scores, "first-minimum"), choose(scores, "global-minimum")
    (1, 3)
    >>> choose(scores, "paper", dof=[1.0, 3.0, -2.0, 4.0])
    1
    """
    values = np.asarray(scores, dtype=np.float64)
    as_choice(rule, "rule", RULES)
    if rule == "first-minimum":
        return first_minimum(values)
    if rule == "paper" and dof is not None:
        negative = np.flatnonzero(np.asarray(dof) < 0)
        values = values[: negative[0]] if len(negative) else values
    return global_minimum(values)


def first_minimum(scores: npt.ArrayLike) -> int:
    """Return the first index whose successor is not lower; ties are not an improvement.

    It starts at the first score that is defined and ends at the next one that is not (nan).

    Examples
    --------
    >>> first_minimum([5.0, 3.0, 4.0, 1.0])
    1
    """
    values = np.asarray(scores, dtype=np.float64)
    here = int(_defined(values)[0])
    while here + 1 < len(values):
        if not values[here + 1] < values[here] - EQUAL * abs(values[here]):
            break
        here += 1
    return here


def global_minimum(scores: npt.ArrayLike) -> int:
    """Return the index of the smallest score, the first one among equals; nan are skipped."""
    values = np.asarray(scores, dtype=np.float64)
    defined = _defined(values)
    return int(defined[np.argmin(values[defined])])


def one_standard_error(mean: npt.ArrayLike, std_error: npt.ArrayLike) -> int:
    """Return the first model whose mean is within one standard error of the smallest mean.

    The standard error is that of the best model (Breiman et al., 1984).

    Parameters
    ----------
    mean, std_error : (K,) arrays
        Mean error of every model over folds, and its standard error; simplest model first.

    Examples
    --------
    >>> one_standard_error([5.0, 3.2, 3.0, 3.1], [0.5, 0.4, 0.3, 0.3])
    1
    """
    values = np.asarray(mean, dtype=np.float64)
    best = global_minimum(values)
    spread = float(np.asarray(std_error, dtype=np.float64)[best])
    if np.isnan(spread):
        raise NotAvailableError(
            "The best model has no standard error (a single fold?); use another rule or more folds."
        )
    with np.errstate(invalid="ignore"):
        return int(np.argmax(values <= values[best] + spread))


def _defined(values: Array) -> npt.NDArray[np.intp]:
    defined = np.flatnonzero(~np.isnan(values))
    if not len(defined):
        raise NotAvailableError(
            "The criterion is not defined for any model (too many Degrees of Freedom for the "
            "number of observations, or no noise level); use cross-validation, or give noise=."
        )
    return defined


# The choice in words
# -------------------

# What a rule takes, in the words of messages, tables and reports; "{}" is the score.
_RULE_WORDS = {
    "paper": "the smallest {} before Degrees of Freedom become negative, the paper's rule",
    "first-minimum": "the first minimum of {}",
    "global-minimum": "the smallest {} of all",
    "minimum": "the smallest {}",
    "best-model": "the smallest cross-validated error, with a small price for complexity",
    "one-standard-error": "the simplest model within one standard error of the smallest {}",
    "randomization": "the simplest model that is not worse by {} (randomization test)",
    "given": "as asked for",
    "fixed": "as asked for, judged by {}",
}


def rule_in_words(rule: str, score: str) -> str:
    """Say which model a rule takes.

    Examples
    --------
    >>> rule_in_words("first-minimum", "BIC")
    'the first minimum of BIC'
    """
    return _RULE_WORDS.get(rule, rule).format(score)


def choice_in_words(label: str, dof: float, rule: str, criterion: str) -> str:
    """Say what was chosen, and why.

    Examples
    --------
    >>> choice_in_words("2 components", 6.456, "minimum", "cv-error")
    '2 components (6.46 Degrees of Freedom): the smallest cross-validated error.'
    """
    why = rule_in_words(rule, criterion_label(criterion))
    return f"{label} ({dof:.2f} Degrees of Freedom): {why}."


def average_in_words(weights: Sequence[Array], label: "Label", rmse: float) -> str:
    """Say what an average consists of: weights of the models of each recipe.

    Examples
    --------
    >>> weights = [np.array([0.0, 0.7]), np.array([0.3])]
    >>> average_in_words(weights, lambda recipe, model: f"{model} of recipe {recipe}", 4.2)
    'average of 2 models (cross-validated error 4.2): 1 of recipe 0 0.70; 0 of recipe 1 0.30.'
    """
    models = [(w, r, m) for r, own in enumerate(weights) for m, w in enumerate(own.tolist()) if w]
    heaviest = sorted(models, key=lambda one: -one[0])[:_MOST_NAMED]
    count = plural(len(models), "model")
    parts = "; ".join(f"{label(r, m)} {w:.2f}" for w, r, m in heaviest if w >= 0.01)
    return f"average of {count} (cross-validated error {rmse:.4g}): {parts}."


Label = Callable[[int, int], str]


class Models(Protocol):
    """What sentences about a choice need to know of a path."""

    def label(self, index: int) -> str:
        """Return a model in words."""


def is_longer(path: Any, parameter_name: str, models: int) -> bool:
    """Whether a path has more components than so many models, that were not asked for."""
    asked = path.recipe.options.get("max_components", MOST_COMPONENTS)
    limit = MOST_COMPONENTS if asked is None else int(asked)
    if parameter_name != "n_components" or models <= limit:
        return False
    if not path.is_counted and path.given is not None:
        n, p = path.given.X.shape
        return models - 1 < int(min(n - 1, p))
    return not path.message and models - 1 < path.exact.spectrum.rank


def by_left_out(
    pool: Sequence[LeftOut],
    loss: str,
    paths: Sequence[Models],
    names: Sequence[str] = (),
    *,
    average: bool = False,
    pools: Pools = (),
) -> Selection:
    """Return the best single model by cross-validation, or the best average.

    Parameters
    ----------
    pool : sequence of LeftOut
        One of each recipe.
    loss : {"squared", "huber"}
    paths : sequence of paths
        Theirs.
    names : sequence of str
        What recipes are called, where there are several.
    average : bool
        The best point of the objective instead of its best vertex: ``weights`` are there then, and
        the model is the one with the largest weight.
    pools : sequence of sequence of int
        Of an average over nested pools: which recipes belong to each. The first pool, which has
        the first recipes, has the model and the recipe that stand for the average.
    """
    first = len(pools[0]) if pools else len(pool)
    found, label = objective(pool[:first], loss), partial(_label, paths, names)
    parts: list[list[Array]] = []
    remarks = []
    summary: Callable[[float], str]
    if average:
        parts = best_points(pool, loss, pools)
        weights = mean_of(parts)
        recipe = int(np.argmax([w.sum() for w in weights[:first]]))
        index, best = int(np.argmax(weights[recipe])), int(np.argmin(pool[recipe].press))
        summary = partial(average_in_words, weights, label)
        if weights[recipe][0] == 1.0 and best > 0:
            remarks.append(remark("empty-model", better=label(recipe, best)))
    else:
        recipe, index = found.best_vertex()
        summary = partial(_single_in_words, label(recipe, index))
    rows = np.flatnonzero(found.capped).tolist() if pool[0].joint is None else []
    if rows:
        remarks.append(capped_remark(rows, list(map(str, rows))))
    left = pool[recipe]
    longer = is_longer(paths[recipe], left.parameter_name, len(left.rss))
    more = partial(left_out_remarks, pool, recipe, index, label=label, longer=longer, loss=loss)
    mapped = [dict(zip(names or [""], map(read_only, one), strict=True)) for one in parts]
    return Selection(
        index=index,
        recipe=recipe,
        recipe_name=names[recipe] if names else "",
        parameter=float(left.parameters[index]),
        parameter_name=left.parameter_name,
        scores=read_only(found.by_recipe((found.losses + found.price) / left.n)[recipe]),
        criterion=LEFT_OUT,
        rule="average" if average else "best-model",
        left_out=left,
        pool=tuple(pool) if names else (),
        recipes=tuple(names),
        weights=dict(zip(names or [""], map(read_only, weights), strict=True)) if average else None,
        parts=tuple(mapped),
        pools=tuple(map(tuple, pools)),
        loss=loss,
        _summary=summary,
        _remarks=tuple(remarks) if average else partial(_joined, tuple(remarks), more),
    )


def _joined(first: Sequence[Remark], more: Callable[[], tuple[Remark, ...]]) -> tuple[Remark, ...]:
    return (*first, *more())


def _single_in_words(label: str, rmse: float) -> str:
    """Say which model was chosen by cross-validation."""
    return f"{label} (cross-validated error {rmse:.4g}): {rule_in_words('best-model', '')}."


def capped_remark(rows: Sequence[int], names: Sequence[str]) -> Remark:
    """Name rows that every model misses, the first ones of many.

    Examples
    --------
    >>> capped_remark([4], ["4"]).words[:76]
    'Every model misses row 4 by more than four robust standard deviations. It co'
    """
    shown = [*names[:_MOST_NAMED], *["others"] * (len(names) > _MOST_NAMED)]
    named, counted = f"rows {listed_in_words(shown)}", "They count"
    if len(rows) == 1:
        named, counted = f"row {names[0]}", "It counts"
    return replace(remark("capped", named=named, counted=counted), rows=tuple(rows))


def _label(paths: Sequence[Models], names: Sequence[str], recipe: int, index: int) -> str:
    """Return a model in words, with its recipe where there are several."""
    words = paths[recipe].label(index)
    return f"{recipe_in_words(names[recipe])}, {words}" if names else words


def recipe_in_words(name: str) -> str:
    """Return what sentences call a recipe: the two without preparation have words."""
    return _IN_WORDS.get(name, name)


def left_out_remarks(
    pool: Sequence[LeftOut],
    recipe: int,
    chosen: int,
    *,
    label: Label,
    longer: bool,
    loss: str = "squared",
) -> tuple[Remark, ...]:
    """Return what is worth knowing about a choice by cross-validation.

    Parameters
    ----------
    pool : sequence of LeftOut
        One of each recipe.
    recipe, chosen : int
        The recipe, and the row of its path.
    label : callable
        From a recipe and a row to the model in words.
    longer : bool
        Whether there are further models behind the last one that was left out.
    loss : {"squared", "huber"}
        Of the average, to say what it would gain.
    """
    left, words = pool[recipe], partial(label, recipe)
    position, best = (int(np.flatnonzero(left.order == m)[0]) for m in (chosen, left.best))
    half = int(left.order[position // 2])
    remarks = _remarks(
        position,
        best,
        len(left.order),
        dof=float(left.dof[chosen]),
        n=left.n,
        better=words(left.best),
        penalties=left.parameter_name == "alpha",
        longer=longer and best == len(left.order) - 1,
        beside=f"{words(half)} has an error of {left.rmse[half]:.4g}",
    )
    remarks += _as_good_in_words(pool, recipe, chosen, label)
    folds = np.flatnonzero(left.exhausted[chosen])
    if len(folds):
        named = ", ".join(str(f + 1) for f in folds[:_MOST_NAMED])
        named += " and others" if len(folds) > _MOST_NAMED else ""
        remarks.append(remark("exhausted-folds", named=named, label=words(chosen)))
    one, error = (
        left.root_mean_square(chosen_without(pool, loss, average=average).residuals)
        for average in (False, True)
    )
    if error < (1.0 - _WORTH_SAYING) * one:
        gain = 100.0 * (1.0 - error / one)
        remarks.append(remark("average", error=significant(error, 3), gain=gain))
    return tuple(remarks)


def criterion_remarks(
    scores: Array,
    dof: Array,
    chosen: int,
    n: float,
    *,
    label: Callable[[int], str],
    longer: bool,
    penalties: bool = False,
) -> tuple[Remark, ...]:
    """Return what is worth knowing about a choice by a criterion; arrays simplest model first."""
    lowest = global_minimum(scores)
    remarks = _remarks(
        chosen,
        lowest,
        len(scores),
        dof=float(dof[chosen]),
        n=n,
        better=label(lowest),
        penalties=penalties,
        longer=longer and chosen == len(scores) - 1,
    )
    if undefined := int(np.isnan(scores).sum()):
        remarks.append(remark("undefined", models=plural(undefined, "model")))
    return tuple(remarks)


def _remarks(
    position: int,
    best: int,
    size: int,
    *,
    dof: float,
    n: float,
    better: str,
    penalties: bool,
    longer: bool,
    beside: str = "",
) -> list[Remark]:
    """Return what any choice may be unusual in; models are counted from the simplest one.

    A choice of penalties has no empty model, and an end on both sides.
    """
    remarks = []
    if not penalties and position == 0 and best > 0:
        remarks.append(remark("empty-model", better=better))
    if longer and size > 1:
        remarks.append(remark("last-model", beside=f" ({beside})" if beside else ""))
    if penalties and size > 2 and position in (0, size - 1):
        which, other = ("largest", "larger") if position == 0 else ("smallest", "smaller")
        remarks.append(remark("edge", which=which, other=other))
    if dof > _NEAR * n:
        remarks.append(remark("near-n", n=n, beside=f"; {beside}" if beside else ""))
    return remarks


def _as_good_in_words(
    pool: Sequence[LeftOut], recipe: int, chosen: int, label: Label
) -> Iterator[Remark]:
    """Say which models of the recipe, and which other recipes, are as good as the chosen one."""
    left = pool[recipe]
    near = as_good(left, chosen)
    if len(near) > 1:
        named = f"from {label(recipe, int(near[0]))} to {label(recipe, int(near[-1]))}"
        if left.parameter_name == "n_components":
            named = f"with {runs_in_words(np.sort(near).tolist())} components"
        yield remark("as-good", count=len(near), named=named)
    reference = left.residuals[chosen] ** 2
    others = [
        label(number, other.best)
        for number, other in enumerate(pool)
        if number != recipe
        and _is_as_good(other, other.residuals[[other.best]] ** 2 - reference)[0]
    ]
    if others:
        yield remark("as-good-recipes", named="; ".join(others))


def as_good(left: LeftOut, chosen: int) -> npt.NDArray[np.intp]:
    """Return the models whose error is not clearly larger than that of the chosen one.

    The mean difference of their squared residuals is within one standard error, over rows or, if
    there are groups, over folds.
    """
    squares = left.residuals**2
    near = _is_as_good(left, squares - squares[chosen])
    near[chosen] = True
    return np.asarray([one for one in left.order if near[one]], dtype=np.intp)


def _is_as_good(left: LeftOut, difference: Array) -> npt.NDArray[np.bool_]:
    """Whether sums of differences (K, n) are within one standard error of zero. Shape (K,)."""
    if left.groups is not None:
        difference = left.fold_sums(difference)
    elif left.sample_weight is not None:
        difference = difference * left.sample_weight
    spread = np.std(difference, axis=1) * np.sqrt(difference.shape[1])
    return np.asarray(difference.sum(axis=1) <= spread)
