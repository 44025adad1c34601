"""Ways to choose a model compared in random splits of the rows, as in section 4 of the paper.

The R package plsdof does this in `benchmark.pls` and `benchmark.regression`; here on any table.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plsdof._core.criteria import CRITERIA
from plsdof._core.display import data_frame, one_line
from plsdof._core.fit import METHODS
from plsdof._core.folds import Fold, make_folds
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_count,
    as_generator,
    as_matrix,
    as_response,
    opened_table,
    read_only,
)
from plsdof._core.model import Model
from plsdof._core.parallel import run_each
from plsdof._core.path import Path
from plsdof._core.recipe import Recipe
from plsdof._core.warnings import quietly
from plsdof.complexity.comparison import named_methods
from plsdof.selection.cross_validation import cross_validate

if TYPE_CHECKING:
    from pandas import DataFrame

# What is measured, in the order of the columns.
_MEASURES = ("rmse", "normalized_error", "n_components", "dof", "noise_level")


# What a name says after the method: how a model is chosen. The paper's ways (section 4) are BIC
# with exact Degrees of Freedom and the noise level of eq. (sigmastar), LANCZOS; with that of eq.
# (sigma), KRYLOV; with DoF = m + 1, NAIVE; and cross-validation, CV. The first minimum is the rule
# of the R package. Other criteria follow the rule of `Path.select`.
_BIC = {"criterion": "bic"}
_CRITERIA: dict[str, dict[str, Any]] = {
    **{name: {"criterion": name} for name in CRITERIA},
    "bic": _BIC | {"dof": "exact", "noise": "jacobian"},
    "bic-krylov": _BIC | {"dof": "exact", "noise": "dof"},
    "bic-naive": _BIC | {"dof": "naive", "noise": "naive"},
}
_WAYS = ("", "cv", "average", *_CRITERIA)
_NAMES = {f"{method}-{way}".strip("-"): (method, way) for method in METHODS for way in _WAYS}
CONTESTANTS = (
    *METHODS,
    *(f"{name}-cv" for name in METHODS),
    *("pls-bic", "pls-bic-krylov", "pls-bic-naive", "pls-gcv", "pls-average"),
)


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
    contestants: Sequence[str] = CONTESTANTS,
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
    contestants : sequence of str
        A method and a way to choose. "pls", "pcr", "ridge" take the default choice, "pls-cv" and
        so on 10-fold cross-validation, "pls-average" the average of the models, "pls-aicc" any
        criterion by its name. BIC is the paper's: "pls-bic" (its first minimum), "pls-bic-krylov"
        (another noise level), "pls-bic-naive" (DoF = m + 1). By default these, GCV, the average,
        and all methods by default choice and cross-validation.
    n_splits : int
    test_size : float or int
        Share, or number, of the rows (or groups) to test on.
    groups : (n,) array, optional
        Rows with the same label stay together, in splits, held-out rows and cross-validation.
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
        ``to_frame`` has means and standard deviations over the splits, one row per contestant;
        ``values`` every split.

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
    given = [contestants] if isinstance(contestants, str) else list(contestants)
    entered = {as_choice(name, "contestants", tuple(_NAMES)): _NAMES[name] for name in given}
    seed = int(as_generator(rng).integers(2**32))
    drawn = GroupShuffleSplit(
        as_count(n_splits, "n_splits", minimum=1), test_size=test_size, random_state=seed
    )
    splits = make_folds(X, y, drawn, np.arange(len(X)) if groups is None else groups)
    names = [*dict.fromkeys(method for method, _ in entered.values())]
    work = partial(
        _judged,
        contestants=[*entered.values()],
        recipes=named_methods(names, scale=scale, max_components=max_components, alphas=None),
        X=X,
        y=y,
        groups=None if groups is None else np.asarray(groups),
    )
    values = np.array(
        run_each(work, splits, n_jobs=n_jobs, progress=progress, description="Splits")
    )
    return SplitComparison(
        names=tuple(entered),
        values={name: read_only(values[:, :, i]) for i, name in enumerate(_MEASURES)},
        n_train=len(splits[0].train),
        n_test=len(splits[0].test),
    )


def _judged(
    split: Fold,
    *,
    contestants: Sequence[tuple[str, str]],
    recipes: Mapping[str, Recipe],
    X: Array,
    y: Array,
    groups: npt.NDArray[Any] | None,
) -> Array:
    """Return what is measured of all contestants in one split. Shape (K, 5)."""
    train, test = split.train, split.test
    kept = None if groups is None else groups[train]
    null = np.mean((y[test] - y[train].mean()) ** 2)
    with quietly():  # models that few rows do not support
        # Every method is fitted once, for all contestants that use it.
        paths = {name: recipe.fit(X[train], y[train]) for name, recipe in recipes.items()}
        rows = []
        for method, way in contestants:
            path = paths[method]
            model = _chosen(path, way, X[train], y[train], kept)
            error = np.mean((y[test] - model.predict(X[test])) ** 2)
            size = model.parameter if path.parameter_name == "n_components" else np.nan
            noise = np.sqrt(model.noise_variance(_CRITERIA.get(way, {}).get("noise")))
            rows.append([np.sqrt(error), error / null, size, model.dof, noise])
    return np.array(rows)


def _chosen(path: Path, way: str, X: Array, y: Array, groups: Any) -> Model:
    """Return the model that a contestant takes."""
    if way == "average":
        return path.average(groups=groups)
    if way == "cv":
        found = cross_validate(X, y, path.recipe, min(10, len(y)), groups, rng=0)
        return path[found.select().index]
    options: dict[str, Any] = _CRITERIA.get(way) or {"groups": groups}
    return path[path.select(**options).index]
