"""Cross-validation corrected for folds that are smaller than the data ("adjCV")."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._core.display import data_frame, one_line, parameter_column
from plsdof._core.fit import METHODS
from plsdof._core.inputs import Array, as_choice, as_matrix, as_response, opened_table, read_only
from plsdof._core.path import Path
from plsdof._core.work import run_each
from plsdof.errors import InvalidInputError
from plsdof.selection.folds import Fold, make_folds

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CorrectedError:
    """Mean squared errors of every model, cross-validated and corrected.

    Attributes
    ----------
    parameters : (K,) array
        Numbers of components, or alphas.
    parameter_name : str
    cv_error : (K,) array
        Over all rows, each predicted without its fold.
    train_error : (K,) array
        Of the fit to all rows.
    corrected_error : (K,) array
        ``cv_error`` minus its estimated bias.
    """

    parameters: Array
    parameter_name: str
    cv_error: Array
    train_error: Array
    corrected_error: Array

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with one row per model."""
        columns = {self.parameter_name: parameter_column(self.parameters, self.parameter_name)}
        names = ("cv_error", "train_error", "corrected_error")
        return data_frame(columns | {name: getattr(self, name) for name in names})

    def __repr__(self) -> str:
        return one_line(self, f"{len(self.parameters)} models")


def corrected_error(
    X: Any,
    y: Any,
    path: str | Callable[..., Path] = "pls",
    cv: Any = 10,
    *,
    groups: Any = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> CorrectedError:
    """Correct the cross-validated error for the bias that folds are fitted to fewer rows.

        corrected = CV + train - sum_k (n_k / n) mean_i (y_i - yhat_i^(k))^2

    yhat^(k) are predictions of *all* rows by the model that was fitted without fold k of n_k rows.
    R's package pls calls this adjCV.

    Parameters
    ----------
    X, y : arrays, or a data frame and the name of a column
    path : {"pls", "pcr", "ridge"} or callable
        ``path(X, y, **options)`` returns a `Path`.
    cv, groups, random_state, n_jobs
        As for `cross_validate`.
    **options
        Of the method, such as ``max_components`` and ``scale``.

    Notes
    -----
    Cost: one fit per fold, and one to all rows.

    References
    ----------
    Davison & Hinkley (1997), Bootstrap Methods and their Application, eq. (6.48); Mevik &
    Cederkvist (2004), Journal of Chemometrics 18, 422-429.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> found = corrected_error(X, y, max_components=2)
    >>> found.cv_error.round(2), found.corrected_error.round(2)
    (array([67.07, 23.4 , 21.32]), array([67.05, 23.38, 21.28]))
    """
    X, y, _ = opened_table(X, y)
    rows = as_matrix(X, min_rows=3)
    y = as_response(y, len(rows))
    if "sample_weight" in options:
        raise InvalidInputError(
            "corrected_error does not take sample_weight: its formula is for rows that count "
            "alike. Repeat rows, and give the same group to the copies of one row."
        )
    fit = path
    if not callable(fit):
        fit = METHODS[as_choice(path, "path", tuple(METHODS))].path
    whole = fit(rows, y, **options)
    if path == "ridge":
        # One list of penalties for all folds: the default follows the eigenvalues of all rows.
        options["alphas"] = whole.parameters
    work = partial(_squares, X=rows, y=y, fit=partial(fit, **options))
    folds = make_folds(rows, y, cv, groups, random_state=random_state)
    squares = run_each(work, folds, n_jobs=n_jobs, description="Cross-validation")
    size = min(len(whole.dof), *(len(one) for one in squares))
    left_out, everywhere = np.zeros(size), np.zeros(size)
    for fold, one in zip(folds, squares, strict=True):
        left_out += one[:size, fold.test].sum(axis=1)
        everywhere += len(fold.test) * one[:size].mean(axis=1)
    tested = sum(len(fold.test) for fold in folds)
    train = whole.rss[:size] / len(y)
    return CorrectedError(
        parameters=read_only(whole.parameters[:size]),
        parameter_name=whole.parameter_name,
        cv_error=read_only(left_out / tested),
        train_error=read_only(train),
        corrected_error=read_only(left_out / tested + train - everywhere / tested),
    )


def _squares(fold: Fold, X: Array, y: Array, fit: Callable[..., Path]) -> Array:
    """Return squared errors of all rows by the models fitted without a fold. Shape (K, n)."""
    path = fit(X[fold.train], y[fold.train])
    return np.asarray((y - path.predict(X)) ** 2)
