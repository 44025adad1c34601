"""PLS2: one set of components for several responses, with exact Degrees of Freedom.

The components are chosen for all responses together, so that the fit of one response depends on
the others; `plsdof.joint_derivative` differentiates it. PLS1 column by column, the plain meaning
of several responses, is in `plsdof.columnwise`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof import criteria
from plsdof._validation import Array, as_choice, as_new_rows, read_only
from plsdof.columnwise import as_responses, kept_rows
from plsdof.criteria import Fits, Selection
from plsdof.decomposition import Decomposition, decompose
from plsdof.joint_derivative import ALGORITHMS, JointFit, joint_fit
from plsdof.methods import optional_count, report_end
from plsdof.models import as_row
from plsdof.standardize import Units, centre_response, standardize

# Criteria whose sum over responses estimates one number, the total squared error of prediction.
JOINT_CRITERIA = ("aic", "bic", "gcv")
NOISE_MODELS = ("independent", "correlated")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PLS2Path:
    """PLS2 for 0..M components; arrays over models start at the empty model.

    Attributes
    ----------
    units : Units
        Means, scales and weights of the rows and columns of X.
    decomposition : Decomposition
        Singular vectors of the standardised predictors.
    fit : JointFit
        Fits in rotated coordinates and their derivatives.
    y_mean, y_scale : (q,) arrays
        ``(y - y_mean) / y_scale`` is what was fitted.
    outside : (q, q) array
        Cross-products of what no linear function of X reaches.
    names : tuple of str
        Column names of Y; "0", "1", ... if it had none.
    algorithm : str
        "nipals" or "simpls".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> path = pls2_path(X, X[:, :2] + rng.normal(size=(30, 2)), 2)
    >>> path, path.coef.shape
    (PLS2Path(3 models, n=30, p=4, 2 responses, algorithm='nipals'), (3, 4, 2))
    """

    units: Units
    decomposition: Decomposition
    fit: JointFit
    y_mean: Array
    y_scale: Array
    outside: Array
    names: tuple[str, ...]
    algorithm: str

    @property
    def n_components(self) -> npt.NDArray[np.intp]:
        """Numbers of components 0, 1, ..., M."""
        return np.arange(len(self.dof))

    @property
    def dof(self) -> Array:
        """Trace of d vec(Yhat) / d vec(Y), with one for each of the q intercepts. (M + 1,)."""
        return read_only(self.dof_by_response.sum(axis=1))

    @property
    def dof_by_response(self) -> Array:
        """Sums of d yhat_ij / d y_ij over rows i, one column per response. (M + 1, q)."""
        return read_only(np.diagonal(self.dof_matrix, axis1=1, axis2=2))

    @property
    def dof_matrix(self) -> Array:
        """Sums of d yhat_ij / d y_ik over rows i, at [:, j, k]. Shape (M + 1, q, q)."""
        units = self.y_scale[:, None] / self.y_scale
        return read_only(np.eye(len(self.names)) + self.fit.traces * units)

    @property
    def dof_error(self) -> Array:
        """Estimated absolute rounding error of `dof`. Shape (M + 1,)."""
        return self.fit.error

    @property
    def naive_dof(self) -> Array:
        """What counting parameters gives, q (m + 1). Shape (M + 1,)."""
        return read_only(len(self.names) * (1.0 + self.n_components))

    @property
    def message(self) -> str:
        """Why the path is shorter than asked for; empty if it is not."""
        return self.fit.message

    @cached_property
    def rss(self) -> Array:
        """Residual sums of squares in original units. Shape (M + 1, q)."""
        return read_only(np.diagonal(self._residual_products, axis1=1, axis2=2))

    @cached_property
    def coef(self) -> Array:
        """Coefficients in original units. Shape (M + 1, p, q)."""
        rotated = self.fit.fitted / self.decomposition.singular_values[:, None]
        features = np.array([self.decomposition.to_features(one) for one in rotated])
        return read_only(features * self.y_scale / self.units.x_scale[:, None])

    @cached_property
    def intercept(self) -> Array:
        """Intercepts. Shape (M + 1, q)."""
        return read_only(self.y_mean - self.units.x_mean @ self.coef)

    @cached_property
    def fitted(self) -> Array:
        """Fitted values of the training rows with positive weight. Shape (M + 1, n_rows, q)."""
        rows = np.array([self.decomposition.to_samples(one) for one in self.fit.fitted])
        if self.units.row_scale is not None:
            rows /= self.units.row_scale[:, None]
        return read_only(self.y_mean + rows * self.y_scale)

    def predict(self, X_new: Any) -> Array:
        """Predict new rows with every model. Shape (M + 1, n_new, q)."""
        new = as_new_rows(X_new, len(self.units.x_mean), self.units.names)
        return self.y_mean + (new - self.units.x_mean) @ self.coef

    @cached_property
    def x_scores(self) -> Array:
        """Orthogonal scores of the training rows, ``X @ x_rotations``. Shape (n_rows, M)."""
        rows = self.decomposition.to_samples(self.fit.scores * self.fit.lengths)
        scale = self.units.row_scale
        return read_only(rows if scale is None else rows / scale[:, None])

    @cached_property
    def x_rotations(self) -> Array:
        """From standardised X to the scores. Shape (p, M)."""
        S = self.decomposition.singular_values[:, None]
        return read_only(self.decomposition.to_features(self.fit.scores * self.fit.lengths / S))

    def transform(self, X_new: Any) -> Array:
        """Return the scores of new rows on all components. Shape (n_new, M)."""
        new = as_new_rows(X_new, len(self.units.x_mean), self.units.names)
        return ((new - self.units.x_mean) / self.units.x_scale) @ self.x_rotations

    def noise_variance(self) -> Array:
        """RSS_j / (n - DoF_j) of every response; nan where DoF_j >= n. Shape (M + 1, q)."""
        return criteria.noise_from_dof(self.rss, self.dof_by_response, self.units.n)

    def noise_covariance(self) -> Array:
        """Estimate the covariance of the noise of the responses. Shape (M + 1, q, q).

        E'E over the roots of (n - DoF_j) (n - DoF_k), E the residuals, which is never indefinite
        and has `noise_variance` on its diagonal; nan where that is.
        """
        spare = self.units.n - self.dof_by_response
        root = np.sqrt(np.where(spare > 0, spare, np.nan))
        return read_only(self._residual_products / (root[:, :, None] * root[:, None, :]))

    def criterion(self, name: str, noise: str = "independent") -> Array:
        """Evaluate a criterion for all responses together. Shape (M + 1,).

        With W_j one over the squared ``y_scale`` (1 unless responses were scaled),

            aic = sum_j W_j (RSS_j / n + 2 / n sigma_j^2 DoF_j),       bic: log(n) for 2,
            gcv = sum_j W_j (RSS_j / n) / (1 - DoF_j / n)^2,

        estimates of the total squared error of prediction, sum_j W_j |mu_j - muhat_j|^2 / n plus
        noise. For responses with the same noise variance the penalty of aic is
        2 / n sigma^2 DoF with the joint ``dof``. For one response they are the criteria of
        `Path.criterion` with noise "dof".

        Parameters
        ----------
        name : {"aic", "bic", "gcv"}
        noise : {"independent", "correlated"}
            Whether the noise of different responses in the same row is independent. If not,
            sigma_j^2 DoF_j, which stands for sum_i cov(yhat_ij, y_ij), is by Stein's lemma
            sum_k Sigma_jk D_jk with Sigma = `noise_covariance` and D = `dof_matrix`.
        """
        as_choice(name, "criterion", JOINT_CRITERIA)
        as_choice(noise, "noise", NOISE_MODELS)
        dof, variance = self.dof_by_response, self.noise_variance()
        if noise == "correlated":
            covariance = np.sum(self.noise_covariance() * self.dof_matrix, axis=2)
            # Without any noise there is nothing that could be correlated.
            dof = np.divide(covariance, variance, out=dof.copy(), where=variance > 0)
        fits = Fits(rss=self.rss, dof=dof, noise=variance, n=self.units.n, total=np.nan)
        return np.asarray(np.sum(criteria.score(name, fits) / self.y_scale**2, axis=1))

    def select(
        self, criterion: str = "bic", noise: str = "independent", rule: str = "first-minimum"
    ) -> Selection:
        """Choose one number of components for all responses; see `criterion`.

        Rules, and what is never chosen, as for `Path.select`.
        """
        scores = self.criterion(criterion, noise)
        implausible = self.dof < len(self.names) - 1e-9
        index = criteria.choose(np.where(implausible, np.nan, scores), rule)
        return Selection(
            index=index,
            parameter=float(index),
            parameter_name="n_components",
            scores=read_only(scores),
            criterion=criterion,
            rule=rule,
            dof="exact",
            noise=noise,
            message=f"{rule} of {criterion} over {len(self.names)} response(s) at "
            f"{self.label(index)} ({self.dof[index]:.2f} Degrees of Freedom).",
        )

    def label(self, index: int) -> str:
        """Return what a row of the path is, in words."""
        return f"{index} component(s)"

    def index(self, m: int) -> int:
        """Check a row of the path and return it."""
        return as_row(m, len(self.dof), self.message)

    @cached_property
    def _residual_products(self) -> Array:
        inside: Array = np.einsum("mij,mik->mjk", self.fit.residuals, self.fit.residuals)
        return inside * np.outer(self.y_scale, self.y_scale) + self.outside

    def __repr__(self) -> str:
        return (
            f"PLS2Path({len(self.dof)} models, n={self.units.n:g}, p={len(self.units.x_mean)}, "
            f"{len(self.names)} responses, algorithm={self.algorithm!r})"
        )


def pls2_path(
    X: Any,
    Y: Any,
    max_components: int | None = None,
    *,
    algorithm: str = "nipals",
    scale: bool = True,
    scale_response: bool = False,
    sample_weight: Any = None,
    strict: bool = False,
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
        depends on Y is part of the derivative.
    sample_weight : (n,) array, optional
        Weights; integer weights mean repeated rows.
    strict : bool
        Raise `RankExhaustedError` instead of warning when ``max_components`` is not reached.

    Returns
    -------
    PLS2Path

    Notes
    -----
    There is no closed form as for one response, so one derivative per direction is needed:
    O(r^2 q M (q + M)) time, in blocks of bounded memory, three times over to estimate the
    rounding error. For q = 1 `pls_path` gives the same numbers in O(r M^2). Where the two largest
    singular values of the deflated cross-product coincide, the fit is not differentiable and the
    path ends.

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
    asked = optional_count(max_components)
    names, responses = as_responses(Y)
    data = standardize(X, responses[:, 0], scale=scale, sample_weight=sample_weight)
    kept = kept_rows(responses, sample_weight)
    centred = [centre_response(y, data.units.row_scale) for y in kept.T]
    values = np.column_stack([one.values for one in centred])
    spread = np.sqrt(np.einsum("ij,ij->j", values, values) / (data.units.n - 1.0))
    y_scale = np.where(spread > 0, spread, 1.0) if scale_response else np.ones(len(names))
    decomposition = decompose(data, "svd")
    spectra = [decomposition.spectrum(column, data.units.n) for column in (values / y_scale).T]
    fit = joint_fit(spectra, asked, algorithm, scaled=scale_response)
    beyond = _outside(decomposition, values, data.units.n)
    path = PLS2Path(
        units=data.units,
        decomposition=decomposition,
        fit=fit,
        y_mean=read_only([one.mean for one in centred]),
        y_scale=read_only(y_scale),
        outside=read_only(beyond.T @ beyond),
        names=names,
        algorithm=algorithm,
    )
    report_end(path, strict, asked)
    return path


def _outside(decomposition: Decomposition, values: Array, n: float) -> Array:
    """Return what of the centred responses no linear function of X reaches. Shape (n_rows, q)."""
    if n - 1.0 <= len(decomposition.eigenvalues):  # then X reaches everything, up to rounding
        return np.zeros_like(values)
    rotated = np.column_stack([decomposition.rotate(column) for column in values.T])
    return values - decomposition.to_samples(rotated)
