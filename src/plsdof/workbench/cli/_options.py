"""The options of all commands, each described once, and how a command gets them.

A command takes groups of options, such as `Request`; `as_command` makes one option of every field.
"""

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from plsdof._core.choice import RULES
from plsdof._core.criteria import CRITERIA, DOF_KINDS
from plsdof._core.fit import METHODS
from plsdof.errors import InvalidInputError
from plsdof.inference.intervals import COVARIANCES, INTERVAL_METHODS
from plsdof.models.writing import check_writable
from plsdof.workbench.analysis.remarks import usual_scheme
from plsdof.workbench.analysis.request import CHOICES, option_word, options
from plsdof.workbench.tables.writing import require_ending


class StrictCommand(TyperCommand):
    """A command that refuses options which contradict each other, or are given twice.

    Those that add up may be repeated.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse twice: first to see what was given, how often; then as ever."""
        if not ctx.resilient_parsing:  # as it is for completion in a shell
            *_, given = self.make_parser(ctx).parse_args(args=list(args))
            self._require_once(ctx, given)
        return super().parse_args(ctx, args)

    def _require_once(self, ctx: Any, given: list[Any]) -> None:
        for option in self.get_params(ctx):
            is_single = option.param_type_name == "option" and not option.multiple
            if is_single and not option.is_eager and given.count(option) > 1:
                names = " or ".join([*option.opts, *option.secondary_opts])
                ctx.fail(f"{names} is given {given.count(option)} times; give it once.")
        if {"quiet", "verbose"} <= {option.name for option in given}:
            ctx.fail("--quiet and --verbose exclude each other; give one of them.")


# What options are called, what they take and what they do
# --------------------------------------------------------

# Exit code when a limit is crossed, so that a scheduler can ask.
LIMIT_CROSSED = 3
# Tables that are part of the package and may be written, and what to try with them.
SHIPPED = {"gasoline": "--response octane --cv 10", "ozone": "--response V4 --missing drop"}
_WORDS: dict[str, Sequence[str]] = {
    "methods": tuple(METHODS),
    "choices": CHOICES,
    "criteria": tuple(CRITERIA),
    "rules": RULES,
    "dof_kinds": DOF_KINDS,
    "covariances": COVARIANCES,
    "intervals": INTERVAL_METHODS,
    "shipped": [f"{name}.csv" for name in SHIPPED],
    "scheme": [usual_scheme()],
}


def _option(
    name: str,
    *,
    panel: str,
    text: str,
    value: str | None = None,
    names: Sequence[str] = (),
    default: str | bool = False,
    words: str = "",
) -> Any:
    """Describe an option as a row of options.toml does."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in _WORDS[words] if word.startswith(incomplete)]

    names = names or [f"--{name.rpartition('.')[2].replace('_', '-')}"]
    with_opposite = "/" in names[0]
    return typer.Option(
        *names,
        metavar=" " if with_opposite else value,  # instead of <bool>
        help=text.format(**{key: ", ".join(some) for key, some in _WORDS.items()}),
        show_default=default,
        autocompletion=complete if words else None,
        rich_help_panel=panel,
    )


OPTIONS = {name: _option(name, **facts) for name, facts in options().items()}
File = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet or Excel (.xlsx) file, spectra (JCAMP-DX, SPC, OPUS, MATLAB, DPT), "
        "or a folder of them.",
    ),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Printing:
    """What a command prints: tables, JSON or nothing; some rows of the tables or all."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False


# How files end that hold a model, or a page.
JSON, PAGE = (".json",), (".html", ".htm")


def check_outputs(outputs: Mapping[str, tuple[Path | None, Sequence[str]]], *inputs: Path) -> None:
    """Refuse files that cannot be written, or would overwrite an input or each other.

    ``outputs`` are files and their endings by option.
    """
    seen = {one.resolve(): "the input" for one in inputs}
    for option, (path, endings) in outputs.items():
        if path is None:
            continue
        check_writable(path)
        where = path.resolve()
        if any(one.is_dir() and where.parent == one.resolve() for one in inputs):
            raise InvalidInputError(
                f"{option} {path} would become part of the table; choose another folder."
            )
        if where in seen:
            raise InvalidInputError(
                f"{option} {path} would overwrite {seen[where]}; choose another name."
            )
        require_ending(option, path, endings)
        seen[where] = f"the file of {option}"


# From groups of options to a command
# -----------------------------------


def as_command(
    function: Callable[..., Any], run: Callable[[Callable[[], Any]], Any]
) -> Callable[..., Any]:
    """Return a function with one parameter for every field of the groups that a command takes.

    ``run`` calls what it is given, and may do something about its errors.
    """
    kinds = get_type_hints(function, include_extras=True)
    del kinds["return"]
    groups: dict[str, Any] = {}
    some: dict[str, Any] = {}
    for name, kind in kinds.items():
        plain = kind.__origin__ if hasattr(kind, "__metadata__") else kind
        if dataclasses.is_dataclass(plain):
            groups[name] = plain
            # Of some groups a command takes a few fields only.
            some[name] = kind.__metadata__[0] if plain is not kind else None

    def is_asked(group: str, field: str) -> bool:
        return some[group] is None or field in some[group]

    scopes = [function.__name__] + ["model"] * bool({"model", "models"} & set(kinds))
    parameters = []
    for name, own in inspect.signature(function).parameters.items():
        wanted = {name: (kinds[name], own.default)}
        if name in groups:
            types = get_type_hints(groups[name])
            fields = [one for one in dataclasses.fields(groups[name]) if is_asked(name, one.name)]
            wanted = {one.name: (types[one.name], one.default) for one in fields}
        for one, (kind, default) in wanted.items():
            known = [OPTIONS.get(key) for key in (*(f"{scope}.{one}" for scope in scopes), one)]
            described = next((option for option in known if option is not None), None)
            parameters.append(_parameter(one, kind, default, described))

    def work(given: dict[str, Any]) -> Any:
        given = {name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}
        for name, kind in groups.items():
            fields = {one.name for one in dataclasses.fields(kind) if is_asked(name, one.name)}
            given[name] = as_group(kind, **{one: given.pop(one) for one in fields})
        return function(**given)

    def command(**given: Any) -> Any:
        return run(lambda: work(given))

    # Those without a default come first.
    parameters.sort(key=lambda one: one.default is not inspect.Parameter.empty)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    # Typer keeps the ends of lines.
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    command.__doc__ = "\n\n".join(" ".join(one.split()) for one in paragraphs)
    return command


# Typer brings its own copy of click, in some versions.
_UsageError: Any = typer.BadParameter.__base__


@cache
def _parser(function: Callable[..., Any]) -> Any:
    alone = typer.Typer(add_completion=False)
    alone.command(cls=StrictCommand)(as_command(function, run=lambda work: work()))
    return typer.main.get_command(alone)


def parse(function: Callable[..., Any], words: Sequence[str]) -> Any:
    """Return what a function that takes groups of options makes of a command line."""
    try:
        return _parser(function).main(list(words), standalone_mode=False)
    except _UsageError as error:
        raise InvalidInputError(error.format_message()) from error


def _parameter(name: str, kind: Any, default: Any, described: Any) -> inspect.Parameter:
    """Return a parameter as Typer wants it; what a word may be is checked by those who know it."""
    if default is dataclasses.MISSING:
        default = inspect.Parameter.empty
    if not hasattr(kind, "__metadata__"):  # an argument has its description
        kind = Annotated[_simple_type(kind), described]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _simple_type(kind: Any) -> Any:
    """Return the type of what is typed: words for options that are words, lists for tuples."""
    if "Sequence" in str(kind) or "tuple" in str(kind):
        return list[str]
    return str | None if "Literal" in str(kind) or str in get_args(kind) else kind


def as_group(kind: Any, **given: Any) -> Any:
    """Make a group of options; what it refuses is called by its option."""
    try:
        return kind(**given)
    except InvalidInputError as error:
        first, space, rest = str(error).partition(" ")
        name = first.rstrip(":").replace("-", "_")
        word = option_word(name) if name in OPTIONS else name
        raise InvalidInputError(f"{word}{first[len(name) :]}{space}{rest}") from error
