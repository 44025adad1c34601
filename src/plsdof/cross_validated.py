"""What a cross-validation found: errors and correlations of all models, and a choice by them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof._validation import Array, as_choice, as_count, as_generator, read_only
from plsdof.criteria import Selection, global_minimum, one_standard_error
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.fold_scores import correlations
from plsdof.folds import Fold, Integers
from plsdof.readable import data_frame, one_line, parameter_column

# What models can be compared by, and where it is kept.
MEASURES = {
    "error": "mean_error",
    "pearson": "mean_correlation",
    "spearman": "mean_rank_correlation",
    "pooled-pearson": "pooled_correlation",
    "pooled-spearman": "pooled_rank_correlation",
}
_FOLD_VALUES = {
    "error": "fold_errors",
    "pearson": "fold_correlations",
    "spearman": "fold_rank_correlations",
}
_COLUMNS = ("mean_error", "std_error", "rmse", "q2", "mean_correlation", "mean_rank_correlation")
RULES = ("minimum", "one-standard-error", "randomization")
# Differences of two losses that are apart by less than this share of the losses are equal.
_EQUAL_LOSSES = 1e-10
# Random signs held in memory at once: 8 MB.
_SIGNS_AT_ONCE = 1_000_000


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CrossValidation:
    """Errors, correlations and predictions of every model on rows it was not fitted to.

    F folds (those of all repeats), K models in the order of ``parameters``.

    Attributes
    ----------
    parameters : (K,) array
        Numbers of components, or alphas.
    parameter_name : str
        "n_components" or "alpha".
    simplest_first : (K,) array of int
        Rows of ``parameters`` from the simplest model to the richest.
    folds : tuple of Fold
        Which rows were fitted and which predicted.
    fold_sizes : (F,) array
        Number of test rows.
    fold_errors : (F, K) array
        (Weighted) mean squared error of the test rows.
    fold_correlations, fold_rank_correlations : (F, K) arrays
        Pearson's and Spearman's correlation of prediction and response over the test rows; nan
        where one of them does not vary, so always for the empty model and for leave-one-out.
    y : (n,) array
        The response.
    predictions : (repeats, K, n) array or None
        Out-of-fold predictions, nan for rows that were not tested; None if they were not kept.
    sample_weight : (n,) array or None
    groups : (n,) array of int or None
        Groups numbered in order of appearance.
    message : str
        Why there are fewer models than asked for; empty if there are not.

    Examples
    --------
    >>> from plsdof import cross_validate
    >>> from plsdof.datasets import load_ozone
    >>> result = cross_validate(*load_ozone(return_X_y=True), max_components=2)
    >>> result.rmse.round(2), result.q2.round(2)
    (array([8.18, 4.85, 4.63]), array([-0.  ,  0.65,  0.68]))
    """

    parameters: Array
    parameter_name: str
    simplest_first: Integers
    folds: tuple[Fold, ...]
    fold_sizes: Integers
    fold_errors: Array
    fold_correlations: Array
    fold_rank_correlations: Array
    y: Array
    predictions: Array | None
    sample_weight: Array | None
    groups: Integers | None
    message: str

    @property
    def mean_error(self) -> Array:
        """Mean over folds of `fold_errors`. Shape (K,)."""
        return _mean(self.fold_errors)

    @property
    def std_error(self) -> Array:
        """Standard error of `mean_error`: standard deviation over folds / sqrt(folds). (K,).

        With repeats, folds is the number of folds of one repeat: repeats split the same rows
        again and so do not make the data larger.
        """
        return self._standard_error(self.fold_errors)

    @property
    def rmse(self) -> Array:
        """Root mean squared error of cross-validation, the root of `mean_error`. Shape (K,)."""
        return np.sqrt(self.mean_error)

    @property
    def q2(self) -> Array:
        """Q^2 = 1 - PRESS / TSS, the predicted share of the variance of y. Shape (K,).

            PRESS = sum w_i (y_i - yhat_i)^2,      TSS = sum w_i (y_i - ybar)^2

        over all tested rows of all repeats, with yhat_i predicted without the fold of row i and
        ybar the (weighted) mean of all responses. That of the empty model is slightly negative, as
        folds do not know ybar. nan if y is constant.
        """
        weights = np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight
        squares = weights * (self.y - np.average(self.y, weights=weights)) ** 2
        total = sum(squares[fold.test].sum() for fold in self.folds)
        fold_weights = np.array([weights[fold.test].sum() for fold in self.folds])
        tested = fold_weights > 0
        press = fold_weights[tested] @ self.fold_errors[tested]
        return 1.0 - press / (total if total > 0 else np.nan)

    @property
    def mean_correlation(self) -> Array:
        """Mean over the folds where it is defined of `fold_correlations`. Shape (K,)."""
        return _mean(self.fold_correlations)

    @property
    def mean_rank_correlation(self) -> Array:
        """Mean over the folds where it is defined of `fold_rank_correlations`. Shape (K,)."""
        return _mean(self.fold_rank_correlations)

    @property
    def pooled_correlation(self) -> Array:
        """Pearson's correlation over all tested rows at once, averaged over repeats. (K,).

        Defined for leave-one-out too. That of the empty model is negative: leaving out a large
        response lowers the mean of the others.
        """
        return self._pooled(ranks=False)

    @property
    def pooled_rank_correlation(self) -> Array:
        """Spearman's correlation over all tested rows at once, averaged over repeats. (K,)."""
        return self._pooled(ranks=True)

    def scores(self, by: str = "error") -> Array:
        """Return what `select` compares: an error to minimise or a correlation to maximise."""
        return np.asarray(getattr(self, MEASURES[as_choice(by, "by", tuple(MEASURES))]))

    def select(
        self,
        by: str = "error",
        rule: str = "minimum",
        *,
        level: float = 0.1,
        n_permutations: int = 999,
        random_state: Any = 0,
    ) -> Selection:
        """Choose a model.

        Parameters
        ----------
        by : {"error", "pearson", "spearman", "pooled-pearson", "pooled-spearman"}
            Smallest mean squared error or largest correlation; the first three are means over
            folds, the others take all tested rows together (for leave-one-out).
        rule : {"minimum", "one-standard-error", "randomization"}
            The best model (the simplest among equals); the simplest one within one standard error
            of it (Breiman et al. 1984); or the simplest one that `randomization_test` does not
            find worse.
        level, n_permutations, random_state
            Of the randomization test. Software differs in its ``level``, from 0.01 to 0.1; a
            smaller one gives smaller models.

        Returns
        -------
        Selection
            ``scores`` is ``self.scores(by)``; ``dof`` and ``noise`` are "not used".
        """
        scores, order = self.scores(by), self.simplest_first
        _require_defined(scores, by)
        loss = (scores if by == "error" else -scores)[order]
        note = ""
        if as_choice(rule, "rule", RULES) == "minimum":
            position = global_minimum(loss)
        elif rule == "one-standard-error":
            position = one_standard_error(loss, self._spread(by, global_minimum(loss)))
        else:
            best = int(order[global_minimum(loss)])
            p_values = self._p_values(by, best, level, n_permutations, random_state)[order]
            position = int(np.argmax(p_values > level))
            note = f" p = {p_values[position]:.3g} at level {level:g}."
        index = int(order[position])
        return Selection(
            index=index,
            parameter=float(self.parameters[index]),
            parameter_name=self.parameter_name,
            scores=read_only(scores),
            criterion=f"cv-{by}",
            rule=rule,
            dof="not used",
            noise="not used",
            message=f"{rule} of cross-validated {by} at parameter {self.parameters[index]:g} "
            f"(score {scores[index]:.4g}).{note}",
        )

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per model, in the order of ``parameters``."""
        parameters = parameter_column(self.parameters, self.parameter_name)
        measures = {name: getattr(self, name) for name in _COLUMNS}
        return data_frame({self.parameter_name: parameters, **measures})

    def row_losses(self) -> Array:
        """Return each row's share of the mean squared error, averaged over repeats. (rows, K).

        Rows that were never tested are left out; with groups there is one share per group.
        """
        losses: Array = _mean((self._kept_predictions() - self.y) ** 2).T
        tested = ~np.isnan(losses).all(axis=1)
        weights = np.ones(len(losses)) if self.sample_weight is None else self.sample_weight
        losses = losses[tested] * (weights[tested] / weights[tested].sum())[:, None]
        if self.groups is None:
            return losses
        _, member = np.unique(self.groups[tested], return_inverse=True)
        summed = np.zeros((int(member.max()) + 1, losses.shape[1]))
        np.add.at(summed, member, losses)
        return summed

    def __repr__(self) -> str:
        sizes = f"{len(self.parameters)} models", f"{len(self.folds)} folds"
        return one_line(self, *sizes, n=len(self.y), repeats=self._repeats())

    def _repeats(self) -> int:
        return self.folds[-1].repeat + 1

    def _standard_error(self, fold_values: Array) -> Array:
        counted = np.count_nonzero(~np.isnan(fold_values), axis=0)
        centred = fold_values - _mean(fold_values)
        spare = np.where(counted > 1, counted - 1.0, np.nan)
        # Errors are squares already, and their squares may leave the range of floats.
        unit = float(np.nanmax(np.abs(centred), initial=0.0)) or 1.0
        variance = np.nansum((centred / unit) ** 2, axis=0) / spare
        return np.asarray(unit * np.sqrt(variance * self._repeats() / np.maximum(counted, 1)))

    def _spread(self, by: str, best: int) -> Array:
        """Return standard errors over folds, simplest model first."""
        if by not in _FOLD_VALUES:
            raise NotAvailableError(
                f"A standard error over folds is not defined for by={by!r}; use by='error' with "
                "rule='one-standard-error', or another rule."
            )
        values = self._standard_error(getattr(self, _FOLD_VALUES[by]))[self.simplest_first]
        if np.isnan(values[best]):
            raise NotAvailableError(
                f"A standard error needs at least two folds in which {by} is defined; the best "
                "model has one. Use rule='minimum', or more folds."
            )
        return values

    def _p_values(
        self, by: str, best: int, level: float, n_permutations: int, random_state: Any
    ) -> Array:
        """Return the p-values of `plsdof.randomization.randomization_test`."""
        if by != "error":
            raise NotAvailableError(
                f"The randomization test compares squared errors, not {by}; use by='error'."
            )
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
            raise InvalidInputError(f"level must be a number between 0 and 1; got {level!r}.")
        return sign_flip_p_values(self.row_losses(), best, n_permutations, random_state)

    def _pooled(self, *, ranks: bool) -> Array:
        values = []
        for predictions in self._kept_predictions():
            rows = ~np.isnan(predictions).all(axis=0)
            weights = None if self.sample_weight is None else self.sample_weight[rows]
            values.append(correlations(predictions[:, rows], self.y[rows], weights, ranks=ranks))
        return _mean(np.array(values))

    def _kept_predictions(self) -> Array:
        if self.predictions is None:
            raise NotAvailableError(
                "Out-of-fold predictions were not kept; call cross_validate with "
                "keep_predictions=True."
            )
        return self.predictions


def sign_flip_p_values(losses: Array, best: int, n_permutations: int, random_state: Any) -> Array:
    """Test each column of (rows, K) losses against column ``best``, by random signs. (K,).

    The numbers behind `plsdof.randomization.randomization_test`. nan where losses are undefined.

    Examples
    --------
    >>> sign_flip_p_values(np.array([[3.0, 1.0]] * 20), 1, 99, 0)
    array([0.01, 1.  ])
    """
    flips, rng = as_count(n_permutations, "n_permutations", minimum=1), as_generator(random_state)
    if np.isnan(losses[:, best]).any():
        raise NotAvailableError(
            "The best model has no prediction (nan) for some of the rows, so others cannot be "
            "compared with it row by row; use rule='minimum'."
        )
    d = losses - losses[:, [best]]
    # Sums in another order differ by rounding, and so do models that are the same.
    observed = d.sum(axis=0) - _EQUAL_LOSSES * (losses + losses[:, [best]]).sum(axis=0)
    reached = np.ones(d.shape[1])
    at_once = max(1, _SIGNS_AT_ONCE // max(d.shape))
    for done in range(0, flips, at_once):
        signs = _random_signs(rng, min(at_once, flips - done), len(d))
        reached += np.count_nonzero(signs @ d >= observed, axis=0)
    return np.where(np.isnan(observed), np.nan, reached / (1.0 + flips))


def _random_signs(rng: np.random.Generator, n_patterns: int, n_rows: int) -> Array:
    signs = rng.random((n_patterns, n_rows))
    signs -= 0.5
    np.copysign(1.0, signs, out=signs)
    return signs


def _mean(values: Array) -> Array:
    """Average over the first axis what is defined; nan where nothing is."""
    defined = ~np.isnan(values)
    counted = defined.sum(axis=0)
    total = np.where(defined, values, 0.0).sum(axis=0)
    return np.asarray(total / np.where(counted > 0, counted, np.nan))


def _require_defined(scores: Array, by: str) -> None:
    if np.isnan(scores).all():
        advice = "" if by.startswith("pooled") else f" Use fewer folds, or by='pooled-{by}'."
        raise NotAvailableError(
            f"{by} is undefined for every model: a correlation needs at least two test rows per "
            f"fold, and predictions that vary.{advice if by != 'error' else ''}"
        )
