"""The command line: which columns are predictors, and what the others are for."""

import numpy as np
import pandas as pd
import pytest
from _helpers.command_line import (
    GASOLINE,
    eighty_columns,  # noqa: F401
    made,
    refused,
    run_json,
    said,
)

from plsdof import cross_validate


def replicated(folder, ids=True):
    """A table of 12 samples measured 2 or 3 times, one sample below the other."""
    rng = np.random.default_rng(5)
    sample = np.repeat(np.arange(12), [2, 3] * 6)
    X = rng.normal(size=(12, 5))[sample] + 0.1 * rng.normal(size=(30, 5))
    y = (X @ rng.normal(size=5) + rng.normal(size=12)[sample]).round(12)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(5)]).assign(y=y)
    frame["Sample ID"] = [f"S{i}" for i in sample] if ids else sample
    frame.to_csv(folder / "table.csv", index=False)
    return folder / "table.csv", X, y, sample


@pytest.mark.parametrize("ids", [True, False])
def test_groups_stay_together_in_cross_validation(tmp_path, ids):
    file, X, y, sample = replicated(tmp_path, ids)
    options = ("-r", "y", "--groups", "Sample ID", "--cv")
    for cv, folds in ((4, 4), ("loo", 12)):
        expected = cross_validate(X, y, cv=folds, groups=sample).rmse
        found = run_json("fit", file, *options, cv, "--max-components", 5)
        assert [one["name"] for one in found["coefficients"]] == [f"x{i}" for i in range(5)]
        # Folds of groups differ in size: the mean is over rows.
        errors = [row["rmsecv"] for row in found["models"]]
        np.testing.assert_allclose(errors, expected, rtol=1e-9)
        assert found["recipe"]["groups"] == "Sample ID"
        assert f"{folds} folds" in found["recipe"]["held-out rows to validate"] or folds == 12
        models = run_json("compare", file, *options, cv)["models"]
        errors = [row["rmsecv"] for row in models if row["method"] == "pls"]
        np.testing.assert_allclose(errors, expected, rtol=1e-9)
    assert not np.allclose(cross_validate(X, y, cv=4).rmse, expected, rtol=0.05)
    # A criterion does not know of groups, which is said.
    found = run_json("fit", file, *options, 4, "--criterion", "bic")
    assert "groups-ignored" in [one["key"] for one in found["remarks"]]
    # There are at most as many folds as groups.
    assert (
        run_json("fit", file, *options, 13)["models"]
        == run_json("fit", file, *options, 12)["models"]
    )


def kinds_of(name, *options):
    return [one["key"] for one in run_json(name, *options)["remarks"]]


def test_possible_replicates_are_remarked(tmp_path):
    file, _, _, _ = replicated(tmp_path)
    for options in ((), ("--cv", 5), ("--cv", 5, "--id", "Sample ID")):
        assert "replicates" in kinds_of("fit", file, "-r", "y", *options)
    assert "Try --groups" in said("fit", file, "-r", "y")
    assert "replicates" not in kinds_of("fit", file, "-r", "y", "--groups", "Sample ID")
    assert "'Sample ID' has repeated values" in said("compare", file, "-r", "y")
    frame = pd.read_csv(file)
    for values in ("same", [f"S{i}" for i in range(30)]):
        frame.assign(**{"Sample ID": values}).to_csv(file, index=False)
        assert "replicates" not in kinds_of("fit", file, "-r", "y", "--cv", 5)


def test_groups_must_be_a_column_without_gaps(tmp_path):
    file, _, _, _ = replicated(tmp_path)
    frame = pd.read_csv(file)
    options = ("fit", file, "-r", "y", "--cv", 5)
    line = refused(*options, "--groups", "sample id")
    assert "no column 'sample id'; did you mean 'Sample ID'?" in line
    line = refused(*options, "--groups", "x1", "-f", "x1", "-f", "x2")
    assert "--groups 'x1': the column is a predictor" in line
    found = run_json("fit", file, "-r", "y", "--groups", "Sample ID")
    assert found["choice"]["criterion"] == "left-out"
    found = run_json("compare", file, "-r", "y", "--groups", "Sample ID")
    assert found["models"][0]["rmsecv"] is not None
    grouped = ("fit", file, "-r", "y", "--groups", "Sample ID", "--cv", 4)
    streamed, whole = run_json(*grouped, "--streamed"), run_json(*grouped)
    assert streamed["models"][2]["rmsecv"] == pytest.approx(whole["models"][2]["rmsecv"], rel=1e-9)
    frame.loc[4, "Sample ID"] = None
    frame.to_csv(file, index=False)
    for read in ("--in-memory", "--streamed"):
        line = refused(*options, "--groups", "Sample ID", read)
        assert "'Sample ID' is empty in row 5; every row needs a group" in line


@pytest.mark.parametrize("read", ["--in-memory", "--streamed"])
def test_a_column_that_names_rows_is_no_predictor_and_names_predictions(tmp_path, read):
    pytest.importorskip("pyarrow")
    file, _, _ = made(tmp_path)
    pd.read_csv(file).assign(code=np.arange(30) + 100).to_csv(file, index=False)
    model = tmp_path / "model.json"
    found = run_json("fit", file, "-r", "y", "--id", "code", read, "--model", model)
    assert [one["name"] for one in found["coefficients"]] == [f"x{i}" for i in range(6)]
    predicted = run_json("predict", model, file)["predictions"]
    assert [one["id"] for one in predicted[:2]] == ["100", "101"]
    assert "--id 'y': the column is the response" in refused("fit", file, "-r", "y", "--id", "y")
    assert "no column 'cod'" in refused("fit", file, "-r", "y", "--id", "cod", read)


def test_a_few_columns_beside_a_spectrum_are_left_out_and_named(tmp_path):
    file = tmp_path / "table.csv"
    frame = pd.read_csv(GASOLINE).iloc[:, :40].copy()
    frame.assign(Temp=np.arange(60) % 7, **{"run no": np.arange(60) % 3}).to_csv(file, index=False)
    found = run_json("fit", file, "-r", "octane")
    (note,) = [one for one in found["remarks"] if "not wavelengths" in one["words"]]
    assert note["words"] == "Left out, not wavelengths: 'Temp', 'run no'."
    assert note["mend"] == {"features": ["900:976", "Temp"]}
    assert len(found["wavelengths"]) == 39
    assert len(run_json("fit", file, "-r", "octane", "-f", "*")["coefficients"]) == 41
    asked = run_json("fit", file, "-r", "octane", "-f", "900:976", "-f", "Temp")
    assert [one["name"] for one in asked["coefficients"]][-1] == "Temp"
    found = run_json("fit", file, "-r", "octane", "-x", "Temp", "-x", "run no")
    assert "data" not in [one["key"] for one in found["remarks"]]
    streamed = run_json("fit", file, "-r", "octane", "--streamed")
    assert note in streamed["remarks"]
    assert len(streamed["wavelengths"]) == 39


def test_a_response_of_text_is_called_so(tmp_path):
    file, _, _, _ = replicated(tmp_path)
    table = pd.read_csv(file)
    table["Sample ID"] = [f"S{i}" for i in range(len(table))]
    table.to_csv(file, index=False)
    line = refused("fit", file, "-r", "Sample ID")
    assert "'Sample ID' holds text (such as 'S0'), which cannot be predicted" in line
    assert "leave" not in line
