"""Fold fitters: from a fold to predictions of its test rows.

`Refit` fits a path to the training rows of one fold at a time and takes any path. `FastPLS` first
tries all folds together; what it cannot be certain of is refitted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from plsdof._validation import Array
from plsdof.errors import InvalidInputError
from plsdof.fold_fits import FoldFit, FoldProblem
from plsdof.fold_moments import fits_from_moments
from plsdof.fold_products import fits_from_kernel, fits_from_products
from plsdof.folds import Fold
from plsdof.parallel import Outcome
from plsdof.path import Path

Route = Callable[[FoldProblem, Sequence[Fold]], list[Outcome[FoldFit] | None]]


class Predictor(Protocol):
    """What a callable ``path`` has to return: all models of one fit."""

    @property
    def parameters(self) -> Array:
        """What tells the models apart, simplest model first. Shape (K,)."""

    def predict(self, X_new: Any) -> Array:
        """Predict new rows with every model. Shape (K, n_new)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Refit:
    """Fits a path to the training rows of each fold.

    Attributes
    ----------
    X : (n, p) array
    y : (n,) array
    weights : (n,) array or None
    path : callable
        Takes X, y and, with weights, ``sample_weight``; returns a `Predictor`.
    """

    X: Array
    y: Array
    weights: Array | None
    path: Callable[..., Predictor]

    def fit_together(self, folds: Sequence[Fold]) -> list[Outcome[FoldFit] | None]:
        """Return what is quicker to fit together, with its warnings; here that is nothing."""
        return [None] * len(folds)

    def fit(self, fold: Fold) -> FoldFit:
        """Fit one fold and predict its test rows."""
        train, test = fold.train, fold.test
        weighted = {} if self.weights is None else {"sample_weight": self.weights[train]}
        path = self.path(self.X[train], self.y[train], **weighted)
        parameters = np.asarray(path.parameters, dtype=np.float64)
        predictions = np.asarray(path.predict(self.X[test]), dtype=np.float64)
        if predictions.shape != (len(parameters), len(test)):
            raise InvalidInputError(
                f"path.predict must return one row per model and one column per new row, shape "
                f"{(len(parameters), len(test))}; got shape {predictions.shape}."
            )
        known = path if isinstance(path, Path) else None
        return FoldFit(
            predictions=predictions,
            parameters=parameters,
            parameter_name=known.parameter_name if known else "n_components",
            simplest_first=known.simplest_first() if known else np.arange(len(parameters)),
            message=getattr(path, "message", ""),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class FastPLS(Refit):
    """Fits Partial Least Squares to all folds together, where the result is certain.

    What is left is refitted by ``path``, which is `pls_path` with these ``max_components`` and
    ``scale``.
    """

    max_components: int | None
    scale: bool

    def fit_together(self, folds: Sequence[Fold]) -> list[Outcome[FoldFit] | None]:
        """Return predictions by moments or by products with X; None where neither is certain."""
        problem = FoldProblem(
            X=self.X,
            y=self.y,
            weights=self.weights,
            max_components=self.max_components,
            scale=self.scale,
        )
        # From one route to the next, more is certain, at a higher cost.
        routes = [*_shortcuts(problem, len(folds)), fits_from_products]
        fits: list[Outcome[FoldFit] | None] = [None] * len(folds)
        for route in routes:
            left = [i for i, fit in enumerate(fits) if fit is None]
            for i, fit in zip(left, route(problem, [folds[i] for i in left]), strict=True):
                fits[i] = fit
        return fits


def _shortcuts(problem: FoldProblem, n_folds: int) -> list[Route]:
    """Return the route through a Gram matrix if it costs less than products with X.

    Costs are what the parts of each took on one machine, in nanoseconds.
    """
    (n, p), M = problem.X.shape, problem.max_components
    M = min(n - 1, p) if M is None else M
    vectors = 2 * n_folds
    per_entry = 0.76 + 0.019 * vectors
    scores = vectors * M * n * (8.0 + 0.8 * M)
    costs: dict[Route, float] = {
        fits_from_products: 2 * M * n * p * per_entry + scores,
        fits_from_moments: 0.02 * n * p**2 + n_folds * (1e5 + p**2 * (6.0 + 0.4 * M)),
    }
    if not problem.scale:
        costs[fits_from_kernel] = 0.02 * n**2 * p + M * n**2 * per_entry + scores
    cheapest = min(costs, key=lambda route: costs[route])
    return [] if cheapest is fits_from_products else [cheapest]
