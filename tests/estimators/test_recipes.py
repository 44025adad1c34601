"""One pool of recipes: against models made by hand, in every fold."""

import numpy as np
import pandas as pd
import pytest
from _helpers.problems import make_problem
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist

from plsdof import PLSRegressor, RecipeRegressor, kernel_pls_path, load_model, pls_path
from plsdof._core.model import Mixture, Model
from plsdof._core.objective import chosen_without, objective
from plsdof.chemometrics import Preprocessor
from plsdof.datasets import load_gasoline, load_ozone
from plsdof.errors import InvalidInputError, NotAvailableError, RecipeWarning
from plsdof.estimators.recipes import as_recipe, recipe_texts
from plsdof.inference import coefficient_inference

X, Y = load_gasoline(return_X_y=True)
TEXTS = ["none", "scale", "snv", "savgol:11:2:1"]


def by_hand(X, y, text):
    """The path of a recipe whose steps treat every row by itself."""
    steps = "none" if text == "scale" else text
    return pls_path(Preprocessor(steps).fit_transform(X), y, scale=text == "scale")


def test_one_model_is_the_best_vertex_of_paths_made_by_hand():
    model = RecipeRegressor(recipes=TEXTS).fit(X, Y)
    paths = [by_hand(X, Y, text) for text in TEXTS]
    pool = [path.select().left_out for path in paths]
    recipe, size = objective(pool).best_vertex()
    assert (model.recipe_, model.n_components_) == (TEXTS[recipe], size)
    rows = Preprocessor("none" if TEXTS[recipe] == "scale" else TEXTS[recipe]).fit_transform(X)
    np.testing.assert_allclose(model.predict(X), paths[recipe].predict(rows)[size])
    assert model.dof_ == pytest.approx(paths[recipe].dof[size], rel=1e-7)
    assert model.dof_kind_ == "exact"
    assert float(model.weights_.to_numpy().sum()) == 1.0


def test_an_average_is_the_best_point_of_paths_made_by_hand():
    model = RecipeRegressor("average", recipes=TEXTS).fit(X, Y)
    paths = [by_hand(X, Y, text) for text in TEXTS]
    pool = [path.select().left_out for path in paths]
    weights = objective(pool).best_point()
    expected, d, w = 0.0, [], []
    for text, path, own in zip(TEXTS, paths, weights, strict=True):
        rows = X if text == "scale" else Preprocessor(text).fit_transform(X)
        expected = expected + own @ path.predict(rows)[: len(own)]
        d += [path.dof[m] for m in np.flatnonzero(own)]
        w += [own[m] for m in np.flatnonzero(own)]
        np.testing.assert_allclose(model.weights_.loc[text][: len(own)], own, atol=1e-12)
    np.testing.assert_allclose(model.predict(X), expected)
    order = np.argsort(d)
    d, w = np.array(d)[order], np.array(w)[order]
    assert model.dof_ == pytest.approx(w @ d + np.cumsum(w)[:-1].sum(), rel=1e-7)
    made = chosen_without(pool, average=True)
    assert model.model_.rmse == pytest.approx(np.sqrt(np.mean(made.residuals**2)))
    h = sum(
        own[m]
        * path[m].predictor.leverage(X if text == "scale" else Preprocessor(text).fit_transform(X))
        for text, path, own in zip(TEXTS, paths, weights, strict=True)
        for m in np.flatnonzero(own)
    )
    np.testing.assert_allclose(model.model_.predictor.leverage(X), h, rtol=1e-9)
    # The same with what held-out rows say, and one for the choice.
    d = [
        max(left.dof[m], 1.0)
        for own, left in zip(weights, pool, strict=True)
        for m in np.flatnonzero(own)
    ]
    w = np.concatenate([own[own > 0] for own in weights])[np.argsort(d)]
    spent = w @ np.sort(d) + np.cumsum(w)[:-1].sum() + 1
    assert model.model_.spent == pytest.approx(spent)
    with pytest.raises(NotAvailableError):
        coefficient_inference(model)


def test_steps_that_learn_from_rows_are_made_again_in_every_fold():
    model = RecipeRegressor(recipes=["msc", "adaptive"], max_components=3).fit(X[:, ::20], Y)
    for text, left in zip(["msc", "adaptive"], model.selection_.pool, strict=True):
        for fold in range(10):
            train, test = left.fold != fold, left.fold == fold
            chain = Preprocessor(text).fit(X[train][:, ::20], Y[train])
            part = pls_path(chain.transform(X[train][:, ::20]), Y[train], 3, scale=False)
            predicted = part.predict(chain.transform(X[test][:, ::20]))
            np.testing.assert_allclose(Y[test] - left.residuals[:, test], predicted, rtol=1e-7)


@pytest.mark.filterwarnings("ignore::plsdof.errors.PlsdofWarning")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(20, 6), (90, 12), (40, 70)])
def test_weights_of_columns_are_learned_in_every_fold_of_one_recursion(shape, weighted):
    table, y = make_problem(*shape, seed=3, noise=1.0)
    table = table * 10.0 ** np.arange(shape[1])[::-1].clip(max=6) + 50.0
    table[:, 2], table[1:, 4] = 7.0, 1.0  # constant, and constant without one row
    weights = np.arange(shape[0]) % 3 + 1.0 if weighted else None
    recipe = as_recipe("adaptive", {"max_components": 5})
    left = recipe.fit(table, y, weights).left_out()
    for fold in range(int(left.fold.max()) + 1):
        out = left.fold == fold
        own = recipe.fit(table[~out], y[~out], None if weights is None else weights[~out])
        found = own.at(table[out], 5)
        k = len(found.values)
        assert k >= 4
        expected = y[out] - found.values
        assert_allclose(left.residuals[:k, out], expected, rtol=1e-6, atol=1e-7 * np.std(y))
        assert_allclose(left.leverage[:k, out], found.leverage, rtol=1e-5)


def test_degrees_of_freedom_are_left_out_ones_where_a_recipe_looks_at_y():
    X, y = load_ozone(return_X_y=True)
    model = RecipeRegressor(recipes=["adaptive"]).fit(X, y)
    assert model.dof_kind_ == "left-out"
    left = model.model_.left_out
    assert model.dof_ == pytest.approx(max(left.dof[model.n_components_], 1.0))


def test_left_out_degrees_of_freedom_of_weighted_rows_are_those_of_repeated_ones():
    X, y = (one[:60] for one in load_ozone(return_X_y=True))
    weights = np.random.default_rng(0).integers(0, 4, 60)
    rows = np.repeat(np.arange(60), weights)
    weighted = RecipeRegressor(recipes=["adaptive"]).fit(X, y, weights, groups=np.arange(60))
    repeated = RecipeRegressor(recipes=["adaptive"]).fit(X[rows], y[rows], groups=rows)
    assert weighted.dof_ == pytest.approx(repeated.dof_, rel=1e-9)


@pytest.mark.parametrize("choice", ["left-out", "average"])
def test_coefficients_where_every_recipe_is_linear(choice):
    model = RecipeRegressor(choice, recipes=["none", "savgol:11:2:1,scale", "detrend"]).fit(X, Y)
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.predict(X), rtol=1e-9)
    curved = RecipeRegressor(choice, recipes=["snv"]).fit(X, Y)
    assert not hasattr(curved, "coef_")


KERNELS = ["snv,kernel", "savgol:11:2:1,kernel", "scale,laplacian"]


@pytest.mark.parametrize("text", KERNELS)
def test_a_kernel_after_a_preparation_is_kernel_pls_of_prepared_rows(text, tmp_path):
    model = RecipeRegressor(recipes=[text]).fit(X[:45], Y[:45])
    scale = text.startswith("scale")
    chain = Preprocessor("none" if scale else text.removesuffix(",kernel"))
    rows = chain.fit_transform(X)
    spread = rows[:45].std(axis=0, ddof=1) if scale else 1.0
    kernel, metric = ("laplacian", "cityblock") if scale else ("rbf", "sqeuclidean")
    distances = np.sort(pdist(rows[:45] / spread, metric))
    gamma = 1 / (8 * distances[(len(distances) - 1) // 2])
    path = kernel_pls_path(rows[:45], Y[:45], kernel=kernel, gamma=gamma, scale=scale)
    m = model.n_components_
    np.testing.assert_allclose(model.predict(X[45:]), path.predict(rows[45:])[m], rtol=1e-6)
    left, own = model.selection_.left_out, path.left_out()
    np.testing.assert_allclose(left.residuals[m], own.residuals[m], rtol=1e-5, atol=1e-6)
    with pytest.raises(AttributeError, match="linear"):
        _ = model.coef_
    with pytest.raises(NotAvailableError):
        model.conf_int()
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    limits = model.predict_interval(X[45:])
    np.testing.assert_allclose(again.predict_interval(X[45:]), limits, rtol=1e-9)


@pytest.mark.parametrize("kind", ["spectra+kernel", "table+kernel"])
def test_kernels_take_part_in_averages_and_their_files(kind, tmp_path):
    rows, y = X[:, ::8], (Y - 87.0) ** 2
    model = RecipeRegressor("average", recipes=kind).fit(rows[:40], y[:40])
    kernels = [
        name
        for name, w in model.selection_.weights.items()
        if name.endswith(("kernel", "laplacian")) and w.any()
    ]
    assert kernels
    assert not hasattr(model, "coef_")
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    np.testing.assert_allclose(again.predict(rows[40:]), model.predict(rows[40:]), rtol=1e-10)
    limits = model.predict_interval(rows[40:])
    np.testing.assert_allclose(again.predict_interval(rows[40:]), limits, rtol=1e-9)
    assert model.dof_ > 1
    single = RecipeRegressor(recipes="spectra+kernel").fit(rows, Y)
    assert len(single.selection_.pool) == 5


def test_columns_decide_if_nobody_does():
    named = pd.DataFrame(X[:, ::20], columns=[str(900 + 2 * i) for i in range(0, 401, 20)])
    for frame, kind in (
        (named, "spectra"),
        (named.add_prefix("V"), "table"),
        (named.set_axis([str(i + 1) for i in range(21)], axis=1), "table"),
        (X[:, ::20], "table"),
    ):
        model = RecipeRegressor().fit(frame, Y)
        assert model.recipes_ == kind
        asked = RecipeRegressor(recipes=kind).fit(frame, Y)
        np.testing.assert_array_equal(asked.predict(frame), model.predict(frame))
        assert model.remarks_[0].key == "recipes-by-columns"
        assert "recipes-by-columns" not in [one.key for one in asked.remarks_]


@pytest.mark.parametrize("choice", ["left-out", "average"])
def test_it_is_kept_in_files(choice, tmp_path):
    model = RecipeRegressor(choice, recipes=TEXTS).fit(X[:45], Y[:45])
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    np.testing.assert_allclose(again.predict(X[45:]), model.predict(X[45:]), rtol=1e-10)
    expected = model.predict_interval(X[45:])
    np.testing.assert_allclose(again.predict_interval(X[45:]), expected, rtol=1e-9)
    assert again.dof_ == pytest.approx(model.dof_)


def test_scale_auto_is_the_pool_of_both():
    auto = PLSRegressor(scale="auto").fit(X, Y)
    pool = RecipeRegressor(recipes=["none", "scale"]).fit(X, Y)
    np.testing.assert_array_equal(auto.predict(X), pool.predict(X))
    assert auto.selection_.recipe_name in ("as measured", "scaled")


def test_groups_are_left_out_together_in_every_recipe():
    groups = np.arange(60) // 3
    model = RecipeRegressor("average", recipes=TEXTS).fit(X, Y, groups=groups)
    for left in model.selection_.pool:
        assert left.groups == 20
        assert all(len(set(left.fold[groups == g])) == 1 for g in range(20))


def test_remarks_name_recipes_that_are_as_good():
    model = RecipeRegressor(recipes=TEXTS).fit(X, Y)
    assert model.selection_.remark("as-good-recipes") is not None
    one = RecipeRegressor(recipes=["none"]).fit(X, Y)
    assert one.selection_.remark("as-good-recipes") is None


def test_presets_fit_the_number_of_columns():
    five = ["none", "scale", "snv", "savgol:7:2:1", "savgol:7:2:2"]
    assert recipe_texts("spectra", 8, average=True) == (five, [[0, 1, 2, 3, 4]])
    assert recipe_texts("spectra", 2)[0] == ["none", "scale"]
    texts, pools = recipe_texts("spectra", 90, average=True)
    assert texts[5:7] + texts[-1:] == ["columns:0:20", "columns:10:30", "snv,columns:70:90"]
    assert pools == [[0, 1, 2, 3, 4], [*range(13)], [*range(5), *range(13, 21)]]
    for wrong in ("spectrum", [], "snv", 3):
        with pytest.raises(InvalidInputError):
            recipe_texts(wrong, 8)
    with pytest.raises(InvalidInputError):
        RecipeRegressor(recipes=["snow"]).fit(X, Y)
    with pytest.raises(InvalidInputError):
        RecipeRegressor(recipes=[3]).fit(X, Y)


def test_a_preset_leaves_out_a_recipe_that_is_not_defined():
    flat = X.copy()
    flat[3] = 1.0
    with pytest.warns(RecipeWarning):
        model = RecipeRegressor(recipes="spectra").fit(flat, Y)
    assert len(model.selection_.pool) == 4
    with pytest.raises(InvalidInputError):
        RecipeRegressor(recipes=["snv"]).fit(flat, Y)


def test_a_fixed_number_takes_the_best_recipe():
    model = RecipeRegressor(3, recipes=TEXTS).fit(X, Y)
    errors = [by_hand(X, Y, text).left_out().press[3] for text in TEXTS]
    assert model.recipe_ == TEXTS[int(np.argmin(errors))]
    assert model.n_components_ == 3


def test_an_average_of_one_recipe_is_an_ordinary_one():
    X, y = make_problem(40, 6, seed=1, noise=1.0)
    model = RecipeRegressor("average", recipes=["scale"]).fit(X, y)
    assert not isinstance(model.model_, Mixture)
    np.testing.assert_allclose(model.predict(X), PLSRegressor("average").fit(X, y).predict(X))


@pytest.mark.parametrize("choice", ["left-out", "average", 2])
def test_one_recipe_is_a_pool_of_one(choice):
    model = RecipeRegressor(choice, recipes=["snv"]).fit(X, Y)
    assert model.recipe_ == "snv"
    assert list(model.weights_.index) == ["snv"]
    expected = PLSRegressor(choice, scale=False).fit(Preprocessor("snv").fit_transform(X), Y)
    np.testing.assert_allclose(
        model.predict(X), expected.predict(Preprocessor("snv").fit_transform(X)), rtol=1e-8
    )


def test_an_average_over_spectra_is_the_mean_of_nested_averages(tmp_path):
    model = RecipeRegressor("average", recipes="spectra").fit(X[:45], Y[:45])
    selection, mixture = model.selection_, model.model_
    pool = selection.pool
    texts, pools = recipe_texts("spectra", X.shape[1], average=True)
    assert selection.recipes == tuple(texts)
    assert selection.pools == tuple(map(tuple, pools))
    weights, dof = dict.fromkeys(texts, 0.0), []
    for members in pools:
        best = objective([pool[r] for r in members]).best_point()
        d = [mixture.selection.pool[r].dof for r in members]
        found = []
        for r, own in zip(members, best, strict=True):
            weights[texts[r]] = weights[texts[r]] + own / 3
            found += [(max(pool[r].dof[m], 1.0), own[m]) for m in np.flatnonzero(own)]
        d, w = np.array(sorted(found)).T
        dof.append(w @ d + np.cumsum(w)[:-1].sum())
    for text in texts:
        np.testing.assert_allclose(selection.weights[text], weights[text], atol=1e-7)
    assert mixture.spent == pytest.approx(np.mean(dof) + 1, rel=1e-5)
    # A window is Partial Least Squares of its columns.
    expected = 0.0
    for one, share in zip(mixture.members, mixture.shares, strict=True):
        chain = one.path.rows.before
        rows = X if chain is None else chain.transform(X)
        scale = one.path.recipe.scale
        path = pls_path(rows[:45], Y[:45], len(one.weights), scale=scale)
        expected = expected + share * (one.weights @ path.predict(rows[45:])[: len(one.weights)])
    np.testing.assert_allclose(model.predict(X[45:]), expected, rtol=1e-9)
    assert any("columns" in name for name, w in selection.weights.items() if w.any())
    assert "columns" not in model.recipe_
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    np.testing.assert_allclose(again.predict(X[45:]), model.predict(X[45:]), rtol=1e-10)
    limits = model.predict_interval(X[45:])
    np.testing.assert_allclose(again.predict_interval(X[45:]), limits, rtol=1e-9)


def test_windows_have_coefficients_of_all_columns():
    texts = ["none", "columns:100:250"]
    model = RecipeRegressor("average", recipes=texts).fit(X, Y)
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.predict(X), rtol=1e-9)
    one = RecipeRegressor(recipes=["columns:100:250"]).fit(X, Y)
    assert np.flatnonzero(one.coef_).tolist() == list(range(100, 250))
    with pytest.raises(InvalidInputError):
        RecipeRegressor(recipes=["columns:100:450"]).fit(X, Y)


def test_a_row_that_no_model_predicts_is_named():
    X, y = make_problem(60, 5, seed=3, noise=0.5)
    y = y.copy()
    y[7] += 20.0
    assert PLSRegressor("average").fit(X, y).selection_.remark("capped").rows == (7,)
    found = PLSRegressor().fit(X, y).selection_
    assert found.remark("capped").rows == (7,)
    without = PLSRegressor().fit(np.delete(X, 7, 0), np.delete(y, 7)).selection_
    assert without.remark("capped") is None


def test_a_weight_on_a_model_that_cannot_be_counted_goes_to_the_largest_that_can():
    path = pls_path(X, Y, 4)
    average = path.average()
    beyond = Model(path=path, index=6, weights=np.eye(7)[6], selection=average.selection)
    np.testing.assert_allclose(beyond.exact.coef[0], path.coef[4])


@pytest.mark.parametrize("recipes", [["snv", "none"], ["snv", "scale", "none"]])
def test_rows_that_change_after_a_fit_do_not_change_the_average(recipes):
    mine = X.copy()
    model = RecipeRegressor("average", recipes=recipes).fit(mine, Y)
    mine[:] = np.random.default_rng(0).normal(size=X.shape)
    other = RecipeRegressor("average", recipes=recipes).fit(X, Y)
    assert len(other.model_.members) > 1
    assert_allclose(model.predict(X), other.predict(X), rtol=1e-12)
    assert_allclose(model.dof_, other.dof_, rtol=1e-12)


def test_rows_that_change_after_a_fit_do_not_change_both_scalings():
    table, y = load_ozone(return_X_y=True)
    mine = table.copy()
    model = PLSRegressor("average", scale="auto").fit(mine, y)
    mine[:] = 0.0
    other = PLSRegressor("average", scale="auto").fit(table, y)
    assert_allclose(model.predict(table), other.predict(table), rtol=1e-12)


@pytest.mark.parametrize("recipes", [["none", "scale", "snv"], ["none", "scale", "snv,kernel"]])
def test_intervals_allow_for_the_empty_model_of_a_recipe(recipes, tmp_path):
    y = 0.5 * (Y - Y.mean()) / Y.std() + np.random.default_rng(6).normal(size=len(Y))
    model = RecipeRegressor("average", recipes=recipes).fit(X[:50], y[:50])
    average = model.model_
    weights = average.selection.weights
    assert [name for name, w in weights.items() if w[0] and not w[1:].any()]
    values, shares = [], []
    for one, share in zip(average.members, average.shares, strict=True):
        kept = np.flatnonzero(one.weights)
        values += [one.path[int(m)].predict(X[50:]) for m in kept]
        shares += (share * one.weights[kept]).tolist()
    apart = shares @ (np.array(values) - model.predict(X[50:])) ** 2
    h = average.predictor.leverage(X[50:]) / average.left_out.fitted_share
    expected = average.half_width() * np.sqrt(1 + 4 * h + 4 * apart / average.rmse**2)
    lower, upper = model.predict_interval(X[50:]).T
    assert_allclose(upper - lower, 2 * expected, rtol=1e-8)
    model.save(tmp_path / "model.json")
    kept = load_model(tmp_path / "model.json").predict_interval(X[50:])
    assert_allclose(kept[:, 1] - kept[:, 0], 2 * expected, rtol=1e-8)
