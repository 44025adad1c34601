"""The command line as its tests run it: in this process, or in one of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import plsdof
from plsdof.workbench.cli import app

DATA = Path(plsdof.__file__).parent / "datasets" / "data"
OZONE, GASOLINE = DATA / "ozone.csv", DATA / "gasoline.csv"


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch):
    """Give the terminal a width; a test module takes part by importing this name."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")


def run(*arguments, code=0):
    """Run, expect an exit code; return the result."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def run_json(*arguments):
    """Run with --json; return the content, which must be strict JSON."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(run(*arguments, "--json").stdout, parse_constant=refuse)


def said(*arguments):
    """Run; return what is printed, without line breaks and columns."""
    return " ".join(run(*arguments).stdout.split())


def refused(*arguments):
    """Run, expect exit code 2 and one line of complaint; return the line."""
    result = run(*arguments, code=2)
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("Error: ")
    assert result.stdout == ""
    return lines[0]


def arguments_of(*arguments):
    """Return what starts the program in a process of its own."""
    return [sys.executable, "-m", "plsdof", *map(str, arguments)]


def environment(**more):
    """Return the environment of a process of its own."""
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "80", **more}


def command(*arguments, **more):
    """Run the program in a process of its own; return what became of it."""
    return subprocess.run(
        arguments_of(*arguments),
        capture_output=True,
        env=environment(**more),
        timeout=120,
        check=False,
    )


def write(folder, text, name="table.csv"):
    """Write a file; return where it is."""
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def made(folder, n=30, p=6, seed=0, name="table.csv"):
    """Write a table of a response y and predictors x0, ...; return the file, X and y."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = X @ rng.normal(size=p) + rng.normal(size=n)
    names = ["y", *(f"x{i}" for i in range(p))]
    pd.DataFrame(np.column_stack([y, X]), columns=names).to_csv(folder / name, index=False)
    return folder / name, X, y
