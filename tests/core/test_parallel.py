"""The loop over folds: parallel runs, progress."""

import sys

import numpy as np
import pytest
from _helpers.problems import make_problem
from numpy.testing import assert_allclose

from plsdof._core.parallel import run_each
from plsdof.errors import (
    MissingExtraError,
)
from plsdof.selection import cross_validate, make_folds


def test_models_that_some_folds_do_not_have_are_left_out():
    X, y = make_problem(12, 30, seed=0)
    for method in ("pls", "pcr"):  # in one recursion, and one by one
        result = cross_validate(X, y, method, cv=4, max_components=20)
        assert result.message.startswith("12 of 21 models are left out because fold")


@pytest.mark.parametrize("path", ["pls", "pcr"])
def test_parallel_run_equals_the_plain_loop(problem, path):
    plain = cross_validate(*problem, path, 4, rng=0, repeats=2)
    parallel = cross_validate(*problem, path, 4, rng=0, repeats=2, n_jobs=2)
    assert_allclose(parallel.predictions, plain.predictions, rtol=1e-12)
    assert_allclose(parallel.fold_errors, plain.fold_errors, rtol=1e-12)


def threads_of_worker(_fold):
    from threadpoolctl import threadpool_info

    np.ones((3, 3)) @ np.ones((3, 3))
    return [pool["num_threads"] for pool in threadpool_info()]


def test_workers_use_one_thread_each_whatever_the_environment_says(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    folds = make_folds(np.zeros((6, 1)), np.zeros(6), 3)
    found = run_each(threads_of_worker, folds, n_jobs=2)
    assert all(pools and set(pools) == {1} for pools in found)


def test_results_keep_the_order_of_the_folds():
    folds = make_folds(np.zeros((9, 1)), np.zeros(9), 9)
    assert run_each(lambda fold: int(fold.test[0]), folds) == list(range(9))


def test_progress_bar_goes_to_stderr_only(capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert run_each(abs, [-1, 2], progress=True, description="Work") == [1, 2]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Work" in captured.err


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with pytest.raises(MissingExtraError, match=r"plsdof\[cli\]"):
        run_each(abs, [-1, 2], progress=True)
