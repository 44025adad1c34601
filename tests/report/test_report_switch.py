"""One report for several responses, in a real browser."""

import numpy as np
import pandas as pd
import pytest
from _helpers.browser import assert_quiet, wait_until, wait_until_drawn
from _helpers.command_line import GASOLINE, run

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [1280, 390])
def test_one_report_shows_each_response(tmp_path, browser, width):
    frame = pd.read_csv(GASOLINE).copy()
    noise = np.random.default_rng(0).normal(size=60)
    frame.insert(1, "density / %", frame["1200"] * 3 + 0.01 * noise)
    file, report = tmp_path / "two.csv", tmp_path / "r.html"
    frame.to_csv(file, index=False)
    run("fit", file, "-r", "octane", "-r", "density / %", "--report", report, "-q")
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(report.as_uri())
    for name in ("octane", "density / %", "octane"):
        buttons = browser.find_elements("css selector", "nav button")
        next(one for one in buttons if one.text == name).click()
        browser.switch_to.frame(["octane", "density / %"].index(name))
        heading = f"document.querySelector('h1')?.textContent.includes({name!r})"
        wait_until(browser, f"return {heading} === true")
        wait_until_drawn(browser)
        browser.switch_to.default_content()
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width
    assert_quiet(browser, report)
    # On paper every response is there as a whole, not only the one on the screen.
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    script = (
        "return [...document.querySelectorAll('.sheet')].map((one) => "
        "[...one.querySelectorAll('.chart')].filter((chart) => chart.querySelector('svg')).length)"
    )
    drawn = browser.execute_script(script)
    assert len(drawn) == 2
    assert min(drawn) > 10
    assert browser.execute_script("return document.querySelectorAll('select').length") == 0
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(script) == []
