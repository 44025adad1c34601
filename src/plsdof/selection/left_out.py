"""Exact leave-one-out: the fits without each row, or fold, of all models at once.

*Predictions* of the left-out rows need no decomposition: for plain Partial Least Squares one
recursion for all folds makes them (`left_out_predictions`, which asks `cross_validate`).

*Paths* without some rows have all of a path: filter, Degrees of Freedom, coefficients, so that a
model can be chosen on each of them again (`left_out_paths`). The folds are standardised,
decomposed and filtered together, in stacks of arrays:

    A_f = sqrt(w) (R - mean_f) / scale_f        training rows of fold f
    A_f'A_f or A_f A_f' = V diag(lambda) V'     eigenvectors, a stack of matrices at once
    z_f = U'y, filter by `golub_kahan`          one recursion for all folds

With scaling R is X, and means and scales are those of the rows that are left, as in a fit of its
own. (The scales depend on the fold in every column, so that no matrix of low rank leads from one
fold to the next.) Without scaling R = U S are the coordinates of the rows in the basis of the whole
path, never more of them than rows; that is exact for kernels and penalties, too, because leaving
out rows changes the means and nothing else. A kernel of scaled rows is made again for every fold.

Copies of every fold that are perturbed by as much as rounding may go through the recursion, too. A
fold whose copies do not agree is decomposed without squaring it, and fitted by itself if that is
not enough. What comes out agrees with n fits to 1e-10 and better.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from plsdof._core.averaging import AverageFilter
from plsdof._core.display import one_line
from plsdof._core.filters import SUPPORTED_ERROR, PLSFilter, pls_filter
from plsdof._core.fit import pls_path
from plsdof._core.inputs import Array, read_only, varies_safely
from plsdof._core.krylov import golub_kahan
from plsdof._core.path import Path, PathLike, PLSPath, as_path
from plsdof._core.spectrum import BACKWARD, Decomposition, Reached
from plsdof._core.work import Outcome, run_each, threads_for, with_progress
from plsdof.errors import InvalidInputError, RankExhaustedWarning
from plsdof.selection.cross_validation import cross_validate
from plsdof.selection.folds import LEAVE_ONE_OUT, Fold, Integers, make_folds

Result = TypeVar("Result")
_EPS = float(np.finfo(np.float64).eps)
# Numbers held at once by the training rows of a batch of folds, and by the recursion: 16 MB.
_AT_ONCE = 2_000_000
# With more rows and columns single fits of X are faster, which need no singular vectors; with more
# than half of it they are where the Gram matrix has too few digits.
_ALONE = 200
# The largest change over the copies, times the safety factor, estimates an error.
_COPIES = 2
_SAFETY = 12.0
# Columns that keep a smaller share of their sum of squares in a fold may be constant there.
_SMALLEST_SHARE = 1e-8
# Coefficients that may be off by more, relative, are made again by a fit of their own.
_SUPPORTED_COEF_ERROR = 1e-9


# Fits without some rows, of any path
# -----------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LeftOutPredictions:
    """Predictions of rows by the fits without them, of every model; by `left_out_predictions`.

    Attributes
    ----------
    parameters : (K,) array
        Numbers of components, or alphas.
    predictions : (K, n_rows) array
    y : (n_rows,) array
        The response.
    sample_weight : (n_rows,) array or None
    """

    parameters: Array
    predictions: Array
    y: Array
    sample_weight: Array | None = None

    @property
    def residuals(self) -> Array:
        """Responses minus predictions. Shape (K, n_rows)."""
        return np.asarray(self.y - self.predictions)

    @property
    def press(self) -> Array:
        """(Weighted) sums of squared `residuals`. Shape (K,)."""
        weight = 1.0 if self.sample_weight is None else self.sample_weight
        return np.asarray(np.sum(weight * self.residuals**2, axis=1))

    def __repr__(self) -> str:
        return one_line(self, f"{len(self.parameters)} models", f"{len(self.y)} rows")


def left_out_predictions(
    path: PathLike, *, cv: Any = None, n_jobs: int | None = None, progress: bool = False
) -> LeftOutPredictions:
    """Predict every row by the fits without it (or without its fold), with all models of a path.

    Everything is done again without the rows: centring, scaling, components. The numbers are those
    of n fits, one for each row, and `Path.press` is their first-order approximation.

    Parameters
    ----------
    path : Path, or a fitted estimator
        Fitted to arrays in memory.
    cv : int, splitter or pairs, optional
        Folds as in `make_folds`; each row by itself by default.
    n_jobs, progress
        As in `cross_validate`.

    Notes
    -----
    Cost: for plain PLS about 4 n^2 M (p + M) operations in a few matrix products, no
    decomposition: 10 to 50 ms for n = 50 to 100 rows, up to 700 columns and 30 components. One
    small decomposition per fold for kernels, and penalties without scaling; a fit per fold for
    everything else.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True), 4)
    >>> left_out_predictions(path).press.round(0)
    array([13684.,  4815.,  4382.,  4422.,  4294.])
    >>> path.press().round(0)  # without any fit
    array([13684.,  4824.,  4386.,  4430.,  4296.])
    """
    path = as_path(path)
    X, y = path.training_inputs(), path.require_response()
    weights = None if path.units.row_scale is None else read_only(path.units.row_scale**2)
    assert path.fit_again is not None
    folds = complete_folds(X, y, cv)
    average = averaged_like(path)
    plain = isinstance(path.fit_again, partial) and path.fit_again.func is pls_path
    if plain and average is None and _all_vary(X, folds):
        result = cross_validate(
            X,
            y,
            path.fit_again,
            [(fold.train, fold.test) for fold in folds] if cv is not None else LEAVE_ONE_OUT,
            sample_weight=weights,
            n_jobs=n_jobs,
            progress=progress,
        )
        assert result.predictions is not None
        return LeftOutPredictions(
            parameters=result.parameters,
            predictions=result.predictions[0],
            y=y,
            sample_weight=weights,
        )
    predicted = left_out_models(
        path,
        folds,
        partial(_predicted, X=X, average=average),
        smooth=average is not None,
        n_jobs=n_jobs,
        progress=progress,
    )
    size = min(len(parameters) for parameters, _ in predicted)
    values = np.empty((size, len(y)))
    for fold, (_, part) in zip(folds, predicted, strict=True):
        values[:, fold.test] = part[:size]
    return LeftOutPredictions(
        parameters=predicted[0][0][:size],
        predictions=read_only(values),
        y=y,
        sample_weight=weights,
    )


def _predicted(
    path: Path, fold: Fold, X: Array, average: Callable[[Path], Path] | None
) -> tuple[Array, Array]:
    path = path if average is None else average(path)
    return path.parameters, path.predict(X[fold.test])


def averaged_like(path: Path) -> Callable[[Path], Path] | None:
    """Return how an average averages the models of another path; None for other paths."""
    if not isinstance(path.filter, AverageFilter):
        return None
    again = path.average_again
    dof, by = again.args[1:] if isinstance(again, partial) else ("smoothed", None)
    return partial(_averaged, dof=dof, by=by)


def _averaged(path: Path, dof: str, by: str | None) -> Path:
    return path.average(dof, by=by).path


def _all_vary(X: Array, folds: Sequence[Fold]) -> bool:
    """Whether columns that vary do so without each fold, by more than a decomposition rounds."""
    centred = X - X.mean(axis=0)
    largest = np.abs(centred).max(axis=0)
    centred /= np.where(largest > 0, largest, 1.0)  # squares stay in the range of floats
    order = np.concatenate([fold.test for fold in folds])
    sizes = np.array([len(fold.test) for fold in folds])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    sums = np.add.reduceat(centred[order], starts, axis=0)
    squares = np.add.reduceat(centred[order] ** 2, starts, axis=0)
    total = squares.sum(axis=0)
    # Sums of squares of the rows that are left, about their own means.
    kept = total - squares - sums**2 / (len(X) - sizes)[:, None]
    return bool(np.all((kept > _SMALLEST_SHARE * total) | (total == 0)))


def complete_folds(X: Array, y: Array, cv: Any = None) -> tuple[Fold, ...]:
    """Return folds that leave every row out exactly once; each row by itself by default."""
    folds = make_folds(X, y, LEAVE_ONE_OUT if cv is None else cv)
    times = np.bincount(np.concatenate([fold.test for fold in folds]), minlength=len(y))
    if len(folds) < 2 or np.any(times != 1):
        raise InvalidInputError(
            "Folds must leave every row out exactly once, in at least 2 folds; got "
            f"{len(folds)} fold(s) for {len(y)} rows."
        )
    return folds


def left_out_models(
    path: Path,
    folds: Sequence[Fold],
    use: Callable[[Path, Fold], Result],
    *,
    components: int | None = None,
    smooth: bool = False,
    n_jobs: int | None = None,
    progress: bool = False,
) -> list[Result]:
    """Return what ``use`` makes of the path without each fold, many folds at once where possible.

    Parameters
    ----------
    path : Path
    use : callable
        Takes a path and its fold. Paths are not kept.
    components : int, optional
        Most components of the paths, if fewer than those of ``path`` are enough.
    smooth : bool
        Whether the smoothed Degrees of Freedom will be asked for.
    n_jobs, progress
        For folds that are fitted one by one, as in `cross_validate`.
    """
    rows = rows_of(path, components)
    done: list[Outcome[Result] | None] = [None] * len(folds)
    with threads_for((path.units.n_rows, len(path.units.x_mean))):
        if rows is not None:
            paths = left_out_paths(rows, folds, smooth=smooth)
            shown = with_progress(paths, len(folds), "Rows left out") if progress else paths
            for number, one in enumerate(shown):
                if one is not None:
                    done[number] = use(one, folds[number]), []
        missing = any(outcome is None for outcome in done)
        work = partial(_fitted_alone, path=path, components=components, use=use)
        return run_each(
            work,
            folds,
            done=done,
            n_jobs=n_jobs if missing else None,
            progress=progress and missing,
            description="Rows left out",
        )


def _fitted_alone(
    fold: Fold, path: Path, components: int | None, use: Callable[[Path, Fold], Result]
) -> Result:
    options: dict[str, Any] = {}
    if path.units.row_scale is not None:
        options["sample_weight"] = path.units.row_scale[fold.train] ** 2
    if components is not None:
        options["max_components"] = components
    with warnings.catch_warnings():
        # The size of the path is a limit here; the whole fit has reported where it was reached.
        warnings.simplefilter("ignore", RankExhaustedWarning)
        return use(path.fit_rows(fold.train, **options), fold)


# Partial Least Squares without many folds of rows at once
# --------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """What the rows of a path are in the fits without some of them.

    Attributes
    ----------
    path : PLSPath
        The whole path.
    values : (n, d) array
        X, or coordinates in the basis of the whole path.
    features : (n, p) array
        What coefficients multiply: X, or the (n, n) values of a kernel.
    basis : (p, d) array or None
        What takes coefficients of the coordinates to those of the features; None for X itself, and
        for a kernel, whose features are the training rows.
    dual : bool
        Whether the features are the values of a kernel.
    changing : bool
        Whether these values depend on which rows there are: a kernel of rows that are scaled. There
        are no coordinates then, and ``values`` and ``features`` have no columns.
    scale : bool
        Whether the columns are scaled to unit variance in every fit.
    components : int or None
        Most components of a path.
    """

    path: PLSPath
    values: Array
    features: Array
    basis: Array | None
    dual: bool
    changing: bool
    scale: bool
    components: int | None


@dataclass(frozen=True, kw_only=True, eq=False)
class _Batch:
    """Standardised training rows of F folds of equal size.

    Shapes: A (F, t, d), y (F, t), scale (F, d), y_mean and n (F,), root (F, t) or None; ``sound``
    (F,) tells where y and all columns vary. Of a kernel that changes there are ``grams`` (F, t, t)
    instead of A, and the largest ``rank`` that they may have.
    """

    A: Array
    y: Array
    scale: Array
    y_mean: Array
    n: Array
    root: Array | None
    sound: npt.NDArray[np.bool_]
    grams: Array | None = None
    rank: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class _Bases:
    """Decompositions of F folds: eigenvalues, z and their errors (F, r), and singular vectors.

    ``left`` (F, t, r) or ``right`` (F, d, r) or both. Eigenvalues that cannot be told from zero
    are their error: a filter that tells them apart is not certain.
    """

    eigenvalues: Array
    eigenvalue_error: Array
    z: Array
    z_amplification: Array
    outside: Array
    left: Array | None
    right: Array | None
    solver: str


def rows_of(path: Path, components: int | None = None) -> Rows | None:
    """Return the rows of a path that can be fitted many folds at once, else None.

    ``components``, if given, are fewer than the path has.
    """
    fit = path.fit_again
    if not isinstance(path, PLSPath) or not isinstance(fit, partial) or path.response is None:
        return None
    most = fit.keywords.get("max_components") if components is None else components
    plain = fit.func is pls_path
    if plain and fit.keywords.get("solver", "auto") != "auto":
        return None
    if plain and min(path.units.n_rows, len(path.units.x_mean)) > _ALONE:
        return None
    if plain and fit.keywords.get("scale", True):
        X = path.training_rows()
        return Rows(
            path=path,
            values=X,
            features=X,
            basis=None,
            dual=False,
            changing=False,
            scale=True,
            components=most,
        )
    if path.is_dual and not path.only_means_change:
        nothing = np.empty((path.units.n_rows, 0))
        return Rows(
            path=path,
            values=nothing,
            features=nothing,
            basis=None,
            dual=True,
            changing=True,
            scale=False,
            components=most,
        )
    if not (plain or path.only_means_change):
        return None
    path = path.complete()
    return Rows(
        path=path,
        values=path.to_rows(np.diag(path.decomposition.singular_values)),
        features=path.training_features(),
        basis=None if path.is_dual else path.decomposition.feature_basis,
        dual=path.is_dual,
        changing=False,
        scale=False,
        components=most,
    )


def left_out_paths(
    rows: Rows, folds: Sequence[Fold], *, smooth: bool = False
) -> Iterator[PLSPath | None]:
    """Fit Partial Least Squares without each fold; None where a fit of its own is needed.

    ``smooth`` computes their smoothed Degrees of Freedom together as well, for a choice.

    Cost: O(t d min(t, d)) time for each fold of t training rows, in products and decompositions of
    stacked arrays; memory for a limited number of folds.
    """
    t = len(folds[0].train)
    d = t if rows.changing else rows.values.shape[1]
    size = max(1, _AT_ONCE // max(t * d + 4 * min(t, d) ** 2, 1))  # d = 0: X does not vary
    start = 0
    while start < len(folds):
        # Folds of one size, as many as memory allows.
        train = [fold.train for fold in folds[start : start + size]]
        same = next((i for i, one in enumerate(train) if len(one) != len(train[0])), len(train))
        found = _batch_of_paths(rows, np.array(train[:same]))
        if smooth:
            PLSPath.smooth_together([one for one in found if one is not None])
        yield from found
        start += same


def _batch_of_paths(rows: Rows, train: Integers) -> list[PLSPath | None]:
    found: list[PLSPath | None] = [None] * len(train)
    if train.shape[1] < 3:
        return found
    with np.errstate(all="ignore"):  # what is not finite is not certain
        batch = _standardize(rows, train)
        one_way = rows.changing or (rows.scale and min(batch.A.shape[1:]) > _ALONE // 2)
        for route in (_by_gram,) if one_way else (_by_gram, _by_svd):
            left = np.flatnonzero([one is None for one in found] & batch.sound)
            if not len(left):
                break
            part = _part(batch, left)
            try:
                bases = route(part)
            except np.linalg.LinAlgError:  # no convergence, which is rare
                continue
            filters = _filters(part, bases, rows.components)
            for i, one in enumerate(filters):
                if one is not None:
                    found[left[i]] = _path(rows, train[left[i]], part, bases, one, i)
    return found


def _standardize(rows: Rows, train: Integers) -> _Batch:
    path = rows.path
    A, y = rows.values[train], path.require_response()[train]
    root = None if path.units.row_scale is None else path.units.row_scale[train]
    share = np.ones(train.shape) if root is None else root**2
    n = share.sum(axis=1)
    share = share / n[:, None]
    mean, y_mean = (share[:, None] @ A)[:, 0], np.vecdot(share, y)
    A -= mean[:, None]
    y -= y_mean[:, None]
    # What rounding of a large mean has left is taken off as well.
    A -= share[:, None] @ A
    scale, sound = np.ones_like(mean), (np.vecdot(y, y) > 0) & (n > 1)
    if rows.scale:
        squares = n[:, None] * np.einsum("ft,ftd,ftd->fd", share, A, A)
        scale = np.sqrt(squares / (n[:, None] - 1.0))
        A /= scale[:, None]
        # Columns that hardly vary need the closer look of a fit of its own.
        certain = varies_safely(squares, n[:, None] * mean**2)
        certain &= squares > _SMALLEST_SHARE * path.units.n * path.units.x_scale**2
        sound &= certain.all(axis=1)
    if root is not None:
        A *= root[:, :, None]
        y *= root
    batch = _Batch(A=A, y=y, scale=scale, y_mean=y_mean, n=n, root=root, sound=sound)
    if not rows.changing:
        return batch
    grams = np.array([path.with_rows(one).training_features() for one in train])
    for _ in range(2):  # the second time takes off what rounding has left
        grams -= share[:, None] @ grams
        grams -= grams @ share[:, :, None]
    if root is not None:
        grams *= root[:, :, None] * root[:, None]
    return replace(batch, grams=grams, rank=len(path.decomposition.eigenvalues))


def _part(batch: _Batch, kept: Integers) -> _Batch:
    if len(kept) == len(batch.A):
        return batch
    return _Batch(
        A=batch.A[kept],
        y=batch.y[kept],
        scale=batch.scale[kept],
        y_mean=batch.y_mean[kept],
        n=batch.n[kept],
        root=None if batch.root is None else batch.root[kept],
        sound=batch.sound[kept],
        grams=None if batch.grams is None else batch.grams[kept],
        rank=batch.rank,
    )


def _by_gram(batch: _Batch) -> _Bases:
    """Decompose the smaller one of A'A and AA' of every fold, or its kernel."""
    A, y = batch.A, batch.y
    t, d = A.shape[1:]
    if batch.grams is not None:
        r, wide, gram = min(t - 1, batch.rank), True, batch.grams.copy()
    else:
        r, wide = min(t - 1, d), t <= d
        gram = A @ A.transpose(0, 2, 1) if wide else A.transpose(0, 2, 1) @ A
    gram[~np.isfinite(gram.sum(axis=(1, 2)))] = 0.0
    last = None
    if wide:
        # Centring left the mean with eigenvalue zero; lift it out, or it mixes with the small ones.
        mean = np.ones_like(y) if batch.root is None else batch.root
        mean = mean / np.linalg.norm(mean, axis=1)[:, None]
        lift = 1.5 * np.linalg.norm(gram, axis=(1, 2))
        gram += lift[:, None, None] * mean[:, :, None] * mean[:, None]
        last = -1
    values, vectors = np.linalg.eigh(gram)
    error, values = BACKWARD * _EPS * values[:, -1:], values[:, :last]
    lam = np.maximum(values[:, ::-1][:, :r], error)
    largest, basis = lam[:, :1], vectors[:, :, :last][:, :, ::-1][:, :, :r]
    if wide:
        z = (y[:, None] @ basis)[:, 0]
        rest = y - (basis @ z[:, :, None])[:, :, 0]
        outside = np.vecdot(rest, rest) * (r < t - 1)
    else:
        z = ((y[:, None] @ A) @ basis)[:, 0] / np.sqrt(lam)
        outside = np.maximum(np.vecdot(y, y) - np.vecdot(z, z), 0.0)
    return _Bases(
        eigenvalues=lam,
        eigenvalue_error=np.broadcast_to(error, lam.shape),
        z=z,
        z_amplification=np.ones_like(lam) if wide else np.sqrt(largest / lam),
        outside=outside,
        left=basis if wide else None,
        right=None if wide else basis,
        solver="gram",
    )


def _by_svd(batch: _Batch) -> _Bases:
    """Decompose the rows of every fold themselves."""
    A, y = batch.A, batch.y
    t, d = A.shape[1:]
    r = min(t - 1, d)
    if d > 2 * t:  # a triangular factor of the transpose first
        Q, R = np.linalg.qr(A.transpose(0, 2, 1))
        turned, S, left_t = np.linalg.svd(R, full_matrices=False)
        left, right = left_t.transpose(0, 2, 1), Q @ turned
    else:
        left, S, right_t = np.linalg.svd(A, full_matrices=False)
        right = right_t.transpose(0, 2, 1)
    left, right = left[:, :, :r], right[:, :, :r]
    S = np.maximum(S[:, :r], max(t, d) * _EPS * S[:, :1])
    z = (y[:, None] @ left)[:, 0]
    rest = y - (left @ z[:, :, None])[:, :, 0]
    return _Bases(
        eigenvalues=S**2,
        eigenvalue_error=2 * BACKWARD * _EPS * S[:, :1] * S,
        z=z,
        z_amplification=np.ones_like(S),
        outside=np.vecdot(rest, rest) * (r < t - 1),
        left=left,
        right=right,
        solver="svd",
    )


def _filters(batch: _Batch, bases: _Bases, components: int | None) -> list[PLSFilter | None]:
    """Run the recursion on all folds and their copies; None where they do not agree."""
    lam, z = bases.eigenvalues, bases.z
    F, r = lam.shape
    norm = np.linalg.norm(z, axis=1)[:, None]
    values, coordinates = _copies(bases, np.linalg.norm(batch.y, axis=1)[:, None])
    steps = r if components is None else min(components, r)
    run = golub_kahan(
        values / np.tile(lam[:, :1], (1 + _COPIES, 1)),
        coordinates / np.tile(norm, (1 + _COPIES, 1)),
        np.ones(r, dtype=bool),
        steps,
    )
    K = run.residuals.shape[1]
    shape = (1 + _COPIES, F, K)
    f, phi = run.factors, run.residuals
    h = np.concatenate([np.zeros_like(phi[:, :1]), np.cumsum(run.scores**2, axis=1)], axis=1)
    # What the models have, of the folds and of their copies.
    dofs = (1.0 + (f + 2.0 * phi * h).sum(axis=2)).reshape(shape)
    squares = np.square(phi).sum(axis=2).reshape(shape)
    left_over = np.square(phi * coordinates[:, None]).sum(axis=2).reshape(shape)
    rotated = (f * (coordinates / np.sqrt(values))[:, None]).reshape(*shape, r)
    # How far the copies are apart.
    size = 1.0 + r + (np.abs(phi[:F]) * (1.0 + 2.0 * h[:F])).sum(axis=2)
    dof_error = _apart(dofs) + _SAFETY * _EPS * size
    trace_error = _apart(squares) + _EPS * size
    rss_error = _apart(left_over)
    length = np.linalg.norm(rotated[0], axis=2)
    length[:, 0] = 1.0
    coef_error = _SAFETY * np.linalg.norm(rotated[1:] - rotated[0], axis=3).max(axis=0) / length
    certain = (dof_error <= SUPPORTED_ERROR) & (coef_error <= _SUPPORTED_COEF_ERROR)
    supported = np.where(certain.all(axis=1), K, np.argmin(certain, axis=1))
    # All that was asked for; without a number all of those that are certain.
    enough = supported > 1 if components is None else supported == 1 + components
    trace = squares[0] + np.maximum(batch.n - 1.0 - r, 0.0)[:, None]
    largest = np.sqrt(lam[:, :1])
    diagonal, superdiagonal = run.diagonal[:F] * largest, run.superdiagonal[:F] * largest
    loadings, naive = run.loadings[:F] * norm, 1.0 + np.arange(K, dtype=np.float64)
    zero = np.zeros(K)
    # Parts of what cannot be written to cannot be written to either.
    for one in (f, phi, run.scores, run.weights, dofs, dof_error, rss_error, coef_error):
        one.flags.writeable = False
    for one in (trace, trace_error, diagonal, superdiagonal, loadings, naive, zero):
        one.flags.writeable = False
    found: list[PLSFilter | None] = [None] * F
    for i in np.flatnonzero(enough).tolist():
        kept = int(supported[i])
        found[i] = PLSFilter(
            factors=f[i, :kept],
            residuals=phi[i, :kept],
            scores=run.scores[i, : kept - 1].T,
            dof=dofs[0, i, :kept],
            dof_error=dof_error[i, :kept],
            rss_error=rss_error[i, :kept],
            coef_error=coef_error[i, :kept],
            dof_std_error=zero[:kept],
            residual_trace=trace[i, :kept],
            residual_trace_error=trace_error[i, :kept],
            naive_dof=naive[:kept],
            weights=run.weights[i, : kept - 1].T,
            diagonal=diagonal[i, : kept - 1],
            superdiagonal=superdiagonal[i, : kept - 1],
            loadings=loadings[i, : kept - 1],
            message="" if kept == 1 + steps else "Further components are not certain.",
        )
    return found


def _copies(bases: _Bases, norm: Array) -> tuple[Array, Array]:
    """Return eigenvalues and coordinates of the folds and of perturbed copies, ((1 + c) F, r)."""
    lam, z, error = bases.eigenvalues, bases.z, bases.eigenvalue_error
    r = lam.shape[1]
    z_error = BACKWARD * _EPS * norm * bases.z_amplification
    values, coordinates = [lam], [z]
    rng = np.random.default_rng(2011)
    for copy in range(_COPIES):
        signs = rng.choice([-1.0, 1.0], (3, r))
        values.append(np.maximum(lam + signs[0] * error, error / 2.0))
        moved = z + signs[1] * z_error
        # Every other pair of neighbours is turned, by the error over the distance.
        first = np.arange(copy % 2, r - 1, 2)
        gap = lam[:, first] - lam[:, first + 1]
        angle = signs[2, first] * np.minimum(error[:, first] / gap, 1.0)
        c, s, low, high = np.cos(angle), np.sin(angle), moved[:, first], moved[:, first + 1]
        moved[:, first], moved[:, first + 1] = c * low + s * high, c * high - s * low
        coordinates.append(moved)
    return np.concatenate(values), np.concatenate(coordinates)


def _apart(values: Array) -> Array:
    """Return how far the copies of (1 + copies, F, K) values are from the first one. (F, K)."""
    return np.asarray(_SAFETY * np.abs(values[1:] - values[0]).max(axis=0))


def _path(
    rows: Rows,
    train: Integers,
    batch: _Batch,
    bases: _Bases,
    one: PLSFilter,
    i: int,
) -> PLSPath:
    """Put the path of fold i together."""
    path = rows.path
    A, root = batch.A[i], None if batch.root is None else batch.root[i]
    left, right = (None if one is None else one[i] for one in (bases.left, bases.right))
    S = np.sqrt(bases.eigenvalues[i])
    features: Reached | None = Reached(
        forward=partial(np.matmul, A), backward=partial(np.matmul, A.T)
    )
    if rows.basis is not None or rows.dual:
        left = A @ right / S if left is None else left
        features = None
    if rows.basis is not None:
        right = rows.basis @ (A.T @ left / S if right is None else right)
    elif rows.dual:
        right = left / S if root is None else root[:, None] * left / S
    decomposition = Decomposition(
        eigenvalues=read_only(bases.eigenvalues[i]),
        eigenvalue_error=read_only(bases.eigenvalue_error[i]),
        z_amplification=read_only(bases.z_amplification[i]),
        left=left,
        right=right,
        X=features,
        unresolved=0,
        floor=0.0,
        solver=bases.solver,
    )
    n, again, part = float(batch.n[i]), path.with_rows(train), rows.features[train]
    if rows.dual:
        part = again.training_features() if rows.changing else part[:, train]
    share = np.full(len(train), 1.0 / n) if root is None else root**2 / n
    units = replace(
        path.units,
        n=n,
        n_rows=len(train),
        x_mean=read_only(share @ part),
        x_scale=path.units.x_scale,
        y_mean=float(batch.y_mean[i]),
        row_scale=None if root is None else read_only(root),
    )
    if rows.scale:
        units = replace(units, x_scale=read_only(batch.scale[i]))
    elif rows.dual:
        units = replace(units, x_scale=read_only(np.ones(len(train))))
    spectrum = decomposition.spectrum_of(
        bases.z[i],
        n=n,
        norm=float(np.linalg.norm(batch.y[i])),
        outside=float(bases.outside[i]),
    )
    return replace(
        again,
        make_filter=partial(pls_filter, max_components=rows.components),
        units=units,
        decomposition=decomposition,
        spectrum=spectrum,
        filter=one,
        full=None,
        average_again=None,
        response=read_only(path.require_response()[train]),
    )
