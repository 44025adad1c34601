"""Selection of variables, and what it costs: intervals of wavelengths, thresholds of VIP.

A search fits PLS to several sets of columns and keeps the set with the smallest cross-validated
error, or the smallest value of a criterion. The best of N sets fits the noise better than a
single one, so log N Degrees of Freedom are added for it; without that price, intervals are added to
a good model until it is a bad one.
The Degrees of Freedom of the winning fit take its columns as given, so they leave out the search,
and so does a cross-validation of the winner. Two things show what the search costs:

* `plsdof.degrees_of_freedom` of a `SelectedPLSRegressor`, by Monte Carlo: the search is done again
  on perturbed responses;
* scikit-learn's ``cross_val_predict`` or ``cross_val_score`` of a `SelectedPLSRegressor`, or of a
  Pipeline that ends in one: the search is done again in every fold.
"""

import contextlib
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from plsdof._core.choice import LEFT_OUT
from plsdof._core.display import runs_in_words
from plsdof._core.fit import pls_path
from plsdof._core.inputs import Array, as_count, as_weights, read_only
from plsdof._core.paths import PLSPath
from plsdof._core.warnings import quietly
from plsdof.chemometrics.diagnostics import vip
from plsdof.errors import InvalidInputError, NotAvailableError, RankExhaustedWarning

Mask = npt.NDArray[np.bool_]

# Regions of a spectrum, by default; as many as there are columns, if fewer.
DEFAULT_INTERVALS = 10
VIP_THRESHOLDS = (0.5, 0.75, 1.0, 1.25, 1.5)
_MOST_COMPONENTS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Search:
    """What a search among sets of columns found: `SelectedPLSRegressor.search_`.

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
    found = re.fullmatch(
        "(vip)|(intervals|forward|backward)(:0*([2-9]|[1-9][0-9]{1,3}))?", str(text)
    )
    if found is None:
        raise InvalidInputError(
            "a search must be intervals:K, forward:K or backward:K with K >= 2 intervals, or vip; "
            f"got {text!r:.60}."
        )
    return found[1] or found[2], int(found[4] or 0)


@dataclass(kw_only=True, eq=False)
class _Trials:
    """Sets of columns that were tried so far, with their scores, and the best fit."""

    X: Array
    y: Array
    options: "SelectedPLSRegressor"
    weights: Array | None
    groups: Any
    tried: list[tuple[str, Mask, float]] = field(default_factory=list)
    path: PLSPath = field(init=False)
    index: int = 0

    def fit(self, mask: Mask, spent: float = 0.0, label: str = "") -> float:
        """Fit some columns; return the score of the best model, inf where it is not defined.

        ``spent`` are the Degrees of Freedom of the choice of these columns.
        """
        options = self.options
        most = min(options.max_components, len(self.X) - 1, int(mask.sum()))
        columns = self.X[:, mask]
        path = pls_path(columns, self.y, most, scale=options.scale, sample_weight=self.weights)
        index, score = 0, float("inf")
        with contextlib.suppress(NotAvailableError):
            chosen = path.select(options.criterion, groups=self.groups, cv=options.cv)
            index, left = chosen.index, chosen.left_out
            if left is None:
                found = path.criterion(options.criterion, spent=spent)[index]
            else:
                found = chosen.scores[index] + 2.0 * spent * left.press.min() / left.n**2
            score = float(found) if np.isfinite(found) else score
        if all(score < known for _, _, known in self.tried):
            self.path, self.index = path, index
        self.tried.append((label or _spelled(mask), mask, score))
        return score

    def best(self) -> Search:
        """Return the set with the smallest score among all that were tried."""
        labels, masks, found = zip(*self.tried, strict=True)
        scores = np.array(found)
        if np.isinf(scores).all():
            raise NotAvailableError(
                f"{self.options.criterion!r} is not defined for any set of columns; choose another "
                "criterion."
            )
        return Search(
            labels=labels,
            masks=np.array(masks),
            scores=read_only(np.where(np.isinf(scores), np.nan, scores)),
            chosen=int(np.argmin(scores)),
            path=self.path,
            index=self.index,
        )


def _spent(count: int, of: int) -> float:
    """Return log(of choose count), the price of one set of intervals among all of this size.

    Chosen among N sets that are equally good, the best one fits the noise as well as
    about log N more Degrees of Freedom would: the largest of N chi-squares is near 2 log N.
    """
    return float(gammaln(of + 1) - gammaln(count + 1) - gammaln(of - count + 1))


def _searched(trials: _Trials, parts: Mask, kind: str) -> None:
    """Change one interval at a time, as long as that lowers the score.

    Intervals are left out of all columns ("backward"), or added to none: one of them
    ("intervals"), or one after the other ("forward").
    """
    _, now, score = trials.tried[0]
    if kind != "backward":
        now, score = np.zeros_like(now), float("inf")
    left = list(parts)
    while left:
        changed = [now ^ part for part in left]
        price = _spent(len(parts) - len(left) + 1, len(parts))
        scores = [trials.fit(mask, price) if mask.any() else float("inf") for mask in changed]
        best = int(np.argmin(scores))
        if kind == "intervals" or not scores[best] < score:
            return
        now, score = changed[best], scores[best]
        del left[best]


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
    ('columns 1, 2 and 4', 'all columns')
    """
    if mask.all():
        return "all columns"
    return f"columns {runs_in_words((np.flatnonzero(mask) + 1).tolist())}"


def _important(trials: _Trials) -> None:
    """Fit the sets of columns above the thresholds of variable importance, each once."""
    path, m = trials.path, max(1, trials.index)
    # No Degrees of Freedom are computed to see whether there is a model.
    exists = path.store.has(m) or m < len(path)
    values = vip(path[m]) if exists else np.zeros(path.rows.n_features)
    masks = {f"VIP >= {threshold:g}": values >= threshold for threshold in VIP_THRESHOLDS}
    # A set that is empty, or the same as the one before, is not another one.
    every = pairwise([np.ones(len(values), dtype=bool), *masks.values()])
    differ = [mask.any() and not np.array_equal(mask, last) for last, mask in every]
    for (label, mask), other in zip(masks.items(), differ, strict=True):
        if other:
            trials.fit(mask, np.log(sum(differ)), label)


class SelectedPLSRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """PLS on the set of columns with the smallest criterion; the search has its price.

    Parameters
    ----------
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
    cv : int, splitter or iterable, optional
        Folds of held-out rows, as for `PLSRegressor`.

    Attributes
    ----------
    support_ : (p,) array of bool
        The columns that were chosen.
    search_ : Search
        All sets with their scores, ``path`` and ``index`` of the winner.
    coef_ : (p,) array
        0 where a column was not chosen.
    intercept_ : float
    n_components_ : int

    Notes
    -----
    A set of J intervals costs D = log(K choose J) further Degrees of Freedom, one of T thresholds
    D = log T: the risk inflation of the best of so many sets. An information criterion adds them
    to those of the model; the mean squared cross-validated error becomes larger by 2 D / n of its
    smallest value over the models of the set. In simulations (docs/howto/nir-calibration.md)
    searches help where large parts of X are noise, "intervals" if one region matters and "forward"
    if several do; with smooth spectra they are about as good as all columns.

    Cost: one fit for each set: K for "intervals", at most K (K + 1) / 2 for "forward" and
    "backward", K (J + 1) if J intervals are added or left out. ``search_.path.dof`` takes the
    columns as given; see the top of `plsdof.chemometrics.search` for what the search costs.

    References
    ----------
    L. Norgaard et al. (2000), Interval partial least-squares regression (iPLS), Applied
    Spectroscopy 54, 413-419. R. Leardi, L. Norgaard (2004), Sequential application of backward
    interval partial least squares and genetic algorithms for the selection of relevant spectral
    regions, Journal of Chemometrics 18, 486-497. D. P. Foster, E. I. George (1994), The risk
    inflation criterion for multiple regression, Annals of Statistics 22, 1947-1975.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(40, 60))
    >>> y = X[:, 20:25].sum(axis=1) + 2 * rng.normal(size=40)
    >>> model = SelectedPLSRegressor("intervals:12", max_components=2).fit(X, y)
    >>> found = model.search_
    >>> found.labels[found.chosen], int(model.support_.sum())
    ('columns 21 to 25', 5)

    What the search costs: Degrees of Freedom beyond those of the chosen columns, and errors of rows
    that were left out of the search, too.

    >>> from sklearn.model_selection import cross_val_score
    >>> from plsdof import cross_validate, degrees_of_freedom
    >>> whole = degrees_of_freedom(model, X, y, n_draws=20)
    >>> bool(whole.value > found.path.dof[model.n_components_]), whole.method
    (True, 'monte-carlo')
    >>> fooled = cross_validate(X[:, model.support_], y, max_components=2).q2.max()
    >>> bool(fooled > cross_val_score(model, X, y, cv=10).mean())
    True
    """

    def __init__(
        self,
        search: str = "intervals",
        criterion: str = LEFT_OUT,
        max_components: int = _MOST_COMPONENTS,
        scale: bool = True,
        cv: Any = None,
    ) -> None:
        self.search = search
        self.criterion = criterion
        self.max_components = max_components
        self.scale = scale
        self.cv = cv

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> "SelectedPLSRegressor":
        """Search, and keep the best model; weights and groups as for `plsdof.PLSRegressor`."""
        kind, count = parse_search(self.search)
        as_count(self.max_components, "max_components", minimum=1)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=3)
        weights = as_weights(sample_weight, len(X))
        trials = _Trials(X=X, y=y, options=self, weights=weights, groups=groups)
        with quietly(RankExhaustedWarning):  # the largest model is only a limit to the search
            trials.fit(np.ones(X.shape[1], dtype=bool))
            if kind == "vip":
                _important(trials)
            else:
                count = count or min(DEFAULT_INTERVALS, X.shape[1])
                _searched(trials, _intervals(X.shape[1], count), kind)
        found = self.search_ = trials.best()
        model, self.support_ = found.path[found.index], found.support
        self.coef_ = np.zeros(X.shape[1])
        self.coef_[found.support] = model.coef
        self.intercept_, self.n_components_ = float(model.intercept), int(found.index)
        return self

    def predict(self, X: Any) -> Array:
        """Predict new rows. Shape (n_new,)."""
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        model = self.search_.path[self.n_components_]
        return np.asarray(model.predict(X[:, self.support_]))
