"""--average-by on the command line: samples count, not their measurements."""

import numpy as np
import pandas as pd
import pytest
from _helpers.command_line import GASOLINE, eighty_columns, run, run_json  # noqa: F401

from plsdof import pls_path
from plsdof.datasets import load_gasoline

X, y = load_gasoline(return_X_y=True)
COUNTS = np.arange(60) % 3 + 1
SAMPLES = np.repeat(np.arange(60), COUNTS)
ROWS = X[SAMPLES] + 1e-4 * np.random.default_rng(0).normal(size=(len(SAMPLES), X.shape[1]))
FAST = ("-r", "octane", "--components", "3", "--cv", "5", "--no-std-errors")


@pytest.fixture
def file(tmp_path):
    names = pd.read_csv(GASOLINE, nrows=1).columns.drop("octane")
    frame = pd.DataFrame(ROWS, columns=names)
    frame.insert(0, "Sample", [f"G{i}" for i in SAMPLES])
    # The response is given with the first measurement of a sample only.
    first = np.append(True, np.diff(SAMPLES) > 0)
    frame.insert(1, "octane", np.where(first, y[SAMPLES], np.nan))
    frame.insert(2, "batch", SAMPLES // 10)
    frame.to_csv(tmp_path / "replicates.csv", index=False)
    return tmp_path / "replicates.csv"


def test_samples_are_counted_and_means_have_weights(file):
    content = run_json("fit", file, *FAST, "--average-by", "Sample", "-x", "batch")
    assert content["n"] == 60
    assert content["merit"]["calibration"]["n"] == content["merit"]["cross-validation"]["n"] == 60
    assert any("120 rows became 60 samples (1 to 3 each)" in note for note in content["notes"])
    means = np.array([ROWS[i == SAMPLES].mean(axis=0) for i in range(60)])
    weights = COUNTS / COUNTS.mean()
    path = pls_path(means, y, 3, sample_weight=weights)
    assert content["models"][3]["dof"] == pytest.approx(path.dof[3], rel=1e-6)
    expected = path.left_out(5).residuals[3]
    rmse = content["merit"]["cross-validation"]["rmse"]
    assert rmse == pytest.approx(np.sqrt(np.mean(expected**2)), rel=1e-6)


def test_splits_and_groups_are_those_of_samples(file):
    options = ("--average-by", "Sample", "-x", "batch", "--split", "last:0.25")
    content = run_json("fit", file, *FAST, *options)
    assert content["recipe"]["test rows"] == "46:60 (last:0.25)"
    assert content["test"]["rows"][0]["id"] == "G45"
    grouped = run_json("fit", file, *FAST, "--average-by", "Sample", "--groups", "batch")
    assert grouped["recipe"]["groups"] == "batch"


def test_chains_that_learn_keep_the_weights(file):
    content = run_json(
        "fit", file, *FAST, "--average-by", "Sample", "-x", "batch", "--preprocess", "center"
    )
    plain = run_json("fit", file, *FAST, "--average-by", "Sample", "-x", "batch")
    rmse = [one["merit"]["cross-validation"]["rmse"] for one in (content, plain)]
    assert rmse[0] == pytest.approx(rmse[1], rel=1e-6)


def test_mistakes_are_one_sentence_and_write_nothing(file, tmp_path):
    model = tmp_path / "model.json"
    for options in (
        ("--average-by", "absent"),
        ("--average-by", "octane"),
        ("--average-by", "Sample", "--streamed"),
        ("--average-by", "Sample", "-f", "Sample"),
    ):
        run("fit", file, *FAST, *options, "--model", model, code=2)
    frame = pd.read_csv(file)
    frame.loc[7, "Sample"] = np.nan
    frame.to_csv(file, index=False)
    run("fit", file, *FAST, "--average-by", "Sample", "--model", model, code=2)
    assert not model.exists()


@pytest.mark.parametrize("chain", ["none", "snv"])
def test_predict_gives_means_spread_and_its_limit(file, tmp_path, chain):
    from scipy.stats import f

    from plsdof import load_model

    model = tmp_path / "model.json"
    options = ("--average-by", "Sample", "-x", "batch", "--preprocess", chain, "--model", model)
    run("fit", file, *FAST, *options, "-q")
    frame = pd.read_csv(file)
    # One replicate of the last sample was measured with something else in the beam.
    frame.iloc[-1, 3:] += 0.3 * frame.iloc[0, 3:].to_numpy(dtype=float)
    new = tmp_path / "new.csv"
    frame.to_csv(new, index=False)
    content = run_json("predict", model, new, "--average-by", "Sample")
    found = content["predictions"]
    assert [one["replicates"] for one in found] == COUNTS.tolist()
    assert [one["id"] for one in found[:2]] == ["G0", "G1"]
    kept = load_model(model)
    names = list(kept.columns)
    single = kept.predict(frame[names].to_numpy())
    assert found[2]["spread"] == pytest.approx(np.std(single[SAMPLES == 2], ddof=1), rel=1e-6)
    mean = frame[names].to_numpy()[SAMPLES == 2].mean(axis=0)
    assert found[2]["prediction"] == pytest.approx(kept.predict(mean[None])[0], rel=1e-9)
    # The limit is that of replicates of the calibration.
    old = kept.predict(pd.read_csv(file)[names].to_numpy())
    squares = sum(np.sum((old[i == SAMPLES] - old[i == SAMPLES].mean()) ** 2) for i in range(60))
    dof = len(SAMPLES) - 60
    limit = np.sqrt(squares / dof * f.ppf(0.95, 2, dof))
    assert found[2]["spread_limit"] == pytest.approx(limit, rel=1e-6)
    assert found[0]["spread"] is None
    last = [one["id"] for one in found if (one["spread"] or 0) > (one["spread_limit"] or np.inf)]
    assert "G59" in last
    assert found[59]["status"] != "ok"
    assert "replicates" in found[59]["reason"]
    assert any("G59" in note for note in content["notes"] if note.startswith("Replicates"))


def test_predict_without_a_usual_spread_and_with_holes(file, tmp_path):
    model, new = tmp_path / "model.json", tmp_path / "new.csv"
    run("fit", GASOLINE, *FAST, "--model", model, "-q")
    frame = pd.read_csv(file)
    frame.iloc[4, 10] = np.nan
    frame.to_csv(new, index=False)
    options = ("--average-by", "Sample", "--missing", "drop")
    content = run_json("predict", model, new, *options)
    assert len(content["predictions"]) == 60
    assert content["predictions"][2]["spread"] is None
    assert content["predictions"][4]["spread"] > 0
    assert "spread_limit" not in content["predictions"][4]
    run("predict", model, new, "--average-by", "absent", code=2)
