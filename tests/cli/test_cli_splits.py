"""Splits, folds of consecutive rows and what the recipe says about them, on the command line."""

import numpy as np
import pytest
from _helpers.command_line import GASOLINE, eighty_columns, run, run_json  # noqa: F401

from plsdof import pls_path
from plsdof.chemometrics.samples import split_rows
from plsdof.datasets import load_gasoline

X, y = load_gasoline(return_X_y=True)


@pytest.mark.parametrize("way", ["kennard-stone:0.3", "spxy:0.3", "duplex:0.3", "last:0.3"])
def test_split_keeps_rows_apart_and_states_them(way):
    content = run_json("fit", GASOLINE, "-r", "octane", "--split", way, "--no-std-errors")
    expected = np.flatnonzero(split_rows(X, y, way.partition(":")[0], 0.3, scale=True)) + 1
    assert [one["row"] for one in content["test"]["rows"]] == expected.tolist()
    stated, _, how = content["recipe"]["test rows"].partition(" ")
    assert how == f"({way})"
    # What is stated makes the same test again.
    again = run_json("fit", GASOLINE, "-r", "octane", "--test-rows", stated, "--no-std-errors")
    assert again["merit"]["test"] == content["merit"]["test"]
    assert again["n"] == content["n"] == 60 - len(expected)


def test_groups_stay_on_one_side(tmp_path):
    lines = GASOLINE.read_text().splitlines()
    marked = [f"{line},{'batch' if not i else f'b{i // 4}'}" for i, line in enumerate(lines)]
    file = tmp_path / "batches.csv"
    file.write_text("\n".join(marked) + "\n")
    options = ("--groups", "batch", "--split", "kennard-stone:0.3", "--no-std-errors")
    rows = [one["row"] for one in run_json("fit", file, "-r", "octane", *options)["test"]["rows"]]
    batches = {row // 4 for row in rows}
    assert rows == [row for row in range(1, 61) if row // 4 in batches]


def test_without_a_test_the_recipe_says_none_or_the_file():
    options = ("-r", "octane", "--no-std-errors")
    assert run_json("fit", GASOLINE, *options)["recipe"]["test rows"] == "none"
    content = run_json("fit", GASOLINE, *options, "--test", GASOLINE)
    assert content["recipe"]["test rows"] == str(GASOLINE)


@pytest.mark.parametrize(
    "options",
    [
        ("--split", "kennard-stone"),
        ("--split", "best:0.3"),
        ("--split", "random:0.99"),
        ("--split", "last:0.3", "--test-rows", "1"),
        ("--split", "duplex:0.3", "--streamed"),
        ("--one-standard-error", "--criterion", "bic"),
        ("--one-standard-error", "--components", "3"),
        ("--cv", "blocks:1"),
        ("--cv", "blocks:x"),
        ("--cv", "block"),
        ("--cv", "blocks:5", "--seed", "1"),
    ],
)
def test_mistakes_are_one_sentence_and_write_nothing(tmp_path, options):
    model = tmp_path / "model.json"
    run("fit", GASOLINE, "-r", "octane", *options, "--model", model, code=2)
    assert not model.exists()


@pytest.mark.parametrize("streamed", [False, True])
def test_folds_of_consecutive_rows(streamed):
    options = ("--cv", "blocks:5", "--components", "3", "--no-scale", *["--streamed"] * streamed)
    content = run_json("fit", GASOLINE, "-r", "octane", *options, "--no-std-errors")
    assert content["recipe"]["held-out rows to validate"] == "5 folds of consecutive rows"
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.model_selection import KFold, cross_val_predict

    predicted = cross_val_predict(PLSRegression(3, scale=False), X, y, cv=KFold(5))
    rmse = np.sqrt(np.mean((y - predicted.ravel()) ** 2))
    assert content["merit"]["cross-validation"]["rmse"] == pytest.approx(rmse, rel=1e-8)


def test_one_standard_error_takes_the_simplest_model_within_it():
    options = ("--cv", "10", "--max-components", "10", "--no-scale", "--no-std-errors")
    content = run_json("fit", GASOLINE, "-r", "octane", *options, "--one-standard-error")
    left = pls_path(X, y, 10, scale=False).left_out(10)
    # The standard error of the best model's mean squared error over folds, by the delta method.
    squares = np.array([left.residuals[:, left.fold == k] ** 2 for k in range(10)])
    means = squares.mean(axis=2)
    best = int(np.argmin(left.rmse))
    error = means[:, best].std(ddof=1) / np.sqrt(10) / (2 * left.rmse[best])
    expected = int(np.argmax(left.rmse <= left.rmse[best] + error))
    assert content["choice"]["index"] == expected < best
    assert content["choice"]["rule"] == "one-standard-error"
    assert content["merit"]["cross-validation"]["rmse"] == pytest.approx(left.rmse[expected])
