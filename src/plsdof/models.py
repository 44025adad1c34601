"""All models of a path: how complex they are, how noisy the data, and which one to choose."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from plsdof import criteria
from plsdof._validation import (
    Array,
    as_choice,
    as_count,
    read_only,
)
from plsdof.criteria import DOF_KINDS, Fits, Selection
from plsdof.decomposition import Decomposition
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.filters import Filter
from plsdof.noise import NOISE_KINDS, Noise, as_variance, noise_label, usual_noise
from plsdof.readable import data_frame, parameter_column
from plsdof.spectrum import Spectrum
from plsdof.standardize import Units

Integers = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Models:
    """All models of one regression method, from the simplest to the richest.

    Arrays over models have one row per model. `Path` adds coefficients and derivatives.

    Attributes
    ----------
    units : Units
        Means, scales and weights that lead back to the original units.
    decomposition : Decomposition
        Singular vectors of the standardised predictors.
    spectrum : Spectrum
        Eigenvalues and rotated response.
    filter : Filter
        Filter factors, Degrees of Freedom and their errors.
    make_filter : callable
        The method: from a spectrum to a filter.
    full : callable or None
        Makes the same path in a basis of all directions of X, if ``decomposition`` does not hold
        them all; see `complete`.
    """

    units: Units
    decomposition: Decomposition
    spectrum: Spectrum
    filter: Filter
    make_filter: Callable[[Spectrum], Filter]
    full: Callable[[], "Models"] | None = None

    def complete(self) -> Self:
        """Return this path in a basis of all directions of X, in which Jacobians can be formed.

        Numbers that both have agree within their errors. Cost: one decomposition, the first time.
        """
        return self if self.full is None else self._complete

    @cached_property
    def _complete(self) -> Self:
        assert self.full is not None
        path = self.full()
        assert isinstance(path, type(self))
        return path

    @property
    def parameters(self) -> Array:
        """What tells the models apart: numbers of components, or alphas. Shape (K,)."""
        return read_only(np.arange(len(self.dof)))

    @property
    def parameter_name(self) -> str:
        """What `parameters` holds: "n_components" or "alpha"."""
        return "n_components"

    @property
    def solver(self) -> str:
        """How X was decomposed: "svd" or "gram"."""
        return self.decomposition.solver

    @property
    def message(self) -> str:
        """Why the path is shorter than asked for; empty if it is not."""
        return self.filter.message

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Column names of X, if it was a data frame."""
        return self.units.names

    @property
    def dof(self) -> Array:
        """Degrees of Freedom, trace of d yhat / d y; exact and never clipped. Shape (K,)."""
        return self.filter.dof

    @property
    def dof_error(self) -> Array:
        """Estimated absolute rounding error of `dof`. Shape (K,)."""
        return self.filter.dof_error

    @property
    def dof_std_error(self) -> Array:
        """Standard error of `dof`: zero unless random probes estimated it. Shape (K,)."""
        return self.filter.dof_std_error

    @property
    def naive_dof(self) -> Array:
        """Number of components + 1 (for ridge the same as `dof`). Shape (K,)."""
        return self.filter.naive_dof

    @cached_property
    def rss(self) -> Array:
        """Residual sums of squares ``|phi * z|^2 + |y_perp|^2``. Shape (K,)."""
        left_over = self.filter.residuals * self.spectrum.z
        return read_only(np.einsum("ki,ki->k", left_over, left_over) + self.spectrum.outside)

    def label(self, index: int) -> str:
        """Return what a row of the path is, in words."""
        return f"{int(self.parameters[index])} component(s)"

    def noise_variance(self, kind: str = "jacobian", *, dof: str = "exact") -> Array:
        """Estimate the noise variance from every model. Shape (K,).

        Parameters
        ----------
        kind : {"jacobian", "dof", "naive"}
            RSS / (sum (1-f)^2 + n - 1 - r), RSS / (n - DoF), or RSS / (n - m - 1); theory in the
            documentation of `criteria`. nan where the denominator is not positive.
        dof : {"exact", "clipped"}
            Degrees of Freedom for kind "dof".
        """
        as_choice(kind, "kind", NOISE_KINDS)
        as_choice(dof, "dof", ("exact", "clipped"))
        if kind == "jacobian":
            return criteria.noise_from_jacobian(self.rss, self.filter.residual_trace)
        values = self._dof(dof if kind == "dof" else "naive")
        return criteria.noise_from_dof(self.rss, values, self.spectrum.n)

    def noise_at(self, m: int, noise: Noise = None) -> float:
        """Return the noise variance of one model, by kind ("jacobian" by default) or as given."""
        if noise is None or isinstance(noise, str):
            return float(self.noise_variance(noise or "jacobian")[self.index(m)])
        return as_variance(noise)

    def criterion(self, name: str, dof: str = "exact", noise: Noise = None) -> Array:
        """Evaluate an information criterion for every model. Shape (K,).

        Parameters
        ----------
        name : {"bic", "aic", "gmdl", "aicc", "cp", "gcv"}
            See `plsdof.criteria` for the formulas.
        dof : {"exact", "naive", "clipped"}
            Degrees of Freedom by the derivative, or the number of components + 1;
            "clipped" limits the exact value to min(n - 1, p + 1), as the R package does.
        noise : {"jacobian", "dof", "naive"} or float, optional
            Noise variance for aic, bic and cp. None means "jacobian" with exact and "naive" with
            naive Degrees of Freedom, evaluated at each model; for cp, which needs one value for
            all models, the variance left by least squares. A float is used as given.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
        >>> path.criterion("bic").round(2)
        array([3.2 , 0.39])
        """
        as_choice(dof, "dof", DOF_KINDS)
        as_choice(name, "criterion", tuple(criteria.CRITERIA))
        values = self._noise_for(name, dof, noise)
        fits = Fits(
            rss=self.rss,
            dof=self._dof(dof),
            noise=values,
            n=self.spectrum.n,
            total=self.spectrum.total,
        )
        return criteria.score(name, fits)

    def select(
        self,
        criterion: str = "bic",
        dof: str = "exact",
        noise: Noise = None,
        rule: str | None = None,
    ) -> Selection:
        """Choose a model by an information criterion.

        The first local minimum, going from the simplest model to richer ones, is the default
        (`default_rule`), except for principal components; the global minimum is misled by models
        that nearly interpolate the data. Models with fewer Degrees of Freedom than the intercept
        alone (a genuine value of an unbiased estimate, but no basis for a penalty) and undefined
        scores are never chosen.

        Parameters
        ----------
        criterion, dof, noise
            As for `criterion`.
        rule : {"first-minimum", "global-minimum"}, optional

        Returns
        -------
        Selection

        Examples
        --------
        >>> from plsdof import pls_path
        >>> from plsdof.datasets import load_ozone
        >>> pls_path(*load_ozone(return_X_y=True)).select("bic")
        Selection(n_components=2, criterion='bic', rule='first-minimum', score=23.8992)
        """
        rule = self.default_rule if rule is None else rule
        scores = self.criterion(criterion, dof, noise)
        order = self.simplest_first()
        implausible = self._dof(dof) < 1.0 - 1e-9
        eligible = np.where(implausible, np.nan, scores)
        index = int(order[criteria.choose(eligible[order], rule)])
        return Selection(
            index=index,
            parameter=float(self.parameters[index]),
            parameter_name=self.parameter_name,
            scores=read_only(scores),
            criterion=criterion,
            rule=rule,
            dof=dof,
            noise=noise_label(criterion, dof, noise),
            message=self._explain(index, scores, implausible, f"{rule} of {criterion}"),
        )

    @property
    def default_rule(self) -> str:
        """How `select` chooses unless told otherwise."""
        return "first-minimum"

    def criteria_by_name(
        self, names: Sequence[str] = tuple(criteria.CRITERIA), noise: str = "jacobian"
    ) -> dict[str, Array]:
        """Evaluate several criteria; all nan where one is not available (cp without a noise)."""
        return {name: self._score_or_nan(name, noise) for name in names}

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per model, in the order of the path.

        Columns: the parameter ("n_components" or "alpha"), dof, dof_std_error, naive_dof, rss,
        noise_std (the root of `noise_variance`), and all information criteria with their
        defaults; nan where one is not defined.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
        >>> path.to_frame()[["n_components", "dof", "rss"]]
           n_components  dof   rss
        0             0  1.0  8.75
        1             1  2.0  0.65
        """
        columns = {
            self.parameter_name: parameter_column(self.parameters, self.parameter_name),
            "dof": self.dof,
            "dof_std_error": self.dof_std_error,
            "naive_dof": self.naive_dof,
            "rss": self.rss,
            "noise_std": np.sqrt(self.noise_variance()),
        }
        return data_frame(columns | self.criteria_by_name())

    def simplest_first(self) -> Integers:
        """Return the rows of the path from the simplest model to the richest."""
        return np.arange(len(self.dof))

    def index(self, m: int) -> int:
        """Check a row of the path and return it."""
        return as_row(m, len(self.dof), self.message)

    def _explain(
        self, index: int, scores: Array, implausible: npt.NDArray[np.bool_], how: str
    ) -> str:
        text = f"{how} at {self.label(index)} ({self.dof[index]:.2f} Degrees of Freedom)."
        undefined = int(np.isnan(scores).sum())
        if undefined:
            text += f" Not defined for {undefined} model(s) with too many Degrees of Freedom."
        if implausible.any():
            text += (
                f" {int(implausible.sum())} model(s) with less than 1 Degree of Freedom skipped."
            )
        return text

    def _score_or_nan(self, name: str, noise: str) -> Array:
        try:
            # cp needs one noise variance for all models.
            return self.criterion(name, noise=None if name == "cp" else noise)
        except NotAvailableError:
            return np.full(len(self.dof), np.nan)

    def _dof(self, kind: str) -> Array:
        if kind == "naive":
            return self.naive_dof
        if kind == "exact":
            return self.dof
        # "clipped"
        limit = min(self.spectrum.n - 1.0, len(self.units.x_mean) + 1.0)
        return np.minimum(self.dof, limit)

    def _noise_for(self, name: str, dof: str, noise: Noise) -> Array:
        if name == "cp" and noise is None:
            return np.full(len(self.rss), self._least_squares_noise())
        noise = usual_noise(dof) if noise is None else noise
        if isinstance(noise, str):
            as_choice(noise, "noise", NOISE_KINDS)
            values = self.noise_variance(noise, dof="clipped" if dof == "clipped" else "exact")
            return np.full_like(values, values[-1]) if name == "cp" else values
        return np.full(len(self.rss), as_variance(noise))

    def _least_squares_noise(self) -> float:
        spectrum = self.complete().spectrum
        spare = spectrum.residual_dimension
        if spare <= 0:
            raise NotAvailableError(
                "cp needs a noise variance that does not depend on the model; with as many "
                "directions in X as observations least squares leaves none. Give noise=<variance>."
            )
        return spectrum.outside / spare


def as_row(m: int, size: int, message: str) -> int:
    """Return ``m`` if a path of this size has such a row; the message says why it has no more."""
    index = as_count(m, "m")
    if index >= size:
        raise InvalidInputError(f"m must be in 0..{size - 1}; got {m}. {message}".rstrip())
    return index
