"""PLS2: one set of components for several responses, with exact Degrees of Freedom.

PLS2 chooses its components for all responses together, so that the fit of one response depends
on the others. No spectral filter describes it for q > 1, because its components are not in one
Krylov space; the derivative is carried along instead, when somebody asks for it.

Each response is an ordinary path, ``path.responses[j]``, with the others held fixed, and each model
of it an ordinary `Model`; what is said about all responses is put together from these. A choice
adds up the objectives of all responses.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from plsdof._core import choice
from plsdof._core.choice import Selection
from plsdof._core.display import one_line, plural
from plsdof._core.exact import Exact
from plsdof._core.filters import PLSFilter
from plsdof._core.fit import optional_count
from plsdof._core.folds import Integers, Split
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_float,
    as_matrix,
    feature_names,
    opened_table,
    read_only,
    require_flag,
)
from plsdof._core.left_out import LeftOut, folds_of
from plsdof._core.model import Model
from plsdof._core.objective import Loss
from plsdof._core.path import end_in_words
from plsdof._core.paths import PLSPath
from plsdof._core.recipe import Method, Recipe
from plsdof._core.rounding import ROUNDINGS
from plsdof._core.spectrum import Decomposition, Spectrum, decompose
from plsdof._core.standardize import (
    Observations,
    Units,
    as_observations,
    centre_response,
    standardize_observations,
)
from plsdof._core.store import Store
from plsdof._core.threads import cached_property
from plsdof._core.warnings import quietly, warn_caller
from plsdof.errors import NotAvailableError, RankExhaustedWarning
from plsdof.variants._pls2 import ALGORITHMS, Joint

Algorithm = Literal["nipals", "simpls"]
# What a coordinate of a response of length one is at least: far below rounding.
_FAINT = 1e-30
_EPS = float(np.finfo(np.float64).eps)


# One response, the others held fixed: an ordinary path
# -----------------------------------------------------


class ResponseFilter(PLSFilter):
    """One response of a joint fit as a filter; its Degrees of Freedom are made when needed.

    Its derivative is that by the response itself. An average of models has one row, ``weights``.
    """

    reflects = False

    def __init__(self, joint: Joint, number: int, weights: Array | None = None) -> None:
        fit, z = joint.fit, _divisible(joint.spectra[number]).z / joint.y_scale[number]
        mix = np.eye(len(fit.residuals)) if weights is None else weights[None]
        price = 0.0 if weights is None else np.cumsum(weights[weights > 0])[:-1].sum()
        self.__dict__.update(
            joint=joint,
            number=number,
            mix=mix,
            price=price,
            factors=read_only(mix @ (fit.fitted[:, :, number] / z)),
            residuals=read_only(mix @ (fit.residuals[:, :, number] / z)),
            scores=fit.scores,
            weights=fit.weights,
            diagonal=fit.lengths,
            loadings=read_only(fit.loadings[:, number]),
            coef_error=read_only(mix @ fit.coef_error),
            rss_error=read_only(mix @ fit.coef_error * joint.spectra[number].total),
            naive_dof=read_only(mix @ (1.0 + np.arange(len(fit.residuals)))),
            message=fit.message,
        )

    joint: Joint
    number: int
    mix: Array
    price: float

    @cached_property
    def dof(self) -> Array:
        """1 + trace of the derivative; nan where rounding leaves it uncertain. Shape (K,)."""
        return read_only(1.0 + self._mixed(self.joint.traces.dof[:, self.number]) + self.price)

    @cached_property
    def dof_error(self) -> Array:
        """Estimated absolute error of ``dof``. Shape (K,)."""
        return self._mixed(self.joint.traces.dof_error[:, self.number])

    @cached_property
    def residual_trace(self) -> Array:
        """|I - J|^2 with the derivative J by the response itself. Shape (K,)."""
        spare = self.joint.spectra[self.number].residual_dimension
        return self._mixed(self.joint.traces.squares[:, self.number] + spare)

    def times_jacobian(self, *_: Any) -> Array:
        """Raise an error: the fit depends on all responses."""
        raise NotAvailableError(
            "Fits of PLS2 depend on all responses, so that a derivative by one of them does not "
            "say how sure coefficients and means are. Intervals for new observations are by "
            "cross-validated errors, method='left-out', and standard errors of coefficients by "
            "covariance='jackknife'."
        )

    def _mixed(self, values: Array) -> Array:
        used = np.where(self.mix.any(axis=0), values, 0.0)
        return read_only(values if len(self.mix) == len(values) else self.mix @ used)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ResponseExact(Exact):
    """The closed form of one response."""

    def averaged(self, weights: Array) -> "ResponseExact":
        """Return the average of the models with given weights, as the only model."""
        found = cast("ResponseFilter", self.filter)
        return replace(self, filter=ResponseFilter(found.joint, found.number, weights))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ResponsePath(PLSPath):
    """PLS2 as the path of one response, the others held fixed; `PLS2Path.responses` has them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> path = pls2_path(X, X[:, :2] + rng.normal(size=(30, 2)), 2)
    >>> path.responses[0].coef.shape, path.responses[1][2].predict(X).shape
    ((3, 4), (30,))
    """

    whole: "PLS2Path"
    number: int

    def __len__(self) -> int:
        return len(self.whole)

    @cached_property
    def exact(self) -> Exact:
        """Spectrum, filter and basis; Degrees of Freedom are made when they are needed."""
        found = self._make()
        return found if self._names is None else found.with_names(self._names)

    @property
    def is_counted(self) -> bool:
        """Whether Degrees of Freedom are there already."""
        return self.whole.is_counted

    @property
    def rotated_rotations(self) -> Array:
        """R in rotated coordinates. Shape (r, M)."""
        return self.whole.joint.fit.rotations

    def problem(self) -> None:
        """Return None: the recursion of one response is another method."""

    @property
    def score_lengths(self) -> Array:
        """(Weighted) lengths of the columns of `x_scores`. Shape (M,)."""
        return self.whole.joint.fit.lengths

    @cached_property
    def store(self) -> Store:
        """Held-out rows of all responses together, as this one sees them."""
        return _JointStore(self)


class _JointStore(Store):
    """Held-out rows of one response: all responses leave them out together."""

    def left_out(self, fold: Integers, groups: int | None, **_: Any) -> LeftOut:
        path = cast("ResponsePath", self.path)
        return path.whole.of_response(path.whole.leave_out(fold, groups), path.number)

    def fit_rows(self, rows: Integers, level: float = 0.0) -> ResponsePath:
        """Fit all responses, less a level, to some of the training rows."""
        path = cast("ResponsePath", self.path)
        given = path.rows.require_in_memory()
        weights = None if given.weights is None else given.weights[rows]
        part = path.whole.recipe.fit(given.X[rows], path.whole.Y[rows] - level, weights)
        return cast("PLS2Path", part).responses[path.number]


# All responses together
# ----------------------


def _each(name: str, doc: str) -> Any:
    """Return a property that has an attribute of all responses, along a last axis."""

    def stacked(self: Any) -> Array:
        return read_only(np.stack([getattr(one, name) for one in self.responses], axis=-1))

    return property(stacked, doc=doc)


def _shared(name: str, doc: str) -> Any:
    """Return a property that is the same for all responses."""
    return property(lambda self: getattr(self.responses[0], name), doc=doc)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PLS2Path:
    """PLS2 for 0..M components; arrays over models start at the empty model.

    ``path[m]`` is the model with m components, ``path.responses[j]`` the path of one response with
    all that paths have. Fits, coefficients and scores are there at once; Degrees of Freedom are
    made when they are needed for the first time.

    Attributes
    ----------
    recipe : Recipe
        How the path was fitted: ``path.recipe.fit(X, Y)`` fits the same to other rows.
    names : tuple of str
        Column names of Y; "0", "1", ... if it had none.
    units : Units
        Means, scales and weights of the rows and columns of X.
    decomposition : Decomposition
        Singular vectors of the standardised predictors.
    joint : Joint
        The problem in rotated coordinates, its fits and their derivatives.
    Y, y_mean : (n_rows, q) and (q,) arrays
        Responses of rows with positive weight, and their means.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> path = pls2_path(X, X[:, :2] + rng.normal(size=(30, 2)), 2)
    >>> path, path.coef.shape
    (PLS2Path(3 models, n=30, p=4, 2 responses, algorithm='nipals'), (3, 4, 2))
    """

    recipe: Recipe
    names: tuple[str, ...]
    units: Units
    decomposition: Decomposition
    joint: Joint
    Y: Array
    y_mean: Array
    given: Observations

    @cached_property
    def responses(self) -> tuple[ResponsePath, ...]:
        """The paths of the responses, each with the others held fixed."""
        return tuple(self._of(j) for j in range(len(self.names)))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the responses, which know the path: files of it hold no cycles."""
        made_again = {"responses", "_known_left_out"}
        return {name: value for name, value in self.__dict__.items() if name not in made_again}

    def _of(self, j: int) -> ResponsePath:
        joint = self.joint
        found = ResponseFilter(joint, j)
        exact = ResponseExact(
            units=replace(self.units, y_mean=float(self.y_mean[j])),
            decomposition=self.decomposition,
            spectrum=_divisible(joint.spectra[j]),
            filter=found,
            make_filter=_no_other_response,
        )
        return ResponsePath(
            recipe=self.recipe,
            _make=partial(_itself, exact),
            given=replace(self.given, y=self.Y[:, j]),
            whole=self,
            number=j,
        )

    def __len__(self) -> int:
        return len(self.joint.fit.residuals)

    def __getitem__(self, m: int) -> "PLS2Model":
        """Return the model with m components; -1 is the last one."""
        return PLS2Model(path=self, index=self.responses[0][m].index)

    def __iter__(self) -> Iterator["PLS2Model"]:
        return (self[m] for m in range(len(self)))

    @property
    def n_components(self) -> npt.NDArray[np.intp]:
        """Numbers of components 0, 1, ..., M."""
        return np.arange(len(self))

    @property
    def message(self) -> str:
        """Why the path is shorter than wanted; empty if it is not."""
        return self.joint.fit.message

    @property
    def y_scale(self) -> Array:
        """What responses were divided by before the fit. Shape (q,)."""
        return self.joint.y_scale

    rss = _each("rss", "Residual sums of squares in original units. Shape (M + 1, q).")
    coef = _each("coef", "Coefficients in original units. Shape (M + 1, p, q).")
    intercept = _each("intercept", "Intercepts. Shape (M + 1, q).")
    fitted = _each("fitted", "Fitted values of rows with positive weight. (M + 1, n_rows, q).")
    dof_by_response = _each("dof", "Sums of d yhat_ij / d y_ij over rows i. Shape (M + 1, q).")
    exact = _shared("exact", "Decomposition of X, and the closed form of the first response.")
    x_scores = _shared("x_scores", "Orthogonal scores of the training rows. Shape (n_rows, M).")
    x_rotations = _shared("x_rotations", "From standardised X to the scores. Shape (p, M).")
    x_weights = _shared("x_weights", "Orthonormal weights that span `x_rotations`. Shape (p, M).")
    x_loadings = _shared("x_loadings", "Loadings P = X't / (t't), standardised units. (p, M).")
    transform = _shared("transform", "Scores of new rows, see `ComponentPath.transform`.")
    inverse_transform = _shared(
        "inverse_transform", "Predictors of scores, see `ComponentPath.inverse_transform`."
    )

    @property
    def y_loadings(self) -> Array:
        """Coefficients of the (scaled) responses on the scores, Y't / (t't). Shape (q, M)."""
        return read_only([one.y_loadings for one in self.responses])

    def predict(self, X_new: Any) -> Array:
        """Predict new rows with every model. Shape (M + 1, n_new, q)."""
        return np.stack([one.predict(X_new) for one in self.responses], axis=-1)

    # Degrees of Freedom
    # ------------------

    @property
    def dof(self) -> Array:
        """Trace of d vec(Yhat) / d vec(Y), with one for each of the q intercepts. (M + 1,).

        nan, with an infinite `dof_error`, where rounding leaves it uncertain.
        """
        return read_only(np.sum(self.dof_by_response, axis=1))

    @property
    def dof_error(self) -> Array:
        """Estimated absolute rounding error of `dof`. Shape (M + 1,)."""
        return read_only(self.joint.traces.dof_error.sum(axis=1))

    @property
    def naive_dof(self) -> Array:
        """What counting parameters gives, q (m + 1). Shape (M + 1,)."""
        return read_only(len(self.names) * (1.0 + self.n_components))

    @property
    def is_counted(self) -> bool:
        """Whether Degrees of Freedom are there already."""
        return "traces" in self.joint.__dict__

    # Held-out rows, and choice
    # -------------------------

    def left_out(self, cv: Any = None, groups: Any = None) -> LeftOut:
        """Leave rows out: residuals of every model by fits without them, made once.

        Parameters
        ----------
        cv, groups
            As for `Path.left_out`.

        Returns
        -------
        LeftOut
            The residuals of all responses in one row per model, (M + 1, n_rows q): those of the
            first training row, then those of the second. All are in units of ``y_scale``, and so
            is ``y``, without its mean. ``path.responses[j].left_out()`` has those of one response.

        Notes
        -----
        Cost: one decomposition per fold, no derivatives.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(30, 4))
        >>> path = pls2_path(X, X[:, :2] + rng.normal(size=(30, 2)), 2)
        >>> path.left_out().residuals.shape
        (3, 60)
        """
        return self.leave_out(*folds_of(self.given, cv, groups))

    def leave_out(self, fold: Integers, count: int | None) -> LeftOut:
        """Leave out given folds, see `left_out`; ``count`` is the number of groups."""
        key = fold.tobytes(), count is None
        if key not in self._known_left_out:
            self._known_left_out[key] = self._left_out(fold, count)
        return self._known_left_out[key]

    @cached_property
    def _known_left_out(self) -> dict[Any, LeftOut]:
        return {}

    def _left_out(self, fold: Integers, count: int | None) -> LeftOut:
        given, Y, q = self.given, self.Y, len(self.names)
        residuals, leverage = np.empty((len(self), *Y.shape)), np.empty((len(self), len(Y)))
        split, rounding = Split.of(fold), np.zeros(len(self))
        exhausted = np.zeros((len(self), split.count), dtype=bool)
        for f, test in enumerate(split.tests):
            kept = np.delete(np.arange(len(Y)), test)
            weights = None if given.weights is None else given.weights[kept]
            with quietly():
                part = cast("PLS2Path", self.recipe.fit(given.X[kept], Y[kept], weights))
                predicted = part.predict(given.X[test])
            last = np.minimum(self.n_components, len(part) - 1)
            residuals[:, test] = Y[test] - predicted[last]
            # A fold without a model repeats its last prediction, which is that of another model.
            exhausted[len(part) :, f] = True
            leverage[:, test] = part.responses[0].at(given.X[test]).leverage[last]
            # What may be wrong with the coefficients, and the rounding of y itself.
            fit, units = part.joint.fit, part.units
            size = np.linalg.norm((given.X[test] - units.x_mean) / units.x_scale, axis=1).max()
            error = size * np.linalg.norm(fit.coef, axis=(1, 2)) * fit.coef_error
            error += ROUNDINGS * _EPS * float(np.max(np.abs(part.Y) / part.y_scale))
            rounding = np.maximum(rounding, error[last])
        return LeftOut(
            parameters=read_only(self.n_components.astype(np.float64)),
            parameter_name="n_components",
            order=self.n_components,
            residuals=read_only((residuals / self.y_scale).reshape(len(self), -1)),
            rss=read_only(np.sum(self.rss / self.y_scale**2, axis=1)),
            fold=np.repeat(fold, q),
            y=read_only(((Y - self.fitted[0]) / self.y_scale).ravel()),
            sample_weight=None if given.weights is None else np.repeat(given.weights, q),
            groups=count,
            leverage=read_only(np.repeat(leverage, q, axis=1)),
            exhausted=exhausted,
            rounding=read_only(rounding),
        )

    def of_response(self, left: LeftOut, j: int) -> LeftOut:
        """Return what `left_out` has of one response, in its units; choices are still joint."""
        q, weights = len(self.names), left.sample_weight
        return replace(
            left,
            residuals=read_only(left.residuals[:, j::q] * self.y_scale[j]),
            rss=read_only(self.rss[:, j]),
            fold=left.fold[::q],
            y=self.Y[:, j],
            sample_weight=None if weights is None else weights[::q],
            leverage=left.leverage[:, ::q],
            rounding=read_only(left.rounding * self.y_scale[j]),
            joint=left,
        )

    def select(self, *, groups: Any = None, cv: Any = None, loss: Loss = "squared") -> Selection:
        """Choose one number of components for all responses.

        By the cross-validated errors, added up over the responses (in units of ``y_scale``), with
        a small price for complexity.

        Parameters
        ----------
        groups, cv, loss
            As for `Path.select`.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(30, 4))
        >>> pls2_path(X, X[:, :2] * [3.0, 1.0] + rng.normal(size=(30, 2))).select()
        Selection(n_components=..., criterion='left-out', rule='best-model', score=...)
        """
        return choice.by_left_out([self.left_out(cv, groups)], loss, [self])

    def label(self, index: int) -> str:
        """Return what a row of the path is, in words."""
        return plural(index, "component")

    def average(self, *, groups: Any = None, cv: Any = None, loss: Loss = "squared") -> "PLS2Model":
        """Average the models with one set of weights for all responses; see `Path.average`."""
        pool = [self.left_out(cv, groups)]
        chosen = choice.by_left_out(pool, loss, [self], average=True)
        weights = None if chosen.weights is None else chosen.weights[""]
        return PLS2Model(path=self, index=chosen.index, weights=weights, selection=chosen)

    def response(self) -> Array:
        """Return the responses. Shape (n_rows, q)."""
        return self.Y

    def __repr__(self) -> str:
        n, p = self.units.n, len(self.units.x_mean)
        return (
            f"PLS2Path({len(self)} models, n={n:g}, p={p}, "
            f"{len(self.names)} responses, algorithm={self.recipe.algorithm!r})"
        )


def _itself(found: Any) -> Any:
    return found


def _no_other_response(_: Spectrum) -> Any:
    raise NotAvailableError(
        "Another response would move the components of all; fit pls2_path to all of them again."
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PLS2Model:
    """One model of a `PLS2Path`, ``path[m]``, or an average of its models.

    ``model.responses[j]`` is that of one response, an ordinary `Model`, for intervals of
    predictions, distances of rows and most of what models have.

    Attributes
    ----------
    path : PLS2Path
        All models.
    index : int
        Number of components; of an average that with the largest weight.
    weights : (M + 1,) array or None
        Weights of the models in an average.
    selection : Selection or None
        How it was chosen; None for a model taken from a path.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> model = pls2_path(X, X[:, :2] + rng.normal(size=(30, 2)))[2]
    >>> model, model.coef.shape
    (PLS2Model(2 components, 2 responses, p=4), (4, 2))
    >>> from plsdof.inference import prediction_interval
    >>> model.responses[0], prediction_interval(model.responses[0], X[:5])
    (Model(2 components, p=4), Interval(5 values, level=0.95, critical=...))
    """

    path: PLS2Path
    index: int
    weights: Array | None = None
    selection: Selection | None = None

    @cached_property
    def responses(self) -> tuple[Model, ...]:
        """The models of the responses, each with the others held fixed."""
        return tuple(self._of(j) for j in range(len(self.path.names)))

    def _of(self, j: int) -> Model:
        chosen = self.selection
        if chosen is not None and chosen.left_out is not None:
            chosen = replace(chosen, left_out=self.path.of_response(chosen.left_out, j))
        view = self.path.responses[j]
        return Model(path=view, index=self.index, weights=self.weights, selection=chosen)

    label = _shared("label", "What it is, in words.")
    n_components = _shared("n_components", "Number of components; of an average the mean.")
    coef = _each("coef", "Coefficients in original units. Shape (p, q).")
    intercept = _each("intercept", "Intercepts. Shape (q,).")
    fitted = _each("fitted", "Fitted values of rows with positive weight. Shape (n_rows, q).")
    rss = _each("rss", "(Weighted) residual sums of squares. Shape (q,).")
    dof_by_response = _each("dof", "Traces of d yhat_j / d y_j, X and model fixed. Shape (q,).")
    left_out_residuals = _each("left_out_residuals", "See `Model`. Shape (n_rows, q).")
    rmse = _each("rmse", "Roots of the mean squared cross-validated residuals, RMSECV. Shape (q,).")
    noise_std = _each("noise_std", "Noise standard deviations. Shape (q,).")

    @property
    def dof(self) -> float:
        """Sum of `dof_by_response`."""
        return float(np.sum(self.dof_by_response))

    @property
    def left_out(self) -> LeftOut:
        """The held-out matrix of all responses, behind the choice or that of the usual folds."""
        known = None if self.selection is None else self.selection.left_out
        return self.path.left_out() if known is None else known

    def predict(self, X_new: Any) -> Array:
        """Predict new rows. Shape (n_new, q)."""
        return np.stack([one.predict(X_new) for one in self.responses], axis=-1)

    def __repr__(self) -> str:
        q = plural(len(self.path.names), "response")
        return one_line(self, self.label, q, p=len(self.coef))


def pls2_path(
    X: Any,
    Y: Any,
    max_components: int | None = None,
    *,
    algorithm: Algorithm = "nipals",
    scale: bool = True,
    scale_response: bool = False,
    sample_weight: Any = None,
) -> PLS2Path:
    """Fit PLS2 with 0..M components for all responses, with exact Degrees of Freedom.

    Component m has the weight vector w that maximises |cov(X w, Y_m)|, Y_m what m - 1 components
    have left, and

        DoF(m) = q + trace( d vec(Yhat_m) / d vec(Y) )   of the centred data,

    by exact forward differentiation of the algorithm.

    Parameters
    ----------
    X : (n, p) array or data frame
    Y : (n, q) array or data frame, or (n,) array
    max_components : int, optional
        Largest model wanted; by default all that the data support.
    algorithm : {"nipals", "simpls"}
        Deflate X and Y by the scores (Wold; scikit-learn's PLSRegression), or the cross-product
        X'Y by the loadings (de Jong 1993). They agree for one response only.
    scale : bool
        Scale the columns of X to unit variance (divisor n - 1).
    scale_response : bool
        Scale the columns of Y likewise, which gives every response the same say; that the scale
        depends on Y is part of the Degrees of Freedom.
    sample_weight : (n,) array, optional
        Weights; integer weights mean repeated rows.

    Returns
    -------
    PLS2Path

    Notes
    -----
    The fits cost one decomposition of X and O(r q M (q + M)). For Degrees of Freedom there is no
    closed form as for one response, so one derivative per direction is needed:
    O(r^2 q M (q + M)) time, in blocks of bounded memory, three times over to estimate the
    rounding error, when they are needed. For q = 1 `pls_path` gives the same numbers in
    O(r M^2). Where the two largest singular values of the deflated cross-product coincide, the fit
    is not differentiable and the path ends.

    References
    ----------
    S. de Jong (1993), SIMPLS: an alternative approach to partial least squares regression,
    Chemometrics and Intelligent Laboratory Systems 18, 251-263.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> Y = X[:, :2] * [3.0, 1.0] + rng.normal(size=(30, 2))
    >>> path = pls2_path(X, Y)
    >>> path.dof.round(2)
    array([ 2.  ,  6.59,  9.5 ,  9.72, 10.  ])
    """
    as_choice(algorithm, "algorithm", ALGORITHMS)
    for name, flag in {"scale": scale, "scale_response": scale_response}.items():
        require_flag(flag, name)
    wanted = optional_count(max_components)
    recipe = PLS2.recipe(
        max_components=wanted, algorithm=algorithm, scale=scale, scale_response=scale_response
    )
    if not isinstance(X, Observations):
        X, Y, sample_weight = opened_table(X, Y, sample_weight)
    names, responses = _as_responses(Y)
    given = as_observations(X, responses[:, 0], sample_weight)
    given.own()
    data = standardize_observations(given, scale=scale)
    kept = read_only((responses if given.kept is None else responses[given.kept]).copy())
    decomposition = decompose(data, "svd")
    centred = [centre_response(y, data.units.row_scale) for y in kept.T]
    joint = Joint(
        spectra=tuple(decomposition.spectrum(one.values, data.units.n) for one in centred),
        algorithm=algorithm,
        scaled=scale_response,
        max_components=wanted,
    )
    path = PLS2Path(
        recipe=recipe,
        names=names,
        units=data.units,
        decomposition=decomposition,
        joint=joint,
        Y=kept,
        y_mean=read_only([one.mean for one in centred]),
        given=given,
    )
    if (text := end_in_words(path.message, len(path) - 1, wanted)) is not None:
        warn_caller(text, RankExhaustedWarning)
    return path


def _divisible(spectrum: Spectrum) -> Spectrum:
    """Return a spectrum without zeros in z, which filters are divided by."""
    least = _FAINT * (float(np.linalg.norm(spectrum.z)) or 1.0)
    z = np.where(np.abs(spectrum.z) > least, spectrum.z, least)
    return replace(spectrum, z=read_only(z))


def _as_responses(Y: Any) -> tuple[tuple[str, ...], Array]:
    """Return names and values of the responses, (n, q)."""
    names = feature_names(Y)
    if names is None and as_float(Y, "Y").ndim == 1:
        Y = as_float(Y, "Y")[:, None]
    values = as_matrix(Y, "Y", min_rows=2)
    return names or tuple(map(str, range(values.shape[1]))), values


PLS2 = Method(
    name="pls2",
    label="PLS2",
    path=cast("Any", pls2_path),  # its path has several responses
    size="max_components",
    check=optional_count,
)
