"""The benchmark harness at tiny sizes: same models for all, honest reports, sound checks."""

# ruff: noqa: E402  (the scripts are not a package; their folder has to be found first)

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from plsdof import pls_path

BENCHMARKS = Path(__file__).parent
# At the end, so that benchmarks/coverage.py does not hide the package of that name.
sys.path.append(str(BENCHMARKS))

import findings
import measure
import r_contestants
import regimes
import scale
import scale_tasks
from contestants import BY_KEY, CONTESTANTS, COUNTED

TINY = regimes.Regime(name="tiny", n=40, p=30, max_components=4)
WIDE = regimes.Regime(name="wide", n=30, p=50, kind="spectra", max_components=4)
MODELS = [one.key for one in CONTESTANTS if one.task == "choose"]
VALIDATED = [one.key for one in CONTESTANTS if one.task == "validate"]
TOLD_THE_FOLDS = [
    "plsdof-cv",
    "scikit-learn",
    "ikpls",
    "nirs4all-methods",
    "process-improve",
    "r-pls",
]
EFFORT = measure.Effort(rounds=2, slow=5.0, limit=60.0, draws=2, quality=5.0, deadline=100.0)


def contestant(key):
    one = BY_KEY[key]
    if one.version(one.package) is None:
        pytest.skip(f"{one.title} is not installed")
    return one


@pytest.mark.parametrize("regime", [TINY, WIDE], ids=lambda one: one.name)
def test_textbook_algorithm_predicts_what_the_path_predicts(regime):
    problem, (X_new, _) = regimes.make_problem(regime), regimes.make_test_rows(regime, 20)
    path = pls_path(problem.X, problem.y, max_components=4)
    expected = regimes.reference_predictions(problem, X_new)
    np.testing.assert_allclose(path.predict(X_new), expected, rtol=1e-8)


def test_problems_repeat_and_draws_and_splits_differ():
    first, again = regimes.make_problem(TINY), regimes.make_problem(TINY)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.folds, again.folds)
    assert not np.array_equal(first.X, regimes.make_problem(TINY, 1).X)
    cut = regimes.recut(first, 1)
    assert cut.X is first.X
    assert not np.array_equal(cut.folds, first.folds)
    assert np.ptp(np.bincount(cut.folds)) <= 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("regime", [TINY, WIDE], ids=lambda one: one.name)
@pytest.mark.parametrize("key", MODELS)
def test_every_contestant_fits_the_same_model(key, regime):
    problem, (X_new, _) = regimes.make_problem(regime), regimes.make_test_rows(regime, 20)
    choice = contestant(key).run(problem, 1)
    expected = regimes.reference_predictions(problem, X_new)[choice.n_components]
    assert 0 <= choice.n_components <= 4
    np.testing.assert_allclose(choice.predict(X_new), expected, rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", TOLD_THE_FOLDS)
def test_cross_validation_on_the_same_folds_chooses_the_same_model(key):
    problem = regimes.make_problem(TINY)
    assert contestant(key).run(problem, 1).n_components == _by_hand(problem)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", VALIDATED)
def test_ten_folds_are_validated_and_nothing_is_chosen(key):
    assert contestant(key).run(regimes.make_problem(TINY), 1) is None


def test_counting_has_a_clock_of_its_own():
    choice = contestant(COUNTED).run(regimes.make_problem(TINY), 1)
    assert choice.seconds > 0
    assert 0 <= choice.n_components <= 4


def _by_hand(problem):
    errors = []
    for fold in range(regimes.FOLDS):
        out = problem.folds == fold
        inside = regimes.Problem(
            X=problem.X[~out], y=problem.y[~out], folds=problem.folds, max_components=4, seed=0
        )
        predicted = regimes.reference_predictions(inside, problem.X[out])
        errors.append(np.mean((predicted - problem.y[out]) ** 2, axis=1))
    return int(np.argmin(np.mean(errors, axis=0)))


def test_r_is_given_the_problem_and_its_answer_is_read(tmp_path, monkeypatch):
    # A stand-in for Rscript that solves least squares on what it finds in the files.
    script = tmp_path / "Rscript"
    script.write_text(
        f"#!{sys.executable}\n"
        "import sys, numpy as np\n"
        "folder = sys.argv[2]\n"
        "n, p, M = map(int, open(folder + '/shape.txt').read().split())\n"
        "X = np.fromfile(folder + '/X.bin').reshape(p, n).T\n"
        "y = np.fromfile(folder + '/y.bin')\n"
        "assert set(np.fromfile(folder + '/folds.bin')) == set(range(10))\n"
        "full = np.column_stack([np.ones(n), X])\n"
        "np.array([M, 0.125, *np.linalg.lstsq(full, y)[0]]).tofile(folder + '/result.bin')\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    problem = regimes.make_problem(TINY)
    choice = r_contestants.r_pls(problem, 1)
    assert (choice.n_components, choice.seconds) == (4, 0.125)
    full = np.column_stack([np.ones(40), problem.X])
    fitted = full @ np.linalg.lstsq(full, problem.y)[0]
    np.testing.assert_allclose(choice.predict(problem.X), fitted)


def test_a_failing_r_script_is_an_error_with_its_message(tmp_path, monkeypatch):
    script = tmp_path / "Rscript"
    script.write_text("#!/bin/sh\necho 'there is no package' >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(RuntimeError, match="there is no package"):
        r_contestants.r_plsdof(regimes.make_problem(TINY), 1)


@pytest.fixture(scope="module")
def rows():
    keys = ("plsdof", "plsdof-cv", "r-plsdof", "gram")
    lines = []
    found = measure.measure([TINY], [BY_KEY[key] for key in keys], [1], EFFORT, lines.append)
    assert lines == ["tiny, 40 x 30, at most 4 components; 1 thread(s)"]
    return {row.contestant: row for row in found}


def test_measured_rows_hold_times_memory_and_choices(rows):
    ours, validated = rows["plsdof"], rows["plsdof-cv"]
    assert ours.status == validated.status == "ok"
    assert 2 <= len(ours.times) <= 2 * 20
    assert min(ours.seconds, validated.seconds) > 0
    assert ours.memory is None or ours.memory >= 0
    assert (len(ours.draws), len(ours.splits)) == (2, 1)
    assert (len(validated.draws), len(validated.splits)) == (2, 2)
    assert max(one["disagreement"] for one in ours.draws + validated.splits) < 1e-8
    assert all(one["test_error"] >= one["best_error"] * (1 - 1e-9) for one in ours.draws)


def test_the_floor_has_a_time_and_no_choice(rows):
    assert rows["gram"].seconds > 0
    assert not rows["gram"].draws


def test_what_is_not_installed_is_reported(rows):
    if r_contestants.r_version("plsdof") is not None:
        pytest.skip("R's plsdof is installed")
    assert rows["r-plsdof"].status == "not installed"


def test_what_takes_too_long_is_reported(monkeypatch):
    """An answer that is there after a microsecond, on a busy machine, is not looked at."""
    wait = measure.select.select
    late = lambda *given: ([], [], []) if given[-1] == 1e-6 else wait(*given)  # noqa: E731
    monkeypatch.setattr(measure.select, "select", late)
    effort = measure.Effort(limit=1e-6, rounds=1, draws=1)
    (row,) = measure.measure([TINY], [BY_KEY["gram"]], [1], effort, lambda _: None)
    assert row.status == "over the limit of 1e-06 s"
    assert row.seconds is None


def test_what_fails_is_reported_and_the_next_regime_still_runs():
    broken = regimes.Regime(name="broken", n=30, p=20, kind="unheard-of")
    found = measure.measure([broken, TINY], [BY_KEY["gram"]], [1], EFFORT, lambda _: None)
    assert [row.status for row in found] == ["failed: KeyError: 'unheard-of'", "ok"]


def test_what_has_no_time_left_is_reported():
    effort = measure.Effort(deadline=0.0, rounds=1, draws=1)
    (row,) = measure.measure([TINY], [BY_KEY["gram"]], [1], effort, lambda _: None)
    assert row.status == "not run, 0 s were over"


def test_thread_variables_are_set_or_removed(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert set(map(measure.thread_environment(1).get, measure.THREAD_VARIABLES)) == {"1"}
    assert set(map(measure.thread_environment(None).get, measure.THREAD_VARIABLES)) == {None}


def record(key, seconds, regime="tall", status="ok", floor=None, svd=None):
    return {
        "regime": regime,
        "threads": 1,
        "contestant": key,
        "kind": BY_KEY[key].kind,
        "status": status,
        "seconds": seconds,
        "ratio_to_floor": floor,
        "ratio_to_svd": svd,
    }


def test_check_of_peers_names_the_fastest_and_those_that_failed():
    here = [record("plsdof", 1.0), record("plskit", 2.0), record("ikpls", 3.0)]
    assert findings.check_peers(here).holds is True
    assert "plskit 2.00 x" in findings.check_peers(here).details[0]
    here[1] = record("plskit", 0.5)
    assert findings.check_peers(here).holds is False
    here[1] = record("plskit", None, status="failed: boom")
    check = findings.check_peers(here)
    assert check.holds is True
    assert "not compared: plskit: failed: boom" in check.details[0]
    assert findings.check_peers([record("plsdof", 1.0)]).holds is None
    assert findings.check_peers([record("plsdof", None, status="failed: x")]).holds is False


def test_one_slower_regime_is_enough_for_the_check_to_fail():
    here = [record("plsdof", 1.0), record("plskit", 0.5)]
    here += [record("plsdof", 1.0, "wide"), record("plskit", 2.0, "wide")]
    check = findings.check_peers(here)
    assert check.holds is False
    assert str(check).startswith("DOES NOT HOLD")


@pytest.mark.parametrize(("ratio", "holds"), [(1.4, True), (1.6, False), (None, False)])
def test_check_of_the_floor_looks_at_large_problems_only(ratio, holds):
    large, small = regimes.Regime(name="tall", n=500, p=500), TINY
    here = [record(COUNTED, 1.0, floor=ratio, svd=0.5), record(COUNTED, 1.0, "tiny", floor=9.0)]
    check = findings.check_floor(here, [large, small])
    assert check.holds is holds
    assert "0.50 x singular values" in check.details[0]
    assert findings.check_floor(here[1:], [small]).holds is None


@pytest.mark.parametrize(("factor", "holds"), [(2.6, True), (2.4, False)])
def test_check_of_a_factor_has_a_bar(factor, holds):
    here = [record("plsdof", 1.0), record("ikpls", factor)]
    check = findings.check_factor(here, "plsdof", "ikpls", lambda *_: 2.5)
    assert check.holds is holds
    assert findings.check_factor(here[:1], "plsdof", "ikpls", lambda *_: 2.5).holds is None


@pytest.mark.slow  # a race with a process that may answer at once
def test_what_was_over_the_limit_sits_out_larger_regimes():
    larger = regimes.Regime(name="larger", n=80, p=30)
    effort = measure.Effort(limit=1e-6, rounds=1, draws=1)
    rows = measure.measure([larger, TINY], [BY_KEY["gram"]], [1], effort, lambda _: None)
    assert [row.regime for row in rows] == ["tiny", "larger"]
    assert rows[1].status == "not run, over the limit before"


def test_nothing_holds_where_plsdof_was_not_run():
    here = [record("plsdof", 1.0), record("plskit", 2.0)]
    here.append(record("plsdof", None, "wide", status="not run, 40 s were over"))
    assert findings.check_peers(here).holds is None
    here[1] = record("plskit", 0.5)
    assert findings.check_peers(here).holds is False


def test_check_of_agreement_finds_another_model():
    here = [{"contestant": "plsdof", "disagreement": 1e-12}]
    assert findings.check_agreement(here).holds is True
    here.append({"contestant": "ikpls", "disagreement": 1e-3})
    assert findings.check_agreement(here).holds is False
    assert findings.check_agreement([]).holds is None


def test_command_writes_table_numbers_and_plot(tmp_path):
    pytest.importorskip("matplotlib", reason="the plot needs matplotlib")
    command = [sys.executable, str(BENCHMARKS / "peers.py"), "--out", str(tmp_path), "--quick"]
    command += ["--shrink", "20", "--threads", "1", "--regimes", "nir"]
    command += ["--contestants", "plsdof-cv", "r-pls", "--seconds", "800"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "faster than every peer" in done.stdout
    content = json.loads((tmp_path / "peers.json").read_text())
    records = {one["contestant"]: one for one in content["records"]}
    ours = {"plsdof", "plsdof-default", COUNTED, "plsdof-cv", "plsdof-cv10"}
    assert set(records) == ours | {"r-pls", "gram", "svd-values"}
    assert records["plsdof"]["ratio_to_ours"] == 1.0
    assert records["plsdof-cv"]["ratio_to_ours"] > 0
    assert records["plsdof"]["relative_error"] >= 1 - 1e-9
    page = (tmp_path / "peers.md").read_text()
    assert "**nir, 30 x 35, at most 10 components**" in page
    assert (tmp_path / "peers.png").read_bytes().startswith(b"\x89PNG")


SMALL = scale_tasks.Size(rows=2000, columns=20, sparse_rows=300, sparse_columns=50, repeats=1)


def test_file_is_timed_against_the_bare_product_and_deleted(tmp_path):
    found = scale.measure_file(tmp_path, SMALL, 60.0)
    assert not any(tmp_path.iterdir())
    timed = {f"{task}, {state}" for task in ("gram", "mapped") for state in ("cold", "warm")}
    assert set(found) == timed | {"choice, warm", "dask, warm"}
    assert {runs[0]["status"] for runs in found.values()} == {"ok"}
    fast, small, choice = scale.check_file(found)
    assert small.holds is True
    assert len(fast.details) == len(choice.details) == 2
    chosen = [found[f"{task}, warm"][0]["coef_norm"] for task in ("choice", "dask")]
    assert chosen[0] == pytest.approx(chosen[1], rel=1e-8)


def test_bare_product_reads_the_whole_file(tmp_path, monkeypatch):
    monkeypatch.setattr(scale_tasks, "CHUNK_BYTES", 8 * 20 * 300)
    scale_tasks.make_file(tmp_path, SMALL)
    X = np.fromfile(tmp_path / "X.bin").reshape(2000, 20)
    trace = scale_tasks.bare_gram(tmp_path, SMALL)["trace"]
    assert trace == pytest.approx(np.sum(X**2), rel=1e-12)
    y = np.load(tmp_path / "y.npy")
    exact = pls_path(X, y, max_components=5)
    report = scale_tasks.mapped_path(tmp_path, scale_tasks.replace(SMALL, max_components=5))
    np.testing.assert_allclose(report["dof"], exact.dof, rtol=1e-8)


def test_sparse_matrix_has_the_shape_and_values_asked_for():
    X, y = scale_tasks.make_sparse(SMALL)
    assert X.shape == (300, 50)
    assert 0.85 * 3000 < X.nnz <= 3000
    assert np.abs(y).max() > 0


def test_checks_of_the_sparse_run_need_the_dense_answer_and_little_memory():
    answer = {"status": "ok", "peak": 3e9, "dof": [1.0, 50.0]}
    assert [one.holds for one in scale.check_sparse({"sparse": [answer]})] == [True]
    dense = {"status": "ok", "dof": [1.0, 50.0 + 1e-7]}
    found = {"sparse": [answer], "dense": [dense]}
    assert [one.holds for one in scale.check_sparse(found)] == [True, True]
    dense["dof"] = [1.0, 50.0 + 1e-6]
    assert [one.holds for one in scale.check_sparse(found)] == [True, False]
    assert [one.holds for one in scale.check_sparse({"sparse": [answer | {"peak": 5e9}]})] == [
        False
    ]
    failed = {"status": "failed: boom"}
    checks = scale.check_sparse({"sparse": [failed]})
    assert [one.holds for one in checks] == [False]
    assert checks[0].details == ("failed: boom",)


def test_a_task_that_fails_is_reported(tmp_path):
    answer = scale.run_child("mapped", tmp_path, SMALL, 60.0)
    assert answer["status"].startswith("failed: FileNotFoundError")
