"""One Request and the data it is asked of become one Analysis: what there is to say about a fit.

`analysed` fits, leaves rows out, chooses, and adds what was asked for. Every number is computed
once, and only what is asked for. The terminal, JSON, the workbook, the report and an app
show an `Analysis`; none of them computes.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np

from plsdof._core.axes import decided, kind_of_columns
from plsdof._core.choice import (
    LEFT_OUT,
    Selection,
    choice_in_words,
    one_standard_error,
    rule_in_words,
)
from plsdof._core.criteria import NoiseKind, criterion_label
from plsdof._core.display import one_line, significant
from plsdof._core.dof_range import DofRange
from plsdof._core.fit import METHODS
from plsdof._core.inputs import Array, read_only
from plsdof._core.left_out import LeftOut
from plsdof._core.model import Mixture, Model, as_model, chosen_from, pooled
from plsdof._core.path import Path
from plsdof._core.paths import PLSPath
from plsdof._core.remarks import Remark
from plsdof._core.standardize import as_observations
from plsdof._core.threads import cached_property
from plsdof._core.warnings import quietly
from plsdof.chemometrics.merit import FiguresOfMerit, figures_of_fit, figures_of_merit
from plsdof.chemometrics.preprocessing import preprocessed
from plsdof.chemometrics.unusual import OutlierTable, outliers
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.estimators.recipes import as_recipe, fit_recipes, recipe_texts
from plsdof.inference.intervals import (
    CoefficientInference,
    Interval,
    coefficient_inference,
    noise_interval,
)
from plsdof.inference.resampling import PermutationTest, permutation_test
from plsdof.inference.summary import jackknife_beside
from plsdof.workbench.analysis import remarks as words
from plsdof.workbench.analysis.data import Numbers, TableProblem, TestSet
from plsdof.workbench.analysis.request import AUTO, AVERAGE, Request
from plsdof.workbench.analysis.result import in_text
from plsdof.workbench.analysis.search import SEARCHED_COMPONENTS, SearchCost, searched

# Rows and columns from which on intervals of coefficients take longer than the fit.
_LARGE = 1000
# A recipe is clearly better if its errors are smaller by so many standard errors of the difference.
_CLEARLY = 2.0


# What there is to say
# --------------------


Found = TypeVar("Found")


def _if_defined(make: Callable[..., Found], *given: Any, **options: Any) -> Found | None:
    """Return what there is to say, None where the data leave it undefined."""
    with quietly(), contextlib.suppress(NotAvailableError):
        return make(*given, **options)
    return None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class About:
    """What there is to say about one model of a path, computed when somebody asks.

    Attributes
    ----------
    request : Request
    data : TableProblem
    model : Model
    left_out : LeftOut or None
        Cross-validated errors, of all models; None of a streamed table without them.
    search : SearchCost or None
    thorough : bool
        Look at rows and noise level even if the table is large.
    """

    request: Request
    data: TableProblem
    model: Model
    left_out: LeftOut | None
    search: SearchCost | None = None
    thorough: bool = True

    def __repr__(self) -> str:
        return one_line(self, self.model.label, response=self.data.response)

    @cached_property
    def leading(self) -> Model:
        """The model with coefficients, scores and distances: of an average over recipes a part.

        That is the average of the models of the recipe with most weight.
        """
        model = self.model
        if not isinstance(model, Mixture):
            return model
        return replace(model.members[int(np.argmax(model.shares))], path=model.path)

    @property
    def noise_kind(self) -> NoiseKind:
        """How the noise level is estimated: by cross-validation, if there are any."""
        return "jacobian" if self.left_out is None else LEFT_OUT

    @cached_property
    def test(self) -> TestSet | None:
        """The rows of the test with their predictions; None without a test."""
        rows, chain, request = self.data.test, self.data.preprocessing, self.request
        if rows is None:
            return None
        X = rows.X if chain is None else rows.preprocessed(chain, fit=False)
        values = read_only(np.ascontiguousarray(np.asarray(X, dtype=np.float64)))
        how: Any = {"level": request.level, "method": request.intervals}
        return TestSet(rows=rows, X=values, model=self.model, **how)

    @cached_property
    def merit(self) -> dict[str, FiguresOfMerit]:
        """Figures of merit by their rows: "calibration", "cross-validation", "test"."""
        y, model = self.data.y, self.model
        if self.data.is_streamed:
            found = {"calibration": figures_of_fit(model, y)}
        else:
            found = {"calibration": figures_of_merit(y, model.fitted)}
        if self.search is not None:
            found["cross-validation"] = figures_of_merit(y, y - self.search.residuals)
        elif self.left_out is not None:
            found["cross-validation"] = figures_of_merit(y, y - model.left_out_residuals)
        if self.test is not None:
            found["test"] = self.test.merit
        return found

    @property
    def _skipped(self) -> Remark | None:
        """Why no intervals of coefficients are tried: they take too much memory, or too long."""
        data, wanted = self.data, self.request.std_errors
        if data.is_streamed and not data.has_intervals:
            return words.said("intervals-memory", p=data.shape[1])
        if wanted is None:
            wanted = data.is_streamed or min(data.shape) <= _LARGE
        if wanted:
            return None
        return words.said("no-std-errors" if self.request.std_errors is None else "as-asked")

    @cached_property
    def inference(self) -> CoefficientInference | None:
        """Intervals of the coefficients; None where there are none, see `no_inference`."""
        if self._skipped is not None:
            return None
        options: Any = {"level": self.request.level, "covariance": self.request.covariance}
        return _if_defined(coefficient_inference, self.leading, noise=self.noise_kind, **options)

    @property
    def no_inference(self) -> Remark | None:
        """Why there is no inference: where the data leave no noise level, or it takes long."""
        if self._skipped is not None or self.inference is not None:
            return self._skipped
        n = float(self.model.path.exact.n)
        return words.said("no-intervals", dof=self.model.dof, n=n)

    @property
    def _hasty(self) -> bool:
        """Whether what takes longer than the fit is left out."""
        reason = self._skipped
        return not self.thorough and reason is not None and reason.key == "no-std-errors"

    @cached_property
    def sigma(self) -> Interval | None:
        """Interval of the noise variance, None where it is not defined."""
        if self._hasty:
            return None
        return _if_defined(noise_interval, self.model, level=self.request.level)

    @cached_property
    def unusual(self) -> OutlierTable | None:
        """How far rows are from the model; None for methods without scores."""
        if self._hasty or self.data.is_streamed or not has_scores(self.model.path):
            return None
        # The limits are those that new rows are judged by.
        how: Any = {"level": self.request.level, "limit": "cross-validated"}
        return _if_defined(outliers, self.leading, **how)

    @cached_property
    def test_unusual(self) -> OutlierTable | None:
        """How far the rows of the test are from the model, by the same limits."""
        test, level = self.test, self.request.level
        if test is None or not has_scores(self.model.path):
            return None
        return _if_defined(outliers, self.leading, test.X, test.rows.y, level=level)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Analysis(About):
    """Everything there is to say about one fit, and about the model chosen.

    Attributes
    ----------
    request, data, model, left_out, search, thorough
        See `About`; the model is the one chosen, or the average of models.
    selection : Selection
        How it was chosen.
    permutation : PermutationTest or None
    added : tuple of Remark
        What others found worth knowing.
    created : str
        When (UTC, ISO 8601).

    Examples
    --------
    >>> from plsdof.datasets import load_gasoline
    >>> data = TableProblem.of(*load_gasoline(return_X_y=True, as_frame=True))
    >>> found = analysed(data, Request(cv=10))
    >>> found.model.label, found.recipe["scaling"]
    ('5 components', 'centred and scaled to unit variance (by default)')
    """

    selection: Selection
    permutation: PermutationTest | None = None
    added: tuple[Remark, ...] = ()
    thorough: bool = False
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    # All models
    # ----------

    @property
    def path(self) -> Path:
        """All models."""
        return self.model.path

    @property
    def index(self) -> int:
        """Row of the chosen model; of an average the one with the largest weight."""
        return self.model.index

    @cached_property
    def order(self) -> Numbers:
        """Rows of the path that are shown, simplest model first: those that held-out rows reach."""
        order = self.path.simplest_first()
        if self.left_out is None:
            return order
        return order[order < max(len(self.left_out.rss), self.index + 1)]

    def about(self, index: int | None = None) -> About:
        """Return what there is to say about a model of the path, or thoroughly about the chosen.

        Fits without rows give standard errors of the chosen model only.
        """
        request, left = self.request, self.left_out
        if index is None or (index == self.index and not self.model.is_average):
            if self._skipped is None:
                return self
            facts: Any = {"data": self.data, "left_out": left, "search": self.search}
            return About(request=request, model=self.model, **facts)
        if request.covariance == "jackknife":
            request = replace(request, covariance="homoscedastic")
        if left is not None and index >= len(left.rss):
            left = None
        model = asked_for(self.path, index, left)
        return About(request=request, data=self.data, model=model, left_out=left)

    @cached_property
    def average(self) -> Model | None:
        """What the average of models would give."""
        if self.left_out is None or self.model.is_average:
            return None if self.left_out is None else self.model
        return chosen_from({"": self.path}, [self.left_out], average=True)

    @property
    def rmsecv(self) -> Array:
        """Root mean squared cross-validated errors, of every model; nan where unknown."""
        known = np.zeros(0) if self.left_out is None else self.left_out.rmse
        return _padded(known, len(self.path))

    @property
    def rmsecv_std_error(self) -> Array:
        """Standard errors of `rmsecv`."""
        known = np.zeros(0) if self.left_out is None else self.left_out.rmse_std_error
        return _padded(known, len(self.path))

    @property
    def sigmas(self) -> Array:
        """Noise standard deviations of every model. Shape (K,)."""
        if self.left_out is None:
            return np.sqrt(self.path.noise_variance("jacobian"))
        return _padded(np.sqrt(self.left_out.noise_variance), len(self.path))

    # The chosen model
    # ----------------

    @cached_property
    def jackknife(self) -> Array | None:
        """Standard errors of coefficients where rows are a sample, if some are far from others.

        Those of `inference` take X as fixed.
        """
        found = self.inference
        return None if found is None else _if_defined(jackknife_beside, self.leading, found)

    @property
    def noise_std(self) -> float:
        """Noise standard deviation of the chosen model."""
        return float(np.sqrt(self.model.noise_variance(self.noise_kind)))

    @cached_property
    def dof_range(self) -> DofRange | None:
        """The range of the Degrees of Freedom where it is wide, otherwise None.

        Tables that are large, or read piece by piece, have none.
        """
        if self._hasty or self.data.is_streamed:
            return None
        found = _if_defined(self.model.dof_range)
        return found if found is not None and found.is_wide else None

    @property
    def r_squared(self) -> float:
        """Share of the variance of the response that the chosen model explains."""
        total = self.path.exact.total
        return float(1 - self.model.rss / total) if total > 0 else float("nan")

    @property
    def sigma_limits(self) -> Array | None:
        """Noise standard deviation from residuals, and the ends of its interval. Shape (3,)."""
        one = self.sigma
        return None if one is None else np.sqrt([one.center[0], one.lower[0], one.upper[0]])

    # What is said
    # ------------

    @property
    def reason(self) -> str:
        """The choice in words."""
        model, chosen = self.model, self.selection
        if model.is_average:
            return f"{chosen.summary[0].upper()}{chosen.summary[1:]}"
        why = rule_in_words(chosen.rule, criterion_label(chosen.criterion))
        return f"{model.label}, {why}{words.neighbours(self.path, chosen)}."

    @property
    def choice(self) -> str:
        """The choice in words, with how many Degrees of Freedom the model uses."""
        model = self.model
        if words.is_empty(model):
            rest = "" if self.selection.rule == "given" else ": no predictor is worth its cost"
            return f"{self.reason} It is the mean of the response{rest}."
        text = f"{self.reason} It uses {self.dof_range or f'{model.dof:.2f}'} Degrees of Freedom"
        if isinstance(model, Mixture):
            return f"{text}."
        naive = float(model.exact.naive_dof[model.row])
        if self.request.counts_components and abs(model.dof - naive) > 0.01:
            text += f", not the {round(naive, 2):g} that counting components gives"
        return f"{text}."

    @property
    def tested(self) -> str:
        """How well the rows of a test are predicted, in words; empty without a test."""
        return "" if self.test is None else words.test_in_words(self.test)

    @property
    def errors_known_to(self) -> float:
        """The standard error that errors of held-out rows are rounded by."""
        return float(self.rmsecv_std_error[self.index])

    @property
    def errors(self) -> str:
        """How well held-out rows are predicted by the choice and by the average; empty if none."""
        if self.average is None:
            return ""
        known, model = self.errors_known_to, self.model
        if self.search is not None:
            whole = self.merit["cross-validation"]
            rmsecv = in_text(whole.rmse, whole.std_errors["rmse"])
            return f"RMSECV {rmsecv} with {model.label}, columns selected again without each fold."
        found = f"RMSECV {in_text(model.rmse, known)} with {'the ' * model.is_average}{model.label}"
        if model.was_chosen or model.is_average:
            found += ", chosen again without each fold"
        if model.is_average:
            single, error = words.best_single(model, self.selection)
            return f"{found}; {in_text(error, known)} with {single}, the best single model."
        return f"{found}; {in_text(self.average.rmse, known)} with the {self.average.label}."

    @property
    def noise(self) -> str:
        """The noise level in words: of held-out rows, and from residuals of the fit."""
        apart, limits = self.left_out is not None, self.sigma_limits
        half = None if limits is None else float(limits[2] - limits[1]) / 2
        text = f"sigma = {in_text(self.noise_std, half)}" + " by cross-validation" * apart
        if limits is not None:
            middle, low, high = (in_text(one, half) for one in limits)
            first = f"{middle} by residuals, " if apart else ""
            text += f" ({first}{100 * self.request.level:g}% interval {low} to {high})"
        return f"{text}; the model explains {100 * self.r_squared:.1f}% of the variance."

    @cached_property
    def recipe(self) -> dict[str, str]:
        """How all of this was made, for the record."""
        left, request = self.left_out, self.request
        found = words.recorded(
            self.data,
            request,
            method=METHODS[request.method].label,
            held_out=(
                "" if left is None else words.scheme_in_words(left.fold, left.groups, request.seed)
            ),
            created=self.created,
        )
        return found | words.mixed_in_words(self.model) | {"solver": self.path.exact.solver}

    @cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """What is worth knowing, of the data first."""
        data, request, model, left = self.data, self.request, self.model, self.left_out
        unchosen = left is None and request.wants(LEFT_OUT)
        said = [
            *data.remarks,
            *words.path_remarks(self.path, data.names, searched=self.search is not None),
            *([] if self.search is None else [Remark(key="search", words=self.search.words)]),
            *words.selection_remarks(self.selection, data),
            *([words.said("too-many-rows")] if unchosen else []),
            *([words.said("unstable", dof=model.dof)] if model.dof < 1.0 - 1e-9 else []),
            *words.dof_remarks(self.dof_range),
            *words.preprocessing_remarks(data, "" if left is None else words.ANEW),
            *words.group_remarks(data, self.selection),
            *words.rows_remarks(model),
            *words.test_remarks(self.merit, self.test, request.level),
            *words.drift_remarks(model, left),
            *words.mixture_remarks(model),
            *([] if self.no_inference is None else [self.no_inference]),
            *self.added,
        ]
        return tuple({one.words: one for one in reversed(said)}.values())[::-1]

    def remark(self, key: str) -> Remark | None:
        """Return the remark of a key, None if there is none."""
        return next((one for one in self.remarks if one.key == key), None)


def has_scores(path: Path) -> bool:
    """Whether a path is one of plain PLS with components and rows enough for T^2 and Q."""
    # Of two rows each is judged by the other, which has no spread.
    return type(path) is PLSPath and len(path) > 1 and path.exact.n >= 3


def _padded(values: Array, size: int) -> Array:
    padded = np.full(size, np.nan)
    padded[: min(size, len(values))] = values[:size]
    return read_only(padded)


def asked_for(path: Path, index: int, left: LeftOut | None) -> Model:
    """Return a model that was asked for, which knows the held-out rows."""
    if left is None or index >= len(left.rss):
        return path[index]
    return Model(path=path, index=index, selection=_given(path, index, left))


def _given(path: Path, index: int, left: LeftOut | None) -> Selection:
    return Selection(
        index=index,
        parameter=float(path.parameters[index]),
        parameter_name=path.parameter_name,
        scores=_padded(np.zeros(0) if left is None else left.press, len(path)),
        criterion=LEFT_OUT,
        rule="given",
        _summary=f"{path.label(index)} ({path.dof[index]:.2f} Degrees of Freedom): as asked for.",
        left_out=left,
    )


# From a request to an analysis
# -----------------------------


def analysed(data: TableProblem, request: Request) -> Analysis:
    """Return the analysis of what was read and preprocessed already."""
    with quietly():  # what there is to say becomes a remark
        search = None
        left: LeftOut | None
        if request.select is not None:
            most = request.max_components or SEARCHED_COMPONENTS
            request = replace(request, max_components=most)
            search = searched(data, request)
            # Columns of zeros have no coefficient.
            data = replace(data, X=data.X * search.found.support)
        pool, added = _pool(data, request), list[Remark]()
        if request.preprocess in AUTO:
            # The path is that of the recipe chosen, or with most weight.
            assert pool is not None
            assert pool.selection is not None
            selection, left, recipe = pool.selection, pool.left_out, pool.selection.recipe_name
            steps, scale = words.steps_and_scaling(recipe)
            if request.preprocess == "auto":
                added.append(decided(kind_of_columns(data.names), preprocess="auto:{}"))
            request = replace(request, preprocess=steps, scale=scale)
            data = replace(data.after(steps), recipe=recipe)
            model = replace(pool, path=fitted(data, request))
        else:
            path = fitted(data, request)
            left = left_out(data, request, path)
            selection, model = chosen(path, left, request)
            added = [] if pool is None else _better_recipe(model, pool)
        permutation = None
        if request.permutations is not None:
            permutation = permutation_test(model.path, n_permutations=request.permutations)
        found = Analysis(
            data=data,
            request=request,
            model=model,
            selection=selection,
            left_out=left,
            search=search,
            permutation=permutation,
            added=tuple(added),
        )
        _ = found.remarks  # with what they rest on
        return found


def _pool(data: TableProblem, request: Request) -> Model | None:
    """Return the best model, or average, of all recipes of spectra or tables, by cross-validation.

    If that is asked for, or if spectra come without a preparation; otherwise None.
    """
    kind = request.preprocess.partition(":")[2] or kind_of_columns(data.names)
    usual = request.preprocess == "none" and request.scale is None and request.select is None
    usual &= kind == "spectra" and request.method == "pls"
    usual &= request.wants(LEFT_OUT) and request.components is None
    if data.is_streamed and request.preprocess in AUTO:
        raise InvalidInputError(
            "preprocess 'auto' needs the table in memory; name the steps, or read it at once."
        )
    if data.is_streamed or not (request.preprocess in AUTO or usual):
        return None
    rows, options = np.asarray(data.rows.X, dtype=float), {"max_components": request.max_components}
    average = request.wants(AVERAGE)
    texts, pools = recipe_texts(kind, rows.shape[1], average=average)
    recipes = {text: as_recipe(text, options) for text in texts}
    given = as_observations(rows, data.y, data.rows.weights)
    paths, pools = fit_recipes(recipes, given, None, pools=pools, skip=True)
    how = {"cv": data.folds(request.cv, request.seed), "groups": data.groups}
    return pooled(paths, average=average, pools=pools, **how)


def _better_recipe(own: Model, best: Model) -> list[Remark]:
    """Say that another recipe predicts held-out rows clearly better, if one does."""
    assert best.selection is not None
    gain = own.left_out_residuals**2 - best.left_out_residuals**2
    if own.left_out.groups is not None:
        gain = own.left_out.fold_sums(gain[None])[0]
    if not gain.sum() > _CLEARLY * np.std(gain) * np.sqrt(len(gain)):
        return []
    steps, scaled = words.steps_and_scaling(best.selection.recipe_name)
    how = [f"after {steps}"] * (steps != "none") + ["without scaling"] * (not scaled)
    errors = {"best": significant(best.rmse), "own": significant(own.rmse)}
    return [words.said("better-recipe", how=", ".join(how) or "scaled", **errors)]


def analysis_of(
    model: Any,
    *,
    response: str = "y",
    labels: Any = None,
    groups: Any = None,
    source: str = "",
    level: float = 0.95,
) -> Analysis:
    """Return what there is to say about a model, or a fitted estimator, with its rows in memory.

    Parameters
    ----------
    model : Model, fitted estimator or Pipeline
    response, source : str
        Name of the response, and of what the data came from.
    labels, groups : sequences, optional
        What to call the rows, and which of them belong together (colours of the scores).
    level : float
        Of the intervals and of the limits for unusual rows.

    Examples
    --------
    >>> from plsdof import PLSRegressor
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> found = analysis_of(PLSRegressor("bic").fit(X, y), response="ozone")
    >>> found.selection.criterion, found.data.shape
    ('bic', (203, 12))
    """
    found = as_model(model)
    path = found.path
    given = path.rows.require_in_memory()
    if path.rows.is_dual:
        raise NotAvailableError(
            f"{path.recipe.method.label} has no coefficients of predictors to describe; look at "
            "its path, left_out() and predict_interval()."
        )
    data = TableProblem.of(
        given.X, given.y, response=response, labels=labels, groups=groups, source=source
    )
    data = replace(data, names=path.feature_names or data.names)
    steps = "none"
    if path.rows.before is not None:
        steps, X = str(getattr(path.rows.before, "steps", "given")), path.rows.new(given.X)
        chain: Any = path.rows.before
        data = replace(data, X=X, preprocessing=chain)
    chosen, scale = found.selection, bool(path.recipe.options.get("scale", True))
    request = replace(Request(level=level, scale=scale), preprocess=steps)
    with quietly():
        # All models, where none was chosen by cross-validation
        known = chosen is not None and chosen.left_out is not None
        left = found.left_out if known else path.left_out()
        if chosen is None:
            found = asked_for(path, found.index, left)
            chosen = found.selection
        elif chosen.left_out is None:
            found = replace(asked_for(path, found.index, left), prepare=found.prepare)
        assert chosen is not None
        about: Any = {"data": data, "request": request, "left_out": left}
        return Analysis(model=found, selection=chosen, **about)


def fitted(data: TableProblem, request: Request) -> Path:
    """Fit all models, however the table is read."""
    sizes = request.sizes(*data.shape)
    path = data.fit(METHODS[request.method].recipe(scale=request.scales, **sizes))
    if request.components is not None and request.components >= len(path):
        raise InvalidInputError(
            f"components {request.components}: the table supports {len(path) - 1} at most. "
            f"{path.message}".rstrip()
        )
    return path


def chosen(path: Path, left: LeftOut | None, request: Request) -> tuple[Selection, Model]:
    """Choose a model as asked for."""
    if request.components is not None:
        selection = _given(path, request.components, left)
        return selection, asked_for(path, request.components, left)
    mean = request.wants(AVERAGE)
    if left is None and (mean or request.one_standard_error):
        raise InvalidInputError(
            "The average, and one-standard-error, need cross-validation; of a table that is read "
            "piece by piece say how with cv, such as 10 folds."
        )
    if left is not None and request.one_standard_error:
        return _simplest_within(path, left)
    if left is not None and (mean or request.wants(LEFT_OUT)):
        seen = left if request.max_components is not None else left.considered()
        model = chosen_from({"": path}, [seen], average=mean)
        assert model.selection is not None
        return model.selection, model
    criterion = "gcv" if request.wants(LEFT_OUT) else request.criterion
    try:
        selection = path.select(criterion, request.dof, rule=request.rule)
    except NotAvailableError as error:
        raise InvalidInputError(
            f"criterion {criterion} is not defined here: the table has too few rows for its "
            "predictors to tell the noise level. Choose another one, such as left-out."
        ) from error
    # Its errors are those of a model that is given: held-out rows did not choose it.
    return selection, asked_for(path, selection.index, left)


def _simplest_within(path: Path, left: LeftOut) -> tuple[Selection, Model]:
    """Choose the simplest model within one standard error of the smallest error."""
    order = left.order
    index = int(order[one_standard_error(left.mean_error[order], left.std_error[order])])
    rule = "one-standard-error"
    summary = choice_in_words(path.label(index), path.dof[index], rule, LEFT_OUT)
    selection = replace(_given(path, index, left), rule=rule, _summary=summary)
    return selection, Model(path=path, index=index, selection=selection)


# Held-out rows
# -------------


def left_out(data: TableProblem, request: Request, path: Path) -> LeftOut | None:
    """Leave rows out as asked for, with all that was learned from rows learned anew."""
    chain = data.preprocessing
    cv = data.folds(request.cv, request.seed)
    if chain is not None and chain.learns_from_rows:
        again = preprocessed(chain.steps, path.rows.same_models())
        path = data.fit(again, prepared=False)
    try:
        return path.left_out(cv, data.groups)
    except NotAvailableError as error:  # more rows than predictions of them fit in memory
        if cv is not None or data.groups is not None or request.wants(AVERAGE):
            raise InvalidInputError(str(error)) from error
        return None
