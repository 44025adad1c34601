"""The command line: what it prints, writes, refuses, and with which exit code."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from _helpers.command_line import (
    DATA,
    GASOLINE,
    OZONE,
    arguments_of,
    command,
    eighty_columns,  # noqa: F401
    made,
    refused,
    run,
    run_json,
    said,
    write,
)
from typer.testing import CliRunner

import plsdof
from plsdof import (
    PLSRegressor,
    compare_paths,
    cross_validate,
    inference,
    pcr_path,
    pls_path,
    ridge_path,
)
from plsdof.datasets import load_gasoline, load_ozone
from plsdof.inference import noise_interval
from plsdof.workbench.analysis.result import in_text
from plsdof.workbench.analysis.tables import short_path
from plsdof.workbench.cli import COMMANDS, app, load_command
from plsdof.workbench.cli._options import OPTIONS
from plsdof.workbench.cli._show import safe

# fit


def test_fit_shows_path_choice_noise_and_coefficients_within_80_columns():
    result = run(
        *("fit", GASOLINE, "--response", "octane", "--cv", 10),
        *("--criterion", "bic", "--rule", "first-minimum"),
    )
    path = pls_path(*load_gasoline(return_X_y=True), 30)
    words = " ".join(result.stdout.split())
    assert words.startswith(
        "octane from 401 wavelengths (900 to 1700), centred and scaled to unit variance; 60 rows "
        "of gasoline.csv"
    )
    for m in range(10):
        assert f"{path.dof[m]:.2f}" in result.stdout
    m = path.select("bic", rule="first-minimum").index
    assert f"Choice: {m} components, the first minimum of BIC" in words
    assert f"{path.dof[m]:.2f} Degrees of Freedom, not the {m + 1} that counting" in words
    left = path.left_out(10)
    sigma = noise_interval(path[m])
    low, high = np.sqrt([sigma.lower[0], sigma.upper[0]])
    for value in (np.sqrt(left.noise_variance[m]), low, high):
        assert in_text(value, (high - low) / 2) in words
    spread = left.rmse_std_error[m]
    assert f"{in_text(left.rmse[m], spread)} with {m} components" in words
    average = path.average(cv=10).rmse
    assert f"{in_text(average, spread)} with the average of" in words
    assert "RMSECV ± se" in words
    # Two digits of the standard error.
    for error, spread in zip(left.rmse[:10], left.rmse_std_error[:10], strict=True):
        assert f" {in_text(error, spread)} {in_text(spread, spread)} " in words
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert result.stderr == ""


def test_fit_json_equals_the_library():
    X, y = load_ozone(return_X_y=True)
    path = pls_path(X, y)
    found = run_json(
        *("fit", OZONE, "-r", "V4", "--missing", "drop", "--cv", 5, "--level", 0.9),
        *("--criterion", "bic", "--rule", "first-minimum"),
    )
    rows = found["models"]
    left = path.left_out(5)
    np.testing.assert_allclose([row["dof"] for row in rows], path.dof, rtol=1e-12)
    np.testing.assert_allclose([row["bic"] for row in rows], path.criterion("bic"), rtol=1e-12)
    np.testing.assert_allclose([row["rmsecv"] for row in rows], left.rmse, rtol=1e-12)
    crossed = cross_validate(X, y, cv=5)
    spread = crossed.std_error / (2 * left.rmse)
    np.testing.assert_allclose([row["rmsecv_std_error"] for row in rows], spread, rtol=0.02)
    assert [row["n_components"] for row in rows] == list(range(13))
    assert (
        found["choice"]["parameter"] == path.select("bic", rule="first-minimum").n_components == 2
    )
    noise = left.noise_variance[2]
    expected = inference.coefficient_inference(path[2], level=0.9, noise=float(noise))
    table = pd.DataFrame(found["coefficients"])
    for name in ("coef", "std_error"):
        np.testing.assert_allclose(table[name], getattr(expected, name), rtol=1e-9)
    assert found["sigma"]["value"] ** 2 == pytest.approx(noise)
    sigma = inference.noise_interval(path[2], level=0.9)
    np.testing.assert_allclose(found["sigma"]["lower"] ** 2, sigma.lower[0], rtol=1e-12)
    assert found["rows_dropped"] == 163
    assert "163 of 366 rows dropped" in found["notes"][0]


def test_json_has_null_where_there_is_no_number():
    found = run_json("fit", GASOLINE, "-r", "octane", "--criterion", "gcv", "--scale")
    path = pls_path(*load_gasoline(return_X_y=True), 30)
    undefined = np.isnan(path.criterion("gcv"))
    assert undefined.any()
    assert [row["gcv"] is None for row in found["models"]] == undefined.tolist()


@pytest.mark.parametrize(
    ("method", "fit"),
    [
        ("pls", lambda X, y: pls_path(X, y, 6, scale=False)),
        ("pcr", lambda X, y: pcr_path(X, y, 6, scale=False)),
        ("ridge", lambda X, y: ridge_path(X, y, scale=False)),
    ],
)
def test_methods_and_options_are_passed_on(tmp_path, method, fit):
    file, X, y = made(tmp_path)
    limit = () if method == "ridge" else ("--max-components", 6)
    found = run_json(
        "fit", file, "-r", "y", "--method", method, "--criterion", "aicc", "--no-scale", *limit
    )
    path = fit(X, y)
    selection = path.select("aicc")
    assert found["choice"]["parameter"] == pytest.approx(selection.parameter)
    np.testing.assert_allclose(
        [one["coef"] for one in found["coefficients"]], path.coef[selection.index], rtol=1e-9
    )


def test_rows_left_out_choose_by_default_and_errors_of_the_average_are_told(tmp_path):
    file, X, y = made(tmp_path, n=45)
    path = pls_path(X, y, 6)
    for cv in (None, 5):
        options = () if cv is None else ("--cv", cv)
        found, chosen = run_json("fit", file, "-r", "y", *options), path.select(cv=cv)
        assert found["choice"]["parameter"] == chosen.n_components
        assert found["choice"]["criterion"] == "left-out"
        # The choice made again without each fold.
        residuals = chosen.held_out.residuals
        assert found["errors"]["chosen"] == pytest.approx(np.sqrt(np.mean(residuals**2)))
        assert found["models"][chosen.index]["rmsecv"] == pytest.approx(
            chosen.left_out.rmse[chosen.index]
        )
        assert found["errors"]["average"] == pytest.approx(path.average(cv=cv).rmse)
        assert found["errors"]["words"] in said("fit", file, "-r", "y", *options)
    assert (
        run_json("fit", file, "-r", "y", "--criterion", "left-out")["choice"]
        == (run_json("fit", file, "-r", "y")["choice"])
    )


def test_leave_one_out_is_as_many_folds_as_rows(tmp_path):
    file, _, _ = made(tmp_path)
    found, other = (run_json("fit", file, "-r", "y", "--cv", cv) for cv in ("loo", 30))
    assert found["recipe"].pop("made") <= other["recipe"].pop("made")
    assert found == other


def test_the_recipe_is_stated(tmp_path):
    frame = pd.read_csv(GASOLINE).copy()
    frame.insert(0, "sample", [f"T{i:03}" for i in range(60)])
    file, book, model = (tmp_path / name for name in ("t.csv", "b.xlsx", "m.json"))
    frame.to_csv(file, index=False)
    options = ("fit", file, "-r", "octane", "--exclude-rows", "1,7", "--preprocess", "snv")
    found = run_json(*options, "--cv", 5, "--out", book)
    recipe = found["recipe"]
    assert recipe["scale"] is True
    assert recipe["scaling"] == "centred and scaled to unit variance (by default)"
    assert recipe["preprocessing"] == "snv"
    assert recipe["rows excluded"] == "1 ('T000'), 7 ('T006')"
    assert recipe["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert plsdof.__version__ in recipe["made"]
    sheet = pd.read_excel(book, sheet_name="recipe", engine="openpyxl").set_index("fact")["value"]
    assert sheet["sha256"] == recipe["sha256"]
    words = said(*options, "--cv", 5, "--no-scale")
    assert "centred, not scaled (as asked for)" in words
    assert recipe["sha256"] in words
    run(*options, "--model", model, "-q")
    kept = json.loads(model.read_text())["source"]["recipe"]
    assert kept["sha256"] == recipe["sha256"]
    assert kept["scaling"] == recipe["scaling"]


def test_unusual_rows_come_in_the_order_of_their_severity(tmp_path):
    file, _, _ = made(tmp_path, n=60)
    frame, book = pd.read_csv(file), tmp_path / "b.xlsx"
    frame.loc[[20, 40], "y"] += [20.0, 25.0]
    frame.to_csv(file, index=False)
    found = run_json("fit", file, "-r", "y", "--out", book)
    assert [one["row"] for one in found["rows"][:2]] == [41, 21]
    assert "Look at: Row 41: residual" in said("fit", file, "-r", "y")
    sheet = pd.read_excel(book, sheet_name="rows", engine="openpyxl")
    assert sheet["row"].tolist()[:2] == [41, 21]
    assert len(sheet) == 60


def test_naive_degrees_of_freedom_choose_as_in_the_library():
    X, y = load_ozone(return_X_y=True)
    found = run_json(
        "fit", OZONE, "-r", "V4", "--missing", "drop", "--criterion", "gcv", "--dof", "naive",
        "--rule", "first-minimum",
    )  # fmt: skip
    selection = pls_path(X, y).select("gcv", "naive", rule="first-minimum")
    assert found["choice"]["parameter"] == selection.n_components


def test_a_given_number_of_components_is_kept(tmp_path):
    file, X, y = made(tmp_path)
    found = run_json("fit", file, "-r", "y", "--components", 4)
    assert found["choice"]["rule"] == "given"
    coef = [one["coef"] for one in found["coefficients"]]
    np.testing.assert_allclose(coef, pls_path(X, y).coef[4], rtol=1e-9)
    assert "supports 6 at most" in refused("fit", file, "-r", "y", "--components", 9)


def test_features_are_chosen_and_excluded():
    chosen = ("--features", "1100:1110", "-f", "90[02]", "--exclude", "1104")
    found = run_json("fit", GASOLINE, "-r", "octane", *chosen)
    assert [one["name"] for one in found["coefficients"]] == [
        "900", "902", "1100", "1102", "1106", "1108", "1110",
    ]  # fmt: skip
    assert found["wavelengths"] == [900, 902, 1100, 1102, 1106, 1108, 1110]


def test_decimal_commas_and_text_columns_are_understood(tmp_path):
    file, _, _ = made(tmp_path)
    frame = pd.read_csv(file)
    frame.insert(0, "sample", [f"S{i}" for i in range(len(frame))])
    german = tmp_path / "german.csv"
    frame.to_csv(german, sep=";", decimal=",", index=False, encoding="latin-1")
    found = run_json("fit", german, "-r", "y")
    expected = run_json("fit", file, "-r", "y")
    pd.testing.assert_frame_equal(
        pd.DataFrame(found["coefficients"]), pd.DataFrame(expected["coefficients"]), rtol=1e-9
    )
    assert found["notes"][0] == "Left out, not numeric: 'sample' (such as 'S0')."


def test_missing_values_are_counted_by_column():
    line = refused("fit", OZONE, "-r", "V4")
    assert "163 of 366 rows have missing values" in line
    assert "'V9' 139, 'V7' 15" in line
    assert "--missing drop" in line


def test_quiet_prints_nothing_and_verbose_everything():
    assert run("fit", GASOLINE, "-r", "octane", "--quiet").output == ""
    long = run("fit", GASOLINE, "-r", "octane", "--verbose").stdout
    assert all(f"\n{wavelength} " in long for wavelength in range(900, 1701, 2))
    assert "\n29 " in run("fit", GASOLINE, "-r", "octane", "-v", "--criterion", "bic").stdout


def test_warnings_of_the_library_become_notes(tmp_path):
    file, _, _ = made(tmp_path)
    frame = pd.read_csv(file).assign(constant=3.0)
    frame.to_csv(file, index=False)
    arguments = ("fit", file, "-r", "y", "--max-components", 20)
    result = run(*arguments)
    assert result.stderr == ""
    kinds = [one["key"] for one in run_json(*arguments)["remarks"]]
    assert kinds[:2] == ["constant-columns", "path-end"]


def test_models_that_interpolate_have_intervals_by_rows_left_out(tmp_path):
    # As many components as it takes to reproduce the response.
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(6, 9)), columns=list("yabcdefgh"))
    frame.to_csv(tmp_path / "table.csv", index=False)
    options = ("fit", tmp_path / "table.csv", "-r", "y", "--components", 5)
    # Held-out rows tell a noise level all the same, however the table is read.
    for more in ((), ("--streamed",)):
        assert run_json(*options, *more)["coefficients"][0]["std_error"] > 0
    # More Degrees of Freedom than rows are not the same thing.
    found = run_json("fit", GASOLINE, "-r", "octane", "--components", 30)
    assert found["coefficients"][0]["std_error"] > 0


def test_permutations_and_standard_errors_of_several_kinds(tmp_path):
    plain = ("fit", GASOLINE, "-r", "octane", "--components", 3)
    found = run_json(*plain, "--permutations", 99, "--covariance", "hc3")
    assert found["permutations"]["p_value"] == 0.01
    assert len(found["permutations"]["permuted"]) == 99
    assert found["coefficients"][0]["std_error"] != run_json(*plain)["coefficients"][0]["std_error"]
    page = tmp_path / "r.html"
    more = ("--permutations", 99, "--covariance", "jackknife", "--report", page)
    words = said(*plain, *more)
    assert "p = 0.010: 0 of 99 permutations" in words
    assert "Is there any relation at all?" in page.read_text(encoding="utf-8")
    assert "rows of X random (jackknife); p-values test E[coef] = 0" in words
    assert "--permutations must be >= 19" in refused(*plain, "--permutations", 3)
    assert "--covariance must be one of" in refused(*plain, "--covariance", "hc9")
    assert "--intervals must be one of" in refused(*plain, "--intervals", "bayes")


@pytest.mark.parametrize("name", ["fit", "compare"])
def test_a_criterion_that_is_not_defined_is_called_so(name):
    line = refused(name, GASOLINE, "-r", "octane", "--criterion", "cp")
    assert "criterion cp is not defined here" in line
    assert "noise=" not in line


def kinds(*arguments):
    """Return the kinds of the remarks of a fit."""
    return {one["key"] for one in run_json("fit", *arguments)["remarks"]}


def test_a_choice_at_the_edge_of_the_path_is_remarked():
    assert "last-model" in kinds(GASOLINE, "-r", "octane", "--max-components", 3)
    words = said("fit", GASOLINE, "-r", "octane", "--max-components", 3)
    assert "Try --max-components 6." in words
    assert "last-model" not in kinds(GASOLINE, "-r", "octane", "--max-components", 12)


def test_an_empty_model_is_called_the_mean(tmp_path):
    rng = np.random.default_rng(3)
    noise = pd.DataFrame(rng.normal(size=(40, 4)), columns=["y", "a", "b", "c"])
    noise.to_csv(tmp_path / "noise.csv")
    result = run("fit", tmp_path / "noise.csv", "-r", "y")
    words = " ".join(result.stdout.split())
    assert "It is the mean of the response" in words
    assert "Coefficients" not in words
    assert "Left out, without a name: unnamed 1." in words


@pytest.mark.parametrize("n", [2, 3, 4])
def test_very_few_rows_give_an_answer_or_a_reason(tmp_path, n):
    file, _, _ = made(tmp_path, n=n, p=3)
    result = CliRunner().invoke(app, ["fit", str(file), "-r", "y"])
    assert result.exit_code in (0, 2)
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_short_tables_of_the_path_keep_start_choice_and_end():
    places = short_path(31, 20, evenly=False)
    assert {0, 1, 2, 19, 20, 21, 30} <= set(places)
    assert len(places) < 20
    places = short_path(50, 39, evenly=True)


# compare


def test_compare_equals_the_library(tmp_path):
    file, X, y = made(tmp_path)
    found = run_json("compare", file, "-r", "y", "--cv", 5)
    expected = compare_paths(X, y, cv=5, max_components=6)
    table = pd.DataFrame(found["models"])
    assert table["method"].tolist() == expected.method.tolist()
    for name in ("dof", "train_error", "bic"):
        np.testing.assert_allclose(
            table[name].astype(float), expected.columns()[name], rtol=1e-9, equal_nan=True
        )
    np.testing.assert_allclose(table["rmsec"] ** 2, expected.train_error, rtol=1e-9)
    for name, path in expected.paths.items():
        rows = table[table["method"] == name]
        np.testing.assert_allclose(rows["rmsecv"], path.left_out(5).rmse, rtol=1e-9)
    best = table["rmsecv"].astype(float)[found["chosen"]["ridge"]]
    assert f"{best:#.4g}" in said("compare", file, "-r", "y", "--cv", 5)
    assert found["chosen"]["pls"] == pls_path(X, y, 6).select(cv=5).index


def test_compare_shows_tables_within_80_columns():
    result = run("compare", GASOLINE, "-r", "octane", "--criterion", "gcv")
    assert "Chosen by GCV" in result.stdout
    assert "at equal Degrees of Freedom" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert run("compare", GASOLINE, "-r", "octane", "-q").output == ""
    result = run("compare", GASOLINE, "-r", "octane", "-f", "1100:1200", "--cv", 5, "--verbose")
    assert "The smallest cross-validated error is that of" in " ".join(result.stdout.split())
    assert result.stderr == ""
    assert max(map(len, result.stdout.splitlines())) <= 80


# the other commands


def test_datasets_and_version():
    assert "gasoline" in run("datasets").stdout
    found = {one["name"]: one for one in run_json("datasets")["datasets"]}
    assert found["ozone"]["hash_ok"] is True
    assert found["gasoline"]["shape"] == [60, 401]
    assert run("--version").stdout == f"plsdof {plsdof.__version__}\n"


def test_the_demo_shows_the_fit_of_the_gasolines(tmp_path):
    pytest.importorskip("jinja2")
    # The best of five recipes: scaled wavelengths, as in the README.
    chosen = PLSRegressor().fit(*load_gasoline(return_X_y=True))
    file = tmp_path / "demo.html"
    shown = run("demo", "--report", file).stdout
    assert f"Choice: {chosen.n_components_} components" in shown
    assert max(map(len, shown.splitlines())) <= 80
    found = run_json("fit", GASOLINE, "-r", "octane", "--preprocess", "auto")
    assert found["choice"]["parameter"] == chosen.n_components_
    assert "What was found" in file.read_text(encoding="utf-8")
    assert "--report" in refused("demo", "--report", tmp_path / "demo.pdf")


@pytest.mark.parametrize("name", ["gasoline", "ozone"])
def test_a_data_set_is_written_to_try_the_commands_with(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    program, *arguments = run_json("datasets", "--export", f"{name}.csv")["try"].split()
    assert program == "plsdof"
    assert Path(f"{name}.csv").read_bytes() == (DATA / f"{name}.csv").read_bytes()
    assert run_json(*arguments)["n"] == {"gasoline": 60, "ozone": 203}[name]
    assert f"try plsdof fit {name}.csv" in said("datasets", "--export", f"{name}.csv")


def test_only_shipped_data_sets_are_written(tmp_path):
    assert "'gasoline', 'ozone'" in refused("datasets", "--export", tmp_path / "octane.csv")
    assert "does not exist" in refused("datasets", "--export", tmp_path / "no" / "ozone.csv")
    assert list(tmp_path.iterdir()) == []


def test_python_runs_the_package_as_the_program():
    done = command("--version")
    assert (done.returncode, done.stdout) == (0, f"plsdof {plsdof.__version__}\n".encode())
    assert b"Usage: plsdof fit" in command("fit", "--help").stdout
    assert command("fit", "absent.csv", "-r", "y").returncode == 2


def test_wrong_usage_has_exit_code_2():
    for arguments in (["fit"], ["fitt"], ["fit", OZONE, "-r", "V4", "--cv", "many"]):
        run(*arguments, code=2)


def test_help_is_there_before_numerical_libraries_are():
    code = (
        "import sys; from typer.testing import CliRunner; from plsdof.workbench.cli import app; "
        "print('fit' in CliRunner().invoke(app, ['--help']).stdout, "
        "{'numpy', 'scipy', 'pandas', 'sklearn'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "set()"]


def test_a_fit_of_a_table_loads_what_it_needs_only(tmp_path):
    """Each of these would take a second or so, and is for spectra, classes or other files."""
    lines = [f"{i % 7},{i % 5},{i * i % 11}" for i in range(30)]
    (tmp_path / "table.csv").write_text("\n".join(["y,a,b", *lines, ""]))
    code = (
        "import sys; from typer.testing import CliRunner; from plsdof.workbench.cli import app; "
        f"done = CliRunner().invoke(app, ['fit', {str(tmp_path / 'table.csv')!r}, '-r', 'y']); "
        "print(done.exit_code, {'sklearn', 'scipy.stats', 'matplotlib', 'openpyxl', "
        "'python_calamine', 'pyarrow.parquet', 'chemotools'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "set()"]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_summarised_by_its_first_sentence(name):
    module, summary = COMMANDS[name]
    command = getattr(import_module(f"plsdof.workbench.cli.{module}"), name)
    assert command.__doc__.splitlines()[0] == summary


OF_MODELS = ("predict", "check", "adjust", "transfer")


def test_every_option_is_described_and_belongs_to_a_command():
    used = set()
    for name in COMMANDS:
        for option in load_command(name).params:
            keys = [f"{name}.{option.name}", f"model.{option.name}", option.name]
            used |= {
                key for key in keys[:1] + keys[1:2] * (name in OF_MODELS) if key in OPTIONS
            } or {option.name}
            assert option.help or option.param_type_name == "argument"
    assert used - {"file", "model", "models", "more"} == set(OPTIONS) - {"model"}


def test_help_names_the_usual_rule_of_each_method():
    told = OPTIONS["rule"].show_default
    X, y = load_ozone(return_X_y=True)
    pls, pcr, ridge = (make(X, y).select("bic").rule for make in (pls_path, pcr_path, ridge_path))
    assert told == f"{pls} for pls, else {pcr}"
    assert pcr == ridge


def test_help_documents_exit_codes():
    assert "130 interrupted" in " ".join(run("--help").stdout.split())


# bad input


MALFORMED = {
    "empty": b"",
    "header only": b"y,a,b\n",
    "ragged": b"y,a,b\n1,2,3\n4,5\n6,7,8\n",
    "too long": b"y,a,b\n1,2,3\n4,5,6,7\n",
    "binary": np.random.default_rng(1).bytes(3000),
    "nul": b"y,a,b\n1,2,3\n4,\x005,6\n",
    "one row": b"y,a,b\n1,2,3\n",
    "repeated names": b"y,a,a\n1,2,3\n4,5,6\n7,8,1\n",
    "response of text": b"y,a,b\nlow,2,3\nhigh,5,6\nlow,8,1\n",
    "response with text": b"y,a,b\n1,2,3\nhigh,5,6\n3,8,1\n",
    "response missing": b"z,a,b\n1,2,3\n4,5,6\n",
    "response not known": b"y,a,b\n,2,3\n,5,6\n",
    "column without values": b"y,a,b\n1,,3\n4,,6\n",
    "text in a predictor": b"y,a,b\n1,x,3\n4,5,6\n",
    "infinite": b"y,a,b\n1,inf,3\n4,5,6\n7,8,1\n",
    "only a response": b"y,name\n1,A\n2,B\n",
    "constant response": b"y,a,b\n1,2,3\n1,5,6\n1,8,1\n",
}


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("drop", [(), ("--missing", "drop")])
def test_malformed_files_give_one_line_exit_code_2_and_no_file(tmp_path, name, drop):
    file = write(tmp_path, MALFORMED[name])
    outputs = ("--model", tmp_path / "m.json", "--plot", tmp_path / "p.png")
    line = refused("fit", file, "-r", "y", *drop, *outputs)
    assert len(line) < 400
    assert [one.name for one in tmp_path.iterdir()] == ["table.csv"]
    refused("compare", file, "-r", "y", *drop)


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    file, _, _ = made(tmp_path)
    write(tmp_path, b"\xef\xbb\xbf" + file.read_bytes())
    assert run_json("fit", file, "-r", "y")["response"] == "y"


def test_folders_and_absent_files_are_refused(tmp_path):
    assert "no file in this folder" in refused("fit", tmp_path, "-r", "y")
    assert "no such file" in refused("fit", tmp_path / "absent.csv", "-r", "y")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("-r", "Y"), "no column 'Y'; did you mean 'y'?"),
        (("-r", "y "), "no column 'y '; did you mean 'y'?"),
        (("-r", "y", "--features", "x9"), "no column 'x9'; there are 'y', 'x0'"),
        (("-r", "y", "--features", "y"), "'y' is the response"),
        (("-r", "y", "--exclude", "*"), "no predictor is left"),
        (("-r", "y", "--criterion", "bec"), "--criterion must be one of"),
        (("-r", "y", "--method", "lasso"), "--method must be one of"),
        (("-r", "y", "--dof", "none"), "--dof must be one of"),
        (("-r", "y", "--rule", "best"), "--rule must be one of"),
        (("-r", "y", "--rule", "paper"), "--rule belongs to a criterion"),
        (("-r", "y", "--level", "95"), "--level must be between 0 and 1"),
        (("-r", "y", "--cv", "1"), "--cv must be a number of folds >= 2"),
        (("-r", "y", "--cv", "99"), "99"),
        (
            ("-r", "y", "--cv", "many"),
            "--cv must be a number of folds >= 2, loo or blocks:K; got 'many'",
        ),
        (("-r", "y", "--max-components", "0"), "--max-components must be >= 1"),
        (("-r", "y", "--method", "ridge", "--components", "2"), "do not apply to ridge"),
        (("-r", "y", "--method", "ridge", "--components", "0"), "do not apply to ridge"),
        (("-r", "y", "--sheet", "NIR"), "Excel"),
        (("-r", "y", "--plot", "picture.bmp"), "must end in .png, .svg or .pdf"),
        (("-r", "y", "--model", "absent/m.json"), "does not exist"),
    ],
)
def test_bad_options_give_one_line_that_helps(tmp_path, monkeypatch, options, reason):
    monkeypatch.chdir(tmp_path)
    file, _, _ = made(tmp_path)
    assert reason in refused("fit", file, *options)


def test_outputs_never_overwrite_the_input_or_each_other(tmp_path):
    file, _, _ = made(tmp_path)
    model = tmp_path / "model.json"
    run("fit", file, "-r", "y", "--model", model, "-q")
    before = file.read_bytes()
    assert "overwrite the input" in refused("fit", file, "-r", "y", "--model", file)
    same = tmp_path / "same.png"
    assert "overwrite" in refused("fit", file, "-r", "y", "--model", same, "--plot", same)
    assert "overwrite" in refused("predict", model, file, "--out", file)
    assert file.read_bytes() == before


def test_a_header_of_numbers_is_suspected_to_be_data(tmp_path):
    file = write(tmp_path, "1.5,2.5\n3,4\n5,6\n")
    assert "first line must hold the names" in refused("fit", file, "-r", "y")


HOSTILE = [
    "[red]bold[/red]",
    "[/]",
    "\x1b[31mred\x1b[0m",
    "bell\x07",
    "\u202ertl",
    "n" * 10_000,
    "<script>alert(1)</script>",
    ":smile:",
    "two\nlines",
    "%s {0} \\",
]


def test_hostile_names_do_not_reach_the_terminal(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, len(HOSTILE))), columns=HOSTILE)
    frame["[bold]y"] = frame.sum(axis=1) + rng.normal(size=30)
    file, model = tmp_path / "[red]table.csv", tmp_path / "model.json"
    frame.to_csv(file, index=False)
    outputs = [
        run("fit", file, "-r", "[bold]y", "--verbose", "--model", model),
        run("predict", model, file),
        run("compare", file, "-r", "[bold]y"),
        run("fit", file, "-r", "\x1b[31m", code=2),
        run("fit", file, "-r", "[bold]y", "-f", "\x1b[3*", "-f", "x\ny", code=2),
    ]
    for result in outputs:
        text = result.output.replace("\n", "")
        assert text.isprintable()
        assert max(map(len, result.stdout.splitlines()), default=0) <= 80
    assert "[red]bold[/red]" in outputs[0].stdout
    assert "\\x1b[31mred" in outputs[0].stdout
    assert outputs[0].stdout.startswith("[bold]y from 10 predictors, centred and scaled")
    found = run_json("fit", file, "-r", "[bold]y")
    assert [one["name"] for one in found["coefficients"]] == [
        " ".join(name.split()) for name in HOSTILE
    ]


def test_safe_text_has_a_bounded_length():
    assert safe("\x00" * 10_000, 24) == "\\x00" * 5 + "\\x0…"
    assert len(safe("n" * 10_000, 24)) == 24


# report and plot


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_plots_are_written_in_the_format_of_their_name(tmp_path, ending):
    pytest.importorskip("matplotlib")
    file, _, _ = made(tmp_path)
    plot = tmp_path / f"overview.{ending.upper()}"
    result = run("fit", file, "-r", "y", "--plot", plot, "--cv", 5)
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert plot.read_bytes().startswith(start)
    assert f"overview.{ending.upper()}" in "".join(result.stdout.split())


def test_a_report_is_written(tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("jinja2")
    file, _, _ = made(tmp_path)
    report = tmp_path / "report.html"
    run("fit", file, "-r", "y", "--report", report, "--cv", 5)
    assert report.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")


def test_what_was_left_out_of_the_table_is_said_in_the_report(tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("jinja2")
    file, _, _ = made(tmp_path)
    lines = file.read_text().splitlines()
    rows = [f"{line},s{i}" for i, line in enumerate(lines[1:])]
    write(tmp_path, "\n".join([f"{lines[0]},Sample ID", *rows]))
    report = tmp_path / "report.html"
    run("fit", file, "-r", "y", "--report", report)
    assert "Left out, not numeric: &#39;Sample ID&#39;" in report.read_text(encoding="utf-8")


def test_a_failing_output_leaves_no_file(tmp_path, monkeypatch):
    from plsdof.errors import InvalidInputError
    from plsdof.models import files as model_file

    file, _, _ = made(tmp_path)

    def fail(*_args, **_options):
        raise InvalidInputError("the disk is full")

    monkeypatch.setattr(model_file.json, "dumps", fail)
    assert "the disk is full" in refused("fit", file, "-r", "y", "--model", tmp_path / "m.json")
    assert [one.name for one in tmp_path.iterdir()] == ["table.csv"]


# the real thing, in a process of its own


def test_the_program_writes_tables_to_stdout_and_errors_to_stderr():
    done = command("fit", GASOLINE, "-r", "octane")
    assert done.returncode == 0
    assert b"Choice" in done.stdout
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout
    failed = command("fit", GASOLINE, "-r", "octan")
    assert failed.returncode == 2
    assert failed.stdout == b""
    assert failed.stderr.count(b"\n") == 1
    assert b"did you mean 'octane'?" in failed.stderr


def test_the_program_survives_a_terminal_without_unicode(tmp_path):
    frame = pd.DataFrame(
        np.random.default_rng(0).normal(size=(20, 3)), columns=["y", "Größe", "日本"]
    )
    frame.to_csv(tmp_path / "table.csv", index=False)
    done = command("fit", tmp_path / "table.csv", "-r", "y", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 0, done.stderr
    done.stdout.decode("ascii")


def test_the_program_needs_no_pandas_to_say_what_it_can_do():
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "sys.argv = ['plsdof', *sys.argv[1:]]\n"
        "from plsdof.workbench.cli import main; main()"
    )
    for arguments, expected in ((["--help"], 0), (["fit", str(OZONE), "-r", "V4"], 2)):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, timeout=120, check=False
        )
        assert done.returncode == expected, done.stderr
    assert b"pip install 'plsdof[files]'" in done.stderr


def _wait_for_reader(fifo):
    for _ in range(600):
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.1)
    raise AssertionError("nobody reads the table")


def _interrupted(process):
    """Press Ctrl-C until it is heard: a module that is being imported may swallow the first one."""
    for _ in range(6):
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=15)[1]
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("the process did not end")


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_control_c_ends_with_130_and_no_traceback(tmp_path):
    fifo = tmp_path / "table.csv"
    os.mkfifo(fifo)  # reading it waits for a writer that never comes
    process = subprocess.Popen(
        arguments_of("fit", fifo, "-r", "y"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        writer = _wait_for_reader(fifo)
        errors = _interrupted(process)
    finally:
        process.kill()
        os.close(writer)
    assert process.returncode == 130
    assert b"Interrupted." in errors
    assert b"Traceback" not in errors


def test_shell_completion_knows_commands_and_words():
    def completions(words):
        environment = {
            "_PLSDOF_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split(" ")) - 1),
        }
        code = "import sys; sys.argv[0] = 'plsdof'; from plsdof.workbench.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            env={**os.environ, **environment},
            timeout=120,
            check=False,
        )
        return done.stdout.decode().split()

    assert completions("plsdof pre") == ["predict"]
    assert completions("plsdof fit --criterion g") == ["gmdl", "gcv"]


def test_an_average_of_all_models_is_fitted_kept_and_used(tmp_path):
    X, y = load_gasoline(return_X_y=True)
    average = pls_path(X, y).average(cv=5)
    model, out = tmp_path / "model.json", tmp_path / "out.csv"
    options = ("fit", GASOLINE, "-r", "octane", "--criterion", "average", "--cv", 5)
    found = run_json(*options, "--model", model)
    np.testing.assert_allclose([one["coef"] for one in found["coefficients"]], average.coef)
    assert found["choice"]["dof"] == pytest.approx(average.dof)
    np.testing.assert_allclose(found["choice"]["weights"], average.weights)
    assert found["sigma"]["value"] == pytest.approx(average.noise_std)
    assert found["errors"]["chosen"] == found["errors"]["average"] == pytest.approx(average.rmse)
    assert f"Average of {np.count_nonzero(average.weights)} models (" in said(*options)
    run("predict", model, GASOLINE, "--out", out)
    np.testing.assert_allclose(pd.read_csv(out)["prediction"], average.fitted, rtol=1e-9)
    assert "leave out components" in refused(*options, "--components", 3)


def test_folds_can_be_random(tmp_path):
    file, X, y = made(tmp_path, n=25)
    found = run_json("fit", file, "-r", "y", "--cv", 5, "--seed", 3, "--max-components", 6)
    expected = cross_validate(X, y, cv=5, rng=3).rmse
    np.testing.assert_allclose([row["rmsecv"] for row in found["models"]], expected, rtol=1e-9)
    assert "say how many" in refused("fit", file, "-r", "y", "--seed", 3)


def test_criteria_of_acceptance_decide_the_exit_code(tmp_path):
    start = ["fit", GASOLINE, "-r", "octane", "--cv", "10", "--test-rows", "50:60"]
    found = run_json(*start, "--accept", "RMSEP<0.5", "--accept", "rpd > 3")
    assert [one["passed"] for one in found["accepted"]] == [True, True]
    assert found["accepted"][0]["value"] == found["merit"]["test"]["rmse"]
    assert found["accepted"][1]["value"] == found["merit"]["test"]["rpd"]
    page = tmp_path / "r.html"
    result = run(*start, "--accept", "RMSECV<=0.01", "--report", page, code=3)
    assert "Not accepted" in result.stdout
    text = page.read_text(encoding="utf-8")
    assert "not accepted" in text
    assert "RMSECV&lt;=0.01" in text
    for wrong in ("RMSEP", "luck<3", "RMSEP<x", "RMSEP<0.1.2"):
        refused(*start, "--accept", wrong)
    refused("fit", GASOLINE, "-r", "octane", "--accept", "RMSEP<1")


def test_what_looks_like_a_mistake_comes_first(tmp_path):
    table = tmp_path / "t.csv"
    rows = ["name,y,a,b"] + [f"s{i},{i * 1.5 + 2},{(i * 7) % 11},{i % 5}" for i in range(20)]
    rows.append("s20,3,-999,2")
    table.write_text("\n".join(rows))
    found = run_json("fit", table, "-r", "y")
    kinds = [one["key"] for one in found["remarks"]]
    assert kinds[0] == "missing-code"
    assert "data" in kinds[1:]
    page = tmp_path / "r.html"
    run("fit", table, "-r", "y", "--report", page, "-q")
    text = page.read_text(encoding="utf-8")
    assert text.index('class="note doubt"') < text.index("How the table was read")
