"""Tables that are read piece by piece: folders, and files too large for memory."""

import os
import stat
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from plsdof.cli.problem import Problem, also_used, listed, require_apart
from plsdof.cli.terminal import plural
from plsdof.columns import shortened
from plsdof.errors import InvalidInputError
from plsdof.file_blocks import FileBlocks, file_blocks
from plsdof.folders import files_in
from plsdof.gram import FORMED, Gram
from plsdof.large import source_gram
from plsdof.tables import shortened_path

# Files above these sizes, in bytes, are read piece by piece unless told otherwise.
LARGE_TEXT, LARGE_PARQUET = 1_000_000_000, 500_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamedProblem(Problem):
    """A regression problem of which only sums were kept.

    Attributes
    ----------
    gram : Gram
        What its rows come down to.
    """

    gram: Gram

    @property
    def is_read_again(self) -> bool:
        """Whether a fit has to go through the files again."""
        return self.gram.matrix is None or self.gram.side == "samples"

    @property
    def has_intervals(self) -> bool:
        """Whether what standard errors rest on, p x rank numbers, takes bounded memory."""
        n, p = self.shape
        return self.gram.matrix is not None and p * min(n - 1, p) <= FORMED**2

    @property
    def why_no_intervals(self) -> str:
        """Say what is missing, and what to do about it."""
        return (
            f"for {self.shape[1]:,} coefficients they need as much memory as the table; use "
            "--in-memory if it fits."
        )


def is_streamed(file: Path, in_memory: bool | None) -> bool:
    """Whether to read piece by piece: as asked for, else folders and large files that allow it."""
    if in_memory is not None:
        return not in_memory
    try:
        found = file.stat()
        if stat.S_ISDIR(found.st_mode):
            return True
        if found.st_size <= min(LARGE_TEXT, LARGE_PARQUET):  # a pipe, too, has no size
            return False
        with file.open("rb") as stream:
            start = stream.read(4)
    except (OSError, ValueError):  # reading it will say what is wrong
        return False
    is_excel = start == b"PK\x03\x04"
    return not is_excel and found.st_size > (LARGE_PARQUET if start == b"PAR1" else LARGE_TEXT)


def refuse_streamed(file: Path, wanted: Mapping[str, bool]) -> None:
    """Refuse options that need the table in memory."""
    for option, is_wanted in wanted.items():
        if is_wanted:
            raise InvalidInputError(
                f"{option} needs the table in memory, but {shortened_path(str(file))} is read "
                f"piece by piece; leave {option} out, or add --in-memory if the table fits."
            )


def read_streamed(
    file: Path,
    response: str,
    *,
    features: Sequence[str] = (),
    exclude: Sequence[str] = (),
    label: str | None = None,
    scale: bool = True,
    progress: bool = False,
) -> StreamedProblem:
    """Read a file, or the files of a folder, in one pass and bounded memory.

    The column ``label`` is no predictor.
    """
    require_apart(response, features, {"--id": label})
    _require_readable(file)
    try:
        exclude = [*exclude, *([] if label is None else [label])]
        blocks = _opened(file, response, features, exclude)
        blocks.progress = progress
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gram = source_gram(blocks, scale=scale)
        _require_variation(gram, response)
    except InvalidInputError as error:
        raise InvalidInputError(_located(str(error), file)) from error
    unit = "column" if blocks.axis else "row"
    left_out = [shortened(name) for name in blocks.left_out]
    notes = [f"Left out, not numeric or without a name: {listed(left_out)}."] if left_out else []
    notes += [] if features else also_used(blocks.names)
    return StreamedProblem(
        gram=gram,
        shape=(gram.units.n_rows, len(gram.units.x_mean)),
        names=blocks.names,
        response=response,
        source=os.fspath(file),
        described=f"blocks of {plural(blocks.step, unit)}",
        dropped=0,
        notes=(*notes, *dict.fromkeys(str(one.message) for one in caught)),
    )


def _require_readable(file: Path) -> None:
    if file.is_dir():
        files_in(file)
    elif file.exists() and not file.is_file():
        raise InvalidInputError(
            f"{shortened_path(str(file))}: it is read more than once, which needs a file or a "
            "folder; leave out --streamed."
        )


def _opened(
    file: Path, response: str, features: Sequence[str], exclude: Sequence[str]
) -> FileBlocks:
    blocks = file_blocks(file, response, columns=features or None)
    exclude = [choice for choice in exclude if choice != response]
    if not exclude:
        return blocks
    excluded = set(file_blocks(file, response, columns=exclude).names)
    names = [name for name in blocks.names if name not in excluded]
    if not names:
        raise InvalidInputError("no predictor is left; choose others with --features.")
    chosen = file_blocks(file, response, columns=names)
    chosen.left_out = tuple(name for name in blocks.left_out if name not in excluded)
    return chosen


def _require_variation(gram: Gram, response: str) -> None:
    if gram.total == 0:
        raise InvalidInputError(
            f"{shortened(response)} is {gram.units.y_mean:g} in all rows; there is nothing to "
            "predict."
        )


def _located(message: str, file: Path) -> str:
    """Begin a message with the file, unless it names one."""
    return message if file.name in message else f"{shortened_path(str(file))}: {message}"
