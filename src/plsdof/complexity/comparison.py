"""Regression methods compared on the scale of Degrees of Freedom."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plsdof._core.criteria import CRITERIA
from plsdof._core.display import as_html, data_frame, one_line
from plsdof._core.fit import METHODS
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_response,
    opened_table,
    read_only,
)
from plsdof._core.path import Path, criteria_of
from plsdof._core.recipe import Recipe
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.selection.cross_validation import cross_validate

if TYPE_CHECKING:
    from pandas import DataFrame

_COLUMNS = ("method", "parameter", "dof", "train_error", "cv_error")


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison:
    """One row per model of every method.

    Attributes
    ----------
    method : (K,) array of str
    parameter : (K,) array
        Number of components, or alpha.
    dof : (K,) array
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
        scores = [criteria_of(path, criteria, "jacobian") for path in each]
        known = [
            np.append((errors or {}).get(name, ()), np.full(size, np.nan))[:size]
            for name, size in zip(paths, sizes, strict=True)
        ]
        return cls(
            method=np.repeat(list(paths), sizes),
            parameter=_joined(path.parameters for path in each),
            dof=_joined(path.dof for path in each),
            train_error=_joined(path.rss / path.exact.n for path in each),
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
            {name: values[best] for name, values in columns.items()},
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
    for name in known if cv is not None else ():
        found = cross_validate(
            X,
            y,
            paths[name].recipe,
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
