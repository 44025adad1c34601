"""What was found about one path without counting: rows left out, and the recursion on all rows.

Both are made once and kept. A path asks its store; whoever needs left-out rows asks the path.
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._core.inputs import Array, read_only
from plsdof._core.left_out import ALL_DIGITS, MOST, PATIENCE, LeftOut, hold_out
from plsdof._core.recursion import Integers, Run, Split
from plsdof._core.standardize import Observations
from plsdof._core.warnings import quietly

if TYPE_CHECKING:
    from plsdof._core.path import Path


@dataclass(frozen=True, kw_only=True, eq=False)
class Predicted:
    """New rows, as all models of one fit see them.

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
    """Rows left out: whether all models are there, or all that a choice looks at."""

    left_out: LeftOut
    complete: bool
    for_choice: bool


class Store:
    """What is known of one path."""

    def __init__(self, path: "Path") -> None:
        self.path = path
        self._known: dict[tuple[bytes, bool], _Known] = {}
        self._run: Run | None = None

    def left_out(
        self, fold: Integers, groups: int | None, *, through: int | None, walk: bool = False
    ) -> LeftOut:
        """Return what leaving out these folds gives, from what is there if it is enough.

        Parameters
        ----------
        fold : (n,) array of int
        groups : int or None
            Number of groups, if rows were left out in groups.
        through : int or None
            The last model that is needed; None for all of the path.
        walk : bool
            Stop where a choice need not look further, unless sizes were asked for.
        """
        walk = walk and self.path.recipe.options.get("max_components") is None
        key = fold.tobytes(), groups is None
        known = self._known.get(key)
        if known is not None:
            enough = walk and known.for_choice
            enough |= through is not None and through < len(known.left_out.rss)
            if known.complete or enough:
                return known.left_out
        found, complete = self._made(fold, groups, through, walk)
        self._known[key] = _Known(left_out=found, complete=complete, for_choice=walk)
        return found

    def _made(
        self, fold: Integers, groups: int | None, through: int | None, walk: bool
    ) -> tuple[LeftOut, bool]:
        """Leave out folds; return also whether all models of the path are there."""
        path = self.path
        given, problem, split = path.require_given(), path.fold_problem(), Split.of(fold)
        given.require_unchanged()
        found = partial(
            LeftOut,
            fold=fold,
            y=given.y,
            sample_weight=given.weights,
            groups=groups,
            parameter_name=path.parameter_name,
        )
        if problem is not None:
            wanted = path.most_components() if through is None else through
            run = hold_out(
                problem,
                split,
                min(wanted, MOST) if walk else wanted,
                patience=PATIENCE if walk else None,
            )
            if run is not None:
                self._remember(run)
                K, back = len(run.rss), np.argsort(split.rows)
                made = found(
                    parameters=read_only(np.arange(K, dtype=np.float64)),
                    order=np.arange(K),
                    residuals=read_only(run.residuals[:, back]),
                    leverage=read_only(run.leverage[:, back]),
                    rss=read_only(run.rss),
                    exhausted=run.exhausted,
                    rounding=read_only(run.error),
                )
                return made, through is None and not walk
        made = found(
            parameters=path.parameters,
            order=path.simplest_first(),
            rss=path.rss,
            **self._refitted(split, given),
        )
        return made, True

    def _refitted(self, split: Split, given: Observations) -> dict[str, Any]:
        """Fit every fold by itself; a fold with fewer models repeats its last one."""
        K, y = len(self.path), given.y
        residuals, leverage = np.empty((2, K, len(y)))
        rounding, exhausted = np.zeros(K), np.zeros((K, split.count), dtype=bool)
        path, parts = self.path, None
        if not given.in_memory:
            parts = given.X.refitted(path.same_models(), given, split)
        # Residuals of responses with a large offset would lose digits.
        level = float(y[0]) if given.in_memory else 0.0
        for f, test in enumerate(split.tests):
            train = np.setdiff1d(np.arange(len(y)), test)
            if len(train) == 1:  # nothing but a mean
                residuals[:, test], leverage[:, test] = y[test] - y[train], 1.0
                exhausted[1:, f] = True
                continue
            with quietly():
                part = next(parts) if parts else path.predict_without(train, test, K - 1, level)
            last = np.minimum(np.arange(K), len(part.values) - 1)
            residuals[:, test] = y[test] - level - part.values[last]
            leverage[:, test] = part.leverage[last]
            np.maximum(rounding, part.error[last].max(axis=1), out=rounding)
            exhausted[len(part.values) :, f] = True
        return {
            "residuals": read_only(residuals),
            "leverage": read_only(leverage),
            "exhausted": exhausted,
            "rounding": read_only(rounding),
        }

    # The recursion on all rows
    # -------------------------

    def run(self, m: int) -> Run | None:
        """Return the recursion on all rows with m components; None if it has not all digits."""
        given, problem = self.path.given, None
        if given is None or self.path.is_counted:
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
        return bool(run.fit_error[m] <= ALL_DIGITS * given.spread)

    def _remember(self, run: Run) -> None:
        """Keep the longest recursion, and of equally long ones the most accurate."""
        known, last = self._run, len(run.rss) - 1
        shorter = known is not None and last < len(known.rss)
        if not shorter or known is None or run.fit_error[last] < known.fit_error[last]:
            self._run = run
