"""Rules and methods compared on one's own data, in random splits."""

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path as File
from typing import Any

import numpy as np

from plsdof._core.display import data_frame, one_line
from plsdof._core.fit import METHODS
from plsdof._core.inputs import Array, as_count, as_fraction, as_generator, as_matrix, as_response
from plsdof._core.path import Path
from plsdof._core.work import with_progress
from plsdof.complexity._exact import exact_dof
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.selection.cross_validation import cross_validate

_VALUES = ("error", "dof", "size", "seconds")


@dataclass(frozen=True, kw_only=True)
class _Tested:
    """What one method did on one split."""

    error: float
    dof: float
    size: float
    seconds: float


# From training rows to predictions of test rows, Degrees of Freedom and size.
_Fit = Callable[[Array, Array, Array], tuple[Array, tuple[float, float]]]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Benchmark:
    """Test errors of several methods in the same random splits of the rows.

    R splits, K methods.

    Attributes
    ----------
    names : tuple of str
        The methods.
    error : (R, K) array
        Mean squared error of the rows left out.
    dof : (R, K) array
        Degrees of Freedom of the chosen model; nan where no formula is known.
    size : (R, K) array
        Number of components (their weighted mean for an average), or penalty; nan for others.
    seconds : (R, K) array
        Time to fit and choose.
    n_train, n_test : int
        Rows in the two parts of a split.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> benchmark(X, y, ["pls", "ridge"], n_splits=3)
    Benchmark(2 methods, 3 splits, n_train=162, n_test=41, best='...')
    """

    names: tuple[str, ...]
    error: Array
    dof: Array
    size: Array
    seconds: Array
    n_train: int
    n_test: int

    @property
    def rmse(self) -> Array:
        """Root mean squared error of the rows left out, over all splits. Shape (K,)."""
        return np.asarray(np.sqrt(self.error.mean(axis=0)))

    @property
    def ratio(self) -> Array:
        """Geometric mean over splits of error / smallest error in the split. Shape (K,)."""
        smallest = self.error.min(axis=1, keepdims=True)
        shares = np.where(smallest > 0, self.error / np.where(smallest > 0, smallest, 1.0), 1.0)
        return np.asarray(np.exp(np.log(np.maximum(shares, 1.0)).mean(axis=0)))

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per method, the smallest error first."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # methods without any number
            columns = {
                "method": np.array(self.names),
                "rmse": self.rmse,
                "error_ratio": self.ratio,
                "dof": np.nanmedian(self.dof, axis=0),
                "size": np.nanmedian(self.size, axis=0),
                "seconds": np.median(self.seconds, axis=0),
            }
        order = np.argsort(self.rmse, kind="stable")
        return data_frame({name: values[order] for name, values in columns.items()})

    def __repr__(self) -> str:
        return one_line(
            self,
            f"{len(self.names)} methods",
            f"{len(self.error)} splits",
            n_train=self.n_train,
            n_test=self.n_test,
            best=self.names[int(np.argmin(self.rmse))],
        )


def benchmark(
    X: Any,
    y: Any,
    methods: Any = None,
    *,
    n_splits: int = 20,
    train_size: float = 0.8,
    max_components: int | None = 30,
    random_state: int = 0,
    resume: Any = None,
    progress: bool = False,
) -> Benchmark:
    """Compare rules of choice and regression methods on one's own data, in random splits.

    In every split all methods are fitted to the same training rows, with everything they choose,
    and tested on the same other rows.

    Parameters
    ----------
    X : (n, p) array or data frame
    y : (n,) array
    methods : list of str, or mapping of names to scikit-learn regressors, optional
        Words: "pls" (the default choice), "pls-average", "pls-bic" (first minimum, as in the
        paper), "pls-cv" (10-fold cross-validation), "pcr", "ridge", "mean". A mapping may hold
        words and regressors, which are cloned. By default all the words.
    n_splits : int
    train_size : float
        Share of the rows to fit on.
    max_components : int, optional
        Largest model of PLS and PCR.
    random_state : int
    resume : path, optional
        A JSON file with the splits that are done; it is written after every split.
    progress : bool
        Show a bar on stderr (needs rich).

    Notes
    -----
    For one's own data what ``benchmark.pls`` and ``benchmark.regression`` of the R package plsdof
    do. Cost: one fit per method and split.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> result = benchmark(X, y, n_splits=4)
    >>> sorted(result.names)
    ['mean', 'pcr', 'pls', 'pls-average', 'pls-bic', 'pls-cv', 'ridge']
    """
    X = as_matrix(X, min_rows=4)
    y = as_response(y, len(X))
    n_splits = as_count(n_splits, "n_splits", minimum=1)
    n_train = round(as_fraction(train_size, "train_size") * len(X))
    if n_train < 3 or n_train >= len(X):
        raise InvalidInputError(
            f"train_size={train_size:g} leaves {n_train} of {len(X)} rows to fit and "
            f"{len(X) - n_train} to test; at least 3 and 1 are needed."
        )
    fits = _as_fits(methods, float(n_train), max_components)
    rng = as_generator(random_state)
    order = [rng.permutation(len(X)) for _ in range(n_splits)]
    key = _fingerprint(X, y, tuple(fits), n_train, max_components, random_state)
    done = _read(resume, key)
    missing = range(len(done), n_splits)
    for split in with_progress(missing, len(missing), "Splits") if progress else missing:
        train, test = order[split][:n_train], order[split][n_train:]
        done.append([_tested(fit, X, y, train, test) for fit in fits.values()])
        _write(resume, key, done)
    table = np.array([[[getattr(one, v) for v in _VALUES] for one in row] for row in done])
    table = table[:n_splits]
    return Benchmark(
        names=tuple(fits),
        error=table[:, :, 0],
        dof=table[:, :, 1],
        size=table[:, :, 2],
        seconds=table[:, :, 3],
        n_train=n_train,
        n_test=len(X) - n_train,
    )


def _tested(fit: _Fit, X: Array, y: Array, train: Any, test: Any) -> _Tested:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about models that a training part does not support
        predicted, (dof, size) = fit(X[train], y[train], X[test])
    seconds = time.perf_counter() - start
    error = float(np.mean((y[test] - predicted) ** 2))
    return _Tested(error=error, dof=dof, size=size, seconds=seconds)


def _as_fits(methods: Any, n: float, most: int | None) -> dict[str, _Fit]:
    known: dict[str, _Fit] = {
        "pls": partial(_by_choice, METHODS["pls"].sized(n, max_components=most)),
        "pls-average": partial(_by_average, METHODS["pls"].sized(n, max_components=most)),
        "pls-bic": partial(
            _by_choice,
            METHODS["pls"].sized(n, max_components=most),
            criterion="bic",
            rule="first-minimum",
        ),
        "pls-cv": partial(_by_folds, METHODS["pls"].sized(n, max_components=most)),
        "pcr": partial(_by_choice, METHODS["pcr"].sized(n, max_components=most)),
        "ridge": partial(_by_choice, METHODS["ridge"].sized(n)),
        "mean": _by_mean,
    }
    given = list(known) if methods is None else methods
    if isinstance(given, str):
        given = [given]
    items = given if isinstance(given, Mapping) else {one: one for one in given}
    fits = {}
    for name, one in items.items():
        if isinstance(one, str) and one in known:
            fits[str(name)] = known[one]
        elif hasattr(one, "fit") and hasattr(one, "predict"):
            fits[str(name)] = partial(_by_regressor, one)
        else:
            words = ", ".join(map(repr, known))
            raise InvalidInputError(
                f"methods must be some of {words}, or regressors with fit and predict; got "
                f"{one!r:.60}. Give regressors in a mapping, such as {{'lasso': LassoCV()}}."
            )
    if not fits:
        raise InvalidInputError("methods is empty; leave it out for all of them.")
    return fits


def _by_choice(
    fit: Callable[..., Path], X: Array, y: Array, X_new: Array, **options: Any
) -> tuple[Array, tuple[float, float]]:
    path = fit(X, y)
    index = path.select(**options).index
    return path.predict(X_new)[index], (float(path.dof[index]), float(path.parameters[index]))


def _by_average(
    fit: Callable[..., Path], X: Array, y: Array, X_new: Array
) -> tuple[Array, tuple[float, float]]:
    average = fit(X, y).average()
    return average.predict(X_new), (average.dof, average.n_components)


def _by_folds(
    fit: Callable[..., Path], X: Array, y: Array, X_new: Array
) -> tuple[Array, tuple[float, float]]:
    folds = min(10, len(y) - 1)
    path = fit(X, y)
    found = cross_validate(X, y, fit, cv=folds, random_state=0, keep_predictions=False)
    index = found.select().index
    return path.predict(X_new)[index], (float(path.dof[index]), float(path.parameters[index]))


def _by_mean(X: Array, y: Array, X_new: Array) -> tuple[Array, tuple[float, float]]:  # noqa: ARG001
    return np.full(len(X_new), y.mean()), (1.0, 0.0)


def _by_regressor(
    estimator: Any, X: Array, y: Array, X_new: Array
) -> tuple[Array, tuple[float, float]]:
    from sklearn.base import clone

    model = clone(estimator).fit(X, y)
    predicted = np.asarray(model.predict(X_new), dtype=np.float64).reshape(len(X_new))
    try:
        dof = exact_dof(model, X, y).value
    except (NotAvailableError, InvalidInputError):
        dof = float("nan")
    return predicted, (dof, float("nan"))


def _fingerprint(X: Array, y: Array, *settings: Any) -> str:
    """Return what tells one benchmark from another."""
    digest = hashlib.sha256(np.ascontiguousarray(X).tobytes())
    digest.update(np.ascontiguousarray(y).tobytes())
    digest.update(repr(settings).encode())
    return digest.hexdigest()


def _read(resume: Any, key: str) -> list[list[_Tested]]:
    if resume is None or not File(resume).exists():
        return []
    try:
        kept = json.loads(File(resume).read_text(encoding="utf-8"))
        rows = [
            [_Tested(**{name: float(one[name]) for name in _VALUES}) for one in row]
            for row in kept["splits"]
        ]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise InvalidInputError(f"{resume}: not a file of a benchmark ({error}).") from error
    if kept.get("key") != key:
        raise InvalidInputError(
            f"{resume} belongs to other data or settings; give another file, or delete it."
        )
    return rows


def _write(resume: Any, key: str, done: list[list[_Tested]]) -> None:
    if resume is None:
        return
    rows = [[{name: getattr(one, name) for name in _VALUES} for one in row] for row in done]
    # In one go: an interrupt leaves the old file or the new one.
    part = File(f"{resume}.part")
    part.write_text(json.dumps({"key": key, "splits": rows}), encoding="utf-8")
    part.replace(resume)
