"""What a command prints: text that is safe against hostile names, tables, an analysis, JSON."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from plsdof import __version__
from plsdof.models.writing import plain
from plsdof.workbench.analysis.request import options, words_of
from plsdof.workbench.analysis.result import Result
from plsdof.workbench.analysis.result import Table as ResultTable

# Text for a terminal: safe against hostile names, readable at 80 columns
# -----------------------------------------------------------------------

# Characters between two columns of a table, and those that names of rows keep at least.
_GAP, _SHORTEST, _LONGEST = 3, 8, 24


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


def remark(screen: Console, title: str, message: str, style: str = "") -> None:
    """Print a title and a text that wraps beside it."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    text = Text(safe(" ".join(message.split())), style=style)
    grid.add_row(Text(f"{title}:", style=f"bold {style}"), text)
    screen.print(grid)


def show_table(
    screen: Console,
    title: str,
    headings: Sequence[str],
    cells: Sequence[Sequence[str]],
    *,
    texts: Sequence[bool] = (),
    caption: str = "",
    chosen: int | None = None,
) -> None:
    """Print a table of literal text, column by column; ``texts`` says which are not numbers.

    The row in place ``chosen`` is bold. A number is never cut; names have the room that is left.
    """
    sizes = [max(map(len, [head, *column])) for head, column in zip(headings, cells, strict=True)]
    gap = _GAP if sum(sizes) + _GAP * (len(sizes) - 1) <= screen.width else _GAP - 1
    if texts[:1] == [True]:
        room = screen.width - sum(sizes[1:]) - gap * (len(sizes) - 1)
        cells = [[cut(safe(one), min(max(room, _SHORTEST), _LONGEST)) for one in cells[0]],
                 *cells[1:]]  # fmt: skip
    made = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, gap - _GAP + 1)
    )
    for place, (heading, size) in enumerate(zip(headings, sizes, strict=True)):
        of_text = any(texts[place : place + 1])
        justify: Any = "left" if of_text else "right"
        made.add_column(
            Text(heading),
            justify=justify,
            min_width=None if of_text else size,
            no_wrap=not of_text or place == 0,
        )
    for place, row in enumerate(zip(*cells, strict=True)):
        style = "bold" if place == chosen else None
        made.add_row(*(Text(safe(cell)) for cell in row), style=style)
    screen.print(Text(safe(title), style="bold"))
    screen.print(made)
    if caption:
        screen.print(Text(caption, style="dim italic"))


def cut(label: str, most: int) -> str:
    """Cut a text in the middle: names of samples differ at the end.

    Examples
    --------
    >>> cut("gasoline sample no 41", 12)
    'gasol… no 41'
    """
    if len(label) <= most:
        return label
    end = most // 2
    return f"{label[: most - end - 1]}…{label[-end:]}"


# A result on a terminal: its first table, what it says, remarks, the other tables, the record
# -------------------------------------------------------------------------------------------


def give(
    command: str,
    results: Sequence[Result],
    about: Sequence[dict[str, Any]],
    printing: Any,
    shown: Sequence[Result] | None = None,
) -> None:
    """Print what a command has found: as JSON, with what only machines want, or for people.

    ``shown`` is what people see, if it is not what machines get. ``about`` has the files that were
    written.
    """
    if printing.as_json:
        contents = [one.to_dict() | more for one, more in zip(results, about, strict=True)]
        print_json(command, contents[0] if len(contents) == 1 else {"responses": contents})
    elif not printing.quiet:
        screen = console()
        for place, one in enumerate(results if shown is None else shown):
            screen.print(*(["\n"] if place else []), end="")
            show_result(screen, one, verbose=printing.verbose)
            files: Mapping[str, str] = about[place]["written"]
            screen.print(*(["\n"] if files else []), end="")
            for what, where in files.items():
                remark(screen, f"Wrote the {what}", where)


def show_result(screen: Console, result: Result, *, verbose: bool = False) -> None:
    """Print a result."""
    if result.title:
        lines = map(safe, result.title.split("\n"))
        screen.print("\n".join([*lines, ""]), style="bold")
    tables = [one for one in result.titled.values() if one.brief]
    first = sorted(tables, key=lambda one: one.chosen is None)
    for one in first[:1]:
        show_result_table(screen, one, verbose=verbose)
        screen.print()
    for label, text in result.sentences.items():
        remark(screen, label, text)
    # What a sentence says is not said again.
    told = " ".join(result.sentences.values())
    numbers = [one for one in result.numbers.values() if one.text not in told]
    if numbers:
        remark(screen, "Numbers", ", ".join(f"{one.label} {one.text}" for one in numbers))
    for said in sorted(result.remarks, key=lambda one: one.severity != "severe"):
        word, style = ("Warning", "red") if said.severity == "severe" else ("Note", "")
        remark(screen, word, with_mend(said.words, said.mend), style=style)
    for one in first[1:]:
        screen.print()
        show_result_table(screen, one, verbose=verbose)
    if result.record:
        screen.print()
        remark(screen, "Record", "; ".join(f"{k}: {v}" for k, v in result.record.items()))


def with_mend(words: str, mend: Mapping[str, Any]) -> str:
    """Return what a remark or an error says, and the options that mend it; others stay data."""
    found = shlex.join(words_of({name: mend[name] for name in mend if name in options()}))
    return f"{words} Try {found}." if found else words


def show_result_table(screen: Console, one: ResultTable, *, verbose: bool) -> None:
    """Print a table of a result: its brief columns, of few rows or of all."""
    columns = [c for c in one.columns.values() if c.label and c.brief]
    places = range(len(one)) if verbose or one.short is None else one.short
    headings = [safe(c.heading, _LONGEST) for c in columns]
    cells, texts = [c.texts(places) for c in columns], [c.is_text for c in columns]
    chosen = None if one.chosen is None else list(places).index(one.chosen)
    if chosen is not None and one.mark:
        headings, texts = [*headings, ""], [*texts, True]
        cells.append([f"<- {one.mark}" * (i == chosen) for i in range(len(places))])
    if one.by:  # a few named rows stand side by side
        others = [list(row) for row in zip(*cells[1:], strict=True)]
        headings, cells, texts = ["", *cells[0]], [headings[1:], *others], [True]
    more = f"{len(places)} of {len(one)} rows; --verbose shows all." * (len(places) < len(one))
    caption = " ".join(filter(None, (more, one.caption)))
    show_table(screen, one.title, headings, cells, texts=texts, caption=caption, chosen=chosen)


# What the tables give people, for machines: strict JSON, null where a number is missing
# -------------------------------------------------------------------------------------


def print_json(command: str, content: Mapping[str, Any]) -> None:
    """Print one JSON object to standard output: arrays are lists, and nan and infinity null."""
    everything = plain({"plsdof": __version__, "command": command, **content})
    typer.echo(json.dumps(everything, allow_nan=False, indent=1))
