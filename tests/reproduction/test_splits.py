"""Methods and ways to choose compared in random splits of the rows."""

import numpy as np
import pytest
from _helpers.latent import latent_data
from sklearn.model_selection import GroupShuffleSplit

from plsdof import cross_validate, pls_path, ridge_path
from plsdof._core.choice import first_minimum
from plsdof._core.criteria import Fits, bic
from plsdof._core.fit import METHODS
from plsdof.errors import InvalidInputError
from plsdof.paper import krylov, lanczos
from reproduction.splits import CONTESTANTS, compare_splits

X, Y = latent_data(40, 8, 0, noise=1.0)


def parts(seed, n_splits):
    """Training and test rows as they are documented."""
    return splitter(seed, n_splits).split(X, groups=np.arange(40))


def splitter(seed, n_splits):
    seed = int(np.random.default_rng(seed).integers(2**32))
    return GroupShuffleSplit(n_splits, test_size=0.2, random_state=seed)


def test_errors_are_those_of_the_rows_left_out():
    found = compare_splits(X, Y, ["pls", "pls-average", "ridge-cv"], n_splits=3, rng=5)
    for split, (train, test) in enumerate(parts(5, 3)):
        path, average = pls_path(X[train], Y[train]), pls_path(X[train], Y[train]).average()
        ridge = ridge_path(X[train], Y[train])
        m = path.select().index
        k = cross_validate(X[train], Y[train], "ridge", rng=0).select().index
        fits = (path.predict(X[test])[m], average.predict(X[test]), ridge.predict(X[test])[k])
        errors = np.array([np.mean((Y[test] - fit) ** 2) for fit in fits])
        null = np.mean((Y[test] - Y[train].mean()) ** 2)
        row = {name: values[split] for name, values in found.values.items()}
        np.testing.assert_allclose(row["rmse"], np.sqrt(errors))
        np.testing.assert_allclose(row["normalized_error"], errors / null)
        np.testing.assert_allclose(row["dof"], [path.dof[m], average.dof, ridge.dof[k]])
        np.testing.assert_allclose(row["n_components"], [m, average.n_components, np.nan])
    assert (found.n_splits, found.n_train, found.n_test) == (3, 32, 8)


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
            scores = bic(Fits(rss=by_krylov.rss, dof=dof, n=len(train), noise=noise, total=0.0))
            m = first_minimum(scores)
            values = {name: one[split, k] for name, one in found.values.items()}
            assert values["n_components"] == m
            assert values["dof"] == pytest.approx(by_lanczos.dof[m])
            assert values["noise_level"] == pytest.approx(np.sqrt(noise[m]))


def test_every_method_takes_part_by_its_default_choice_and_by_folds():
    for name in METHODS:
        assert {name, f"{name}-cv"} <= set(CONTESTANTS)
    found = compare_splits(X, Y, n_splits=2)
    assert found.names == CONTESTANTS
    frame = found.to_frame()
    assert frame.shape == (len(CONTESTANTS), 11)
    np.testing.assert_allclose(frame["rmse"], found.values["rmse"].mean(axis=0))
    np.testing.assert_allclose(frame["dof_std"], found.values["dof"].std(axis=0, ddof=1))
    assert frame["n_components"].isna().tolist() == [
        name.startswith("ridge") for name in found.names
    ]


def test_any_way_to_choose_can_take_part():
    found = compare_splits(X, Y, ["pls-aicc", "ridge-gcv"], n_splits=1)
    ((train, _),) = parts(0, 1)
    path, ridge = pls_path(X[train], Y[train]), ridge_path(X[train], Y[train])
    assert found.values["n_components"][0, 0] == path.select("aicc").index
    assert found.values["dof"][0, 1] == pytest.approx(ridge.dof[ridge.select("gcv").index])


def test_groups_stay_together_and_results_do_not_depend_on_processes():
    groups = np.repeat(np.arange(10), 4)
    one = compare_splits(X, Y, ["pls-cv"], n_splits=3, groups=groups)
    two = compare_splits(X, Y, ["pls-cv"], n_splits=3, groups=groups.astype(str), n_jobs=2)
    np.testing.assert_allclose(one.values["rmse"], two.values["rmse"], rtol=1e-12)
    ((train, test),) = splitter(0, 1).split(X, groups=groups)
    path = pls_path(X[train], Y[train])
    m = cross_validate(X[train], Y[train], groups=groups[train], rng=0).select().index
    error = np.mean((Y[test] - path.predict(X[test])[m]) ** 2)
    assert one.values["rmse"][0, 0] == pytest.approx(np.sqrt(error))


@pytest.mark.parametrize(
    "options",
    [
        {"contestants": ["lasso"]},
        {"contestants": [3]},
        {"contestants": []},
        {"test_size": 0.999},
        {"test_size": 2.0},
        {"n_splits": 0},
        {"n_jobs": 0},
        {"groups": np.zeros(3)},
        {"groups": np.zeros(40)},
    ],
    ids=str,
)
def test_unusable_options_are_refused(options):
    with pytest.raises(InvalidInputError):
        compare_splits(X, Y, **options)
