"""What the tables give people, for machines: strict JSON, null where there is no number."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import typer

from plsdof import __version__


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


def plain(value: Any) -> Any:
    """Return a value made of lists, dictionaries, text, finite numbers and None only."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _line(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        rows = (json.dumps(entry, allow_nan=False) for entry in value)
        return "[\n  " + ",\n  ".join(rows) + "\n ]"
    return json.dumps(value, allow_nan=False)


def records(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn a dictionary of columns into a list of rows.

    Examples
    --------
    >>> records({"m": [0, 1], "dof": np.array([1.0, 4.5])})
    [{'m': 0, 'dof': 1.0}, {'m': 1, 'dof': 4.5}]
    """
    lists = [np.asarray(values).tolist() for values in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
