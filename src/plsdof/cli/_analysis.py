"""What ``plsdof fit`` computes and shows: a path, a cross-validation, a choice, inference."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from plsdof._core.averaging import Average
from plsdof._core.criteria import DOF_KINDS, Selection, criterion_label, rule_in_words, usual_noise
from plsdof._core.filters import PLSFilter
from plsdof._core.fit import METHODS, method_label
from plsdof._core.inputs import Array, as_choice, as_count, as_fraction, read_only
from plsdof._core.path import Path, PLSPath
from plsdof.chemometrics.merit import (
    HEADINGS,
    RMSE_NAMES,
    FiguresOfMerit,
    TestSet,
    figures_of_fit,
    figures_of_merit,
)
from plsdof.chemometrics.rows import hotelling_t2, q_residuals
from plsdof.cli._data import LEAVE_ONE_OUT, Folds, Problem, StreamedProblem, TableProblem
from plsdof.cli._options import CHOICES, DEFAULT_COMPONENTS
from plsdof.cli._terminal import (
    add_row,
    fixed,
    note,
    number,
    p_value,
    percent,
    plural,
    remark,
    safe,
    table,
)
from plsdof.errors import ConstantColumnWarning, InvalidInputError, NotAvailableError
from plsdof.files.columns import shortened
from plsdof.inference.intervals import (
    COVARIANCES,
    INTERVAL_METHODS,
    CoefficientInference,
    Interval,
    coefficient_inference,
    noise_interval,
)
from plsdof.inference.permutation import PermutationTest, permutation_test
from plsdof.large import sources
from plsdof.large.blocks import Blocks
from plsdof.large.cross_validation import cross_validate_from
from plsdof.selection.agreement import FEWEST_DOF, GROUPS_REMARK, UNSTABLE_REMARK, agreement
from plsdof.selection.cross_validation import CrossValidation, cross_validate
from plsdof.selection.stability import SelectionFrequency, selection_frequency

# What ``plsdof fit`` computes: a path, cross-validation, a choice, and inference for it
# --------------------------------------------------------------------------------------

_DEFAULT_FOLDS = 10
# Rows and columns from which on intervals of coefficients take longer than the fit.
_LARGE = 1000
# Largest model that a search of columns looks at, and how often it is done again to count its cost.
_SEARCHED_COMPONENTS, _SEARCH_DRAWS = 10, 50


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to compute, as asked for on the command line; checked once.

    Attributes
    ----------
    method, criterion : str
    rule, dof : str or None
    components, max_components : int or None
    folds : int, "loo" or None
    repeats : int
    seed : int or None
        Random folds, and how often.
    scale : bool
    level : float
    stability : bool
        Make the choice again on simulated responses.
    intervals, covariance : str
        How observations, and coefficients, are covered.
    permutations : int or None
        Number of permuted responses to compare with.
    preprocess : str
        Steps, as for `plsdof.chemometrics.Preprocessor`.
    select : str or None
        A search of columns, as for `plsdof.chemometrics.search_columns`.
    std_errors : bool or None
        Of coefficients, and an interval of the noise level; None means unless the table is large.
    """

    method: str = "pls"
    criterion: str = "gcv"
    rule: str | None = None
    dof: str | None = None
    components: int | None = None
    max_components: int | None = None
    folds: Folds | None = None
    repeats: int = 1
    seed: int | None = None
    scale: bool = True
    level: float = 0.95
    stability: bool = False
    intervals: str = "normal"
    covariance: str = "homoscedastic"
    permutations: int | None = None
    preprocess: str = "none"
    std_errors: bool | None = None
    select: str | None = None

    def checked(self) -> "Plan":
        """Refuse what cannot be done before a long computation starts."""
        as_choice(self.method, "--method", tuple(METHODS))
        as_choice(self.criterion, "--criterion", CHOICES)
        if self.dof is not None:
            as_choice(self.dof, "--dof", DOF_KINDS)
        as_fraction(self.level, "--level")
        as_choice(self.intervals, "--intervals", INTERVAL_METHODS)
        as_choice(self.covariance, "--covariance", COVARIANCES)
        if self.permutations is not None:
            as_count(self.permutations, "--permutations", minimum=19)
        check_steps(self.preprocess)
        self._check_search()
        for name, minimum in (("components", 0), ("max_components", 1)):
            value = getattr(self, name)
            if value is not None:
                as_count(value, f"--{name.replace('_', '-')}", minimum=minimum)
        if not _counts_components(self) and {self.components, self.max_components} != {None}:
            raise InvalidInputError(
                f"--components and --max-components do not apply to {self.method}, which has none."
            )
        if self.criterion == "average" and self.components is not None:
            raise InvalidInputError("--criterion average takes all models; leave out --components.")
        chosen_otherwise = self.criterion in ("cv", "average") or self.components is not None
        if self.stability and chosen_otherwise:
            raise InvalidInputError(
                "--stability makes the choice of a criterion again on simulated responses; it "
                "goes with --criterion gcv, bic, ..., and without --components."
            )
        return self

    def _check_search(self) -> None:
        if self.select is None:
            return
        from plsdof.chemometrics.search import parse_search

        try:
            parse_search(self.select)
        except InvalidInputError as error:
            raise InvalidInputError(f"--select {self.select[:40]}: {error}") from error
        for option, is_given in {
            "--no-scale": not self.scale,
            f"--criterion {self.criterion}": self.criterion in ("cv", "average"),
            f"--method {self.method}": self.method != "pls",
            "--stability": self.stability,
            "--permutations": self.permutations is not None,
        }.items():
            if is_given:
                raise InvalidInputError(f"--select does not go with {option}; leave one out.")

    @property
    def noise(self) -> str:
        """Kind of noise variance that goes with the Degrees of Freedom."""
        return usual_noise(self.dof or "smoothed")


@dataclass(frozen=True, kw_only=True, eq=False)
class Analysis:
    """Everything there is to say about one fit.

    Attributes
    ----------
    plan : Plan
    path : Path
    average : Average or None
        The average of all models, if that was asked for.
    selection : Selection
        ``scores`` has one entry per model of the path.
    cv : CrossValidation or None
    merit : dict of FiguresOfMerit
        By the rows they are of: "calibration", "cross-validation", "test".
    test : TestSet or None
    inference : CoefficientInference or None
        None where the data leave no noise level or no t distribution.
    sigma : Interval or None
        Interval of the noise variance, None where it is not defined.
    search : SearchCost or None
        What a search of columns found and costs.
    frequency : SelectionFrequency or None
        How often each model is chosen on simulated responses.
    permutation : PermutationTest or None
    notes : tuple of str
    """

    plan: Plan
    path: Path
    selection: Selection
    average: Average | None
    cv: CrossValidation | None
    merit: dict[str, FiguresOfMerit]
    test: TestSet | None
    inference: CoefficientInference | None
    sigma: Interval | None
    frequency: SelectionFrequency | None
    search: "SearchCost | None"
    permutation: PermutationTest | None
    notes: tuple[str, ...]

    @property
    def index(self) -> int:
        """Row of the chosen model; of an average the one with the largest weight."""
        return self.selection.index

    @property
    def answering(self) -> tuple[Path, int]:
        """What coefficients, noise level and predictions are taken from: a path and a row of it."""
        if self.average is not None:
            return self.average.path, 0
        return self.path, self.index

    @property
    def cv_error(self) -> Array | None:
        """Cross-validated mean squared error of every model, nan where unknown."""
        return None if self.cv is None else _padded(self.cv.mean_error, self.path)

    @property
    def cv_std_error(self) -> Array | None:
        """Standard error of `cv_error`."""
        return None if self.cv is None else _padded(self.cv.std_error, self.path)

    @property
    def rmsecv(self) -> Array | None:
        """Root of `cv_error`, in the unit of the response."""
        return None if self.cv_error is None else read_only(np.sqrt(self.cv_error))

    @property
    def rmsecv_of_choice(self) -> float | None:
        """`rmsecv` of the chosen model; not known of an average."""
        known = self.rmsecv is not None and self.average is None
        return float(self.rmsecv[self.index]) if known and self.rmsecv is not None else None

    @property
    def rmsecv_std_error(self) -> Array | None:
        """Standard error of `rmsecv`, by the delta method; nan where the error is zero."""
        if self.rmsecv is None or self.cv_std_error is None:
            return None
        twice = np.where(self.rmsecv > 0, 2 * self.rmsecv, np.nan)
        return read_only(self.cv_std_error / twice)

    @property
    def r_squared(self) -> float:
        """Share of the variance of the response that the chosen model explains."""
        path, index = self.answering
        total = path.spectrum.total
        return float(1 - path.rss[index] / total) if total > 0 else float("nan")


def check_steps(steps: str) -> None:
    """Refuse preprocessing that does not exist."""
    if steps == "none":  # what follows takes a second to import
        return
    from plsdof.chemometrics.preprocessing import parse_chain

    try:
        parse_chain(steps)
    except InvalidInputError as error:
        raise InvalidInputError(f"--preprocess {steps[:60]}: {error}") from error


def as_folds(text: str | None, criterion: str, groups: str | None) -> Folds | None:
    """Return what --cv asks for, or what --criterion cv and --groups need."""
    if text is None and (criterion == "cv" or groups is not None):
        return _DEFAULT_FOLDS
    if text is None:
        return None
    if text == LEAVE_ONE_OUT:
        return LEAVE_ONE_OUT
    if not text.isdecimal() or len(text) > 9:
        raise InvalidInputError(
            f"--cv must be a number of folds >= 2, or {LEAVE_ONE_OUT}; got {text[:40]!r}."
        )
    return as_count(int(text), "--cv", minimum=2)


def analyse(problem: TableProblem | StreamedProblem, plan: Plan) -> Analysis:
    """Fit, cross-validate if asked to, choose, infer; collect warnings as notes."""
    plan = plan.checked()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search = None
        if plan.select is not None and isinstance(problem, TableProblem):
            search = _searched(problem, plan)
            problem = problem.only(search.found.support)
        path = _fit(problem, plan)
        wants_cv = plan.folds is not None and search is None
        cv = _cross_validate(problem, plan, path) if wants_cv else None
        average = path.average(plan.dof or "smoothed") if plan.criterion == "average" else None
        selection = _select(path, cv, plan) if average is None else average.selection
        answering = (path, selection.index) if average is None else (average.path, 0)
        inference, reason = _infer(problem, *answering, plan)
        sigma = _sigma(*answering, plan) if _wants_intervals(problem, plan) else None
        test = _tested(problem, *answering)
        frequency = _again(path, plan) if plan.stability else None
        permutation = None
        if plan.permutations is not None:
            permutation = permutation_test(path, n_permutations=plan.permutations)
    notes = [
        str(one.message)
        for one in caught
        # Columns that a search leaves out do not vary any more.
        if search is None or not issubclass(one.category, ConstantColumnWarning)
    ]
    notes += [] if search is None else [search.words]
    if cv is not None:
        notes += [cv.message, *problem.cross_validation_notes]
    notes += preprocessing_notes(problem, cross_validated=cv is not None)
    notes += [reason, _at_the_edge(path, selection, plan)]
    notes += [] if cv is None or average is not None else agreement(path, selection, cv)
    if problem.groups is not None:
        notes.append(GROUPS_REMARK)
    return Analysis(
        plan=plan,
        path=path,
        selection=selection,
        average=average,
        cv=cv,
        merit=_merit(problem, *answering, None if average is not None else cv, test, search),
        test=test,
        inference=inference,
        sigma=sigma,
        frequency=frequency,
        search=search,
        permutation=permutation,
        notes=tuple(dict.fromkeys(text for text in notes if text)),
    )


def preprocessing_notes(problem: Problem, *, cross_validated: bool) -> list[str]:
    """Say what preprocessing means for Degrees of Freedom and for cross-validation."""
    chain = problem.preprocessing
    if chain is None:
        return []
    text = (
        f"Preprocessed by {chain.steps}. No step looks at {shortened(problem.response)}, so the "
        "Degrees of Freedom are exact."
    )
    if cross_validated and chain.learns_from_rows:
        text += " What the steps learn from rows, they learned anew in every fold."
    gap = _gap(problem.wavelengths) if chain.goes_along_columns else None
    if gap is not None:
        text += (
            f" There is a gap between {problem.names[gap]} and {problem.names[gap + 1]}, which "
            "derivatives and smoothing take for neighbours."
        )
    return [text]


def _gap(wavelengths: Array | None) -> int | None:
    """Return the place before the widest step, if it is wider than those beside it by far.

    Examples
    --------
    >>> _gap(np.array([900.0, 902, 904, 950, 952])), _gap(np.array([900.0, 902, 904, 907]))
    (2, None)
    """
    if wavelengths is None or len(wavelengths) < 4:
        return None
    steps = np.abs(np.diff(wavelengths))
    widest = int(np.argmax(steps))
    beside = np.delete(steps, widest)[max(0, widest - 1) : widest + 1]
    return widest if steps[widest] > 1.9 * beside.max() else None


def _tested(problem: Problem, path: Path, index: int) -> TestSet | None:
    if problem.test is None:
        return None
    rows, chain = problem.test, problem.preprocessing
    X = rows.X if chain is None else rows.preprocessed(chain, fit=False)
    values = np.ascontiguousarray(X.to_numpy())
    has_scores = type(path) is PLSPath and isinstance(path.filter, PLSFilter)
    scored = path if has_scores and index > 0 else None
    return TestSet(
        source=rows.source,
        X=read_only(values),
        observed=read_only(rows.y),
        predicted=read_only(path.intercept[index] + values @ path.coef[index]),
        row_numbers=rows.numbers,
        labels=rows.labels,
        t2=None if scored is None else hotelling_t2(scored, index, X).values,
        q=None if scored is None else q_residuals(scored, index, X).values,
    )


def _merit(
    problem: TableProblem | StreamedProblem,
    path: Path,
    index: int,
    cv: CrossValidation | None,
    test: TestSet | None,
    search: "SearchCost | None",
) -> dict[str, FiguresOfMerit]:
    if isinstance(problem, StreamedProblem):
        found = {"calibration": figures_of_fit(path, index, problem.y)}
    else:
        found = {"calibration": figures_of_merit(problem.y, path.fitted[index])}
    if cv is not None and cv.predictions is not None and index < len(cv.parameters):
        found["cross-validation"] = figures_of_merit(problem.y, cv.predictions[0, index])
    if search is not None and search.predictions is not None:
        found["cross-validation"] = figures_of_merit(problem.y, search.predictions)
    if test is not None:
        found["test"] = test.merit
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchCost:
    """What a search of columns found, and what it costs.

    Attributes
    ----------
    found : Search
    dof : DegreesOfFreedom
        Of the whole search, by Monte Carlo.
    predictions : (n,) array or None
        Of rows left out, with the whole search in every fold.
    words : str
    """

    found: Any
    dof: Any
    predictions: Array | None
    words: str


def _searched(problem: TableProblem, plan: Plan) -> SearchCost:
    """Search, count the Degrees of Freedom of the search, and cross-validate all of it."""
    from plsdof.chemometrics.search import SelectedPLSRegressor, search_columns, searching
    from plsdof.complexity.regressors import degrees_of_freedom

    assert plan.select is not None
    most = plan.max_components or _SEARCHED_COMPONENTS
    options: dict[str, Any] = {"criterion": plan.criterion, "max_components": most}
    X = problem.X.to_numpy()
    found = search_columns(X, problem.y, plan.select, **options)
    whole = degrees_of_freedom(
        SelectedPLSRegressor(plan.select, **options), X, problem.y, n_draws=_SEARCH_DRAWS
    )
    predictions = None
    if plan.folds is not None:
        fit = searching(plan.select, **options)
        chain = problem.preprocessing
        rows = X
        if chain is not None and chain.learns_from_rows:
            rows, fit = problem.rows.X.to_numpy(), _chained(chain.steps, fit)
        cv = cross_validate(
            rows, problem.y, fit, cv=problem.n_folds(plan.folds), groups=problem.groups
        )
        assert cv.predictions is not None
        predictions = cv.predictions[0, 0]
    words = _words_of_search(plan.select, found, whole, problem.y)
    if predictions is not None:
        merit = figures_of_merit(problem.y, predictions)
        words += (
            f" Cross-validation repeats the search in every fold: RMSECV {number(merit.rmse)}, "
            f"Q2 {number(merit.r2)}."
        )
    return SearchCost(found=found, dof=whole, predictions=predictions, words=words)


def _words_of_search(search: str, found: Any, whole: Any, y: Array) -> str:
    """Say what a search found, and how much better that looks than it is."""
    n, rss, fixed = len(y), float(found.path.rss[found.index]), float(found.path.dof[found.index])
    kept, total = int(found.support.sum()), len(found.support)
    words = (
        f"Selected by {search}: {found.labels[found.chosen]}, {kept} of {total}. All numbers but "
        "those of cross-validation and test take these columns as given. So do the Degrees of "
        f"Freedom ({fixed:.1f}); with the search they are {whole.value:.1f} (standard error "
        f"{whole.std_error:.1f}, by Monte Carlo)."
    )
    left = n - whole.value
    if left <= 0:
        return f"{words} That leaves nothing to tell the noise level by."
    gcv, without = n * rss / left**2, n * float(np.sum((y - y.mean()) ** 2)) / (n - 1) ** 2
    words += (
        f" With these, sigma is {number(np.sqrt(rss / left))} and GCV {number(gcv)}; without "
        f"predictors GCV is {number(without)}."
    )
    return f"{words} Nothing was found that predicts." if gcv >= without else words


def _chained(steps: str, fit: Callable[..., Any]) -> Callable[..., Any]:
    from plsdof.chemometrics.preprocessing import preprocessed

    return preprocessed(steps, fit)


def default_components(n: int, p: int, limit: int | None = None) -> int:
    """Return the largest model to look at: ``limit``, 30 by default, if the table has as many."""
    return max(1, min(limit or DEFAULT_COMPONENTS, n - 1, p))


def _counts_components(plan: Plan) -> bool:
    return METHODS[plan.method].size == "max_components"


def select_by(
    path: Path, criterion: str, *, dof: str | None = None, rule: str | None = None
) -> Selection:
    """Choose a model of a path, or say that the criterion cannot."""
    try:
        return path.select(criterion, dof, rule=rule)
    except NotAvailableError as error:
        raise InvalidInputError(
            f"--criterion {criterion} is not defined here: the table has too few rows for its "
            "predictors to tell the noise level. Choose another one, such as cv."
        ) from error


def _again(path: Path, plan: Plan) -> SelectionFrequency:
    return selection_frequency(path, plan.criterion, dof=plan.dof, rule=plan.rule)


def _fit(problem: TableProblem | StreamedProblem, plan: Plan) -> Path:
    most = plan.max_components or default_components(*problem.shape)
    most = most if plan.components is None else max(most, plan.components)
    sizes = {"max_components": most} if _counts_components(plan) else {}
    path = fit_problem(problem, plan.method, scale=plan.scale, **sizes)
    if plan.components is not None and plan.components >= len(path.dof):
        raise InvalidInputError(
            f"--components {plan.components}: the table supports {len(path.dof) - 1} at most. "
            f"{path.message}"
        )
    return path


def fit_problem(
    problem: TableProblem | StreamedProblem, method: str, *, scale: bool, **sizes: Any
) -> Path:
    """Fit a method to a problem, however its table is read."""
    options = METHODS[method].sized(float(problem.shape[0]), scale=scale, **sizes).keywords
    if method == "ridge":  # penalties that were not asked for follow the eigenvalues
        options["alphas"] = sizes.get("alphas")
    if isinstance(problem, TableProblem):
        return METHODS[method].path(problem.X, problem.y, **options)
    fit: Callable[..., Path] = getattr(sources, f"{method}_path_from")
    return fit(problem.gram, **options)


def _cross_validate(
    problem: TableProblem | StreamedProblem, plan: Plan, path: Path
) -> CrossValidation:
    assert plan.folds is not None
    limits: dict[str, Any] = {}
    if _counts_components(plan):
        # A fold cannot support more components than it has training rows less one.
        most = max(len(fold.test) for fold in problem.split(plan.folds))
        limits["max_components"] = max(1, min(len(path.dof), problem.shape[0] - most) - 1)
    is_random = plan.folds != LEAVE_ONE_OUT
    return cross_validate_problem(
        problem,
        plan.method,
        plan.folds,
        scale=plan.scale,
        repeats=plan.repeats if is_random else 1,
        seed=plan.seed if is_random else None,
        limits=limits,
    )


def cross_validate_problem(
    problem: TableProblem | StreamedProblem,
    method: str,
    folds: Folds,
    *,
    scale: bool,
    repeats: int = 1,
    seed: int | None = None,
    limits: Mapping[str, Any],
) -> CrossValidation:
    """Cross-validate a method; a chain that learns from rows is fitted anew in every fold."""
    how: dict[str, Any] = {
        "cv": problem.n_folds(folds),
        "groups": problem.groups,
        "repeats": repeats,
        "random_state": seed,
    }
    chain = problem.preprocessing
    if isinstance(problem, StreamedProblem):
        rows, prepare = problem.changed, None
        if chain is not None and chain.learns_from_rows:
            rows, prepare = problem.blocks, partial(_prepared, steps=chain.steps)
        return cross_validate_from(rows, method, scale=scale, prepare=prepare, **how, **limits)
    validate: Callable[..., CrossValidation] = partial(cross_validate, **how)
    if chain is None or not chain.learns_from_rows:
        return validate(problem.X, problem.y, method, scale=scale, **limits)
    from plsdof.chemometrics.preprocessing import preprocessed

    if method == "ridge" and limits.get("alphas") is None:
        whole = METHODS[method].path(problem.X, problem.y, scale=scale)
        limits = {**limits, "alphas": whole.parameters}
    fit = METHODS[method].sized(float(len(problem.y)), scale=scale, **limits)
    return validate(problem.rows.X, problem.y, preprocessed(chain.steps, fit))


def _prepared(rows: Blocks, *, steps: str) -> Callable[[Array], Array]:
    from plsdof.chemometrics.preprocessing import Preprocessor

    change: Callable[[Array], Array] = Preprocessor(steps).fit_blocks(rows).transform
    return change


def _select(path: Path, cv: CrossValidation | None, plan: Plan) -> Selection:
    if plan.criterion == "cv":
        assert cv is not None
        chosen = cv.select(rule=plan.rule or "minimum")
        chosen = replace(chosen, scores=_padded(chosen.scores, path))
    else:
        chosen = select_by(path, plan.criterion, dof=plan.dof, rule=plan.rule)
    if plan.components is None:
        return chosen
    return replace(
        chosen,
        index=plan.components,
        parameter=float(plan.components),
        rule="given",
        remarks=(),  # they are about another model
        message=f"{plan.components} components asked for "
        f"({path.dof[plan.components]:.2f} Degrees of Freedom).",
    )


def _infer(
    problem: TableProblem | StreamedProblem, path: Path, index: int, plan: Plan
) -> tuple[CoefficientInference | None, str]:
    if isinstance(problem, StreamedProblem) and not problem.has_intervals:
        return None, f"No intervals: {problem.why_no_intervals}"
    if not _wants_intervals(problem, plan):
        reason = "they take longer than the fit of so large a table; add --std-errors."
        return None, "" if plan.std_errors is False else f"No standard errors: {reason}"
    try:
        found = coefficient_inference(
            path, index, level=plan.level, noise=plan.noise, covariance=plan.covariance
        )
        return found, ""
    except NotAvailableError:
        n, dof = path.spectrum.n, float(path.dof[index])
        return None, (
            f"No intervals: the model has {dof:.1f} Degrees of Freedom for {n:g} rows, which "
            "leaves too little to estimate the noise from. Choose a simpler one."
        )


def _wants_intervals(problem: TableProblem | StreamedProblem, plan: Plan) -> bool:
    """Whether to compute what needs all directions of X, and not only those of the fit."""
    if plan.std_errors is not None:
        return plan.std_errors
    return isinstance(problem, StreamedProblem) or min(problem.shape) <= _LARGE


def _sigma(path: Path, index: int, plan: Plan) -> Interval | None:
    if plan.noise != "jacobian":
        return None
    try:
        interval = noise_interval(path, index, level=plan.level)
    except NotAvailableError:
        return None
    return interval


def _at_the_edge(path: Path, selection: Selection, plan: Plan) -> str:
    last = int(path.simplest_first()[-1])
    if selection.index != last or selection.rule == "given" or len(path.dof) < 3:
        return ""
    if not _counts_components(plan):
        return "The smallest penalty was chosen; least squares may do as well."
    if path.message or last >= min(path.spectrum.rank, path.spectrum.n - 1):
        return ""
    return "The largest model was chosen; allow larger ones with --max-components."


def _padded(values: Array, path: Path) -> Array:
    """Give models that not every fold supports the value nan."""
    padded = np.full(len(path.dof), np.nan)
    padded[: len(values)] = values
    return read_only(padded)


# What ``plsdof fit`` prints
# --------------------------

_MOST_MODELS = 16
_MOST_COEFFICIENTS = 10
_FEW_COEFFICIENTS = 15


def show_fit(screen: Console, problem: Problem, analysis: Analysis, *, verbose: bool) -> None:
    """Print path, choice, noise level and coefficients."""
    screen.print(heading(problem), style="bold")
    if verbose:
        screen.print(f"Read as {safe(problem.described)}; solver {analysis.path.solver}.")
    screen.print()
    screen.print(_path_table(analysis, verbose))
    screen.print()
    remark(screen, "Choice", why(analysis))
    if analysis.frequency is not None:
        remark(screen, "Stability", f"{analysis.frequency.message}.")
    if analysis.permutation is not None:
        remark(screen, "Permutations", analysis.permutation.message)
    remark(screen, "Noise", noise_sentence(analysis))
    note(screen, (*problem.notes, *analysis.notes))
    if analysis.merit:
        screen.print()
        screen.print(merit_table(analysis.merit, analysis.rmsecv_of_choice))
    if analysis.inference is not None and not _is_empty(analysis):
        screen.print()
        screen.print(_coefficient_table(problem, analysis, verbose))


def merit_table(merit: Mapping[str, FiguresOfMerit], by_fold: float | None = None) -> Table:
    """Return figures of merit as a table: one column for each set of rows.

    Where the error by folds, ``by_fold``, differs, the caption says why.
    """
    made = table("Figures of merit", ("", *merit), text_columns=1)
    add_row(made, ["rows", *(str(one.n) for one in merit.values())])
    for name, label, _ in HEADINGS:
        add_row(made, [label, *(number(getattr(one, name)) for one in merit.values())])
    names = ", ".join(RMSE_NAMES[one] for one in merit)
    made.caption = f"RMSE: {names}. RPD and RPIQ are spreads of the measured values by SEP."
    pooled = merit["cross-validation"].rmse if "cross-validation" in merit else None
    if pooled is not None and by_fold is not None and number(pooled) != number(by_fold):
        made.caption += " RMSECV is over all rows together here; above, it is averaged over folds."
    made.caption_justify = "left"
    return made


def merit_sentence(rows: str, merit: FiguresOfMerit) -> str:
    """Return figures of merit as a sentence."""
    names = {"rmse": RMSE_NAMES[rows]}
    shown = [
        f"{names.get(name, label)} {number(getattr(merit, name))}" for name, label, _ in HEADINGS
    ]
    return f"{', '.join(shown)}, over {plural(merit.n, 'row')} with a known response."


def criterion_name(name: str) -> str:
    """Return a criterion as a heading shows it."""
    return "RMSECV" if name.startswith("cv") else criterion_label(name)


def why(analysis: Analysis) -> str:
    """Say which model was chosen, why, and what it costs."""
    if analysis.average is not None:
        words = analysis.selection.message
        return f"{words[0].upper()}{words[1:]}"
    path, chosen = analysis.path, analysis.selection
    what = path.label(chosen.index)
    dof, naive = path.dof[chosen.index], path.naive_dof[chosen.index]
    cost = f" It uses {dof:.2f} Degrees of Freedom"
    std_error = path.dof_std_error[chosen.index]
    if std_error > 0:
        cost += f" (standard error {number(float(std_error), 2)})"
    if abs(dof - naive) > 0.01:
        cost += f", not the {naive:.0f} that counting components gives"
    if _is_empty(analysis):
        cost = " It is the mean of the response"
        cost += "" if chosen.rule == "given" else ": no predictor is worth its cost"
    # What lies at the edge is a note, with the option that helps.
    doubts = [text for text in chosen.remarks if "last model" not in text]
    if dof < FEWEST_DOF:
        doubts.insert(0, UNSTABLE_REMARK)
    return " ".join([f"{what}, {_reason(analysis)}.{cost}.", *doubts])


def _is_empty(analysis: Analysis) -> bool:
    is_counted = analysis.path.parameter_name == "n_components" and analysis.average is None
    return is_counted and analysis.index == 0


def _reason(analysis: Analysis) -> str:
    chosen = analysis.selection
    name = criterion_name(chosen.criterion)
    words = rule_in_words(chosen.rule, name)
    return words if chosen.rule == "given" else words + _neighbours(analysis)


def _neighbours(analysis: Analysis) -> str:
    order = analysis.path.simplest_first().tolist()
    place = order.index(analysis.index)
    scores = analysis.selection.scores[order]
    if analysis.selection.criterion.startswith("cv"):
        scores = np.sqrt(scores)  # squared errors become RMSECV
    around = []
    if place > 0:
        around.append(f"{number(scores[place - 1])} before")
    if place + 1 < len(order):
        around.append(f"{number(scores[place + 1])} after")
    return f" ({number(scores[place])}; {', '.join(around)})" if around else ""


def noise_sentence(analysis: Analysis) -> str:
    """Say how large the noise is, and how well the model fits."""
    path, index = analysis.answering
    variance = path.noise_at(index, analysis.plan.noise)
    text = f"sigma = {number(float(np.sqrt(variance)))}"
    if analysis.sigma is not None:
        low, high = np.sqrt([analysis.sigma.lower[0], analysis.sigma.upper[0]])
        text += f" ({percent(analysis.plan.level)} interval {number(low)} to {number(high)})"
    elif analysis.plan.noise == "naive":
        text += " (residual sum of squares by n - m - 1; no interval)"
    return f"{text}; the model explains {100 * analysis.r_squared:.1f}% of the variance."


def shown_rows(order: Sequence[int], chosen: int, *, evenly: bool, verbose: bool) -> list[int]:
    """Return the places in the path that a short table shows: the start, the choice, the end."""
    size = len(order)
    if verbose or size <= _MOST_MODELS:
        return list(range(size))
    place = list(order).index(chosen)
    if evenly:
        start = np.linspace(0, size - 1, _MOST_MODELS - 4).round().astype(int).tolist()
    else:
        start = list(range(max(4, _MOST_MODELS - 4)))
    near = range(max(0, place - 2), min(size, place + 3))
    return sorted({*start, *near, size - 1})


def heading(problem: Problem) -> str:
    """Say what is predicted from what."""
    rows, p = problem.shape
    axis = problem.wavelengths
    what = plural(p, "predictor")
    if axis is not None:
        what = f"{plural(p, 'wavelength')} ({axis[0]:g} to {axis[-1]:g})"
    source = safe(FilePath(problem.source).name or problem.source, 40)
    return f"{safe(problem.response, 40)} from {what}; {plural(rows, 'row')} of {source}"


def _path_table(analysis: Analysis, verbose: bool) -> Table:
    path, chosen = analysis.path, analysis.selection
    ridge = path.parameter_name == "alpha"
    headings = ["alpha" if ridge else "m", "DoF"]
    headings += ["+- se"] if path.dof_std_error.any() else []
    headings += ["RSS", "sigma"]
    by_cv = chosen.criterion.startswith("cv")
    headings += [] if by_cv else [criterion_name(chosen.criterion)]
    headings += [] if analysis.cv is None else ["RMSECV", "+- se"]
    made = table(f"{method_label(analysis.plan.method)}, model by model", [*headings, ""])
    order = path.simplest_first().tolist()
    places = shown_rows(order, chosen.index, evenly=ridge, verbose=verbose)
    columns = _path_columns(analysis, path, by_cv)
    for position, place in enumerate(places):
        if position and place > places[position - 1] + 1 and not ridge:
            add_row(made, ["..."])
        row = order[place]
        label = f"{path.parameters[row]:.4g}"
        mark = "<- chosen" if row == chosen.index else ""
        add_row(made, [label, *(one[row] for one in columns), mark], chosen=bool(mark))
    remarks = []
    if len(places) < len(order):
        remarks.append(f"{len(places)} of {len(order)} models; --verbose shows all.")
    if analysis.cv is not None:
        remarks.append("RMSECV: root mean squared error of rows left out, by cross-validation.")
    remarks.append("X held fixed; sigma counts what a model leaves out as noise.")
    made.caption = " ".join(remarks)
    made.caption_justify = "left"
    return made


def _path_columns(analysis: Analysis, path: Path, by_cv: bool) -> list[list[str]]:
    sigma = np.sqrt(path.noise_variance(analysis.plan.noise))
    columns = [[fixed(one) for one in path.dof]]
    columns += [_numbers(path.dof_std_error, 2)] if path.dof_std_error.any() else []
    columns += [_numbers(values) for values in (path.rss, sigma)]
    if not by_cv:
        columns.append(_numbers(analysis.selection.scores))
    if analysis.rmsecv is not None and analysis.rmsecv_std_error is not None:
        columns += [_numbers(analysis.rmsecv), _numbers(analysis.rmsecv_std_error, 2)]
    return columns


def _numbers(values: Array, digits: int = 4) -> list[str]:
    return [number(float(value), digits) for value in values]


def _coefficient_table(problem: Problem, analysis: Analysis, verbose: bool) -> Table:
    result = analysis.inference
    assert result is not None
    p = len(result.coef)
    most = p if verbose or p <= _FEW_COEFFICIENTS else _MOST_COEFFICIENTS
    title = f"Coefficients with {percent(result.level)} intervals, largest |t| first"
    made = table(
        title, ("predictor", "coef", "std error", "lower", "upper", "t", "p"), text_columns=1
    )
    for i in np.argsort(-np.abs(result.statistic), kind="stable")[:most]:
        values = (result.coef[i], result.std_error[i], result.lower[i], result.upper[i])
        cells = [number(float(value)) for value in values]
        tested = [fixed(float(result.statistic[i])), p_value(float(result.p_value[i]))]
        add_row(made, [safe(problem.names[i], 24), *cells, *tested])
    more = f"{most} of {p} predictors; --verbose shows all. " if most < p else ""
    made.caption = more + result.assumptions
    made.caption_justify = "left"
    return made
