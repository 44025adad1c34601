"""The command ``plsdof``: one module per command.

Exit codes: 0 done; 1 an unexpected error, with a traceback; 2 wrong usage or input that cannot be
used, with one line that says why; 3 a limit is crossed (check); 130 interrupted by Ctrl-C.

    plsdof fit TABLE --response COLUMN     choose a model, print it, keep it, report it; the table
                                           may be a folder, or larger than memory
    plsdof app [TABLE]                     the same in the browser, live
    plsdof predict MODEL... TABLE          predictions and intervals for new rows
    plsdof check MODEL TABLE               bias, error, slope and control charts of control samples
    plsdof adjust MODEL TABLE -o NEW       a model with bias or slope corrected
    plsdof transfer MODEL --primary A --secondary B -o NEW      a model for another instrument
    plsdof compare TABLE --response COLUMN PLS, PCR and ridge on the scale of Degrees of Freedom
    plsdof demo, plsdof datasets           the main job on a shipped data set; the data sets
"""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

from plsdof import __version__
from plsdof.errors import MissingExtraError, PlsdofError

try:
    import rich  # noqa: F401
    import typer
    from typer.core import TyperCommand, TyperGroup
except ImportError as error:
    raise MissingExtraError("typer", "cli", "The command line") from error

__all__ = ["app", "main"]

INTERRUPTED = 130
BAD_INPUT = 2
# Where commands are, and what they do. A module is imported when its command is called: it needs
# numpy, scipy and more, and help is wanted at once.
COMMANDS = {
    "fit": ("fit", "Fit a table, choose the number of components, and print the model."),
    "predict": ("predict", "Predict the rows of a table with a model, and mark unusual ones."),
    "check": ("life", "Check a calibration with control samples, and keep control charts."),
    "adjust": ("life", "Correct bias or slope of a model by control samples, or undo that."),
    "transfer": ("life", "Make a model for another instrument, by samples measured on both."),
    "app": ("browser", "Calibrate in the browser; the page stays on this machine."),
    "compare": ("compare", "Compare PLS, PCR and ridge regression by Degrees of Freedom."),
    "demo": ("fit", "Calibrate octane numbers by spectra that are shipped with the package."),
    "datasets": ("fit", "List the data sets, say which are at hand, and verify their hashes."),
}


class Commands(TyperGroup):
    """All commands; each is loaded when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Return what the help says of a command."""
        if cmd_name in COMMANDS:
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name][1])
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return the command itself, and what it is given."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, None if command is None else load_command(str(name)), rest


def load_command(name: str) -> Any:
    """Return a command whose errors become one line and an exit code."""
    from plsdof.workbench.cli._options import StrictCommand, as_command

    function = getattr(import_module(f"plsdof.workbench.cli.{COMMANDS[name][0]}"), name)
    alone = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    alone.command(name, cls=StrictCommand)(as_command(function, run=_guarded))
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=Commands,
    help="Degrees of Freedom, model selection and intervals for Partial Least Squares.",
    epilog="Exit codes: 0 done, 1 unexpected error, 2 bad input or usage, 3 a limit was crossed, "
    "130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"plsdof {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Degrees of Freedom, model selection and intervals for Partial Least Squares."""


def _file_trouble(error: OSError | RuntimeError) -> str:
    """Return what the operating system says of a file, in words; raise what it did not say."""
    if isinstance(error, BrokenPipeError) or (
        isinstance(error, RuntimeError) and not str(error).startswith("Symlink loop")
    ):
        raise error
    if isinstance(error, RuntimeError) or not error.strerror:
        return f"{error}."
    where = f" ({error.filename!s:.120})" if error.filename else ""
    return f"{error.strerror}{where}. Choose another file or folder, or make room."


def _guarded(work: Callable[[], None]) -> None:
    """Run a command; its errors become one line and an exit code."""
    try:
        work()
    except PlsdofError as error:
        from plsdof.workbench.cli._show import with_mend

        _complain(with_mend(str(error), getattr(error, "mend", {})))
        raise typer.Exit(BAD_INPUT) from error
    except (OSError, RuntimeError) as error:
        _complain(_file_trouble(error))
        raise typer.Exit(BAD_INPUT) from error
    except MemoryError as error:
        _complain(
            "there is not enough memory for this table. Leave out columns or rows, or, with "
            "plsdof fit, read it piece by piece (--streamed)."
        )
        raise typer.Exit(BAD_INPUT) from error
    except KeyboardInterrupt as interrupt:
        hint = str(interrupt)  # a command may say how to go on
        typer.echo(f"\nInterrupted.{' ' if hint else ''}{hint}", err=True)
        raise typer.Exit(INTERRUPTED) from interrupt


def _complain(message: str) -> None:
    """Print an error as one line."""
    from plsdof.workbench.cli._show import safe

    typer.echo(f"Error: {safe(' '.join(message.split()), 1000)}", err=True)


def main(program: str | None = None) -> None:
    """Run the command line, under the name it was started by or another one."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # What the encoding cannot show is spelled out.
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            app(prog_name=program)
        finally:
            if sys.stdout is not None:  # who started this may have closed it
                sys.stdout.flush()
    except BrokenPipeError:  # who reads this has seen enough
        _forget_output()
        raise SystemExit(1) from None
    except OSError as error:  # a full disk
        _forget_output()
        _complain(_file_trouble(error))
        raise SystemExit(BAD_INPUT) from None


def _forget_output() -> None:
    """Keep Python from writing at its end what could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
