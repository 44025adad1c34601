"""One Request and the data it is asked of become one Analysis: what there is to say about a fit.

`analyse` fits, leaves rows out, chooses, and adds what was asked for. Every number is computed
once, and nothing that nobody asked for. The terminal, JSON, the workbook, the report and an app
show an `Analysis`; none of them computes.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

from plsdof._core.choice import (
    LEFT_OUT,
    RULES,
    Remark,
    Rule,
    Selection,
    choice_in_words,
    one_standard_error,
)
from plsdof._core.criteria import CRITERIA, DOF_KINDS, DofKind, NoiseKind
from plsdof._core.fit import METHODS
from plsdof._core.folds import number_of_blocks
from plsdof._core.inputs import Array, as_choice, as_count, as_fraction, read_only
from plsdof._core.left_out import MOST, LeftOut
from plsdof._core.model import Mixture, Model, as_model, chosen_from
from plsdof._core.path import Path, PLSPath
from plsdof._core.threads import cached_property
from plsdof._core.warnings import quietly
from plsdof.analysis import remarks as words
from plsdof.analysis.data import (
    Folds,
    Labels,
    Numbers,
    Problem,
    Rows,
    TableProblem,
    TestSet,
)
from plsdof.analysis.recipes import (
    better_recipe,
    is_scaled,
    pool_of_recipes,
    steps_of,
)
from plsdof.chemometrics.merit import FiguresOfMerit, figures_of_fit, figures_of_merit
from plsdof.chemometrics.rows import OutlierTable, outliers
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.inference.intervals import (
    COVARIANCES,
    INTERVAL_METHODS,
    CoefficientInference,
    Interval,
    coefficient_inference,
    noise_interval,
    prediction_interval,
)
from plsdof.inference.resampling import PermutationTest, permutation_test
from plsdof.inference.summary import jackknife_beside

# Rows and columns from which on intervals of coefficients take longer than the fit.
_LARGE = 1000
# Largest model that a search of columns looks at, and how often it is done again to count its cost.
_SEARCHED_COMPONENTS, _SEARCH_DRAWS = 10, 50


# What is asked, checked once
# ---------------------------

AVERAGE = "average"
# How a model may be chosen.
CHOICES = (LEFT_OUT, AVERAGE, *CRITERIA)
# Preprocessing and scaling chosen together with the size.
AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to compute.

    Attributes
    ----------
    method : str
        "pls", "pcr" or "ridge".
    criterion : str or None
        "left-out", "average" or the name of a criterion. By default rows left out choose; GCV does
        where the rows are read piece by piece and nobody asked to leave some out.
    rule, dof : str or None
        Of a criterion, see `Path.select`.
    one_standard_error : bool
        Take the simplest model whose error of rows left out is within one standard error of the
        smallest one.
    components, max_components : int or None
        The model wanted, and the largest one to look at.
    cv : int, "loo", "blocks:K" or None
        How rows are left out: number of folds, one by one, folds of consecutive rows, or as usual
        (`Path.left_out`).
    seed : int or None
        Of random folds.
    scale : bool or None
        Scale predictors to unit variance; by default unless they are wavelengths.
    level : float
        Of all intervals and limits.
    intervals : str or None
        How observations are covered; "left-out" where rows are at hand.
    covariance : str
        Of the coefficients.
    preprocess : str
        Steps, as for `plsdof.chemometrics.Preprocessor`; "auto" chooses among recipes of spectra
        or of tables by rows left out, together with scaling and size.
    select : str or None
        A search of columns, as for `plsdof.chemometrics.SelectedPLSRegressor`.
    std_errors : bool or None
        Of coefficients, an interval of the noise level, and unusual rows; None means unless the
        table is large.
    permutations : int or None
        Number of permuted responses to compare with.

    Examples
    --------
    >>> Request(criterion="bic", cv=10).wants("left-out")
    False
    """

    method: Literal["pls", "pcr", "ridge"] = "pls"
    criterion: str | None = None
    rule: Rule | None = None
    dof: DofKind | None = None
    one_standard_error: bool = False
    components: int | None = None
    max_components: int | None = None
    cv: Folds | None = None
    seed: int | None = None
    scale: bool | None = None
    level: float = 0.95
    intervals: Literal["left-out", "normal"] | None = None
    covariance: Literal["homoscedastic", "hc3", "jackknife"] = "homoscedastic"
    preprocess: str = "none"
    select: str | None = None
    std_errors: bool | None = None
    permutations: int | None = None

    def __post_init__(self) -> None:
        for name, allowed in {
            "method": tuple(METHODS),
            "criterion": CHOICES,
            "rule": RULES,
            "dof": DOF_KINDS,
            "intervals": INTERVAL_METHODS,
            "covariance": COVARIANCES,
        }.items():
            if getattr(self, name) is not None:
                as_choice(getattr(self, name), name, allowed)
        as_fraction(self.level, "level")
        least = {"components": 0, "max_components": 1, "permutations": 19, "seed": 0, "cv": 2}
        for name, minimum in least.items():
            value = getattr(self, name)
            if value not in (None, "loo") and number_of_blocks(value) is None:
                as_count(value, name.replace("_", "-"), minimum=minimum)
        self._check_steps()
        for text in self._contradictions():
            raise InvalidInputError(text)

    def _check_steps(self) -> None:
        """Refuse preprocessing and searches that do not exist."""
        steps = "none" if self.preprocess == AUTO else self.preprocess
        if steps == "none" and self.select is None:  # the rest needs scikit-learn
            return
        from plsdof.chemometrics.preprocessing import parse_chain
        from plsdof.chemometrics.search import parse_search

        parsers: dict[str, Callable[[str], Any]] = {"preprocess": parse_chain}
        parsers |= {} if self.select is None else {"select": parse_search}
        for name, parse in parsers.items():
            text = steps if name == "preprocess" else getattr(self, name)
            try:
                parse(text)
            except InvalidInputError as error:
                raise InvalidInputError(f"{name} {text[:60]}: {error}") from error

    def _contradictions(self) -> Iterator[str]:
        """Say what does not go together."""
        if not self.counts_components and {self.components, self.max_components} != {None}:
            yield f"components and max-components do not apply to {self.method}, which has none."
        if self.criterion == AVERAGE and self.components is not None:
            yield "criterion 'average' takes all models; leave out components."
        if self.preprocess == AUTO:
            given = {
                "method": self.method != "pls",
                "criterion": self.criterion not in (None, LEFT_OUT, AVERAGE),
                "components": self.components is not None,
                "scale": self.scale is not None,
                "select": self.select is not None,
                # Recipes have no derivative in common.
                "intervals": self.intervals == "normal" and self.criterion == AVERAGE,
            }
            for name in [name for name, is_given in given.items() if is_given]:
                yield f"preprocess 'auto' chooses by rows left out; leave out {name}."
        apart = {self.components, self.select} == {None} and self.preprocess != AUTO
        if self.one_standard_error and not (self.wants(LEFT_OUT) and apart):
            yield (
                "one-standard-error chooses one model of a path by rows left out; leave out other "
                "ways to choose."
            )
        if self.seed is not None and not isinstance(self.cv, int):
            yield "seed is about random folds; say how many with cv."
        for name in ("rule", "dof"):
            if getattr(self, name) is not None and self.criterion not in CRITERIA:
                yield f"{name} belongs to a criterion, such as 'bic'; name one with it."
        for name, is_given in {
            "the criterion 'average'": self.criterion == AVERAGE,
            f"the method {self.method!r}": self.method != "pls",
            "permutations": self.permutations is not None,
        }.items():
            if self.select is not None and is_given:
                yield f"select does not go with {name}; leave one out."

    @property
    def counts_components(self) -> bool:
        """Whether the method has components."""
        return METHODS[self.method].size == "max_components"

    def wants(self, criterion: str) -> bool:
        """Whether this is how the model is chosen; rows left out if nothing else is asked for."""
        return (self.criterion or LEFT_OUT) == criterion

    def sizes(self, n: int, p: int) -> dict[str, Any]:
        """Return the option of the method that says which models there are."""
        if not self.counts_components:
            return {}
        most = self.max_components or max(1, min(MOST, n - 1, p))
        return {"max_components": most if self.components is None else max(most, self.components)}


# What there is to say
# --------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchCost:
    """What a search of columns found, and what it costs.

    Attributes
    ----------
    found : Search
    dof : DegreesOfFreedom
        Of the whole search, by Monte Carlo.
    residuals : (n,) array
        Of rows left out, with the whole search in every fold.
    words : str
    """

    found: Any
    dof: Any
    residuals: Array
    words: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """The rows that pictures show: all of them, or a sample of a table that is not in memory.

    Attributes
    ----------
    rows : Rows
        As they were read.
    X : (n, p) array
        As the model sees them.
    places : (n,) array of int or None
        Which rows of the fit they are; None if they are all of them.
    groups : (n,) array of str or None
    """

    rows: Rows
    X: Array
    places: Numbers | None
    groups: Labels | None


@dataclass(frozen=True, kw_only=True, eq=False)
class About:
    """What there is to say about one model of a path.

    Attributes
    ----------
    merit : dict of FiguresOfMerit
        By the rows they are of: "calibration", "cross-validation", "test".
    inference : CoefficientInference or None
        None where the data leave no noise level, or where it would take long.
    jackknife : (p,) array or None
        Standard errors of the coefficients where rows are a sample, if some of them are far from
        those of `inference`, which take X as fixed.
    no_inference : Remark or None
        Why there is no inference.
    sigma : Interval or None
        Interval of the noise variance, None where it is not defined.
    unusual : OutlierTable or None
        How far rows are from the model; None for methods without scores.
    test : TestSet or None
    """

    merit: dict[str, FiguresOfMerit]
    inference: CoefficientInference | None
    no_inference: Remark | None
    sigma: Interval | None
    unusual: OutlierTable | None
    test: TestSet | None
    jackknife: Array | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Analysis(About):
    """Everything there is to say about one fit, and about the model chosen.

    Attributes
    ----------
    merit, inference, jackknife, no_inference, sigma, unusual, test
        Of the model chosen, see `About`.
    request : Request
    data : TableProblem
    model : Model
        The one chosen, or the average of models.
    selection : Selection
        How it was chosen.
    left_out : LeftOut or None
        Errors of rows left out, of all models; None where nobody left out rows of a streamed table.
    average : Model or None
        What the average of models would give.
    search : SearchCost or None
    permutation : PermutationTest or None
    remarks : tuple of Remark
        What is worth knowing, of the data first.
    created : str
        When (UTC, ISO 8601).

    Examples
    --------
    >>> from plsdof.datasets import load_gasoline
    >>> found = analyse(*load_gasoline(return_X_y=True, as_frame=True), Request(cv=10))
    >>> found.model.label, found.recipe["scaling"]
    ('... components', 'centred, not scaled')
    """

    request: Request
    data: TableProblem
    model: Model
    selection: Selection
    left_out: LeftOut | None
    average: Model | None
    search: SearchCost | None
    permutation: PermutationTest | None
    remarks: tuple[Remark, ...]
    created: str

    # What others read
    # ----------------

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
        """Rows of the path that are shown, simplest model first: those that rows left out reach."""
        order = self.path.simplest_first()
        if self.left_out is None:
            return order
        return order[order < max(len(self.left_out.rss), self.index + 1)]

    def at(self, index: int) -> Model:
        """Return the model in a row of the path, with the rows left out here."""
        if index == self.index and not self.model.is_average:
            return self.model
        return asked_for(self.path, index, self.left_out)

    @cached_property
    def leading(self) -> Model:
        """The model with coefficients, scores and distances: of an average over recipes a part.

        That is the average of the models of the recipe with most weight.
        """
        return leading(self.model)

    def about(self, model: Model) -> About:
        """Return what there is to say about any model of the path, computed if it is not known.

        Fits without rows give standard errors of the chosen model only.
        """
        request, left = self.request, self.left_out
        if model is self.model:
            if self.unusual is not None:
                return self
            return replace(self, unusual=_unusual(self.data, model, request))
        if request.covariance == "jackknife":
            request = replace(request, covariance="homoscedastic")
        if left is not None and model.index >= len(left.rss):
            left = None
        test = self.test
        if test is not None:
            test = replace(test, predicted=predicted(model, test.rows, test.X), interval=None)
        return _about(self.data, request, model, left, test, quick=True)

    @property
    def rmsecv(self) -> Array:
        """Root mean squared errors of rows left out, of every model; nan where unknown."""
        known = np.zeros(0) if self.left_out is None else self.left_out.rmse
        return _padded(known, len(self.path))

    @property
    def rmsecv_std_error(self) -> Array:
        """Standard errors of `rmsecv`: of the mean over folds, by the delta method."""
        left = self.left_out
        if left is None:
            return _padded(np.zeros(0), len(self.path))
        squares = left.fold_sums(left.residuals**2) / left.fold_sums(np.ones_like(left.residuals))
        spread = squares.std(axis=1, ddof=1) / np.sqrt(squares.shape[1])
        twice = np.where(left.rmse > 0, 2 * left.rmse, np.nan)
        return _padded(spread / twice, len(self.path))

    @property
    def noise_kind(self) -> NoiseKind:
        """How the noise level is estimated: by rows left out, if there are any."""
        return noise_kind(self.left_out)

    @property
    def noise_std(self) -> float:
        """Noise standard deviation of the chosen model."""
        return float(np.sqrt(self.model.noise_variance(self.noise_kind)))

    @property
    def sigmas(self) -> Array:
        """Noise standard deviations of every model. Shape (K,)."""
        if self.left_out is None:
            return np.sqrt(self.path.noise_variance("jacobian"))
        return _padded(np.sqrt(self.left_out.noise_variance), len(self.path))

    @property
    def r_squared(self) -> float:
        """Share of the variance of the response that the chosen model explains."""
        total = self.path.exact.spectrum.total
        return float(1 - self.model.rss / total) if total > 0 else float("nan")

    @property
    def sigma_limits(self) -> Array | None:
        """Noise standard deviation from residuals, and the ends of its interval. Shape (3,)."""
        one = self.sigma
        if one is None:
            return None
        return np.sqrt([one.center[0], one.lower[0], one.upper[0]])

    @property
    def scale(self) -> bool:
        """Whether predictors are scaled to unit variance."""
        return scales(self.request, self.data)

    @cached_property
    def drawn(self) -> Drawn:
        """The rows that pictures show."""
        data = self.data
        if data.places is None:
            X = np.asarray(data.X, dtype=np.float64)
            return Drawn(rows=data.rows, X=X, places=None, groups=data.groups)
        rows, chain = data.rows, data.preprocessing
        X = np.asarray(rows.X if chain is None else rows.preprocessed(chain, fit=False))
        groups = None if data.groups is None else data.groups[data.places]
        return Drawn(rows=rows, X=X, places=data.places, groups=groups)

    # What is said
    # ------------

    @property
    def reason(self) -> str:
        """The choice in words."""
        return words.reason_in_words(self.model, self.selection)

    @property
    def choice(self) -> str:
        """The choice in words, with what it costs."""
        return f"{self.reason} {words.cost_in_words(self.model, self.selection)}"

    @property
    def tested(self) -> str:
        """How well the rows of a test are predicted, in words; empty without a test."""
        return "" if self.test is None else words.test_in_words(self.test)

    @property
    def errors(self) -> str:
        """The errors of rows left out in words; empty if none were."""
        return "" if self.left_out is None else words.errors_in_words(self.model, self.average)

    @property
    def noise(self) -> str:
        """The noise level in words."""
        level, limits = self.request.level, self.sigma_limits
        apart = self.left_out is not None
        return words.noise_in_words(self.noise_std, limits, level, self.r_squared, apart=apart)

    @cached_property
    def recipe(self) -> dict[str, str]:
        """How all of this was made, for the record."""
        from plsdof import __version__

        data = self.data
        grouped = "none" if data.groups is None else f"{data.grouped_by or 'given'}"
        dropped = f"; {data.dropped} with missing values" if data.dropped else ""
        return {
            "method": METHODS[self.request.method].label,
            "scaling": words.scaling_in_words(self.scale),
            "preprocessing": self.request.preprocess,
            **words.mixed_in_words(self.model),
            "rows left out to validate": words.scheme_in_words(self.left_out, self.request.seed),
            "groups": grouped,
            "rows excluded": (", ".join(data.excluded) or "none") + dropped,
            "test rows": words.rows_tested_in_words(data.test, data.tested_by),
            "data": data.source or "arrays",
            "sha256": data.sha256(),
            "made": f"{self.created} by plsdof {__version__}",
        }

    def remark(self, kind: str) -> Remark | None:
        """Return the remark of a kind, None if there is none."""
        return next((one for one in self.remarks if one.kind == kind), None)


def leading(model: Model) -> Model:
    """Return the part of an average over recipes that has most weight; otherwise the model."""
    if not isinstance(model, Mixture):
        return model
    return replace(model.members[int(np.argmax(model.shares))], path=model.path)


def predicted(model: Model, rows: Rows, X: Array) -> Array:
    """Predict rows; X are their predictors after the preprocessing of the path.

    An average over recipes takes the rows as they were read.
    """
    if isinstance(model, Mixture):
        return read_only(model.predict(np.asarray(rows.X, dtype=np.float64)))
    return read_only(model.intercept + X @ model.coef)


def noise_kind(left: LeftOut | None) -> NoiseKind:
    """Return how the noise level is estimated: by rows left out, if there are any."""
    return "jacobian" if left is None else LEFT_OUT


def _padded(values: Array, size: int) -> Array:
    padded = np.full(size, np.nan)
    padded[: min(size, len(values))] = values[:size]
    return read_only(padded)


def asked_for(path: Path, index: int, left: LeftOut | None) -> Model:
    """Return a model that was asked for, which knows the rows left out."""
    if left is None or index >= len(left.rss):
        return path[index]
    return Model(path=path, index=index, selection=_given(path, index, left))


def _given(path: Path, index: int, left: LeftOut | None) -> Selection:
    return Selection(
        index=index,
        parameter=float(path.parameters[index]),
        parameter_name=path.parameter_name,
        scores=read_only(_padded(np.zeros(0) if left is None else left.press, len(path))),
        criterion=LEFT_OUT,
        rule="given",
        summary=f"{path.label(index)} ({path.dof[index]:.2f} Degrees of Freedom): as asked for.",
        left_out=left,
    )


# From a request to an analysis
# -----------------------------


def analyse(
    X: Any,
    y: Any,
    request: Request | None = None,
    *,
    response: str = "y",
    labels: Any = None,
    groups: Any = None,
    source: str = "",
) -> Analysis:
    """Preprocess, fit, leave rows out, choose, and add what was asked for.

    Parameters
    ----------
    X : data frame or (n, p) array
    y : (n,) array
    request : Request, optional
    response, source : str
        Name of the response, and of what the data came from.
    labels, groups : sequences, optional
        What to call the rows, and which of them are left out together.

    Returns
    -------
    Analysis

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> analyse(X, y, Request(criterion="bic", rule="first-minimum"), response="ozone").reason
    '2 components, the first minimum of BIC (23.90; 25.13 before, 25.72 after).'
    """
    request = request or Request()
    data = TableProblem.of(X, y, response=response, labels=labels, groups=groups, source=source)
    return analysed(data.after(request.preprocess), request)


def analysed(data: TableProblem, request: Request) -> Analysis:
    """Return the analysis of what was read and preprocessed already."""
    with quietly():  # what there is to say becomes a remark
        search = None
        if request.select is not None:
            most = request.max_components or _SEARCHED_COMPONENTS
            request = replace(request, max_components=most)
            search = _searched(data, request)
            data = data.only(search.found.support)
        pool = _pool(data, request)
        if request.preprocess == AUTO:
            assert pool is not None
            return _followed(data, request, pool)
        path = fitted(data, request)
        left = left_out(data, request, path)
        selection, model = chosen(path, left, request)
        found = _described(data, request, model, selection, left, search)
        better = None if pool is None else better_recipe(model, pool)
        return found if better is None else replace(found, remarks=(*found.remarks, better))


def _pool(data: TableProblem, request: Request) -> Model | None:
    """Return the best model, or average, of all recipes: as asked for, or if spectra have none."""
    usual = request.preprocess == "none" and request.scale is None and request.select is None
    usual &= data.wavelengths is not None and request.method == "pls"
    usual &= request.wants(LEFT_OUT) and request.components is None
    if data.is_streamed and request.preprocess == AUTO:
        raise InvalidInputError(
            "preprocess 'auto' needs the table in memory; name the steps, or read it at once."
        )
    if data.is_streamed or not (request.preprocess == AUTO or usual):
        return None
    folds, average = _folds(data, request), request.wants(AVERAGE)
    return pool_of_recipes(data, folds, request.max_components, average=average)


def _followed(data: TableProblem, request: Request, pool: Model) -> Analysis:
    """Describe the choice of a pool with the path of its recipe, that with most weight."""
    selection = pool.selection
    assert selection is not None
    recipe = selection.recipe_name
    steps = steps_of(recipe)
    request = replace(request, preprocess=steps, scale=is_scaled(recipe))
    data = replace(data.after(steps), recipe=recipe)
    model = replace(pool, path=fitted(data, request))
    return _described(data, request, model, selection, pool.left_out, None)


def _folds(data: TableProblem, request: Request) -> Any:
    """Return pairs of rows, where somebody says how they are left out."""
    if request.cv is None:
        return None
    return [(one.train, one.test) for one in data.split(request.cv, request.seed)]


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
    given = path.require_rows()
    if path.is_dual:
        raise NotAvailableError(
            f"{path.recipe.method.label} has no coefficients of predictors to describe; look at "
            "its path, left_out() and predict_interval()."
        )
    data = TableProblem.of(
        given.X, given.y, response=response, labels=labels, groups=groups, source=source
    )
    data = replace(data, names=path.feature_names or data.names)
    steps = "none"
    if path.before is not None:
        steps, X = str(getattr(path.before, "steps", "given")), path.new_rows(given.X)
        chain: Any = path.before
        data = replace(data, X=X, preprocessing=chain)
    chosen, scale = found.selection, bool(path.recipe.options.get("scale", True))
    request = replace(Request(level=level, scale=scale), preprocess=steps)
    with quietly():
        # All models, where nobody left rows out to choose one
        left = path.left_out() if found.left_out_or_none is None else found.left_out
        if chosen is None:
            found = asked_for(path, found.index, left)
            chosen = found.selection
        elif chosen.left_out is None:
            found = replace(asked_for(path, found.index, left), prepare=found.prepare)
        assert chosen is not None
        return _described(data, request, found, chosen, left, None)


def scales(request: Request, data: Problem) -> bool:
    """Whether predictors are scaled: as asked for, else unless they are wavelengths."""
    return data.wavelengths is None if request.scale is None else request.scale


def fitted(data: TableProblem, request: Request) -> Path:
    """Fit all models, however the table is read."""
    scale, sizes = scales(request, data), request.sizes(*data.shape)
    path = data.fit(METHODS[request.method].recipe(scale=scale, **sizes))
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
    if request.wants(AVERAGE):
        if left is None:
            raise InvalidInputError(
                "The average needs rows left out; of a table that is read piece by piece say how, "
                "such as 10 folds."
            )
        seen = left if request.max_components is not None else left.walked()
        mean = chosen_from({"": path}, [seen], average=True)
        assert mean.selection is not None
        return mean.selection, mean
    if request.one_standard_error:
        if left is None:
            raise InvalidInputError("one-standard-error needs rows left out; say how with cv.")
        return _simplest_within(path, left)
    if request.wants(LEFT_OUT) and left is not None:
        seen = left if request.max_components is not None else left.walked()
        model = chosen_from({"": path}, [seen], average=False)
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
    # Its errors are those of a model that is given: rows left out did not choose it.
    return selection, asked_for(path, selection.index, left)


def _simplest_within(path: Path, left: LeftOut) -> tuple[Selection, Model]:
    """Choose the simplest model within one standard error of the smallest error."""
    order = left.order
    index = int(order[one_standard_error(left.mean_error[order], left.std_error[order])])
    rule = "one-standard-error"
    summary = choice_in_words(path.label(index), path.dof[index], rule, LEFT_OUT)
    selection = replace(_given(path, index, left), rule=rule, summary=summary)
    return selection, Model(path=path, index=index, selection=selection)


def _described(
    data: TableProblem,
    request: Request,
    model: Model,
    selection: Selection,
    left: LeftOut | None,
    search: SearchCost | None,
) -> Analysis:
    path = model.path
    average = None
    if left is not None:
        average = model if model.is_average else chosen_from({"": path}, [left], average=True)
    about = _about(data, request, model, left, _tested(data, model, request), search)
    if about.inference is not None:
        about = replace(about, jackknife=jackknife_beside(leading(model), about.inference))
    permutation = None
    if request.permutations is not None:
        permutation = permutation_test(path, n_permutations=request.permutations)
    said = [
        *(Remark(kind="doubt", text=text) for text in data.doubts),
        *(Remark(kind="data", text=text) for text in data.notes),
        *words.path_remarks(path, data.names, searched=search is not None),
        *([] if search is None else [Remark(kind="search", text=search.words)]),
        *selection.remarks,
        *([words.said("too-many-rows")] if left is None and request.wants(LEFT_OUT) else []),
        *([words.said("unstable", dof=model.dof)] if model.dof < 1.0 - 1e-9 else []),
        *words.preprocessing_remarks(data, left_out=left is not None),
        *words.group_remarks(data, selection),
        *words.test_remarks(about.merit, about.test, request.level),
        *words.drift_remarks(model, left),
        *words.mixture_remarks(model),
        *([] if about.no_inference is None else [about.no_inference]),
    ]
    return Analysis(
        **vars(about),
        request=request,
        data=data,
        model=model,
        selection=selection,
        left_out=left,
        average=average,
        search=search,
        permutation=permutation,
        remarks=tuple({one.text: one for one in reversed(said)}.values())[::-1],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


# Rows left out
# -------------


def left_out(data: TableProblem, request: Request, path: Path) -> LeftOut | None:
    """Leave rows out as asked for, with all that was learned from rows learned anew."""
    chain = data.preprocessing
    cv = _folds(data, request)
    if chain is not None and chain.learns_from_rows:
        from plsdof.chemometrics.preprocessing import preprocessed

        again = preprocessed(chain.steps, path.same_models())
        path = data.fit(again, prepared=False)
    try:
        return path.left_out(cv, data.groups)
    except NotAvailableError as error:  # more rows than predictions of them fit in memory
        if cv is not None or data.groups is not None or request.wants(AVERAGE):
            raise InvalidInputError(str(error)) from error
        return None


# What is added to the choice
# ---------------------------


def _about(
    data: TableProblem,
    request: Request,
    model: Model,
    left: LeftOut | None,
    test: TestSet | None,
    search: SearchCost | None = None,
    *,
    quick: bool = False,
) -> About:
    """Return what there is to say about a model; no rows unless that is ``quick``, or asked for."""
    inference, reason = _inference(data, request, model, left)
    quick = quick or reason is None or reason.kind != "no-std-errors"
    return About(
        merit=_merit(data, model, left, test, search),
        inference=inference,
        no_inference=reason,
        sigma=_sigma(model, request) if quick else None,
        unusual=_unusual(data, model, request) if quick else None,
        test=test,
    )


def _inference(
    data: TableProblem, request: Request, model: Model, left: LeftOut | None
) -> tuple[CoefficientInference | None, Remark | None]:
    """Return intervals of the coefficients, or why there are none."""
    if data.is_streamed:
        if not data.has_intervals:
            return None, words.said("intervals-memory", p=data.shape[1])
        wanted = request.std_errors is not False
    else:
        wanted = min(data.shape) <= _LARGE if request.std_errors is None else request.std_errors
    if not wanted:
        return None, words.said("no-std-errors")
    try:
        found = coefficient_inference(
            leading(model),
            level=request.level,
            covariance=request.covariance,
            noise=noise_kind(left),
        )
    except NotAvailableError:
        n = float(model.path.exact.spectrum.n)
        return None, words.said("no-intervals", dof=model.dof, n=n)
    return found, None


def _sigma(model: Model, request: Request) -> Interval | None:
    with contextlib.suppress(NotAvailableError):
        return noise_interval(model, level=request.level)
    return None


def has_scores(path: Path) -> bool:
    """Whether a path is one of plain PLS with components and rows enough for T^2 and Q."""
    # Of two rows each is judged by the other, which has no spread.
    return type(path) is PLSPath and len(path) > 1 and path.exact.spectrum.n >= 3


def _unusual(data: TableProblem, model: Model, request: Request) -> OutlierTable | None:
    if not has_scores(model.path) or data.is_streamed:
        return None
    with contextlib.suppress(NotAvailableError):
        # The limits are those that new rows are judged by.
        return outliers(leading(model), level=request.level, limit="cross-validated")
    return None


def _tested(data: TableProblem, model: Model, request: Request) -> TestSet | None:
    """Predict the rows of a test, with intervals where there are any."""
    if data.test is None:
        return None
    rows, chain = data.test, data.preprocessing
    X = rows.X if chain is None else rows.preprocessed(chain, fit=False)
    values = np.ascontiguousarray(np.asarray(X, dtype=np.float64))
    interval = None
    with contextlib.suppress(NotAvailableError, InvalidInputError):
        seen = np.asarray(rows.X, dtype=np.float64) if isinstance(model, Mixture) else values
        interval = prediction_interval(model, seen, level=request.level, method=request.intervals)
    return TestSet(
        rows=rows,
        X=read_only(values),
        predicted=predicted(model, rows, values),
        interval=interval,
    )


def _merit(
    data: TableProblem,
    model: Model,
    left: LeftOut | None,
    test: TestSet | None,
    search: SearchCost | None,
) -> dict[str, FiguresOfMerit]:
    if data.is_streamed:
        found = {"calibration": figures_of_fit(model, data.y)}
    else:
        found = {"calibration": figures_of_merit(data.y, model.fitted)}
    if search is not None:
        found["cross-validation"] = figures_of_merit(data.y, data.y - search.residuals)
    elif left is not None:
        found["cross-validation"] = figures_of_merit(data.y, data.y - model.left_out_residuals)
    if test is not None:
        found["test"] = test.merit
    return found


# A search of columns
# -------------------


def _searched(data: TableProblem, request: Request) -> SearchCost:
    """Search, count the Degrees of Freedom of the search, and leave rows out of all of it."""
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline

    from plsdof.chemometrics.preprocessing import Preprocessor
    from plsdof.chemometrics.search import SelectedPLSRegressor
    from plsdof.complexity.regressors import degrees_of_freedom

    assert request.select is not None
    assert request.max_components is not None
    estimator = SelectedPLSRegressor(
        request.select,
        criterion=request.criterion or LEFT_OUT,
        max_components=request.max_components,
        scale=scales(request, data),
    )
    X, y = np.asarray(data.X, dtype=np.float64), data.y
    found = estimator.fit(X, y).search_
    whole = degrees_of_freedom(estimator, X, y, n_draws=_SEARCH_DRAWS)
    repeated, rows, chain = estimator, X, data.preprocessing
    if chain is not None and chain.learns_from_rows:
        repeated = make_pipeline(Preprocessor(chain.steps), estimator)
        rows = np.asarray(data.rows.X, dtype=np.float64)
    folds = data.split(10 if request.cv is None else request.cv, request.seed)
    cv = [(one.train, one.test) for one in folds]
    residuals = y - cross_val_predict(repeated, rows, y, cv=cv)
    # What noise level and GCV are if the search is paid for.
    n, rss = len(y), float(found.path.rss[found.index])
    left = n - whole.value
    sigma, gcv = (np.sqrt(rss / left), n * rss / left**2) if left > 0 else (np.nan, np.nan)
    without = n * float(np.sum((y - y.mean()) ** 2)) / (n - 1) ** 2
    said = words.search_in_words(
        request.select,
        found.labels[found.chosen],
        kept=int(found.support.sum()),
        total=len(found.support),
        fixed=float(found.path.dof[found.index]),
        whole=whole.value,
        error=whole.std_error,
    )
    merit = figures_of_merit(y, y - residuals)
    said += f" {words.search_cost_in_words(sigma, gcv, without)} Rows left out, the search made "
    said += f"again without them: RMSECV {words.significant(merit.rmse)}, "
    said += f"Q2 {words.significant(merit.r2)}."
    return SearchCost(found=found, dof=whole, residuals=read_only(residuals), words=said)
