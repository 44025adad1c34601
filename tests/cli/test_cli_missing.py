"""--missing on the command line: dropped, interpolated or imputed, counted and said."""

import numpy as np
import pandas as pd
import pytest
from _helpers.command_line import GASOLINE, eighty_columns, run, run_json  # noqa: F401

from plsdof.chemometrics import Preprocessor
from plsdof.chemometrics.missing import interpolated

FAST = ("--components", "3", "--cv", "5", "--no-std-errors")


@pytest.fixture
def files(tmp_path):
    """Gasoline with a gap of three points in two rows, and one of 20 points in another."""
    frame = pd.read_csv(GASOLINE)
    names = [name for name in frame.columns if name != "octane"]
    whole = frame.copy()
    frame.loc[[4, 9], names[100:103]] = np.nan
    narrow = tmp_path / "narrow.csv"
    frame.to_csv(narrow, index=False)
    frame.loc[20, names[200:220]] = np.nan
    wide = tmp_path / "wide.csv"
    frame.to_csv(wide, index=False)
    return narrow, wide, whole[names].to_numpy(), frame[names].to_numpy(), names


def filled_note(content):
    return next(note for note in content["notes"] if note.startswith("Filled"))


def test_interpolation_fills_narrow_gaps_and_counts_them(files, tmp_path):
    narrow, wide, _, holes, names = files
    model = tmp_path / "model.json"
    options = ("-r", "octane", *FAST, "--missing", "interpolate")
    content = run_json("fit", narrow, *options, "--model", model)
    assert content["n"] == 60
    assert "6 missing values" in filled_note(content)
    rows = interpolated(holes, np.array([float(name.split()[0]) for name in names]))
    frame = pd.DataFrame(rows, columns=names)
    frame.insert(0, "octane", pd.read_csv(GASOLINE)["octane"])
    frame.drop(index=20).to_csv(tmp_path / "done.csv", index=False)
    pd.read_csv(wide).drop(index=20).to_csv(tmp_path / "undone.csv", index=False)
    done = run_json("fit", tmp_path / "done.csv", "-r", "octane", *FAST)
    undone = run_json("fit", tmp_path / "undone.csv", *options)
    assert undone["merit"] == done["merit"]
    # The wide gap is not crossed unless that is asked for.
    run("fit", wide, *options, code=2)
    assert run_json("fit", wide, *options[:-1], "interpolate:20")["n"] == 60
    assert run_json("predict", model, wide, "--missing", "interpolate:20")["merit"]["n"] == 60
    run("predict", model, wide, code=2)
    dropped = run_json("predict", model, wide, "--missing", "drop")
    assert dropped["merit"]["n"] == 57


def test_imputation_is_a_step_of_the_recipe_and_of_the_model(files, tmp_path):
    _, wide, _, holes, _ = files
    model = tmp_path / "model.json"
    content = run_json("fit", wide, "-r", "octane", *FAST, "--missing", "impute", "--model", model)
    assert content["n"] == 60
    assert content["recipe"]["preprocessing"] == "impute"
    assert "26 missing values" in filled_note(content)
    y = pd.read_csv(GASOLINE)["octane"].to_numpy()
    errors = np.zeros(60)
    from sklearn.cross_decomposition import PLSRegression

    for fold in range(5):
        test = np.arange(60) % 5 == fold
        imputer = Preprocessor("impute").fit(holes[~test])
        pls = PLSRegression(3).fit(imputer.transform(holes[~test]), y[~test])
        errors[test] = y[test] - pls.predict(imputer.transform(holes[test])).ravel()
    rmse = np.sqrt(np.mean(errors**2))
    assert content["merit"]["cross-validation"]["rmse"] == pytest.approx(rmse, rel=1e-7)
    found = run_json("predict", model, wide)
    assert found["merit"]["n"] == 60
    assert "26 missing values" in filled_note(found)
    chain = run_json(
        "fit", wide, "-r", "octane", *FAST, "--missing", "impute", "--preprocess", "snv"
    )
    assert chain["recipe"]["preprocessing"] == "impute,snv"


def test_test_rows_and_comparisons_are_filled_too(files):
    _, wide, _, _, _ = files
    options = ("-r", "octane", *FAST, "--missing", "impute")
    content = run_json("fit", wide, *options, "--test-rows", "21,30")
    assert [one["row"] for one in content["test"]["rows"]] == [21, 30]
    assert run_json("fit", GASOLINE, *options, "--test", wide)["merit"]["test"]["n"] == 60
    run("compare", wide, "-r", "octane", "--missing", "impute", "--max-components", "3", "-q")


@pytest.mark.parametrize(
    "options",
    [
        ("--missing", "guess"),
        ("--missing", "impute:3"),
        ("--missing", "interpolate:0"),
        ("--missing", "interpolate:x"),
        ("--missing", "impute", "--streamed"),
        (),
    ],
)
def test_mistakes_are_one_sentence_and_write_nothing(files, tmp_path, options):
    model = tmp_path / "model.json"
    run("fit", files[0], "-r", "octane", *options, "--model", model, code=2)
    assert not model.exists()


def test_tables_without_an_axis_cannot_be_interpolated(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("y,a,b\n" + "".join(f"{i},{i % 3},{i % 5}\n" for i in range(9)) + "1,,2\n")
    run("fit", file, "-r", "y", "--missing", "interpolate", code=2)
    assert run_json("fit", file, "-r", "y", "--missing", "impute")["n"] == 10


def test_models_that_do_not_impute_say_so(files, tmp_path):
    model = tmp_path / "model.json"
    run("fit", GASOLINE, "-r", "octane", *FAST, "--model", model, "-q")
    run("predict", model, files[1], "--missing", "impute", code=2)
