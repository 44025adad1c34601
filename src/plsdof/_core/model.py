"""One model of a path, or an average of models: what inference, pictures and files take.

A model is a vector of weights over the models of a path. For a single model it is a vertex of the
simplex, for an average any point; coefficients, predictions and cross-validated residuals follow
the same formulas.

*One pool.* A recipe is a scaling, a preparation of X, a kernel width, a penalty. Its path has a
held-out matrix of its own, of the same folds; the objective of `plsdof._core.objective` judges all
models of all recipes at once. `Path.select` and `Path.average` are the pool of one recipe.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from plsdof._core import choice
from plsdof._core.choice import LEFT_OUT, Selection
from plsdof._core.criteria import Noise, NoiseKind, as_variance, counted_noise
from plsdof._core.display import NOT_YET, as_html, one_line, plural
from plsdof._core.dof_range import DRAWS, LEVEL, DofRange, dof_range
from plsdof._core.exact import Exact
from plsdof._core.inputs import Array, read_only
from plsdof._core.left_out import (
    LeftOut,
    Leverage,
    noise_from_left_out,
    unit_scores,
    usual_folds,
)
from plsdof._core.objective import HeldOut, Pools
from plsdof._core.plugins import predictor_of, quick_look
from plsdof._core.threads import cached_property
from plsdof._core.warnings import quietly
from plsdof.errors import InvalidInputError, NotAvailableError

if TYPE_CHECKING:
    from plsdof._core.path import Path


def unprepared(X_new: Any) -> Any:
    """Return new rows as they are, of a model that is not behind the steps of a Pipeline."""
    if X_new is None:
        raise InvalidInputError("X_new is missing; give the rows to predict.")
    return X_new


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Model:
    """One model of a path, ``path[m]``, or an average of its models, ``path.average()``.

    Attributes
    ----------
    path : Path
        All models.
    index : int
        Row of the path; of an average that with the largest weight.
    weights : (K,) array or None
        Weights of the models in an average; None for a single model.
    selection : Selection or None
        How it was chosen; None for a model that was asked for.
    prepare : callable
        What makes new rows those that the path takes: the steps before it in a Pipeline.
    noise : str, float or None
        Noise level of standard errors and intervals where none is asked for: that of the estimator.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> model = pls_path(*load_ozone(return_X_y=True))[2]
    >>> model.label, round(model.dof, 2), round(model.noise_std, 2), round(model.rmse, 2)
    ('2 components', 6.46, 4.56, 4.62)
    """

    path: "Path"
    index: int
    weights: Array | None = None
    selection: Selection | None = None
    prepare: Callable[[Any], Any] = unprepared
    noise: Noise = None

    # The closed form, and the row of it that is this model
    # -----------------------------------------------------

    @cached_property
    def exact(self) -> Exact:
        """The closed form that holds this model, in `row`.

        An average gives the weights of models that cannot be counted to the others, or to the
        largest one that can.
        """
        if self.weights is None:
            return self.path.exact
        weights = np.zeros(len(self.path))
        weights[: len(self.weights)] = self.weights[: len(weights)]
        if not weights.any():
            weights[-1] = 1.0
        return self.path.exact.averaged(weights / weights.sum())

    @property
    def row(self) -> int:
        """Row of `exact` that is this model."""
        return self.index if self.weights is None else 0

    @property
    def is_average(self) -> bool:
        """Whether it averages models."""
        return self.weights is not None

    # What it is
    # ----------

    @property
    def label(self) -> str:
        """What it is, in words."""
        if self.weights is None:
            return self.path.label(self.index)
        return f"average of {plural(int(np.count_nonzero(self.weights)), 'model')}"

    @property
    def parameter(self) -> float:
        """Number of components, or alpha; of an average the weighted mean (geometric of alphas)."""
        weights = self._weight_vector
        if self.path.parameter_name == "n_components":
            return float(weights @ np.arange(len(weights)))
        kept = np.flatnonzero(weights)  # alpha = 0 has a logarithm only where it counts
        values = self.path.parameters[kept]
        return float(values[0] if len(kept) == 1 else np.exp(weights[kept] @ np.log(values)))

    @property
    def n_components(self) -> float:
        """Number of components; of an average the weighted mean."""
        if self.path.parameter_name != "n_components":
            raise AttributeError("This model has a penalty, not components; read .parameter.")
        return self.parameter if self.is_average else self.index

    @property
    def centre(self) -> tuple[Array, float]:
        """Means of what coefficients multiply (p,), and the prediction there."""
        run = None if self.path.rows.is_dual else self.path.store.run(len(self._weight_vector) - 1)
        if run is not None:
            return run.centre
        units = self.path.exact.units
        return units.x_mean, float(units.y_mean)

    @cached_property
    def predictor(self) -> Any:
        """What answers for new rows: a `plsdof.models.Predictor`."""
        return predictor_of(self)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the predictor, which knows the model: files hold no cycles."""
        return {name: value for name, value in self.__dict__.items() if name != "predictor"}

    @cached_property
    def _linear(self) -> tuple[Array, float]:
        """Coefficients and intercept, without a decomposition where that is certain."""
        if self.weights is None:
            coef, intercept = self.path.store.linear(self.index)
            return read_only(coef), intercept
        if not all(self.path.store.has(int(m)) for m in np.flatnonzero(self.weights)):
            return read_only(self.exact.coef[0]), float(self.exact.intercept[0])
        parts = [(w, self.path[m]._linear) for m, w in enumerate(self.weights) if w > 0]
        coef = np.sum([w * one[0] for w, one in parts], axis=0)
        return read_only(coef), float(sum(w * one[1] for w, one in parts))

    @property
    def coef(self) -> Array:
        """Coefficients in original units. Shape (p,)."""
        return self._linear[0]

    @property
    def intercept(self) -> float:
        """Intercept."""
        return self._linear[1]

    @property
    def dof(self) -> float:
        """Degrees of Freedom: the trace of d yhat / d y, X and the model held fixed.

        A choice by the same response costs about one more, which is not in it. Of an average the
        weighted mean of those of its models, plus what its weights cost: the sum of their
        cumulative sums but the last. Where X was prepared by looking at y, cross-validated Degrees
        of Freedom take their place.
        """
        if self.path.rows.looks_at_y:
            return self.left_out.spent(self._weight_vector, self.left_out.n, chosen=False)
        return float(self.exact.dof[self.row])

    def dof_range(self, *, n_draws: int = DRAWS, level: float = LEVEL, rng: Any = 0) -> DofRange:
        """Return `dof` with the range it takes for responses with other noise of the same level.

        `dof` is a derivative at one response, and has heavy tails. Where the range is wide, it says
        more than the number.

        Parameters
        ----------
        n_draws : int
            Responses y + noise, with the standard deviation `noise_std`.
        level : float
            Share of the draws in the range, between two of their quantiles.
        rng : int or numpy Generator, optional

        Notes
        -----
        Cost: O(n r + r M^2) per draw, on one decomposition of X with its vectors.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> from plsdof.datasets import load_ozone
        >>> found = pls_path(*load_ozone(return_X_y=True))[2].dof_range()
        >>> str(found), round(found.lower, 1), round(found.upper, 1)
        ('6.46', 6.5, 6.7)
        """
        return dof_range(self, n_draws, level, rng)

    @property
    def _depends_on_response(self) -> bool:
        return not self.path.rows.looks_at_y and bool(self.path.exact.filter.scores.size)

    def dof_of(self, responses: Iterable[Array]) -> list[float]:
        """Return `dof` for other responses of the same rows, as far as these support the model.

        One number for ridge and principal components regression, whose `dof` ignores y.
        """
        if not self._depends_on_response:
            return [self.dof]
        found = []
        for y in responses:
            with quietly(), suppress(IndexError):  # not all support so many components
                found.append(self._with_response(y).dof)
        return found

    def _with_response(self, y: Array) -> Self:
        """Return the same model, or average, of another response of the same rows."""
        exact = self.path.exact.refit(y)
        return replace(self, path=replace(self.path, _make=lambda: exact, given=None, _asked=None))

    @property
    def rss(self) -> float:
        """Residual sum of squares."""
        return float(self.exact.rss[self.row])

    @property
    def fitted(self) -> Array:
        """Fitted values of the training rows with positive weight. Shape (n_rows,)."""
        return read_only(self.exact.fitted[self.row])

    @property
    def residuals(self) -> Array:
        """Responses minus fitted values. Shape (n_rows,)."""
        return np.asarray(self.path.response() - self.fitted)

    def predict(self, X_new: Any) -> Array:
        """Predict new rows, dense or sparse. Shape (n_new,)."""
        return np.asarray(self.predictor.predict(X_new))

    # Held-out rows
    # -------------

    @cached_property
    def left_out(self) -> LeftOut:
        """The held-out matrix: that behind the choice, or that of the usual folds."""
        known = None if self.selection is None else self.selection.left_out
        if known is not None and self.index < len(known.residuals):
            return known
        given = self.path.rows.require()
        if known is not None:
            return self.path.store.left_out(known.fold, known.groups, through=self.index)
        return self.path.store.left_out(usual_folds(len(given.y)), None, through=self.index)

    @cached_property
    def held_out(self) -> HeldOut:
        """Rows by the fits without them, a choice (or weights) made again without their fold.

        A model that was asked for involves no choice.
        """
        if self.was_chosen:
            assert self.selection is not None
            return self.selection.held_out
        left, w = self.left_out, self._weight_vector[: len(self.left_out.residuals)]
        last = len(left.residuals) - 1
        w = w if self.index <= last else np.eye(last + 1)[-1]
        E = left.residuals[: len(w)]
        return HeldOut(
            residuals=w @ E,
            leverage=w @ left.leverage[: len(w)],
            disagreement=np.maximum(w @ E**2 - (w @ E) ** 2, 0.0),
        )

    @property
    def left_out_residuals(self) -> Array:
        """Residuals of rows by the fits without them, see `held_out`. Shape (n_rows,)."""
        return read_only(self.held_out.residuals)

    @property
    def rmse(self) -> float:
        """Root of the mean squared cross-validated residual, the error to report.

        Where the model was chosen, or averaged, this was made again without each fold: the
        smallest of many errors flatters.
        """
        return self.left_out.root_mean_square(self.held_out.residuals)

    @cached_property
    def scores(self) -> Array:
        """Errors behind intervals, |e| / sqrt(1 + 4 h + 4 v), see `held_out`. Shape (n_rows,).

        v is the variance of the predictions that an average averages, over the mean squared error.
        """
        held, unit = self.held_out, self.rmse**2
        share = held.disagreement / unit if unit > 0 else 0.0
        return read_only(unit_scores(held.residuals, held.leverage, share))

    @property
    def was_chosen(self) -> bool:
        """Whether it has the smallest error of held-out rows, which choose again without each fold.

        A simpler model, by one standard error or a test, has an error that was not minimised.
        """
        chosen = self.selection
        if chosen is None or chosen.left_out is None:
            return False
        return chosen.rule not in ("given", "one-standard-error", "randomization")

    def half_width(self, level: float = 0.95) -> float:
        """Return half the width of an interval for a new observation in the middle of the data.

        Student's t times the root mean square of the `scores`, with u less `LeftOut.spent` degrees
        of freedom, u the number of rows or groups, and at least 2. Beyond 60 rows it passes to the
        quantile of the scores: t^a q^(1 - a) with a = 60 / u.

        Elsewhere (`Predictor.half_widths`) it is times sqrt(1 + 4 h n / n_f + 4 v), h the leverage
        of the new row, n_f the rows of a fit without a fold, and v as in `scores`: a row far from
        the training rows, or one that the models of an average disagree about, is predicted less
        surely.
        """
        return float(self.predictor.responses[0].half_width(level))

    @cached_property
    def distance(self) -> Leverage:
        """What the leverages of new rows come from."""
        return self.path.leverage_of(self._weight_vector)

    @property
    def spent(self) -> float:
        """Degrees of freedom that are lost for intervals, see `LeftOut.spent`."""
        left = self.left_out
        return left.spent(self._weight_vector, left.independent, chosen=self.was_chosen)

    @property
    def _weight_vector(self) -> Array:
        """Weights of the models, one of them 1 for a single model. Shape (K,)."""
        return np.eye(self.index + 1)[-1] if self.weights is None else self.weights

    # Noise and derivatives
    # ---------------------

    def noise_level(self, kind: Noise = None) -> NoiseKind | float:
        """Return the kind of noise level, or the number, where ``kind`` is what was asked for."""
        kind = self.noise if kind is None else kind
        if kind is None:
            return "jacobian" if self.path.given is None else LEFT_OUT
        return kind

    def noise_variance(self, kind: Noise = None) -> float:
        """Estimate the noise variance, as `Path.noise_variance` does; a number is itself."""
        kind = self.noise_level(kind)
        if not isinstance(kind, str):
            return as_variance(kind)
        if kind == LEFT_OUT:
            left = self.left_out
            if self.weights is None:
                return float(left.noise_variance[min(self.index, len(left.rss) - 1)])
            press = left.n * self.rmse**2
            return float(noise_from_left_out(np.array([self.rss]), np.array([press]), left.n)[0])
        return float(counted_noise(self.exact, kind)[self.row])

    @property
    def noise_std(self) -> float:
        """Root of `noise_variance`."""
        return float(np.sqrt(self.noise_variance()))

    def leverage(self) -> Array:
        """Return d yhat_i / d y_i of the training rows. Shape (n_rows,)."""
        return self.exact.leverage(self.row)

    def jacobian(self) -> Array:
        """Return d yhat / d y; of an average with its weights held fixed. Shape (n, n)."""
        return self.exact.jacobian(self.row)

    def coef_covariance(self, *, noise: Noise = None) -> Array:
        """Estimate the covariance of the coefficients, sigma^2 (d beta/dy)(d beta/dy)'. (p, p)."""
        A, scale = self.exact.standardized_coef_factor(self.row), self.exact.units.x_scale
        covariance: Array = self.noise_variance(noise) * (A @ A.T)
        with np.errstate(over="ignore"):
            return covariance / scale / scale[:, None]

    def coef_std_error(self, *, noise: Noise = None) -> Array:
        """Standard errors of the coefficients, without a p x p matrix. Shape (p,)."""
        A = self.exact.standardized_coef_factor(self.row)
        squares: Array = np.einsum("ij,ij->i", A, A)
        with np.errstate(over="ignore"):
            return np.sqrt(self.noise_variance(noise) * squares) / self.exact.units.x_scale

    def _repr_html_(self) -> str:
        """Return the largest coefficients, if they are known: showing computes nothing."""
        if "_linear" not in vars(self) and self.path.given is not None:
            return as_html(repr(self), {}, notes=[NOT_YET])
        names = self.path.feature_names or [str(i) for i in range(len(self.coef))]
        largest = np.argsort(-np.abs(self.coef), kind="stable")
        columns: dict[str, Any] = {"predictor": [names[i] for i in largest]}
        columns["coefficient"] = self.coef[largest]
        return as_html(repr(self), columns, notes=["The largest coefficients first."])

    def plot(self, **options: Any) -> Any:
        """Draw the model: a figure of four pictures, `plsdof.plotting.overview_figure`."""
        return quick_look(self, **options)

    def __repr__(self) -> str:
        given = self.path.given
        return one_line(self, self.label, p=len(self.coef) if given is None else given.X.shape[1])


# Models of several recipes
# -------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Mixture(Model):
    """An average over models of several recipes.

    ``path``, ``index`` and ``weights`` are those of the first member, the recipe with most weight
    in the first pool: scores, T^2 and Q belong to it.

    Attributes
    ----------
    members : tuple of Model
        One of each recipe that takes part: an average of its models.
    shares : (R,) array
        Their weights, with sum one.
    """

    members: tuple[Model, ...]
    shares: Array

    @property
    def exact(self) -> Exact:
        """Raise an error: recipes have closed forms of their own."""
        raise NotAvailableError(
            f"This is an average over {len(self.members)} recipes, which have no closed form in "
            "common: derivatives, covariances and intervals of coefficients belong to one recipe. "
            "See members, or choose one model (n_components='left-out')."
        )

    @property
    def label(self) -> str:
        """What it is, in words."""
        count = sum(np.count_nonzero(one._weight_vector) for one in self.members)
        return f"average of {plural(int(count), 'model')} of {len(self.members)} recipes"

    @property
    def parameter(self) -> float:
        """Weighted mean of the numbers of components."""
        return float(self.shares @ [one.parameter for one in self.members])

    @cached_property
    def _linear(self) -> tuple[Array, float]:
        parts = [one._linear for one in self.members]
        coef = np.sum([w * part[0] for w, part in zip(self.shares, parts, strict=True)], axis=0)
        return read_only(coef), float(self.shares @ [part[1] for part in parts])

    @cached_property
    def dof(self) -> float:
        """Degrees of Freedom: the weighted mean of those of all models, plus what weights cost.

        That is the sum of the cumulative weights but the last, simplest model first. Models are
        counted exactly, unless their preparation looks at y: then cross-validated Degrees of
        Freedom stand for theirs.
        """
        return self._dof_by(_counted)

    def _dof_by(self, count: Callable[[Model, int], float]) -> float:
        """Return the mean, over nested pools, of the Degrees of Freedom of their averages."""
        assert self.selection is not None
        names = dict(zip(self.selection.recipes, self.selection.pool, strict=True))
        of = {name: one for name in names for one in self.members if one.left_out is names[name]}
        known, found = {}, []
        for weights in self.selection.parts:
            kept = [(name, m) for name, w in weights.items() for m in np.flatnonzero(w).tolist()]
            for name, m in kept:
                if (name, m) not in known:
                    known[name, m] = count(of[name], m)
            parts = sorted((known[name, m], weights[name][m]) for name, m in kept)
            d, w = np.array(parts).T
            found.append(float(w @ d + np.cumsum(w)[:-1].sum()))
        return float(np.mean(found))

    @property
    def _depends_on_response(self) -> bool:
        return any(one._depends_on_response for one in self.members)

    def _with_response(self, y: Array) -> Self:
        found = tuple(
            one._with_response(y) if one._depends_on_response else one for one in self.members
        )
        return replace(self, members=found)

    @property
    def fitted(self) -> Array:
        """Fitted values of the training rows with positive weight. Shape (n_rows,)."""
        rows = [one.predict(one.path.rows.require_in_memory().X) for one in self.members]
        return read_only(self._mixed(rows))

    @property
    def rss(self) -> float:
        """Residual sum of squares."""
        given = self.path.rows.require_in_memory()
        squares = np.square(given.y - self.fitted)
        return float(squares.sum() if given.weights is None else squares @ given.weights)

    @property
    def spent(self) -> float:
        """Degrees of freedom that are lost for intervals, see `LeftOut.spent`."""
        share = self.left_out.independent / self.left_out.n
        return 1.0 + self._dof_by(lambda one, m: max(float(one.left_out.dof[m]) * share, 1.0))

    def noise_variance(self, kind: Noise = None) -> float:
        """Estimate the noise variance from cross-validation; a number is itself."""
        kind = self.noise_level(kind)
        if not isinstance(kind, str):
            return as_variance(kind)
        if kind != LEFT_OUT:
            raise NotAvailableError(
                f"The noise level of an average over recipes is 'left-out'; got {kind!r}."
            )
        left = self.left_out
        press = left.n * self.rmse**2
        return float(noise_from_left_out(np.array([self.rss]), np.array([press]), left.n)[0])

    def _mixed(self, parts: Sequence[Array]) -> Array:
        return np.asarray(self.shares @ np.array(parts))


def members_of(model: Model) -> tuple[Model, ...]:
    """Return the models of an average over recipes, one of each; otherwise the model itself."""
    return model.members if isinstance(model, Mixture) else (model,)


def _counted(model: Model, m: int) -> float:
    """Return exact Degrees of Freedom, or held-out ones where the preparation looks at y."""
    path = model.path
    if path.rows.looks_at_y or m >= len(path):
        return float(model.left_out.dof[m])
    return float(path.dof[m])


def pooled(
    paths: "Mapping[str, Path]",
    *,
    average: bool,
    cv: Any = None,
    groups: Any = None,
    loss: str = "squared",
    pools: Pools = (),
) -> Model:
    """Choose one model of several paths to the same rows, or average them all.

    Parameters
    ----------
    paths : mapping of str to Path
        What each recipe is called, and its models; a single path has no name.
    average : bool
        The best point of the objective instead of its best vertex.
    cv, groups, loss
        As for `Path.select`.
    pools : sequence of sequence of int
        Of an average over nested pools: see `plsdof._core.objective`.
    """
    folds = next(iter(paths.values())).store.folds(cv, groups)
    pool = [path.store.left_out(*folds, through=None, for_choice=True) for path in paths.values()]
    return chosen_from(paths, pool, average=average, loss=loss, pools=pools)


def chosen_from(
    paths: "Mapping[str, Path]",
    pool: Sequence[LeftOut],
    *,
    average: bool,
    loss: str = "squared",
    pools: Pools = (),
) -> Model:
    """Choose by held-out rows that are there already."""
    found, names = tuple(paths.values()), () if tuple(paths) == ("",) else tuple(paths)
    selection = choice.by_left_out(pool, loss, found, names, average=average, pools=pools)
    if selection.weights is None:
        path = found[selection.recipe]
        return Model(path=path, index=selection.index, selection=selection)
    members, shares = [], []
    for path, left, w in zip(found, pool, selection.weights.values(), strict=True):
        if w.any():
            # The average of the models of one recipe, with the held-out matrix of its own.
            index = int(np.argmax(w))
            own = replace(selection, left_out=left, pool=(), pools=(), index=index)
            members.append(
                Model(path=path, index=index, weights=read_only(w / w.sum()), selection=own)
            )
            shares.append(float(w.sum()))
    heaviest = next(one for one in members if one.left_out is selection.left_out)
    if len(members) == 1:
        return replace(heaviest, selection=selection)
    # The recipe that stands for the average comes first.
    order = sorted(range(len(members)), key=lambda i: members[i] is not heaviest)
    members, shares = [members[i] for i in order], [shares[i] for i in order]
    return Mixture(
        path=heaviest.path,
        index=heaviest.index,
        weights=heaviest.weights,
        selection=selection,
        members=tuple(members),
        shares=read_only(shares),
    )


# What has a model: a model itself, a fitted estimator, a Pipeline that ends in one
# --------------------------------------------------------------------------------


class Fitted(Protocol):
    """A fitted estimator of this package, a Pipeline that ends in one, or a search over them."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit, as in scikit-learn."""

    def predict(self, X: Any) -> Any:
        """Predict, as in scikit-learn."""


# What functions of a model take.
ModelLike = Model | Fitted


def as_model(model: Any) -> Model:
    """Return a model, that of a fitted estimator, or of the one at the end of a Pipeline.

    Examples
    --------
    >>> from plsdof import PLSRegressor
    >>> as_model(PLSRegressor(1).fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0]))
    Model(1 component, p=1)
    """
    if isinstance(model, Model):
        return model
    opened = unwrapped(model)
    found = opened.models[0]
    if len(opened.models) != 1 or not isinstance(found, Model):
        raise InvalidInputError(
            f"This {type(opened.estimator).__name__} was fitted to several responses or classes; "
            "give the model of one response, such as model_.responses[0] of PLS2Regressor."
        )
    path, is_named = found.path, opened.names is None or found.path.feature_names is not None
    if opened.steps and not is_named:
        names = tuple(map(str, opened.fitted[:-1].get_feature_names_out()))
        path = replace(path, _names=names, _make=partial(getattr, path, "exact"))
    return replace(found, path=path, prepare=opened)


@dataclass(frozen=True)
class Opened:
    """A fitted estimator, alone or at the end of a Pipeline; called with new rows it prepares them.

    Attributes
    ----------
    fitted : estimator or Pipeline
    estimator : estimator
        The same, or the last step of the Pipeline.
    """

    fitted: Any
    estimator: Any

    @property
    def steps(self) -> list[Any]:
        """The steps before the estimator."""
        return [] if self.fitted is self.estimator else list(self.fitted)[:-1]

    @property
    def models(self) -> tuple[Model, ...]:
        """The chosen model, of several responses that of each."""
        chosen: Any = getattr(self.estimator, "model_", None)
        found: tuple[Model, ...] = getattr(chosen, "responses", (chosen,))
        return found

    @property
    def names(self) -> Any:
        """Names of the columns that new rows have; None if they have none."""
        return getattr(self.fitted, "feature_names_in_", None)

    def __call__(self, X_new: Any) -> Any:
        """Return new rows as the path of the model takes them."""
        rows = unprepared(X_new)
        return self.estimator.path_rows(self.fitted[:-1].transform(rows) if self.steps else rows)


def unwrapped(model: Any) -> Opened:
    """Return a fitted estimator, or a Pipeline with the estimator at its end."""
    if hasattr(model, "recipe") and hasattr(model, "left_out"):
        raise InvalidInputError(
            "A path holds many models; say which one: path[m], path[path.select().index] or "
            "path.average()."
        )
    fitted = getattr(model, "best_estimator_", model)  # of a search
    is_pipeline = hasattr(fitted, "steps") and hasattr(fitted, "named_steps")
    estimator = fitted.steps[-1][1] if is_pipeline else fitted
    kind = type(estimator).__name__
    if not hasattr(estimator, "path_rows"):
        raise InvalidInputError(
            "model must be a model, such as path[m] of a path, or a fitted estimator of this "
            "package (PLSRegressor, PCRegressor, RidgeRegressor, ...), or a Pipeline that ends in "
            f"one; got {kind}."
        )
    if not hasattr(estimator, "selection_"):
        raise InvalidInputError(f"This {kind} is not fitted yet; call its method fit first.")
    return Opened(estimator if is_pipeline and len(fitted.steps) == 1 else fitted, estimator)


def as_path(path: Any) -> "Path":
    """Return a path, that of a model, of a fitted estimator, or at the end of a Pipeline."""
    if hasattr(path, "recipe") and hasattr(path, "left_out"):
        found: Path = path
        return found
    return as_model(path).path


def require_noise(model: Model, noise: Noise) -> float:
    """Return the noise variance; say what to do where there is nothing to estimate it from."""
    variance = model.noise_variance(noise)
    if not np.isfinite(variance):
        raise NotAvailableError(
            f"The model with {model.label} leaves no residual to estimate the noise from "
            f"(n = {model.exact.spectrum.n:g}, {model.dof:.1f} Degrees of Freedom); choose a "
            "smaller model or give noise=<variance>."
        )
    if np.isnan(model.dof):
        raise NotAvailableError(
            "The fit of this method jumps with y, so it has no derivative to build intervals on "
            "(its Degrees of Freedom are nan)."
        )
    return variance
