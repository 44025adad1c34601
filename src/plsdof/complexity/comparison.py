"""Regression methods compared: on the scale of Degrees of Freedom, and in random splits."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plsdof._core.criteria import CRITERIA
from plsdof._core.display import as_html, data_frame, one_line
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
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.selection.cross_validation import cross_validate

if TYPE_CHECKING:
    from pandas import DataFrame

# On the scale of Degrees of Freedom
# ----------------------------------


_COLUMNS = ("method", "parameter", "dof", "dof_std_error", "train_error", "cv_error")


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison:
    """One row per model of every method.

    Attributes
    ----------
    method : (K,) array of str
    parameter : (K,) array
        Number of components, or alpha.
    dof : (K,) array
    dof_std_error : (K,) array
        Standard error of ``dof``: zero unless it is a Monte Carlo estimate.
    train_error : (K,) array
        RSS / n.
    cv_error : (K,) array
        Cross-validated mean squared error; nan where it was not asked for or not supported.
    criteria : dict of (K,) arrays
        Information criteria by name; nan where undefined.
    paths : dict of Path
        The paths behind the rows.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> table = compare_paths(*load_ozone(return_X_y=True))
    >>> table
    Comparison(76 models: pls 13, pcr 13, ridge 50, criteria=('aic', 'bic'))
    >>> table.parameter[table.best("bic")["pls"]]
    np.float64(2.0)
    """

    method: npt.NDArray[np.str_]
    parameter: Array
    dof: Array
    dof_std_error: Array
    train_error: Array
    cv_error: Array
    criteria: dict[str, Array]
    paths: dict[str, Path]

    @classmethod
    def of(
        cls,
        paths: Mapping[str, Path],
        errors: Mapping[str, Array] | None = None,
        *,
        criteria: Sequence[str] = ("aic", "bic"),
    ) -> "Comparison":
        """Make the table from paths that were fitted already, and their cross-validated errors.

        Models that have no error, because not every fold supports them, get nan.

        Examples
        --------
        >>> from plsdof import pcr_path, pls_path
        >>> from plsdof.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True)
        >>> Comparison.of({"pls": pls_path(X, y, 3), "pcr": pcr_path(X, y, 3)})
        Comparison(8 models: pls 4, pcr 4, criteria=('aic', 'bic'))
        """
        each, sizes = paths.values(), [len(path) for path in paths.values()]
        scores = [path.criteria(criteria, "jacobian") for path in each]
        known = [
            np.append((errors or {}).get(name, ()), np.full(size, np.nan))[:size]
            for name, size in zip(paths, sizes, strict=True)
        ]
        return cls(
            method=np.repeat(list(paths), sizes),
            parameter=_joined(path.parameters for path in each),
            dof=_joined(path.dof for path in each),
            dof_std_error=_joined(path.dof_std_error for path in each),
            train_error=_joined(path.rss / path.exact.spectrum.n for path in each),
            cv_error=_joined(known),
            criteria={name: _joined(score[name] for score in scores) for name in criteria},
            paths=dict(paths),
        )

    def columns(self) -> dict[str, Any]:
        """Return the table as a dictionary of columns."""
        return {name: getattr(self, name) for name in _COLUMNS} | self.criteria

    def to_frame(self) -> "DataFrame":
        """Return the table as a pandas data frame."""
        return data_frame(self.columns())

    def nearest(self, dof: float) -> dict[str, int]:
        """Return, for each method, the row whose Degrees of Freedom are nearest to ``dof``."""
        wanted = as_response(dof if np.ndim(dof) else [dof], 1, "dof")[0]
        return self._smallest(np.abs(self.dof - wanted), "dof")

    def best(self, by: str = "cv_error") -> dict[str, int]:
        """Return, for each method, the row with the smallest value of a column."""
        as_choice(by, "by", ("train_error", "cv_error", *self.criteria))
        return self._smallest(self.columns()[by], by)

    def _smallest(self, values: Array, column: str) -> dict[str, int]:
        known = np.where(np.isfinite(values), values, np.inf)
        found = {}
        for name in self.paths:
            rows = np.flatnonzero(self.method == name)
            found[name] = int(rows[np.argmin(known[rows])])
            if np.isinf(known[found[name]]):
                raise NotAvailableError(
                    f"{column!r} is not known for {name!r}; errors are computed with cv=..."
                )
        return found

    def _repr_html_(self) -> str:
        """Return the best model of each method as a table."""
        columns, each = self.columns(), [self.method == name for name in self.paths]
        wanted = ("cv_error", *self.criteria, "train_error")
        known = (by for by in wanted if all(np.isfinite(columns[by][rows]).any() for rows in each))
        by = next(known)
        best = [*self.best(by).values()]
        return as_html(
            repr(self),
            {name: values[best] for name, values in columns.items() if name != "dof_std_error"},
            notes=[f"The model of each method with the smallest {by}."],
        )

    def __repr__(self) -> str:
        counts = Counter(self.method.tolist())
        sizes = ", ".join(f"{name} {count}" for name, count in counts.items())
        return one_line(self, f"{len(self.dof)} models: {sizes}", criteria=(*self.criteria,))


def compare_paths(
    X: Any,
    y: Any,
    methods: Sequence[str] | Mapping[str, Any] = tuple(METHODS),
    *,
    max_components: int | None = None,
    alphas: Any = None,
    criteria: Sequence[str] = ("aic", "bic"),
    cv: Any = None,
    sample_weight: Any = None,
    rng: Any = None,
    n_jobs: int | None = None,
) -> Comparison:
    """Put PLS, PCR, ridge and more into one table with their Degrees of Freedom.

    Parameters
    ----------
    X, y : arrays
    methods : names among "pls", "pcr", "ridge", or mapping from a name to a method
        A method is a callable that takes (X, y) and returns a `Path`. For one number of any
        other regressor see `degrees_of_freedom`.
    max_components, alphas
        For the named methods.
    criteria : names of information criteria to evaluate
        With the noise variance of each model, "jacobian" in `Path.noise_variance`.
    cv : int, splitter or pairs, optional
        Folds for the cross-validated error, the same for all methods; none by default.
    sample_weight : (n,) array, optional
        Weights, integers meaning repeated rows, for fits, errors and criteria alike.
    rng, n_jobs
        As in `cross_validate`.

    Returns
    -------
    Comparison
        A table (``to_frame``) with a row per model, its best rows (``best``), and the rows nearest
        to a number of Degrees of Freedom (``nearest``).

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> table = compare_paths(X, y, ["pls", "pcr"])
    >>> table.dof[list(table.nearest(6.6).values())].round(2)
    array([6.46, 7.  ])
    """
    X, y, sample_weight = opened_table(X, y, sample_weight)
    criteria = (criteria,) if isinstance(criteria, str) else tuple(criteria)
    for name in criteria:
        as_choice(name, "criteria", tuple(CRITERIA))
    known: Mapping[str, Any] = methods if isinstance(methods, Mapping) and methods else {}
    known = known or named_methods(methods, max_components=max_components, alphas=alphas)
    for name, method in known.items():
        if not callable(method) or hasattr(method, "predict"):
            raise InvalidInputError(
                f"{name!r} must be a callable (X, y) -> path; got {type(method).__name__}. For the "
                "Degrees of Freedom of any regressor use degrees_of_freedom(estimator, X, y)."
            )
    weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
    paths = {name: method(X, y, **weighted) for name, method in known.items()}
    errors = {}
    for name, method in known.items() if cv is not None else ():
        found = cross_validate(
            X,
            y,
            paths[name].recipe if isinstance(method, Recipe) else method,
            cv=cv,
            sample_weight=sample_weight,
            rng=rng,
            n_jobs=n_jobs,
        )
        errors[name] = found.mean_error
    return Comparison.of(paths, errors, criteria=criteria)


def _joined(parts: Iterable[Array]) -> Array:
    return read_only(np.concatenate(list(parts)))


def named_methods(methods: Any, *, scale: bool = True, **sizes: Any) -> dict[str, Recipe]:
    """Return recipes of methods by their names; sizes of other methods do not concern them."""
    named = isinstance(methods, list | tuple | set) and len(methods) > 0
    if not named or not all(isinstance(name, str) and name in METHODS for name in methods):
        raise InvalidInputError(
            f"methods must be a list of names among {tuple(METHODS)}, or a mapping from a name to "
            f"a callable (X, y) -> path; got {methods!r}."
        )
    chosen = [METHODS[name] for name in methods]
    return {one.name: one.recipe(scale=scale, **{one.size: sizes.get(one.size)}) for one in chosen}


# In random splits of the rows
# ----------------------------

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
