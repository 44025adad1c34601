"""Methods and ways to choose compared on one's own data, in random splits of the rows."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from plsdof._core.display import as_html, data_frame, one_line
from plsdof._core.fit import METHODS
from plsdof._core.inputs import (
    Array,
    as_count,
    as_fraction,
    as_generator,
    as_matrix,
    as_response,
    opened_table,
    read_only,
)
from plsdof._core.path import Path
from plsdof._core.work import one_by_one, with_progress
from plsdof.complexity.comparison import named_methods
from plsdof.errors import InvalidInputError, PlsdofWarning, warn_caller
from plsdof.selection.cross_validation import cross_validate
from plsdof.selection.folds import Fold

if TYPE_CHECKING:
    from pandas import DataFrame

# Folds of cross-validation as in the paper, for parts with as many rows.
_FOLDS = 10


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
        For `Path.select`; none of them means the default choice.

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
    """What contestants did in the same random splits of the rows: R splits, K contestants.

    Attributes
    ----------
    names : tuple of str
    error : (R, K) array
        Mean squared error of the test rows.
    null_error : (R,) array
        That of the mean of the training rows.
    n_components : (R, K) array
        Of the chosen model (weighted mean for an average); nan for ridge regression.
    dof : (R, K) array
        Exact Degrees of Freedom of the chosen model, whatever the contestant took them for.
    noise_level : (R, K) array
        Standard deviation of the noise by the contestant's own estimate.
    n_rows : int
    n_test : (R,) array
        Number of test rows.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> compare_splits(*load_ozone(return_X_y=True), ["pls", "ridge-cv"], n_splits=3)
    SplitComparison(2 contestants, 3 splits, best='...')
    """

    names: tuple[str, ...]
    error: Array
    null_error: Array
    n_components: Array
    dof: Array
    noise_level: Array
    n_rows: int
    n_test: npt.NDArray[np.intp]

    def columns(self) -> dict[str, Any]:
        """Return means and standard deviations over the splits, one row per contestant.

        "rmse" is the root of the test error, "normalized_error" the test error divided by that of
        the mean: 1 where nothing was learned.
        """
        columns: dict[str, Any] = {"contestant": np.array(self.names)}
        for name, values in {
            "rmse": np.sqrt(self.error),
            "normalized_error": self.error / self.null_error[:, None],
            "n_components": self.n_components,
            "dof": self.dof,
            "noise_level": self.noise_level,
        }.items():
            columns[name], columns[f"{name}_std"] = _mean_and_std(values)
        return columns

    def to_frame(self) -> "DataFrame":
        """Return `columns` as a pandas data frame."""
        return data_frame(self.columns())

    def _repr_html_(self) -> str:
        """Return means and standard deviations as a table."""
        return as_html(repr(self), self.columns())

    def __repr__(self) -> str:
        best = self.names[int(np.argmin(self.columns()["rmse"]))]
        sizes = f"{len(self.names)} contestants", f"{len(self.error)} splits"
        return one_line(self, *sizes, best=best)


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
    random_state: Any = 0,
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
    test_size : float
        Share of the rows, or groups, to test on.
    groups : (n,) array, optional
        Rows with the same label stay together, in splits and in cross-validation.
    max_components : int, optional
        Largest model of PLS and PCR; 30 as in the paper.
    scale : bool
        Scale the columns to unit variance in every part.
    random_state : int or numpy Generator
        Makes the splits.
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
    0        pls-bic           1.4  4.9
    1  pls-bic-naive           2.4  7.9
    """
    X, y, _ = opened_table(X, y)
    X = as_matrix(X, min_rows=4)
    y = as_response(y, len(X))
    entered = _entered(contestants)
    splits = _random_splits(len(X), n_splits, test_size, groups, random_state)
    work = partial(
        _judged,
        contestants=entered,
        X=X,
        y=y,
        groups=None if groups is None else np.asarray(groups),
        fits=partial(named_methods, max_components=max_components, scale=scale),
    )
    results = one_by_one(work, splits, n_jobs)
    done: list[tuple[float, Array]] = []
    try:
        for one in with_progress(results, len(splits), "Splits") if progress else results:
            done.append(one)
    except KeyboardInterrupt:
        if not done:
            raise
        warn_caller(f"Interrupted after {len(done)} of {len(splits)} splits.", PlsdofWarning)
    table = np.array([judged for _, judged in done])
    error, size, dof, noise = (read_only(table[:, :, i]) for i in range(4))
    return SplitComparison(
        names=tuple(one.name for one in entered),
        error=error,
        null_error=read_only([empty for empty, _ in done]),
        n_components=size,
        dof=dof,
        noise_level=noise,
        n_rows=len(X),
        n_test=np.array([len(split.test) for split in splits[: len(done)]]),
    )


def _entered(contestants: Any) -> list[Contestant]:
    given = [contestants] if isinstance(contestants, str | Contestant) else list(contestants)
    for one in given:
        if not isinstance(one, Contestant) and not (isinstance(one, str) and one in CONTESTANTS):
            words = ", ".join(CONTESTANTS)
            raise InvalidInputError(
                f"contestants must be some of {words}, or Contestant objects; got {one!r:.60}."
            )
    if not given:
        raise InvalidInputError("contestants is empty; leave it out for all of them.")
    return [CONTESTANTS[one] if isinstance(one, str) else one for one in given]


def _random_splits(
    n: int, n_splits: int, test_size: float, groups: Any, random_state: Any
) -> list[Fold]:
    """Draw test rows, or whole groups, as often as asked for."""
    labels = np.arange(n)
    if groups is not None:
        labels = np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1)
    if len(labels) != n:
        raise InvalidInputError(f"groups must have one label per row, {n}; got {len(labels)}.")
    units = int(labels.max()) + 1
    n_test = round(as_fraction(test_size, "test_size") * units)
    if not 1 <= n_test <= units - 3:
        what = "rows" if groups is None else "groups"
        raise InvalidInputError(
            f"test_size={test_size:g} leaves {units - n_test} of {units} {what} to fit and "
            f"{n_test} to test; at least 3 and 1 are needed."
        )
    rng, splits = as_generator(random_state), []
    for _ in range(as_count(n_splits, "n_splits", minimum=1)):
        drawn = rng.permutation(units)[:n_test]
        splits.append(Fold(test=np.flatnonzero(np.isin(labels, drawn)), n_rows=n))
    return splits


def _judged(
    split: Fold,
    *,
    contestants: Sequence[Contestant],
    X: Array,
    y: Array,
    groups: npt.NDArray[Any] | None,
    fits: Callable[..., Mapping[str, Callable[..., Path]]],
) -> tuple[float, Array]:
    """Return the error of the training mean, and (K, 4): error, size, DoF, noise level."""
    train, test = split.train, split.test
    # Every method is fitted once, for all contestants that use it.
    methods = fits(list(dict.fromkeys(one.method for one in contestants)), float(len(train)))
    known = X[train], y[train], None if groups is None else groups[train]
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlsdofWarning)  # models that few rows do not support
        paths = {name: fit(*known[:2]) for name, fit in methods.items()}
        predicted = {name: path.predict(X[test]) for name, path in paths.items()}
        for one in contestants:
            path = paths[one.method]
            if one.by == "average":
                average = path.average()
                fitted, size = average.predict(X[test]), float(average.weights @ path.parameters)
                dof, noise = average.dof, average.noise_std
            else:
                index = _choice(one, path, methods[one.method], *known)
                kind = [one.options["noise"]] if "noise" in one.options else []
                fitted, size = predicted[one.method][index], float(path.parameters[index])
                dof, noise = path.dof[index], np.sqrt(path.noise_variance(*kind)[index])
            counted = size if path.parameter_name == "n_components" else np.nan
            rows.append([np.mean((y[test] - fitted) ** 2), counted, dof, noise])
    return float(np.mean((y[test] - y[train].mean()) ** 2)), np.array(rows)


def _choice(
    one: Contestant, path: Path, fit: Callable[..., Path], X: Array, y: Array, groups: Any
) -> int:
    """Return the model that a contestant takes."""
    if one.by == "select":
        return path.select(**one.options).index
    folds = min(_FOLDS, len(y))
    found = cross_validate(X, y, fit, folds, groups, random_state=0, keep_predictions=False)
    return found.select().index


def _mean_and_std(values: Array) -> tuple[Array, Array]:
    """Return means and standard deviations down the columns, of what is known. Shapes (K,)."""
    known = np.isfinite(values)
    count = np.where(known.any(axis=0), known.sum(axis=0), np.nan)
    mean = np.sum(np.where(known, values, 0.0), axis=0) / count
    squares = np.sum(np.where(known, (values - mean) ** 2, 0.0), axis=0)
    return mean, np.sqrt(squares / np.where(count > 1, count - 1, np.nan))
