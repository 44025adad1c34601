r"""Discriminant analysis of held-out predictions, and how often classes are confused.

A regression on coded classes predicts every row without its fold (`plsdof._core.left_out`).
Linear discriminant analysis of *these* predictions gives probabilities: fitted predictions of the
same rows would be too far apart, and their probabilities too sure. For rows of a fold the analysis
is made without the fold, too, so that the label of a row does not enter its own probability.

Notation: K classes with priors pi_k, coordinates z of a prediction (below), class means mu_k and
pooled covariance W of the held-out z (divisor n, as scikit-learn's),

    log P(k | z) = z'W^{-1}mu_k - mu_k'W^{-1}mu_k / 2 + log pi_k + const.

With m components, predictions of the fit to all rows span r = min(m, K - 1) directions, and z are
coordinates in them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammainccinv, log_softmax, ndtr, ndtri, stdtrit

from plsdof._core.display import as_html, data_frame, one_line
from plsdof._core.inputs import Array, as_choice, as_level, as_weights, read_only
from plsdof._core.threads import cached_property
from plsdof.chemometrics.distances import LeftOutValues
from plsdof.errors import InvalidInputError

if TYPE_CHECKING:
    from pandas import DataFrame

Integers = npt.NDArray[np.intp]

# The price of a Degree of Freedom in units of log-likelihood: 2 c s^2 d of
# `plsdof._core.objective`, divided by the 2 s^2 by which a sum of squares becomes one.
PRICE = 0.1
# Within-class variances below this share of the total are rounding.
_NO_VARIANCE, _TINY = 1e-12, float(np.finfo(np.float64).tiny)
# Variance of the prior of slopes: of 1, 10 and 100 it has the smallest log loss on new rows, over
# fifteen designs.
_SLOPES = 10.0
# Components of the model of a class: enough for spectra, and few enough for twenty rows.
_CLASS_COMPONENTS = 4


# Discriminant analysis of predictions
# ------------------------------------


def discriminant(
    z: Array, codes: Integers, weights: Array, priors: Array | None, fold: Integers | None = None
) -> tuple[Array, Array]:
    """Return slope (r, K) and offset (K,) of the discriminant functions ``z @ slope + offset``.

    With ``fold`` there is one version without each fold: (F, r, K) and (F, K).

    Parameters
    ----------
    z : (n, r) array
    codes : (n,) array of int
        Classes 0..K-1.
    weights : (n,) array
    priors : (K,) array or None
        None: the (weighted) shares of the classes among the rows used.
    fold : (n,) array of int, optional

    Notes
    -----
    Cost: O(n r (K + r)) for all folds: their sums are subtracted from those of all rows.
    """
    n_classes, centre = int(codes.max()) + 1, np.average(z, axis=0, weights=weights)
    members, centred = np.eye(n_classes)[codes] * weights[:, None], z - centre
    every = np.zeros(len(z), dtype=np.intp) if fold is None else fold
    count = _fold_sums(members, every)
    total = _fold_sums(members[:, :, None] * centred[:, None], every)
    products = _fold_sums((centred * weights[:, None])[:, :, None] * centred[:, None], every)
    if fold is not None:  # all other rows
        count, total, products = (one.sum(axis=0) - one for one in (count, total, products))
    n, r = count.sum(axis=1), z.shape[1]
    shares = count / n[:, None] if priors is None else np.broadcast_to(priors, count.shape)
    means = total / count[:, :, None]
    within = products - np.einsum("fk,fkr,fks->frs", count, means, means)
    within /= n[:, None, None]
    spread = np.trace(products, axis1=1, axis2=2) / n
    within += (_NO_VARIANCE * spread)[:, None, None] * np.eye(r)
    # Around the mean of the means there is least to cancel.
    middle = np.einsum("fk,fkr->fr", shares, means)
    away = means - middle[:, None]
    slope = np.linalg.solve(within, away.transpose(0, 2, 1))
    offset = np.log(shares) - np.einsum("fkr,frk->fk", away, slope) / 2
    offset -= np.einsum("fr,frk->fk", middle + centre, slope)
    return (slope[0], offset[0]) if fold is None else (slope, offset)


def logistic(z: Array, codes: Integers, weights: Array) -> tuple[Array, Array]:
    """Return slope (r, K) and offset (K,) of a logistic regression on coordinates z (n, r).

    In units of the standard deviations of z slopes have a normal prior of variance 10, so that
    classes that are apart have finite ones. Weights with which every class has its prior share make
    the offset that of the priors.
    """
    from sklearn.linear_model import LogisticRegression

    centre = np.average(z, axis=0, weights=weights)
    spread = np.sqrt(np.average((z - centre) ** 2, axis=0, weights=weights))
    unit = np.where(spread > 0, spread, 1.0)
    fit = LogisticRegression(C=_SLOPES, tol=1e-10, max_iter=1000, solver="newton-cg").fit
    found = fit((z - centre) / unit, codes, weights)
    coef, offset = found.coef_, found.intercept_
    if len(coef) == 1:  # the first class is what the second is compared with
        coef, offset = np.vstack([0 * coef, coef]), np.append(0.0, offset)
    slope = (coef / unit).T
    return slope, offset - centre @ slope


def apart_from_means(Y: Array, residuals: Array, weights: Array, fold: Integers) -> Array:
    """Return held-out predictions of coded classes (n, q), free of what the means of folds say.

    The mean of the other folds is low where many rows of the own fold are of a class: alone it
    would give the class of a row away.
    """
    sums, total = _fold_sums(Y * weights[:, None], fold), _fold_sums(weights, fold)
    means = (sums.sum(axis=0) - sums) / (total.sum() - total)[:, None]
    return np.asarray(Y - residuals - means[fold] + np.average(Y, axis=0, weights=weights))


def _fold_sums(values: Array, fold: Integers) -> Array:
    """Add up values (n, ...) over the rows of each fold. Shape (F, ...)."""
    parts = np.eye(int(fold.max()) + 1)[fold]
    return np.asarray(np.tensordot(parts, values, axes=(0, 0)))


def directions(fitted: Array, size: int) -> Array:
    """Return an orthonormal basis of what predictions (n, q) differ in, of so many columns."""
    centred = fitted - fitted.mean(axis=0)
    return np.asarray(np.linalg.svd(centred, full_matrices=False)[2][:size].T)


# Cross-validated probabilities, of all models, and the choice by them
# ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class LeftOutClasses:
    """Probabilities of the classes of held-out rows, of every model.

    Attributes
    ----------
    log_proba : (M + 1, n, K) array
        Logarithms of the probabilities, by fit and discriminant analysis without the fold.
    codes, fold : (n,) arrays of int
        Classes 0..K-1 and folds of the rows.
    weights : (n,) array
        Of the rows in the loss: their own, times prior over share of their class.
    dof : (M + 1,) array
        Cross-validated Degrees of Freedom of the coded regression (`LeftOut.dof`), those of K - 1
        columns.
    """

    log_proba: Array
    codes: Integers
    fold: Integers
    weights: Array
    dof: Array

    @cached_property
    def log_losses(self) -> Array:
        """Minus the log-probability of the class of each row. Shape (M + 1, n)."""
        return read_only(-self.log_proba[:, np.arange(len(self.codes)), self.codes])

    @property
    def log_loss(self) -> Array:
        """Mean log loss of the held-out rows. Shape (M + 1,)."""
        return np.asarray(self.log_losses @ self.weights / self.weights.sum())

    @property
    def error(self) -> Array:
        """Share of held-out rows that are given to a wrong class. Shape (M + 1,)."""
        wrong = self.log_proba.argmax(axis=2) != self.codes
        return np.asarray(wrong @ self.weights / self.weights.sum())

    def objective(self, without: int | None = None) -> Array:
        """Log loss with a price for complexity, summed over rows (not of one fold). (M + 1,).

            J(m) = sum_i v_i loss_i(m) + c d(m),      c = 0.1,

        the price of the regression: there a sum of squares over twice the noise variance, here the
        log loss, is a negative log-likelihood. d does not decrease.
        """
        rows = np.ones(len(self.fold), dtype=bool) if without is None else self.fold != without
        price = PRICE * np.maximum.accumulate(np.maximum(self.dof, 1.0))
        return np.asarray(self.log_losses[:, rows] @ self.weights[rows] + price)

    def chosen_without(self) -> Array:
        """Return log-probabilities by the choice that is made again without each fold. (n, K)."""
        made = np.empty(self.log_proba.shape[1:])
        for one in range(int(self.fold.max()) + 1):
            rows = self.fold == one
            made[rows] = self.log_proba[int(np.argmin(self.objective(one))), rows]
        return made


def left_out_classes(
    predictions: Array,
    axes: Sequence[Array],
    codes: Integers,
    fold: Integers,
    *,
    weights: Array,
    priors: Array | None,
    dof: Array,
) -> LeftOutClasses:
    """Return cross-validated probabilities from predictions of the coded regression.

    Parameters
    ----------
    predictions : (M + 1, n, q) array
        Of the rows by the fits without their folds.
    axes : (q, r) arrays, one for every model
        Directions that the predictions of all rows span, `directions`.
    codes, fold : (n,) arrays of int
    weights : (n,) array
    priors : (K,) array or None
    dof : (M + 1,) array
    """
    found = []
    for predicted, basis in zip(predictions, axes, strict=True):
        z = predicted @ basis
        slope, offset = discriminant(z, codes, weights, priors, fold)
        values = np.einsum("nr,nrk->nk", z, slope[fold]) + offset[fold]
        found.append(log_softmax(values, axis=1))
    count = np.bincount(codes, weights)
    ratio = np.ones(len(count)) if priors is None else priors * count.sum() / count
    return LeftOutClasses(
        log_proba=read_only(np.array(found)),
        codes=codes,
        fold=fold,
        weights=read_only(weights * ratio[codes]),
        dof=read_only(dof),
    )


# Rows that belong to none of the classes
# ---------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassModel:
    """Principal components of one class, and how far its rows are from them (DD-SIMCA).

    With scores t of a row, their variances s^2 and residuals e of standardised predictors,

        h = sum t_a^2 / s_a^2,      v = |e|^2,      c = N_h h / h_0 + N_v v / v_0.

    h_0, v_0, N_h and N_v are means of h and v of held-out rows of the class, and the Degrees of
    Freedom of the scaled chi-squares with their variances. c is compared with a quantile of such a
    chi-square, too, with the moments of c: h and v of a row are not independent. Which other
    classes there are makes no difference.

    Attributes
    ----------
    mean, scale : (p,) arrays
        Of the class, and of all training rows.
    loadings : (p, A) array
    variances : (A,) array
        Of the scores.
    weights : (2,) array
        N_h / h_0 and N_v / v_0.
    limit : float
        Of the total distance c.

    References
    ----------
    Pomerantsev & Rodionova (2014), Concept and role of extreme objects in PCA/SIMCA, Journal of
    Chemometrics 28, 429-438.
    """

    mean: Array
    scale: Array
    loadings: Array
    weights: Array
    limit: float
    variances: Array = field(default_factory=partial(np.zeros, 0))

    def distances(self, X: Array) -> Array:
        """Return h, within the components, and v, beside them. Shape (2, n)."""
        x = (X - self.mean) / self.scale
        scores = x @ self.loadings
        beside = x - scores @ self.loadings.T
        return np.array([scores**2 @ (1.0 / self.variances), np.vecdot(beside, beside)])

    def accepts(self, X: Array) -> npt.NDArray[np.bool_]:
        """Whether rows look like members of the class. Shape (n,)."""
        return np.asarray(self.weights @ self.distances(X) <= self.limit)


def belongs(models: Sequence[ClassModel], X: Array) -> npt.NDArray[np.bool_]:
    """Whether rows look like members of each class. Shape (n, K)."""
    return np.column_stack([one.accepts(X) for one in models])


def class_model(X: Array, fold: Integers, scale: Array, level: float) -> ClassModel:
    """Return the model of a class that accepts its further rows with probability ``level``.

    It has four components, fewer of less than nine rows or five columns. The level of the quantile
    is the one that Student's t would take for one more of n normal values. Cost: one singular value
    decomposition of the rows of the class per fold.

    Parameters
    ----------
    X : (n, p) array
        Rows of the class.
    fold : (n,) array of int
        Rows that are held out together.
    scale : (p,) array
    level : float
    """
    fewest = len(X) - int(np.bincount(fold).max())
    size = max(min(_CLASS_COMPONENTS, (fewest - 1) // 2, X.shape[1] - 1), 0)
    held = np.empty((2, len(X)))
    for one in np.unique(fold):
        held[:, fold == one] = _components(X[fold != one], scale, size).distances(X[fold == one])
    # Distances of rows that are all alike are rounding.
    size_of_rows = np.square(X / scale).sum(axis=1).mean()
    least = _NO_VARIANCE, _NO_VARIANCE**2 * size_of_rows + np.sqrt(_TINY)
    fits = [_scaled_chi_square(one, floor) for one, floor in zip(held, least, strict=True)]
    weights = np.array([df / mean for mean, df in fits]) * [size > 0, True]
    mean, df = _scaled_chi_square(weights @ held, _NO_VARIANCE)
    n = len(X)
    missed = ndtr(-stdtrit(n - 1, as_level(level)) * np.sqrt(1.0 + 1.0 / n))
    limit = 2.0 * gammainccinv(df / 2.0, max(missed, _TINY)) * mean / df
    return replace(_components(X, scale, size), weights=read_only(weights), limit=float(limit))


def _scaled_chi_square(values: Array, least: float) -> tuple[float, float]:
    """Return mean and Degrees of Freedom of the scaled chi-square with the moments of values.

    Rows far from all others, such as those with a wrong label, are ignored.
    """
    left = LeftOutValues(values=values, weights=np.ones(len(values)), units=len(values))
    values = values[left.ordinary]
    mean = max(float(values.mean()), least)
    spread = max(float(np.std(values, ddof=1)), mean / np.sqrt(len(values)))
    return mean, 2.0 * (mean / spread) ** 2


def _components(X: Array, scale: Array, size: int) -> ClassModel:
    """Return principal components of rows, without a limit."""
    mean = X.mean(axis=0)
    S, Vt = np.linalg.svd((X - mean) / scale, full_matrices=False)[1:]
    size = min(size, int(np.count_nonzero(np.sqrt(_NO_VARIANCE) * S[0] < S)))
    return ClassModel(
        mean=read_only(mean),
        scale=read_only(scale),
        loadings=read_only(Vt[:size].T),
        variances=read_only(S[:size] ** 2 / (len(X) - 1)),
        weights=read_only(np.ones(2)),
        limit=np.inf,
    )


# How often classes are confused
# ------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ClassErrors:
    """A confusion matrix and what it says about every class, with intervals.

    Attributes
    ----------
    classes : (K,) array
    matrix : (K, K) array
        Row: the true class; column: the predicted one; (weighted) numbers of rows.
    level : float
        Confidence level of the intervals (Wilson 1927), each by itself.

    Examples
    --------
    >>> found = class_errors(["a", "a", "a", "b", "b"], ["a", "a", "b", "b", "b"])
    >>> found.sensitivity.round(2), found.intervals("sensitivity").round(2)[0]
    (array([0.67, 1.  ]), array([0.21, 0.94]))
    """

    classes: npt.NDArray[Any]
    matrix: Array
    level: float = 0.95

    @property
    def error(self) -> float:
        """Share of the rows that are given to a wrong class."""
        return float(1.0 - np.trace(self.matrix) / self.matrix.sum())

    @property
    def balanced_error(self) -> float:
        """Mean of 1 - sensitivity over the classes that have rows."""
        return float(1.0 - np.nanmean(self.sensitivity))

    @property
    def sensitivity(self) -> Array:
        """Share of the rows of a class that are given to it (recall). Shape (K,)."""
        return self._shares("sensitivity")

    @property
    def specificity(self) -> Array:
        """Share of the rows of other classes that are not given to it. Shape (K,)."""
        return self._shares("specificity")

    @property
    def precision(self) -> Array:
        """Share of the rows given to a class that belong to it. Shape (K,)."""
        return self._shares("precision")

    def intervals(self, name: str) -> Array:
        """Return Wilson's interval of "sensitivity", "specificity" or "precision". Shape (K, 2).

        With k of n and the normal quantile u, (k + u^2/2 +- u sqrt(k (n - k) / n + u^2/4)) /
        (n + u^2); nan without rows.
        """
        k, n = self._counts(name)
        u = float(ndtri((1.0 + self.level) / 2.0))
        with np.errstate(invalid="ignore", divide="ignore"):
            half = u * np.sqrt(k * (n - k) / n + u**2 / 4)
        limits = (k + u**2 / 2)[:, None] + half[:, None] * [-1.0, 1.0]
        return np.asarray(limits / (n + u**2)[:, None])

    def _counts(self, name: str) -> tuple[Array, Array]:
        """Return how many rows of how many; the names are checked here."""
        right, rows, columns = np.diagonal(self.matrix), self.matrix.sum(1), self.matrix.sum(0)
        total = self.matrix.sum()
        counts = {
            "sensitivity": (right, rows),
            "specificity": (total - rows - columns + right, total - rows),
            "precision": (right, columns),
        }
        return counts[as_choice(name, "name", tuple(counts))]

    def _shares(self, name: str) -> Array:
        part, whole = self._counts(name)
        return np.asarray(part / np.where(whole > 0, whole, np.nan))

    def columns(self) -> dict[str, Array]:
        """Return the measures of every class, with their limits, by name."""
        found: dict[str, Array] = {"rows": self.matrix.sum(axis=1)}
        for name in ("sensitivity", "specificity", "precision"):
            low, high = self.intervals(name).T
            found |= {name: self._shares(name), f"{name} from": low, f"{name} to": high}
        return found

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with one row per class."""
        return data_frame(self.columns(), self.classes.tolist())

    def to_html(self) -> str:
        """Return confusions and errors by class as a table in HTML, with the errors in words."""
        table: dict[str, Any] = {"class": [str(one) for one in self.classes]}
        table |= {
            f"as {name}": column for name, column in zip(self.classes, self.matrix.T, strict=True)
        }
        title = (
            f"Error {self.error:.3g}, balanced over classes {self.balanced_error:.3g}, of "
            f"{self.matrix.sum():g} rows"
        )
        return as_html(title, table | self.columns())

    _repr_html_ = to_html

    def __repr__(self) -> str:
        size = f"{len(self.classes)} classes, {self.matrix.sum():g} rows"
        return one_line(self, size, error=self.error, balanced_error=self.balanced_error)


def class_errors(
    labels: Any,
    predicted: Any,
    *,
    classes: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
) -> ClassErrors:
    """Compare predicted classes with the true ones.

    Parameters
    ----------
    labels, predicted : (n,) arrays of labels
    classes : (K,) array, optional
        All classes in their order; by default those that occur, sorted.
    sample_weight : (n,) array, optional
    level : float
        Confidence level of the intervals.

    Notes
    -----
    Intervals take rows as independent. Cost: O(n + K^2).

    Examples
    --------
    >>> class_errors(["a", "a", "b"], ["a", "b", "b"])
    ClassErrors(2 classes, 3 rows, error=0.333333, balanced_error=0.25)
    """
    from sklearn.metrics import confusion_matrix  # importing it takes a second

    true, found = np.asarray(labels), np.asarray(predicted)
    every = np.union1d(true, found)
    known = every if classes is None else np.asarray(classes)
    if (
        true.shape != found.shape
        or true.ndim != 1
        or not len(true)
        or np.setdiff1d(every, known).size
    ):
        raise InvalidInputError(
            f"labels and predicted must be two lists of one length, of the classes "
            f"{known.tolist()!r:.120}; got shapes {true.shape} and {found.shape} with "
            f"{every.tolist()!r:.120}."
        )
    weights = as_weights(sample_weight, len(true))
    matrix = confusion_matrix(true, found, labels=known, sample_weight=weights)
    return ClassErrors(
        classes=known, matrix=read_only(matrix.astype(np.float64)), level=as_level(level)
    )
