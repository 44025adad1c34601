"""Several responses: PLS1 for every column on one decomposition, and PLS2 for all of them at once.

PLS1 column by column is the plain meaning of several responses: one path each, sharing the
decomposition of X. PLS2 chooses components for all responses together, so that the fit of one
response depends on the others; `plsdof.joint_derivative` differentiates it.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof import criteria
from plsdof._validation import (
    Array,
    as_choice,
    as_matrix,
    as_new_rows,
    as_weights,
    feature_names,
    read_only,
    shortened,
)
from plsdof.errors import RankExhaustedError, RankExhaustedWarning
from plsdof.filters import pls_filter
from plsdof.joint_derivative import ALGORITHMS, JointFit, joint_fit
from plsdof.methods import PLSPath, is_accurate, optional_count, report_end
from plsdof.spectrum import SOLVERS, Decomposition, decompose
from plsdof.standardize import Standardized, Units, centre_response, standardize


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ResponsePaths:
    """One path per response; ``paths[j]`` and ``paths["name"]`` are `PLSPath` objects.

    Attributes
    ----------
    paths : tuple of PLSPath
        In the order of the columns of Y. They share one decomposition of X.
    names : tuple of str
        Column names of Y; "0", "1", ... if it had none.
    """

    paths: tuple[PLSPath, ...]
    names: tuple[str, ...]

    def __getitem__(self, key: int | str) -> PLSPath:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"{key!r} is no response; there are {shortened(self.names, 10)}.")
            key = self.names.index(key)
        return self.paths[key]

    def __iter__(self) -> Iterator[PLSPath]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    def __repr__(self) -> str:
        return f"ResponsePaths({len(self)} responses: {shortened(self.names)})"


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
    outside : (q,) array
        Squared norm of what no linear function of X reaches.
    names : tuple of str
        Column names of Y; "0", "1", ... if it had none.
    algorithm : str
        "nipals" or "simpls".
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
        return read_only(1.0 + self.fit.traces)

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
        inside: Array = np.einsum("mij,mij->mj", self.fit.residuals, self.fit.residuals)
        return read_only(inside * self.y_scale**2 + self.outside)

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
        return self.intercept[:, None, :] + new @ self.coef

    def noise_variance(self) -> Array:
        """RSS_j / (n - DoF_j) of every response; nan where DoF_j >= n. Shape (M + 1, q)."""
        return criteria.noise_from_dof(self.rss, self.dof_by_response, self.units.n)

    def __repr__(self) -> str:
        return (
            f"PLS2Path({len(self.dof)} models, n={self.units.n:g}, p={len(self.units.x_mean)}, "
            f"{len(self.names)} responses, algorithm={self.algorithm!r})"
        )


def pls_paths(
    X: Any,
    Y: Any,
    max_components: int | None = None,
    *,
    scale: bool = True,
    sample_weight: Any = None,
    solver: str = "auto",
    strict: bool = False,
) -> ResponsePaths:
    """Fit PLS1 to every column of Y, decomposing X once.

    Every response has its own components and its own exact Degrees of Freedom, as if
    `pls_path` had been called for it alone.

    Parameters
    ----------
    X : (n, p) array or data frame
    Y : (n, q) array or data frame, or (n,) array
        One response per column; names of a data frame are kept.
    max_components, scale, sample_weight, solver, strict
        As for `pls_path`.

    Returns
    -------
    ResponsePaths

    Notes
    -----
    Cost: one decomposition of X, plus O(n r + r M^2) time per response.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> Y = X[:, :2] + rng.normal(size=(30, 2))
    >>> paths = pls_paths(X, Y)
    >>> [path.select("bic").n_components for path in paths]
    [1, 2]
    """
    as_choice(solver, "solver", SOLVERS)
    names, responses = _as_responses(Y)
    data = _standardized(X, responses, scale, sample_weight)
    kept = _kept(responses, sample_weight)
    make = partial(pls_filter, max_components=optional_count(max_components))
    for attempt in ("gram", "svd") if solver == "auto" else (solver,):
        first = PLSPath.build(data, decompose(data, attempt), make)
        paths = (first, *(first.refit(y) for y in kept.T[1:]))
        if solver == "auto" and all(is_accurate(path, max_components) for path in paths):
            break
    for path in paths:
        report_end(path, strict, max_components)
    return ResponsePaths(paths=paths, names=names)


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
    names, responses = _as_responses(Y)
    data = _standardized(X, responses, scale, sample_weight)
    centred = [centre_response(y, data.units.row_scale) for y in _kept(responses, sample_weight).T]
    values = np.column_stack([one.values for one in centred])
    spread = np.sqrt(np.einsum("ij,ij->j", values, values) / (data.units.n - 1.0))
    y_scale = np.where(spread > 0, spread, 1.0) if scale_response else np.ones(len(names))
    decomposition = decompose(data, "svd")
    spectra = [decomposition.spectrum(column, data.units.n) for column in (values / y_scale).T]
    fit = joint_fit(spectra, asked, algorithm, scaled=scale_response)
    path = PLS2Path(
        units=data.units,
        decomposition=decomposition,
        fit=fit,
        y_mean=read_only([one.mean for one in centred]),
        y_scale=read_only(y_scale),
        outside=read_only([one.outside for one in spectra] * y_scale**2),
        names=names,
        algorithm=algorithm,
    )
    _report(path, asked, strict)
    return path


def _as_responses(Y: Any) -> tuple[tuple[str, ...], Array]:
    """Return names and values of the responses, (n, q)."""
    names = feature_names(Y)
    if names is None and np.ndim(Y) == 1:
        Y = np.asarray(Y)[:, None]
    values = as_matrix(Y, "Y", min_rows=2)
    return names or tuple(map(str, range(values.shape[1]))), values


def _standardized(X: Any, responses: Array, scale: bool, sample_weight: Any) -> Standardized:
    return standardize(X, responses[:, 0], scale=scale, sample_weight=sample_weight)


def _kept(responses: Array, sample_weight: Any) -> Array:
    """Leave out rows without weight."""
    weights = as_weights(sample_weight, len(responses))
    return responses if weights is None else responses[weights > 0]


def _report(path: PLS2Path, asked: int | None, strict: bool) -> None:
    size = len(path.dof) - 1
    if not path.message or (asked is None and size > 0):
        return
    wanted = "components" if asked is None else f"{asked} components"
    text = f"{wanted} asked for, {size} supported: {path.message}"
    if strict:
        raise RankExhaustedError(text)
    warnings.warn(text, RankExhaustedWarning, stacklevel=3)
