"""``plsdof benchmark``."""

import sys
from types import SimpleNamespace

import numpy as np
from _helpers.command_line import (
    OZONE,
    eighty_columns,  # noqa: F401
    refused,
    run,
    run_json,
    said,
)

from plsdof.complexity import benchmark
from plsdof.datasets import load_ozone

OPTIONS = (
    "benchmark",
    OZONE,
    "-r",
    "V4",
    "--drop-missing",
    "--splits",
    3,
    "-m",
    "pls",
    "-m",
    "pcr",
)


def test_numbers_are_those_of_the_library(tmp_path):
    found = run_json(*OPTIONS, "--seed", 4, "--plot", tmp_path / "errors.svg")
    expected = benchmark(*load_ozone(return_X_y=True), ["pls", "pcr"], n_splits=3, random_state=4)
    np.testing.assert_allclose([one["rmse"] for one in found["methods"]], expected.rmse)
    np.testing.assert_allclose(found["errors"], expected.error)
    assert (tmp_path / "errors.svg").read_text().startswith("<?xml")


def test_the_table_shows_methods_within_80_columns():
    result = run(*OPTIONS)
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "3 random splits, 162 rows to fit, 41 to test" in said(*OPTIONS)


def test_runs_are_resumed_and_bad_options_refused(tmp_path):
    file = tmp_path / "splits.json"
    first = run_json(*OPTIONS, "--resume", file)
    assert file.exists()
    assert run_json(*OPTIONS, "--resume", file)["errors"] == first["errors"]
    assert "methods must be some of" in refused(*OPTIONS, "-m", "lasso")
    assert "--plot" in refused(*OPTIONS, "--plot", tmp_path / "errors.txt")


def test_a_bar_is_for_terminals_that_are_not_to_be_quiet(monkeypatch):
    module, asked = sys.modules["plsdof.cli.benchmark"], []

    def recorded(*arguments, progress, **options):
        asked.append(progress)
        return benchmark(*arguments, **options)

    monkeypatch.setattr(module, "run_benchmark", recorded)
    run(*OPTIONS)
    terminal = SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(module, "sys", terminal)
    run(*OPTIONS)
    run(*OPTIONS, "-q")
    assert asked == [False, True, False]
