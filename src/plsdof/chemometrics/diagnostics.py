"""Diagnostics of models: what they share, what components explain, and which variables matter.

Notation: X are the standardised predictors (rows times the square roots of the weights), U the
basis of rotated coordinates in the space of the rows, T the rotated orthonormal scores of m
components. Plain PLS has X = U S V'. Penalised PLS has X R = U S V' with R R' = (I + P)^{-1}, so
that X'U = (I + P) R V S. Kernel PLS has features instead of predictors, and their inner products
only: `explained_variance` takes its paths, the importance of variables is not defined for them.
With weights, n is their sum, as if every row were repeated that often.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import fdtri

from plsdof._core.display import as_html, data_frame, one_line
from plsdof._core.inputs import Array, as_count, as_level, read_only
from plsdof._core.model import Mixture, as_model, as_path, members_of
from plsdof._core.paths import PCRPath, PLSPath
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.variants.kernel import KernelPLSPath
from plsdof.variants.pls2 import PLS2Model

if TYPE_CHECKING:
    from pandas import DataFrame

_EPS = float(np.finfo(np.float64).eps)

# One number per row or variable and the limit that flags it: what all diagnostics share
# --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Limit:
    """Where values become unusual, and how that was found; nan with a reason if it was not."""

    limit: float
    method: str
    message: str = ""


@dataclass(frozen=True, kw_only=True, repr=False)
class Diagnostic(Limit):
    """One number per row (or variable), with the limit above which it is flagged.

    Attributes
    ----------
    name : str
    values : (k,) array
    limit : float
        nan where no limit is defined; ``message`` says why, and nothing is flagged.
    level : float or None
        Probability of staying below the limit, None for a rule of thumb.
    method : str
        How the limit was made.
    message : str
        Why something is undefined, or what to be careful about; empty if nothing is.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.chemometrics import hotelling_t2
    >>> hotelling_t2(pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])[1])
    Diagnostic('t2', 0 of 4 flagged, limit=2.0306..., level=0.95)
    """

    name: str
    values: Array
    level: float | None

    @property
    def flags(self) -> npt.NDArray[np.bool_]:
        """Whether the size of a value is above the limit. Shape (k,)."""
        flags = np.abs(self.values) > self.limit
        flags.flags.writeable = False
        return flags

    def __repr__(self) -> str:
        flagged = f"{np.count_nonzero(self.flags)} of {len(self.values)} flagged"
        return one_line(self, repr(self.name), flagged, limit=self.limit, level=self.level)

    def _repr_html_(self) -> str:
        order = np.argsort(-np.abs(np.nan_to_num(self.values)), kind="stable")
        columns = {"position": order, self.name: self.values[order], "beyond": self.flags[order]}
        notes = [f"Largest first, counted from 0. Limit: {self.method}.", self.message]
        return as_html(repr(self), columns, notes=list(filter(None, notes)))


def diagnose(name: str, values: Array, limit: Limit, level: float | None) -> Diagnostic:
    """Put values and their limit together."""
    return Diagnostic(name=name, values=read_only(values), level=level, **vars(limit))


def squared_rows(rows: Array) -> Array:
    """Return the squared length of every row."""
    squares: Array = np.einsum("ij,ij->i", rows, rows)
    return squares


# The predictors as the components of a path see them: PLS, penalised PLS, kernel PLS
# -----------------------------------------------------------------------------------


def as_score_path(path: Any, *, plain: bool = False) -> PLSPath:
    """Return ``path`` if it has scores: PLS, penalised or kernel PLS.

    With ``plain`` the latter two are refused: their weights are not orthonormal in the predictors,
    and what is defined through the singular vectors of X would silently be something else.
    """
    found = isinstance(path, PLSPath)
    if not found or (plain and (path.rows.is_dual or hasattr(path, "metric"))):
        raise InvalidInputError(
            f"path must be a PLSPath, as made by pls_path, or a fitted PLSRegressor; got "
            f"{type(path).__name__}."
        )
    checked: PLSPath = path
    return checked


def as_predictor_path(path: Any, what: str) -> PLSPath:
    """Return ``path`` if it has scores and predictors: PLS and penalised PLS.

    ``what`` names the quantity asked for, to say why a kernel path does not have it.
    """
    if isinstance(path, KernelPLSPath):
        raise NotAvailableError(
            f"{what} is about the predictors, and kernel PLS has only inner products of features "
            "that are not the predictors; use the permutation importance of a KernelPLSRegressor "
            "(sklearn.inspection) for variables, and hotelling_t2 for rows."
        )
    return as_score_path(path)


def at_least_one(m: int) -> int:
    """Return ``m`` if it is the number of components of a model that has any."""
    if m == 0:
        raise NotAvailableError(
            "The model without components (m = 0) uses no variable, so variables have no "
            "importance in it; ask for m >= 1."
        )
    return m


def times_predictors(path: PLSPath, rotated: Array) -> Array:
    """Return X'U @ rotated, from rotated coordinates (r, k) to one row per predictor."""
    decomposition = path.exact.complete().decomposition
    S = decomposition.singular_values
    features = decomposition.to_features(S[:, None] * rotated)
    metric = getattr(path, "metric", None)
    return features if metric is None else np.asarray(metric.apply(features))


def column_lengths(path: Any) -> Array:
    """Return the length of every standardised predictor. Shape (p,)."""
    everything = np.eye(len(path.exact.complete().decomposition.singular_values))
    return np.asarray(np.sqrt(squared_rows(times_predictors(path, everything))))


def row_factor(path: PLSPath) -> Array:
    """Return F (r, r) with F F' = U'XX'U: rows of X in r coordinates, up to a rotation.

    The diagonal matrix of singular values for plain PLS, and for kernel PLS, whose X are features.
    """
    S = path.exact.complete().decomposition.singular_values
    if not hasattr(path, "metric"):
        return np.diag(S)
    triangle = np.asarray(np.linalg.qr(times_predictors(path, np.eye(len(S))), mode="r"))
    return triangle.T


# What the components explain, and which variables matter
# -------------------------------------------------------


@dataclass(frozen=True, kw_only=True, repr=False)
class ExplainedVariance:
    """Fractions of the variance of X and y, one entry per component: (M,) arrays.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> explained_variance(pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0]))
    ExplainedVariance(n_components=1, x=1, y=0.926)
    """

    x: Array
    y: Array

    @property
    def x_cumulative(self) -> Array:
        """Fractions of the variance of X that the first 1, 2, ... components explain."""
        return np.cumsum(self.x)

    @property
    def y_cumulative(self) -> Array:
        """Fractions of the variance of y that the first 1, 2, ... components explain."""
        return np.cumsum(self.y)

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with one row per component, named 1, 2, ..., M."""
        return data_frame(self._columns(), range(1, len(self.x) + 1))

    def _columns(self) -> dict[str, Array]:
        names = ("x", "y", "x_cumulative", "y_cumulative")
        return {name: getattr(self, name) for name in names}

    def _repr_html_(self) -> str:
        components = {"component": np.arange(1, len(self.x) + 1)}
        return as_html(repr(self), {**components, **self._columns()})

    def __repr__(self) -> str:
        whole = {"x": self.x, "y": self.y}
        shares = {name: round(float(share.sum()), 3) for name, share in whole.items()}
        return one_line(self, n_components=len(self.x), **shares)


def explained_variance(path: Any) -> ExplainedVariance:
    """Return which fractions of the variance of X and y each component explains.

    With orthonormal scores t_j, component j explains |X't_j|^2 / |X|^2 of X and
    (y't_j)^2 / |y|^2 of y. The fractions of X need not decrease. For kernel PLS X are the
    features of the kernel. Takes paths of PLS in all its variants and of principal components,
    and fitted estimators. Cost: O(r^2 M) time, for penalised PLS O(p r^2).

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> explained_variance(path).x.round(3), explained_variance(path).y_cumulative.round(3)
    (array([0.848, 0.152]), array([0.836, 0.971]))
    """
    path = as_path(path)
    exact = path.exact.complete()
    if isinstance(path, PCRPath):
        x = path.score_lengths**2 / (exact.trace or 1.0)
        y = (path.y_loadings * path.score_lengths) ** 2
    else:
        path = as_score_path(path)
        F = row_factor(path)
        x = squared_rows(exact.scores(len(path) - 1).T @ F) / (np.sum(F**2) or 1.0)
        y = path.filter.loadings**2
    y = y / (exact.total or 1.0)
    return ExplainedVariance(x=read_only(x), y=read_only(y))


def vip(model: Any) -> Array:
    """Return the Variable Importance in Projection of every variable. Shape (p,).

        VIP_k = sqrt( p sum_j s_j w_kj^2 / sum_j s_j ),    s_j = (y't_j)^2,  j = 1..m,

    with weight vectors w_j of length one (those of penalised PLS, of length one in the metric of
    the penalty, are brought to it). The mean of the squares over all p columns (constant ones
    included, with VIP 0) is 1, hence the rule of thumb "important if above 1".

    Parameters
    ----------
    model : Model, PLS2Model, or a fitted estimator
        Of PLS or penalised PLS, with at least one component; of an average the model with the
        largest weight. Of PLS2 what a component explains, s_j, is that of all (scaled) responses.

    Notes
    -----
    Cost: O(n p m) time, no decomposition; O(p m) once there is one.

    References
    ----------
    Wold, Johansson & Cocchi (1993), in: 3D QSAR in Drug Design, 523-550; Chong & Jun (2005),
    Chemometrics and Intelligent Laboratory Systems 78, 103-112.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> vip(path[1]).round(3)
    array([1.184, 0.773])
    """
    if isinstance(model, PLS2Model):
        joint, m = model.path, at_least_one(model.index)
        explained = np.sum(joint.joint.fit.loadings[:m] ** 2, axis=1)
        return _importance(explained, joint.x_weights[:, :m])
    model = as_model(model)
    path = as_predictor_path(model.path, "Variable importance")
    m = at_least_one(model.index)
    if (run := path.store.run(m)) is not None:  # nothing needs to be decomposed
        explained, weights = run.loadings[:m, -1] ** 2, run.weights(m).T
    else:
        explained, weights = path.filter.loadings[:m] ** 2, path.x_weights[:, :m]
    return _importance(explained, weights)


def _importance(explained: Array, weights: Array) -> Array:
    """Return the importance of variables by what components explain (m,) and weights (p, m)."""
    squares = weights**2
    shares = squares / squares.sum(axis=0)
    return np.asarray(np.sqrt(len(shares) * (shares @ (explained / explained.sum()))))


def block_importance(model: Any, sizes: Sequence[int]) -> Array:
    """Return the importance of blocks of columns, of ``sizes`` columns each. Shape (B,).

        sqrt( B / p sum_{k in block} VIP_k^2 )

    The mean of the squares over the B blocks is 1, as for single variables (`vip`).

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> block_importance(path[1], [1, 1]).round(3)
    array([1.184, 0.773])
    """
    squares, counts = vip(model) ** 2, [as_count(one, "sizes", minimum=1) for one in sizes]
    if sum(counts) != len(squares):
        raise InvalidInputError(
            f"sizes must cover the {len(squares)} columns; got {counts}, which cover {sum(counts)}."
        )
    shares = np.add.reduceat(squares, np.cumsum([0, *counts])[:-1]) / len(squares)
    return np.asarray(np.sqrt(len(counts) * shares))


def window_weights(model: Any) -> Array:
    """Return where on the wavelength axis the weight of an average over recipes lies. Shape (p,).

        w_j = sum_r w_r p / p_r     over the recipes r that have column j, p_r columns each

    with the weights w_r of the recipes. The mean over all columns is 1, which a model without
    windows has everywhere; where an average over spectra has more, it trusts these wavelengths.

    Parameters
    ----------
    model : Model, or a fitted estimator

    Examples
    --------
    >>> from plsdof import RecipeRegressor
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True)
    >>> weights = window_weights(RecipeRegressor("average", recipes="spectra").fit(X, y))
    >>> weights[[0, 150, 390]].round(2), round(float(weights.mean()), 6)
    (array([0.51, 1.69, 0.55]), 1.0)
    """
    # scikit-learn is imported when it is needed.
    from plsdof.chemometrics.preprocessing import columns_after, parse_chain

    model = as_model(model)
    shares = model.shares if isinstance(model, Mixture) else np.ones(1)
    p = model.path.rows.n_features
    weights = np.zeros(p)
    for share, one in zip(shares, members_of(model), strict=True):
        steps = parse_chain(getattr(one.path.rows.before, "steps", "none"))
        kept = columns_after(steps, p)
        weights[kept.start : kept.stop] += share * p / len(kept)
    return weights


def selectivity_ratio(model: Any, *, level: float = 0.95) -> Diagnostic:
    """Return explained over residual variance of every variable on the target component.

    The target component is t = X b / |b|, proportional to the fitted values; variable k has

        SR_k = |x_k'u|^2 / |x_k - (x_k'u) u|^2,     u = t / |t|.

    Parameters
    ----------
    model : Model, or a fitted estimator
        As for `vip`.
    level : float
        Of the limit, a quantile of F with n - 2 and n - 3 degrees of freedom. The test asks whether
        the explained variance of a variable is *larger* than the residual one, a much stronger
        demand than some relation with y.

    Returns
    -------
    Diagnostic
        ``values`` (p,) are inf (or huge, by rounding) where the target component explains a
        variable completely, as it always does with p = 1; nan for constant columns.

    Notes
    -----
    Cost: O(p r^2) time.

    References
    ----------
    Kvalheim (2010), Journal of Chemometrics 24, 496-504; Rajalahti et al. (2009), Chemometrics and
    Intelligent Laboratory Systems 95, 35-48 (the test).

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> found = selectivity_ratio(path[1])
    >>> found.values.round(3), round(found.limit, 1)
    (array([10.028,  3.698]), 199.5)
    """
    model, level = as_model(model), as_level(level)
    path = as_predictor_path(model.path, "The selectivity ratio")
    exact = path.exact.complete()
    # The target component, the variance of every variable along it, and the rest
    fit = exact.rotated_fit[at_least_one(model.index)]
    u = fit / np.linalg.norm(fit)
    explained = times_predictors(path, u[:, None])[:, 0] ** 2
    residual = squared_rows(times_predictors(path, np.eye(len(u)) - np.outer(u, u)))
    # Subtracting u leaves rounding of size eps |x_k| where nothing should be left.
    residual[residual <= (len(u) * _EPS) ** 2 * (explained + residual)] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        values = explained / residual
    n, method = exact.n, "F distribution, n - 2 and n - 3 degrees of freedom"
    value = float(fdtri(n - 2.0, n - 3.0, level)) if n > 3 else np.nan
    text = "" if n > 3 else f"The F-test needs n > 3; n is {n:g}."
    limit = Limit(limit=value, method=method, message=text)
    return diagnose("selectivity ratio", values, limit, level)
