"""Regression paths: every model of one method on one data set, at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg

from plsdof._core import choice, criteria
from plsdof._core.choice import LEFT_OUT, Loss, Rule, Selection
from plsdof._core.criteria import (
    DOF_KINDS,
    NOISE_KINDS,
    DofKind,
    Fits,
    Noise,
    NoiseKind,
    as_variance,
    usual_noise,
)
from plsdof._core.display import as_html, data_frame, one_line, parameter_column, plural
from plsdof._core.exact import Exact, checked_rows
from plsdof._core.filters import PLSFilter
from plsdof._core.inputs import Array, as_choice, as_count, as_matrix, as_response, read_only
from plsdof._core.left_out import (
    PATIENCE,
    LeftOut,
    Problem,
    folds_of,
    hold_out,
)
from plsdof._core.model import Model
from plsdof._core.opls import OPLS, rotated
from plsdof._core.pictures import quick_look
from plsdof._core.recipe import Recipe
from plsdof._core.recursion import Run, Split
from plsdof._core.routes import is_accurate
from plsdof._core.standardize import Observations, Units
from plsdof._core.threads import cached_property
from plsdof._core.warnings import quietly, warn_caller
from plsdof.errors import InvalidInputError, NotAvailableError, RankExhaustedWarning

if TYPE_CHECKING:
    from pandas import DataFrame

Integers = npt.NDArray[np.intp]
# Coefficients from the recursion are kept if the fit is off by at most this share of y's spread.
_QUICK = 1e-10


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Path:
    """All models of one regression method; over components, from the simplest to the richest.

    Made by `pls_path`, `pcr_path`, `ridge_path` and others. Arrays over models have one row per
    model. ``path[m]`` is the model in row m as a `Model`: that with m components of a path over
    components, the m-th penalty of a ridge path.

    Nothing is computed before it is asked for. Rows left out, a choice and coefficients need no
    decomposition; Degrees of Freedom and all that follows from them are made once, by `exact`.

    Attributes
    ----------
    recipe : Recipe
        How the path was fitted: ``path.recipe.fit(X, y)`` fits the same to other rows.

    Examples
    --------
    >>> from plsdof import ridge_path
    >>> path = ridge_path([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0], alphas=[2.0, 1e-9])
    >>> isinstance(path, Path), path.coef.round(2)
    (True, array([[0.32],
           [0.64]]))
    """

    recipe: Recipe
    _make: Callable[[], Exact]
    _given: Observations | None = None
    _asked: int | None = None
    _quiet: bool = False  # made where nobody asked for a size: its end is not worth a warning
    _names: tuple[str, ...] | None = None

    # The closed form, made the first time it is needed
    # -------------------------------------------------

    @cached_property
    def exact(self) -> Exact:
        """Spectrum, filter and basis: what Degrees of Freedom and derivatives come from."""
        if self._given is not None:
            self._given.require_unchanged()
        with quietly():  # what there is to say was said when the data came in
            exact = self._make()
        if self._names is not None:
            exact = exact.with_names(self._names)
        text = end_in_words(exact.filter.message, len(exact.dof) - 1, self._asked)
        if text is not None and not self._quiet:
            warn_caller(text, RankExhaustedWarning)
        return exact

    @property
    def is_counted(self) -> bool:
        """Whether `exact` is there already."""
        return "exact" in self.__dict__

    def __getitem__(self, m: int) -> Model:
        """Return the model in row m; -1 is the last one."""
        if not isinstance(m, int | np.integer) or isinstance(m, bool):
            raise InvalidInputError(f"path[m] takes the row of a model; got {m!r:.60}.")
        index = int(m) if m >= 0 else len(self) + int(m)
        if index < 0 or (not self._has(index) and index >= len(self)):
            raise IndexError(
                f"The path has models 0..{len(self) - 1}; got {m}. {self.message}".rstrip()
            )
        return Model(path=self, index=index)

    def __len__(self) -> int:
        return len(self.exact.dof)

    def __iter__(self) -> Iterator[Model]:
        return (self[m] for m in range(len(self)))

    def _has(self, m: int) -> bool:
        """Whether model m is known to exist without counting."""
        return self._quick_run(m) is not None

    def _index(self, m: int) -> int:
        """Check a row of the path and return it."""
        row = as_count(m, "m")
        if row >= len(self):
            raise InvalidInputError(
                f"m must be in 0..{len(self) - 1}; got {m}. {self.message}".rstrip()
            )
        return row

    @property
    def parameters(self) -> Array:
        """What tells the models apart: numbers of components, or alphas. Shape (K,)."""
        return read_only(self.exact.filter.naive_dof - 1.0)

    @property
    def parameter_name(self) -> str:
        """What `parameters` holds: "n_components" or "alpha"."""
        return "n_components"

    @property
    def message(self) -> str:
        """Why the path is shorter than asked for; empty if it is not."""
        return self.exact.filter.message

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Column names of X, if it was a data frame."""
        if self._names is not None:
            return self._names
        return self.exact.units.names if self._given is None else self._given.names

    @property
    def dof(self) -> Array:
        """Degrees of Freedom, trace of d yhat / d y; exact and never clipped. Shape (K,)."""
        return self.exact.filter.dof

    @property
    def dof_error(self) -> Array:
        """Estimated absolute rounding error of `dof`. Shape (K,)."""
        return self.exact.filter.dof_error

    @property
    def dof_std_error(self) -> Array:
        """Standard error of `dof`: zero unless random probes estimated it. Shape (K,)."""
        return self.exact.filter.dof_std_error

    @property
    def naive_dof(self) -> Array:
        """Number of components + 1 (for ridge the same as `dof`). Shape (K,)."""
        return self.exact.filter.naive_dof

    @property
    def rss(self) -> Array:
        """Residual sums of squares. Shape (K,)."""
        return self.exact.rss

    @property
    def rss_error(self) -> Array:
        """Estimated absolute rounding error of `rss`. Shape (K,)."""
        return self.exact.filter.rss_error

    @property
    def coef(self) -> Array:
        """Coefficients in original units. Shape (K, p)."""
        return self.exact.coef

    @property
    def coef_error(self) -> Array:
        """Estimated relative error of `coef` (standardised predictors). Shape (K,).

        Infinite where coefficients may be nothing but rounding: y has nothing along the components.
        """
        return self.exact.coef_error

    @property
    def intercept(self) -> Array:
        """Intercepts. Shape (K,)."""
        return self.exact.intercept

    @property
    def fitted(self) -> Array:
        """Fitted values of the training rows with positive weight. Shape (K, n_rows)."""
        return self.exact.fitted

    def predict(self, X_new: Any) -> Array:
        """Predict new rows, dense or sparse, with every model. Shape (K, n_new)."""
        return self.exact.predict(self._rows_of(X_new))

    def jacobian(self, m: int) -> Array:
        """Return d yhat_m / d y; with sample weights w the mean adds 1w'/sum(w). Shape (n, n)."""
        return self.exact.jacobian(self._index(m))

    def leverage(self, m: int) -> Array:
        """Return the diagonal of `jacobian`, without forming it. Shape (n_rows,)."""
        return self.exact.leverage(self._index(m))

    def coef_jacobian(self, m: int) -> Array:
        """Return d beta_m / d y in original units. Shape (p, n)."""
        return self.exact.coef_jacobian(self._index(m))

    def coef_covariance(self, m: int, *, noise: Noise = None) -> Array:
        """Estimate the covariance of the coefficients, sigma^2 (d beta/dy)(d beta/dy)'. (p, p)."""
        return self[self._index(m)].coef_covariance(noise=noise)

    def coef_std_error(self, m: int, *, noise: Noise = None) -> Array:
        """Standard errors of the coefficients, without a p x p matrix. Shape (p,)."""
        return self[self._index(m)].coef_std_error(noise=noise)

    def refit(self, y: Any) -> Self:
        """Fit the same method to another response of the same rows, without decomposing X again.

        Zero-weight rows have no place in ``y``. Cost: O(n r + r M^2) time.
        """
        response = as_response(y, self.exact.units.n_rows).copy()
        given = None if self._given is None else replace(self._given, y=read_only(response))
        return replace(
            self, _make=partial(_refitted, self, read_only(response)), _given=given, _asked=None
        )

    # Rows left out
    # -------------

    def left_out(self, cv: Any = None, groups: Any = None) -> LeftOut:
        """Leave rows out: residuals of every model by fits without them, made once.

        Everything is done again without the rows: centring, scaling, components. The numbers are
        those of plain refits.

        Parameters
        ----------
        cv : int, "loo", splitter or pairs, optional
            Folds that leave out every row once, see `plsdof.selection.make_folds`. By default
            single rows if there are at most 30 of them, else every tenth row together.
        groups : (n,) array, optional
            Rows that belong together, such as replicates, and are left out together.

        Notes
        -----
        Cost: for PLS one recursion for all folds, 4 F n p operations per component for F folds,
        less for tall data; no decomposition. For principal components and ridge regression a fit
        per fold.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> from plsdof.datasets import load_ozone
        >>> pls_path(*load_ozone(return_X_y=True), 2).left_out("loo").rmse.round(3)
        array([8.21 , 4.87 , 4.646])
        """
        fold, count = self._folds(cv, groups)
        return self._leave_out(fold, count, through=None)

    def _folds(self, cv: Any, groups: Any) -> tuple[Integers, int | None]:
        """Return the fold of every row, and the number of groups if there are any."""
        return folds_of(self._require_rows(), cv, groups)

    def _leave_out(
        self, fold: Integers, count: int | None, *, through: int | None, patience: int | None = None
    ) -> LeftOut:
        """Return what leaving out these folds gives, from what is there if it is enough.

        Parameters
        ----------
        through : int or None
            The last model that is needed; None for all of the path.
        patience : int, optional
            Ends earlier after so many models without a smaller error.
        """
        key = fold.tobytes(), count is None
        known = self._known_left_out.get(key)
        if known is not None:
            enough = patience is not None and known.for_choice
            enough |= through is not None and through < len(known.left_out.rss)
            if known.complete or enough:
                return known.left_out
        found, complete = self._made_left_out(fold, count, through, patience)
        self._known_left_out[key] = _Known(
            left_out=found, complete=complete, for_choice=patience is not None
        )
        return found

    @cached_property
    def _known_left_out(self) -> dict[Any, "_Known"]:
        """What `_leave_out` has found."""
        return {}

    @cached_property
    def _runs(self) -> dict[str, Run]:
        """Recursions that have coefficients of the fit to all rows."""
        return {}

    def _made_left_out(
        self, fold: Integers, count: int | None, through: int | None, patience: int | None
    ) -> tuple[LeftOut, bool]:
        """Leave out folds; return also whether all models of the path are there."""
        given, problem, split = self._require_rows(), self._problem(), Split.of(fold)
        given.require_unchanged()
        found = partial(
            LeftOut,
            fold=fold,
            y=given.y,
            sample_weight=given.weights,
            groups=count,
            parameter_name=self.parameter_name,
        )
        if problem is not None:
            wanted = through if through is not None else self._most_components()
            held = hold_out(problem, split, wanted, patience=patience)
            if held.certain:
                self._remember(held.run)
                K = len(held.predictions)
                residuals = np.empty((K, len(given.y)))
                residuals[:, split.rows] = given.y[split.rows] - held.predictions
                made = found(
                    parameters=read_only(np.arange(K, dtype=np.float64)),
                    order=np.arange(K),
                    residuals=read_only(residuals),
                    rss=read_only(held.run.rss),
                    error=read_only(held.error),
                )
                return made, through is None and patience is None
        made = found(
            parameters=self.parameters,
            order=self._simplest_first(),
            residuals=read_only(self._refitted_residuals(split)),
            rss=self.rss,
            error=read_only(np.zeros(len(self))),
        )
        return made, True

    def _remember(self, run: Run) -> None:
        """Keep a recursion for the coefficients of the fit to all rows, if it is the longest."""
        known = self._runs.get("all")
        if known is None or len(run.rss) > len(known.rss):
            self._runs["all"] = run

    def _refitted_residuals(self, split: Split) -> Array:
        """Fit every fold by itself; one that has fewer models stands still. Shape (K, n_rows)."""
        y = self._response()
        residuals = np.empty((len(self), len(y)))
        for test in split.tests:
            kept = np.ones(len(y), dtype=bool)
            kept[test] = False
            if np.count_nonzero(kept) == 1:  # nothing but a mean
                predicted = np.broadcast_to(y[kept], (1, len(test)))
            else:
                with quietly():
                    predicted = self._predicted_without(np.flatnonzero(kept), test)
            last = np.minimum(np.arange(len(self)), len(predicted) - 1)
            residuals[:, test] = y[test] - predicted[last]
        return residuals

    def _problem(self) -> Problem | None:
        """Return the path as the recursion takes it; None if there is none for its method."""
        return None

    def _most_components(self) -> int:
        """Return how many components the recursion goes to."""
        asked = self.recipe.options.get("max_components")
        if self.is_counted:
            return len(self) - 1
        X = self._require_rows().X
        return min(len(X) - 1, X.shape[1]) if asked is None else int(asked)

    def _fit_rows(self, rows: Integers) -> "Path":
        """Fit the same method to some of the training rows."""
        given = self._require_rows()
        weights = None if given.weights is None else given.weights[rows]
        return self._same_models().fit(given.X[rows], given.y[rows], weights)

    def _same_models(self) -> Recipe:
        """Return the recipe with the sizes that this path has, where these depend on the rows."""
        return self.recipe

    def _predicted_without(self, train: Integers, test: Integers) -> Array:
        """Predict some training rows by a fit to others. Shape (K, t)."""
        return self._fit_rows(train).predict(self._require_rows().X[test])

    @property
    def _is_dual(self) -> bool:
        """Whether `coef` has one entry per training row instead of one per feature."""
        return False

    def _require_rows(self) -> Observations:
        if self._given is None:
            raise NotAvailableError(
                "This needs the rows of the data, and a path made from moments, blocks, sparse "
                "data or a file read piece by piece does not keep them. Fit arrays in memory."
            )
        return self._given

    def _response(self) -> Array:
        return self._require_rows().y

    # Choice
    # ------

    def select(
        self,
        criterion: str | None = None,
        dof: DofKind | None = None,
        noise: Noise = None,
        rule: Rule | None = None,
        *,
        groups: Any = None,
        cv: Any = None,
        loss: Loss = "squared",
    ) -> Selection:
        """Choose a model.

        By default that with the smallest error of rows left out (`left_out`), with a small price
        for complexity. ``select("bic", rule="paper")`` is the choice of the paper.

        Parameters
        ----------
        criterion : str, optional
            "left-out", the default where rows are at hand, or the name of an information
            criterion, see `criterion`; "gcv" is the default elsewhere.
        dof, noise
            Of an information criterion.
        rule : {"paper", "first-minimum", "global-minimum"}, optional
            Of an information criterion: the smallest score among the models before the first one
            with negative Degrees of Freedom (Kraemer & Sugiyama 2011, section 4; the default); the
            first score whose successor is not lower (R's plsdof); the smallest score of all.
        groups, cv
            Which rows are left out together, see `left_out`.
        loss : {"squared", "huber"}
            "huber" is for responses with outlying rows.

        Returns
        -------
        Selection

        Examples
        --------
        >>> from plsdof import pls_path
        >>> from plsdof.datasets import load_ozone
        >>> path = pls_path(*load_ozone(return_X_y=True))
        >>> path.select()
        Selection(n_components=..., criterion='left-out', rule='best-model', score=...)
        >>> path.select("bic", rule="first-minimum")
        Selection(n_components=2, criterion='bic', rule='first-minimum', score=23.8992)
        """
        if criterion is None:
            criterion = "gcv" if self._given is None else LEFT_OUT
        as_choice(criterion, "criterion", (LEFT_OUT, *criteria.CRITERIA))
        if criterion != LEFT_OUT:
            if groups is not None or cv is not None or loss != "squared":
                raise InvalidInputError(
                    f"groups, cv and loss belong to rows left out; {criterion!r} takes all rows as "
                    "independent. Use select(groups=...) without a criterion."
                )
            return self._select_by(criterion, dof, noise, rule)
        for name, value in {"dof": dof, "noise": noise, "rule": rule}.items():
            if value is not None:
                raise InvalidInputError(
                    f"{name} belongs to an information criterion, such as 'bic'; got "
                    f"{name}={value!r:.60} without one."
                )
        left = self._leave_out(*self._folds(cv, groups), through=None, patience=PATIENCE)
        return self._select_left_out(left, loss)

    def _select_left_out(self, left: LeftOut, loss: str) -> Selection:
        longer = self.parameter_name == "n_components" and self._could_be_longer(len(left.rss))
        return choice.select_left_out(left, loss, label=self._label, longer=longer)

    def _select_by(
        self, criterion: str, dof: DofKind | None, noise: Noise, rule: Rule | None
    ) -> Selection:
        dof = "exact" if dof is None else dof
        rule = "paper" if rule is None else rule
        scores, order, used = (
            self.criterion(criterion, dof, noise),
            self._simplest_first(),
            self._dof(dof),
        )
        position = choice.choose(scores[order], rule, used[order])
        index = int(order[position])
        remarks = choice.criterion_remarks(
            scores[order],
            self.dof[order],
            position,
            self.exact.spectrum.n,
            label=lambda place: self._label(int(order[place])),
            longer=self._could_be_longer(len(self)),
            penalties=self.parameter_name == "alpha",
        )
        return Selection(
            index=index,
            parameter=float(self.parameters[index]),
            parameter_name=self.parameter_name,
            scores=read_only(scores),
            criterion=criterion,
            rule=rule,
            summary=choice.choice_in_words(
                self._label(index), float(self.dof[index]), rule, criterion
            ),
            _remarks=remarks,
        )

    def average(self, *, groups: Any = None, cv: Any = None, loss: Loss = "squared") -> Model:
        """Average the models, with the weights that rows left out like best.

        The best point of the objective whose best single model `select` takes: non-negative
        weights that sum to one, with the smallest squared error of rows left out and a small price
        for complexity (jackknife model averaging, Hansen & Racine 2012).

        Parameters
        ----------
        groups, cv, loss
            As for `select`.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> from plsdof.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True)
        >>> average = pls_path(X, y).average()
        >>> average.predict(X[:2]).shape, float(average.weights.sum().round(6))
        ((2,), 1.0)
        """
        left = self._leave_out(*self._folds(cv, groups), through=None, patience=PATIENCE)
        return self._average_left_out(left, loss)

    def _average_left_out(self, left: LeftOut, loss: str) -> Model:
        weights, selection = choice.average_left_out(left, loss, label=self._label)
        return Model(path=self, index=selection.index, weights=weights, selection=selection)

    def noise_variance(self, kind: NoiseKind | None = None) -> Array:
        """Estimate the noise variance from every model. Shape (K,).

        Parameters
        ----------
        kind : {"left-out", "jacobian", "dof", "naive"}, optional
            (P / n) / (2 - sqrt(RSS / P)) with the sum P of squared errors of rows left out, the
            default where rows are at hand: it lies between the errors of fitted and left-out rows;
            RSS / (sum (1-f)^2 + n - 1 - r), the default elsewhere (eq. (sigmastar) of the paper);
            RSS / (n - DoF), eq. (sigma); or RSS / (n - m - 1). nan where the denominator is not
            positive.
        """
        if kind is None:
            kind = "jacobian" if self._given is None else LEFT_OUT
        as_choice(kind, "kind", NOISE_KINDS)
        if kind == LEFT_OUT:
            left = self.left_out()
            values = np.full(len(self), np.nan)
            known = left.noise_variance[: len(self)]
            values[: len(known)] = known
            # A model that no fold supports is that before it, as far as rows left out can tell.
            values[len(known) :] = known[-1] if len(known) else np.nan
            return values
        if kind == "jacobian":
            return criteria.noise_from_jacobian(self.rss, self.exact.filter.residual_trace)
        used = self.dof if kind == "dof" else self.naive_dof
        return criteria.noise_from_dof(self.rss, used, self.exact.spectrum.n)

    def criterion(
        self, name: str, dof: DofKind = "exact", noise: Noise = None, *, spent: float = 0.0
    ) -> Array:
        """Evaluate an information criterion for every model. Shape (K,).

        Parameters
        ----------
        name : str
            "gcv", "bic", "aic", "aicc", "gmdl", "cp" or "hqc"; see the notes.
        dof : {"exact", "naive", "clipped"}
            Degrees of Freedom by the derivative, or the number of components + 1; "clipped" limits
            the exact value to min(n - 1, p + 1), as the R package does.
        noise : {"jacobian", "dof", "naive", "left-out"} or float, optional
            Noise variance for aic, bic and cp. None means "jacobian" with exact and "naive" with
            naive Degrees of Freedom, evaluated at each model; for cp, which needs one value for
            all models, the variance left by least squares. A float is used as given.
        spent : float
            Degrees of Freedom that were spent before the fit, such as on a search of columns.

        Notes
        -----
        With D Degrees of Freedom, noise variance s^2, n' = n - 1, k = D - 1, S = RSS / (n' - k),
        F = (TSS - RSS) / (k S), and nan where a formula is not defined:

            aic    RSS/n + 2 D/n s^2
            bic    RSS/n + log(n) D/n s^2
            hqc    RSS/n + 2 log(log n) D/n s^2
            cp     RSS/s^2 - n + 2 D
            gcv    (RSS/n) / (1 - D/n)^2
            aicc   log(RSS/n) + 1 + 2 (D + 1) / (n - D - 2)
            gmdl   n'/2 log S + k/2 log F + log n'     if R^2 >= k/n', else
                   n'/2 log(TSS/n') + 1/2 log n'

        Examples
        --------
        >>> from plsdof import pls_path
        >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
        >>> path.criterion("bic").round(2)
        array([3.2 , 0.39])
        """
        as_choice(dof, "dof", DOF_KINDS)
        as_choice(name, "criterion", tuple(criteria.CRITERIA))
        fits = Fits(
            rss=self.rss,
            dof=self._dof(dof) + spent,
            noise=self._noise_for(name, dof, noise),
            n=self.exact.spectrum.n,
            total=self.exact.spectrum.total,
        )
        return criteria.score(name, fits)

    # What it looks like
    # ------------------

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with one row per model, in the order of the path.

        Columns: the parameter ("n_components" or "alpha"), dof, dof_std_error, naive_dof, rss,
        noise_std (the root of `noise_variance`), and all information criteria with their
        defaults; nan where one is not defined.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
        >>> path.to_frame()[["n_components", "dof", "rss"]]
           n_components  dof   rss
        0             0  1.0  8.75
        1             1  2.0  0.65
        """
        columns = {
            self.parameter_name: parameter_column(self.parameters, self.parameter_name),
            "dof": self.dof,
            "dof_std_error": self.dof_std_error,
            "naive_dof": self.naive_dof,
            "rss": self.rss,
            "noise_std": np.sqrt(self.noise_variance()),
        }
        return data_frame(columns | self._criteria_by_name())

    def _criteria_by_name(
        self, names: Sequence[str] = tuple(criteria.CRITERIA), noise: Noise = None
    ) -> dict[str, Array]:
        """Evaluate several criteria; all nan where one is not available (cp without a noise)."""
        return {name: self._score_or_nan(name, noise) for name in names}

    def plot(self, **options: Any) -> Any:
        """Draw Degrees of Freedom and errors of all models, `plsdof.plotting.quick_look`."""
        return quick_look(self, **options)

    def _repr_html_(self) -> str:
        """Return a table of the models."""
        order, name = self._simplest_first(), self.parameter_name
        columns = {
            name: parameter_column(self.parameters, name),
            "Degrees of Freedom": self.dof,
            "RSS": self.rss,
        }
        return as_html(
            repr(self),
            {label: values[order] for label, values in columns.items()},
            notes=[*filter(None, [self.message]), "X held fixed."],
        )

    def __repr__(self) -> str:
        if not self.is_counted and self._given is not None:
            return one_line(self, n=float(self._given.n), p=self._given.X.shape[1])
        exact = self.exact
        return one_line(
            self,
            f"{len(self)} models",
            n=float(exact.spectrum.n),
            p=len(exact.units.x_mean),
            rank=exact.spectrum.rank,
            solver=exact.decomposition.solver,
        )

    def _with_names(self, names: tuple[str, ...]) -> Self:
        """Return the same path with names for the columns of X, which new rows must have then."""
        return replace(self, _names=names, _make=partial(_exact_of, self))

    # What rooms that read a path need
    # --------------------------------

    def _simplest_first(self) -> Integers:
        """Return the rows of the path from the simplest model to the richest."""
        return np.arange(len(self))

    def _label(self, index: int) -> str:
        """Return what a row of the path is, in words."""
        return plural(index, "component")

    def _rows_of(self, X_new: Any, *, sparse: bool = True) -> Any:
        """Return new rows as the matrix that coefficients multiply, their columns checked."""
        return checked_rows(X_new, self._n_features, self.feature_names, sparse=sparse)

    @property
    def _n_features(self) -> int:
        return len(self.exact.units.x_mean) if self._given is None else self._given.X.shape[1]

    def _training_features(self) -> Array:
        """Return what `coef` multiplies, of the training rows. Shape (n_rows, p)."""
        return self._require_rows().X

    def _quick_run(self, m: int) -> Run | None:
        """Return a recursion with m components of the fit to all rows, None if not certain."""
        if self.is_counted or self._given is None:
            return None
        run = self._runs.get("all")
        if run is None or m >= len(run.rss):
            problem = self._problem()
            if problem is None:
                return None
            self._given.require_unchanged()
            run = self._runs["all"] = hold_out(problem, Split.given([]), m).run
        if m >= len(run.rss) or run.fit_error[m] > _QUICK * self._given.spread:
            return None
        return run

    def _quick_coef(self, m: int) -> tuple[Array, float] | None:
        """Return coefficients and intercept of one model without a decomposition, if certain."""
        run = self._quick_run(m)
        if run is None or not len(run.centre[0]):
            return None
        coef, (x_mean, y_mean) = run.coef(m), run.centre
        return coef, y_mean - float(x_mean @ coef)

    def _could_be_longer(self, models: int) -> bool:
        """Whether there are further models behind the last one, that were not asked for."""
        asked = self.recipe.options.get("max_components")
        if asked is None or models <= int(asked):
            return False
        if not self.is_counted and self._given is not None:
            n, p = self._given.X.shape
            return models - 1 < int(min(n - 1, p))
        return not self.message and models - 1 < self.exact.spectrum.rank

    def _score_or_nan(self, name: str, noise: Noise) -> Array:
        try:
            one_for_all = criteria.CRITERIA[name].noise == "common"
            return self.criterion(name, noise=None if one_for_all else noise)
        except NotAvailableError:
            return np.full(len(self), np.nan)

    def _dof(self, kind: str) -> Array:
        if kind == "naive":
            return self.naive_dof
        if kind == "exact":
            return self.dof
        # "clipped"
        limit = min(self.exact.spectrum.n - 1.0, self._n_features + 1.0)
        return np.minimum(self.dof, limit)

    def _noise_for(self, name: str, dof: str, noise: Noise) -> Array:
        one_for_all = criteria.CRITERIA[name].noise == "common"
        if one_for_all and noise is None:
            return np.full(len(self), self._least_squares_noise())
        noise = usual_noise(dof) if noise is None else noise
        if isinstance(noise, str):
            values = self.noise_variance(as_choice(noise, "noise", NOISE_KINDS))
            return np.full_like(values, values[-1]) if one_for_all else values
        return np.full(len(self), as_variance(noise))

    def _least_squares_noise(self) -> float:
        spectrum = self.exact.complete().spectrum
        spare = spectrum.residual_dimension
        if spare <= 0:
            raise NotAvailableError(
                "cp needs a noise variance that does not depend on the model; with as many "
                "directions in X as observations least squares leaves none. Give noise=<variance>."
            )
        return spectrum.outside / spare


@dataclass(frozen=True, kw_only=True, eq=False)
class _Known:
    """Rows left out: whether all models are there, or all that a choice looks at."""

    left_out: LeftOut
    complete: bool
    for_choice: bool


def end_in_words(message: str, size: int, asked: int | None) -> str | None:
    """Say that a path is empty, or shorter than asked for; None if it is neither."""
    if not message or (asked is None and size > 0):
        return None
    wanted = "No component" if asked is None else f"{asked} components asked for, {size}"
    return f"{wanted} supported: {message}"


def _refitted(path: Path, y: Array) -> Exact:
    """Fit another response on the same decomposition, or on a better one if it needs that."""
    exact, given, options = path.exact.refit(y), path._given, path.recipe.options
    rough = exact.decomposition.solver == "gram" and options.get("solver") == "auto"
    if not rough or given is None or is_accurate(exact, options.get("max_components")):
        return exact
    better = path.recipe.but(solver="svd")
    return better.fit(given.X, y, given.weights).exact


def _exact_of(path: Path) -> Exact:
    return path.exact


# The paths of the methods: PLS with its scores and loadings, principal components, ridge
# ---------------------------------------------------------------------------------------


def predictors_of(scores: Array, loadings: Array, units: Units) -> Array:
    """Return ``mean + scale * T P'`` for scores of the first components. Shape (n_new, p)."""
    size = scores.shape[1]
    if size > loadings.shape[1]:
        raise InvalidInputError(
            f"scores have {plural(size, 'column')}, but the path has "
            f"{plural(loadings.shape[1], 'component')}; "
            "give one column per component, as transform returns them."
        )
    scale = np.where(np.isfinite(units.x_scale), units.x_scale, 0.0)
    return np.asarray(scores @ (loadings[:, :size] * scale[:, None]).T + units.x_mean)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ComponentPath(Path):
    """A path over the number of components 0, 1, ..., M, with scores and loadings."""

    @property
    def x_scores(self) -> Array:
        """Orthogonal scores of the training rows. Shape (n_rows, M)."""
        raise NotImplementedError

    @property
    def x_loadings(self) -> Array:
        """What a unit of each score adds to the standardised predictors. Shape (p, M)."""
        raise NotImplementedError

    @property
    def x_rotations(self) -> Array:
        """Scores are standardised predictors times these. Shape (p, M)."""
        raise NotImplementedError

    @property
    def y_loadings(self) -> Array:
        """Coefficients of y on the scores. Shape (M,)."""
        raise NotImplementedError

    @property
    def n_components(self) -> Integers:
        """Numbers of components 0, 1, ..., M."""
        return np.arange(len(self))

    def transform(self, X_new: Any) -> Array:
        """Return the scores of new rows, dense or sparse, on all components. Shape (n_new, M)."""
        exact = self.exact
        rotations = self.x_rotations / exact.units.x_scale[:, None]
        return exact.centred_times(self._rows_of(X_new), rotations)

    def inverse_transform(self, scores: Any) -> Array:
        """Return the predictors that scores stand for, ``mean + scale * T P'``. (n_new, p).

        Scores of the first k components are enough; columns that do not vary get their mean.
        """
        return predictors_of(as_matrix(scores, "scores"), self.x_loadings, self.exact.units)

    def predict_components(self, X_new: Any, components: Sequence[int]) -> Array:
        """Predict new rows from some components alone, such as [2, 3]. Shape (n_new,).

            yhat = ybar + sum_j t_j q_j,      j in components (counted from 1)

        with scores t_j and y-loadings q_j. All of 1..m together are the model with m components.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> X = [[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]]
        >>> path = pls_path(X, [1.0, 2.0, 3.0, 5.0])
        >>> path.predict_components(X, [1]).round(2), path.predict_components(X, [2]).round(2)
        (array([1.2 , 1.63, 3.87, 4.3 ]), array([2.3 , 3.37, 2.13, 3.2 ]))
        """
        M = len(self) - 1
        numbers = [as_count(one, "components", minimum=1) for one in _listed(components)]
        if len(set(numbers)) < len(numbers) or max(numbers, default=0) > M:
            raise InvalidInputError(
                f"components must be different numbers in 1..{M}; got {components!r}. The first "
                "component is 1."
            )
        kept = np.array(numbers, dtype=np.intp) - 1
        q: Array = self.y_loadings
        return np.asarray(self.exact.units.y_mean + self.transform(X_new)[:, kept] @ q[kept])


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, Iterable) else [values]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PCRPath(ComponentPath):
    """Principal components regression for 0..M components, as `pcr_path` makes it.

    Examples
    --------
    >>> from plsdof import pcr_path
    >>> len(pcr_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0]))
    3
    """

    @property
    def directions(self) -> Integers:
        """Which eigenvalue of X'X belongs to which component, largest 0. Shape (M,)."""
        added = np.diff(self.exact.filter.factors, axis=0)
        return np.asarray(np.argmax(added, axis=1), dtype=np.intp)

    @cached_property
    def x_loadings(self) -> Array:
        """Principal directions V in standardised units, orthonormal columns. Shape (p, M).

        The largest entry of each is positive, as in scikit-learn's PCA.
        """
        return read_only(self.exact.decomposition.to_features(self._kept))

    @property
    def x_rotations(self) -> Array:
        """The same as `x_loadings`: scores are standardised X times V. Shape (p, M)."""
        return self.x_loadings

    @cached_property
    def x_scores(self) -> Array:
        """Principal component scores of the training rows, U S. Shape (n_rows, M)."""
        S = self.exact.decomposition.singular_values
        return read_only(self.exact.to_rows(self._kept * S[:, None]))

    @property
    def y_loadings(self) -> Array:
        """Coefficients of y on the scores, z / S. Shape (M,)."""
        exact = self.exact
        return read_only(self._kept.T @ (exact.spectrum.z / exact.decomposition.singular_values))

    @cached_property
    def _kept(self) -> Array:
        """Return the chosen directions, with their signs, in rotated coordinates. Shape (r, M)."""
        columns = np.zeros((len(self.exact.spectrum.z), len(self) - 1))
        columns[self.directions, np.arange(columns.shape[1])] = 1.0
        V = self.exact.decomposition.to_features(columns)
        largest = np.argmax(np.abs(V), axis=0)
        return columns * np.where(V[largest, np.arange(V.shape[1])] < 0, -1.0, 1.0)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PLSPath(ComponentPath):
    """Partial Least Squares for 0..M components, with scores, weights and loadings.

    Scores, weights, loadings and rotations follow scikit-learn's PLSRegression (signs aside).

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> path.dof.round(2), path.x_scores.shape, path.x_weights.shape
    (array([1.  , 2.15, 3.  ]), (4, 2), (2, 2))
    """

    @property
    def _filter(self) -> PLSFilter:
        found = self.exact.filter
        assert isinstance(found, PLSFilter)
        return found

    @cached_property
    def x_weights(self) -> Array:
        """Orthonormal weight vectors W in standardised units. Shape (p, M)."""
        return read_only(self.exact.decomposition.to_features(self._filter.weights))

    @cached_property
    def x_scores(self) -> Array:
        """Orthogonal scores of the training rows, ``X @ x_rotations``. Shape (n_rows, M)."""
        return read_only(self.exact.to_rows(self._filter.scores * self._filter.diagonal))

    @cached_property
    def x_loadings(self) -> Array:
        """Loadings P = X't / (t't), standardised units. Shape (p, M)."""
        S = self.exact.decomposition.singular_values[:, None]
        return read_only(
            self.exact.decomposition.to_features(S * self._filter.scores / self._filter.diagonal)
        )

    @cached_property
    def x_rotations(self) -> Array:
        """R = W (P'W)^{-1}: scores are standardised X times R. Shape (p, M)."""
        return read_only(self.exact.decomposition.to_features(self._rotated_rotations()))

    @cached_property
    def y_loadings(self) -> Array:
        """Coefficients of y on the scores. Shape (M,)."""
        return read_only(self._filter.loadings / self._filter.diagonal)

    def opls(self, m: int) -> OPLS:
        """Rotate m components: one that predicts, and m - 1 that are orthogonal to y.

        O-PLS (Trygg & Wold 2002, Journal of Chemometrics 16, 119-128) with m - 1 orthogonal
        components has the same fit, coefficients and Degrees of Freedom as PLS with m.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> from plsdof.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True)
        >>> path = pls_path(X, y, 4)
        >>> found = path.opls(3)
        >>> found, bool(found.dof == path.dof[3])
        (OPLS(1 + 2 components, p=12), True)
        >>> bool(np.allclose(found.predict(X), path.fitted[3]))
        True
        """
        return rotated(self, m)

    def _rotated_rotations(self) -> Array:
        # X W = T L, so T diag(L) = X (W L^{-1} diag(L)); L is upper bidiagonal.
        f = self._filter
        M = len(f.diagonal)
        if M == 0:
            return f.weights
        banded = np.zeros((2, M))
        banded[0] = f.diagonal
        banded[1, :-1] = f.superdiagonal[:-1]
        solved: Array = scipy.linalg.solve_banded((1, 0), banded, f.weights.T, check_finite=False)
        return solved.T * f.diagonal

    def _problem(self) -> Problem | None:
        if self._given is None:
            return None
        return Problem(given=self._given, scale=bool(self.recipe.options.get("scale", True)))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RidgePath(Path):
    """Ridge regression, one model per penalty in ``alphas``, as `ridge_path` makes it.

    Examples
    --------
    >>> from plsdof import ridge_path
    >>> path = ridge_path([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0], alphas=[2.0, 1e-9])
    >>> path.alphas, path.dof.round(2)
    (array([2.e+00, 1.e-09]), array([1.5, 2. ]))
    """

    @property
    def alphas(self) -> Array:
        """The penalties. Shape (K,)."""
        found = self.exact.filter.parameters
        assert found is not None
        return found

    @property
    def parameters(self) -> Array:
        """The penalties, in the order given."""
        return self.alphas

    @property
    def parameter_name(self) -> str:
        """Models differ in "alpha"."""
        return "alpha"

    def _same_models(self) -> Recipe:
        return self.recipe.but(alphas=self.alphas)

    def _simplest_first(self) -> Integers:
        return np.argsort(-self.alphas, kind="stable")

    def _label(self, index: int) -> str:
        return f"alpha = {self.alphas[index]:g}"
