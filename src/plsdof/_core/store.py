"""Results of a path that need no closed form: held-out rows, and the recursion on all rows.

Both are made once and kept. A path asks its store; everything else asks the path.
To *count* is to make the closed form, `plsdof._core.exact`, which has the Degrees of Freedom.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._core.folds import Integers, Split
from plsdof._core.inputs import Array, read_only
from plsdof._core.left_out import (
    MOST_COMPONENTS,
    PATIENCE,
    LeftOut,
    Problem,
    fit_tolerance,
    folds_of,
    hold_out,
    is_countable,
)
from plsdof._core.parallel import run_each
from plsdof._core.recursion import Run
from plsdof._core.routes import COEF_ERROR
from plsdof._core.threads import threads_for
from plsdof._core.warnings import quietly

if TYPE_CHECKING:
    from plsdof._core.path import Path


@dataclass(frozen=True, kw_only=True, eq=False)
class Predicted:
    """Predictions of new rows by all models of one fit.

    Attributes
    ----------
    values : (K, n_new) array
        Predictions.
    leverage : (K, n_new) array
        h = 1/n + sum_j t_j^2 with orthonormal scores; of ridge regression 1/n + sum_i f_i u_i^2.
    error : (K, n_new) array
        Estimated rounding error of the predictions.
    """

    values: Array
    leverage: Array
    error: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class _Known:
    """Held-out rows: whether all models are there, or all that a choice looks at."""

    left_out: LeftOut
    complete: bool
    for_choice: bool


class Store:
    """Held-out rows and recursion of one path, each made once."""

    def __init__(self, path: "Path") -> None:
        self.path = path
        self._known: dict[tuple[bytes, bool], _Known] = {}
        self._run: Run | None = None
        self.q: dict[bytes, Array] = {}  # Q of held-out rows, by folds: `chemometrics.distances`

    # What can be said without counting
    # ---------------------------------

    @property
    def is_countable(self) -> bool:
        """Whether there is a closed form."""
        given = self.path.given
        return given is None or is_countable(given)

    def length(self) -> int:
        """Return how many models there are; of all that the recursion has if none is counted."""
        if not self.path.is_counted and not self.is_countable:
            self.run(self.most_components())
        run, given = self._run, self.path.given
        if self.path.is_counted or self.is_countable or run is None or given is None:
            return len(self.path.exact.dof)
        return int(np.count_nonzero(run.fit_error <= fit_tolerance(given)))

    def has(self, m: int) -> bool:
        """Whether model m is known to exist."""
        return m < len(self.path) if self.path.is_counted else self.run(m) is not None

    def linear(self, m: int) -> tuple[Array, float]:
        """Return coefficients and intercept of one model; count only if needed."""
        run, path = None if self.path.rows.is_dual else self.run(m), self.path
        if run is None:
            return path.exact.coef[m], float(path.exact.intercept[m])
        coef, (x_mean, y_mean) = run.coef(m), run.centre
        return coef, y_mean - float(x_mean @ coef)

    def most_components(self) -> int:
        """Return how many components the recursion goes to."""
        asked = self.path.recipe.options.get("max_components")
        if self.path.is_counted:
            return len(self.path) - 1
        n, p = self.path.rows.require().X.shape
        return int(min(n - 1, p)) if asked is None else int(asked)

    # Held-out rows
    # -------------

    def folds(self, cv: Any, groups: Any) -> tuple[Integers, int | None]:
        """Return the fold of every row, and the number of groups if there are any."""
        return folds_of(self.path.rows.require(), cv, groups)

    def fold_problem(self) -> Problem | None:
        """Return what the recursion takes of fits without some rows; None if these learn steps."""
        before = self.path.rows.before
        return None if before is not None and before.learns_from_rows else self.path.problem()

    def _scaled_problem(self) -> Problem | None:
        """Return the same where all that fits learn is what columns are divided by."""
        problem, before, given = self.path.problem(), self.path.rows.before, self.path.given
        if problem is None or problem.kernel is not None or problem.scale or before is None:
            return None
        if given is None or not given.in_memory or problem.inverse_metric is not None:
            return None
        scales = before.fold_scales(given.X, given.y)
        return None if scales is None else replace(problem, given=given, scales=scales)

    def fit_rows(self, rows: Integers, level: float = 0.0) -> "Path":
        """Fit the same method to some of the training rows, to y less a level."""
        given = self.path.rows.require_in_memory()
        weights = None if given.weights is None else given.weights[rows]
        recipe = self.path.rows.same_models()
        return recipe.fit(given.X[rows], given.y[rows] - level, weights)

    def left_out(
        self, fold: Integers, groups: int | None, *, through: int | None, for_choice: bool = False
    ) -> LeftOut:
        """Return what leaving out these folds gives, from what is there if it is enough.

        Parameters
        ----------
        fold : (n,) array of int
        groups : int or None
            Number of groups, if rows were left out in groups.
        through : int or None
            The last model that is needed; None for all of the path.
        for_choice : bool
            Stop early, as a choice may; ignored if ``max_components`` was given.
        """
        is_open = self.path._is_open or self.path.recipe.options.get("max_components") is None
        for_choice = for_choice and is_open
        key = fold.tobytes(), groups is None
        known = self._known.get(key)
        if known is not None:
            enough = known.complete or (for_choice and known.for_choice)
            if enough if through is None else through < len(known.left_out.rss):
                return known.left_out
        wanted = self.most_components() if through is None else through
        split, given = Split.of(fold), self.path.rows.require()
        given.require_unchanged()
        held = self._by_recursion(
            split, min(wanted, MOST_COMPONENTS) if for_choice else wanted, for_choice=for_choice
        )
        if held is not None and through is not None and through >= len(held["rss"]):
            held = None  # the recursion ends before this model, which every fold then fits itself
        complete, back = through is None and not for_choice, np.argsort(split.rows)
        if held is None:
            few = min(wanted, MOST_COMPONENTS) if for_choice else None
            held = self._refitted(split, None, few)
            complete = few is None or few == wanted
        found = LeftOut(
            **held | {name: read_only(held[name][:, back]) for name in ("residuals", "leverage")},
            fold=fold,
            y=given.y,
            sample_weight=given.weights,
            groups=groups,
            parameter_name=self.path.parameter_name,
        )
        self._known[key] = _Known(left_out=found, complete=complete, for_choice=for_choice)
        return found

    def hold_out(self, split: Split, through: int, n_jobs: int | None) -> dict[str, Any]:
        """Leave out the folds of a split, up to model ``through``, with so many processes.

        Returns fields of `LeftOut`, with the rows in the order of the folds.
        """
        return self._by_recursion(split, through) or self._refitted(split, n_jobs)

    def _by_recursion(
        self, split: Split, through: int, *, for_choice: bool = False
    ) -> dict[str, Any] | None:
        """Leave out all folds at once; None if that is not certain, or there is no recursion."""
        problem = self.fold_problem() or self._scaled_problem()
        if problem is None:
            return None
        run = hold_out(problem, split, through, patience=PATIENCE if for_choice else None)
        if run is None:
            return None
        if problem.scales is None:  # else its coefficients are of rows that are not prepared
            self._remember(run)
        return {
            "parameters": read_only(np.arange(len(run.rss), dtype=np.float64)),
            "order": np.arange(len(run.rss)),
            "residuals": run.residuals,
            "leverage": run.leverage,
            "rss": read_only(run.rss),
            "exhausted": run.exhausted,
            "rounding": read_only(run.error.max(axis=1, initial=0.0)),
        }

    def _refitted(self, split: Split, n_jobs: int | None, few: int | None = None) -> dict[str, Any]:
        """Fit every fold by itself; a fold with fewer models repeats its last one.

        With ``few`` no model beyond is needed: none is counted where the recursion has it.
        """
        path, given = self.path, self.path.rows.require()
        run = None if few is None or path.rows.is_dual or not given.in_memory else self.run(few)
        if few is None or run is None:
            parameters, order, rss = path.parameters, path.simplest_first(), path.rss
        else:
            rss, order = run.rss[: few + 1], np.arange(few + 1)
            parameters = order.astype(np.float64)
        K, y = len(rss), given.y
        residuals, leverage = np.empty((2, K, len(split.rows)))
        rounding, exhausted = np.zeros(K), np.zeros((K, split.count), dtype=bool)
        # Residuals of responses with a large offset would lose digits.
        level = float(y[0]) if given.in_memory else 0.0
        if given.in_memory:
            work = partial(_predict_without, path=path, split=split, through=K - 1, level=level)
            with threads_for(given.X.shape):
                parts = run_each(work, range(split.count), n_jobs=n_jobs)
        else:
            with quietly():
                parts = list(given.X.refitted(path.rows.same_models(), given, split))
        start = 0
        for f, (part, test) in enumerate(zip(parts, split.tests, strict=True)):
            here, start = slice(start, start + len(test)), start + len(test)
            last = np.minimum(np.arange(K), len(part.values) - 1)
            residuals[:, here] = y[test] - level - part.values[last]
            leverage[:, here] = part.leverage[last]
            np.maximum(rounding, part.error[last].max(axis=1, initial=0.0), out=rounding)
            exhausted[len(part.values) :, f] = True
        return {
            "parameters": read_only(parameters),
            "order": order,
            "residuals": residuals,
            "leverage": leverage,
            "rss": read_only(rss),
            "exhausted": exhausted,
            "rounding": read_only(rounding),
        }

    # The recursion on all rows
    # -------------------------

    def run(self, m: int) -> Run | None:
        """Return the recursion on all rows with m components; None if it has not all digits."""
        given, problem = self.path.given, None
        if given is None or (
            self.path.is_counted and bool(np.all(self.path.exact.coef_error <= COEF_ERROR))
        ):
            return None
        if not self._has_all_digits(m):
            problem = self.path.problem()
            if problem is None:
                return None
            given.require_unchanged()
            run = hold_out(problem, Split.given([]), m)
            if run is not None:
                self._remember(run)
        return self._run if self._has_all_digits(m) else None

    def _has_all_digits(self, m: int) -> bool:
        run, given = self._run, self.path.given
        if run is None or given is None or m >= len(run.rss):
            return False
        return bool(run.fit_error[m] <= fit_tolerance(given))

    def _remember(self, run: Run) -> None:
        """Keep a recursion that is longer than the one there, or more accurate where both end."""
        known, last = self._run, len(run.rss) - 1
        if known is None or last >= len(known.rss) or run.fit_error[last] < known.fit_error[last]:
            # Its held-out rows are those of a `LeftOut`, or nobody's.
            none = np.zeros((0, 0))
            self._run = replace(run, residuals=none, leverage=none, error=none)


def _predict_without(
    fold: int, *, path: "Path", split: Split, through: int, level: float
) -> Predicted:
    """Predict y less a level of the rows of a fold by a fit to others."""
    given, test = path.rows.require_in_memory(), split.tests[fold]
    train = split.fitted(fold, len(given.y))
    if len(train) == 1:  # one row fits a mean only
        values = np.full((1, len(test)), given.y[train[0]] - level)
        return Predicted(values=values, leverage=np.ones_like(values), error=np.zeros_like(values))
    with quietly():
        return path.store.fit_rows(train, level).at(given.X[test], through)
