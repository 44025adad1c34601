"""A table and a request become fitted models: what was found, and what predicts."""

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from plsdof._core.display import one_line, plural, significant
from plsdof._core.inputs import Array
from plsdof._core.model import members_of
from plsdof._core.remarks import Remark
from plsdof._core.threads import cached_property
from plsdof.chemometrics.checks import Kind, correction
from plsdof.errors import InvalidInputError
from plsdof.models.fitted import predictor
from plsdof.models.predictor import Predictor
from plsdof.workbench.analysis import Analysis, Request
from plsdof.workbench.analysis.analysis import analysed
from plsdof.workbench.analysis.classes import ClassAnalysis
from plsdof.workbench.analysis.data import TableProblem
from plsdof.workbench.analysis.result import Result, Table
from plsdof.workbench.analysis.tables import result_of
from plsdof.workbench.choosing import as_table
from plsdof.workbench.problems import problems_of
from plsdof.workbench.tables.joining import JoinedReading


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Fitted:
    """A fit of one response.

    Attributes
    ----------
    request : Request
        What was asked for.
    analysis : Analysis or ClassAnalysis
        What was found; what is read of it is computed then, once.
    parent : Predictor or None
        The model that this one updates.
    """

    request: Request
    analysis: Analysis | ClassAnalysis
    parent: Predictor | None = None

    @property
    def response(self) -> str:
        """Name of the response."""
        return self.analysis.data.response

    @cached_property
    def result(self) -> Result:
        """What there is to say, as every door shows it."""
        found = self.analysis
        return found.result if isinstance(found, ClassAnalysis) else result_of(found)

    def __repr__(self) -> str:
        return one_line(self, repr(self.result.title))

    def _repr_html_(self) -> str:
        return self.result._repr_html_()

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What is worth knowing, each with what would mend it."""
        return self.result.remarks

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables of the result."""
        return self.result.tables

    def to_dict(self) -> dict[str, Any]:
        """Return the result for machines, as ``plsdof fit --json`` prints it."""
        return self.result.to_dict()

    @cached_property
    def predictor(self) -> Predictor:
        """What predicts new rows; a model file holds it."""
        found, data, label = self.analysis, self.analysis.data, self.request.label
        label = label or self.request.average_by
        source = {"file": data.source, "rows": data.shape[0], "dropped": data.dropped}
        source |= {} if label is None else {"id": label}  # names the rows in predictions, too
        facts: dict[str, Any] = {"names": data.names, "response": data.response}
        if isinstance(found, ClassAnalysis):
            return predictor(found.model, source=source, preprocessing=data.preprocessing, **facts)
        model = predictor(
            found.model,
            source=source | {"recipe": found.recipe},
            noise=found.noise_kind,
            intervals=found.request.intervals,
            # Each recipe of an average has its own.
            preprocessing=None if len(members_of(found.model)) > 1 else data.preprocessing,
            **facts,
        ).frozen(intervals=data.has_intervals or found.request.intervals is not None)
        source = {**model.source, **_repeatability(data, model)}
        return replace(model, source=source, parent=self.parent.sha256 if self.parent else "")


def fit(table: Any, request: Request, reading: JoinedReading | None = None) -> Fitted:
    """Fit the response that is asked for: a number, or classes.

    Parameters
    ----------
    table : Table or data frame
        A file as `plsdof.workbench.tables.read_table` reads it.
    request : Request
    reading : JoinedReading, optional
        How a table to test on is read.

    Returns
    -------
    Fitted

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> found = fit(X.assign(ozone=y), Request(response="ozone", cv=10))
    >>> found.analysis.data.shape, found.tables["models"].columns["rmsecv"].label
    ((203, 12), 'RMSECV')
    """
    if len(request.response) > 1:
        names = ", ".join(request.response)
        raise InvalidInputError(f"Several responses ({names:.80}) are for workbench.fit_each.")
    return fit_each(table, request, reading)[0]


def fit_each(table: Any, request: Request, reading: JoinedReading | None = None) -> list[Fitted]:
    """Fit every response that is asked for, one after another; arguments as for `fit`.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> asked = Request(response=("ozone", "log"), components=2)
    >>> [one.response for one in fit_each(X.assign(ozone=y, log=np.log(y)), asked)]
    ['ozone', 'log']
    """
    known = as_table(table)
    return [fit_problem(one, request) for one in problems_of(known, request, reading)]


def fit_problem(data: TableProblem, request: Request) -> Fitted:
    """Fit a measured response, or classes, of a table that is read."""
    asked = replace(request, preprocess=request.steps)
    if not data.rows.classes:
        if request.novelty is not None:
            raise InvalidInputError(f"novelty is for classes, and {data.response!r} holds numbers.")
        return Fitted(request=request, analysis=analysed(data, asked))
    from plsdof.workbench.analysis.classes import classified  # it needs scikit-learn

    return Fitted(request=request, analysis=classified(data, asked))


def _repeatability(data: TableProblem, model: Predictor) -> dict[str, Any]:
    """Return how far predictions of replicates are apart, for a file; nothing without them."""
    if data.measured is None:
        return {}
    from plsdof.chemometrics.samples import repeatability

    measured = data.measured
    complete = ~np.isnan(measured.X).any(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a chain that knows names gets an array
        predicted = model.predict(measured.X[complete])
    found = repeatability(predicted, measured.samples[complete])
    usual = {"column": measured.column, "std": found.std, "dof": found.dof}
    return {"replicates": usual} if found.dof else {}


# What an update changes
# ----------------------


def update(
    parent: Predictor,
    table: Any,
    request: Request,
    reading: JoinedReading | None = None,
    *,
    first: int,
) -> Fitted:
    """Fit a model again to more rows, and say what that changes.

    Parameters
    ----------
    parent : Predictor
        The model that is updated.
    table : Table or data frame
        Its ``first`` rows are those that the parent was fitted to, as a table.
    request, reading
        As for `fit`.
    first : int

    Returns
    -------
    Fitted

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> table, asked = X.assign(ozone=y), Request(response="ozone", components=2)
    >>> parent = fit(table.iloc[:150], asked).predictor
    >>> update(parent, table, asked, first=150).predictor.n
    203.0
    """
    refuse_other_responses(parent, request)
    return updated(fit(table, request, reading), parent, first)


def updated(found: Fitted, parent: Predictor, first: int) -> Fitted:
    """Return a fit that says what it changes; the ``first`` rows are those of the parent."""
    if isinstance(found.analysis, ClassAnalysis):
        raise InvalidInputError(f"{found.response!r:.40} holds classes, which are not updated.")
    said = _what_changed(found.analysis, parent, first)
    analysis = replace(found.analysis, added=(*found.analysis.added, *said))
    return replace(found, analysis=analysis, parent=parent)


def refuse_other_responses(parent: Predictor, request: Request) -> None:
    """Refuse to update a model of another response."""
    if tuple(one.response for one in parent.responses) != request.response:
        raise InvalidInputError("The parent is a model of another response.")


# Facts of a recipe that another table changes anyway.
_OF_ROWS = ("made", "data", "sha256", "test rows", "rows excluded")


def _what_changed(analysis: Analysis, parent: Predictor, first: int) -> list[Remark]:
    """Say what a fit to more rows changes; the ``first`` rows are those of the parent."""
    data = analysis.data
    old, y = data.rows.numbers <= first, data.rows.y
    new, kept = int(np.count_nonzero(~old)), int(np.count_nonzero(old))
    texts = [
        f"Update of a model of {parent.created[:10]} (fitted to {parent.n:g} rows): {kept} rows of "
        f"the first table, {plural(new, 'new row')}; {parent.in_words} before, "
        f"{analysis.model.label} now."
    ]
    before = dict(parent.source.get("recipe", {}))
    changed = [
        f"{key} {before[key]} before, {value} now"
        for key, value in analysis.recipe.items()
        if before.get(key, value) != value and key not in _OF_ROWS
    ]
    texts += [f"The recipe changed: {'; '.join(changed)}."] if changed else []
    if not new and before.get("sha256", analysis.recipe["sha256"]) != analysis.recipe["sha256"]:
        texts.append(
            "The table is not the one that the parent was fitted to: their SHA-256 differ."
        )
    left_out, advice = analysis.model.left_out_residuals, list[Remark]()
    if set(parent.columns) <= set(data.rows.X.columns) and len(left_out) == len(y):
        error = y - parent.predict(data.rows.X[list(parent.columns)])
        # Rows that the parent was fitted to are compared held out of both calibrations.
        errors = {
            "Rows of the first table": (old, parent.calibration_errors.rmsecv, ", held out of it"),
            "New rows": (~old, float(np.sqrt(np.mean(error[~old] ** 2))) if new else 0.0, ""),
        }
        for name, (rows, by, how) in errors.items():
            if rows.any():
                now = float(np.sqrt(np.mean(left_out[rows] ** 2)))
                texts.append(
                    f"{name}: root mean squared error {significant(by)} by the parent{how}, "
                    f"{significant(now)} held out of the new calibration."
                )
        if new > 1:
            predicted = (y - error)[~old]
            advice.append(_update_or_adjust(y[~old], predicted, left_out[~old], parent))
    else:
        texts.append("Errors are not compared: the parent has other columns or rows.")
    return [*(Remark(key="update", words=text) for text in texts), *advice]


def _update_or_adjust(y: Array, predicted: Array, left_out: Array, parent: Predictor) -> Remark:
    """Say which way predicts new rows best that had no part in it, with the errors of all ways.

    Corrections are made without each of the rows in turn.
    """
    errors = {"update": float(np.sqrt(np.mean(left_out**2)))}
    known: Any = {"calibration": parent.calibration_errors}
    for kind in get_args(Kind):
        with suppress(InvalidInputError):  # too few rows, or no significant slope
            errors[kind] = correction(y, predicted, kind, **known).after
    errors["parent"] = float(np.sqrt(np.mean((y - predicted) ** 2)))
    best = min(errors, key=lambda way: errors[way])
    ways = {
        "update": ("after this update", "Use the updated model", {}),
        "bias": ("with the parent's bias adjusted", "Adjust the bias", {"kind": "bias"}),
        "slope": ("with the parent's slope adjusted", "Adjust the slope", {"kind": "slope"}),
        "parent": ("by the parent as it is", "Keep the parent", {}),
    }
    shown = ", ".join(f"{significant(error)} {ways[way][0]}" for way, error in errors.items())
    return Remark(
        key="update-or-adjust",
        words=f"Root mean squared error of the new rows, each held out: {shown}. {ways[best][1]}.",
        mend=ways[best][2],
    )
