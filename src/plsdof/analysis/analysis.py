"""One Request and the data it is asked of become one Analysis: what there is to say about a fit.

`analyse` fits, leaves rows out, chooses, and adds what was asked for. Every number is computed
once, and nothing that nobody asked for. The terminal, JSON, the workbook, the report and an app
show an `Analysis`; none of them computes.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np

from plsdof._core.choice import LEFT_OUT, Remark, Selection
from plsdof._core.fit import METHODS
from plsdof._core.inputs import Array, read_only
from plsdof._core.left_out import LeftOut
from plsdof._core.model import Model, as_model
from plsdof._core.path import Path, PLSPath
from plsdof._core.work import cached_property
from plsdof.analysis import remarks as words
from plsdof.analysis.data import (
    Labels,
    Numbers,
    Problem,
    Rows,
    StreamedProblem,
    TableProblem,
    TestSet,
)
from plsdof.analysis.request import AVERAGE, Request
from plsdof.chemometrics.merit import FiguresOfMerit, figures_of_fit, figures_of_merit
from plsdof.chemometrics.rows import OutlierTable, outliers
from plsdof.errors import InvalidInputError, NotAvailableError, quietly
from plsdof.inference.intervals import (
    CoefficientInference,
    Interval,
    coefficient_inference,
    noise_interval,
)
from plsdof.inference.permutation import PermutationTest, permutation_test
from plsdof.large import sources
from plsdof.large.blocks import Blocks
from plsdof.large.cross_validation import cross_validate_from
from plsdof.selection.cross_validation import CrossValidation

Data = TableProblem | StreamedProblem

# Rows and columns from which on intervals of coefficients take longer than the fit.
_LARGE = 1000
# Remarks that say why there are no intervals of coefficients.
_NO_INTERVALS = ("no-intervals", "intervals-memory", "no-std-errors")
# Largest model that a search of columns looks at, and how often it is done again to count its cost.
_SEARCHED_COMPONENTS, _SEARCH_DRAWS = 10, 50


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
    """What there is to say about one model of a path; the attributes are those of `Analysis`.

    ``reason`` says in words why there are no intervals; ``tested`` are predictions of the test.
    """

    inference: CoefficientInference | None
    reason: str
    sigma: Interval | None
    unusual: OutlierTable | None
    merit: dict[str, FiguresOfMerit]
    tested: Array | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Analysis:
    """Everything there is to say about one fit.

    Attributes
    ----------
    request : Request
    data : TableProblem or StreamedProblem
    model : Model
        The one chosen, or the average of models.
    selection : Selection
        How it was chosen.
    left_out : LeftOut or None
        Errors of rows left out, of all models; None where nobody left out rows of a streamed table.
    average : Model or None
        What the average of models would give.
    merit : dict of FiguresOfMerit
        By the rows they are of: "calibration", "cross-validation", "test".
    inference : CoefficientInference or None
        None where the data leave no noise level, or where it would take long.
    sigma : Interval or None
        Interval of the noise variance, None where it is not defined.
    unusual : OutlierTable or None
        How far rows are from the model; None for methods without scores.
    test : TestSet or None
    search : SearchCost or None
    permutation : PermutationTest or None
    remarks : tuple of Remark
        What is worth knowing, of the data first.
    created : str
        When (UTC, ISO 8601).

    Examples
    --------
    >>> from plsdof.datasets import load_gasoline
    >>> data = TableProblem.of(*load_gasoline(return_X_y=True, as_frame=True), response="octane")
    >>> found = analyse(data, Request(cv=10))
    >>> found.model.label, found.recipe["scaling"]
    ('... components', 'centred, not scaled')
    """

    request: Request
    data: Data
    model: Model
    selection: Selection
    left_out: LeftOut | None
    average: Model | None
    merit: dict[str, FiguresOfMerit]
    inference: CoefficientInference | None
    sigma: Interval | None
    unusual: OutlierTable | None
    test: TestSet | None
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
        order = self.path._simplest_first()
        if self.left_out is None:
            return order
        return order[order < max(len(self.left_out.rss), self.index + 1)]

    def at(self, index: int) -> Model:
        """Return the model in a row of the path, with the rows left out here."""
        if index == self.index and not self.model.is_average:
            return self.model
        return asked_for(self.path, index, self.left_out)

    def about(self, model: Model) -> About:
        """Return what there is to say about any model of the path, computed if it is not known.

        Fits without rows give standard errors of the chosen model only.
        """
        request, left, test = self.request, self.left_out, self.test
        if model is self.model:
            known = [one.text for one in self.remarks if one.kind in _NO_INTERVALS]
            inference, reason, sigma = self.inference, known[0] if known else "", self.sigma
            unusual, merit = self.unusual, self.merit
        else:
            if request.covariance == "jackknife":
                request = replace(request, covariance="homoscedastic")
            if test is not None:
                test = replace(test, predicted=model.intercept + test.X @ model.coef)
            inference, remark = _inference(self.data, request, model, left)
            reason = "" if remark is None else remark.text
            sigma, unusual = _sigma(model, request), None
            known_rows = left is not None and model.index < len(left.rss)
            merit = _merit(self.data, model, left if known_rows else None, test, None)
        return About(
            inference=inference,
            reason=reason,
            sigma=sigma,
            unusual=_unusual(self.data, model, request) if unusual is None else unusual,
            merit=merit,
            tested=None if test is None else test.predicted,
        )

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
    def noise_kind(self) -> str:
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
        if isinstance(data, TableProblem):
            X = np.asarray(data.X, dtype=np.float64)
            return Drawn(rows=data.rows, X=X, places=None, groups=data.groups)
        rows, chain = data.sample, data.preprocessing
        assert rows is not None
        assert data.places is not None
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
            "rows left out to validate": words.scheme_in_words(self.left_out, self.request.seed),
            "groups": grouped,
            "rows excluded": (", ".join(data.excluded) or "none") + dropped,
            "data": data.source or "arrays",
            "sha256": data.sha256(),
            "made": f"{self.created} by plsdof {__version__}",
        }

    def remark(self, kind: str) -> Remark | None:
        """Return the remark of a kind, None if there is none."""
        return next((one for one in self.remarks if one.kind == kind), None)


def noise_kind(left: LeftOut | None) -> str:
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
        summary=f"{path._label(index)} ({path.dof[index]:.2f} Degrees of Freedom): as asked for.",
        left_out=left,
    )


# From a request to an analysis
# -----------------------------


def analyse(data: Data, request: Request | None = None) -> Analysis:
    """Fit, leave rows out, choose, and add what was asked for.

    Parameters
    ----------
    data : TableProblem or StreamedProblem
        Preprocessed as the request says (`TableProblem.after`).
    request : Request, optional

    Returns
    -------
    Analysis

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> data = TableProblem.of(*load_ozone(return_X_y=True, as_frame=True), response="ozone")
    >>> analyse(data, Request(criterion="bic", rule="first-minimum")).reason
    '2 components, the first minimum of BIC (23.90; 25.13 before, 25.72 after).'
    """
    request = request or Request()
    with quietly():  # what there is to say becomes a remark
        search = None
        if request.select is not None and isinstance(data, TableProblem):
            most = request.max_components or _SEARCHED_COMPONENTS
            request = replace(request, max_components=most)
            search = _searched(data, request)
            data = data.only(search.found.support)
        path = fitted(data, request)
        left = left_out(data, request, path)
        selection, model = chosen(path, left, request)
        return _described(data, request, model, selection, left, search)


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
    given = path._require_rows()
    if path._is_dual:
        raise NotAvailableError(
            f"{path.recipe.method.label} has no coefficients of predictors to describe; look at "
            "its path, left_out() and predict_interval()."
        )
    data = TableProblem.of(
        given.X, given.y, response=response, labels=labels, groups=groups, source=source
    )
    data = replace(data, names=path.feature_names or data.names)
    chosen = found.selection
    request = Request(level=level, scale=bool(path.recipe.options.get("scale", True)))
    with quietly():
        left = found.left_out
        if chosen is None:
            found = asked_for(path, found.index, left)
            chosen = found.selection
        elif chosen.left_out is None:
            found = replace(asked_for(path, found.index, left), _prepare=found._prepare)
        assert chosen is not None
        return _described(data, request, found, chosen, left, None)


def scales(request: Request, data: Problem) -> bool:
    """Whether predictors are scaled: as asked for, else unless they are wavelengths."""
    return data.wavelengths is None if request.scale is None else request.scale


def fitted(data: Data, request: Request) -> Path:
    """Fit all models, however the table is read."""
    scale, sizes = scales(request, data), request.sizes(*data.shape)
    if isinstance(data, TableProblem):
        path = METHODS[request.method].recipe(scale=scale, **sizes).fit(data.X, data.y)
    else:
        fit: Callable[..., Path] = getattr(sources, f"{request.method}_path_from")
        path = fit(data.gram, scale=scale, **sizes)
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
        mean = path._average_left_out(left, "squared")
        assert mean.selection is not None
        return mean.selection, mean
    if request.wants(LEFT_OUT) and left is not None:
        selection = path._select_left_out(left, "squared")
        return selection, Model(path=path, index=selection.index, selection=selection)
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


def _described(
    data: Data,
    request: Request,
    model: Model,
    selection: Selection,
    left: LeftOut | None,
    search: SearchCost | None,
) -> Analysis:
    path = model.path
    average = None
    if left is not None:
        average = model if model.is_average else path._average_left_out(left, "squared")
    inference, reason = _inference(data, request, model, left)
    quick = reason is None or reason.kind != "no-std-errors"
    test = _tested(data, model)
    permutation = None
    if request.permutations is not None:
        permutation = permutation_test(path, n_permutations=request.permutations)
    said = [
        *words.data_remarks(data),
        *words.path_remarks(path, data.names, searched=search is not None),
        *([] if search is None else [Remark(kind="search", text=search.words)]),
        *selection.remarks,
        *words.stability_remarks(model),
        *words.edge_remarks(path, selection),
        *words.preprocessing_remarks(data, left_out=left is not None),
        *words.group_remarks(data, selection),
        *([] if reason is None else [reason]),
    ]
    return Analysis(
        request=request,
        data=data,
        model=model,
        selection=selection,
        left_out=left,
        average=average,
        merit=_merit(data, model, left, test, search),
        inference=inference,
        sigma=_sigma(model, request) if quick else None,
        unusual=_unusual(data, model, request) if quick else None,
        test=test,
        search=search,
        permutation=permutation,
        remarks=tuple({one.text: one for one in reversed(said)}.values())[::-1],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


# Rows left out
# -------------


def left_out(data: Data, request: Request, path: Path) -> LeftOut | None:
    """Leave rows out as asked for, with all that was learned from rows learned anew."""
    chain, asked = data.preprocessing, request.cv is not None or data.groups is not None
    if isinstance(data, StreamedProblem):
        return _left_out_of_blocks(data, request, path) if asked else None
    folds = None if request.cv is None else data.split(request.cv, request.seed)
    cv = None if folds is None else [(one.train, one.test) for one in folds]
    if chain is not None and chain.learns_from_rows:
        return _preprocessed_left_out(data, path, *path._folds(cv, data.groups))
    # All models are looked at if somebody says how many, or chooses otherwise.
    sized = request.max_components is not None or request.components is not None
    if not sized and request.criterion in (None, LEFT_OUT, AVERAGE):
        return path.select(cv=cv, groups=data.groups).left_out
    return path.left_out(cv, data.groups)


def _preprocessed_left_out(
    data: TableProblem, path: Path, fold: Numbers, count: int | None
) -> LeftOut:
    """Leave rows out with preprocessing that learns from the others."""
    from plsdof.chemometrics.preprocessing import Preprocessor

    assert data.preprocessing is not None
    rows, y = np.asarray(data.rows.X, dtype=np.float64), data.y
    residuals, recipe = np.empty((len(path), len(y))), path._same_models()
    for number in range(int(fold.max()) + 1):
        train, test = fold != number, fold == number
        chain = Preprocessor(data.preprocessing.steps)
        part = recipe.fit(chain.fit_transform(rows[train]), y[train])
        predicted = part.predict(chain.transform(rows[test]))
        # A fold that supports fewer models stands still.
        taken = np.minimum(np.arange(len(path)), len(predicted) - 1)
        residuals[:, test] = y[test] - predicted[taken]
    return _as_left_out(path, residuals, fold, y, count)


def _left_out_of_blocks(data: StreamedProblem, request: Request, path: Path) -> LeftOut:
    chain = data.preprocessing
    rows, prepare = data.changed, None
    if chain is not None and chain.learns_from_rows:
        rows, prepare = data.blocks, partial(_learned, steps=chain.steps)
    found = cross_validate_from(
        rows,
        request.method,
        cv=data.n_folds(10 if request.cv is None else request.cv),
        groups=data.groups,
        scale=scales(request, data),
        rng=request.seed,
        prepare=prepare,
        **_most(data, request, path),
    )
    fold = np.zeros(len(data.y), dtype=np.intp)
    for number, one in enumerate(found.folds):
        fold[one.test] = number
    count = None if data.groups is None else len(set(data.groups.tolist()))
    return _as_left_out(path, data.y - _predictions(found), fold, data.y, count)


def _most(data: StreamedProblem, request: Request, path: Path) -> dict[str, Any]:
    """Return how many components a fold supports at most."""
    if not request.counts_components:
        return {"alphas": path.parameters}
    largest = max(len(one.test) for one in data.split(request.cv or 10))
    return {"max_components": max(1, min(len(path), data.shape[0] - largest) - 1)}


def _predictions(found: CrossValidation) -> Array:
    assert found.predictions is not None
    return np.asarray(found.predictions[0])


def _learned(rows: Blocks, *, steps: str) -> Callable[[Array], Array]:
    from plsdof.chemometrics.preprocessing import Preprocessor

    change: Callable[[Array], Array] = Preprocessor(steps).fit_blocks(rows).transform
    return change


def _as_left_out(
    path: Path, residuals: Array, fold: Numbers, y: Array, count: int | None
) -> LeftOut:
    size = min(len(residuals), len(path))
    order = path._simplest_first()
    return LeftOut(
        parameters=path.parameters[:size],
        parameter_name=path.parameter_name,
        order=order[order < size],
        residuals=read_only(residuals[:size]),
        rss=path.rss[:size],
        fold=fold,
        y=y,
        groups=count,
        error=read_only(np.zeros(size)),
    )


# What is added to the choice
# ---------------------------


def _inference(
    data: Data, request: Request, model: Model, left: LeftOut | None
) -> tuple[CoefficientInference | None, Remark | None]:
    """Return intervals of the coefficients, or why there are none."""
    if isinstance(data, StreamedProblem):
        if not data.has_intervals:
            return None, words.too_large_for_intervals(data.shape[1])
        wanted = request.std_errors is not False
    else:
        wanted = min(data.shape) <= _LARGE if request.std_errors is None else request.std_errors
    if not wanted:
        return None, words.too_long_for_intervals()
    try:
        found = coefficient_inference(
            model, level=request.level, covariance=request.covariance, noise=noise_kind(left)
        )
    except NotAvailableError:
        return None, words.no_intervals(model.dof, float(model.path.exact.spectrum.n))
    return found, None


def _sigma(model: Model, request: Request) -> Interval | None:
    with contextlib.suppress(NotAvailableError):
        return noise_interval(model, level=request.level)
    return None


def has_scores(path: Path) -> bool:
    """Whether a path is one of plain PLS with components and rows enough for T^2 and Q."""
    # Of two rows each is judged by the other, which has no spread.
    return type(path) is PLSPath and len(path) > 1 and path.exact.spectrum.n >= 3


def _unusual(data: Data, model: Model, request: Request) -> OutlierTable | None:
    if not has_scores(model.path) or isinstance(data, StreamedProblem):
        return None
    with contextlib.suppress(NotAvailableError):
        # The limits are those that new rows are judged by.
        return outliers(model, level=request.level, limit="cross-validated")
    return None


def _tested(data: Data, model: Model) -> TestSet | None:
    if data.test is None:
        return None
    rows, chain = data.test, data.preprocessing
    X = rows.X if chain is None else rows.preprocessed(chain, fit=False)
    values = np.ascontiguousarray(np.asarray(X, dtype=np.float64))
    predicted = model.intercept + values @ model.coef
    return TestSet(rows=rows, X=read_only(values), predicted=read_only(predicted))


def _merit(
    data: Data,
    model: Model,
    left: LeftOut | None,
    test: TestSet | None,
    search: SearchCost | None,
) -> dict[str, FiguresOfMerit]:
    if isinstance(data, StreamedProblem):
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
