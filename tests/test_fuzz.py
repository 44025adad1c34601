"""Calls with arguments that nobody should give: only documented errors, no leaked warning.

A call takes valid arguments and replaces one or two of them. Errors of Python itself are fine
only where its signature is not met (TypeError for a keyword that does not exist is not tried).
"""

import inspect
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import DataConversionWarning

import plsdof
from plsdof import chemometrics, inference, large, selection
from plsdof.errors import PlsdofError, PlsdofWarning

N, P = 14, 4


def valid_data():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N, P))
    return X, X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * rng.normal(size=N)


X, Y = valid_data()
PATH = plsdof.pls_path(X, Y)
MODEL, AVERAGE = PATH[1], PATH.average()
RIDGE = plsdof.ridge_path(X, Y, alphas=[1.0, 0.1])
FITTED = plsdof.PLSRegressor(n_components=2).fit(X, Y)


def strange_values(rng):
    """Return one value of many kinds, most of them of no use anywhere."""
    n, p = int(rng.integers(0, 16)), int(rng.integers(0, 6))
    table = rng.normal(size=(n, p)) * 10.0 ** float(rng.choice([0, 0, 200, -200, 300, -310, 140]))
    holes = X.copy()
    holes[int(rng.integers(N)), int(rng.integers(P))] = rng.choice([np.nan, np.inf, -np.inf])
    twice = pd.DataFrame(X, columns=["a", "a", "b", "c"])
    kinds = [
        lambda: rng.choice([0, 1, -1, 2, 5, 9, 100, 10**9]).item(),
        lambda: 10**400,
        lambda: -(10**400),
        lambda: float(rng.choice([0.0, 0.5, 1.0, -1.0, 1e300, 1e-300, np.nan, np.inf])),
        lambda: rng.choice(["", "pls", "bic", "yes", "jacobian", "\ud800", "é" * 300]).item(),
        lambda: None,
        lambda: bool(rng.integers(2)),
        lambda: np.bool_(rng.integers(2)),
        lambda: (),
        lambda: [],
        lambda: {},
        lambda: {"a": 1},
        lambda: {1, 2},
        lambda: object(),
        lambda: len,
        lambda: 1j,
        lambda: b"bytes",
        lambda: Decimal("0.5"),
        lambda: Fraction(1, 3),
        lambda: range(3),
        lambda: slice(0, 2),
        lambda: table,
        lambda: table[:, :1],
        lambda: rng.normal(size=n),
        lambda: rng.normal(size=N) * 10.0 ** float(rng.choice([0, 139, 141, -141, -200, 300])),
        lambda: rng.normal(size=(N, P)) * 10.0 ** float(rng.choice([-160, -90, 90, 160, 290])),
        lambda: np.zeros(N),
        lambda: np.zeros((N, P)),
        lambda: holes,
        lambda: X.astype(object),
        lambda: X.astype(complex),
        lambda: X.astype(np.float16),
        lambda: X > 0,
        lambda: X[None],
        lambda: np.array(3.0),
        lambda: np.array(["a"] * N),
        lambda: np.array([]),
        lambda: np.full(N, 1e300),
        lambda: np.full(N, -1.0),
        lambda: np.arange(N),
        lambda: np.arange(N).astype("datetime64[D]"),
        lambda: np.ma.masked_array(Y, mask=Y > 0),
        lambda: twice,
        lambda: pd.DataFrame(X, columns=list("abcd")),
        lambda: pd.Series(Y),
        lambda: pd.DataFrame({"a": ["x"] * N, "b": Y}),
        lambda: scipy.sparse.csr_array(X),
        lambda: scipy.sparse.coo_array(X[:3]),
        lambda: X.tolist(),
        lambda: [[1.0, 2.0], [3.0]],
        lambda: [Y.tolist(), "a"],
        lambda: PATH,
        lambda: RIDGE,
        lambda: FITTED,
        lambda: plsdof.PLSRegressor,
        lambda: np.random.default_rng(0),
        lambda: iter([1, 2]),
    ]
    return kinds[int(rng.integers(len(kinds)))]()


def calls():
    """Return functions with arguments that work."""
    data = {"X": X, "y": Y}
    made = {
        plsdof.pls_path: data
        | {"max_components": 2, "scale": True, "sample_weight": None, "solver": "auto"},
        plsdof.pcr_path: data
        | {"max_components": 2, "order": "variance", "scale": True, "sample_weight": None},
        plsdof.ridge_path: data | {"alphas": [1.0], "scale": True, "sample_weight": None},
        plsdof.kernel_pls_path: data
        | {"kernel": "rbf", "gamma": 0.1, "max_components": 2, "sample_weight": None},
        plsdof.penalized_pls_path: data
        | {"strength": 1.0, "penalty": 2, "max_components": 2, "scale": False, "blocks": None},
        plsdof.pls2_path: {"X": X, "Y": np.column_stack([Y, Y**2]), "max_components": 2},
        plsdof.cross_validate: data
        | {"path": "pls", "cv": 3, "groups": None, "max_components": 2, "scale": True},
        plsdof.degrees_of_freedom: {"estimator": plsdof.PLSRegressor(n_components=1), **data},
        plsdof.dof_lower_bound: {"X": X},
        plsdof.compare_paths: data | {"paths": ("pls", "pcr"), "max_components": 2},
        selection.make_folds: data | {"cv": 3, "groups": None, "rng": 0},
        inference.coefficient_inference: {"model": MODEL, "level": 0.9, "noise": None},
        inference.prediction_interval: {"model": MODEL, "X_new": X[:2], "level": 0.9},
        inference.noise_interval: {"model": MODEL, "level": 0.9},
        inference.simultaneous_band: {"model": MODEL, "level": 0.9, "n_draws": 100},
        inference.jackknife: {"model": MODEL, "cv": 3},
        chemometrics.vip: {"model": MODEL},
        chemometrics.selectivity_ratio: {"model": MODEL},
        chemometrics.explained_variance: {"path": PATH},
        chemometrics.hotelling_t2: {"model": MODEL, "X_new": X[:3], "level": 0.9},
        chemometrics.q_residuals: {"model": MODEL, "X_new": X[:3], "level": 0.9},
        chemometrics.outliers: {"model": MODEL, "level": 0.9},
        large.Moments.of: {"X": X, "y": Y},
        PATH.predict: {"X_new": X[:2]},
        PATH.criterion: {"name": "bic", "dof": "exact", "noise": None},
        PATH.select: {"criterion": "bic", "dof": "exact", "noise": None, "rule": None},
        PATH.noise_variance: {"kind": "jacobian"},
        PATH.left_out: {"cv": 3, "groups": None},
        PATH.average: {"cv": None, "groups": None, "loss": "huber"},
        MODEL.half_width: {"level": 0.9},
        AVERAGE.predict: {"X_new": X[:2]},
        AVERAGE.noise_variance: {"kind": "left-out"},
        PATH.jacobian: {"m": 1},
        PATH.coef_std_error: {"m": 1, "noise": None},
        PATH.refit: {"y": Y},
        RIDGE.predict: {"X_new": X},
        FITTED.predict: {"X": X[:2]},
        FITTED.conf_int: {"level": 0.9},
        FITTED.predict_interval: {"X": X[:2], "level": 0.9},
        large.Moments.of: {"X": X, "y": Y, "sample_weight": None},
        large.Moments.of(X, Y).gram: {"scale": True},
        plsdof.PLSRegressor().fit: data | {"sample_weight": None, "groups": None},
        plsdof.PLSRegressor: {"n_components": 2, "max_components": 3, "scale": True, "cv": 3},
        plsdof.RidgeRegressor: {"alpha": "gcv", "scale": True},
        plsdof.KernelPLSRegressor: {"n_components": 2, "kernel": "rbf", "gamma": 0.1},
    }
    for call, given in made.items():
        known = inspect.signature(call).parameters
        yield call, {name: value for name, value in given.items() if name in known}


CALLS = list(calls())


def attempt(seed):
    """Make one call; return what went wrong, or None."""
    rng = np.random.default_rng([2018, seed])
    call, given = CALLS[int(rng.integers(len(CALLS)))]
    given = dict(given)
    for name in rng.choice([*given], min(len(given), int(rng.integers(1, 3))), replace=False):
        value = strange_values(rng)
        if not (callable(value) and callable(given[str(name)])):  # a function may raise anything
            given[str(name)] = value
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call(**given)
            if isinstance(call, type):  # an estimator checks its parameters when it is fitted
                result = result.fit(X, Y)
            _read(result)
        except (PlsdofError, NotImplementedError) as error:
            wrong = None if str(error).strip() else "an error without a message"
        except Exception as error:
            wrong = None if _by_sklearn(error) else f"{type(error).__name__}: {error!s:.100}"
        else:
            wrong = None
    leaked = [
        str(one.message)
        for one in caught
        if not issubclass(one.category, PlsdofWarning | DataConversionWarning)
        and "feature names" not in str(one.message)
    ]
    if wrong is None and leaked:
        wrong = f"warning: {leaked[0]:.100}"
    if wrong is None:
        return None
    shown = {name: f"{value!r:.60}" for name, value in given.items() if value is not None}
    return f"{getattr(call, '__qualname__', call)} {seed}: {wrong} | {shown}"


def _by_sklearn(error):
    """Whether scikit-learn's own check of an argument has refused it, as its estimators do."""
    frame, seen = error.__traceback__, False
    while frame is not None:
        seen |= frame.tb_frame.f_code.co_filename.endswith("sklearn/utils/validation.py")
        frame = frame.tb_next
    return seen and isinstance(error, ValueError | TypeError | OverflowError)


def _read(result):
    for name in ("coef", "rss", "rss_error", "coef_error", "intercept", "dof_", "values"):
        getattr(result, name, None)
    repr(result)


def test_strange_arguments_lead_to_documented_errors_only():
    assert [wrong for seed in range(300) if (wrong := attempt(seed))] == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(30))
def test_many_strange_arguments_lead_to_documented_errors_only(part):
    seeds = range(1000 * (part + 1), 1000 * (part + 2))
    assert [wrong for seed in seeds if (wrong := attempt(seed))] == []
