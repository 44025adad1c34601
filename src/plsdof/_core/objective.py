r"""One objective judges single models and averages, of one recipe or of several.

With the held-out matrix E (`plsdof._core.left_out`), P_m = |E_m|^2, the best model m* = argmin P,
s^2 = P_{m*} / n and Degrees of Freedom d_m,

    J(w) = |sum_m w_m E_m|^2 + 2 c s^2 sum_m w_m d_m,     w >= 0,  sum w = 1,  m <= m* + 2

is the price of a single model at the vertices of the simplex of weights, and of an average at its
points. The best vertex is the choice, the best point the average (jackknife model averaging, Hansen
& Racine 2012). d_m are the cross-validated Degrees of Freedom n (1 - sqrt(RSS_m / P_m)), so that
nothing needs to be decomposed.

*Over recipes.* Models of several recipes (scalings, preprocessing, kernel widths, penalties) with
the same folds are one pool: m runs over the models of each recipe r up to m*_r + 2, s^2 belongs to
the smallest error of all, and J is the same. One path is the pool of one recipe.

*Over nested pools.* Recipes that only an average gains from (windows of the wavelength axis,
kernels) join the first pool one family at a time; the answer is the plain mean of the averages of
these pools. The first of them alone chooses a single model.

*One row must not rule.* In J column i of E is divided by max(1, min_m |E_mi| / (4 s)), s a robust
standard deviation of the best model: a row that no model predicts counts as one that is four
standard deviations off.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, as_choice
from plsdof._core.left_out import MODELS_AHEAD, LeftOut

# The price of a Degree of Freedom, c: one number, with the same result from 0.05 to 0.3. The
# textbook has 0; a little decides between models that held-out rows cannot tell apart.
_PRICE = 0.1
# Weights below this one are rounding of the quadratic problem, whose matrix gets this share of its
# trace as a ridge: neighbouring models are nearly the same. Steps for each model, more than are
# ever needed.
_NO_WEIGHT = 1e-9
_RIDGE = 1e-13
_MOST_STEPS = 10
Loss = Literal["squared", "huber"]
LOSSES: tuple[Loss, ...] = get_args(Loss)
# Huber's loss is linear beyond this many standard deviations: 95 % efficient for normal errors.
_HUBER = 1.345
# The median of absolute normal errors is this many standard deviations.
_MEDIAN = 0.6745
# Residuals of a row that every model misses by more than so many standard deviations are shrunk to
# that: Huber's loss would change all other rows, too.
_CAP = 4.0
# Rounds of reweighting for Huber's loss: the last changes weights by less than 0.01 on gasoline
# and ozone with an outlier.
_REWEIGHTED = 8
# Pools of recipes whose averages are averaged, each as positions of recipes.
Pools = Sequence[Sequence[int]]
# Scores that differ by less than this share of them are equal but for rounding.
EQUAL = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class Objective:
    """J of the module's first lines, over T models: recipe after recipe, simplest model first.

    Attributes
    ----------
    recipes, models : (T,) arrays of int
        The recipe of a model, and its row in the path of that recipe.
    residuals : (T, n) array
        Of the held-out rows, times the roots of their weights.
    losses, price : (T,) arrays
        Sums of squares (or of Huber's loss) of single models, and 2 c s^2 d_m.
    eligible : (T,) array of bool
        Which of the models may take part.
    scale : float
        Where Huber's loss becomes linear; infinite for squares.
    capped : (n,) array of bool
        Rows that every model misses by more than four robust standard deviations.
    """

    recipes: npt.NDArray[np.intp]
    models: npt.NDArray[np.intp]
    residuals: Array
    losses: Array
    price: Array
    eligible: npt.NDArray[np.bool_]
    scale: float
    capped: npt.NDArray[np.bool_]

    def best_vertex(self) -> tuple[int, int]:
        """Return the recipe with the smallest J, and the row of its path."""
        J = np.where(self.eligible, self.losses + self.price, np.inf)
        # Models that interpolate have errors of rounding, which must not decide between recipes.
        at = int(np.argmax(J.min() + EQUAL * self.losses[0] >= J))
        return int(self.recipes[at]), int(self.models[at])

    def best_point(self) -> list[Array]:
        """Return the weights with the smallest J, recipe by recipe in the order of its path."""
        return self.by_recipe(self.point())

    def point(self, near: Array | None = None) -> Array:
        """Return the weights with the smallest J, in the order of the models here. Shape (T,).

        ``near`` are weights that are close, such as those of nearly the same rows.
        """
        weights = np.zeros(len(self.models))
        if self.losses.min() <= EQUAL * self.losses[0]:  # errors of rounding cannot be weighed
            recipe, model = self.best_vertex()
            weights[(self.recipes == recipe) & (self.models == model)] = 1.0
            return weights
        E, price = self.residuals[self.eligible], self.price[self.eligible]
        w = _simplex(E @ E.T, price, None if near is None else near[self.eligible])
        if np.isfinite(self.scale):
            for _ in range(_REWEIGHTED):
                e = np.abs(w @ E)
                v = np.minimum(1.0, self.scale / np.maximum(e, 1e-3 * self.scale))
                w = _simplex((E * v) @ E.T, price, w)
        weights[self.eligible] = w
        return weights

    def by_recipe(self, values: Array) -> list[Array]:
        """Return what belongs to the models of each recipe, in the order of its path."""
        return _by_recipe(self.recipes, self.models, values)


def _by_recipe(
    recipes: npt.NDArray[np.intp], models: npt.NDArray[np.intp], values: Array
) -> list[Array]:
    found = []
    for recipe in range(int(recipes[-1]) + 1):
        own = recipes == recipe
        ordered = np.empty(np.count_nonzero(own))
        ordered[models[own]] = values[own]
        found.append(ordered)
    return found


def huber(residuals: Array, scale: float) -> Array:
    """Return squares of residuals, linear beyond ``scale``: 2 s |e| - s^2.

    Examples
    --------
    >>> huber(np.array([1.0, 3.0]), 2.0)
    array([1., 8.])
    """
    if not np.isfinite(scale):
        return np.asarray(residuals**2)
    size = np.abs(residuals)
    return np.where(size <= scale, size**2, 2.0 * scale * size - scale**2)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Models:
    """The models of several recipes, one behind the other, simplest first.

    ``recipes`` and ``models`` as in `Objective`, ``residuals`` (T, n) and Degrees of Freedom
    ``dof`` (T,) of all held-out rows; ``left`` has their folds and weights.
    """

    recipes: npt.NDArray[np.intp]
    models: npt.NDArray[np.intp]
    residuals: Array
    dof: Array
    left: LeftOut

    @classmethod
    def of(cls, pool: Sequence[LeftOut]) -> "_Models":
        pool = [left.joint or left for left in pool]
        return cls(
            recipes=np.repeat(np.arange(len(pool)), [len(left.order) for left in pool]),
            models=np.concatenate([left.order for left in pool]),
            residuals=np.concatenate([left.residuals[left.order] for left in pool]),
            dof=np.concatenate([np.maximum.accumulate(left.dof[left.order]) for left in pool]),
            left=pool[0],
        )

    def part(self, which: npt.NDArray[np.intp]) -> "_Models":
        """Return some of the models."""
        return replace(
            self,
            recipes=self.recipes[which],
            models=self.models[which],
            residuals=self.residuals[which],
            dof=self.dof[which],
        )

    def objective(self, loss: str, without: int | None = None) -> Objective:
        """Return the objective of all rows, or of those outside of one fold."""
        left, E, rows, n = self.left, self.residuals, self.left.weights, self.left.n
        if without is not None:
            kept = left.fold != without
            E, rows = E[:, kept], rows[kept]
            n = float(rows.sum())
        size, weighted = np.abs(E), left.sample_weight is not None
        smallest = size.min(axis=0)
        middle = float(_medians(size, rows if weighted else None).min()) / _MEDIAN
        excess = smallest / (_CAP * middle) if middle > 0 else np.zeros(E.shape[1])
        if (excess > 1.0).any():
            E = E / np.maximum(excess, 1.0)
        if weighted:
            E = E * np.sqrt(rows)
        scale = _HUBER * middle if loss == "huber" and middle > 0 else np.inf
        losses = np.vecdot(E, E) if np.isinf(scale) else huber(E, scale).sum(axis=1)
        eligible = np.zeros(len(losses), dtype=bool)
        starts = np.flatnonzero(np.diff(self.recipes, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(losses)], strict=True):
            best = start + int(losses[start:end].argmin())
            eligible[start : min(best + 1 + MODELS_AHEAD, end)] = True
        return Objective(
            recipes=self.recipes,
            models=self.models,
            residuals=E,
            losses=losses,
            price=2.0 * _PRICE * losses.min() / n * np.clip(self.dof, 1.0, n),
            eligible=eligible,
            scale=scale,
            capped=excess > 1.0,
        )

    def points(
        self, loss: str, pools: Pools, without: int | None = None, near: Sequence[Array] = ()
    ) -> list[Array]:
        """Return the weights of the average of each of nested pools, zero outside of it. (T,).

        ``near`` is the same of nearly the same rows.
        """
        found: list[Array] = []
        for number, members in enumerate(pools or [np.unique(self.recipes).tolist()]):
            which = np.flatnonzero(np.isin(self.recipes, members))
            close = near[number] if near else found[0] if found else None
            weights = np.zeros(len(self.models))
            weights[which] = (
                self.part(which)
                .objective(loss, without)
                .point(None if close is None else close[which])
            )
            found.append(weights)
        return found


def objective(
    pool: Sequence[LeftOut], loss: str = "squared", without: int | None = None
) -> Objective:
    """Return the objective of all rows, or of those outside of one fold.

    Degrees of Freedom are those of all rows in any case: they are a property of the models.

    Parameters
    ----------
    pool : sequence of LeftOut
        One of each recipe, of the same folds.
    loss : {"squared", "huber"}
    without : int, optional
        A fold.
    """
    as_choice(loss, "loss", LOSSES)
    return _Models.of(pool).objective(loss, without)


def _medians(values: Array, weights: Array | None) -> Array:
    """Return (lower) medians of rows, which it puts into another order.

    A weight of two is a value that is there twice.
    """
    if weights is None:
        middle = (values.shape[1] - 1) // 2
        values.partition(middle, axis=1)
        return values[:, middle]
    order = np.argsort(values, axis=1)
    reached = np.cumsum(weights[order], axis=1) >= 0.5 * weights.sum() * (1.0 - EQUAL)
    return np.take_along_axis(values, np.take_along_axis(order, reached.argmax(1)[:, None], 1), 1)


def best_points(
    pool: Sequence[LeftOut], loss: str = "squared", pools: Pools = ()
) -> list[list[Array]]:
    """Return the weights of the average of each of nested pools, recipe by recipe.

    ``pools`` are positions of recipes; without them all recipes are one pool. Recipes outside of a
    pool have weights zero there.
    """
    models = _Models.of(pool)
    points = models.points(as_choice(loss, "loss", LOSSES), pools)
    return [_by_recipe(models.recipes, models.models, one) for one in points]


def mean_of(parts: Sequence[Sequence[Array]]) -> list[Array]:
    """Return the mean of the weights of several pools, recipe by recipe."""
    return [np.mean(own, axis=0) for own in zip(*parts, strict=True)]


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOut:
    """What a choice, made again without each fold, says of the rows of that fold.

    Attributes
    ----------
    residuals, leverage : (n,) arrays
    disagreement : (n,) array
        Weighted variance of the predictions of the models in an average; 0 for a single model.
    """

    residuals: Array
    leverage: Array
    disagreement: Array


def chosen_without(
    pool: Sequence[LeftOut], loss: str = "squared", *, average: bool = False, pools: Pools = ()
) -> HeldOut:
    """Return rows held out by the choice made again without their fold.

    The matrices stay what they are; the choice, or the weights, are those of the other folds.
    """
    first, models = pool[0], _Models.of(pool)
    leverages = np.concatenate([left.leverage[left.order] for left in pool])
    errors = np.concatenate([left.residuals[left.order] for left in pool])
    residuals, leverage, disagreement = np.zeros((3, len(first.y)))
    near = models.points(loss, pools) if average else []
    for fold in range(int(first.fold.max()) + 1):
        rows = np.flatnonzero(first.fold == fold)
        if average:
            weights = np.mean(models.points(loss, pools, fold, near), axis=0)
            used = np.flatnonzero(weights)
            w = weights[used]
        else:
            recipe, model = models.objective(loss, fold).best_vertex()
            used = np.flatnonzero((models.recipes == recipe) & (models.models == model))
            w = np.ones(1)
        e = errors[used][:, rows]
        residuals[rows] = w @ e
        disagreement[rows] = w @ e**2
        leverage[rows] = w @ leverages[used][:, rows]
    disagreement = np.maximum(disagreement - residuals**2, 0.0)
    return HeldOut(residuals=residuals, leverage=leverage, disagreement=disagreement)


def _simplex(G: Array, price: Array, start: Array | None = None) -> Array:
    """Return the w >= 0, sum w = 1, with the smallest w'Gw + price'w.

    An active-set method (Lawson & Hanson 1974 for a simplex): the slopes of models with weight are
    equal, those of all others are not smaller. ``start`` are weights that are close.
    """
    w = np.asarray(np.arange(len(G)) == np.argmin(G.diagonal()), dtype=np.float64)
    unit = float(G.diagonal().min())
    if len(G) == 1 or not unit > 0:
        return w
    if start is not None and start.sum() > 0:
        w = start / start.sum()
    half, active = price / 2.0, w > 0
    for _ in range(_MOST_STEPS * len(G)):
        kept = np.flatnonzero(active)
        rows = G[kept]
        A = rows[:, kept]
        A.flat[:: len(kept) + 1] += _RIDGE * A.trace()
        x, z = np.linalg.solve(A, np.array([np.ones(len(kept)), half[kept]]).T).T
        v, before = (1.0 + z.sum()) / x.sum() * x - z, w[kept]
        if (down := v <= 0).any():  # as far as all weights stay positive
            if not before[down].all():  # rounding: what has entered wants to leave again
                break
            share = float(np.min(before[down] / (before[down] - v[down])))
            moved = before + share * (v - before)
            w[kept] = np.where(down & (moved <= _NO_WEIGHT), 0.0, moved)
            active = w > 0
            continue
        w[kept] = v
        slope = v @ rows + half
        enter = int(np.argmin(slope))
        if active[enter] or slope[enter] >= w @ slope - EQUAL * unit:
            break
        active[enter] = True
    w[w < _NO_WEIGHT * w.max()] = 0.0
    return np.asarray(w / w.sum())
