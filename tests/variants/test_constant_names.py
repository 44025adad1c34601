"""Columns are called by their names, whichever method says something about them."""

import numpy as np
import pytest

from plsdof import (
    KernelPLSRegressor,
    PenalizedPLSRegressor,
    PLS2Regressor,
    kernel_pls_path,
    penalized_pls_path,
    pls2_path,
)
from plsdof.errors import ConstantColumnWarning

FITS = {
    "kernel": lambda X, y: kernel_pls_path(X, y, max_components=2),
    "kernel that sees the origin": lambda X, y: kernel_pls_path(X, y, "poly", 2),
    "penalised": lambda X, y: penalized_pls_path(X, y, scale=True, max_components=2),
    "several responses": lambda X, y: pls2_path(X, np.c_[y, y**2], 2),
    "kernel estimator": lambda X, y: KernelPLSRegressor(2).fit(X, y),
    "penalised estimator": lambda X, y: PenalizedPLSRegressor(2, scale=True).fit(X, y),
    "estimator of several responses": lambda X, y: PLS2Regressor(2).fit(X, np.c_[y, y**2]),
}


@pytest.mark.parametrize("fit", FITS)
def test_a_column_that_hardly_varies_is_named(fit):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(30, 3)), columns=["a", "b", "c"])
    X["flat"] = 5 + 1e-15 * rng.normal(size=30)
    with pytest.warns(ConstantColumnWarning, match="'flat'"):
        FITS[fit](X, X["a"].to_numpy() + rng.normal(size=30))
