"""Cross-validation of any path: rules of choice on held-out rows.

A path leaves the rows of every fold out (`plsdof._core.left_out`), which are standardised anew
without them. What was found is a held-out matrix like that of `Path.left_out`, for any folds:
they may be repeated, test some of the rows only, and be fitted to any others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from plsdof._core.choice import Selection as Selection
from plsdof._core.choice import global_minimum, one_standard_error, rule_in_words
from plsdof._core.display import model_in_words, one_line
from plsdof._core.fit import METHODS
from plsdof._core.folds import Fold, Integers, Split, group_codes
from plsdof._core.folds import make_folds as make_folds
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_draws,
    as_fraction,
    as_generator,
    read_only,
)
from plsdof._core.left_out import LeftOut as LeftOut
from plsdof._core.parallel import as_jobs
from plsdof._core.plugins import plugin_for
from plsdof._core.recipe import Recipe
from plsdof._core.standardize import CONSTANT_ULPS, as_observations
from plsdof._core.threads import cached_property
from plsdof._core.warnings import quietly
from plsdof.errors import InvalidInputError, NotAvailableError, RankExhaustedWarning

# What models can be compared by.
Measure = Literal["error", "pearson"]
Rule = Literal["minimum", "one-standard-error", "randomization"]
# Differences of two losses that are apart by less than this share of the losses are equal.
_EQUAL_LOSSES = 1e-10
# Random signs held in memory at once: 8 MB.
_SIGNS_AT_ONCE = 1_000_000


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CrossValidation(LeftOut):
    """Held-out rows of any folds, and choices by them; made by `cross_validate`.

    All that `LeftOut` has, for the rows tested: those of the first repeat, then of the next, each
    in the order of the data. If every row is tested once, they are the rows.

    Attributes
    ----------
    rows : (N,) array of int
        Which row of the data was tested.
    units : (N,) array of int
        What is independent: the rows, or their groups.
    folds : tuple of Fold
        Which rows were fitted and which predicted.
    message : str
        Why there are fewer models than asked for; empty if there are not.

    Examples
    --------
    >>> from plsdof import cross_validate
    >>> from plsdof.datasets import load_ozone
    >>> result = cross_validate(*load_ozone(return_X_y=True), max_components=2)
    >>> result.rmse.round(2), result.q2.round(2)
    (array([8.19, 4.84, 4.62]), array([-0.  ,  0.65,  0.68]))
    """

    rows: Integers
    units: Integers
    folds: tuple[Fold, ...]
    message: str = ""

    @property
    def predictions(self) -> Array:
        """Predictions of rows by fits without them; nan where not tested. (repeats, K, n)."""
        found = np.full((self.repeats, len(self.parameters), self.folds[0].n_rows), np.nan)
        repeat = np.array([fold.repeat for fold in self.folds])[self.fold]
        found[repeat, :, self.rows] = (self.y - self.residuals).T
        return read_only(found)

    @cached_property
    def fold_correlations(self) -> Array:
        """Pearson's correlation of prediction and response over the test rows. Shape (F, K).

        Zero where predictions do not vary, so always for the empty model; nan where responses do
        not, so always for leave-one-out.
        """
        # Without the offset of y, which would cost the predictions digits.
        y = self.y - np.average(self.y, weights=self.weights)
        predictions, rounding = y - self.residuals, CONSTANT_ULPS * float(np.abs(y).max())
        found = np.full((int(self.fold.max()) + 1, len(predictions)), np.nan)
        for f in range(len(found)):
            rows = np.flatnonzero((self.fold == f) & (self.weights > 0))
            if len(rows) < 2 or np.ptp(y[rows]) <= CONSTANT_ULPS * np.abs(self.y[rows]).max():
                continue
            weights = self.weights[rows] / self.weights[rows].sum()
            target = y[rows] - weights @ y[rows]
            moved = predictions[:, rows] - (predictions[:, rows] @ weights)[:, None]
            with np.errstate(invalid="ignore", divide="ignore"):
                # Two roots: the product of the sums may leave the range of floats.
                unit = moved / np.sqrt(moved**2 @ weights)[:, None]
                values = unit @ (weights * target) / np.sqrt(target**2 @ weights)
            # A prediction that is the same for all rows, such as the mean, has no correlation.
            varies = np.ptp(moved, axis=1) > rounding
            found[f] = np.where(varies, np.clip(values, -1.0, 1.0), 0.0)
        return read_only(found)

    @property
    def mean_correlation(self) -> Array:
        """Mean over the folds where it is defined of `fold_correlations`. Shape (K,)."""
        values = self.fold_correlations
        defined = np.count_nonzero(~np.isnan(values), axis=0)
        return np.asarray(np.nansum(values, axis=0) / np.where(defined > 0, defined, np.nan))

    def scores(self, by: Measure = "error") -> Array:
        """Return what `select` compares: an error to minimise or a correlation to maximise."""
        as_choice(by, "by", get_args(Measure))
        return self.mean_error if by == "error" else self.mean_correlation

    def select(
        self, by: Measure = "error", rule: Rule = "minimum", *, level: float = 0.1
    ) -> Selection:
        """Choose a model.

        Parameters
        ----------
        by : {"error", "pearson"}
            Smallest mean squared error, or largest mean over folds of Pearson's correlation.
        rule : {"minimum", "one-standard-error", "randomization"}
            The best model (the simplest among equals); the simplest one within one standard error
            of it (Breiman et al. 1984); or the simplest one that is not significantly worse
            (`p_values`).
        level : float
            Of the randomization test. Software differs in it, from 0.01 to 0.1; a smaller one
            gives smaller models.

        Returns
        -------
        Selection
            ``scores`` is ``self.scores(by)``.
        """
        scores, order = self.scores(by), self.order
        _require_defined(scores, by)
        loss = (scores if by == "error" else -scores)[order]
        note = ""
        if as_choice(rule, "rule", get_args(Rule)) == "minimum":
            position = global_minimum(loss)
        elif rule == "one-standard-error":
            position = one_standard_error(loss, self._spread(by))
        elif by != "error":
            raise NotAvailableError(
                f"The randomization test compares squared errors, not {by}; use by='error'."
            )
        else:
            p_values = self.p_values()[order]
            position = int(np.argmax(p_values > as_fraction(level, "level")))
            note = f" p = {p_values[position]:.3g} at level {level:g}."
        index = int(order[position])
        return Selection(
            index=index,
            parameter=float(self.parameters[index]),
            parameter_name=self.parameter_name,
            scores=read_only(scores),
            criterion=f"cv-{by}",
            rule=rule,
            _summary=f"{model_in_words(self.parameters[index], self.parameter_name)} "
            f"(score {scores[index]:.4g}): {rule_in_words(rule, f'cross-validated {by}')}.{note}",
        )

    def p_values(self, *, n_permutations: int = 999, rng: Any = 0) -> Array:
        """Test whether models predict worse than the best one, after van der Voet (1994). (K,).

        With d_i the difference of the squared out-of-fold residuals of a model and of the model
        with the smallest error, the statistic is mean(d). If both predict equally well the two
        residuals of a row could be exchanged, which turns the sign of d_i; the p-value is the share

            (1 + #{mean(s * d) >= mean(d)}) / (1 + n_permutations)

        over random signs s, one-sided, the data themselves counted in.

        Parameters
        ----------
        n_permutations : int
            Number of random sign patterns, shared by all models.
        rng : int or numpy Generator
            The default makes the test reproducible.

        Returns
        -------
        (K,) array
            1 for the best model, nan where a model has no prediction for some row. Repeats are
            averaged within rows first; rows of one group share a sign, since they are not
            independent; weights multiply d.

        Notes
        -----
        Cost: O(n K) per pattern, in blocks of at most 8 MB.

        References
        ----------
        H. van der Voet (1994), Comparing the predictive accuracy of models using a simple
        randomization test, Chemometrics and Intelligent Laboratory Systems 25, 313-323.

        Examples
        --------
        >>> from plsdof import cross_validate
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(40, 5))
        >>> y = X @ [1.0, 2.0, 0.0, -1.0, 0.0] + rng.normal(size=40)
        >>> cross_validate(X, y, max_components=2).p_values().round(3)
        array([0.001, 0.275, 1.   ])
        """
        best = self.select().index
        return read_only(sign_flip_p_values(self.row_losses(), best, n_permutations, rng))

    def row_losses(self) -> Array:
        """Return the share of each row, or group, in the mean squared error. Shape (units, K)."""
        _, unit = np.unique(self.units, return_inverse=True)
        losses = np.zeros((int(unit.max()) + 1, len(self.parameters)))
        np.add.at(losses, unit, (self.residuals**2 * self.weights).T / self.n)
        return losses

    def __repr__(self) -> str:
        sizes = f"{len(self.parameters)} models", f"{len(self.folds)} folds"
        return one_line(self, *sizes, n=self.folds[0].n_rows, repeats=self.repeats)

    def _spread(self, by: str) -> Array:
        """Return standard errors over folds, simplest model first."""
        values = self.std_error
        if by == "pearson":
            folds = self.fold_correlations
            defined = np.count_nonzero(~np.isnan(folds), axis=0)
            squares = np.nansum((folds - self.mean_correlation) ** 2, axis=0) * self.repeats
            with np.errstate(invalid="ignore", divide="ignore"):
                values = np.sqrt(squares / (defined * (defined - 1.0)))
        return np.asarray(values[self.order])


def sign_flip_p_values(losses: Array, best: int, n_permutations: int, rng: Any) -> Array:
    """Test each column of (rows, K) losses against column ``best``, by random signs. (K,).

    The numbers behind `CrossValidation.p_values`; nan where losses are undefined.

    Examples
    --------
    >>> sign_flip_p_values(np.array([[3.0, 1.0]] * 20), 1, 99, 0)
    array([0.01, 1.  ])
    """
    flips, rng = as_draws(n_permutations, "n_permutations", minimum=1), as_generator(rng)
    d = losses - losses[:, [best]]
    # Sums in another order differ by rounding, and so do models that are the same.
    observed = d.sum(axis=0) - _EQUAL_LOSSES * (losses + losses[:, [best]]).sum(axis=0)
    reached = np.ones(d.shape[1])
    at_once = max(1, _SIGNS_AT_ONCE // max(d.shape))
    for done in range(0, flips, at_once):
        signs = np.copysign(1.0, rng.random((min(at_once, flips - done), len(d))) - 0.5)
        reached += np.count_nonzero(signs @ d >= observed, axis=0)
    return np.where(np.isnan(observed), np.nan, reached / (1.0 + flips))


def _require_defined(scores: Array, by: str) -> None:
    if np.isnan(scores).all():
        advice = "" if by == "error" else " Use fewer folds, or by='error'."
        raise NotAvailableError(
            f"{by} is undefined for every model: a correlation needs at least two test rows per "
            f"fold, and predictions that vary.{advice}"
        )


# Cross-validation of any path: fits on the held-out rows
# ------------------------------------------------------


def cross_validate(
    X: Any,
    y: Any = None,
    path: Literal["pls", "pcr", "ridge"] | Recipe = "pls",
    cv: Any = 10,
    groups: Any = None,
    *,
    max_components: int | None = None,
    alphas: Any = None,
    scale: bool = True,
    sample_weight: Any = None,
    repeats: int = 1,
    rng: Any = None,
    n_jobs: int | None = None,
) -> CrossValidation:
    """Cross-validate all models of a path, with one fit per fold.

    The error of model k is sum_i w_i (y_i - yhat_ik)^2 / sum_i w_i, where i runs over all rows and
    yhat comes from a path fitted without the fold of row i, centring and scaling included.

    Parameters
    ----------
    X : (n, p) array or data frame
        Or any other container with rows that `pls_path` takes: sparse, on disk, in blocks.
    y : (n,) array
        Response; blocks have it already.
    path : {"pls", "pcr", "ridge"} or Recipe
        A recipe is that of a path (``path.recipe``), of any method and with any preparation.
    cv, groups, repeats, rng
        See `make_folds`. A number of folds without ``rng`` puts row i into
        fold i mod cv; with it the folds are random; ``groups`` keeps rows together; "loo" is
        leave-one-out; scikit-learn splitters and lists of (train, test) are taken as they are.
    max_components : int, optional
        For "pls" and "pcr"; by default all that every fold supports.
    alphas : array of float, optional
        For "ridge", on the scale of `ridge_path` and the same in each fold; by default those of
        all rows.
    scale : bool
        Scale the columns to unit variance inside each fold; a recipe has its own scaling.
    sample_weight : (n,) array, optional
        Used in the fits, in the errors and in the correlations.
    n_jobs : int, optional
        Number of processes (needs joblib) for folds that are fitted one by one; None or 1 for a
        plain loop.

    Returns
    -------
    CrossValidation
        Models that not all folds support are left out, and ``message`` says so.

    Notes
    -----
    Cost: one fit and O(K p t) for the predictions of t test rows, per fold. With "pls" all folds
    are fitted together, without a decomposition: O(F M n p) time for M components of F folds, or
    O(n p^2 + F M p^2) for tall data. Where that is not certain to 1e-6 of the cross-validated
    error, 1e-4 for models larger than the best one, folds are fitted one by one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 5))
    >>> y = X @ [1.0, 2.0, 0.0, -1.0, 0.0] + rng.normal(size=40)
    >>> result = cross_validate(X, y)
    >>> result.mean_error.round(2)
    array([8.5 , 1.78, 1.66, 1.67, 1.67, 1.67])
    >>> result.select().n_components
    2
    >>> result.select(rule="one-standard-error").n_components
    1
    """
    as_jobs(n_jobs)
    recipe = path if isinstance(path, Recipe) else _named(path, max_components, alphas, scale)
    plain = recipe.prepare is None and "kernel" not in recipe.options and plugin_for(X) is None
    with quietly(RankExhaustedWarning):
        if plain:  # the path is not handed out, so that no copy is needed
            X, y, sample_weight = as_observations(X, y, sample_weight), None, None
        fitted = recipe.fit(X, y, sample_weight)
        given = fitted.rows.require()
        kept = np.arange(given.n_given) if given.kept is None else np.flatnonzero(given.kept)
        response = np.zeros(given.n_given)
        response[kept] = given.y
        rows = given.X if given.in_memory and given.kept is None else response[:, None]
        folds = make_folds(rows, response, cv, groups, repeats=repeats, rng=rng)
        tests, trains = [fold.test for fold in folds], [fold.train_rows for fold in folds]
        if given.kept is not None:  # rows without weight are neither fitted nor tested
            place = np.cumsum(given.kept) - 1
            tests = [place[test[given.kept[test]]] for test in tests]
            trains = [None if one is None else place[one[given.kept[one]]] for one in trains]
        split = Split.given([np.sort(test) for test in tests], trains)
        smallest = min(fold.n_fitted for fold in folds)
        found = fitted.store.hold_out(
            split, min(fitted.store.most_components(), smallest - 1), n_jobs
        )
    # Models that all folds have.
    exhausted, asked = found["exhausted"], recipe.options.get("max_components")
    wanted = len(exhausted) if asked is None else asked + 1
    K = int(np.argmax(np.append(exhausted.any(axis=1), True)))
    last = int(np.argmax(exhausted[K])) if len(exhausted) > K else 0
    cut = {name: values[:K] for name, values in found.items()}
    cut["order"] = found["order"][found["order"] < K]
    why = (
        f"{wanted - K} of {wanted} models are left out because fold {last} supports {K} only. "
        "The data support no more components."
    )
    words = {"parameter_name": fitted.parameter_name, "message": why if wanted > K else ""}
    tests = [kept[test] for test in split.tests]
    weights = None
    if given.weights is not None:
        weights = np.zeros(given.n_given)
        weights[kept] = given.weights
    return _collected(folds, tests, response, weights, groups, cut | words)


def _collected(
    folds: tuple[Fold, ...],
    tests: Sequence[Integers],
    y: Array,
    weights: Array | None,
    groups: Any,
    found: dict[str, Any],
) -> CrossValidation:
    """Return what was found, fold after fold, as held-out rows in the order of the data."""
    rows = np.concatenate(tests)
    fold = np.repeat(np.arange(len(folds)), [len(test) for test in tests])
    order = np.lexsort((rows, np.array([one.repeat for one in folds])[fold]))
    rows, fold = rows[order], fold[order]
    codes = None if groups is None else group_codes(groups, len(y))
    by_row = {name: read_only(found[name][:, order]) for name in ("residuals", "leverage")}
    return CrossValidation(
        **found | by_row | {"order": _frozen(found["order"])},
        fold=_frozen(fold),
        y=read_only(y[rows]),
        sample_weight=None if weights is None else read_only(weights[rows]),
        groups=None if codes is None else int(codes.max()) + 1,
        repeats=folds[-1].repeat + 1,
        rows=_frozen(rows),
        units=_frozen(rows if codes is None else codes[rows]),
        folds=folds,
    )


def _named(path: Any, max_components: int | None, alphas: Any, scale: bool) -> Recipe:
    """Return the recipe of a method by its name."""
    if not isinstance(path, str) or path not in METHODS:
        words = ", ".join(map(repr, METHODS))
        raise InvalidInputError(
            f"path must be one of {words}, or a recipe such as path.recipe; got {path!r:.80}."
        )
    return METHODS[path].recipe(max_components=max_components, alphas=alphas, scale=scale)


def _frozen(integers: Integers) -> Integers:
    integers.flags.writeable = False
    return integers
