"""Selection of variables that counts its cost: intervals of wavelengths, thresholds of VIP.

A search fits PLS to several sets of columns and keeps the set that a criterion likes best. The
Degrees of Freedom of the winning fit take its columns as given, so they leave out the search, and
so does a cross-validation of the winner. What the search costs, two things tell:

* `plsdof.degrees_of_freedom` of a `SelectedPLSRegressor`, by Monte Carlo: the search is done again
  on perturbed responses;
* `plsdof.cross_validate` with `searching`: the search is done again in every fold.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from plsdof._core.fit import pls_path
from plsdof._core.inputs import Array, as_matrix, as_response, read_only
from plsdof._core.path import PLSPath
from plsdof.chemometrics.variables import vip
from plsdof.errors import InvalidInputError, NotAvailableError

Mask = npt.NDArray[np.bool_]

DEFAULT_INTERVALS = 10
VIP_THRESHOLDS = (0.5, 0.75, 1.0, 1.25, 1.5)
_MOST_COMPONENTS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Search:
    """What a search among sets of columns found.

    Attributes
    ----------
    labels : tuple of str
        The sets that were tried, in words; the first one has all columns.
    masks : (S, p) array of bool
    scores : (S,) array
        Criterion of the best model of each set; nan where it is not defined.
    chosen : int
        The set with the smallest one.
    path : PLSPath
        Of the columns of this set.
    index : int
        The model that the criterion chose of it.
    """

    labels: tuple[str, ...]
    masks: Mask
    scores: Array
    chosen: int
    path: PLSPath
    index: int

    @property
    def support(self) -> Mask:
        """The columns that were chosen. Shape (p,)."""
        return np.asarray(self.masks[self.chosen])


def parse_search(text: str) -> tuple[str, int]:
    """Return the kind of a search and its number of intervals.

    Examples
    --------
    >>> parse_search("intervals:20"), parse_search("vip")
    (('intervals', 20), ('vip', 0))
    """
    kind, _, number = str(text).partition(":")
    if kind == "vip" and not number:
        return kind, 0
    if kind == "intervals" and (not number or (number.isdecimal() and 2 <= int(number) < 10_000)):
        return kind, int(number or DEFAULT_INTERVALS)
    raise InvalidInputError(
        f"a search must be intervals, intervals:K with K >= 2, or vip; got {text!r:.60}."
    )


def search_columns(
    X: Any,
    y: Any,
    search: str = "intervals",
    *,
    criterion: str = "gcv",
    max_components: int = _MOST_COMPONENTS,
    scale: bool = True,
) -> Search:
    """Fit PLS to sets of columns, and keep the set with the smallest criterion.

    Parameters
    ----------
    X : (n, p) array
        Columns in the order of the spectrum.
    y : (n,) array
    search : str
        "intervals:K": all columns, and each of K neighbouring intervals of about the same number
        of columns (iPLS). "vip": all columns, and those whose variable importance in the model of
        all columns is at least 0.5, 0.75, 1, 1.25 or 1.5.
    criterion : str
        Chooses the number of components in each set, and the set.
    max_components : int
        Largest model to look at.
    scale : bool
        Scale the columns to unit variance.

    Notes
    -----
    Cost: one fit for each set. ``path.dof`` of the result takes the columns as given; see the top
    of `plsdof.chemometrics.search` for what the search itself costs.

    References
    ----------
    L. Norgaard et al. (2000), Interval partial least-squares regression (iPLS), Applied
    Spectroscopy 54, 413-419.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 60))
    >>> y = X[:, 20:25].sum(axis=1) + rng.normal(size=40)
    >>> found = search_columns(X, y, "intervals:12")
    >>> found.labels[found.chosen], int(found.support.sum())
    ('columns 21 to 25', 5)
    """
    X = as_matrix(X, min_rows=3)
    y = as_response(y, len(X))
    kind, count = parse_search(search)
    whole = pls_path(X, y, min(max_components, len(X) - 1, X.shape[1]), scale=scale)
    if kind == "intervals":
        labels, masks = _intervals(X.shape[1], count)
    else:
        labels, masks = _important(whole, whole.select(criterion).index)
    paths, scores, rows = [], [], []
    for i, mask in enumerate(masks):
        path = whole
        if i:
            most = min(max_components, len(X) - 1, int(mask.sum()))
            path = pls_path(X[:, mask], y, most, scale=scale)
        index, score = _best(path, criterion)
        paths.append(path)
        scores.append(score)
        rows.append(index)
    if np.isnan(scores).all():
        raise NotAvailableError(
            f"{criterion!r} is not defined for any set of columns; choose another criterion."
        )
    chosen = int(np.nanargmin(scores))
    return Search(
        labels=labels,
        masks=masks,
        scores=read_only(np.array(scores)),
        chosen=chosen,
        path=paths[chosen],
        index=rows[chosen],
    )


def _best(path: PLSPath, criterion: str) -> tuple[int, float]:
    try:
        chosen = path.select(criterion)
    except NotAvailableError:
        return 0, float("nan")
    return chosen.index, float(chosen.scores[chosen.index])


def _intervals(p: int, count: int) -> tuple[tuple[str, ...], Mask]:
    if count > p:
        raise InvalidInputError(
            f"{count} intervals need at least {count} columns; there are {p}. Ask for fewer."
        )
    edges = np.linspace(0, p, count + 1).round().astype(int)
    masks = np.zeros((count + 1, p), dtype=bool)
    masks[0] = True
    labels = ["all columns"]
    for i, (start, stop) in enumerate(pairwise(edges.tolist()), start=1):
        masks[i, start:stop] = True
        labels.append(f"columns {start + 1} to {stop}")
    return tuple(labels), masks


def _important(path: PLSPath, index: int) -> tuple[tuple[str, ...], Mask]:
    values = vip(path, max(1, index)) if len(path.dof) > 1 else np.zeros(path.coef.shape[1])
    labels, masks = ["all columns"], [np.ones(len(values), dtype=bool)]
    for threshold in VIP_THRESHOLDS:
        mask = values >= threshold
        if mask.any() and not np.array_equal(mask, masks[-1]):
            labels.append(f"VIP >= {threshold:g}")
            masks.append(mask)
    return tuple(labels), np.array(masks)


class SelectedPLSRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """PLS on the columns that a search chose; its Degrees of Freedom can count the search.

    Parameters
    ----------
    search, criterion, max_components, scale
        As for `search_columns`.

    Attributes
    ----------
    support_ : (p,) array of bool
        The columns that were chosen.
    search_ : Search
    coef_ : (p,) array
        0 where a column was not chosen.
    intercept_ : float
    n_components_ : int

    Examples
    --------
    >>> from plsdof import degrees_of_freedom
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(40, 60)), rng.normal(size=40)  # nothing to find
    >>> model = SelectedPLSRegressor("intervals:12", max_components=2).fit(X, y)
    >>> fixed = model.search_.path.dof[model.n_components_]
    >>> whole = degrees_of_freedom(model, X, y, n_draws=20)
    >>> bool(whole.value > fixed), whole.method
    (True, 'monte-carlo')
    """

    def __init__(
        self,
        search: str = "intervals",
        criterion: str = "gcv",
        max_components: int = _MOST_COMPONENTS,
        scale: bool = True,
    ) -> None:
        self.search = search
        self.criterion = criterion
        self.max_components = max_components
        self.scale = scale

    def fit(self, X: Any, y: Any) -> "SelectedPLSRegressor":
        """Search, and keep the best model."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=3)
        found = search_columns(
            X,
            y,
            self.search,
            criterion=self.criterion,
            max_components=self.max_components,
            scale=self.scale,
        )
        self.search_, self.support_ = found, found.support
        self.coef_ = np.zeros(X.shape[1])
        self.coef_[found.support] = found.path.coef[found.index]
        self.intercept_ = float(found.path.intercept[found.index])
        self.n_components_ = int(found.index)
        return self

    def predict(self, X: Any) -> Array:
        """Predict new rows. Shape (n_new,)."""
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self.intercept_ + X @ self.coef_)


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchedModel:
    """The winner of a search as the only model of a path, for `plsdof.cross_validate`."""

    model: SelectedPLSRegressor

    @property
    def parameters(self) -> Array:
        """A single model has number 0."""
        return np.zeros(1)

    def predict(self, X_new: Any) -> Array:
        """Predict new rows. Shape (1, n_new)."""
        return self.model.predict(X_new)[None]


def searching(search: str = "intervals", **options: Any) -> Callable[..., SearchedModel]:
    """Return a function that does a whole search, for `plsdof.cross_validate`.

    Parameters
    ----------
    search : str
        As for `search_columns`, and so are ``options``.

    Examples
    --------
    >>> from plsdof import cross_validate
    >>> rng = np.random.default_rng(2)
    >>> X, y = rng.normal(size=(40, 60)), rng.normal(size=40)  # nothing to find
    >>> found = search_columns(X, y, "intervals:12", max_components=2)
    >>> fooled = cross_validate(X[:, found.support], y, max_components=2)
    >>> honest = cross_validate(X, y, searching("intervals:12", max_components=2))
    >>> fooled.q2.max().round(2), honest.q2[0].round(2)
    (np.float64(-0.01), np.float64(-0.36))
    """
    parse_search(search)

    def fit(X: Any, y: Any) -> SearchedModel:
        return SearchedModel(model=SelectedPLSRegressor(search, **options).fit(X, y))

    return fit
