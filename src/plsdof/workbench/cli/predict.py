"""``plsdof predict``: predictions, their intervals, and which rows are unusual."""

from pathlib import Path
from typing import Annotated

import typer

from plsdof.models.files import load_model
from plsdof.workbench.analysis import Request
from plsdof.workbench.cli import _show as show
from plsdof.workbench.cli._options import File, Printing, check_outputs
from plsdof.workbench.predicting import distinct, predict_each, side_by_side
from plsdof.workbench.tables.reading import Reading
from plsdof.workbench.tables.writing import TABLE_ENDINGS, write_tables


def predict(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL...", help="Files written by `plsdof fit --model`."),
    ],
    file: File,
    reading: Reading,
    request: Annotated[Request, ("level", "intervals", "missing", "average_by", "label")],
    printing: Printing,
    out: Path | None = None,
    plain_csv: bool = False,
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
        found = predict_each(fitted, rows, request)
        together = side_by_side(found, distinct(fitted, [one.stem for one in models]))
    if out is not None:
        sheets = {"predictions": together.main_table.values()}
        if out.suffix.lower() == ".xlsx":
            sheets |= {name: one for name, one in together.sheets().items() if name not in sheets}
        write_tables(sheets, out, escape=not plain_csv)
    written = {} if out is None else {"predictions": str(out)}
    about = [{"model": str(one), "file": rows.source, "written": written} for one in models]
    show.give("predict", found, about, printing, shown=[together])
