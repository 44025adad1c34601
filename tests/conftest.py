"""Shared fixtures: a plain problem, the reference cases, a browser."""

import shutil
from types import SimpleNamespace

import pytest
from _helpers.problems import (
    PUBLISHED,
    SHIPPED,
    load_case,
    make_problem,
    or_skipped,
    reference_numbers,
)

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture
def problem():
    """Return 47 rows and 8 predictors, so that folds differ in size."""
    return make_problem(47, 8, seed=3, decay=1.0, noise=1.0)


@pytest.fixture(
    params=[*SHIPPED, *(pytest.param(case, marks=pytest.mark.published) for case in PUBLISHED)]
)
def reference(request):
    """Data and published numbers of one reference case."""
    numbers = reference_numbers(request.param)
    read = load_case if request.param in SHIPPED else or_skipped(load_case)
    X, y = read(request.param, numbers)
    return SimpleNamespace(name=request.param, X=X, y=y, **numbers)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Return headless Chromium."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    if not (CHROMIUM and DRIVER):
        pytest.skip("chromium and chromium-driver are not installed; run `make browser`")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()
