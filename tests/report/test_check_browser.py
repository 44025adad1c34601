"""The page of a check in a real browser."""

import base64

import pandas as pd
import pytest
from _helpers.browser import assert_quiet, open_page, sticking_out, text_contrasts

from plsdof import PLSRegressor
from plsdof.chemometrics import check_calibration
from plsdof.datasets import make_spectra
from plsdof.workbench.report.document import write_check

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", params=["references", "none"])
def page(request, tmp_path_factory):
    made = make_spectra(100, 40, random_state=0)
    model = PLSRegressor().fit(made.data[:60], made.target[:60])
    has_references = request.param == "references"
    y = made.target[60:] - 0.4 if has_references else None
    found = check_calibration(model, made.data[60:], y)
    content = vars(found) | {
        "verdicts": [vars(one) for one in found.verdicts],
        "calibration": vars(found.calibration),
        "rows": pd.DataFrame(dict(found.columns)).to_dict("records"),
        "chart": dict(vars(found.chart)),
        "message": found.message,
        "checks": [{"time": "t", "table": "x", "bias": 0.1, "unlike": 0.1, "rows": 40}] * 3,
        "model": "m.json",
        "file": "<b>week</b>" + 200 * "w",
        "response": "</script><b>fat</b>",
        "passed": False,
        "alarms": found.chart.sentences,
        "notes": ["A note."],
    }
    file = tmp_path_factory.mktemp("page") / "check.html"
    write_check(content, file)
    return file


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_is_whole_and_quiet(browser, page, width, scheme):
    data = open_page(browser, page, width=width, scheme=scheme)
    assert sticking_out(browser) == []
    assert_quiet(browser, page)
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('.chart')]"
        ".map((one) => [...one.querySelectorAll('.points')]"
        ".reduce((n, path) => n + Number(path.dataset.count), 0))"
    )
    assert len(drawn) == (3 if data["n"] else 2)
    assert min(drawn) >= 3
    found = text_contrasts(browser)
    assert len(found) > 10
    assert [one for one in found if one[0] < 4.5] == []
    title = browser.execute_script("return document.querySelector('h1').textContent")
    assert title == "Check of </script><b>fat</b>"


def test_page_fits_on_paper_and_returns_to_the_screen(browser, page):
    open_page(browser, page)
    widths = "return [...document.querySelectorAll('.chart')].map((c) => c.layout.width || 0)"
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert set(browser.execute_script(widths)) <= {320, 660}
    paper = {"width": 680, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", paper)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert sticking_out(browser) == []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert set(browser.execute_script(widths)) == {0}
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    pages = base64.b64decode(printed["data"]).count(b"/Type /Page\n")
    assert 1 <= pages <= 3
    assert browser.get_log("browser") == []
