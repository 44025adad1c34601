"""Methods and ways to choose compared in random splits of the rows."""

import numpy as np
import pytest
from _helpers.latent import latent_data

from plsdof import cross_validate, pls_path, ridge_path
from plsdof._core.fit import METHODS
from plsdof.complexity import CONTESTANTS, Contestant, compare_splits, splits
from plsdof.errors import InvalidInputError, PlsdofWarning
from plsdof.paper import krylov, lanczos
from plsdof.selection import criteria

X, Y = latent_data(40, 8, 0, noise=1.0)


def parts(seed, n_splits):
    """Training and test rows as they are documented: the first of a permutation are tested."""
    rng = np.random.default_rng(seed)
    for _ in range(n_splits):
        test = np.sort(rng.permutation(40)[:8])
        yield np.setdiff1d(np.arange(40), test), test


def test_errors_are_those_of_the_rows_left_out():
    found = compare_splits(X, Y, ["pls", "pls-average", "ridge-cv"], n_splits=3, random_state=5)
    for split, (train, test) in enumerate(parts(5, 3)):
        path, average = pls_path(X[train], Y[train]), pls_path(X[train], Y[train]).average()
        ridge = ridge_path(X[train], Y[train])
        m = path.select().index
        k = cross_validate(X[train], Y[train], "ridge", random_state=0).select().index
        fits = (path.predict(X[test])[m], average.predict(X[test]), ridge.predict(X[test])[k])
        errors = [np.mean((Y[test] - fit) ** 2) for fit in (*fits, Y[train].mean())]
        np.testing.assert_allclose(found.error[split], errors[:3])
        assert found.null_error[split] == pytest.approx(errors[3])
        np.testing.assert_allclose(found.dof[split], [path.dof[m], average.dof, ridge.dof[k]])
        assert found.n_components[split, 0] == m
    assert np.isnan(found.n_components[:, 2]).all()
    assert (found.n_rows, found.n_test.tolist()) == (40, [8, 8, 8])


def test_the_contestants_of_the_paper_choose_as_its_algorithms_do():
    found = compare_splits(
        X, Y, ["pls-bic", "pls-bic-krylov", "pls-bic-naive"], n_splits=3, max_components=5
    )
    for split, (train, _) in enumerate(parts(0, 3)):
        by_lanczos = lanczos(X[train], Y[train], 5)
        by_krylov = krylov(X[train], Y[train], 5)
        naive = np.arange(1.0, 7.0)
        noises = (
            by_lanczos.noise_variance,
            by_krylov.noise_variance,
            by_krylov.rss / (len(train) - naive),
        )
        for k, (dof, noise) in enumerate(
            zip((by_lanczos.dof, by_krylov.dof, naive), noises, strict=True)
        ):
            scores = criteria.bic(by_krylov.rss, dof, len(train), noise)
            m = criteria.first_minimum(scores)
            assert found.n_components[split, k] == m
            assert found.dof[split, k] == pytest.approx(by_lanczos.dof[m])
            assert found.noise_level[split, k] == pytest.approx(np.sqrt(noise[m]))


def test_every_method_takes_part_by_its_default_choice_and_by_folds():
    for name in METHODS:
        assert {name, f"{name}-cv"} <= set(CONTESTANTS)
    assert {one.method for one in CONTESTANTS.values()} == set(METHODS)
    found = compare_splits(X, Y, n_splits=2)
    assert found.names == tuple(CONTESTANTS)
    frame = found.to_frame()
    assert frame.shape == (len(CONTESTANTS), 11)
    np.testing.assert_allclose(frame["rmse"], np.sqrt(found.error).mean(axis=0))
    np.testing.assert_allclose(frame["dof_std"], found.dof.std(axis=0, ddof=1))
    np.testing.assert_allclose(
        frame["normalized_error"], np.mean(found.error / found.null_error[:, None], axis=0)
    )
    assert frame["n_components"].isna().tolist() == [
        CONTESTANTS[name].method == "ridge" for name in found.names
    ]
    assert f"{frame['rmse'][0]:.4g}" in found._repr_html_()


def test_any_way_to_choose_can_take_part():
    aicc = Contestant(name="aicc", method="pls", options={"criterion": "aicc"})
    found = compare_splits(X, Y, [aicc], n_splits=1)
    ((train, _),) = parts(0, 1)
    assert found.n_components[0, 0] == pls_path(X[train], Y[train]).select("aicc").index


def test_groups_stay_together_and_results_do_not_depend_on_processes():
    groups = np.repeat(np.arange(10), 4)
    one = compare_splits(X, Y, ["pls-cv"], n_splits=3, groups=groups)
    two = compare_splits(X, Y, ["pls-cv"], n_splits=3, groups=groups.astype(str), n_jobs=2)
    np.testing.assert_allclose(one.error, two.error, rtol=1e-12)
    assert one.n_test.tolist() == [8, 8, 8]
    rng = np.random.default_rng(0)
    test = np.flatnonzero(np.isin(groups, rng.permutation(10)[:2]))
    train = np.setdiff1d(np.arange(40), test)
    assert one.null_error[0] == pytest.approx(np.mean((Y[test] - Y[train].mean()) ** 2))


def interrupted(monkeypatch, after):
    """Let Ctrl-C come in place of a split."""
    judged, calls = splits._judged, []

    def work(*arguments, **options):
        calls.append(1)
        if len(calls) > after:
            raise KeyboardInterrupt
        return judged(*arguments, **options)

    monkeypatch.setattr(splits, "_judged", work)


def test_interrupted_it_returns_what_is_done(monkeypatch):
    whole = compare_splits(X, Y, ["pls", "pcr"], n_splits=4)
    with monkeypatch.context() as patched:
        interrupted(patched, after=2)
        with pytest.warns(PlsdofWarning, match="2 of 4"):
            found = compare_splits(X, Y, ["pls", "pcr"], n_splits=4)
    np.testing.assert_array_equal(found.error, whole.error[:2])
    assert len(found.n_test) == 2
    interrupted(monkeypatch, after=0)
    with pytest.raises(KeyboardInterrupt):
        compare_splits(X, Y, ["pls", "pcr"], n_splits=4)


@pytest.mark.parametrize(
    "options",
    [
        {"contestants": ["lasso"]},
        {"contestants": [3]},
        {"contestants": []},
        {"test_size": 0.01},
        {"test_size": 0.99},
        {"test_size": 2},
        {"n_splits": 0},
        {"n_jobs": 0},
        {"groups": np.zeros(3)},
        {"groups": np.repeat([0, 1], 20)},
    ],
    ids=str,
)
def test_unusable_options_are_refused(options):
    with pytest.raises(InvalidInputError):
        compare_splits(X, Y, **options)
