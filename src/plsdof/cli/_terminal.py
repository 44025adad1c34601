"""What a command prints: text that is safe against hostile names, tables, and JSON for machines."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from plsdof import __version__
from plsdof._core.display import plural as plural
from plsdof.analysis.remarks import significant
from plsdof.analysis.tables import records as records
from plsdof.files.writing import plain

# Text for a terminal: safe against hostile names, readable at 80 columns
# -----------------------------------------------------------------------

_LONGEST_LINE = 1000


def tolerate_any_character(*streams: Any) -> None:
    """Spell out what the encoding of a stream cannot show instead of failing."""
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def console() -> Console:
    """Return a console that takes text literally: no markup, no guessed colours."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=False)


def waiting(text: str, *, quiet: bool = False) -> Any:
    """Return a context that shows what is going on, on a terminal and on stderr only."""
    errors = Console(stderr=True, highlight=False, markup=False, emoji=False, quiet=quiet)
    return errors.status(Text(text))


def safe(text: str, most: int | None = None) -> str:
    r"""Spell out control characters, and cut text that is longer than ``most``.

    Examples
    --------
    >>> safe("\x1b[31mred", 8)
    '\\x1b[31…'
    """
    start = text if most is None else text[: most + 1]
    spelled = "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in start
    )
    return spelled if most is None or len(spelled) <= most else spelled[: most - 1] + "…"


def complain(message: str) -> None:
    """Print an error as one line."""
    typer.echo(f"Error: {safe(' '.join(message.split()), _LONGEST_LINE)}", err=True)


def note(screen: Console, messages: Iterable[str]) -> None:
    """Print remarks, each with a hanging indent."""
    for message in messages:
        remark(screen, "Note", message)


def remark(screen: Console, title: str, message: str) -> None:
    """Print a title and a text that wraps beside it."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(f"{title}:", style="bold"), Text(safe(" ".join(message.split()))))
    screen.print(grid)


def table(title: str, headings: Sequence[str], *, text_columns: int = 0) -> Table:
    """Return an empty table; all but the first ``text_columns`` columns are numbers."""
    made = Table(
        title=Text(safe(title)),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
    )
    for position, heading in enumerate(headings):
        if position < text_columns:
            made.add_column(Text(heading), no_wrap=True, overflow="ellipsis", max_width=24)
        else:
            made.add_column(Text(heading), justify="right", no_wrap=True)
    return made


def add_row(made: Table, cells: Sequence[str], *, chosen: bool = False) -> None:
    """Add a row of literal text; the chosen one is bold."""
    made.add_row(*(Text(safe(cell)) for cell in cells), style="bold" if chosen else None)


number = significant


def fixed(value: float | None, decimals: int = 2) -> str:
    """Format a number with a fixed number of decimals, with a dash for no number."""
    return "-" if value is None or not np.isfinite(value) else f"{value:.{decimals}f}"


def p_value(value: float) -> str:
    """Format a p-value."""
    return "<1e-16" if value < 1e-16 else f"{value:.1e}" if value < 0.001 else f"{value:.3f}"


def percent(level: float) -> str:
    """Return a level as a percentage.

    Examples
    --------
    >>> percent(0.95)
    '95%'
    """
    return f"{100 * level:g}%"


# What the tables give people, for machines: strict JSON, null where there is no number
# -------------------------------------------------------------------------------------


def print_json(command: str, content: Mapping[str, Any]) -> None:
    """Print one JSON object to standard output."""
    typer.echo(json_text({"plsdof": __version__, "command": command, **content}))


def json_text(content: Mapping[str, Any]) -> str:
    """Return JSON with arrays as lists, null for nan and infinity, and a line for each entry.

    Examples
    --------
    >>> print(json_text({"n": 2, "dof": np.array([1.0, np.nan])}))
    {
     "n": 2,
     "dof": [1.0, null]
    }
    """
    lines = (f" {json.dumps(key)}: {_line(value)}" for key, value in plain(content).items())
    return "{\n" + ",\n".join(lines) + "\n}"


def _line(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        rows = (json.dumps(entry, allow_nan=False) for entry in value)
        return "[\n  " + ",\n  ".join(rows) + "\n ]"
    return json.dumps(value, allow_nan=False)
