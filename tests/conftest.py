"""Shared fixtures: the reference cases when they are at hand."""

import json
from types import SimpleNamespace

import pytest
from _helpers.problems import SHARED, load_case

CASES = ("small", "ozone", "kin32fh-300", "cookie-fat")


@pytest.fixture(params=CASES)
def reference(request):
    """Data and published numbers of one reference case."""
    file = SHARED / "reference" / f"{request.param}.json"
    if not file.exists():
        pytest.skip("the reference numbers are not part of the package")
    numbers = json.loads(file.read_text())
    X, y = load_case(request.param, numbers)
    return SimpleNamespace(name=request.param, X=X, y=y, **numbers)
