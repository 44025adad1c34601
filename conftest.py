"""For all tests and documented examples: figures that one of them opened are closed after it."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")
