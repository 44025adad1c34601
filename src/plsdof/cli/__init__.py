"""The command ``plsdof``: one module per command.

Exit codes: 0 done; 1 an unexpected error, with a traceback; 2 wrong usage or input that cannot be
used, with one line that says why; 130 interrupted by Ctrl-C.

    plsdof fit TABLE --response COLUMN     choose a model, print it, keep it, report it; the table
                                           may be a folder, or larger than memory
    plsdof predict MODEL TABLE             predictions and intervals for new rows
    plsdof compare TABLE --response COLUMN PLS, PCR and ridge on the scale of Degrees of Freedom;
                                           with --splits 50 also ways to choose, on rows left out
    plsdof demo, plsdof datasets           the main job on a shipped data set; the data sets
"""

import functools
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

from plsdof import __version__
from plsdof.errors import MissingExtraError, PlsdofError

try:
    import rich  # noqa: F401
    import typer
except ImportError as error:
    raise MissingExtraError("typer", "cli", "The command line") from error

from plsdof.cli._options import StrictCommand
from plsdof.cli._terminal import complain, tolerate_any_character
from plsdof.cli.compare import compare
from plsdof.cli.fit import fit
from plsdof.cli.others import datasets, demo
from plsdof.cli.predict import predict

__all__ = ["app", "main"]

INTERRUPTED = 130
BAD_INPUT = 2

app = typer.Typer(
    help="Degrees of Freedom, model selection and intervals for Partial Least Squares.",
    epilog="Exit codes: 0 done, 1 unexpected error, 2 bad input or usage, 130 interrupted.",
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


def _add(command: Callable[..., None]) -> None:
    """Add a command whose errors become one line and an exit code."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except PlsdofError as error:
            complain(str(error))
            raise typer.Exit(BAD_INPUT) from error
        except (OSError, RuntimeError) as error:
            complain(_file_trouble(error))
            raise typer.Exit(BAD_INPUT) from error
        except MemoryError as error:
            complain(
                "there is not enough memory for this table. Leave out columns or rows, or, with "
                "plsdof fit, read it piece by piece (--streamed)."
            )
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt as interrupt:
            hint = str(interrupt)  # a command may say how to go on
            typer.echo(f"\nInterrupted.{' ' if hint else ''}{hint}", err=True)
            raise typer.Exit(INTERRUPTED) from interrupt

    app.command(cls=StrictCommand)(run)


for _command in (fit, predict, compare, demo, datasets):
    _add(_command)


def main(program: str | None = None) -> None:
    """Run the command line, under the name it was started by or another one."""
    tolerate_any_character(sys.stdout, sys.stderr)
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
        complain(_file_trouble(error))
        raise SystemExit(BAD_INPUT) from None


def _forget_output() -> None:
    """Keep Python from writing at its end what could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
