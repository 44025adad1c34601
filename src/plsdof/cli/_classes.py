"""Text responses: what a fit of classes prints and writes, and predictions of classes."""

import io
import shlex
import sys
from typing import Any

import numpy as np

from plsdof._core.display import plural
from plsdof.analysis.classes import ClassAnalysis
from plsdof.analysis.tables import records
from plsdof.chemometrics.classes import ClassErrors
from plsdof.cli import _show as show
from plsdof.cli import _tables as tables
from plsdof.errors import InvalidInputError
from plsdof.files.classes import class_probabilities, frozen_classifier
from plsdof.files.columns import labels_of
from plsdof.files.frozen import FrozenModel
from plsdof.files.models import save_model
from plsdof.files.tables import Table
from plsdof.files.writing import atomic_write, write_tables

SHARES = ("sensitivity", "specificity", "precision")
# Rows of predictions that are shown.
_MOST_ROWS = 20


def write_classes(analysis: ClassAnalysis, output: Any, label: str | None) -> dict[str, str]:
    """Write the files that were asked for; return what was written where."""
    written, data = {}, analysis.data
    if output.model is not None:
        source = {"file": data.source, "rows": data.shape[0], "dropped": data.dropped}
        source |= {} if label is None else {"id": label}
        facts: dict[str, Any] = {"names": data.names, "response": data.response, "source": source}
        save_model(
            frozen_classifier(analysis.model, preprocessing=data.preprocessing, **facts),
            output.model,
        )
        written["model"] = str(output.model)
    if output.plot is not None:
        from plsdof.plotting.curves import class_figure

        image = io.BytesIO()
        class_figure(analysis.model).savefig(image, format=output.plot.suffix.lower()[1:])
        with atomic_write(output.plot) as stream:
            stream.write(image.getvalue())
        written["plot"] = str(output.plot)
    if output.report is not None:
        from plsdof.report.classes import write_class_report

        command = shlex.join(["plsdof", *sys.argv[1:]])
        write_class_report(analysis, output.report, command=command)
        written["report"] = str(output.report)
    if output.out is not None:
        classes = [str(one) for one in analysis.model.classes_]
        sheets = {
            f"errors {rows}": {"class": classes, **found.columns()}
            for rows, found in analysis.errors.items()
        }
        first = dict([next(iter(sheets.items()))])
        every = output.out.suffix.lower() == ".xlsx"
        write_tables(sheets if every else first, output.out, escape=not output.plain_csv)
        written["tables"] = str(output.out)
    return written


def show_classes(screen: Any, analysis: ClassAnalysis) -> None:
    """Print a classification: confusions, errors by class, the choice."""
    n, p = analysis.data.shape
    name = show.safe(analysis.data.response, 40)
    classes = [str(one) for one in analysis.model.classes_]
    screen.print(f"{name}: {len(classes)} classes, {n} rows, {p} predictors\n", style="bold")
    for rows, found in analysis.errors.items():
        counts = [
            [name, *(f"{one:g}" for one in row)]
            for name, row in zip(classes, found.matrix, strict=True)
        ]
        title = f"{rows.capitalize()} rows, error {found.error:.3f}"
        screen.print(show.table(title, ["true, taken for", *classes], counts, text_columns=1))
        screen.print()
        screen.print(show.table("", ["class", *SHARES], _shares(found), text_columns=1))
        screen.print()
    show.remark(screen, "Model", analysis.summary)
    if analysis.permutation is not None:
        show.remark(screen, "Permutations", analysis.permutation.message)
    show.note(screen, (*analysis.data.doubts, *analysis.data.notes))


def _shares(found: ClassErrors) -> list[list[str]]:
    """Return a line for each class: its shares, with their limits."""
    lines = [[str(one)] for one in found.classes]
    for name in SHARES:
        for line, share, (low, high) in zip(
            lines, getattr(found, name), found.intervals(name), strict=True
        ):
            line.append(f"{show.fixed(share)} ({show.fixed(low)}-{show.fixed(high)})")
    return lines


def predict_classes(
    model: FrozenModel, rows: Table, printing: Any, out: Any, options: dict[str, Any]
) -> None:
    """Predict the classes of the rows of a table, print and write them."""
    with tables.located(rows.source):
        columns, notes = predicted_classes(model, rows, **options)
    if out is not None:
        write_tables({"predictions": columns}, out)
    if printing.as_json:
        show.print_json("predict", {"predictions": records(columns), "notes": list(notes)})
    elif not printing.quiet:
        most = len(columns["row"]) if printing.verbose else _MOST_ROWS
        texts = [
            [
                show.fixed(one, 3) if isinstance(one, float) else str(one)
                for one in values[:most].tolist()
            ]
            for values in columns.values()
        ]
        screen = show.console()
        lines = list(zip(*texts, strict=True))
        screen.print(show.table("Predicted classes", list(columns), lines, text_columns=1))
        show.note(screen, notes)
        if out is not None:
            show.remark(screen, "Wrote the predictions", str(out))


def predicted_classes(
    model: FrozenModel, rows: Table, *, drop_missing: bool, label: str | None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return columns of predicted classes and probabilities, and what to say about them."""
    names, notes = tables.match_columns(model.names, rows)
    X, labels = rows.numbers(names), tables.row_labels(rows, label)
    missing = np.isnan(X)
    complete = tables.without_any(missing)
    if not complete.all() and not drop_missing:
        raise InvalidInputError(tables.missing_values(missing, names, "to predict the others"))
    classes = np.array([one.response for one in model.responses])
    proba = np.full((len(X), len(classes)), np.nan)
    proba[complete] = class_probabilities(model, X[complete])
    found = np.where(complete, classes[np.argmax(np.nan_to_num(proba), axis=1)], "")
    if model.class_limits is not None:
        found = found.astype(object)
        found[complete] = np.where(
            model.belongs(X[complete]).any(axis=1), found[complete], "none of these"
        )
    columns: dict[str, Any] = {"row": rows.row_numbers}
    columns |= {} if labels is None else {"id": labels}
    response = str(model.source.get("classes_of", ""))
    if response in rows.names:
        known = labels_of(rows, response)
        columns["observed"] = known
        right, told = (known == found) & complete, (known != "") & complete
        notes += (f"{right.sum()} of {plural(int(told.sum()), 'row')} as observed.",)
    columns["prediction"] = found
    columns |= {f"P({name})": column for name, column in zip(classes, proba.T, strict=True)}
    return columns, (*rows.notes, *notes)
