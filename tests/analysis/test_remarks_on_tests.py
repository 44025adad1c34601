"""Tests that contradict cross-validation, rows that drift, two kinds of standard errors."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from _helpers.analyses import analyse
from _helpers.command_line import run

from plsdof._core.display import p_value
from plsdof.chemometrics.merit import figures_of_merit
from plsdof.datasets import load_gasoline
from plsdof.inference import coefficient_inference
from plsdof.workbench.analysis import Request
from plsdof.workbench.analysis.analysis import analysed
from plsdof.workbench.analysis.data import Rows, TableProblem


def problem(noise_of_test, seed=0):
    """A table of 60 rows, and 30 rows to test on with more noise or as much."""
    rng = np.random.default_rng(seed)
    X, beta = rng.normal(size=(90, 6)), np.arange(1.0, 7.0)
    noise = np.repeat([1.0, noise_of_test], [60, 30])
    y = X @ beta + noise * rng.normal(size=90)
    data = TableProblem.of(X[:60], y[:60])
    frame = pd.DataFrame(X[60:])
    return replace(
        data, test=Rows(X=frame, y=y[60:], numbers=np.arange(61, 91), labels=None, source="test")
    )


def test_a_test_that_contradicts_cross_validation_is_said():
    found = analysed(problem(3.0), Request())
    error, coverage = found.remark("test-error"), found.remark("test-coverage")
    assert error is not None
    assert coverage is not None
    assert f"{found.test.inside} of 30" in coverage.words
    assert found.merit["test"] == figures_of_merit(found.test.rows.y, found.test.predicted)


def test_tests_keep_their_level():
    # Of 60 tests of level 5% about 3 are wrong; 10 or more of either kind have probability 1e-3.
    kinds = [
        one.key
        for seed in range(60)
        for one in analysed(problem(1.0, seed), Request(components=6)).remarks
    ]
    assert kinds.count("test-error") < 10
    assert kinds.count("test-coverage") < 10


def drifting(slope, seed=1, n=80):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = X @ np.arange(1.0, 6.0) + rng.normal(size=n) + slope * np.linspace(-1, 1, n)
    return X, y


def test_a_drift_of_errors_with_the_order_of_rows_is_said():
    found = analyse(*drifting(1.5))
    assert found.remark("drift") is not None
    X, y = drifting(1.5)
    order = np.random.default_rng(0).permutation(80)
    assert analyse(X[order], y[order]).remark("drift") is None


def test_the_drift_test_keeps_its_level_also_in_tables_sorted_by_the_response():
    said = 0
    for seed in range(40):
        X, y = drifting(0.0, seed)
        order = np.argsort(X[:, 4] + X[:, 3]) if seed % 2 else np.argsort(y)
        said += analyse(X[order], y[order]).remark("drift") is not None
    # Level 1%: 4 or more of 40 have probability 1e-3.
    assert said < 4


def test_the_headline_is_the_error_of_the_test(tmp_path):
    data = problem(3.0)
    X = np.vstack([data.rows.X, data.test.X])
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(6)])
    table.insert(0, "y", np.concatenate([data.y, data.test.y]))
    table.to_csv(file := tmp_path / "t.csv", index=False)
    report = tmp_path / "r.html"
    shown = run("fit", file, "-r", "y", "--test-rows", "61:90", "--report", report).stdout
    assert shown.index("RMSEP") < shown.index("Choice:")
    assert shown.count("Warning:") == 2
    page = report.read_text(encoding="utf-8").partition('id="found-title"')[2]
    assert page.index("RMSEP") < page.index("RMSECV")
    assert page.count('<p class="note doubt">') == 2


@pytest.mark.parametrize("options", [["--cv", "blocks:5"], ["--one-standard-error"]])
def test_blocks_and_one_standard_error_are_options(tmp_path, options):
    X, y = drifting(0.0)
    table = pd.DataFrame(X, columns=list("abcde"))
    table.insert(0, "y", y)
    table.to_csv(file := tmp_path / "t.csv", index=False)
    shown = " ".join(run("fit", file, "-r", "y", *options).stdout.split())
    assert ("5 folds of consecutive rows" in shown) == ("blocks:5" in options)


def test_the_jackknife_stands_beside_standard_errors_that_are_far_from_it():
    X, y = load_gasoline(return_X_y=True, as_frame=True)
    found = analyse(X, y, Request(components=4))
    other = coefficient_inference(found.model, covariance="jackknife").std_error
    np.testing.assert_allclose(found.jackknife, other)
    assert np.max(other / found.inference.std_error) > 1.5
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    plain = analyse(X, X @ [1.0, 2.0, 3.0] + rng.normal(size=400), Request(components=3))
    assert plain.jackknife is None
    assert analyse(X, X[:, 0], Request(components=1, covariance="hc3")).jackknife is None


def test_assumptions_name_the_number_of_components():
    X, y = drifting(0.0)
    words = analyse(X, y, Request(components=2)).inference.assumptions
    assert words.startswith("X and the number of components (2) held fixed")


def test_small_p_values_are_said_to_be_small():
    assert p_value(9.9e-5) == "<0.0001"
    assert p_value(1.1e-4) == "0.00011"
    assert p_value(float("nan")) == "-"
