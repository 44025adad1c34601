"""Selection of variables that counts its cost: intervals of wavelengths, thresholds of VIP.

A search fits PLS to several sets of columns and keeps the set with the smallest error of rows left
out, or the one that a criterion likes best. The best of N sets fits the noise better than a single
one, so log N Degrees of Freedom more are counted for it; without that price, intervals are added to
a good model until it is a bad one.
The Degrees of Freedom of the winning fit take its columns as given, so they leave out the search,
and so does a cross-validation of the winner. What the search costs, two things tell:

* `plsdof.degrees_of_freedom` of a `SelectedPLSRegressor`, by Monte Carlo: the search is done again
  on perturbed responses;
* `plsdof.cross_validate` with `searching`: the search is done again in every fold.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from plsdof._core.choice import LEFT_OUT
from plsdof._core.fit import pls_path
from plsdof._core.inputs import Array, as_count, as_matrix, as_response, read_only
from plsdof._core.path import PLSPath
from plsdof.chemometrics.preprocessing import NOTHING, Preprocessor, parse_chain
from plsdof.chemometrics.variables import vip
from plsdof.errors import InvalidInputError, NotAvailableError

Mask = npt.NDArray[np.bool_]

# Regions of a spectrum, where nobody says how many; as many as there are columns, if fewer.
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
    """Return the kind of a search and its number of intervals, 0 if it is not given.

    Examples
    --------
    >>> parse_search("intervals:20"), parse_search("forward"), parse_search("vip")
    (('intervals', 20), ('forward', 0), ('vip', 0))
    """
    kind, _, number = str(text).partition(":")
    if kind == "vip" and not number:
        return kind, 0
    known = not number or (number.isdecimal() and 2 <= int(number) < 10_000)
    if kind in _STRATEGIES and known:
        return kind, int(number or 0)
    raise InvalidInputError(
        "a search must be intervals:K, forward:K or backward:K with K >= 2 intervals, or vip; got "
        f"{text!r:.60}."
    )


def search_columns(
    X: Any,
    y: Any,
    search: str = "intervals",
    *,
    criterion: str = LEFT_OUT,
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
        of columns (iPLS). "forward:K": intervals are added one after the other, each time the one
        that lowers the criterion most, as long as one does; "backward:K": they are left out of all
        columns in the same way. "vip": all columns, and those whose variable importance in the
        model of all columns is at least 0.5, 0.75, 1, 1.25 or 1.5. Without K there are 10.
    criterion : str
        Chooses the number of components in each set, and the set: "left-out", or the name of an
        information criterion.
    max_components : int
        Largest model to look at.
    scale : bool
        Scale the columns to unit variance.

    Notes
    -----
    A set of J intervals counts D = log(K choose J) Degrees of Freedom more, one of T thresholds
    D = log T: the risk inflation of the best of so many sets. An information criterion adds them
    to those of the model; the mean squared error of rows left out becomes larger by 2 D / n of its
    smallest value over the models of the set. In simulations (docs/howto/nir-calibration.md)
    searches help where large parts of X are noise, "intervals" if one region matters and "forward"
    if several do; with smooth spectra they are about as good as all columns.

    Cost: one fit for each set: K for "intervals", at most K (K + 1) / 2 for "forward" and
    "backward", K (J + 1) if J intervals are added or left out. ``path.dof`` of the result takes
    the columns as given; see the top of `plsdof.chemometrics.search` for what the search costs.

    References
    ----------
    L. Norgaard et al. (2000), Interval partial least-squares regression (iPLS), Applied
    Spectroscopy 54, 413-419. R. Leardi, L. Norgaard (2004), Sequential application of backward
    interval partial least squares and genetic algorithms for the selection of relevant spectral
    regions, Journal of Chemometrics 18, 486-497. D. P. Foster, E. I. George (1994), The risk
    inflation criterion for multiple regression, Annals of Statistics 22, 1947-1975.

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
    as_count(max_components, "max_components", minimum=1)
    kind, count = parse_search(search)
    trials = _Trials(X=X, y=y, criterion=criterion, max_components=max_components, scale=scale)
    trials.fit(np.ones(X.shape[1], dtype=bool))
    if kind == "vip":
        found = _important(trials.path, trials.index)
        for threshold, mask in found:
            trials.fit(mask, np.log(len(found)), f"VIP >= {threshold:g}")
    else:
        count = count or min(DEFAULT_INTERVALS, X.shape[1])
        _STRATEGIES[kind](trials, _intervals(X.shape[1], count))
    return trials.best()


@dataclass(kw_only=True, eq=False)
class _Trials:
    """Sets of columns that were tried so far, with their scores, and the best fit."""

    X: Array
    y: Array
    criterion: str
    max_components: int
    scale: bool
    labels: list[str] = field(default_factory=list)
    masks: list[Mask] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    path: PLSPath = field(init=False)
    index: int = 0

    def fit(self, mask: Mask, spent: float = 0.0, label: str = "") -> float:
        """Fit some columns; return the score of the best model, inf where it is not defined.

        ``spent`` are the Degrees of Freedom of the choice of these columns.
        """
        most = min(self.max_components, len(self.X) - 1, int(mask.sum()))
        path = pls_path(self.X[:, mask], self.y, most, scale=self.scale)
        index, score = 0, float("inf")
        try:
            chosen = path.select(self.criterion)
            index = chosen.index
            if chosen.left_out is None:
                found = path.criterion(self.criterion, spent=spent)[index]
            else:
                left = chosen.left_out
                found = chosen.scores[index] + 2.0 * spent * left.press.min() / left.n**2
            score = float(found) if np.isfinite(found) else score
        except NotAvailableError:
            pass
        if not self.scores or score < min(self.scores):
            self.path, self.index = path, index
        self.labels.append(label or _spelled(mask))
        self.masks.append(mask)
        self.scores.append(score)
        return score

    def best(self) -> Search:
        """Return the set with the smallest score among all that were tried."""
        if np.isinf(self.scores).all():
            raise NotAvailableError(
                f"{self.criterion!r} is not defined for any set of columns; choose another "
                "criterion."
            )
        scores = np.array(self.scores)
        return Search(
            labels=tuple(self.labels),
            masks=np.array(self.masks),
            scores=read_only(np.where(np.isinf(scores), np.nan, scores)),
            chosen=int(np.argmin(scores)),
            path=self.path,
            index=self.index,
        )


def _spent(count: int, of: int) -> float:
    """Return log(of choose count), the price of one set of intervals among all of this size.

    Chosen among N sets that are no better than each other, the best one fits the noise as well as
    about log N more Degrees of Freedom would: the largest of N chi-squares is near 2 log N.
    """
    return float(gammaln(of + 1) - gammaln(count + 1) - gammaln(of - count + 1))


def _one_by_one(trials: _Trials, parts: Mask) -> None:
    for part in parts:
        trials.fit(part, _spent(1, len(parts)))


def _forward(trials: _Trials, parts: Mask) -> None:
    """Add the interval that helps most, as long as one helps."""
    _greedy(trials, parts, np.zeros(parts.shape[1], dtype=bool), float("inf"))


def _backward(trials: _Trials, parts: Mask) -> None:
    """Leave out the interval whose absence helps most, as long as one does."""
    _greedy(trials, parts, trials.masks[0], trials.scores[0])


def _greedy(trials: _Trials, parts: Mask, now: Mask, score: float) -> None:
    """Change one interval at a time, as long as that lowers the score."""
    left = list(parts)
    while left:
        changed = [now ^ part for part in left]
        price = _spent(len(parts) - len(left) + 1, len(parts))
        scores = [trials.fit(mask, price) if mask.any() else float("inf") for mask in changed]
        best = int(np.argmin(scores))
        if not scores[best] < score:
            return
        now, score = changed[best], scores[best]
        del left[best]


_STRATEGIES: dict[str, Callable[[_Trials, Mask], None]] = {
    "intervals": _one_by_one,
    "forward": _forward,
    "backward": _backward,
}


def _intervals(p: int, count: int) -> Mask:
    """Return neighbouring intervals of about the same number of columns. Shape (count, p)."""
    if count > p:
        raise InvalidInputError(
            f"{count} intervals need at least {count} columns; there are {p}. Ask for fewer."
        )
    edges = np.linspace(0, p, count + 1).round().astype(int)
    masks = np.zeros((count, p), dtype=bool)
    for i, (start, stop) in enumerate(pairwise(edges.tolist())):
        masks[i, start:stop] = True
    return masks


def _spelled(mask: Mask) -> str:
    """Return a set of columns in words.

    Examples
    --------
    >>> _spelled(np.array([True, True, False, True])), _spelled(np.array([True, True]))
    ('columns 1 to 2, 4 to 4', 'all columns')
    """
    if mask.all():
        return "all columns"
    edges = np.flatnonzero(np.diff(mask, prepend=False, append=False)).tolist()
    return "columns " + ", ".join(
        f"{start + 1} to {stop}" for start, stop in zip(edges[::2], edges[1::2], strict=True)
    )


def _important(path: PLSPath, index: int) -> list[tuple[float, Mask]]:
    """Return the sets of columns above the thresholds of variable importance, each once."""
    values = vip(path[max(1, index)]) if len(path) > 1 else np.zeros(path._n_features)
    found: list[tuple[float, Mask]] = []
    for threshold in VIP_THRESHOLDS:
        mask = values >= threshold
        known = found[-1][1] if found else np.ones(len(values), dtype=bool)
        if mask.any() and not np.array_equal(mask, known):
            found.append((threshold, mask))
    return found


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
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(40, 60))
    >>> y = X[:, 20:25].sum(axis=1) + 2 * rng.normal(size=40)
    >>> model = SelectedPLSRegressor("intervals:12", max_components=2).fit(X, y)
    >>> fixed = model.search_.path.dof[model.n_components_]
    >>> whole = degrees_of_freedom(model, X, y, n_draws=20)
    >>> bool(whole.value > fixed), whole.method
    (True, 'monte-carlo')
    """

    def __init__(
        self,
        search: str = "intervals",
        criterion: str = LEFT_OUT,
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
        model = found.path[found.index]
        self.coef_ = np.zeros(X.shape[1])
        self.coef_[found.support] = model.coef
        self.intercept_ = float(model.intercept)
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

    model: Any

    @property
    def parameters(self) -> Array:
        """A single model has number 0."""
        return np.zeros(1)

    def predict(self, X_new: Any) -> Array:
        """Predict new rows. Shape (1, n_new)."""
        return np.asarray(self.model.predict(X_new))[None]


def searching(
    search: str = "intervals", *, preprocessing: str = NOTHING, **options: Any
) -> Callable[..., SearchedModel]:
    """Return a function that does a whole search, for `plsdof.cross_validate`.

    Parameters
    ----------
    search : str
        As for `search_columns`, and so are ``options``.
    preprocessing : str
        Steps before the search, as for `plsdof.chemometrics.Preprocessor`.

    Examples
    --------
    >>> from plsdof import cross_validate
    >>> rng = np.random.default_rng(3)
    >>> X = rng.normal(size=(40, 60))
    >>> y = X[:, 20:25].sum(axis=1) + 2 * rng.normal(size=40)
    >>> found = search_columns(X, y, "intervals:12", max_components=2)
    >>> fooled = cross_validate(X[:, found.support], y, max_components=2)
    >>> honest = cross_validate(X, y, searching("intervals:12", max_components=2))
    >>> fooled.q2.max().round(2), honest.q2[0].round(2)
    (np.float64(0.6), np.float64(0.55))
    """
    parse_search(search)
    parse_chain(preprocessing)

    def fit(X: Any, y: Any) -> SearchedModel:
        steps = Preprocessor(preprocessing), SelectedPLSRegressor(search, **options)
        return SearchedModel(model=make_pipeline(*steps).fit(X, y))

    return fit
