"""Choice by cross-validation and by criteria, averages, remarks, widths of intervals."""

import dataclasses

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from _helpers.problems import make_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from plsdof import kernel_pls_path, pcr_path, pls_path, ridge_path
from plsdof._core import choice
from plsdof._core.choice import choose
from plsdof._core.left_out import LeftOut
from plsdof._core.objective import LOSSES, Objective, chosen_without, huber, objective
from plsdof.errors import InvalidInputError, NotAvailableError


def lower_median(E):
    return np.sort(np.abs(E), axis=1)[:, (E.shape[1] - 1) // 2]


def made(E, rss=None, fold=None, **other):
    """A held-out matrix of given residuals (K, n)."""
    E = np.asarray(E, dtype=float)
    K, n = E.shape
    common = {
        "parameters": np.arange(K, dtype=float),
        "parameter_name": "n_components",
        "order": np.arange(K),
        "residuals": E,
        "rss": 0.8 * np.sum(E**2, axis=1) if rss is None else np.asarray(rss, dtype=float),
        "fold": np.arange(n) if fold is None else np.asarray(fold),
        "y": np.random.default_rng(0).normal(size=n),
        "leverage": np.zeros((K, n)),
        "exhausted": np.zeros((K, 1), dtype=bool),
        "rounding": np.zeros(K),
    }
    return LeftOut(**{**common, **other})


def random_left_out(K, n, seed, **other):
    """Residuals of models that have much in common, with errors that fall and rise again."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    size = 1.0 + (np.linspace(-1, 1, K) + 0.2 * rng.normal(size=K)) ** 2
    E = size[:, None] * common + rng.uniform(0.2, 1.5) * rng.normal(size=(K, n))
    return made(E, **other)


def judged(w, E, price, scale=np.inf):
    """The objective of the module, by its definition."""
    e = np.abs(w @ E)
    loss = e**2 if np.isinf(scale) else np.where(e <= scale, e**2, 2 * scale * e - scale**2)
    return np.sum(loss) + price @ w


# The objective, its best vertex and its best point
# -------------------------------------------------


def test_the_objective_is_that_of_the_theory():
    left = random_left_out(6, 40, 1)
    found = objective([left])
    press = np.sum(left.residuals**2, axis=1)
    d = np.maximum.accumulate(np.clip(40 * (1 - np.sqrt(left.rss / press)), 1, 40))
    s2 = press.min() / 40
    np.testing.assert_allclose(found.losses, press)
    np.testing.assert_allclose(found.price, 2 * 0.1 * s2 * d)
    assert found.best_vertex()[1] == np.argmin(press + 2 * 0.1 * s2 * d)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(10))
def test_the_best_vertex_is_the_best_of_all_single_models(seed, loss):
    left = random_left_out(7, 30, seed)
    found = objective([left], loss)
    values = [judged(np.eye(7)[m], left.residuals, found.price, found.scale) for m in range(7)]
    assert found.best_vertex()[1] == np.argmin(values)


@pytest.mark.parametrize("seed", range(10))
def test_the_best_point_of_three_models_beats_a_fine_grid(seed):
    left = random_left_out(3, 25, seed)
    found = objective([left])
    E, price = left.residuals, found.price
    (w,) = found.best_point()
    assert np.all(w >= 0)
    assert w.sum() == pytest.approx(1.0)
    a, b = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, 1, 201))
    grid = np.stack([a, b, 1 - a - b], axis=-1)[a + b <= 1]
    values = np.sum((grid @ E) ** 2, axis=1) + grid @ price
    assert judged(w, E, price) <= values.min() * (1 + 1e-12)
    assert np.abs(w - grid[np.argmin(values)]).max() < 0.2


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(8))
def test_the_best_point_of_six_models_is_that_of_a_general_solver(seed, loss):
    left = random_left_out(6, 40, seed)
    left.residuals[:, :3] *= 8.0  # outlying rows
    left = made(left.residuals)
    found = objective([left], loss)
    part = found.eligible
    E, price = found.residuals[part], found.price[part]
    K = len(E)
    solved = scipy.optimize.minimize(
        lambda w: judged(w, E, price, found.scale),
        np.full(K, 1 / K),
        bounds=[(0, 1)] * K,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    (w,) = found.best_point()
    assert np.all(w[~part] == 0)
    # Reweighting comes close to the minimum of Huber's loss, not to all digits.
    close = 1e-9 if loss == "squared" else 2e-3
    assert judged(w[part], E, price, found.scale) <= solved.fun * (1 + close)


def test_models_far_beyond_the_best_one_have_no_weight():
    rng = np.random.default_rng(0)
    size = np.array([3.0, 2.0, 1.0, 1.05, 1.1, 1.15, 1.2])
    left = made(size[:, None] * rng.normal(size=(7, 60)))
    weights = objective([left]).best_point()[0]
    best = int(np.argmin(left.press))
    assert np.all(weights[best + 3 :] == 0)


def test_an_average_is_not_worse_than_the_best_model():
    for seed in range(20):
        left = random_left_out(6, 30, seed)
        found = objective([left])
        best = (found.losses + found.price)[found.best_vertex()[1]]
        assert judged(found.best_point()[0], found.residuals, found.price) <= best * (1 + 1e-12)


@settings(max_examples=60, deadline=None)
@given(
    e=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
    scale=st.floats(1e-3, 1e6),
)
def test_hubers_loss_follows_its_definition(e, scale):
    expected = [x * x if abs(x) <= scale else 2 * scale * abs(x) - scale**2 for x in e]
    np.testing.assert_allclose(huber(np.array(e), scale), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(huber(np.array(e), np.inf), np.square(e))


def test_a_row_that_no_model_predicts_does_not_rule():
    E = np.random.default_rng(3).normal(size=(2, 40)) * [[1.0], [0.5]]
    E[:, 5] = 100.0, 101.0
    found = objective([made(E)])
    assert np.flatnonzero(found.capped).tolist() == [5]
    deviation = lower_median(E).min() / 0.6745
    np.testing.assert_allclose(found.residuals[:, 5], 4 * deviation * np.array([1.0, 1.01]))
    assert found.best_vertex() == (0, 1)
    assert found.best_point()[0][1] > 0.5


def test_outlying_rows_do_not_decide_with_hubers_loss():
    rng = np.random.default_rng(3)
    E = rng.normal(size=(2, 200)) * [[1.0], [0.7]]
    E[1, :2] = 12.0  # the better model misses two rows
    assert objective([made(E)]).best_vertex() == (0, 0)
    assert objective([made(E)], "huber").best_vertex() == (0, 1)


def test_residuals_that_vanish_are_chosen_without_an_error():
    E = np.array([[1.0, -2.0, 1.0, 0.5], [0.0, 0.0, 0.0, 0.0]])
    for loss in LOSSES:
        left = made(E)
        assert objective([left], loss).best_vertex() == (0, 1)
        np.testing.assert_allclose(objective([left], loss).best_point()[0], [0.0, 1.0])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_a_choice_without_a_fold_is_the_choice_made_again_by_hand(seed, loss):
    fold = np.arange(30) % 6
    leverage = np.random.default_rng(seed).uniform(size=(6, 30))
    left = random_left_out(6, 30, seed, fold=fold, leverage=leverage)
    one = chosen_without([left], loss)
    mean = chosen_without([left], loss, average=True)
    assert np.all(one.disagreement == 0)
    d = np.maximum.accumulate(np.clip(left.dof, 1.0, 25.0))
    for f in range(6):
        kept, rows = fold != f, fold == f
        E = left.residuals[:, kept]
        deviation = lower_median(E).min() / 0.6745
        E = E / np.maximum(1.0, np.abs(E).min(axis=0) / (4 * deviation))
        scale = 1.345 * deviation if loss == "huber" else np.inf
        losses = huber(E, scale).sum(axis=1)
        price = 2 * 0.1 * losses.min() / kept.sum() * d
        m = np.argmin((losses + price)[: np.argmin(losses) + 3])
        np.testing.assert_array_equal(one.residuals[rows], left.residuals[m, rows])
        np.testing.assert_array_equal(one.leverage[rows], leverage[m, rows])
        (weights,) = Objective(
            recipes=np.zeros(6, dtype=int),
            models=np.arange(6),
            residuals=E,
            losses=losses,
            price=price,
            eligible=np.arange(6) <= np.argmin(losses) + 2,
            scale=scale,
            capped=np.zeros(len(rows), dtype=bool),
        ).best_point()
        close = {"rtol": 1e-7 if loss == "squared" else 1e-4}
        mixed = weights @ left.residuals[:, rows]
        np.testing.assert_allclose(mean.residuals[rows], mixed, **close)
        np.testing.assert_allclose(mean.leverage[rows], weights @ leverage[:, rows], **close)
        spread = weights @ (left.residuals[:, rows] - mixed) ** 2
        np.testing.assert_allclose(mean.disagreement[rows], spread, rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(6))
def test_a_pool_is_one_objective_over_all_its_models(seed, loss):
    """The models of two recipes, against those of one path that has them all."""
    one, two = random_left_out(5, 40, seed), random_left_out(4, 40, seed + 100)
    found = objective([one, two], loss)
    E = np.concatenate([one.residuals, two.residuals])
    scale = 1.345 * lower_median(E).min() / 0.6745 if loss == "huber" else np.inf
    losses = huber(E, scale).sum(axis=1)
    d = [np.maximum.accumulate(np.clip(left.dof, 1, 40)) for left in (one, two)]
    price = 2 * 0.1 * losses.min() / 40 * np.concatenate(d)
    np.testing.assert_allclose(found.losses, losses)
    np.testing.assert_allclose(found.price, price)
    best = [int(np.argmin(losses[:5])), int(np.argmin(losses[5:]))]
    may = np.concatenate([np.arange(5) <= best[0] + 2, np.arange(4) <= best[1] + 2])
    np.testing.assert_array_equal(found.eligible, may)
    winner = int(np.argmin(np.where(may, losses + price, np.inf)))
    assert found.best_vertex() == ((0, winner) if winner < 5 else (1, winner - 5))
    weights = np.concatenate(found.best_point())
    assert weights.sum() == pytest.approx(1.0)
    assert np.all(weights[~may] == 0)
    value = judged(weights, E, price, scale)
    for m in np.flatnonzero(may):
        assert value <= judged(np.eye(9)[m], E, price, scale) * (1 + 1e-9)


def test_ridge_is_judged_from_the_simplest_model_on():
    X, y = make_problem(40, 6, seed=1, noise=1.0)
    alphas = np.logspace(-3, 5, 25)
    up, down = ridge_path(X, y, alphas), ridge_path(X, y, alphas[::-1])
    assert up.select().parameter == down.select().parameter
    np.testing.assert_allclose(up.select().scores, down.select().scores[::-1])
    np.testing.assert_allclose(up.average().weights, down.average().weights[::-1], atol=1e-9)


def test_weights_of_rows_are_repeated_rows():
    left = random_left_out(5, 20, 2)
    w = np.random.default_rng(0).integers(1, 4, 20)
    weighted = dataclasses.replace(left, sample_weight=w.astype(float))
    many = np.repeat(np.arange(20), w)
    repeated = made(left.residuals[:, many], y=left.y[many])
    assert objective([weighted]).best_vertex() == objective([repeated]).best_vertex()
    weighted = dataclasses.replace(weighted, rss=repeated.rss)
    np.testing.assert_allclose(
        objective([weighted]).best_point()[0],
        objective([repeated]).best_point()[0],
        atol=1e-8,
    )


# Rules of criteria
# -----------------


def test_rules():
    scores = [5.0, 3.0, 3.0, 4.0, 1.0]
    assert choose(scores, "first-minimum") == 1  # a tie is not an improvement
    assert choose([3.0, 2.0, 2.0 * (1 - 1e-14), 1.0], "first-minimum") == 1  # nor is rounding
    assert choose(scores, "global-minimum") == 4
    assert choose(scores, "paper", [1.0, 2.0, 3.0, 4.0, 5.0]) == 4
    assert choose(scores, "paper", [1.0, 2.0, 3.0, -1e-9, 5.0]) == 1
    assert choose([3.0, 2.0, np.nan, 1.0], "first-minimum") == 1
    assert choose([np.nan, 2.0, 3.0, 1.0], "global-minimum") == 3
    with pytest.raises(NotAvailableError):
        choose([np.nan, np.nan], "paper", [1.0, 2.0])
    with pytest.raises(InvalidInputError):
        choose(scores, "patient")


def test_the_first_negative_degree_of_freedom_ends_the_paper_s_rule():
    # Two predictors in the proportions of the negative example of the theory.
    rng = np.random.default_rng(5)
    U, _ = np.linalg.qr(np.column_stack([np.ones(12), rng.normal(size=(12, 3))]))
    X = U[:, 1:3] * [1.0, 1e-2]
    y = U[:, 1] * 1e-3 + U[:, 2] + 3.0 * U[:, 3]
    path = pls_path(X, y, scale=False)
    assert path.dof[1] < -90
    assert path.select("bic", rule="global-minimum").n_components == 1
    chosen = path.select("bic", rule="paper")
    assert chosen.n_components == 0
    assert chosen.remark("empty-model") is not None
    assert "the paper's rule" in chosen.message


# Remarks
# -------


def kinds(left, chosen, longer=False):
    said = choice.left_out_remarks([left], 0, chosen, label=lambda _, m: str(m), longer=longer)
    return {one.key for one in said}


def test_remarks_have_kinds():
    rng = np.random.default_rng(0)
    e = rng.normal(size=200)

    def errors(*sizes, noise=0.0):
        return [s * e + noise * rng.normal(size=200) for s in sizes]

    clear = made(errors(3.0, 1.0, 2.0))
    assert kinds(clear, 1) == set()
    assert "empty-model" in kinds(clear, 0)
    assert "empty-model" not in kinds(clear, 2)
    rising = made(errors(3.0, 2.0, 1.0))
    assert kinds(rising, 2) == set()
    assert kinds(rising, 2, longer=True) == {"last-model"}
    assert kinds(made(errors(3.0)), 0, longer=True) == set()  # one model was not chosen
    assert kinds(made(errors(3.0, 2.0)), 1, longer=True) == {"last-model"}
    same = made(errors(3.0, 1.0, 1.0, 3.0, noise=0.01))
    assert kinds(same, 1) == {"as-good"}
    assert choice.as_good(same, 1).tolist() == [1, 2]
    interpolating = made(errors(3.0, 1.0), rss=[1500.0, 1e-6])
    assert kinds(interpolating, 1) == {"near-n"}
    apart = made(np.stack([e + rng.normal(size=200), e + rng.normal(size=200)]))
    assert "average" in kinds(apart, 0)


def test_a_selection_gives_its_remarks_by_kind():
    X, y = make_problem(60, 12, seed=2, noise=0.05)
    short = pls_path(X, y, 2).select()
    assert short.remark("last-model") is not None
    assert short.remark("empty-model") is None
    assert short.remark("last-model").words in short.message
    assert short.message.startswith(short.summary)
    assert pls_path(X, y).select().remark("last-model") is None


def test_the_smallest_penalty_is_an_edge_and_not_the_last_of_the_components():
    X, y = make_problem(120, 60, seed=0, noise=1e-9)
    chosen = ridge_path(X, y).select("gcv")
    assert chosen.index == 49
    assert [one.key for one in chosen.remarks] == ["edge"]


def test_grouped_rows_that_agree_are_as_good_within_more():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(8), 10)
    common = rng.normal(size=8)[groups]
    E = np.stack([common, common * 1.02 + 0.3 * rng.normal(size=8)[groups]])
    alone, together = made(E), made(E, fold=groups, groups=8)
    difference = E[1] ** 2 - E[0] ** 2
    sums = np.bincount(groups, difference)
    worse = difference.sum() > np.std(sums) * np.sqrt(8)
    assert (1 in choice.as_good(together, 0)) == (not worse)
    worse = difference.sum() > np.std(difference) * np.sqrt(80)
    assert (1 in choice.as_good(alone, 0)) == (not worse)


# Widths of intervals
# -------------------


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("n", [25, 60, 61, 150])
def test_the_half_width_passes_from_student_s_t_to_a_quantile(n, level):
    X, y = make_problem(n, 5, seed=n, noise=1.0)
    path = pls_path(X, y)
    for model in (path[2], path.average()):
        size = np.sqrt(np.mean(model.scores**2))
        t = scipy.stats.t.ppf((1 + level) / 2, n - model.spent) * size
        q = np.quantile(model.scores, level, method="weibull")
        share = min(1.0, 60 / n)
        assert model.half_width(level) == pytest.approx(t**share * q ** (1 - share), rel=1e-9)
    left, model = path.left_out(), path[2]
    expected = np.abs(left.residuals[2]) / np.sqrt(1 + 4 * left.leverage[2])
    np.testing.assert_allclose(model.scores, expected)
    average = path.average()
    made = chosen_without([average.left_out], average=True)
    assert average.rmse == pytest.approx(np.sqrt(np.mean(made.residuals**2)))
    v = made.disagreement / average.rmse**2
    scores = np.abs(made.residuals) / np.sqrt(1 + 4 * made.leverage + 4 * v)
    np.testing.assert_allclose(average.scores, scores)


@pytest.mark.parametrize("fit", [pls_path, pcr_path, ridge_path, kernel_pls_path])
def test_intervals_are_wider_where_the_models_of_an_average_disagree(fit):
    X, y = make_problem(40, 6, seed=2, noise=1.0)
    new = make_problem(30, 6, seed=3, noise=1.0)[0]
    path = fit(X, y)
    model = path.average()
    kept = np.flatnonzero(model.weights)
    assert len(kept) > 1
    values = np.array([path[int(m)].predict(new) for m in kept])
    apart = model.weights[kept] @ (values - model.predict(new)) ** 2
    h = model.predictor.leverage(new) / model.left_out.fitted_share
    expected = model.half_width() * np.sqrt(1 + 4 * h + 4 * apart / model.rmse**2)
    np.testing.assert_allclose(model.predictor.half_widths(new), expected, rtol=1e-8)
    np.testing.assert_allclose(model.predictor.frozen().half_widths(new), expected, rtol=1e-8)


def test_few_rows_and_groups_take_student_s_t():
    X, y = make_problem(12, 4, seed=4, noise=1.0)
    model = pls_path(X, y)[1]
    size = np.sqrt(np.mean(model.scores**2))
    expected = scipy.stats.t.ppf(0.975, 12 - model.left_out.dof[1]) * size
    assert model.half_width(0.95) == pytest.approx(expected)
    X, y = make_problem(60, 4, seed=4, noise=1.0)
    groups = np.repeat(np.arange(15), 4)
    average = pls_path(X, y).average(groups=groups)
    w = average.weights
    spent = w @ np.maximum(average.left_out.dof / 4, 1.0) + np.cumsum(w[w > 0])[:-1].sum() + 1
    size = np.sqrt(np.mean(average.scores**2))
    expected = scipy.stats.t.ppf(0.95, 15 - spent) * size
    assert average.half_width(0.9) == pytest.approx(expected)


@pytest.mark.slow
def test_intervals_cover_new_observations():
    """Split conformal scores of held-out rows: 400 data sets, standard error about 1 %."""
    covered = []
    for seed in range(400):
        X, y = make_problem(60, 10, seed=seed, decay=1.0, noise=1.0)
        model = pls_path(X[:40], y[:40]).average()
        covered.append(
            np.mean(
                np.abs(y[40:] - model.predict(X[40:])) <= model.predictor.half_widths(X[40:], 0.9)
            )
        )
    assert 0.87 <= np.mean(covered) <= 0.95
