"""Everything a report says, as one dictionary that becomes the page's embedded data."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from plsdof.comparison import Comparison
from plsdof.criteria import Selection
from plsdof.cross_validated import CrossValidation
from plsdof.errors import NotAvailableError
from plsdof.parallel import with_progress
from plsdof.path import Path
from plsdof.plotting.coefficients import MOST_NAMED
from plsdof.plotting.comparing import TITLES, default_quantity, method_name
from plsdof.plotting.features import readable
from plsdof.plotting.style import model_words, spans_decades
from plsdof.report.models import all_models, criterion_facts, model_details
from plsdof.report.rounding import rounded_one
from plsdof.report.rows import row_facts, sample_rows
from plsdof.report.subject import Subject
from plsdof.standardize import constant_columns_text

_RULES = {
    "first-minimum": "first local minimum",
    "global-minimum": "minimum",
    "minimum": "minimum",
    "one-standard-error": "simplest model within one standard error of the best",
    "randomization": "simplest model that a randomization test does not find worse than the best",
}
_DOF_WORDS = {
    "exact": "with exact Degrees of Freedom",
    "naive": "with the number of components + 1 as Degrees of Freedom",
    "clipped": "with Degrees of Freedom limited to min(n - 1, p + 1)",
}
_METHODS = {
    "PLSPath": "PLS",
    "PCRPath": "PCR",
    "RidgePath": "Ridge regression",
    "KernelPLSPath": "Kernel PLS",
    "PenalizedPLSPath": "Penalised PLS",
}


def report_content(subject: Subject, *, progress: bool = False) -> dict[str, Any]:
    """Return the data of a report; all numbers are rounded as they are shown."""
    sample = sample_rows(subject)
    places: Iterable[int] = subject.shown
    if progress:
        places = with_progress(subject.shown, len(subject.shown), "Models of the report")
    return {
        "response": readable(subject.response),
        "source": readable(subject.source, 200) if subject.source else "",
        "method": _method(subject),
        "parameter_name": subject.path.parameter_name,
        "n": rounded_one(subject.path.spectrum.n),
        "p": subject.features.shape[1],
        "level": rounded_one(100 * subject.level),
        "choice": _choice(subject.selection),
        "chosen": subject.chosen,
        "first": subject.shown.start,
        "criterion": criterion_facts(subject),
        "models": all_models(subject),
        "features": _features(subject),
        "rows": row_facts(subject, sample),
        "details": [model_details(subject, place, sample) for place in places],
        "comparison": None
        if subject.comparison is None
        else _compared(subject, subject.comparison),
        "other_choice": _other_choice(subject),
        "stability": "" if subject.stability is None else subject.stability.message,
        "notes": _notes(subject),
    }


def _method(subject: Subject) -> str:
    name = type(subject.path).__name__
    return _METHODS.get(name, name.removesuffix("Path"))


def _choice(selection: Selection) -> str:
    """Say how the model was chosen."""
    if selection.rule == "given":
        return "its size was given"
    rule = _RULES.get(selection.rule, selection.rule)
    what, how = selection.criterion.upper(), _DOF_WORDS.get(selection.dof, "")
    if selection.criterion.startswith("cv-"):
        what = f"the cross-validated {selection.criterion[3:]}"
        if selection.criterion != "cv-error":
            rule, what = rule.replace("minimum", "maximum"), f"{what} correlation"
    return f"the {rule} of {what} {how}".rstrip()


def _features(subject: Subject) -> dict[str, Any]:
    axis, drawn = subject.axis, subject.shown_features
    named = not axis.is_numeric and len(axis.names) <= MOST_NAMED
    return {
        "layout": "names" if named else "curve",
        "title": axis.title,
        "positions": [float(f"{axis.positions[j]:.10g}") for j in drawn],
        "names": [readable(axis.names[j], 40) for j in drawn],
        "word": axis.title.partition(" (")[0] if axis.is_numeric else "predictor",
        "per": "unit" if axis.is_numeric else "standard deviation",
        "total": len(axis.names),
    }


def _other_choice(subject: Subject) -> dict[str, str] | None:
    """Return what cross-validation would have taken, or BIC where it was the choice."""
    by_cv = subject.selection.criterion.startswith("cv-")
    if not by_cv and subject.cv is None:
        return None
    try:
        other = subject.path.select("bic") if by_cv or subject.cv is None else subject.cv.select()
    except NotAvailableError:
        return None
    return {
        "by": "BIC with exact Degrees of Freedom" if by_cv else "cross-validation",
        "words": model_words(other.parameter, other.parameter_name),
        "simpler": "" if by_cv else _simplest_within_error(subject.cv),
    }


def _simplest_within_error(cv: CrossValidation | None) -> str:
    """Return the model that the one-standard-error rule takes, in words; empty if undefined."""
    try:
        found = None if cv is None else cv.select(rule="one-standard-error")
    except NotAvailableError:
        return ""
    return "" if found is None else model_words(found.parameter, found.parameter_name)


def _notes(subject: Subject) -> list[str]:
    """Return what a careful reader should know about this path and this choice."""
    path, index = subject.path, subject.selection.index
    dof, n = float(path.dof[index]), path.spectrum.n
    notes = [*subject.notes, _constant_columns(subject), path.message]
    notes.append("" if subject.cv is None else subject.cv.message)
    is_last = subject.chosen == len(subject.order) - 1 and len(subject.order) > 1
    if is_last and subject.selection.rule != "given" and not _is_complete(path):
        notes.append("The richest model tried was chosen: allow more, the best may lie beyond.")
    if subject.chosen == 0 and path.parameter_name == "n_components":
        notes.append("The model without predictors was chosen: they do not help to predict.")
    if dof >= n:
        notes.append(f"The chosen model has {dof:.1f} Degrees of Freedom for {n:g} observations.")
    if len(subject.shown) < len(subject.order):
        notes.append(
            f"The page describes {len(subject.shown)} of {len(subject.order)} models in detail."
        )
    return list(dict.fromkeys(readable(note, 400) for note in notes if note))


def _is_complete(path: Path) -> bool:
    """Whether there is no richer model than the last one."""
    of_components = path.parameter_name == "n_components"
    everything = min(path.spectrum.rank, path.spectrum.n - 1)
    return bool(path.message) or (of_components and len(path.dof) - 1 >= everything)


def _constant_columns(subject: Subject) -> str:
    constant = np.flatnonzero(~np.isfinite(subject.path.units.x_scale))
    return constant_columns_text([subject.axis.names[j] for j in constant]) if constant.size else ""


def _compared(subject: Subject, table: Comparison) -> dict[str, Any]:
    by = default_quantity(table)
    values = table.columns()[by]
    return {
        "by": by,
        "title": TITLES[by],
        "log": spans_decades(values),
        "methods": [_one_method(subject, table, name, by) for name in table.paths],
    }


def _one_method(subject: Subject, table: Comparison, name: str, by: str) -> dict[str, Any]:
    rows = np.flatnonzero(table.method == name)
    values = table.columns()[by]
    order = rows[table.paths[name].simplest_first()]
    found: dict[str, Any] = {
        "name": readable(method_name(name), 30),
        "dof": [rounded_one(v) for v in table.dof[order]],
        "value": [rounded_one(v) for v in values[order]],
        "near": _nearest(subject, table, order),
        "best": None,
    }
    known = values[order]
    if by == "cv_error" and not np.all(np.isnan(known)):
        found["best"] = int(np.nanargmin(known))
    names = [
        model_words(float(v), table.paths[name].parameter_name) for v in table.parameter[order]
    ]
    return found | {"words": names}


def _nearest(subject: Subject, table: Comparison, order: Any) -> int | None:
    """Return the place of the model whose Degrees of Freedom are nearest to the chosen one's."""
    distance = np.abs(table.dof[order] - float(subject.path.dof[subject.selection.index]))
    return None if np.all(np.isnan(distance)) else int(np.nanargmin(distance))
