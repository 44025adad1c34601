"""The loop over folds: one warning for all, parallel runs, progress."""

import sys
import warnings
from functools import partial

import numpy as np
import pytest
from _helpers.problems import make_problem
from numpy.testing import assert_allclose

from plsdof import pcr_path, pls_path
from plsdof._core.parallel import run_each
from plsdof.errors import (
    ConstantColumnWarning,
    MissingExtraError,
    PlsdofWarning,
    RankExhaustedWarning,
)
from plsdof.selection import cross_validate, make_folds


def test_exhausted_folds_give_one_warning():
    X, y = make_problem(12, 30, seed=0)
    with pytest.warns(RankExhaustedWarning, match="In 4 of 4 folds: 20 components") as record:
        cross_validate(X, y, partial(pcr_path, max_components=20), cv=4)
    assert len(record) == 1
    assert record[0].filename == __file__
    for method in ("pls", "pcr"):  # in one recursion, and one by one
        result = cross_validate(X, y, method, cv=4, max_components=20)
        assert result.message.startswith("12 of 21 models are left out because fold")


def test_constant_columns_of_single_folds_give_one_warning(problem):
    X, y = problem
    X = np.column_stack([X, np.arange(47) == 3, np.arange(47) == 4])
    with pytest.warns(ConstantColumnWarning, match="In 2 of 5 folds: 1 column") as record:
        cross_validate(X, y, partial(pcr_path, max_components=2), cv=5)
    assert len(record) == 1


def test_warnings_turned_into_errors_still_speak_for_all_folds(problem):
    X, y = problem
    X = np.column_stack([X, np.arange(47) == 3, np.arange(47) == 4])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConstantColumnWarning, match="In 2 of 5 folds: 1 column"):
            cross_validate(X, y, partial(pcr_path, max_components=2), cv=5)


def test_there_is_one_warning_of_each_kind():
    X, y = make_problem(12, 30, seed=0)
    X[:, 0] = 1.0
    with pytest.warns(PlsdofWarning) as record:
        cross_validate(X, y, partial(pcr_path, max_components=20), cv=4)
    assert {one.category for one in record} == {ConstantColumnWarning, RankExhaustedWarning}
    assert len(record) == 2
    assert all(str(one.message).startswith("In 4 of 4 folds: ") for one in record)


def test_other_warnings_of_a_callable_are_passed_on_once(problem):
    def fit(X, y):
        warnings.warn("this is slow", UserWarning, stacklevel=2)
        return pls_path(X, y, 1)

    with pytest.warns(UserWarning, match="^this is slow$") as record:
        cross_validate(*problem, fit, 5)
    assert len(record) == 1


@pytest.mark.parametrize(
    "path", ["pls", "pcr", partial(pcr_path, max_components=3), partial(pls_path, solver="svd")]
)
def test_parallel_run_equals_the_plain_loop(problem, path):
    plain = cross_validate(*problem, path, 4, rng=0, repeats=2)
    parallel = cross_validate(*problem, path, 4, rng=0, repeats=2, n_jobs=2)
    assert_allclose(parallel.predictions, plain.predictions, rtol=1e-12)
    assert_allclose(parallel.fold_errors, plain.fold_errors, rtol=1e-12)


def test_parallel_run_hands_warnings_over():
    X, y = make_problem(12, 30, seed=0)
    with pytest.warns(RankExhaustedWarning, match="In 4 of 4 folds") as record:
        cross_validate(X, y, partial(pcr_path, max_components=20), cv=4, n_jobs=2)
    assert len(record) == 1


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
