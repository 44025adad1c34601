"""What a command prints: text that is safe against hostile names, tables, an analysis, JSON."""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from plsdof import __version__
from plsdof._core.remarks import Remark
from plsdof.models.writing import plain
from plsdof.workbench.analysis.request import words_of
from plsdof.workbench.analysis.result import Result, in_text, significant
from plsdof.workbench.analysis.result import Table as ResultTable

# Text for a terminal: safe against hostile names, readable at 80 columns
# -----------------------------------------------------------------------

number = significant


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


def note(screen: Console, messages: Iterable[str]) -> None:
    """Print remarks, each with a hanging indent."""
    for message in messages:
        remark(screen, "Note", message)


def remark(screen: Console, title: str, message: str, style: str = "") -> None:
    """Print a title and a text that wraps beside it."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    text = Text(safe(" ".join(message.split())), style=style)
    grid.add_row(Text(f"{title}:", style=f"bold {style}"), text)
    screen.print(grid)


def table(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    texts: Sequence[bool] = (),
    caption: str = "",
    chosen: int | None = None,
) -> Table:
    """Return a table of literal text; columns hold numbers where ``texts`` does not say
    otherwise.

    The row in place ``chosen`` is bold.
    """
    made = Table(
        title=Text(safe(title)),
        title_justify="left",
        title_style="bold",
        caption=caption or None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
    )
    text: dict[str, Any] = {"no_wrap": True, "overflow": "ellipsis", "max_width": 24}
    for heading, of_text in zip_longest(headings, texts, fillvalue=False):
        how = text if of_text else {"no_wrap": True, "justify": "right"}
        made.add_column(Text(str(heading)), **how)
    for place, cells in enumerate(rows):
        style = "bold" if place == chosen else None
        made.add_row(*(Text(safe(cell)) for cell in cells), style=style)
    return made


def fixed(value: float | None, decimals: int = 2) -> str:
    """Format a number with a fixed number of decimals, with a dash for no number."""
    return in_text(value, 10.0 ** (1 - decimals))


# A result on a terminal: its first table, what it says, remarks, the other tables, the record
# -------------------------------------------------------------------------------------------


def show_result(screen: Console, result: Result, *, verbose: bool = False) -> None:
    """Print a result."""
    if result.title:
        screen.print(f"{safe(result.title)}\n", style="bold")
    tables = [one for one in result.titled.values() if one.brief]
    first = sorted(tables, key=lambda one: one.chosen is None)
    for one in first[:1]:
        screen.print(result_table(one, verbose=verbose))
        screen.print()
    for label, text in result.sentences.items():
        remark(screen, label, text)
    if numbers := [f"{one.label} {one.text}" for one in result.numbers.values()]:
        remark(screen, "Numbers", ", ".join(numbers))
    for said in sorted(result.remarks, key=lambda one: one.severity != "severe"):
        word, style = ("Warning", "red") if said.severity == "severe" else ("Note", "")
        remark(screen, word, with_mend(said), style=style)
    for one in first[1:]:
        screen.print()
        screen.print(result_table(one, verbose=verbose))
    if result.record:
        screen.print()
        remark(screen, "Recipe", "; ".join(f"{k}: {v}" for k, v in result.record.items()))


def with_mend(one: Remark) -> str:
    """Return the words of a remark, and the options that mend it."""
    mend = shlex.join(words_of(one.mend))
    return f"{one.words} Try {mend}." if mend else one.words


def result_table(one: ResultTable, *, verbose: bool = False) -> Table:
    """Return a table of a result: its brief columns, of few rows or of all."""
    columns = [c for c in one.columns.values() if c.label and c.brief]
    places = range(len(one)) if verbose or one.short is None else one.short
    headings = [f"{c.label} ({c.unit})" if c.unit else c.label for c in columns]
    cells, texts = [c.texts(places) for c in columns], [c.is_text for c in columns]
    chosen = None if one.chosen is None else list(places).index(one.chosen)
    if chosen is not None:
        headings, texts = [*headings, ""], [*texts, True]
        cells.append([f"<- {one.mark}" * (i == chosen) for i in range(len(places))])
    if one.by:  # a few named rows stand side by side
        others = [list(row) for row in zip(*cells[1:], strict=True)]
        headings, cells, texts = ["", *cells[0]], [headings[1:], *others], [True]
    more = f"{len(places)} of {len(one)} rows; --verbose shows all." * (len(places) < len(one))
    caption = " ".join(filter(None, (more, one.caption)))
    rows = zip(*cells, strict=True)
    return table(one.title, headings, rows, texts=texts, caption=caption, chosen=chosen)


# What the tables give people, for machines: strict JSON, null where a number is missing
# -------------------------------------------------------------------------------------


def print_json(command: str, content: Mapping[str, Any]) -> None:
    """Print one JSON object to standard output: arrays are lists, and nan and infinity null."""
    everything = plain({"plsdof": __version__, "command": command, **content})
    typer.echo(json.dumps(everything, allow_nan=False, indent=1))
