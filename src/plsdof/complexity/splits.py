"""Methods and ways to choose compared on one's own data, in random splits of the rows."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from plsdof._core.display import data_frame, one_line
from plsdof._core.fit import METHODS
from plsdof._core.folds import Fold, make_folds
from plsdof._core.inputs import (
    Array,
    as_count,
    as_generator,
    as_matrix,
    as_response,
    opened_table,
    read_only,
)
from plsdof._core.model import Model
from plsdof._core.path import Path
from plsdof._core.quiet import warn_caller
from plsdof._core.recipe import Recipe
from plsdof._core.work import one_by_one, with_progress
from plsdof.complexity.comparison import named_methods
from plsdof.errors import InvalidInputError, PlsdofWarning
from plsdof.selection.cross_validation import cross_validate

if TYPE_CHECKING:
    from pandas import DataFrame

# What is measured, in the order of the columns.
_MEASURES = ("rmse", "normalized_error", "n_components", "dof", "noise_level")


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """A regression method together with a way to choose among its models.

    Attributes
    ----------
    name : str
    method : str
        Among those of `compare_paths`.
    by : {"select", "cv", "average"}
        By `Path.select`, by 10-fold cross-validation, or not at all: the average of the models.
    options : mapping
        For `Path.select`, `CrossValidation.select` or `Path.average`.

    Examples
    --------
    >>> Contestant(name="aicc", method="pls", options={"criterion": "aicc"})
    Contestant(name='aicc', method='pls', by='select', options={'criterion': 'aicc'})
    """

    name: str
    method: str
    by: Literal["select", "cv", "average"] = "select"
    options: Mapping[str, Any] = field(default_factory=dict)


def by_criterion(name: str, criterion: str, **options: Any) -> Contestant:
    """Return PLS with its components chosen by an information criterion."""
    return Contestant(name=name, method="pls", options={"criterion": criterion, **options})


# The paper's (section 4): BIC with exact Degrees of Freedom and the noise level of eq. (sigmastar),
# LANCZOS; with that of eq. (sigma), KRYLOV; with DoF = m + 1, NAIVE; and cross-validation, CV. The
# first minimum is the rule of the R package.
_bic = partial(by_criterion, criterion="bic", rule="first-minimum")
CONTESTANTS: dict[str, Contestant] = {
    one.name: one
    for one in (
        *(Contestant(name=name, method=name) for name in METHODS),
        *(Contestant(name=f"{name}-cv", method=name, by="cv") for name in METHODS),
        _bic("pls-bic", dof="exact", noise="jacobian"),
        _bic("pls-bic-krylov", dof="exact", noise="dof"),
        _bic("pls-bic-naive", dof="naive", noise="naive"),
        by_criterion("pls-gcv", "gcv"),
        Contestant(name="pls-average", method="pls", by="average"),
    )
}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SplitComparison:
    """What contestants did in the same random splits of the rows.

    Attributes
    ----------
    names : tuple of str
        The K contestants.
    values : dict of (R, K) arrays
        One row per split. "rmse": root mean squared error of the test rows; "normalized_error":
        their squared error divided by that of the mean of the training rows, 1 where nothing was
        learned; "n_components": of the chosen model (weighted mean for an average, nan for
        ridge); "dof": its exact Degrees of Freedom, whatever the contestant took them for;
        "noise_level": standard deviation of the noise by the contestant's own estimate.
    n_train, n_test : int
        Rows of the first split.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> compare_splits(*load_ozone(return_X_y=True), ["pls", "ridge-cv"], n_splits=3)
    SplitComparison(2 contestants, 3 splits, best='...')
    """

    names: tuple[str, ...]
    values: dict[str, Array]
    n_train: int
    n_test: int

    @property
    def n_splits(self) -> int:
        """Number of splits that were done."""
        return len(self.values["rmse"])

    def columns(self) -> dict[str, Any]:
        """Return means and standard deviations over the splits, one row per contestant."""
        columns: dict[str, Any] = {"contestant": np.array(self.names)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # columns without any number
            for name, values in self.values.items():
                columns[name] = np.nanmean(values, axis=0)
                columns[f"{name}_std"] = np.nanstd(values, axis=0, ddof=1)
        return columns

    def to_frame(self) -> "DataFrame":
        """Return `columns` as a pandas data frame."""
        return data_frame(self.columns())

    def __repr__(self) -> str:
        best = self.names[int(np.argmin(self.columns()["rmse"]))]
        return one_line(
            self, f"{len(self.names)} contestants", f"{self.n_splits} splits", best=best
        )


def compare_splits(
    X: Any,
    y: Any,
    contestants: Sequence[str | Contestant] = tuple(CONTESTANTS),
    *,
    n_splits: int = 50,
    test_size: float = 0.2,
    groups: Any = None,
    max_components: int | None = 30,
    scale: bool = True,
    rng: Any = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> SplitComparison:
    """Compare methods and ways to choose on one's own data, in random splits of the rows.

    In every split all contestants are fitted to the same training rows, with everything they
    choose, and tested on the same other rows: the comparison of the paper, on any table.

    Parameters
    ----------
    X : (n, p) array or data frame
    y : (n,) array
    contestants : names or `Contestant` objects
        "pls", "pcr", "ridge" take the default choice, "pls-cv", "pcr-cv", "ridge-cv" 10-fold
        cross-validation. The paper's others are "pls-bic", "pls-bic-krylov" (another noise level)
        and "pls-bic-naive" (DoF = m + 1); then there are "pls-gcv" and "pls-average". All of them
        by default.
    n_splits : int
    test_size : float or int
        Share, or number, of the rows (or groups) to test on.
    groups : (n,) array, optional
        Rows with the same label stay together, in splits, rows left out and cross-validation.
    max_components : int, optional
        Largest model of PLS and PCR; 30 as in the paper.
    scale : bool
        Scale the columns to unit variance in every part.
    rng : int or numpy Generator
        Draws the splits.
    n_jobs : int, optional
        Splits in parallel (needs joblib); -1 for all processors.
    progress : bool
        Show a bar on stderr (needs rich).

    Returns
    -------
    SplitComparison
        Of the splits that are done, with a warning, if it is interrupted.

    Notes
    -----
    Cost: per split one fit per method and those of its cross-validation.

    References
    ----------
    Kraemer & Sugiyama (2011), sections 3.3 and 4; ``benchmark.pls`` and ``benchmark.regression``
    of the R package plsdof.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> table = compare_splits(X, y, ["pls-bic", "pls-bic-naive"], n_splits=5, test_size=0.75)
    >>> table.to_frame()[["contestant", "n_components", "dof"]].round(1)
          contestant  n_components  dof
    0        pls-bic           1.2  4.3
    1  pls-bic-naive           3.0  9.8
    """
    from sklearn.model_selection import GroupShuffleSplit

    X, y, _ = opened_table(X, y)
    X = as_matrix(X, min_rows=4)
    y = as_response(y, len(X))
    entered = _entered(contestants)
    seed = int(as_generator(rng).integers(2**32))
    drawn = GroupShuffleSplit(
        as_count(n_splits, "n_splits", minimum=1), test_size=test_size, random_state=seed
    )
    splits = make_folds(X, y, drawn, np.arange(len(X)) if groups is None else groups)
    names = [*dict.fromkeys(one.method for one in entered)]
    sizes = {"max_components": max_components, "alphas": None}
    work = partial(
        _judged,
        contestants=entered,
        recipes=named_methods(names, scale=scale, **sizes),
        X=X,
        y=y,
        groups=None if groups is None else np.asarray(groups),
    )
    results = one_by_one(work, splits, n_jobs)
    done: list[Array] = []
    try:
        for one in with_progress(results, len(splits), "Splits") if progress else results:
            done.append(one)
    except KeyboardInterrupt:
        if not done:
            raise
        warn_caller(f"Interrupted after {len(done)} of {len(splits)} splits.", PlsdofWarning)
    values = np.array(done)
    return SplitComparison(
        names=tuple(one.name for one in entered),
        values={name: read_only(values[:, :, i]) for i, name in enumerate(_MEASURES)},
        n_train=len(splits[0].train),
        n_test=len(splits[0].test),
    )


def _entered(contestants: Any) -> list[Contestant]:
    given = [contestants] if isinstance(contestants, str | Contestant) else list(contestants)
    found = [CONTESTANTS.get(one) if isinstance(one, str) else one for one in given]
    if not found or not all(isinstance(one, Contestant) for one in found):
        raise InvalidInputError(
            f"contestants must be some of {', '.join(CONTESTANTS)}, or Contestant objects; got "
            f"{given!r:.80}."
        )
    return [one for one in found if isinstance(one, Contestant)]


def _judged(
    split: Fold,
    *,
    contestants: Sequence[Contestant],
    recipes: Mapping[str, Recipe],
    X: Array,
    y: Array,
    groups: npt.NDArray[Any] | None,
) -> Array:
    """Return what is measured of all contestants in one split. Shape (K, 5)."""
    train, test = split.train, split.test
    kept = None if groups is None else groups[train]
    null = np.mean((y[test] - y[train].mean()) ** 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlsdofWarning)  # models that few rows do not support
        # Every method is fitted once, for all contestants that use it.
        paths = {name: recipe.fit(X[train], y[train]) for name, recipe in recipes.items()}
        rows = []
        for one in contestants:
            path = paths[one.method]
            model = _chosen(one, path, X[train], y[train], kept)
            error = np.mean((y[test] - model.predict(X[test])) ** 2)
            size = model.parameter if path.parameter_name == "n_components" else np.nan
            noise = np.sqrt(model.noise_variance(one.options.get("noise")))
            rows.append([np.sqrt(error), error / null, size, model.dof, noise])
    return np.array(rows)


def _chosen(one: Contestant, path: Path, X: Array, y: Array, groups: Any) -> Model:
    """Return the model that a contestant takes."""
    if one.by == "average":
        return path.average(groups=groups, **one.options)
    if one.by == "cv":
        found = cross_validate(X, y, path.recipe, min(10, len(y)), groups, rng=0)
        return path[found.select(**one.options).index]
    together = {} if "criterion" in one.options else {"groups": groups}
    return path[path.select(**one.options, **together).index]
