"""The command line on folders, and on files that are read piece by piece."""

import json
import os
import re
import signal
import subprocess

import numpy as np
import pandas as pd
import pytest
from _helpers.command_line import (
    arguments_of,
    eighty_columns,  # noqa: F401
    environment,
    refused,
    run,
    run_json,
)
from _helpers.problems import make_problem

from plsdof import pls_path
from plsdof.workbench import problems

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def table(n=400, p=12, seed=0, decay=1.5):
    """Predictors x0, ..., with the response y among them."""
    X, y = make_problem(n, p, seed, decay=decay)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(p)])
    frame.insert(2, "y", y)
    return frame


def write_csvs(folder, frame, cuts, **options):
    folder.mkdir()
    for i, rows in enumerate(np.split(np.arange(len(frame)), cuts)):
        frame.iloc[rows].to_csv(folder / f"part-{i}.csv", index=False, **options)
    return folder


def numbers(content):
    """All numbers of a result by their place, but for the estimates of rounding errors."""
    if isinstance(content, dict):
        # The kurtosis of residuals, the jackknife and the limits of rows need every row's fit,
        # which a table read piece by piece does not keep; the bias of a fit is rounding.
        left_out = ("dof_error", "streamed", "limits", "rows", "scores", "jackknife_std_error")
        if "bias" in content and abs(content["bias"]) < 1e-10:
            left_out = (*left_out, "bias")
        pairs = [pair for pair in content.items() if pair[0] not in left_out]
        if "by_residuals" in content:  # the noise level
            pairs = [("value", content["value"])]
    elif isinstance(content, list):
        pairs = list(enumerate(content))
    else:
        return {(): content} if isinstance(content, int | float) else {}
    return {(key, *rest): x for key, one in pairs for rest, x in numbers(one).items()}


def assert_same_numbers(found, expected):
    found, expected = numbers(found), numbers(expected)
    assert found.keys() == expected.keys()
    assert len(expected) > 70
    for place, value in expected.items():
        # Cross-validated errors are good to 1e-6 of themselves; that is what a choice needs.
        rel = 1e-6 if "rmsecv" in str(place[-1]) else 1e-8
        assert found[place] == pytest.approx(value, rel=rel, abs=1e-10), place


# the same answer


@pytest.mark.parametrize(
    "options",
    [
        ("--max-components", 12),
        ("--no-scale", "--criterion", "gcv", "--level", 0.8),
        ("--method", "pcr"),
        ("--method", "ridge"),
    ],
)
def test_folder_parquet_and_table_in_memory_give_the_same_numbers(tmp_path, options):
    frame = table()
    folder = write_csvs(tmp_path / "folder", frame, [150, 151])
    frame.to_parquet(tmp_path / "table.parquet")
    frame.to_csv(tmp_path / "table.csv", index=False)
    options = ("--cv", 10, *options)
    expected = run_json("fit", tmp_path / "table.csv", "-r", "y", *options)
    assert expected["streamed"] is False
    for file, choice in (
        (folder, ()),
        (folder, ("--in-memory",)),
        (folder, ("--streamed",)),
        (tmp_path / "table.parquet", ("--streamed",)),
        (tmp_path / "table.csv", ("--streamed",)),
    ):
        found = run_json("fit", file, "-r", "y", *choice, *options)
        assert_same_numbers(found, expected)
        assert found["streamed"] is (choice == ("--streamed",))
        assert found["file"] == str(file)
        for key in ("response", "method", "remarks"):
            assert found[key] == expected[key]
        assert without_limits(found["choice"]["words"]) == without_limits(
            expected["choice"]["words"]
        )


def without_limits(text):
    """Leave out the interval of the noise, which needs every row's residual for its kurtosis."""
    return re.sub(r"interval \S+\s+to\s+[^)\s]+\)", "interval)", text)


@pytest.fixture(scope="module")
def spectra(tmp_path_factory):
    """Return a folder, a table and a test table of smooth spectra, whose X'X has too few digits."""
    place = tmp_path_factory.mktemp("spectra")
    rng = np.random.default_rng(3)
    n, p = 240, 40
    axis = np.linspace(0, 1, p)
    peaks = np.exp(-((axis - rng.uniform(size=(8, 1))) ** 2) / 0.05)
    amounts = rng.uniform(size=(n, 8)) * 10.0 ** (-0.6 * np.arange(8))
    X = 1 + amounts @ peaks * rng.uniform(0.8, 1.2, size=(n, 1)) + 1e-4 * rng.normal(size=(n, p))
    frame = pd.DataFrame(X, columns=[str(1100 + 2 * i) for i in range(p)])
    frame.insert(0, "fat", amounts @ rng.normal(size=8) + 0.05 * rng.normal(size=n))
    frame.insert(0, "id", [f"s{i}" for i in range(n)])
    frame["batch"] = [f"b{i // 3}" for i in range(n)]
    frame["set"] = np.where(np.arange(n) % 7 == 3, "test", "train")
    write_csvs(place / "folder", frame[40:], [77, 150])
    frame[40:].to_csv(place / "table.csv", index=False)
    frame[40:].to_parquet(place / "table.parquet")
    frame[:40].to_csv(place / "test.csv", index=False)
    return place


@pytest.mark.parametrize(
    "options",
    [
        ("--cv", 10),
        ("--cv", 7, "--seed", 3, "--scale"),
        ("--cv", 10, "--method", "pcr"),
        ("--cv", 5, "--method", "ridge"),
        ("--cv", 6, "--groups", "batch", "--id", "id"),
        ("--preprocess", "savgol:7:2:1,snv", "--cv", 5),
        ("--preprocess", "msc", "--cv", 4, "--test", "test.csv", "--criterion", "bic"),
        ("--preprocess", "baseline,autoscale", "--method", "ridge", "--cv", 3),
        ("--split", "random:0.3", "--groups", "batch", "--preprocess", "detrend", "--cv", 5),
        ("--test-rows", "set=test", "--exclude-rows", "1:5,33", "--method", "pcr", "--cv", 5),
        ("--criterion", "average", "--cv", 10),
    ],
)
def test_streamed_analyses_give_the_numbers_of_those_in_memory(spectra, monkeypatch, options):
    monkeypatch.chdir(spectra)
    columns = ("-r", "fat", "-x", "set", "-x", "batch", "--max-components", 8)
    columns = columns[:-2] if "ridge" in options else columns
    expected = run_json("fit", "table.csv", *columns, *options)
    for file in ("folder", "table.parquet"):
        found = run_json("fit", file, "--streamed", *columns, *options)
        if "msc" in options:  # takes two directions away, up to rounding
            assert found.pop("rank") in (38, expected["rank"])
            found["rank"] = expected["rank"]
        assert_same_numbers(found, expected)
        assert set(found["merit"]) == set(expected["merit"])
        assert found["choice"]["parameter"] == expected["choice"]["parameter"]


def test_a_model_fitted_piece_by_piece_remembers_its_preprocessing(spectra, tmp_path):
    options = ("-r", "fat", "--preprocess", "savgol:5:2:1,msc", "--components", 3)
    for file, model in (("folder", "a.json"), ("table.csv", "b.json")):
        run("fit", spectra / file, *options, "--model", tmp_path / model, "-q")
    found, expected = (
        run_json("predict", tmp_path / model, spectra / "test.csv")
        for model in ("a.json", "b.json")
    )
    assert_same_numbers(found, expected)


def embedded(report):
    """Return the data of a report."""
    text = report.read_text(encoding="utf-8").partition('id="data">')[2]
    return json.loads(text.partition("</script>")[0])


def test_reports_and_plots_show_a_sample_of_the_rows_and_say_so(spectra, tmp_path, monkeypatch):
    monkeypatch.setattr(problems, "_SAMPLE", 50)
    report, plot = tmp_path / "r.html", tmp_path / "p.png"
    options = ("-r", "fat", "--id", "id", "--cv", 5, "--preprocess", "snv", "--test-rows", "1:20")
    options = (*options, "--max-components", 8, "-x", "set", "-x", "batch")
    run("fit", spectra / "folder", "--streamed", *options, "--report", report, "--plot", plot, "-q")
    assert plot.stat().st_size > 10_000
    data = embedded(report)
    assert data["n"] == 180
    assert any("50 of 180 rows, drawn at random" in note for note in data["notes"])
    assert data["rows"]["total"] == 50
    # The rows are those of the file with these numbers.
    frame = pd.read_csv(spectra / "table.csv")
    drawn = frame.iloc[np.array(data["rows"]["number"]) - 1]
    assert data["rows"]["labels"] == drawn["id"].tolist()
    np.testing.assert_allclose(data["rows"]["observed"], drawn["fat"], rtol=1e-3)
    assert data["rows"]["number"] != list(range(21, 71))
    # Predictions of the chosen model, and of held-out rows, are those of the table in memory.
    run("fit", spectra / "table.csv", *options, "--report", tmp_path / "w.html", "-q")
    whole = embedded(tmp_path / "w.html")
    places = [whole["rows"]["number"].index(number) for number in data["rows"]["number"]]
    for one, other in zip(data["details"], whole["details"], strict=True):
        for name in ("fitted", "left_out", "t2", "q"):
            known = np.array(other["rows"][name])[places]
            np.testing.assert_allclose(one["rows"][name], known, rtol=2e-3, atol=1e-9, err_msg=name)
        assert one["merit"] == other["merit"]
    assert data["models"]["dof"] == whole["models"]["dof"]
    assert data["models"]["rmsecv"] == whole["models"]["rmsecv"]


def test_rows_to_test_on_that_take_too_much_memory_are_refused(spectra, monkeypatch):
    monkeypatch.setattr(problems, "_MOST_NUMBERS", 1000)
    line = refused("fit", spectra / "folder", "--streamed", "-r", "fat", "--split", "random:0.4")
    assert "80 rows to test on are kept in memory" in line
    assert "plsdof predict" in line


def test_rows_that_cannot_be_preprocessed_are_named_by_their_number(tmp_path):
    frame = table(60, 5)
    frame.loc[33, frame.columns != "y"] = 2.0
    folder = write_csvs(tmp_path / "folder", frame, [20])
    line = refused("fit", folder, "--streamed", "-r", "y", "--preprocess", "snv")
    assert "snv is not defined for row 34" in line


def test_wide_parquet_gives_the_same_numbers(tmp_path):
    frame = table(40, 90)
    file = tmp_path / "wide.parquet"
    frame.to_parquet(file)
    options = ("fit", file, "-r", "y", "--max-components", 5, "--cv", 5)
    assert_same_numbers(run_json(*options, "--streamed"), run_json(*options, "--in-memory"))


def said_of_models(text):
    """Leave out unusual rows and when it was made."""
    text = re.sub(r"(Look at|Numbers):.*?\n(?=\S)", "", text, flags=re.DOTALL)
    return without_limits(" ".join(text.partition("Record:")[0].split()))


def test_tables_for_people_are_the_same(tmp_path):
    file = tmp_path / "table.parquet"
    table().to_parquet(file)
    options = ("fit", file, "-r", "y", "--cv", 10, "--max-components", 12)
    streamed_, whole = (run(*options, one) for one in ("--streamed", "--in-memory"))
    # A table that is read piece by piece does not say which of its rows are unusual.
    assert said_of_models(streamed_.stdout) == said_of_models(whole.stdout)
    assert "Coefficients with 95% intervals" in whole.stdout
    assert streamed_.stderr == ""
    words = " ".join(run("fit", file, "-r", "y", "--streamed", "--verbose").stdout.split())
    assert "read as: blocks of" in words


def test_columns_are_chosen_as_in_memory(tmp_path):
    frame = table()
    frame.insert(0, "sample", [f"S{i}" for i in range(len(frame))])
    frame["constant"] = 3.0
    folder = write_csvs(tmp_path / "folder", frame, [100], sep=";", decimal=",")
    frame.to_csv(tmp_path / "table.csv", index=False)
    for options in (
        (),
        ("-f", "x1:x4", "-f", "constant"),
        ("-x", "x1*", "-x", "sample", "-x", "y"),
        ("-f", "x*", "-x", "*[02]"),
    ):
        options = (*options, "--cv", 10, "--max-components", 5)
        expected = run_json("fit", tmp_path / "table.csv", "-r", "y", *options)
        found = run_json("fit", folder, "--streamed", "-r", "y", *options)
        names = [one["name"] for one in found["coefficients"]]
        assert names == [one["name"] for one in expected["coefficients"]]
        assert_same_numbers(found, expected)
        left_out = [note.replace("not numeric or without a name", "not numeric")
                    .replace("'sample'.", "'sample' (such as 'S0').")
                    for note in found["notes"]]  # fmt: skip
        assert set(left_out) == set(expected["notes"])


def test_fit_then_predict_gives_the_fitted_values(tmp_path):
    frame = table()
    folder = write_csvs(tmp_path / "folder", frame, [150])
    frame.to_csv(tmp_path / "table.csv", index=False)
    model, whole = tmp_path / "model.json", tmp_path / "whole.json"
    options = ("-r", "y", "--cv", 10, "--criterion", "gcv", "--intervals", "normal", "-q")
    options = (*options, "--model")
    run("fit", folder, "--streamed", *options, model)
    run("fit", tmp_path / "table.csv", *options, whole)
    found = run_json("predict", model, tmp_path / "table.csv")
    expected = run_json("predict", whole, tmp_path / "table.csv")
    for one in (*found["predictions"], *expected["predictions"]):
        # Limits by cross-validation, and what follows from them, need the rows in memory.
        for key in [key for key in one if "limit" in key or "unusual" in key]:
            del one[key]
    assert_same_numbers(found["predictions"], expected["predictions"])
    path = pls_path(frame.drop(columns="y"), frame["y"].to_numpy(), 12)
    predicted = [one["prediction"] for one in found["predictions"]]
    np.testing.assert_allclose(predicted, path.fitted[path.select("gcv").index], rtol=1e-9)


def test_a_given_number_of_components_is_kept_and_the_limit_named(tmp_path):
    folder = write_csvs(tmp_path / "folder", table(), [150])
    assert (
        run_json("fit", folder, "--streamed", "-r", "y", "--components", 4)["choice"]["rule"]
        == "given"
    )
    assert "supports 12 at most" in refused(
        "fit", folder, "--streamed", "-r", "y", "--components", 13
    )


# Intervals that would need too much memory


def test_intervals_that_need_as_much_memory_as_the_table_are_left_out(tmp_path, monkeypatch):
    frame = table(30, 60)
    file, model = tmp_path / "wide.parquet", tmp_path / "model.json"
    frame.to_parquet(file)
    monkeypatch.setattr("plsdof.workbench.analysis.data.FORMED", 40)
    found = run_json("fit", file, "-r", "y", "--streamed", "--model", model, "--components", 2)
    assert "intervals-memory" in [one["key"] for one in found["remarks"]]
    assert found["sigma"]["lower"] < found["sigma"]["value"] < found["sigma"]["upper"]
    _assert_predicts(model, frame, tmp_path / "new.csv", found)


def _assert_predicts(model, frame, new, fitted):
    frame.to_csv(new, index=False)
    predicted = run_json("predict", model, new)
    coef = np.array([one["coef"] for one in fitted["coefficients"]])
    expected = fitted["intercept"]["value"] + frame.drop(columns="y").to_numpy() @ coef
    found = [one["prediction"] for one in predicted["predictions"]]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
    # Intervals of an observation need cross-validation only.
    assert {"row", "observed", "prediction", "lower", "upper"} <= set(predicted["predictions"][0])


# what is streamed


def test_size_and_kind_decide_what_is_streamed(tmp_path, monkeypatch):
    frame = table(60, 3)
    files = [tmp_path / name for name in ("table.csv", "table.parquet", "table.xlsx")]
    frame.to_csv(files[0], index=False)
    frame.to_parquet(files[1])
    frame.to_excel(files[2], index=False)

    def are_streamed():
        return [run_json("fit", file, "-r", "y")["streamed"] for file in files]

    assert are_streamed() == [False, False, False]
    monkeypatch.setattr(problems, "LARGE_PARQUET", 100)
    assert are_streamed() == [False, True, False]
    monkeypatch.setattr(problems, "LARGE_TEXT", 100)
    assert are_streamed() == [True, True, False]
    # A sheet is in memory anyway, and gives its rows as all tables do.
    csv, sheet = (run_json("fit", files[i], "-r", "y", "--streamed") for i in (0, 2))
    assert sheet["streamed"] is True
    assert sheet["n"] == csv["n"] == 60
    dof = [[one["dof"] for one in found["models"]] for found in (csv, sheet)]
    np.testing.assert_allclose(*dof)
    assert run_json("fit", files[0], "-r", "y", "--in-memory")["streamed"] is False
    folder = write_csvs(tmp_path / "folder", frame, [20])
    assert run_json("fit", folder, "-r", "y")["streamed"] is False
    monkeypatch.setattr(problems, "LARGE_FOLDER", 1000)
    assert run_json("fit", folder, "-r", "y")["streamed"] is True


def test_a_small_folder_is_checked_as_one_file_is(tmp_path):
    """Test rows that are also in the calibration, codes for missing values, and the rest."""
    frame = table(60, 4)
    frame.loc[7, "x1"] = -999.0
    folder = write_csvs(tmp_path / "folder", frame, [20, 40])
    frame.to_csv(tmp_path / "table.csv", index=False)
    frame[:10].to_csv(tmp_path / "test.csv", index=False)
    options = (
        "-r",
        "y",
        "--test",
        tmp_path / "test.csv",
        "--cv",
        "loo",
        "--intervals",
        "normal",
    )
    found, expected = (run_json("fit", one, *options) for one in (folder, tmp_path / "table.csv"))
    assert found["notes"] == expected["notes"]
    assert any("Also in the calibration: 10 of 10" in note for note in found["notes"])
    assert_same_numbers(found, expected)


def test_text_in_one_file_of_a_folder_is_not_dropped_without_a_word(tmp_path):
    frame = table(60, 4)
    folder = write_csvs(tmp_path / "folder", frame, [20, 40])
    changed = frame[20:40].astype({"x2": object})
    changed["x2"] = "n.d."
    changed.to_csv(folder / "part-1.csv", index=False)
    for read in ("--streamed", "--in-memory"):
        line = refused("fit", folder, "-r", "y", read)
        assert "'x2'" in line
        found = run_json("fit", folder, "-r", "y", read, "-x", "x2")
        assert [one["name"] for one in found["coefficients"]] == ["x0", "x1", "x3"]
    assert "part-1.csv" in refused("fit", folder, "-r", "y", "--streamed")


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_pipe_is_not_streamed(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "read more than once" in refused("fit", tmp_path / "pipe", "-r", "y", "--streamed")


# refusals


@pytest.mark.parametrize(
    "options",
    [
        ("--cv loo",),
        ("--select", "intervals:2"),
        ("--permutations", 19),
        ("--intervals", "left-out"),
        ("--report", "r.html", "--criterion", "average"),
        ("--response-file", "absent.csv"),
    ],
)
def test_what_needs_the_rows_is_refused_with_advice(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    folder = write_csvs(tmp_path / "folder", table(60, 3), [20])
    words = [*str(options[0]).split(), *options[1:]]
    line = refused("fit", folder, "--streamed", "-r", "y", *words)
    assert str(options[0]).removeprefix("--") in line
    assert "Try --in-memory." in line
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]
    if options[0] not in ("--response-file", "--report"):
        run("fit", folder, "-r", "y", *words, "--in-memory", "-q")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("-r", "Y"), "no column 'Y'; did you mean 'y'?"),
        (("-r", "y", "-f", "x9"), "no column 'x9'"),
        (("-r", "y", "-f", "y"), "'y' is the response"),
        (("-r", "y", "-x", "*"), "no predictor is left"),
        (("-r", "y", "--model", "absent/m.json"), "does not exist"),
        (("-r", "y", "--model", "folder/m.json"), "would become part of the table"),
        (("-r", "y", "--model", "folder/part-0.csv"), "would become part of the table"),
    ],
)
def test_bad_options_give_one_line_that_helps(tmp_path, monkeypatch, options, reason):
    monkeypatch.chdir(tmp_path)
    write_csvs(tmp_path / "folder", table(60, 3), [20])
    before = sorted(tmp_path.rglob("*"))
    for choice in (("--streamed",), ("--in-memory",)):
        assert reason in refused("fit", "folder", *options, *choice)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_missing_value_is_named_by_file_row_and_column(tmp_path):
    frame = table(60, 3)
    frame.loc[45, "x1"] = np.nan
    folder = write_csvs(tmp_path / "folder", frame, [20])
    line = refused("fit", folder, "--streamed", "-r", "y", "--model", tmp_path / "model.json")
    assert "part-1.csv: the value in row 26 of column 'x1' is missing" in line
    assert not (tmp_path / "model.json").exists()
    assert "--missing drop" in line


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--cv", 5, "--exclude-rows", "3,46"),
        ("--test-rows", "40:50", "--preprocess", "snv"),
        ("--groups", "g", "--method", "ridge"),
    ],
)
def test_rows_with_missing_values_are_dropped_from_files_as_from_memory(
    tmp_path, monkeypatch, kind, options
):
    monkeypatch.setattr("plsdof.workbench.tables.reading._PARSED", 1000)
    frame = table(60, 6)
    frame["g"] = np.arange(60) // 4
    for row, column in ((45, "x1"), (3, "y"), (4, "x5"), (4, "x1")):
        frame.loc[row, column] = np.nan
    if kind == "csv":
        where = write_csvs(tmp_path / "folder", frame, [20])
    else:
        where = tmp_path / "table.parquet"
        frame.to_parquet(where)
    words = ("fit", where, "-r", "y", "-x", "g", "--missing", "drop", *options)
    found, known = run_json(*words, "--streamed"), run_json(*words, "--in-memory")
    assert found["rows_dropped"] == known["rows_dropped"] == (2 if "3,46" in options else 3)
    assert any("rows dropped because of missing values" in note for note in found["notes"])
    same = {place: value for place, value in numbers(known["models"]).items() if "dof" in place}
    found = {place: value for place, value in numbers(found["models"]).items() if "dof" in place}
    same = dict(list(same.items())[: len(found)])  # held-out rows end a path that is not streamed
    close = {place: pytest.approx(value, rel=1e-6, abs=1e-9) for place, value in same.items()}
    assert dict(list(found.items())[: len(close)]) == close


def test_infinite_values_are_not_missing(tmp_path):
    frame = table(60, 3)
    frame.loc[45, "x1"] = np.inf
    frame.loc[5, "x1"] = np.nan
    frame.to_parquet(tmp_path / "t.parquet")
    line = refused("fit", tmp_path / "t.parquet", "-r", "y", "--streamed", "--missing", "drop")
    assert "row 46 of column 'x1' is infinite" in line


def test_malformed_tables_give_one_line(tmp_path):
    for text, reason in {
        "": "empty",
        "y,a\n": "0 rows",
        "y,a\n1,2\n": "1 row",
        "y,a\n3,2\n3,4\n3,5\n": "'y' is 3 in all rows",
        "y,a\nlow,2\nhigh,4\n": "holds text",
        "y,a\n1,2\n2,3,4\n": "line 3 has 3 field(s)",
        "y,a\n1,x\n2,z\n": "no column of predictors",
    }.items():
        file = tmp_path / "table.csv"
        file.write_text(text)
        for source in (file, tmp_path):
            assert reason in refused("fit", source, "--streamed", "-r", "y")


@pytest.mark.parametrize("choice", ["--streamed", "--in-memory"])
def test_folders_must_hold_files_with_the_same_columns(tmp_path, choice):
    assert "no file in this folder" in refused("fit", tmp_path, "-r", "y", choice)
    frame = table(60, 3)
    folder = write_csvs(tmp_path / "folder", frame, [20])
    (folder / ".hidden").write_text("no table")
    (folder / "_SUCCESS").write_text("no table")
    frame[frame.columns[::-1]].to_csv(folder / "part-2.csv", index=False)
    assert run_json("fit", folder, "-r", "y", choice)["n"] == 120
    frame.rename(columns={"x1": "z1"}).to_csv(folder / "part-3.csv", index=False)
    line = refused("fit", folder, "-r", "y", choice)
    assert "part-3.csv" in line
    assert "lacks column 'x1'" in line


# memory, progress and Ctrl-C, in a process of its own


def large_folder(folder, files=40):
    """Make a folder of many large files, all of which are links to one."""
    text = table(1000, 20, decay=0).to_csv(index=False)
    header, _, rows = text.partition("\n")
    (folder / "one.csv").write_text(f"{header}\n{rows * 60}")
    (folder / "many").mkdir()
    for i in range(files):
        (folder / "many" / f"{i}.csv").symlink_to(folder / "one.csv")
    return folder / "many"


def read_until(terminal, words):
    """Return what a program writes to its terminal, up to some words or the end."""
    seen = b""
    while words not in seen:
        try:
            seen += os.read(terminal, 4096)
        except OSError:  # the program has ended
            break
    return seen


@pytest.mark.skipif(os.name != "posix", reason="signals and terminals of POSIX")
def test_a_terminal_shows_progress_and_control_c_ends_it_with_130(tmp_path):
    import pty

    folder, model = large_folder(tmp_path), tmp_path / "model.json"
    terminal, stderr = pty.openpty()
    process = subprocess.Popen(
        arguments_of("fit", folder, "--streamed", "-r", "y", "--model", model),
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environment(TERM="xterm"),
    )
    try:
        os.close(stderr)
        assert b"Means and products" in read_until(terminal, b"Means and products")
        process.send_signal(signal.SIGINT)
        rest = read_until(terminal, b"Interrupted.")
        assert process.wait(timeout=30) == 130
        assert process.stdout.read() == b""
    finally:
        process.kill()
        process.stdout.close()
        os.close(terminal)
    assert b"Interrupted." in rest
    assert b"Traceback" not in rest
    assert not model.exists()
