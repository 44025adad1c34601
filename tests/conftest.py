"""Shared fixtures: a plain problem, and the reference cases when they are at hand."""

import json
from types import SimpleNamespace

import pytest
from _helpers.problems import SHARED, load_case, make_problem

CASES = ("small", "ozone", "kin32fh-300", "cookie-fat")


@pytest.fixture
def problem():
    """Return 47 rows and 8 predictors, so that folds differ in size."""
    return make_problem(47, 8, seed=3, decay=1.0, noise=1.0)


@pytest.fixture(params=CASES)
def reference(request):
    """Data and published numbers of one reference case."""
    file = SHARED / "reference" / f"{request.param}.json"
    if not file.exists():
        pytest.skip("the reference numbers are not part of the package")
    numbers = json.loads(file.read_text())
    X, y = load_case(request.param, numbers)
    return SimpleNamespace(name=request.param, X=X, y=y, **numbers)
