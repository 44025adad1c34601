"""``plsdof predict``: predictions, their intervals, and which rows are unusual."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table as RichTable

from plsdof import workbench
from plsdof._core.display import plural
from plsdof.chemometrics.merit import HEADINGS, RMSE_NAMES, FiguresOfMerit
from plsdof.models.files import load_model
from plsdof.models.predictor import Predictor
from plsdof.workbench.analysis.remarks import percent
from plsdof.workbench.cli import _show as show
from plsdof.workbench.cli._options import File, Printing, check_outputs
from plsdof.workbench.predicting import Columns, Predictions, response_of, side_by_side
from plsdof.workbench.tables.reading import Reading
from plsdof.workbench.tables.writing import TABLE_ENDINGS, write_tables


def predict(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL...", help="Files written by `plsdof fit --model`."),
    ],
    file: File,
    reading: Reading,
    printing: Printing,
    out: Path | None = None,
    plain_csv: bool = False,
    level: float = 0.95,
    intervals: str | None = None,
    missing: str | None = None,
    average_by: str | None = None,
    label: str | None = None,
) -> None:
    """Predict the rows of a table with a model, and mark unusual ones.

    A row is unusual if it is unlike those that the model was fitted to: Hotelling's T^2 or the Q
    residual is above its 95% limit (warn), or above its 99.9% limit (reject). The CSV file and
    JSON also have the intervals of the mean. Several models, one for each constituent, give one
    table.
    """
    check_outputs({"--out": (out, TABLE_ENDINGS)}, file, *models)
    with show.waiting("Predicting", quiet=printing.quiet):
        fitted, rows = [load_model(one) for one in models], reading.table(file)
        how: dict[str, Any] = {"level": level, "intervals": intervals, "missing": missing}
        found = workbench.predict(fitted, rows, label=label, average_by=average_by, **how)
    names = _names(fitted, models)
    if out is not None:
        write_tables({"predictions": side_by_side(found, names)}, out, escape=not plain_csv)
    written = {} if out is None else {"predictions": str(out)}
    if printing.as_json:
        contents = [
            {"model": str(path), "file": rows.source, "written": written, "level": level}
            | one.to_content(model)
            for path, model, one in zip(models, fitted, found, strict=True)
        ]
        show.print_json("predict", contents[0] if len(found) == 1 else {"responses": contents})
    elif not printing.quiet:
        screen = show.console()
        for name, model in zip(names, fitted, strict=True):
            screen.print(
                f"{show.safe(name, 40)} for {plural(len(rows), 'row')} of "
                f"{show.safe(Path(rows.source).name, 40)}, by {_described(model)}",
                style="bold",
            )
        screen.print()
        screen.print(_shown(found, names, level, screen.width, verbose=printing.verbose))
        screen.print()
        for name, one in zip(names, found, strict=True):
            of = f" of {name}" if len(found) > 1 else ""
            if one.merit is not None:
                show.remark(screen, f"Accuracy{of}", _merit_sentence(one.merit))
        show.note(screen, dict.fromkeys(note for one in found for note in one.notes))
        for what, where in written.items():
            show.remark(screen, f"Wrote the {what}", where)


def _names(models: Sequence[Predictor], files: Sequence[Path]) -> list[str]:
    """Return what tells models apart: their responses, or the names of their files, or numbers."""
    names = [response_of(one) for one in models]
    if len(set(names)) < len(names):
        names = [one.stem for one in files]
    return [f"{one} {i + 1}" if one in names[:i] else one for i, one in enumerate(names)]


# What is shown
# -------------

_MOST_ROWS = 20
_HEADINGS = {
    "observed": "observed",
    "prediction": "prediction",
    "lower": "from",
    "upper": "to",
    "t2": "T^2",
    "q": "Q",
}
# Of several constituents these.
_OF_EACH = ("prediction", "lower", "upper")
_GAP = 3  # characters between two columns
_SHORTEST_LABEL, _LONGEST_LABEL = 8, 24


def _described(model: Predictor) -> str:
    name = model.method.upper() if model.parameter_name == "n_components" else model.method
    average = model.responses[0].choice.get("rule") == "average"
    return f"{name}{', ' if average else ' with '}{model.in_words}"


def _merit_sentence(merit: FiguresOfMerit) -> str:
    """Return figures of merit as a sentence."""
    names = {"rmse": RMSE_NAMES["test"]}
    shown = [
        f"{names.get(name, label)} {show.number(getattr(merit, name))}"
        for name, label, _ in HEADINGS
    ]
    return f"{', '.join(shown)}, over {plural(merit.n, 'row')} with a known response."


def _shown(
    found: Sequence[Predictions], names: Sequence[str], level: float, width: int, *, verbose: bool
) -> RichTable:
    """Return predictions as a table: all about one constituent, or value and interval of each."""
    first, several = found[0].columns, len(found) > 1
    named, size = "id" if "id" in first else "row", len(first["row"])
    most = size if verbose else min(size, _MOST_ROWS)
    cells: list[list[str]] = []
    for name, one in zip(names, found, strict=True):
        decimals = _decimals(one.columns)
        parts = _OF_EACH if several else [*_HEADINGS, *(p for p in one.columns if p[:2] == "P(")]
        for part in (part for part in parts if part in one.columns):
            shown = partial(show.fixed, decimals=decimals)
            if part in one.limits or part not in _HEADINGS:
                shown = partial(show.number, digits=3)
            heading = show.safe(name, 12) if several and part == "prediction" else part
            values = one.columns[part][:most].tolist()
            texts = [value if isinstance(value, str) else shown(value) for value in values]
            cells.append([_HEADINGS.get(heading, heading), *texts])
    if any(one.limits for one in found):
        cells.append(["status", *(_worst(names, found, i) for i in range(most))])
    others = sum(max(map(len, column)) + _GAP for column in cells)
    room = int(np.clip(width - others, _SHORTEST_LABEL, _LONGEST_LABEL))
    labels = [_shortened(show.safe(str(label)), room) for label in first[named][:most]]
    limits = (_limits_in_words(one, several * name) for one, name in zip(found, names, strict=True))
    more = f"{most} of {size} rows; --verbose shows all, --out writes all." if most < size else ""
    assumed = "" if several else found[0].assumptions
    covered = f" with {percent(level)} intervals of one observation"
    return show.table(
        f"Predictions{covered if any('upper' in one.columns for one in found) else ''}",
        [named, *(column[0] for column in cells)],
        zip(labels, *(column[1:] for column in cells), strict=True),
        texts=[named == "id"],
        caption=" ".join(text for text in (more, *limits, assumed) if text),
    )


def _worst(names: Sequence[str], found: Sequence[Predictions], i: int) -> str:
    """Return the status of a row; of several constituents those that are not ok."""
    if len(found) == 1:
        return str(found[0].columns["status"][i])
    states = {
        name: str(one.columns["status"][i])
        for name, one in zip(names, found, strict=True)
        if "status" in one.columns
    }
    bad = [f"{show.safe(name, 12)} {state}" for name, state in states.items() if state != "ok"]
    return ", ".join(bad) or "ok"


def _limits_in_words(predicted: Predictions, name: str = "") -> str:
    """Return the limits of T^2 and Q as a sentence."""
    shown = [f"{_HEADINGS[key]} {show.number(value, 3)}" for key, value in predicted.limits.items()]
    of = f" of {show.safe(name, 24)}" if name else ""
    return f"Limits{of}: {', '.join(shown)}." if shown else ""


def _shortened(label: str, most: int) -> str:
    """Cut a name in the middle: names of samples differ at the end.

    Examples
    --------
    >>> _shortened("gasoline sample no 41", 12)
    'gasol… no 41'
    """
    if len(label) <= most:
        return label
    end = most // 2
    return f"{label[: most - end - 1]}…{label[-end:]}"


def _decimals(columns: Columns) -> int:
    """Return how many decimals show two to three digits of the intervals' width."""
    values = columns["prediction"]
    if values.dtype == object:  # classes
        return 0
    widths = columns["upper"] - columns["lower"] if "upper" in columns else np.abs(values)
    typical = float(np.nanmedian(widths))
    return int(np.clip(2 - np.floor(np.log10(typical)), 0, 9)) if 0 < typical < np.inf else 4
