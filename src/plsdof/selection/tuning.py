"""Choice of the number of components together with one more parameter of the method.

Every value of the parameter (a kernel width, the strength of a penalty) has a path of its own;
the Degrees of Freedom put all models of all paths on one scale.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from plsdof._core.choice import LEFT_OUT, Selection, choice_in_words, global_minimum
from plsdof._core.criteria import CRITERIA, Noise
from plsdof._core.folds import make_folds
from plsdof._core.inputs import Array, as_choice, as_float, read_only
from plsdof._core.path import Path
from plsdof._core.quiet import quietly
from plsdof._core.work import with_progress
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.selection.cross_validation import CrossValidation, cross_validate

CV_RULES = ("minimum", "one-standard-error")
# Errors that differ by less than this share of the largest one are equal but for rounding.
_EQUAL = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Tuning:
    """A number of components and a value of one more parameter, and the scores of all pairs.

    G values, up to M components.

    Attributes
    ----------
    parameter_name : str
        "gamma" or "strength".
    values : (G,) array
        The values compared, as given.
    value : float
        The chosen one.
    selection : Selection
        The choice on the chosen path: its ``n_components``, criterion, rule and message.
    scores : (G, M + 1) array
        Criterion, or cross-validated mean squared error; nan where it is not defined or where a
        path has no such model.
    dof : (G, M + 1) array
        Exact Degrees of Freedom on all rows; nan where a path has no such model.
    path : Path
        The chosen path, fitted to all rows.

    Examples
    --------
    >>> from plsdof.variants import select_kernel
    >>> from plsdof.datasets import load_ozone
    >>> select_kernel(*load_ozone(return_X_y=True), [0.001, 0.01], max_components=3)
    Tuning(gamma=0.01, n_components=3, criterion='left-out')
    """

    parameter_name: str
    values: Array
    value: float
    selection: Selection
    scores: Array
    dof: Array
    path: Path

    @property
    def n_components(self) -> int:
        """The chosen number of components."""
        return self.selection.n_components

    @property
    def message(self) -> str:
        """The choice in words."""
        return f"{self.parameter_name} = {self.value:g}: {self.selection.message}"

    def __repr__(self) -> str:
        return (
            f"Tuning({self.parameter_name}={self.value:g}, "
            f"n_components={self.n_components}, criterion={self.selection.criterion!r})"
        )


def tune(
    X: Any,
    y: Any,
    make: Callable[..., Path],
    values: Array,
    *,
    parameter_name: str,
    by: str = LEFT_OUT,
    fixed: bool = False,
    dof: str | None = None,
    noise: Noise = None,
    rule: str | None = None,
    cv: Any = None,
    groups: Any = None,
    rng: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Tuning:
    """Choose a number of components and a value of ``parameter_name`` together.

    Rows left out, or a criterion, choose on every path, and then the value whose choice has the
    smallest score. Cross-validation
    takes the pair with the smallest error ("minimum"), or, among the pairs within one standard
    error of it, the one with the fewest Degrees of Freedom ("one-standard-error").

    Parameters
    ----------
    X, y : arrays with n rows
    make : callable
        ``make(X, y, sample_weight=..., **{parameter_name: value})`` returns a path.
    values : (G,) array
    by : str
        "left-out" (see `Path.select`), a criterion, or "cv" for cross-validated mean squared
        error with a rule.
    fixed : bool
        Compare the largest models of the paths, not all of them.
    dof, noise, rule
        Of a criterion, see `Path.select`; with "cv" only ``rule`` is used.
    cv, groups, rng
        Folds, see `plsdof.selection.make_folds`.
    n_jobs : int, optional
        Number of processes for the folds.
    progress : bool
        Show a progress bar (needs rich).

    Notes
    -----
    Cost: one path per value, and one per value and fold with "cv".
    """
    as_choice(by, "by", (LEFT_OUT, *CRITERIA, "cv"))
    values = as_float(values, parameter_name)
    if values.ndim != 1 or not len(values):
        raise InvalidInputError(
            f"The values of {parameter_name} to choose from must be a list of numbers; got "
            f"{values!r:.80}."
        )
    makers: list[Callable[..., Path]] = [
        partial(_quietly, make=make, name=parameter_name, value=float(value)) for value in values
    ]
    fits = (one(X, y, sample_weight=sample_weight) for one in makers)
    paths = list(with_progress(fits, len(makers), "Paths") if progress else fits)
    if by != "cv":
        folds_of = {"groups": groups, "cv": cv} if by == LEFT_OUT else {}
        if fixed:
            choices = [_at_the_end(path, cv, groups) for path in paths]
        else:
            choices = [path.select(by, dof, noise, rule, **folds_of) for path in paths]
        best = _first_smallest(choices)
        scores = _padded([one.scores for one in choices], _width(paths))
        return _result(paths, values, parameter_name, scores, best, choices[best])
    rule = as_choice(rule or "minimum", "rule", CV_RULES)
    # The same folds for every value, so that errors can be compared fold by fold.
    folds = make_folds(X, y, 10 if cv is None else cv, groups, rng=rng)
    splits = [(fold.train, fold.test) for fold in folds]
    results: Iterator[CrossValidation] = (
        cross_validate(X, y, one, splits, sample_weight=sample_weight, n_jobs=n_jobs)
        for one in makers
    )
    if progress:
        results = with_progress(results, len(makers), "Cross-validation")
    found = list(results)
    if np.isnan(found[0].fold_errors[:, 0]).any():
        raise InvalidInputError(
            "A fold has no test row with a positive weight; use fewer folds, or drop the rows "
            "whose weight is zero."
        )
    return _chosen_by_error(paths, values, parameter_name, found, rule)


def _at_the_end(path: Path, cv: Any, groups: Any) -> Selection:
    """Return the choice of the largest model of a path, with its error of rows left out."""
    left, index = path.left_out(cv, groups), len(path) - 1
    scores = np.full(len(path), np.nan)
    scores[: len(left.press)] = (left.press / left.n)[: len(path)]
    scores[len(left.press) :] = scores[len(left.press) - 1]
    return Selection(
        index=index,
        parameter=float(path.parameters[index]),
        parameter_name=path.parameter_name,
        scores=read_only(scores),
        criterion=LEFT_OUT,
        rule="fixed",
        summary=choice_in_words(path[index].label, float(path.dof[index]), "fixed", LEFT_OUT),
    )


def _quietly(
    X: Any, y: Any, *, sample_weight: Any = None, make: Callable[..., Path], name: str, value: float
) -> Path:
    """Fit a path; the largest number of components is only a limit to the search."""
    with quietly():
        return make(X, y, sample_weight=sample_weight, **{name: value})


def _chosen_by_error(
    paths: Sequence[Path],
    values: Array,
    parameter_name: str,
    results: Sequence[CrossValidation],
    rule: str,
) -> Tuning:
    # A fold may support more models than the path of all rows has.
    sizes = [len(path.dof) for path in paths]
    pairs = list(zip(results, sizes, strict=True))
    scores = _padded([one.mean_error[:size] for one, size in pairs], max(sizes))
    best = _smallest(scores)
    if rule == "one-standard-error":
        spread = _padded([one.std_error[:size] for one, size in pairs], max(sizes)).ravel()[best]
        if np.isnan(spread):
            raise NotAvailableError("A standard error needs at least two folds; use more.")
        dof = _padded([path.dof for path in paths], max(sizes))
        # Fewer than the intercept's is a genuine estimate, but not a measure of simplicity.
        near = (scores <= scores.ravel()[best] + spread) & (dof >= 1.0 - 1e-9)
        best = int(np.argmin(np.where(near, dof, np.inf))) if near.any() else best
    row, index = divmod(best, scores.shape[1])
    selection = Selection(
        index=index,
        parameter=float(paths[row].parameters[index]),
        parameter_name=paths[row].parameter_name,
        scores=read_only(scores[row, : len(paths[row].dof)]),
        criterion="cv-error",
        rule=rule,
        summary=choice_in_words(
            paths[row][index].label, float(paths[row].dof[index]), rule, "cv-error"
        ),
    )
    return _result(paths, values, parameter_name, scores, row, selection)


def _smallest(scores: Array) -> int:
    """Return the flat index of the smallest score, with the fewest components among equals."""
    lowest = scores.ravel()[global_minimum(scores.ravel())]
    limit = lowest + _EQUAL * np.nanmax(scores)
    index, row = np.argwhere(scores.transpose() <= limit)[0]
    return int(row * scores.shape[1] + index)


def _result(
    paths: Sequence[Path],
    values: Array,
    parameter_name: str,
    scores: Array,
    row: int,
    selection: Selection,
) -> Tuning:
    return Tuning(
        parameter_name=parameter_name,
        values=read_only(values),
        value=float(values[row]),
        selection=selection,
        scores=read_only(scores),
        dof=read_only(_padded([path.dof for path in paths], _width(paths))),
        path=paths[row],
    )


def _width(paths: Sequence[Path]) -> int:
    return max(len(path.dof) for path in paths)


def _first_smallest(choices: list[Selection]) -> int:
    """Return the path with the smallest score, the first one among equals.

    Paths that interpolate the data all score zero up to rounding, which must not decide.
    """
    chosen = np.array([one.scores[one.index] for one in choices])
    unit = np.nanmax(np.abs([one.scores[0] for one in choices]), initial=0.0)
    smallest = chosen[global_minimum(chosen)]
    with np.errstate(invalid="ignore"):
        return int(np.argmax(chosen <= smallest + _EQUAL * unit))


def _padded(rows: Sequence[Array], width: int) -> Array:
    """Stack rows of different lengths, cut to ``width``, nan behind the shorter ones."""
    table = np.full((len(rows), width), np.nan)
    for target, row in zip(table, rows, strict=True):
        target[: len(row)] = row[:width]
    return table
