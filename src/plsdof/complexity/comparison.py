"""Different regression methods on the common scale of Degrees of Freedom."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plsdof._core.criteria import CRITERIA, Fits, noise_from_dof, score
from plsdof._core.display import as_html, data_frame, one_line
from plsdof._core.fit import METHODS
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_matrix,
    as_response,
    as_weights,
    opened_table,
    read_only,
)
from plsdof._core.path import Path
from plsdof._core.recipe import Recipe
from plsdof.complexity._monte_carlo import weight_options
from plsdof.complexity.regressors import degrees_of_freedom
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.selection.cross_validation import CrossValidation, cross_validate

if TYPE_CHECKING:
    from pandas import DataFrame


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
        The paths behind the rows; single regressors have none.

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
        validated: Mapping[str, CrossValidation] | None = None,
        *,
        criteria: Sequence[str] = ("aic", "bic"),
    ) -> "Comparison":
        """Make the table from paths that were fitted already, and their cross-validations.

        Examples
        --------
        >>> from plsdof import pcr_path, pls_path
        >>> from plsdof.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True)
        >>> Comparison.of({"pls": pls_path(X, y, 3), "pcr": pcr_path(X, y, 3)})
        Comparison(8 models: pls 4, pcr 4, criteria=('aic', 'bic'))
        """
        known = validated or {}
        blocks = [
            {
                "method": np.full(len(path.dof), name),
                **_path_rows(path, criteria, "jacobian"),
                "cv_error": _padded(known.get(name), len(path.dof)),
            }
            for name, path in paths.items()
        ]
        return _stacked(blocks, criteria, dict(paths))

    def columns(self) -> dict[str, Any]:
        """Return the table as a dictionary of columns."""
        return {
            "method": self.method,
            "parameter": self.parameter,
            "dof": self.dof,
            "dof_std_error": self.dof_std_error,
            "train_error": self.train_error,
            "cv_error": self.cv_error,
            **self.criteria,
        }

    def to_frame(self) -> "DataFrame":
        """Return the table as a pandas data frame."""
        return data_frame(self.columns())

    def nearest(self, dof: float) -> dict[str, int]:
        """Return, for each method, the row whose Degrees of Freedom are nearest to ``dof``."""
        found, wanted = {}, as_response(dof if np.ndim(dof) else [dof], 1, "dof")[0]
        for name, rows in self._rows().items():
            distance = np.abs(self.dof[rows] - wanted)
            if np.all(np.isnan(distance)):
                raise NotAvailableError(f"The Degrees of Freedom of {name!r} are not known.")
            found[name] = int(rows[np.nanargmin(distance)])
        return found

    def best(self, by: str = "cv_error") -> dict[str, int]:
        """Return, for each method, the row with the smallest value of a column."""
        as_choice(by, "by", ("train_error", "cv_error", *self.criteria))
        found = {}
        for name, rows in self._rows().items():
            values = self.columns()[by][rows]
            if np.all(np.isnan(values)):
                raise NotAvailableError(f"{by!r} is not known for {name!r}; ask for it (cv=...).")
            found[name] = int(rows[np.nanargmin(values)])
        return found

    def _repr_html_(self) -> str:
        """Return the best model of each method as a table."""
        validated = bool(np.any(np.isfinite(self.cv_error)))
        by = "cv_error" if validated else next(iter(self.criteria), "train_error")
        columns = self.columns()
        known = [rows for rows in self._rows().values() if np.any(np.isfinite(columns[by][rows]))]
        best = [int(rows[np.nanargmin(columns[by][rows])]) for rows in known]
        return as_html(
            repr(self),
            {name: values[best] for name, values in columns.items() if name != "dof_std_error"},
            notes=[f"The model of each method with the smallest {by}."],
        )

    def _rows(self) -> dict[str, npt.NDArray[np.intp]]:
        """Return the rows of each method."""
        names = dict.fromkeys(self.method.tolist())
        return {name: np.flatnonzero(self.method == name) for name in names}

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
        A method is a callable that takes (X, y) and returns a `Path`, or any scikit-learn
        regressor, which becomes one row with its `degrees_of_freedom`.
    max_components, alphas
        For the named methods.
    criteria : names of information criteria to evaluate
        With the noise variance of each model, "jacobian" in `Path.noise_variance`; as soon as a
        regressor is among the methods RSS / (n - DoF) for all, to keep the rows comparable.
    cv : int, splitter or pairs, optional
        Folds for the cross-validated error, the same for all methods; none by default.
    sample_weight : (n,) array, optional
        Weights, integers meaning repeated rows, for fits, errors and criteria alike.
    rng, n_jobs
        As in `cross_validate`.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> table = compare_paths(X, y, ["pls", "pcr"])
    >>> table.dof[list(table.nearest(6.6).values())].round(2)
    array([6.46, 7.  ])
    """
    X, y, sample_weight = opened_table(X, y, sample_weight)
    given, X = X, as_matrix(X, min_rows=2)
    y = as_response(y, len(X))
    criteria = (criteria,) if isinstance(criteria, str) else tuple(criteria)
    for name in criteria:
        as_choice(name, "criteria", tuple(CRITERIA))
    weights = as_weights(sample_weight, len(X))
    weighted = {} if weights is None else {"sample_weight": weights}
    known: Mapping[str, Any] = methods if isinstance(methods, Mapping) and methods else {}
    known = known or named_methods(methods, max_components=max_components, alphas=alphas)
    validate = partial(cross_validate, X, y, cv=cv, sample_weight=weights, rng=rng, n_jobs=n_jobs)
    # One noise variance for all: of a regressor there is no more than RSS / (n - DoF).
    noise = "dof" if any(hasattr(one, "predict") for one in known.values()) else "jacobian"
    paths, blocks = {}, []
    for name, method in known.items():
        if hasattr(method, "predict"):
            block = _regressor_rows(method, X, y, weights, criteria)
            fit: Callable[..., Any] = partial(_Fitted, method)
        else:
            paths[name] = method(given, y, **weighted)
            block = _path_rows(paths[name], criteria, noise)
            fit = paths[name].recipe if isinstance(method, Recipe) else method
        size = len(block["dof"])
        block["cv_error"] = _padded(None if cv is None else validate(fit), size)
        blocks.append({"method": np.full(size, name), **block})
    return _stacked(blocks, criteria, paths)


def _stacked(
    blocks: Sequence[dict[str, Any]], criteria: Sequence[str], paths: dict[str, Path]
) -> Comparison:
    merged = {key: np.concatenate([block[key] for block in blocks]) for key in blocks[0]}
    return Comparison(
        method=merged.pop("method"),
        criteria={name: read_only(merged.pop(name)) for name in criteria},
        paths=paths,
        **{key: read_only(values) for key, values in merged.items()},
    )


class _Fitted:
    """A fitted regressor as the only model of a path, for `cross_validate`."""

    parameters = np.zeros(1)

    def __init__(
        self, estimator: Any, X: Array, y: Array, sample_weight: Array | None = None
    ) -> None:
        from sklearn.base import clone

        self.model = clone(estimator).fit(X, y, **weight_options(estimator, sample_weight))

    def predict(self, X_new: Any) -> Array:
        return np.asarray(self.model.predict(X_new), dtype=np.float64).reshape(1, -1)


def _path_rows(path: Path, criteria: Sequence[str], noise: str) -> dict[str, Any]:
    return {
        "parameter": path.parameters,
        "dof": path.dof,
        "dof_std_error": path.dof_std_error,
        "train_error": path.rss / path.exact.spectrum.n,
        **path._criteria_by_name(criteria, noise),
    }


def _regressor_rows(
    estimator: Any, X: Array, y: Array, weights: Array | None, criteria: Sequence[str]
) -> dict[str, Any]:
    found = degrees_of_freedom(estimator, X, y, sample_weight=weights)
    w = np.ones(len(y)) if weights is None else weights
    n = float(w.sum())
    rss, dof = np.array([found.rss]), np.array([found.value])
    total = float(w @ (y - w @ y / n) ** 2)
    fits = Fits(rss=rss, dof=dof, noise=noise_from_dof(rss, dof, n), n=n, total=total)
    return {
        "parameter": np.array([np.nan]),
        "dof": dof,
        "dof_std_error": np.array([found.std_error]),
        "train_error": rss / n,
        # cp needs a noise level that does not depend on the model.
        **{
            k: score(k, fits) if CRITERIA[k].noise != "common" else np.array([np.nan])
            for k in criteria
        },
    }


def named_methods(methods: Any, *, scale: bool = True, **sizes: Any) -> dict[str, Recipe]:
    """Return recipes of methods by their names; sizes of other methods do not concern them."""
    named = isinstance(methods, list | tuple | set) and len(methods) > 0
    if not named or not all(isinstance(name, str) and name in METHODS for name in methods):
        raise InvalidInputError(
            f"methods must be a list of names among {tuple(METHODS)}, or a mapping from a name to "
            f"a callable (X, y) -> path or to a regressor; got {methods!r}."
        )
    chosen = [METHODS[name] for name in methods]
    return {one.name: one.recipe(scale=scale, **{one.size: sizes[one.size]}) for one in chosen}


def _padded(result: CrossValidation | None, size: int) -> Array:
    """Give models that not every fold supports, or that were not validated, the error nan."""
    values = np.full(size, np.nan)
    if result is not None:
        known = min(size, len(result.mean_error))
        values[:known] = result.mean_error[:known]
    return values
