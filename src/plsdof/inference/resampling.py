"""Jackknife and residual bootstrap of the coefficients: cross-checks of the analytic errors."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from plsdof._core.criteria import Noise
from plsdof._core.display import one_line
from plsdof._core.fit import pls_path
from plsdof._core.inputs import (
    Array,
    as_count,
    as_fraction,
    as_generator,
    as_matrix,
    as_response,
    as_weights,
    read_only,
)
from plsdof._core.path import Path, PathLike, as_model
from plsdof._core.work import run_each, with_progress
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.selection.folds import Fold, make_folds


@dataclass(frozen=True, kw_only=True, repr=False)
class Resampled:
    """Coefficients of one model under resampling.

    Attributes
    ----------
    replicates : (B, p) array
        Coefficients of each resample, in original units.
    std_error : (p,) array
    method : str

    Examples
    --------
    >>> from plsdof.inference import residual_bootstrap
    >>> X, y = [[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0]
    >>> residual_bootstrap(pls_path(X, y), y, 1, n_draws=100)
    Resampled(residual bootstrap, 100 draws, p=1)
    """

    replicates: Array
    std_error: Array
    method: str

    def interval(self, level: float = 0.95) -> Array:
        """Return the central share ``level`` of the replicates. Shape (p, 2).

        Meant for the bootstrap; jackknife replicates are far less spread than the estimate.
        """
        tail = (1 - as_fraction(level, "level")) / 2
        return np.quantile(self.replicates, [tail, 1 - tail], axis=0).T

    def __repr__(self) -> str:
        return one_line(self, self.method, p=self.replicates.shape[1])


def jackknife(
    X: Any,
    y: Any,
    m: int,
    *,
    path: Any = pls_path,
    cv: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Resampled:
    """Refit without each fold in turn; standard errors after Efron & Stein (1981).

        var = (g - 1)/g sum_k (beta_(k) - mean)^2       over g folds (grouped jackknife)

    Parameters
    ----------
    X, y : arrays
    m : int
        Row of the path (number of components).
    path : callable
        ``path(X, y)`` returns a `Path`; `pls_path` by default, fitted up to m components.
    cv : int, splitter or pairs, optional
        Folds as in `cross_validate`; leave-one-out by default.
    sample_weight : (n,) array, optional
        Weights of the rows in the fits. A fold is left out whole, so that a row of weight two
        counts as two rows that belong together.
    n_jobs, progress
        As in `cross_validate`.

    Returns
    -------
    Resampled

    Notes
    -----
    Cost: one fit per fold. Unlike the analytic errors it treats the rows of X as random.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> jackknife(X, y, 2, cv=10).std_error[:3].round(3)
    array([0.045, 0.012, 0.179])
    """
    m = as_count(m, "m")
    X = as_matrix(X, min_rows=3)
    y = as_response(y, len(X))
    if not callable(path):
        raise InvalidInputError(
            f"path must be a function (X, y) -> path, such as pls_path; got {type(path).__name__}."
        )
    fit = partial(pls_path, max_components=m) if path is pls_path else path
    weights = as_weights(sample_weight, len(X))
    counts = np.ones(len(X)) if weights is None else weights
    # Nothing changes without rows that have no weight: they are no fold.
    folds = [
        one for one in make_folds(X, y, len(X) if cv is None else cv) if counts[one.test].any()
    ]
    if len(folds) < 2:
        raise InvalidInputError(f"The jackknife needs at least 2 folds; got {len(folds)}.")
    work = partial(_coef_without, X=X, y=y, weights=weights, fit=fit, m=m)
    replicates = np.array(
        run_each(work, folds, n_jobs=n_jobs, progress=progress, description="Jackknife")
    )
    g = len(folds)
    spread = np.sum((replicates - replicates.mean(axis=0)) ** 2, axis=0)
    return Resampled(
        replicates=read_only(replicates),
        std_error=read_only(np.sqrt((g - 1) / g * spread)),
        method=f"jackknife over {g} folds",
    )


def residual_bootstrap(
    path: PathLike,
    y: Any,
    m: int | None = None,
    *,
    n_draws: int = 500,
    noise: Noise = None,
    random_state: int | None = 0,
    progress: bool = False,
) -> Resampled:
    """Refit responses made of the fit plus resampled residuals, X kept fixed.

    The residuals are centred and scaled to the noise variance of the model, so that their
    optimism does not shrink the standard errors.

    Parameters
    ----------
    path : Path
        Fitted without sample weights.
    y : (n,) array
        The response it was fitted to.
    m : int
        Row of the path.
    n_draws : int
        Number of resampled responses, at least 2.
    noise : {"jacobian", "dof", "naive"} or float, optional
        Noise variance of the resampled residuals; "jacobian" by default.
    random_state : int, optional
        Seed of the resampling; the default makes it reproducible.
    progress : bool
        Show a bar on stderr (needs rich).

    Returns
    -------
    Resampled

    Notes
    -----
    Cost: O(n r + r M^2) per draw; X is not decomposed again. Reference: Efron & Tibshirani (1993),
    chapter 9.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> path = pls_path(X, y)
    >>> residual_bootstrap(path, y, 2, n_draws=200).std_error[:3].round(2)
    array([0.05, 0.02, 0.15])
    >>> path.coef_std_error(2)[:3].round(2)  # analytic, at once
    array([0.06, 0.02, 0.15])
    """
    model = as_model(path, m)
    path, index = model.path, model.index
    n_draws = as_count(n_draws, "n_draws", minimum=2)
    if path.units.row_scale is not None:
        raise NotAvailableError("The residual bootstrap is defined for unweighted fits only.")
    y = as_response(y, path.units.n_rows)
    fitted = path.fitted[index]
    residuals = y - fitted
    residuals = residuals - residuals.mean()
    spread = np.sqrt(np.mean(residuals**2))
    if spread > 0:
        residuals = residuals * np.sqrt(path.noise_at(index, noise)) / spread
    rng = as_generator(random_state)
    replicates = np.empty((n_draws, len(path.units.x_mean)))
    draws = range(n_draws)
    for b in with_progress(draws, n_draws, "Bootstrap") if progress else draws:
        redrawn = path.refit(fitted + rng.choice(residuals, len(y)))
        # A draw may support fewer components than the data did.
        replicates[b] = redrawn.coef[min(index, len(redrawn.dof) - 1)]
    return Resampled(
        replicates=read_only(replicates),
        std_error=read_only(replicates.std(axis=0, ddof=1)),
        method=f"residual bootstrap, {n_draws} draws",
    )


def _coef_without(fold: Fold, X: Array, y: Array, weights: Array | None, fit: Any, m: int) -> Array:
    weighted = {} if weights is None else {"sample_weight": weights[fold.train]}
    path: Path = fit(X[fold.train], y[fold.train], **weighted)
    return np.asarray(path.coef[path.index(m)])
