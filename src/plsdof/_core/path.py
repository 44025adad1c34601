"""Regression paths: every model of one method on one data set, at once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from plsdof._core import choice, criteria
from plsdof._core.choice import LEFT_OUT, Rule, Selection
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
from plsdof._core.display import (
    NOT_YET,
    as_html,
    data_frame,
    one_line,
    parameter_column,
    plural,
)
from plsdof._core.dof_range import DofRange
from plsdof._core.exact import Exact, row_norms
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_count,
    as_response,
    read_only,
)
from plsdof._core.left_out import LeftOut, Leverage, Problem
from plsdof._core.model import Model, pooled
from plsdof._core.objective import Loss
from plsdof._core.plugins import quick_look
from plsdof._core.recipe import Preparation, Recipe
from plsdof._core.routes import is_accurate
from plsdof._core.rows import centred_times, squared_distances
from plsdof._core.standardize import Observations
from plsdof._core.store import Predicted, Store
from plsdof._core.threads import cached_property
from plsdof._core.training import TrainingRows
from plsdof._core.warnings import quietly, warn_caller
from plsdof.errors import InvalidInputError, NotAvailableError, RankExhaustedWarning

if TYPE_CHECKING:
    from pandas import DataFrame

Integers = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Path:
    """All models of one regression method; over components, from the simplest to the richest.

    Made by `pls_path`, `pcr_path`, `ridge_path` and others. Arrays over models have one row per
    model. ``path[m]`` is the model in row m as a `Model`: that with m components of a path over
    components, the m-th penalty of a ridge path.

    Nothing is computed before it is asked for. Held-out rows, a choice and coefficients need no
    decomposition; Degrees of Freedom and all that follows from them are made once, by `exact`.

    Attributes
    ----------
    recipe : Recipe
        How the path was fitted: ``path.recipe.fit(X, y)`` fits the same to other rows.
    given : Observations or None
        The rows it was fitted to, as they came; None where they were not kept.
    rows : TrainingRows
        The same rows, with what prepares them and new rows: coefficients, scores and loadings are
        those of prepared columns.

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
    given: Observations | None = None
    _before: Preparation | None = None
    _prepared: Observations | None = None
    _asked: int | None = None
    _quiet: bool = False  # made inside `quietly`, and counted later: it does not warn either
    _names: tuple[str, ...] | None = None
    _is_open: bool = False  # nobody asked for max_components: a choice may end before
    # How a criterion chooses. Degrees of Freedom that depend on y have heavy tails: one of many
    # models looks good by chance, most likely one behind the first minimum.
    _usual_rule: ClassVar[Rule] = "first-minimum"

    # The closed form, made the first time it is needed
    # -------------------------------------------------

    @cached_property
    def exact(self) -> Exact:
        """Spectrum, filter and basis: what Degrees of Freedom and derivatives come from."""
        if self.given is not None:
            self.given.require_unchanged()
        with quietly():  # what there is to say was said when the data came in
            exact = self._make()
        if self._names is not None:
            exact = exact.with_names(self._names)
        text = end_in_words(exact.filter.message, len(exact.dof) - 1, self._asked)
        if text is not None and not self._quiet:
            warn_caller(text, RankExhaustedWarning)
        return exact

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made again when it is needed, so that files hold no cycles."""
        return {name: value for name, value in self.__dict__.items() if name != "store"}

    @property
    def is_counted(self) -> bool:
        """Whether the closed form `exact`, with its Degrees of Freedom, has been made."""
        return "exact" in self.__dict__

    def __getitem__(self, m: int) -> Model:
        """Return the model in row m; -1 is the last one."""
        if not isinstance(m, int | np.integer) or isinstance(m, bool):
            raise InvalidInputError(f"path[m] takes the row of a model; got {m!r:.60}.")
        index = int(m) if m >= 0 else len(self) + int(m)
        if index < 0 or (not self.store.has(index) and index >= len(self)):
            raise IndexError(
                f"The path has models 0..{len(self) - 1}; got {m}. {self.message}".rstrip()
            )
        return Model(path=self, index=index)

    def __len__(self) -> int:
        return self.store.length()

    def __iter__(self) -> Iterator[Model]:
        return (self[m] for m in range(len(self)))

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
        return self.exact.units.names if self.given is None else self.given.names

    @property
    def dof(self) -> Array:
        """Degrees of Freedom, trace of d yhat / d y; exact and never clipped. Shape (K,)."""
        return self.exact.filter.dof

    @property
    def dof_error(self) -> Array:
        """Estimated absolute rounding error of `dof`. Shape (K,)."""
        return self.exact.filter.dof_error

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
        return self._linear[0]

    @property
    def coef_error(self) -> Array:
        """Estimated relative error of `coef` (standardised predictors). Shape (K,).

        Infinite where coefficients may be nothing but rounding: y has nothing along the components.
        """
        return self.exact.coef_error

    @property
    def intercept(self) -> Array:
        """Intercepts. Shape (K,)."""
        return self._linear[1]

    @cached_property
    def _linear(self) -> tuple[Array, Array]:
        """Coefficients and intercepts, by the recursion where the closed form lacks digits."""
        last = len(self) - 1
        run = None if self.rows.is_dual else self.store.run(last)
        if run is None:
            return self.exact.coef, self.exact.intercept
        coef, (x_mean, y_mean) = read_only(run.coefs()[: last + 1]), run.centre
        return coef, read_only(y_mean - coef @ x_mean)

    @property
    def fitted(self) -> Array:
        """Fitted values of the training rows with positive weight. Shape (K, n_rows)."""
        return self.exact.fitted

    def predict(self, X_new: Any) -> Array:
        """Predict new rows, dense or sparse, with every model. Shape (K, n_new)."""
        rows = self.rows.new(X_new)
        run = None if self.rows.is_dual else self.store.run(len(self) - 1)
        if run is None:
            return self.exact.predict(rows)
        x_mean, y_mean = run.centre
        return y_mean + centred_times(rows, x_mean, self.coef.T).T

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
        given = None if self.given is None else replace(self.given, y=read_only(response))
        return replace(
            self, _make=partial(_refitted, self, read_only(response)), given=given, _asked=None
        )

    def dof_range(self, m: int) -> DofRange:
        """Return the Degrees of Freedom of a model with their range, see `Model.dof_range`.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> from plsdof.datasets import load_ozone
        >>> pls_path(*load_ozone(return_X_y=True)).dof_range(2).is_wide
        False
        """
        return self[self._index(m)].dof_range()

    # Held-out rows
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
            Rows that belong together, such as replicates, and are held out together.

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
        return self.store.left_out(*self.store.folds(cv, groups), through=None)

    @cached_property
    def store(self) -> Store:
        """Results that need no closed form: held-out rows, and the recursion on all rows."""
        return Store(self)

    @property
    def rows(self) -> TrainingRows:
        """The training rows, and how new rows become like them."""
        return TrainingRows(self, self._before, self._prepared)

    def problem(self) -> Problem | None:
        """Return the path as the recursion takes it; None if there is none for its method."""
        return None

    def at(self, X_new: Any, through: int | None = None) -> Predicted:
        """Predict new rows with leverages and rounding errors; count only if needed.

        Parameters
        ----------
        X_new : (n_new, p) array, data frame or sparse matrix
        through : int, optional
            The last model that is needed.
        """
        rows: Any = self.rows.new(X_new)
        most = self.store.most_components()
        run = None
        if not self.rows.is_dual:
            run = self.store.run(most if through is None else min(through, most))
        if run is None:
            return self._counted_at(rows)
        (x_mean, y_mean), n = run.centre, self.rows.require().n
        R = run.rotations(len(run.loadings))
        T = centred_times(rows, x_mean, R.T)
        away = squared_distances(rows, x_mean, run.metric)
        values, leverage = np.empty((2, len(R) + 1, len(T)))
        values[0], leverage[0] = y_mean, 1.0 / n
        np.multiply(run.loadings[:, -1:], T.T, out=values[1:])
        np.square(T.T, out=leverage[1:])
        for sums in (values, leverage):
            np.cumsum(sums, axis=0, out=sums)
        error = run.fit_error[:, None] * np.sqrt(n * (leverage + away))
        return Predicted(values=values, leverage=leverage, error=error)

    def _counted_at(self, rows: Any) -> Predicted:
        """Return the same from the closed form."""
        exact = self.exact
        units = exact.units
        sizes = np.sqrt(squared_distances(rows, units.x_mean, np.reciprocal(units.x_scale**2)))
        unit = exact.coef_error * row_norms(exact.standardized_coef)
        unit[~(row_norms(exact.standardized_coef) > 0)] = 0.0
        return Predicted(
            values=exact.predict(rows),
            leverage=self.leverage_of().at(rows).T,
            error=unit[:, None] * sizes,
        )

    def leverage_of(self, weights: Array | None = None) -> Leverage:
        """Return what the leverages of new rows come from: of all models, or of an average."""
        raise NotImplementedError

    def response(self) -> Array:
        """Return y of the training rows. Shape (n_rows,)."""
        return self.rows.require().y

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

        By default that with the smallest cross-validated error (`left_out`), with a small price
        for complexity. ``select("bic", rule="paper")`` is the choice of the paper.

        Parameters
        ----------
        criterion : str, optional
            "left-out", the default where rows are at hand, or the name of an information
            criterion, see `criterion`; "gcv" is the default elsewhere.
        dof, noise
            Of an information criterion.
        rule : {"first-minimum", "paper", "global-minimum"}, optional
            Of an information criterion: the first score whose successor is not lower (R's plsdof;
            the default of Partial Least Squares); the smallest score among the models before the
            first one with negative Degrees of Freedom (Kraemer & Sugiyama 2011, section 4); the
            smallest score of all (the default of principal components and ridge regression).
        groups, cv
            Which rows are held out together, see `left_out`.
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
        >>> path.select("bic")
        Selection(n_components=2, criterion='bic', rule='first-minimum', score=23.8992)
        """
        if criterion is None and self.given is None:
            if groups is not None or cv is not None or loss != "squared":
                self.rows.require()
            found = self._select_by("gcv", dof, noise, rule)
            return replace(found, _remarks=(choice.remark("no-rows"), *found.remarks))
        criterion = LEFT_OUT if criterion is None else criterion
        as_choice(criterion, "criterion", (LEFT_OUT, *criteria.CRITERIA))
        if criterion != LEFT_OUT:
            if groups is not None or cv is not None or loss != "squared":
                raise InvalidInputError(
                    f"groups, cv and loss belong to held-out rows; {criterion!r} takes all rows as "
                    "independent. Use select(groups=...) without a criterion."
                )
            return self._select_by(criterion, dof, noise, rule)
        for name, value in {"dof": dof, "noise": noise, "rule": rule}.items():
            if value is not None:
                raise InvalidInputError(
                    f"{name} belongs to an information criterion, such as 'bic'; got "
                    f"{name}={value!r:.60} without one."
                )
        selection = pooled({"": self}, average=False, cv=cv, groups=groups, loss=loss).selection
        assert selection is not None
        return selection

    def _select_by(
        self, criterion: str, dof: DofKind | None, noise: Noise, rule: Rule | None
    ) -> Selection:
        dof = "exact" if dof is None else dof
        rule = self._usual_rule if rule is None else rule
        scores, order, used = (
            self.criterion(criterion, dof, noise),
            self.simplest_first(),
            self._dof(dof),
        )
        position = choice.choose(scores[order], rule, used[order])
        index = int(order[position])
        remarks = choice.criterion_remarks(
            scores[order],
            self.dof[order],
            position,
            self.exact.spectrum.n,
            label=lambda place: self.label(int(order[place])),
            longer=choice.is_longer(self, self.parameter_name, len(self)),
            penalties=self.parameter_name == "alpha",
        )
        return Selection(
            index=index,
            parameter=float(self.parameters[index]),
            parameter_name=self.parameter_name,
            scores=read_only(scores),
            criterion=criterion,
            rule=rule,
            _summary=choice.choice_in_words(
                self.label(index), float(self.dof[index]), rule, criterion
            ),
            _remarks=remarks,
        )

    def average(self, *, groups: Any = None, cv: Any = None, loss: Loss = "squared") -> Model:
        """Average the models, with weights minimising the cross-validated error.

        The best point of the objective whose best single model `select` takes: non-negative
        weights that sum to one, with the smallest squared cross-validated error and a small price
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
        return pooled({"": self}, average=True, cv=cv, groups=groups, loss=loss)

    def noise_variance(self, kind: NoiseKind | None = None) -> Array:
        """Estimate the noise variance from every model. Shape (K,).

        Parameters
        ----------
        kind : {"left-out", "jacobian", "dof", "naive"}, optional
            (P / n) / (2 - sqrt(RSS / P)) with the sum P of squared cross-validated errors, the
            default where rows are at hand: it lies between the errors of fitted and held-out rows;
            RSS / (sum (1-f)^2 + n - 1 - r), the default elsewhere (eq. (sigmastar) of the paper);
            RSS / (n - DoF), eq. (sigma); or RSS / (n - m - 1). nan where the denominator is not
            positive.
        """
        if kind is None:
            kind = "jacobian" if self.given is None else LEFT_OUT
        as_choice(kind, "kind", NOISE_KINDS)
        if kind == LEFT_OUT:
            left = self.left_out()
            values = np.full(len(self), np.nan)
            known = left.noise_variance[: len(self)]
            values[: len(known)] = known
            # A model that no fold supports is that before it, as far as held-out rows can tell.
            values[len(known) :] = known[-1] if len(known) else np.nan
            return values
        return criteria.counted_noise(self.exact, kind)

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

        Columns: the parameter ("n_components" or "alpha"), dof, naive_dof, rss,
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
            "naive_dof": self.naive_dof,
            "rss": self.rss,
            "noise_std": np.sqrt(self.noise_variance()),
        }
        return data_frame(columns | criteria_of(self))

    def plot(self, **options: Any) -> Any:
        """Draw Degrees of Freedom and errors of all models, `plsdof.plotting.quick_look`."""
        return quick_look(self, **options)

    def _repr_html_(self) -> str:
        """Return a table of the models, if they were counted: showing computes nothing."""
        if not self.is_counted and self.given is not None:
            return as_html(repr(self), {}, notes=[NOT_YET])
        order, name = self.simplest_first(), self.parameter_name
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
        if not self.is_counted and self.given is not None:
            return one_line(self, n=float(self.given.n), p=self.given.X.shape[1])
        exact = self.exact
        return one_line(
            self,
            f"{len(self)} models",
            n=float(exact.spectrum.n),
            p=len(exact.units.x_mean),
            rank=exact.spectrum.rank,
            solver=exact.decomposition.solver,
        )

    # What other packages need of a path
    # ----------------------------------

    def simplest_first(self) -> Integers:
        """Return the rows of the path from the simplest model to the richest."""
        return np.arange(len(self))

    def label(self, index: int) -> str:
        """Return what a row of the path is, in words."""
        return plural(index, "component")

    def _dof(self, kind: str) -> Array:
        if kind == "naive":
            return self.naive_dof
        if kind == "exact":
            return self.dof
        # "clipped"
        limit = min(self.exact.spectrum.n - 1.0, self.rows.n_features + 1.0)
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


def criteria_of(
    path: Path, names: Sequence[str] = tuple(criteria.CRITERIA), noise: Noise = None
) -> dict[str, Array]:
    """Evaluate several criteria; all nan where one is not available (cp without a variance)."""
    found = {}
    for name in names:
        one_for_all = criteria.CRITERIA[name].noise == "common"
        try:
            found[name] = path.criterion(name, noise=None if one_for_all else noise)
        except NotAvailableError:
            found[name] = np.full(len(path), np.nan)
    return found


def end_in_words(message: str, size: int, asked: int | None) -> str | None:
    """Say that a path is empty, or shorter than asked for; None if it is neither."""
    if not message or (asked is None and size > 0):
        return None
    wanted = "No component" if asked is None else f"{asked} components asked for, {size}"
    return f"{wanted} supported: {message}"


def _refitted(path: Path, y: Array) -> Exact:
    """Fit another response on the same decomposition, or on a better one if it needs that."""
    exact, given, options = path.exact.refit(y), path.given, path.recipe.options
    rough = exact.decomposition.solver == "gram" and options.get("solver") == "auto"
    if (
        not rough
        or given is None
        or not given.in_memory
        or is_accurate(exact, options.get("max_components"), derivatives=True)
    ):
        return exact
    better = path.recipe.with_options(solver="svd")
    return better.fit(given.X, y, given.weights).exact
