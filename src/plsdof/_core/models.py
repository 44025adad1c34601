"""All models of a path: how complex they are, how noisy the data, and which one to choose."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from plsdof._core import criteria
from plsdof._core.criteria import (
    DOF_KINDS,
    NOISE_KINDS,
    Fits,
    Noise,
    Selection,
    as_variance,
    noise_label,
    usual_noise,
)
from plsdof._core.display import as_html, data_frame, parameter_column, plural
from plsdof._core.filters import Filter
from plsdof._core.inputs import (
    Array,
    Units,
    as_choice,
    as_count,
    read_only,
    require_flag,
)
from plsdof._core.smoothing import (
    DRAWS,
    Smoothable,
    SmoothedDof,
    smoothed_dof,
    smoothed_dofs,
)
from plsdof._core.spectrum import Decomposition, Spectrum
from plsdof._core.work import cached_property
from plsdof.errors import InvalidInputError, NotAvailableError

if TYPE_CHECKING:
    from pandas import DataFrame

Integers = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Models:
    """All models of one regression method, from the simplest to the richest.

    Arrays over models have one row per model. `Path` adds coefficients and derivatives.

    Attributes
    ----------
    units : Units
        Means, scales and weights that lead back to the original units.
    decomposition : Decomposition
        Singular vectors of the standardised predictors.
    spectrum : Spectrum
        Eigenvalues and rotated response.
    filter : Filter
        Filter factors, Degrees of Freedom and their errors.
    make_filter : callable
        The method: from a spectrum to a filter.
    full : callable or None
        Makes the same path in a basis of all directions of X, if ``decomposition`` does not hold
        them all; see `complete`.
    response : (n_rows,) array or None
        y of the rows with positive weight, in original units; None where the rows were not kept.
    fit_again : callable or None
        ``fit_again(X, y)`` fits the same method, with the same options, to other rows.
    average_again : callable or None
        Of an average: ``average_again(y)`` averages the models for another response of the rows.
    """

    units: Units
    decomposition: Decomposition
    spectrum: Spectrum
    filter: Filter
    make_filter: Callable[[Spectrum], Filter]
    full: Callable[[], "Models"] | None = None
    response: Array | None = None
    fit_again: Callable[..., Any] | None = None
    average_again: Callable[[Any], "Models"] | None = None

    def complete(self) -> Self:
        """Return this path in a basis of all directions of X, in which Jacobians can be formed.

        Numbers that both have agree within their errors. Cost: one decomposition, the first time.
        """
        return self if self.full is None else self._complete

    def with_names(self, names: tuple[str, ...]) -> Self:
        """Return the same path with names for the columns of X, which new rows must have then."""
        full = None if self.full is None else partial(_named, self.full, names)
        return replace(self, units=replace(self.units, names=names), full=full)

    @cached_property
    def _complete(self) -> Self:
        assert self.full is not None
        path = self.full()
        assert isinstance(path, type(self))
        return replace(
            path,
            response=self.response,
            fit_again=self.fit_again,
            average_again=self.average_again,
        )

    @property
    def parameters(self) -> Array:
        """What tells the models apart: numbers of components, or alphas. Shape (K,)."""
        return read_only(self.filter.naive_dof - 1.0)

    @property
    def parameter_name(self) -> str:
        """What `parameters` holds: "n_components" or "alpha"."""
        return "n_components"

    @property
    def solver(self) -> str:
        """How X was decomposed: "svd" or "gram"."""
        return self.decomposition.solver

    @property
    def message(self) -> str:
        """Why the path is shorter than asked for; empty if it is not."""
        return self.filter.message

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Column names of X, if it was a data frame."""
        return self.units.names

    @property
    def dof(self) -> Array:
        """Degrees of Freedom, trace of d yhat / d y; exact and never clipped. Shape (K,)."""
        return self.filter.dof

    @property
    def dof_error(self) -> Array:
        """Estimated absolute rounding error of `dof`. Shape (K,)."""
        return self.filter.dof_error

    @property
    def dof_std_error(self) -> Array:
        """Standard error of `dof`: zero unless random probes estimated it. Shape (K,)."""
        return self.filter.dof_std_error

    @property
    def naive_dof(self) -> Array:
        """Number of components + 1 (for ridge the same as `dof`). Shape (K,)."""
        return self.filter.naive_dof

    @cached_property
    def rss(self) -> Array:
        """Residual sums of squares ``|phi * z|^2 + |y_perp|^2``. Shape (K,)."""
        return read_only(
            np.maximum(self.spectrum.rss(self.filter.factors, self.filter.residuals), 0.0)
        )

    @property
    def rss_error(self) -> Array:
        """Estimated absolute rounding error of `rss`. Shape (K,)."""
        return self.filter.rss_error

    @property
    def noise_error(self) -> Array:
        """Estimated absolute rounding error of `noise_variance`, kind "jacobian". Shape (K,)."""
        trace, rss = self.filter.residual_trace, self.rss
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = self.filter.residual_trace_error / trace
            return np.where(trace > 0, (self.rss_error + rss * relative) / trace, np.nan)

    def label(self, index: int) -> str:
        """Return what a row of the path is, in words."""
        return self.filter.label or plural(int(self.filter.naive_dof[index]) - 1, "component")

    def noise_variance(self, kind: str = "jacobian", *, dof: str = "exact") -> Array:
        """Estimate the noise variance from every model. Shape (K,).

        Parameters
        ----------
        kind : {"jacobian", "dof", "naive"}
            RSS / (sum (1-f)^2 + n - 1 - r), RSS / (n - DoF), or RSS / (n - m - 1); theory in the
            documentation of `criteria`. nan where the denominator is not positive.
        dof : {"exact", "smoothed", "clipped"}
            Degrees of Freedom for kind "dof".
        """
        as_choice(kind, "kind", NOISE_KINDS)
        as_choice(dof, "dof", ("exact", "smoothed", "clipped"))
        if kind == "jacobian":
            return criteria.noise_from_jacobian(self.rss, self.filter.residual_trace)
        values = self._dof(dof if kind == "dof" else "naive")
        return criteria.noise_from_dof(self.rss, values, self.spectrum.n)

    def noise_at(self, m: int, noise: Noise = None) -> float:
        """Return the noise variance of one model, by kind ("jacobian" by default) or as given."""
        if noise is None or isinstance(noise, str):
            return float(self.noise_variance(noise or "jacobian")[self.index(m)])
        return as_variance(noise)

    def criterion(
        self, name: str, dof: str = "exact", noise: Noise = None, *, spent: float = 0.0
    ) -> Array:
        """Evaluate an information criterion for every model. Shape (K,).

        Parameters
        ----------
        name : str
            "gcv", "bic", "aic", "aicc", "gmdl", "cp", "hqc" or "press";
            `plsdof.selection.criteria` has the formulas.
        dof : {"exact", "smoothed", "naive", "clipped"}
            Degrees of Freedom by the derivative, at the observed response or averaged over
            responses like it (`smoothed_dof`; beyond 0.9 n, where nothing is chosen, draws count
            as n), or the number of components + 1; "clipped" limits the exact value to
            min(n - 1, p + 1), as the R package does.
        noise : {"jacobian", "dof", "naive"} or float, optional
            Noise variance for aic, bic and cp. None means "jacobian" with exact and "naive" with
            naive Degrees of Freedom, evaluated at each model; for cp, which needs one value for
            all models, the variance left by least squares. A float is used as given.
        spent : float
            Degrees of Freedom that were spent before the fit, such as on a search of columns.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
        >>> path.criterion("bic").round(2)
        array([3.2 , 0.39])
        """
        as_choice(dof, "dof", DOF_KINDS)
        as_choice(name, "criterion", tuple(criteria.CRITERIA))
        values = self._noise_for(name, dof, noise)
        fits = Fits(
            rss=self.rss,
            dof=self._dof(dof) + spent,
            noise=values,
            n=self.spectrum.n,
            total=self.spectrum.total,
            press=self._press_for_choice() if name == "press" else None,
        )
        return criteria.score(name, fits)

    def _press_for_choice(self) -> Array | None:
        """Return sums of squared leave-one-out residuals, where rows are known. Shape (K,)."""
        return None

    def smoothed_dof(self, draws: int = DRAWS, random_state: int = 0) -> Array:
        r"""Return Degrees of Freedom averaged over responses drawn around a fit. Shape (K,).

            DoF_s(m) = mean over b = 0..B of DoF(m; y_b),     y_0 = y,     y_b = mu + s e_b,

        mu the average of all fits with weights GCV^(-n/2), s its noise level, single values
        clipped to [1, n]. `dof`, the trace of the derivative at the observed response, is unbiased
        but heavy-tailed; this is the better basis for a choice. For methods that are linear in y
        it is `dof` itself.

        Parameters
        ----------
        draws : int
            Number B of responses drawn; 5 give half of the gain, 20 nearly all of it.
        random_state : int
            Seed. The same data and seed give the same numbers.

        Notes
        -----
        Cost: O(B r M^2); X is not decomposed again.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> from plsdof.datasets import load_ozone
        >>> path = pls_path(*load_ozone(return_X_y=True), 4)
        >>> path.dof.round(1), path.smoothed_dof().round(1)
        (array([ 1. ,  3.7,  6.5, 11.6, 12.2]), array([ 1. ,  3.7,  6.6, 11.1, 11. ]))
        """
        return self._smoothed(draws, random_state, limited=False).value

    def smoothed_dof_std_error(self, draws: int = DRAWS, random_state: int = 0) -> Array:
        """Return the standard error of `smoothed_dof` as a mean over the draws. Shape (K,)."""
        return self._smoothed(draws, random_state, limited=False).std_error

    def weights(self, dof: str = "smoothed", *, by: str | None = None) -> Array:
        """Weigh models for their average. Shape (K,), sum 1.

        By default those weights of the models up to the one that `select` takes that minimise an
        estimate of the error of the average itself: every component of the chosen model is shrunk
        by what noise alone would have gained, see `plsdof.selection.criteria.mallows_weights`.
        A model with more than n / 2 Degrees of Freedom is left as it is.

        Parameters
        ----------
        dof : {"smoothed", "exact", "naive", "clipped"}
            Degrees of Freedom in the criteria.
        by : {"mallows", "gcv"}, optional
            "gcv": weigh every model by its own GCV^(-n/2), within the guard of `select`, see
            `plsdof.selection.criteria.model_weights`. This is the default for ridge regression,
            whose models are not nested.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> from plsdof.datasets import load_ozone
        >>> pls_path(*load_ozone(return_X_y=True), 4).weights().round(2)
        array([0.01, 0.1 , 0.17, 0.  , 0.72])
        """
        return self._weighed(dof, by)[0]

    def _weighed(self, dof: str, by: str | None) -> tuple[Array, int | None]:
        """Return weights, and the model whose noise variance is in them (none with "gcv")."""
        as_choice(dof, "dof", DOF_KINDS)
        by = self._weighing if by is None else as_choice(by, "by", criteria.WEIGHINGS)
        used, n = self._dof(dof), self.spectrum.n
        if by == "gcv":
            order = self.simplest_first()
            weights = np.zeros(len(self.dof))
            weights[order] = criteria.model_weights(self.rss[order], used[order], n)
            return read_only(weights), None
        if self._weighing == "gcv":
            raise NotAvailableError(
                'Weights by "mallows" are those of nested models, and these are not; use by="gcv".'
            )
        criteria.require_candidates(criteria.candidates(used, n), n)
        chosen = self.select(dof=dof).index
        return read_only(criteria.average_weights(self.rss, used, n, chosen)), chosen

    @property
    def _weighing(self) -> str:
        """How `weights` weighs models unless told otherwise."""
        return "mallows"

    def select(
        self,
        criterion: str = "gcv",
        dof: str | None = None,
        noise: Noise = None,
        rule: str | None = None,
        *,
        patience: int = criteria.PATIENCE,
        confirm: bool = True,
    ) -> Selection:
        """Choose a model by an information criterion.

        The default is generalised cross-validation with smoothed Degrees of Freedom and the rule
        "patient". ``select("bic", rule="first-minimum")`` is the choice of the paper.

        Parameters
        ----------
        criterion, noise
            As for `criterion`.
        dof : {"smoothed", "exact", "naive", "clipped"}, optional
            As for `criterion`; by default "exact" with the rule "first-minimum", as in the paper,
            and "smoothed" otherwise.
        rule : {"patient", "first-minimum", "global-minimum"}, optional
            Go from the simplest model to richer ones, keep the best score so far, and stop after
            ``patience`` models in a row without improvement, after one of them, or never. Ties
            are not an improvement. A model with less than 1 or more than 0.9 n Degrees of
            Freedom is not a candidate and ends the walk, with every rule. By default
            `default_rule`.
        patience : int
            Of the rule "patient".
        confirm : bool
            GCV is an approximation for few Degrees of Freedom. Where a patient walk of PLS looks at
            models with more than 0.15 n of them, rows left out (in 30 folds, or one by one; exact
            but for the scales of the columns) judge all models, unless the scores of the former are
            more than four times as large as the best. The model with the smallest error is taken
            instead if that is smaller by more than half a standard error of the difference. Not for
            other criteria and rules, other Degrees of Freedom than smoothed ones, more than 5,000
            rows, or rows that were not kept.

        Returns
        -------
        Selection

        Examples
        --------
        >>> from plsdof import pls_path
        >>> from plsdof.datasets import load_ozone
        >>> path = pls_path(*load_ozone(return_X_y=True))
        >>> path.select()
        Selection(n_components=..., criterion='gcv', rule='patient', score=...)
        >>> path.select("bic", rule="first-minimum")
        Selection(n_components=2, criterion='bic', rule='first-minimum', score=23.8992)
        """
        rule = self.default_rule if rule is None else rule
        patience = as_count(patience, "patience", minimum=1)
        require_flag(confirm, "confirm")
        dof = default_dof(rule) if dof is None else dof
        scores = self.criterion(criterion, dof, noise)
        order = self.simplest_first()
        allowed = np.empty(len(order), dtype=bool)
        allowed[order] = criteria.candidates(self._dof(dof)[order], self.spectrum.n)
        # Without any candidate (a path that starts near interpolation) the scores alone decide.
        eligible = np.where(allowed, scores, np.nan) if allowed.any() else scores
        index = int(order[criteria.choose(eligible[order], rule, patience)])
        instead = None
        if confirm and (criterion, dof, rule) == ("gcv", "smoothed", "patient"):
            index, instead = self._confirmed(index, scores, allowed, patience)
        remarks = self._remarks(index, scores, allowed, criterion)
        if instead is not None:
            rule = "left-out"
            # The scores have not decided, and do not say which models are as good.
            remarks = (self._why(instead), *self._remarks(index, scores, allowed, rule))
        if dof == "smoothed":
            remarks = (*remarks, *self._unsteady(index))
        words = self._words(index, criterion, rule)
        return Selection(
            index=index,
            parameter=float(self.parameters[index]),
            parameter_name=self.parameter_name,
            scores=read_only(scores),
            criterion=criterion,
            rule=rule,
            dof=dof,
            noise=noise_label(criterion, dof, noise),
            message=" ".join([words, *remarks]),
            remarks=remarks,
        )

    def _confirmed(
        self, index: int, scores: Array, allowed: npt.NDArray[np.bool_], patience: int
    ) -> tuple[int, int | None]:
        """Return the model to take, and the one that rows left out take it instead of, if any."""
        # Models that the walk has looked at and GCV is not to be trusted with.
        doubted = allowed & (self._dof("smoothed") > criteria.DOUBTED * self.spectrum.n)
        doubted[index + patience + 1 :] = False
        # GCV overstates their error, but not without limit.
        if not np.any(doubted & (scores <= criteria.RIVAL * scores[index])):
            return index, None
        squares = self._left_out_squares(int(allowed.sum()) - 1, patience)
        if squares is None:
            return index, None
        taken = criteria.confirmed(squares, index)
        return taken, None if taken == index else index

    def _left_out_squares(self, n_components: int, patience: int) -> Array | None:  # noqa: ARG002
        """Return squared errors of rows left out, of the first models; None if not known."""
        return None

    @property
    def default_rule(self) -> str:
        """How `select` chooses unless told otherwise."""
        return "patient"

    def criteria_by_name(
        self, names: Sequence[str] = criteria.INFORMATION_CRITERIA, noise: str = "jacobian"
    ) -> dict[str, Array]:
        """Evaluate several criteria; all nan where one is not available (cp without a noise)."""
        return {name: self._score_or_nan(name, noise) for name in names}

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
        return data_frame(columns | self.criteria_by_name())

    def _repr_html_(self) -> str:
        """Return a table of the models."""
        order, name = self.simplest_first(), self.parameter_name
        columns = {
            name: parameter_column(self.parameters, name),
            "Degrees of Freedom": self.dof,
            "RSS": self.rss,
            "noise std": np.sqrt(self.noise_variance()),
        }
        return as_html(
            repr(self),
            {label: values[order] for label, values in columns.items()},
            notes=[
                *filter(None, [self.message]),
                "X held fixed; the noise level counts what a model leaves out as noise.",
            ],
        )

    def simplest_first(self) -> Integers:
        """Return the rows of the path from the simplest model to the richest."""
        return np.arange(len(self.dof))

    def index(self, m: int) -> int:
        """Check a row of the path and return it."""
        return as_row(m, len(self.dof), self.message)

    def _words(self, index: int, criterion: str, rule: str) -> str:
        return criteria.choice_in_words(self.label(index), float(self.dof[index]), rule, criterion)

    def _why(self, instead: int) -> str:
        """Say why rows left out were followed."""
        return (
            f"GCV takes {self.label(instead)}, but is not reliable for models with many Degrees of "
            "Freedom; the error of rows left out is lower here by more than half a standard error."
        )

    def _remarks(
        self, index: int, scores: Array, allowed: npt.NDArray[np.bool_], criterion: str
    ) -> tuple[str, ...]:
        """Return one sentence about each thing that is unusual about a choice."""
        order = self.simplest_first()
        return tuple(
            criteria.remarks(
                scores=scores[order],
                allowed=allowed[order],
                chosen=int(np.flatnonzero(order == index)[0]),
                criterion=criterion,
                n=self.spectrum.n,
                dof=self.dof[order],
                label=lambda position: self.label(order[position]),
                longer=self._could_be_longer(),
            )
        )

    def _unsteady(self, index: int) -> tuple[str, ...]:
        """Say where the derivative at this response is not like that at similar ones."""
        n, usual = self.spectrum.n, self._dof("smoothed")[index]
        if usual > criteria.NEAR * n:  # then no estimate is reliable, and another remark says so
            return ()
        if not self.noise_variance()[index] < criteria.UNSTEADY * self.rss[index] / (n - usual):
            return ()
        return (
            "At this very response the fit changes with y much more than at similar ones "
            f"({self.dof[index]:.2f} Degrees of Freedom, {usual:.2f} on average over them): do not "
            "rely on its noise level and standard errors; take those of another model, and "
            "intervals by jackknife+.",
        )

    def _could_be_longer(self) -> bool:
        """Whether there are further models behind the last one, that were not asked for."""
        return (
            self.parameter_name == "n_components"
            and not self.message
            and len(self.dof) - 1 < self.spectrum.rank
        )

    def _smoothed(self, draws: int, random_state: int, *, limited: bool) -> SmoothedDof:
        return smoothed_dof(
            self.spectrum,
            self.filter,
            self.rss,
            draws=as_count(draws, "draws", minimum=1),
            random_state=random_state,
            limited=limited,
        )

    @cached_property
    def _dof_for_choice(self) -> Array:
        return self._smoothed(DRAWS, 0, limited=True).value

    @staticmethod
    def smooth_together(paths: "Sequence[Models]") -> None:
        """Compute the smoothed Degrees of Freedom of many paths at once, before they are used."""
        fits = [
            Smoothable(spectrum=path.spectrum, fitted=path.filter, rss=path.rss) for path in paths
        ]
        for path, found in zip(paths, smoothed_dofs(fits, limited=True), strict=True):
            path.__dict__["_dof_for_choice"] = found.value  # where the cached property keeps it

    def _score_or_nan(self, name: str, noise: str) -> Array:
        try:
            one_for_all = criteria.CRITERIA[name].noise == "common"
            return self.criterion(name, noise=None if one_for_all else noise)
        except NotAvailableError:
            return np.full(len(self.dof), np.nan)

    def _dof(self, kind: str) -> Array:
        if kind == "naive":
            return self.naive_dof
        if kind == "exact":
            return self.dof
        if kind == "smoothed":
            return self._dof_for_choice
        # "clipped"
        limit = min(self.spectrum.n - 1.0, len(self.units.x_mean) + 1.0)
        return np.minimum(self.dof, limit)

    def _noise_for(self, name: str, dof: str, noise: Noise) -> Array:
        one_for_all = criteria.CRITERIA[name].noise == "common"
        if one_for_all and noise is None:
            return np.full(len(self.rss), self._least_squares_noise())
        noise = usual_noise(dof) if noise is None else noise
        if isinstance(noise, str):
            as_choice(noise, "noise", NOISE_KINDS)
            values = self.noise_variance(noise, dof="exact" if dof == "naive" else dof)
            return np.full_like(values, values[-1]) if one_for_all else values
        return np.full(len(self.rss), as_variance(noise))

    def _least_squares_noise(self) -> float:
        spectrum = self.complete().spectrum
        spare = spectrum.residual_dimension
        if spare <= 0:
            raise NotAvailableError(
                "cp needs a noise variance that does not depend on the model; with as many "
                "directions in X as observations least squares leaves none. Give noise=<variance>."
            )
        return spectrum.outside / spare


def default_dof(rule: str | None) -> str:
    """Return the Degrees of Freedom that go with a rule: those of the paper with its rule."""
    return "exact" if isinstance(rule, str) and rule == "first-minimum" else "smoothed"


def _named(full: Callable[[], Models], names: tuple[str, ...]) -> Models:
    return full().with_names(names)


def as_row(m: int, size: int, message: str) -> int:
    """Return ``m`` if a path of this size has such a row; the message says why it has no more."""
    index = as_count(m, "m")
    if index >= size:
        raise InvalidInputError(f"m must be in 0..{size - 1}; got {m}. {message}".rstrip())
    return index
