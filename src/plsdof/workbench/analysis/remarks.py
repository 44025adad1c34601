"""What an analysis says in words: sentences about the choice, and remarks of several kinds.

A way of showing an analysis may add a hint to a remark, such as the option of a command line that
helps; it looks at the key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from scipy.special import bdtr, fdtrc, stdtr

from plsdof._core.choice import LEFT_OUT, Selection, capped_remark, recipe_in_words
from plsdof._core.criteria import criterion_label
from plsdof._core.display import model_in_words, p_in_words, plural, significant
from plsdof._core.dof_range import DofRange
from plsdof._core.inputs import Array
from plsdof._core.left_out import LEAVE_ONE_OUT_UP_TO, USUAL_FOLDS, LeftOut
from plsdof._core.model import Mixture, Model
from plsdof._core.objective import chosen_without, objective
from plsdof._core.path import Path
from plsdof._core.remarks import Remark, Severity
from plsdof._core.standardize import constant_columns_text
from plsdof.chemometrics.data_checks import dependence_remarks
from plsdof.chemometrics.merit import FiguresOfMerit
from plsdof.models.files import model_checksum
from plsdof.models.predictor import Predictor
from plsdof.workbench.analysis.data import Numbers, Rows, TableProblem, TestSet, sha256_of
from plsdof.workbench.analysis.request import Request
from plsdof.workbench.analysis.result import in_text
from plsdof.workbench.tables.columns import in_ranges, shortened

# Wavelengths have a gap where a step is so many times those beside it.
_GAP = 1.9


def percent(level: float) -> str:
    """Return a level as a percentage.

    Examples
    --------
    >>> percent(0.95)
    '95%'
    """
    return f"{100 * level:g}%"


# Sentences
# ---------


def neighbours(path: Path, selection: Selection) -> str:
    """Return the score of the choice and of its neighbours, where a criterion chose."""
    if selection.rule == "given" or selection.criterion == LEFT_OUT:
        return ""
    order = path.simplest_first().tolist()
    place = order.index(selection.index)
    scores = selection.scores[order]
    around = [f"{significant(scores[place - 1])} before"] if place > 0 else []
    around += [f"{significant(scores[place + 1])} after"] if place + 1 < len(order) else []
    return f" ({significant(scores[place])}; {', '.join(around)})" if around else ""


def best_single(model: Model, selection: Selection) -> tuple[str, float]:
    """Return the single model that would be chosen, and its error, chosen again in every fold."""
    # The first of nested pools chooses single models.
    most = len(selection.pools[0]) if selection.pools else None
    pool = selection.pool[:most] or (model.left_out,)
    recipe, best = objective(pool, selection.loss).best_vertex()
    left, name = pool[recipe], selection.recipes[recipe] if selection.recipes else ""
    single = model_in_words(float(left.parameters[best]), left.parameter_name)
    error = left.root_mean_square(chosen_without(pool, selection.loss).residuals)
    return ", ".join(filter(None, [recipe_in_words(name), single])), error


def steps_and_scaling(recipe: str) -> tuple[str, bool]:
    """Return the preprocessing steps of a recipe, and whether it scales.

    Examples
    --------
    >>> steps_and_scaling("scale"), steps_and_scaling("savgol:11:2:1")
    (('none', True), ('savgol:11:2:1', False))
    """
    steps = recipe.split(",")
    return ",".join(word for word in steps if word != "scale") or "none", "scale" in steps


def recipe_errors(selection: Selection) -> dict[str, LeftOut]:
    """Return the held-out rows of every recipe of a pool, by its name; nothing without a pool."""
    return dict(zip(selection.recipes, selection.pool, strict=False))


def mixed_in_words(model: Model) -> dict[str, str]:
    """Return the shares of recipes in an average over them, as a fact for the record."""
    if not isinstance(model, Mixture):
        return {}
    assert model.selection is not None
    assert model.selection.weights is not None
    shares = {name: float(w.sum()) for name, w in model.selection.weights.items()}
    order = sorted((one for one in shares if shares[one] > 0), key=lambda one: -shares[one])
    return {"average over": ", ".join(f"{name} {shares[name]:.0%}" for name in order)}


def test_in_words(test: TestSet) -> str:
    """Say how well the rows of a test are predicted, and how many intervals hold."""
    merit, inside = test.merit, test.inside
    rmsep, bias = (in_text(getattr(merit, k), merit.std_errors[k]) for k in ("rmse", "bias"))
    text = f"RMSEP {rmsep} of {plural(merit.n, 'row')}, bias {bias}"
    if test.interval is None:
        return f"{text}."
    level = f"{100 * test.interval.level:g}%"
    return f"{text}; {inside} of {merit.n} values lie in their {level} prediction intervals."


def scaling_in_words(scale: bool) -> str:
    """Say what is done to the columns."""
    return "centred and scaled to unit variance" if scale else "centred, not scaled"


def scheme_in_words(fold: Numbers, groups: int | None = None, seed: int | None = None) -> str:
    """Say which rows were held out together, by the fold of each row and the number of groups.

    Examples
    --------
    >>> scheme_in_words(np.arange(203) % 10), scheme_in_words(np.array([0, 1, 2, 1, 0]))
    ('10 folds, row i in fold i modulo 10', '3 folds')
    """
    folds, n = int(fold.max()) + 1, len(fold)
    if groups is not None:
        if folds == groups:
            return f"one of {groups} groups at a time"
        return f"{folds} folds of {groups} groups, each group in one fold"
    if folds == n:
        return "one row at a time"
    if seed is not None:
        return f"{folds} random folds, seed {seed}"
    if np.all(np.diff(fold) >= 0):
        return f"{folds} folds of consecutive rows"
    dealt = np.array_equal(fold, np.arange(n) % folds)
    return f"{folds} folds" + f", row i in fold i modulo {folds}" * dealt


def rows_tested_in_words(test: Rows | None, how: str) -> str:
    """Say which rows were kept apart for the test, as --test-rows takes them; or their file.

    Examples
    --------
    >>> from plsdof.workbench.analysis.data import TableProblem
    >>> from plsdof.datasets import load_gasoline
    >>> rows = TableProblem.of(*load_gasoline(return_X_y=True, as_frame=True)).rows
    >>> rows_tested_in_words(rows.take(np.arange(60) != 1), "last:0.98")
    '1,3:60 (last:0.98)'
    """
    if test is None:
        return "none"
    if not how:
        return test.source
    return f"{in_ranges(test.numbers.tolist())} ({how})"


def recorded(
    data: TableProblem, request: Request, *, method: str, held_out: str, created: str
) -> dict[str, str]:
    """Return how an analysis was made, and who decided what nobody asked for."""
    decided = "by default" if request.scale is None else "as asked for"
    if data.recipe:
        decided = "chosen by cross-validation"
    gone = [*data.excluded, *[f"{data.dropped} with missing values"] * bool(data.dropped)]
    by_itself = request.cv is None and held_out
    return {
        "method": method,
        "scaling": f"{scaling_in_words(request.scales)} ({decided})",
        "preprocessing": request.preprocess,
        "held-out rows to validate": f"{held_out or 'none'}{' (by default)' * bool(by_itself)}",
        "groups": "none" if data.groups is None else data.grouped_by or "given",
        "rows excluded": ", ".join(gone) or "none",
        "test rows": rows_tested_in_words(data.test, data.tested_by),
        "data": data.source or "arrays",
        "sha256": data.sha256(),
        "made": made(created),
        "read as": data.described,
    }


def used(model: Predictor, source: str) -> dict[str, str]:
    """Return which model was used for which rows, and when, for the record."""
    date = f", of {model.created[:10]}" * bool(model.created)
    found = {
        "model": f"{model_checksum(model)}{date}",
        "data": source,
        "sha256": sha256_of([source]),
        "made": made(datetime.now(UTC).isoformat(timespec="seconds")),
    }
    return {name: text for name, text in found.items() if text}


def made(created: str) -> str:
    """Say when something was made, and by what."""
    from plsdof import __version__

    return f"{created} by plsdof {__version__}"


def usual_scheme() -> str:
    """Say how rows are held out unless a request does."""
    return f"one by one up to {LEAVE_ONE_OUT_UP_TO} rows, else every {USUAL_FOLDS}th row together"


# Remarks
# -------

_TEXTS = {
    "unstable": "It has {dof:.2f} Degrees of Freedom, fewer than the mean: small changes of the "
    "response would change the components.",
    "dof-range": "How many Degrees of Freedom the model uses depends on the noise: {value:.1f} for "
    "this response, {lower:.1f} to {upper:.1f} for most of {draws} responses with other noise of "
    "the same level. Rely on the range, not on the number.",
    "preprocessing": "Preprocessed by {steps}. No step looks at {response}, so the Degrees of "
    "Freedom are exact.{learned}",
    "supervised": "Preprocessed by {steps}, which looks at {response}: Degrees of Freedom and "
    "standard errors take it for given and are too small; cross-validated errors are not.{learned}",
    "gap": "There is a gap between {before} and {after}, which derivatives and smoothing take for "
    "neighbours.",
    "groups-ignored": "{criterion} takes all rows as independent, which those of one group are "
    "not; held-out rows respect the groups.",
    "replicates": "{name} has repeated values: if these are replicates, name it as the groups.",
    "no-intervals": "No intervals: the model has {dof:.1f} Degrees of Freedom for {n:g} rows, "
    "which leaves too little to estimate the noise from. Choose a simpler one.",
    "intervals-memory": "No intervals: for {p:,} coefficients they need as much memory as the "
    "table.",
    "as-asked": "No standard errors, as asked for.",
    "no-std-errors": "No standard errors: they take longer than the fit of so large a table.",
    "too-many-rows": "Chosen by GCV: predictions of so many held-out rows do not fit in memory. "
    "Say how many components are wanted at most, if fewer will do.",
    "test-error": "The test rows are predicted significantly worse than held-out rows: RMSEP "
    "{rmsep} against RMSECV {rmsecv} (F test, {p}). They differ from those of the calibration, "
    "or the model is too rich; trust RMSEP.",
    "test-coverage": "Only {inside} of {n} test values lie in their {level:g}% prediction "
    "intervals (binomial test, {p}): the intervals are too narrow for rows like these.",
    "drift": "Cross-validated errors drift with the order of the rows (rank correlation {r:.2f}, "
    "{p}). If the rows are in time order, hold out consecutive ones.",
    "recipes": "Coefficients, their intervals, T\N{SUPERSCRIPT TWO}, Q and what depends on "
    "components belong to the recipe with most weight ({name}, {share:.0%}); predictions, errors "
    "and Degrees of Freedom are those of the average.",
    "better-recipe": "Held-out rows are predicted clearly better {how}: RMSECV {best} "
    "instead of {own}.",
    "search": "Selected by {search}: {label} ({kept} of {total}). All numbers except those of "
    "held-out rows and of a test take these columns as given. So do the Degrees of Freedom "
    "({fixed:.1f}); with the search they are {whole:.1f} (standard error {error:.1f}, by Monte "
    "Carlo). {cost} Held-out rows, the search made again without them: RMSECV {rmsecv}, Q2 {q2}.",
    "sample": "The table was read piece by piece: rows in pictures and tables of rows are those of "
    "{shown:,} of {total:,} rows, drawn at random.",
}

# What helps, if it is always the same.
_MENDS: dict[str, dict[str, Any]] = {
    "better-recipe": {"preprocess": "auto"},
    "drift": {"cv": "blocks:5"},
    "no-std-errors": {"std_errors": True},
    "intervals-memory": {"in_memory": True},
}
# Do not use this model as it is.
_SEVERE = ("test-error", "test-coverage")


def said(key: str, /, mend: Any = None, **facts: Any) -> Remark:
    """Return the remark of a key, with the facts that its text names, and what would mend it.

    Examples
    --------
    >>> said("intervals-memory", p=5000).words
    'No intervals: for 5,000 coefficients they need as much memory as the table.'
    """
    severity: Severity = "severe" if key in _SEVERE else "note"
    words = _TEXTS[key].format(**facts)
    return Remark(key=key, words=words, severity=severity, mend=mend or _MENDS.get(key, {}))


def is_empty(model: Model) -> bool:
    """Whether the model has no predictor."""
    counted = model.path.parameter_name == "n_components"
    return counted and not model.is_average and model.index == 0


def selection_remarks(selection: Selection, data: TableProblem) -> list[Remark]:
    """Return what a choice says of itself, with what would mend it, and rows as in the file."""
    said, capped = {one.key: one for one in selection.remarks}, selection.remark("capped")
    if capped is not None:
        # Of a table that is read piece by piece a sample has names; the rows fitted have numbers.
        known = data.places is None
        names = [data.rows.row_name(i) if known else str(i + 1) for i in capped.rows]
        said["capped"] = capped_remark(capped.rows, names)
    mends: dict[str, dict[str, Any]] = {"average": {"criterion": "average"}}
    if selection.parameter_name != "alpha" and len(selection.scores) > 1:
        mends["last-model"] = {"max_components": 2 * (len(selection.scores) - 1)}
    return [replace(one, mend=one.mend or mends.get(one.key, {})) for one in said.values()]


def path_remarks(path: Path, names: Sequence[str], *, searched: bool) -> list[Remark]:
    """Return what a path says of itself: columns that do not vary, fewer models than asked for.

    Columns that a search leaves out do not vary any more; that is not worth a word.
    """
    constant = np.flatnonzero(~np.isfinite(path.exact.x_scale))
    found = []
    if constant.size and not searched:
        text = constant_columns_text([names[int(j)] for j in constant])
        found.append(Remark(key="constant-columns", words=text))
    if path.message:
        found.append(Remark(key="path-end", words=path.message))
    return found


def dof_remarks(found: DofRange | None) -> list[Remark]:
    """Say that Degrees of Freedom have a wide range."""
    if found is None:
        return []
    facts: Any = {"value": found.value, "lower": found.lower, "upper": found.upper}
    return [said("dof-range", draws=len(found.draws), **facts)]


# What steps that learn from rows do about held-out ones.
ANEW = " What the steps learn from rows, they learned anew in every fold."
ONCE = " What the steps learn from rows, they learned once, from the held-out rows, too."


def preprocessing_remarks(data: TableProblem, learned: str) -> list[Remark]:
    """Say what preprocessing means for Degrees of Freedom and for held-out rows."""
    chain = data.preprocessing
    if chain is None:
        return []
    response = shortened(data.response)
    key = "supervised" if chain.looks_at_y else "preprocessing"
    learned *= chain.learns_from_rows
    found = [said(key, steps=chain.steps, response=response, learned=learned)]
    gap = _gap(data.wavelengths) if chain.goes_along_columns else None
    if gap is not None:
        found.append(said("gap", before=data.names[gap], after=data.names[gap + 1]))
    return found


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
    return widest if steps[widest] > _GAP * beside.max() else None


def rows_remarks(model: Model) -> list[Remark]:
    """Return remarks on the data; groups of a table are a column, which sets of rows have not."""
    found = dependence_remarks(model)
    return [replace(one, mend={}) if "groups" in one.mend else one for one in found]


def group_remarks(data: TableProblem, selection: Selection | None = None) -> list[Remark]:
    """Say how to keep rows together that may be replicates, and who does not know of groups."""
    if data.groups is None:
        name = data.replicates
        return [] if name is None else [said("replicates", {"groups": name}, name=shortened(name))]
    if selection is None or selection.criterion == LEFT_OUT:
        return []
    return [said("groups-ignored", criterion=criterion_label(selection.criterion))]


# A drift is looked for in every fit, so that it has to be clearer than other tests; and in so many
# rows, or groups, at least.
_DRIFT_LEVEL, _FEWEST_IN_ORDER = 0.01, 20


def test_remarks(
    merit: Mapping[str, FiguresOfMerit], test: TestSet | None, level: float
) -> list[Remark]:
    """Say that a test contradicts held-out rows: larger errors, or intervals that miss too often.

    One-sided tests of level 1 - ``level``: RMSEP^2 / RMSECV^2 by F with the numbers of rows, the
    count of values inside by the binomial distribution.
    """
    if test is None:
        return []
    found, own, left = [], merit["test"], merit.get("cross-validation")
    if left is not None and left.rmse > 0:
        p = float(fdtrc(own.n, left.n, (own.rmse / left.rmse) ** 2))
        if p < 1 - level:
            both = {"rmsep": own, "rmsecv": left}
            errors = {k: in_text(one.rmse, one.std_errors["rmse"]) for k, one in both.items()}
            found.append(said("test-error", p=p_in_words(p), **errors))
    if test.inside is not None:
        p = float(bdtr(test.inside, own.n, level))
        if p < 1 - level:
            facts: dict[str, Any] = {"inside": test.inside, "n": own.n, "level": 100 * level}
            found.append(said("test-coverage", p=p_in_words(p), **facts))
    return found


def drift_remarks(model: Model, left: LeftOut | None) -> list[Remark]:
    """Say that cross-validated residuals drift with the order of rows, or of groups.

    By the rank correlation, that of the response taken out of both: in a table sorted by its
    response large values are predicted too small, which is not a drift.
    """
    if left is None:
        return []
    columns = np.array([model.left_out_residuals, np.arange(len(left.y)), left.y])
    if left.groups is not None:
        columns = left.fold_sums(columns) / left.fold_sums(np.ones_like(columns))
    n = columns.shape[1]
    e, order, y = map(_ranks, columns)
    if n < _FEWEST_IN_ORDER or not y @ y > 0:
        return []
    e, order = (one - y * (one @ y) / (y @ y) for one in (e, order))
    size = np.sqrt((e @ e) * (order @ order))
    # Rows in the order of the response have no order of their own.
    if not size > 1e-6 * (y @ y):
        return []
    r = float(e @ order / size)
    p = 2 * float(stdtr(n - 3, -abs(r) * np.sqrt((n - 3) / max(1 - r**2, 1e-12))))
    return [said("drift", r=r, p=p_in_words(p))] if p < _DRIFT_LEVEL else []


def _ranks(values: Array) -> Array:
    """Return ranks around zero, equal ones for equal values (scipy.stats takes a second)."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2)[group]
    return np.asarray(ranks - ranks.mean())


def mixture_remarks(model: Model) -> list[Remark]:
    """Say what belongs to one recipe of an average over several."""
    if not isinstance(model, Mixture):
        return []
    assert model.selection is not None
    share = float(model.shares.max())
    return [said("recipes", name=model.selection.recipe_name, share=share)]
