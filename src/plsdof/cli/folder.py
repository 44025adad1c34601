"""A folder of tables as one table in memory."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from plsdof.columns import shortened
from plsdof.errors import InvalidInputError
from plsdof.table_content import Table
from plsdof.tables import read_table, shortened_path


def files_of(folder: Path) -> list[Path]:
    """Return the files of a folder in the order of their names, without hidden ones.

    Names that start with an underscore are those of remarks that other programs leave behind.
    """
    try:
        files = sorted(
            file for file in folder.iterdir() if file.is_file() and file.name[0] not in "._"
        )
    except OSError as error:
        raise InvalidInputError(
            f"{shortened_path(str(folder))}: the folder could not be read: {error.strerror}."
        ) from error
    if not files:
        raise InvalidInputError(
            f"{shortened_path(str(folder))}: it is a folder without files; give one that holds "
            "CSV or Parquet files, or a file."
        )
    return files


def read_folder(folder: str | os.PathLike[str], *, sheet: str | None = None) -> Table:
    """Read all files of a folder and put their rows below each other.

    All files must have the same columns, in any order.
    """
    tables = [read_table(file, sheet=sheet) for file in files_of(Path(folder))]
    import pandas  # read_table said what to install, if it is not there

    names = tables[0].names
    for table in tables[1:]:
        _require_columns(table, names)
    return replace(
        tables[0],
        source=os.fspath(folder),
        frame=pandas.concat([table.frame[list(names)] for table in tables], ignore_index=True),
        described=f"{len(tables)} file(s), the first one: {tables[0].described}",
    )


def _require_columns(table: Table, names: Sequence[str]) -> None:
    absent = [name for name in names if name not in set(table.names)]
    more = [name for name in table.names if name not in set(names)]
    if absent or more:
        what = f"lacks column {shortened(absent[0])}" if absent else f"has {shortened(more[0])}"
        raise InvalidInputError(
            f"{shortened_path(table.source)} {what}, unlike the first file; all files of a folder "
            "must have the same columns."
        )
