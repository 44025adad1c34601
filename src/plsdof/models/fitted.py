"""From a fitted model to its predictor, `plsdof.predictor`; parts are made when they are needed."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from plsdof._core.criteria import Noise
from plsdof._core.inputs import Array, as_choice, read_only
from plsdof._core.left_out import REACTION
from plsdof._core.model import Mixture, Model, Opened, members_of, unwrapped
from plsdof._core.paths import PLSPath
from plsdof._core.threads import cached_property
from plsdof.chemometrics import diagnostics, distances
from plsdof.chemometrics.checks import own_line
from plsdof.chemometrics.preprocessing import Chain
from plsdof.errors import NotAvailableError
from plsdof.inference import intervals as inference
from plsdof.inference.covariance import covariance_root
from plsdof.models.calibration import about, numbered
from plsdof.models.parts import (
    CentredRows,
    KeptKernel,
    Member,
    Normal,
    Preparation,
    Response,
    RowCheck,
)
from plsdof.models.predictor import Predictor
from plsdof.variants.pls2 import PLS2Model

CLASSES = "pls-classes"
# Directions of a file's factor that add less than this share of sigma^2 / n to the variance of the
# # mean, over the training rows, are left out: intervals change in the seventh digit. Of the others
# 30 are kept, or as many as take a megabyte.
_FAINT, _DIRECTIONS, _MOST_NUMBERS = 1e-6, 30, 90_000


def predictor(
    model: Any,
    *,
    names: Sequence[str] | None = None,
    response: str | None = None,
    source: Mapping[str, Any] | None = None,
    noise: Noise = None,
    covariance: str = "homoscedastic",
    intervals: inference.IntervalMethod | None = None,
    preprocessing: Any = None,
) -> Predictor:
    """Return the one object that answers for new rows.

    Parameters
    ----------
    model : Model, or a fitted estimator
        Also one of several responses or classes, or a Pipeline that ends in one; a `Predictor` is
        returned as it is.
    names : sequence of str, optional
        Names of the predictors; by default those of the data frame that was fitted, or x0, x1, ...
    response : str, optional
        Name of a single response; by default that of the series that was fitted, or y.
    source : mapping, optional
        What the model was fitted to, for the record.
    noise : {"left-out", "jacobian", "dof", "naive"} or float, optional
        Noise variance of intervals "normal", as `Model.noise_variance`; by default that of the
        estimator.
    covariance : {"homoscedastic", "hc3", "jackknife"}
        Of the coefficients, for intervals "normal".
    intervals : {"left-out", "normal"}, optional
        How observations are covered by default.
    preprocessing : Chain, optional
        Fitted; what made the rows of the path from those that people have.

    Notes
    -----
    Parts are made when they are needed: predictions take coefficients only, intervals the
    cross-validated errors, those of method "normal" and T^2 and Q a decomposition of X. A file
    has all of them. Steps of a Pipeline in a file must be `plsdof.chemometrics.Preprocessor` or
    StandardScaler; they become part of the model.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> ozone = load_ozone()
    >>> path = pls_path(ozone.data, ozone.target)
    >>> model = predictor(path[2], names=ozone.feature_names, response="ozone")
    >>> model
    Predictor(pls, n_components=2, response='ozone', p=12)
    >>> bool(np.allclose(model.predict(ozone.data), path.fitted[2], rtol=1e-12, atol=0))
    True
    """
    if isinstance(model, Predictor):
        return model
    if intervals is not None:
        as_choice(intervals, "intervals", inference.INTERVAL_METHODS)
    if not isinstance(model, Model | PLS2Model):
        model = unwrapped(model)
        if hasattr(model.estimator, "predict_log_proba"):
            return _classifier(model, preprocessing, names, response or "y", source)
    parts = partial(FittedResponse, noise=noise, covariance=covariance, intervals=intervals or "")
    return FittedPredictor(model, names, response, source, preprocessing, parts)


class FittedPredictor(Predictor):
    """The predictor of fitted models, which still have their paths."""

    def __init__(
        self,
        model: Model | PLS2Model | Opened,
        names: Sequence[str] | None,
        response: str | None,
        source: Mapping[str, Any] | None,
        preprocessing: Any,
        parts: Callable[[Model, str], "FittedResponse"],
    ) -> None:
        chosen: Any = model.estimator.model_ if isinstance(model, Opened) else model
        joint, responses = isinstance(chosen, PLS2Model), getattr(chosen, "responses", (chosen,))
        first: Model = responses[0]
        labels, one = None, not joint
        prepare = model if isinstance(model, Opened) else first.prepare
        path = members_of(first)[0].path
        if isinstance(prepare, Opened):
            named, p = prepare.names, prepare.fitted.n_features_in_
            labels = prepare.estimator.response_names_
            one = one or prepare.estimator.one_response
        else:
            named, p = path.feature_names, path.rows.n_features
            if joint and chosen.path.names != numbered(len(responses), ""):
                labels = chosen.path.names
        called = labels or numbered(len(responses), "y")
        if one:
            called = (response or (labels or ("y",))[0],)
        self.__dict__.update(
            about(named if names is None else names, p, source),
            models=members_of(first),
            before=[preprocessing, *getattr(prepare, "steps", ())],
            prepare=prepare,
            method=first.path.recipe.method.name,
            parameter_name=first.path.parameter_name,
            n=float(path.exact.n if path.given is None else path.given.n),
            one_response=one,
            responses_named=response is not None or labels is not None,
            responses=tuple(map(parts, responses, called)),
        )

    # Of an average one for each recipe; several responses share the first.
    models: tuple[Model, ...]
    before: Sequence[Any]
    prepare: Callable[[Any], Any]

    @cached_property
    def preparations(self) -> tuple[Preparation, ...]:
        """What happens to rows before coefficients, of every member."""
        return self._preparations()

    def _preparations(self) -> tuple[Preparation, ...]:
        # Not a property: what it raises is an AttributeError, too, which would be lost.
        return tuple(_preparation(one, self.before) for one in self.models)

    def _rows(self, X: Any) -> tuple[CentredRows, ...]:
        """Return new rows as the paths take them, sparse ones as they are."""
        first = self.before[0]
        X = self.prepare(X if first is None else first.transform(X))
        return tuple(CentredRows(one.path.rows.new(X), one.centre[0]) for one in self.models)

    def frozen(self, *, intervals: bool = True) -> Predictor:  # type: ignore[override]
        """Return the predictor as arrays, without the data it was fitted to.

        ``intervals`` says whether to keep what intervals "normal", T^2 and Q need.
        """
        kept: dict[str, Any] = {
            "preparations": self._preparations(),
            "responses": tuple(one.frozen(keep=intervals) for one in self.responses),  # type: ignore[attr-defined]
        }
        rest = (one.name for one in fields(Predictor) if one.name not in kept)
        return Predictor(**kept, **{name: getattr(self, name) for name in rest}).frozen()


class FittedMember(Member):
    """One recipe of a fitted model."""

    def __init__(self, model: Model, weight: float, preparation: int) -> None:
        self.__dict__.update(model=model, weight=weight, preparation=preparation)

    model: Model

    @cached_property
    def coef(self) -> Array:
        """Coefficients times the weight."""
        return read_only(self.weight * np.array(self.model.coef))

    @cached_property
    def rotations(self) -> Array | None:
        """What turns centred rows into orthonormal scores."""
        return read_only(np.ascontiguousarray(self.model.distance.rotations))

    @cached_property
    def shares(self) -> Array:
        """Weights of the models that have a component."""
        return read_only(self.weight * self.model.distance.shares)

    @cached_property
    def models(self) -> Array | None:
        """What scores are multiplied by to give the predictions of models; None if one has all."""
        if not self._there or self.rotations is None:
            return None
        coef = [self.model.path[m].coef for m in self._there]
        size = np.maximum(np.linalg.norm(self.rotations, axis=1), np.finfo(float).tiny)
        found = np.linalg.lstsq((self.rotations / size[:, None]).T, np.array(coef).T)[0]
        return read_only(np.ascontiguousarray(found.T / size))

    @cached_property
    def weights(self) -> Array:
        """Weights of these models."""
        if self.model.weights is None or self.models is None:
            return read_only(np.zeros(0))
        own = self.model.weights[self._there]
        return read_only(self.weight * own / own.sum())

    @property
    def _there(self) -> list[int]:
        """Models with weight that all rows support, as far as these can be counted."""
        weights = self.model.weights
        kept = [] if weights is None else np.flatnonzero(weights).tolist()
        return [m for m in kept if self.model.path.store.has(m)]

    def frozen(self, *, keep: bool) -> Member:
        """Return the same as arrays, with what leverages need or without."""
        kept = fields(Member) if keep else fields(Member)[:_LINEAR]
        return Member(**{one.name: getattr(self, one.name) for one in kept})


def _held_out(name: str, otherwise: Any = math.nan) -> Any:
    """Return a property of `FittedResponse`: what held-out rows say."""
    return property(lambda self: self.of_held_out.get(name, otherwise))


class FittedResponse(Response):
    """One response of a fitted model."""

    def __init__(
        self, model: Model, name: str, noise: Noise, covariance: str, intervals: str
    ) -> None:
        members = members_of(model)
        weights = model.shares if isinstance(model, Mixture) else np.ones(1)
        self.__dict__.update(
            model=model,
            noise=noise,
            covariance=covariance,
            response=name,
            interval_method=intervals,
            members=tuple(
                FittedMember(one, float(weight), i)
                for i, (one, weight) in enumerate(zip(members, weights, strict=True))
            ),
        )

    model: Model
    noise: Noise
    covariance: str

    @cached_property
    def left_out(self) -> Any:
        """Held-out rows; None where no rows were kept."""
        return None if self.model.path.given is None else self.model.left_out

    @property
    def y_mean(self) -> float:
        """Prediction at the mean row."""
        parts = zip(self.members, members_of(self.model), strict=True)
        return float(sum(each.weight * one.centre[1] for each, one in parts))

    @property
    def parameter(self) -> float:
        """Number of components, or alpha."""
        return float(self.model.parameter)

    @property
    def dof(self) -> float:
        """Degrees of Freedom."""
        return float(self.model.dof)

    @cached_property
    def choice(self) -> Mapping[str, Any]:
        """How the model was chosen, and what its intervals assume."""
        model = self.model
        found = {"rule": "given", "label": model.label, "message": f"{model.label}: as asked for."}
        if model.path.given is not None:
            found["intervals"] = inference.left_out_words(model)
        if self.covariance != "homoscedastic":
            found["covariance"] = self.covariance
        if model.selection is not None and model.selection.rule != "given":
            found |= {name: getattr(model.selection, name) for name in _CHOSEN}
        return found

    @cached_property
    def of_held_out(self) -> Mapping[str, Any]:
        """What held-out rows say: entries of a response, nothing where no rows were kept."""
        model, left = self.model, self.left_out
        if left is None:
            return {}
        line, weights = own_line(model), left.sample_weight
        return {
            "scores": model.scores,
            "weights": read_only(np.zeros(0) if weights is None else weights),
            "groups": math.nan if left.groups is None else float(left.groups),
            "spent": model.spent,
            "reach": REACTION / left.fitted_share,
            "rmsecv": model.rmse,
            "slope": line.slope,
            "slope_std_error": line.std_error,
        }

    scores = _held_out("scores", np.zeros(0))
    weights = _held_out("weights", np.zeros(0))
    groups = _held_out("groups")
    spent = _held_out("spent", 1.0)
    reach = _held_out("reach", 0.0)
    rmsecv = _held_out("rmsecv")
    slope = _held_out("slope")
    slope_std_error = _held_out("slope_std_error")

    @property
    def sec(self) -> float:
        """Standard error of calibration, sqrt(RSS / (n - m - 1))."""
        model = self.model
        if self.left_out is None or model.path.parameter_name != "n_components":
            return math.nan
        df = self.left_out.n - model.parameter - 1.0
        return math.sqrt(max(model.rss, 0.0) / df) if df > 0 else math.nan

    @property
    def noise_variance(self) -> float:
        """Noise variance."""
        return float(self.model.noise_variance(self.noise))

    @cached_property
    def normal(self) -> Normal:
        """What intervals of method "normal" need."""
        root = covariance_root(self.model, self.covariance, noise=self.noise)
        return Normal(factor=read_only(root.features.T), level=read_only(root.level), df=root.df)

    def require_normal(self) -> Normal:
        """Return what intervals of method "normal" need."""
        return self.normal

    @property
    def has_intervals(self) -> bool:
        """Whether there is a noise level, and all that intervals of the mean need."""
        try:
            known = math.isfinite(self.noise_variance)
            return known and not math.isnan(self.normal.df)
        except NotAvailableError:
            return False

    @cached_property
    def check(self) -> RowCheck | None:
        """What T^2 and Q need; None for methods without scores."""
        if not isinstance(self.model.path, PLSPath):
            return None
        assert self.main.rotations is not None
        return _row_check(self.model, self.main.rotations)

    def require_check(self) -> RowCheck:
        """Return what T^2 and Q need, or say why there is none."""
        diagnostics.as_score_path(self.model.path)
        return super().require_check()

    def frozen(self, *, keep: bool) -> Response:
        """Return the same as arrays, with what "normal", T^2 and Q need or without."""
        model, path = self.model, self.model.path
        keep = keep and path.store.is_countable
        single, counted = not isinstance(model, Mixture), keep or path.is_counted
        values: dict[str, Any] = {
            one.name: getattr(self, one.name)
            for one in fields(Response)
            if one.name not in _COUNTED
        }
        has_scores = path.given is not None or (keep and not path.rows.is_dual)
        values["members"] = tuple(one.frozen(keep=has_scores) for one in self.members)  # type: ignore[attr-defined]
        if counted:
            values |= {"dof": self.dof, "noise_variance": self.noise_variance}
            values |= {"sec": self.sec} if single else {}
        if (
            single
            and keep
            and not path.rows.is_dual
            and math.isfinite(model.dof)
            and self.has_intervals
        ):
            values["normal"] = self._compact()
        if keep:
            values["check"] = self.check
        return Response(**values)

    def _compact(self) -> Normal:
        """Return `normal` with the directions that matter most for the training rows."""
        normal, path = self.normal, self.model.path
        # A file has no infinity; so many are as good to 12 digits.
        factor, level, df = normal.factor, normal.level, min(normal.df, 1e12)
        if path.rows.in_memory:
            given = path.rows.seen()
            reach = level + (given.X - self.model.centre[0]) @ factor.T
            root = given.row_scale
            reach = reach if root is None else root[:, None] * reach
            values, vectors = np.linalg.eigh(reach.T @ reach)
            # Eigenvalues rise: those of the first directions add up to a share of one row's part.
            kept = np.cumsum(np.maximum(values, 0.0)) > _FAINT * self.noise_variance
            kept |= values > _FAINT * values[-1]
            most = max(_DIRECTIONS, _MOST_NUMBERS // factor.shape[1])
            cut = kept[:-most].copy()
            kept[:-most] = False
            factor, level = vectors[:, kept].T @ factor, level @ vectors[:, kept]
            if cut.any():  # what these add to the variance of each row on average
                rest = math.sqrt(values[: len(cut)][cut].sum() / path.exact.n)
                factor, level = np.vstack([factor, 0 * factor[:1]]), np.append(level, rest)
        return Normal(factor=read_only(np.ascontiguousarray(factor)), level=read_only(level), df=df)


# The first fields of a member are all that predictions need.
_LINEAR = 3
_CHOSEN = ("criterion", "rule", "message")
_COUNTED = ("members", "dof", "noise_variance", "sec", "normal", "check")


def _row_check(model: Model, rotations: Array) -> RowCheck:
    """Return what T^2 and Q of new rows need, of the model with most weight and its rotations."""
    path, m = diagnostics.as_score_path(model.path), model.index
    exact = path.exact.complete()
    scale = distances.row_units(exact.x_scale)
    facts: dict[str, Any] = {}
    limited = distances.has_left_out_limits(path)
    if limited:
        rows = distances.left_out_rows(model)
        facts = {"weights": read_only(rows.t2.weights), "units": float(rows.t2.units)}
        facts |= {"t2": rows.t2.values} if m > 0 else {}
    if not path.rows.is_dual:
        B = distances.residual_factor(path, m)
        variances = distances.residual_variances(path, B)
        facts |= {"residual_variances": read_only(variances)}
        facts |= {"q": rows.q.values} if limited and rows.q is not None and B.any() else {}
        loadings = diagnostics.times_predictors(path, exact.scores(m)).T
        # Signs are those of the rotations: R_j l_j = 1.
        one = np.where(np.isfinite(scale), scale, 0.0) * rotations[:m]
        facts["loadings"] = np.where(np.vecdot(one, loadings) < 0, -1.0, 1.0)[:, None] * loadings
        facts["loadings"] = read_only(np.ascontiguousarray(facts["loadings"]))
    return RowCheck(components=m, scale=read_only(scale), **facts)


# What happens to rows before coefficients
# ----------------------------------------


def _preparation(model: Model, before: Sequence[Any]) -> Preparation:
    path = model.path
    inputs = getattr(path, "_inputs", None)
    x_mean = model.centre[0] if inputs is None else inputs.mean
    return Preparation(
        x_mean=read_only(x_mean),
        kernel=None if inputs is None else _kernel(model, inputs),
        # A path whose recipe prepares has a chain of its own, which comes last.
        preprocessing=_chain(
            [*before, path.rows.before],
            len(x_mean) if path.rows.before is None else path.rows.n_features,
        ),
    )


def _kernel(model: Model, inputs: Any) -> KeptKernel:
    return KeptKernel(
        **vars(inputs.kernel),
        scale=read_only(inputs.scale),
        rows=read_only(np.array(inputs.rows)),
        mean=read_only(model.centre[0]),
    )


def _chain(steps: Sequence[Any], p: int) -> Any:
    """Return steps, one after the other, as one chain, if a file can hold them."""
    steps = [step for step in steps if step is not None]
    if len(steps) < 2 and all(isinstance(step, Chain) for step in steps):
        return steps[0] if steps else None
    from sklearn.preprocessing import StandardScaler

    words: list[str] = []
    learned: list[Any] = []
    for step in steps:
        if isinstance(step, StandardScaler):
            mean = step.mean_ if step.with_mean else np.zeros(p)
            scale = step.scale_ if step.with_std else np.ones(p)
            content: dict[str, Any] = {"steps": "autoscale"}
            content["learned"] = [{"mean_": mean, "scale_": scale}]
        elif isinstance(step, Chain):
            content = step.to_content()
        else:
            raise NotAvailableError(
                f"A model file cannot hold the step {type(step).__name__}; use "
                "chemometrics.Preprocessor or StandardScaler before the estimator, or keep such a "
                "Pipeline with joblib.dump."
            )
        words += [content["steps"]] if content["learned"] else []  # none is not a step
        learned += content["learned"]
    return Chain.from_content({"steps": ",".join(words) or "none", "learned": learned}, p)


# Classes
# -------


def _classifier(
    given: Opened,
    preprocessing: Any,
    names: Sequence[str] | None,
    response: str,
    source: Mapping[str, Any] | None,
) -> Predictor:
    """Return the predictor of a classifier: a response per class, whose values are its function."""
    model, p = given.estimator, given.fitted.n_features_in_
    chosen = model.selection_
    facts: dict[str, Any] = {"parameter": float(model.n_components_), "dof": model.dof_}
    facts["choice"] = {
        "criterion": "log-loss" if chosen else "given",
        "message": chosen.message if chosen else f"{model.n_components_} components as asked for",
        "label": f"{model.n_components_} components",
    }
    chain = _chain([preprocessing, *given.steps], p)
    if hasattr(model, "coef_"):
        coef, offset = model.coef_, model.intercept_
        if len(model.classes_) == 2:  # the first class is what the second is compared with
            coef, offset = np.vstack([0 * coef, coef]), np.append(0.0, offset)
        members: list[tuple[Member, ...]] = [(Member(coef=read_only(one)),) for one in coef]
        recipes: tuple[Preparation, ...] = ()
    else:
        members, offset, recipes = _of_coded_classes(model, chain)
    return Predictor(
        **about(
            given.names if names is None else names,
            p,
            {**(source or {}), "classes_of": response},
        ),
        n=float(model.left_out_.weights.sum()),
        method=CLASSES,
        parameter_name="n_components",
        one_response=False,
        labels=tuple(model.classes_.tolist()),
        class_models=model.class_models_ or (),
        # The first are rows as models of classes take them.
        preparations=(
            Preparation(x_mean=read_only(np.zeros(p)), preprocessing=chain),
            *recipes,
        ),
        responses=tuple(
            Response(response=str(label), y_mean=float(value), members=own, **facts)
            for label, value, own in zip(model.classes_, offset, members, strict=True)
        ),
    )


def _of_coded_classes(
    model: Any, chain: Any
) -> tuple[list[tuple[Member, ...]], Array, tuple[Preparation, ...]]:
    """Return members and offsets of functions of averages over recipes, and their preparations.

    They are linear in the predictions for coded classes, as these are in prepared rows.
    """
    slope, offset = model.discriminant_
    recipes: list[Preparation] = []
    members: list[tuple[Member, ...]] = [()] * len(offset)
    for weights, regressor in zip(slope, model.regressors_, strict=True):
        of_class, start = predictor(regressor, preprocessing=chain), 1 + len(recipes)
        (coded,) = of_class.responses
        offset = offset + weights * coded.y_mean
        recipes += of_class.preparations
        for k, weight in enumerate(weights):
            members[k] += tuple(
                Member(coef=read_only(weight * one.coef), preparation=start + one.preparation)
                for one in coded.members
            )
    return members, offset, tuple(recipes)
