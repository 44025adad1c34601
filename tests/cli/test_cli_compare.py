"""``plsdof compare --splits``."""

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from _helpers.command_line import (
    GASOLINE,
    OZONE,
    eighty_columns,  # noqa: F401
    refused,
    run,
    run_json,
)

from plsdof.complexity.comparison import CONTESTANTS, compare_splits
from plsdof.datasets import load_ozone

OPTIONS = ("compare", OZONE, "-r", "V4", "--missing", "drop", "--splits", 3)


def test_numbers_are_those_of_the_library():
    found = run_json(*OPTIONS, "--seed", 4, "--test-fraction", 0.75, "--max-components", 5)
    expected = compare_splits(
        *load_ozone(return_X_y=True), n_splits=3, test_size=0.75, max_components=5, rng=4
    )
    assert (found["splits"], found["n_train"], found["n_test"]) == (3, 50, 153)
    np.testing.assert_allclose(found["values"]["rmse"], expected.values["rmse"], rtol=1e-9)
    for name, values in expected.columns().items():
        shown = [one[name] for one in found["contestants"]]
        if name == "contestant":
            assert shown == list(CONTESTANTS)
        else:
            np.testing.assert_allclose(np.array(shown, float), values, rtol=1e-7, atol=1e-12)


def test_the_table_shows_all_contestants_within_80_columns():
    result = run(*OPTIONS, "--criterion", "aicc")
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "…" not in result.stdout
    for name in (*CONTESTANTS, "pls-aicc"):
        assert any(line.split()[:1] == [name] for line in result.stdout.splitlines())
    assert run(*OPTIONS, "-q").output == ""


def test_groups_and_preprocessing_reach_the_splits(tmp_path):
    rows = np.random.default_rng(0).normal(size=(24, 6)) + 5
    lines = [",".join(f"{value:.6f}" for value in row) + f",{i // 4}" for i, row in enumerate(rows)]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["a,b,c,d,e,y,sample", *lines]))
    options = ("compare", file, "-r", "y", "--splits", 2)
    kept = run_json(*options, "--groups", "sample", "-f", "a:e", "--test-fraction", 0.3)
    assert kept["n_test"] == 8
    plain = run_json(*options, "-f", "a:e")
    changed = run_json(*options, "-f", "a:e", "--preprocess", "msc")
    assert changed["values"] != plain["values"]
    assert len(changed["notes"]) == len(plain["notes"]) + 2


@pytest.mark.parametrize(
    "options",
    [("--cv", 5), ("--preprocess", "auto"), ("--test-fraction", 2)],
    ids=str,
)
def test_what_does_not_go_with_splits_is_refused(options):
    refused("compare", GASOLINE, "-r", "octane", "--splits", 3, *options)


def test_a_bar_is_for_terminals_that_are_not_to_be_quiet(monkeypatch):
    module, asked = import_module("plsdof.cli.compare"), []

    def recorded(*arguments, progress, **options):
        asked.append(progress)
        return compare_splits(*arguments, **options)

    monkeypatch.setattr(module, "compare_splits", recorded)
    run(*OPTIONS)
    terminal = SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(module, "sys", terminal)
    run(*OPTIONS)
    run(*OPTIONS, "-q")
    assert asked == [False, True, False]
