"""A folder of files as one table: which files, and the same columns in all of them."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from plsdof.columns import shortened
from plsdof.errors import InvalidInputError
from plsdof.table_content import Table
from plsdof.tables import read_table, shortened_path


def files_in(path: Path) -> list[Path]:
    """Return a file, or the files of a folder in the order of their names, without hidden ones.

    Names that start with an underscore are those of remarks that other programs leave behind.
    """
    if not path.is_dir():
        return [path]
    try:
        files = sorted(
            file for file in path.iterdir() if file.is_file() and file.name[0] not in "._"
        )
    except OSError as error:
        raise InvalidInputError(
            f"{shortened_path(str(path))}: the folder could not be read: {error.strerror}."
        ) from error
    if not files:
        raise InvalidInputError(
            f"{shortened_path(str(path))}: there is no file in this folder; give one that holds "
            "CSV or Parquet files, or a file."
        )
    return files


@contextmanager
def all_files_belong(path: Path) -> Iterator[None]:
    """Add to errors about a file of a folder what to do with files that are no part of it."""
    try:
        yield
    except InvalidInputError as error:
        if not path.is_dir():
            raise
        raise InvalidInputError(
            f"{error} All files of a folder are read; move what does not belong to the table "
            "elsewhere, or let its name begin with '_'."
        ) from error


def require_same_columns(
    first: str, names: Sequence[str], other: str, other_names: Sequence[str]
) -> None:
    """Refuse two files with different columns, by name."""
    missing = [name for name in names if name not in set(other_names)]
    added = [name for name in other_names if name not in set(names)]
    for different, what in ((missing, "lacks"), (added, "has the additional")):
        if different:
            raise InvalidInputError(
                f"{shortened_path(other)} {what} column {shortened(different[0])}, unlike "
                f"{shortened_path(first)}; all files must have the same columns."
            )


def read_folder(folder: str | os.PathLike[str], *, sheet: str | None = None) -> Table:
    """Read all files of a folder into memory and put their rows below each other.

    All files must have the same columns, in any order.
    """
    path = Path(folder)
    files = files_in(path)
    with all_files_belong(path):
        tables = [read_table(file, sheet=sheet) for file in files]
        first = tables[0]
        for other in tables[1:]:
            require_same_columns(first.source, first.names, other.source, other.names)
    import pandas  # read_table said what to install, if it is not there

    frames = [table.frame[list(first.names)] for table in tables]
    return replace(
        first,
        source=os.fspath(folder),
        frame=pandas.concat(frames, ignore_index=True),
        described=f"{len(tables)} file(s), the first one: {first.described}",
    )
