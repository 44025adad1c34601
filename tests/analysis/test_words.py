"""Words and numbers of a result: rounded by their errors, rows as they are called in the file."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from _helpers.problems import make_problem

from plsdof import workbench
from plsdof._core.choice import capped_remark
from plsdof.models.files import model_checksum
from plsdof.workbench import Request


@pytest.fixture(scope="module")
def table():
    X, y = make_problem(60, 5, seed=3, noise=0.5)
    y = y.copy()
    y[7] += 20.0
    return pd.DataFrame(X, columns=list("abcde")).assign(y=y)


def test_rows_of_a_choice_are_called_as_in_the_file(table):
    named = table.assign(sample=[f"S{i}" for i in range(60)])
    asked = Request(response="y", label="sample", exclude_rows=("1:3",))
    (found,) = [one for one in workbench.fit(named, asked).remarks if one.key == "capped"]
    # It is the fifth row of the fit, and the eighth of the table.
    assert found.rows == (4,)
    assert "row 8 ('S7')" in found.words


@pytest.mark.parametrize(
    ("rows", "words"),
    [((4,), "row 4 by"), ((1, 2), "rows 1 and 2 by"), (range(9), "rows 0, 1, 2, 3 and others by")],
)
def test_one_row_and_several_rows_are_said_in_good_english(rows, words):
    said = capped_remark(rows, [str(one) for one in rows]).words
    assert words in said
    assert ("It counts" if len(rows) == 1 else "They count") in said


def test_errors_of_a_choice_say_how_they_were_made(table):
    chosen = workbench.fit(table, Request(response="y")).result.facts
    given = workbench.fit(table, Request(response="y", components=2)).result.facts
    assert "chosen again without each fold" in chosen["errors.words"].value
    assert "chosen again" not in given["errors.words"].value


def test_lines_and_jackknife_are_rounded_by_their_errors(table):
    found = workbench.fit(table, Request(response="y", components=1)).result
    slope = found.tables["merit"].columns["slope"]
    assert np.all(slope.error > 0)
    assert len(slope.texts()[0].partition(".")[2]) == 1 - int(np.floor(np.log10(slope.error[0])))
    other = found.tables["coefficients"].columns["jackknife_std_error"]
    assert [len(one.lstrip("0.").replace(".", "")) for one in other.texts()] == [2] * 5


def test_measured_values_are_shown_as_they_were_measured(table):
    fitted = workbench.fit(table.round(1), Request(response="y", components=1, test_rows=("1:5",)))
    (first, *_) = fitted.result.tables["test.rows"].columns["observed"].texts()
    assert first == f"{table['y'].round(1)[0]:.1f}"
    again = workbench.predict(fitted.predictor, table.round(1)).main_table.columns
    assert again["observed"].texts()[0] == first
    # The prediction is rounded by its interval.
    assert again["prediction"].error > 0


def test_results_show_themselves_in_a_line_and_in_a_notebook(table):
    fitted = workbench.fit(table, Request(response="y", components=1))
    later = workbench.check(fitted.predictor, table)
    shown = (fitted, fitted.analysis, fitted.result, fitted.tables["models"], later)
    assert all(len(repr(one)) < 300 for one in shown)
    page = fitted._repr_html_()
    assert fitted.result.facts["choice.words"].value in page
    for one in fitted.tables["models"].columns["rmsecv"].texts():
        assert f"<td>{one}</td>" in page
    assert all(one.words in later._repr_html_() for one in later.remarks)


@pytest.mark.parametrize(("values", "said"), [(2, False), (20, True)])
def test_a_handful_of_kinds_are_not_replicates(table, values, said):
    kinds = table.assign(kind=[f"k{i % values}" for i in range(60)])
    found = workbench.fit(kinds, Request(response="y", components=1)).remarks
    assert any(one.key == "replicates" for one in found) == said


def test_a_search_reports_the_error_of_the_whole_search(table):
    found = workbench.fit(table, Request(response="y", select="forward:3")).result
    error = found.tables["merit"].columns["rmse"].texts()[1]
    assert f"RMSECV {error} with" in found.facts["errors.words"].value
    unused = np.flatnonzero(found.tables["coefficients"].columns["coef"].values == 0)
    assert not set(unused) & set(found.tables["coefficients"].short)


def test_penalties_are_named_without_an_article(table):
    found = workbench.fit(table, Request(response="y", method="ridge")).result
    assert found.facts["assumptions"].value.startswith("X and alpha = ")


def test_an_index_of_texts_names_the_rows(table):
    named = table.set_axis([f"S{i}" for i in range(60)], axis=0)
    fitted = workbench.fit(named, Request(response="y", components=1))
    assert "8 ('S7')" in fitted.result.facts["unusual"].value
    predicted = workbench.predict(fitted.predictor, named.iloc[:3]).main_table.columns
    assert predicted["id"].texts() == ["S0", "S1", "S2"]
    # Numbers of rows are no names, and no predictor either.
    plain = workbench.fit(table.iloc[::-1], Request(response="y", components=1))
    assert plain.predictor.columns == fitted.predictor.columns


def test_predictions_checks_and_comparisons_say_what_they_were_made_of(table, tmp_path):
    file = tmp_path / "table.csv"
    table.to_csv(file, index=False)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    read = workbench.tables.read_table(file)
    model = workbench.fit(read, Request(response="y", components=1)).predictor
    for made in (workbench.predict(model, read), workbench.check(model, read)):
        assert made.record["model"].startswith(model_checksum(model))
        assert made.record["sha256"] == digest
    compared = workbench.compare(read, Request(response="y", cv=5)).record
    assert compared["sha256"] == digest
    assert compared["held-out rows to validate"] == "5 folds, row i in fold i modulo 5"
