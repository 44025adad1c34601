"""The report in a real browser: headless Chromium opens it from disk and uses it."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from _helpers.browser import (
    assert_numbers_equal_data,
    assert_quiet,
    open_page,
    press,
    sticking_out,
    text_contrasts,
    wait_until,
    wait_until_drawn,
)

from plsdof import PLSRegressor, RidgeRegressor
from plsdof.datasets import load_ozone, make_spectra
from plsdof.workbench.report import write_report

pytestmark = pytest.mark.browser

PAGES = ("ozone", "spectra", "ridge", "average", "hostile")
WIDTHS = (1280, 390)
HOSTILE = [
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 2</script>",
    '"\' onmouseover="window.hacked = 3',
    "<img src=x onerror=window.hacked=4>",
    '<a href="javascript:window.hacked=5">click</a>',
    "\u202egnp.exe\u2066\u200f",
    "w" * 10_000,
    "two\nlines\x00nul",
    "%{y}<br>${window.hacked = 6}",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return {name: make_page(folder, name) for name in PAGES}


def make_page(folder, name):
    file = folder / f"{name}.html"
    if name == "ozone":
        X, y = load_ozone(return_X_y=True, as_frame=True)
        model = PLSRegressor("bic").fit(X, y)
        write_report(model, file, response="ozone", command="plsdof demo")
    elif name == "spectra":
        made = make_spectra(random_state=0, as_frame=True)
        X, y = made.data, made.target
        write_report(PLSRegressor("gmdl").fit(X, y), file)
    elif name == "average":
        X, y = load_ozone(return_X_y=True, as_frame=True)
        write_report(PLSRegressor("average").fit(X, y), file, level=0.9)
    elif name == "ridge":
        write_report(RidgeRegressor("gcv").fit(*load_ozone(return_X_y=True)), file)
    else:
        rng = np.random.default_rng(0)
        X = pd.DataFrame(
            rng.normal(size=(40, len(HOSTILE))), columns=pd.Index(HOSTILE, dtype=object)
        )
        y = X.to_numpy() @ rng.normal(size=len(HOSTILE)) + rng.normal(size=40)
        file = folder / "<script>window.hacked = 7<\u202e\"'&%.html"
        options = {"response": HOSTILE[0], "command": " ".join(HOSTILE), "level": 0.9}
        labels = [HOSTILE[i % len(HOSTILE)] for i in range(40)]
        write_report(PLSRegressor("aic").fit(X, y), file, labels=labels, **options)
    return file


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_moving_the_slider_by_keyboard_shows_the_numbers_of_the_data(browser, files, name, width):
    data = open_page(browser, files[name], width)
    assert_numbers_equal_data(browser, data)
    last = len(data["details"]) - 1
    start = data["chosen"] - data["first"]
    assert press(browser, "ARROW_RIGHT") == min(start + 1, last)
    for key, place in (("END", last), ("HOME", 0), ("ARROW_RIGHT", 1)):
        assert press(browser, key) == place
        assert_numbers_equal_data(browser, data)
        words = data["models"]["words"][data["first"] + place]
        summary = browser.execute_script("return document.getElementById('summary').textContent")
        assert summary.startswith(words)
        spoken = "return document.getElementById('model').getAttribute('aria-valuetext')"
        assert browser.execute_script(spoken) == words
        hidden = browser.execute_script("return document.getElementById('reason').hidden")
        assert hidden == (data["details"][place]["reason"] == "")
    assert_quiet(browser, files[name])
    assert browser.execute_script("return typeof window.hacked") == "undefined"


@pytest.mark.parametrize("name", PAGES)
def test_pictures_draw_the_data_of_the_model_on_the_slider(browser, files, name):
    data = open_page(browser, files[name])
    place = press(browser, "ARROW_LEFT")
    one = data["details"][place]

    def traces(chart):
        return browser.execute_script(
            f"return document.getElementById('chart-{chart}').data.map((t) => [t.x, t.y])"
        )

    coefficients = traces("coefficients")[-1]
    assert coefficients[0 if data["features"]["layout"] == "names" else 1] == one["coef"]
    # The average, which comes last, is not part of the curve.
    single = slice(data["average"])
    models = data["models"]
    assert traces("dof")[0] == [models["parameter"][single], models["dof"][single]]
    assert traces("dof")[-1][1] == [data["models"]["dof"][data["first"] + place]]
    groups = traces("residuals")
    assert sorted(groups[0][1] + groups[1][1]) == sorted(one["rows"]["residual"])
    if name != "ridge":
        inside, beyond, _ = traces("distance")
        flags = np.array(one["rows"]["flags"]) & 3
        assert beyond[1] == np.array(one["rows"]["q"])[flags > 0].tolist()
        assert len(inside[1]) + len(beyond[1]) == len(flags)


@pytest.mark.parametrize("name", ["spectra", "hostile"])
def test_names_of_unusual_rows_are_apart_from_each_other(browser, files, name):
    data = open_page(browser, files[name])
    script = """
    return [...document.querySelectorAll('.chart')].map((chart) =>
      [...chart.querySelectorAll('text.name')].map((text) => {
        const box = text.getBoundingClientRect();
        return [box.left, box.right, box.top, box.bottom];
      }))
    """
    press(browser, "HOME")
    most = 0
    for _ in data["details"]:
        for boxes in browser.execute_script(script):
            most = max(most, len(boxes))
            for one, other in itertools.combinations(boxes, 2):
                across = min(one[1], other[1]) - max(one[0], other[0])
                down = min(one[3], other[3]) - max(one[2], other[2])
                assert min(across, down) <= 1, (one, other)
        press(browser, "ARROW_RIGHT")
    assert most >= 4


def test_rows_are_called_by_their_labels(browser, files):
    data = open_page(browser, files["hostile"])
    words = browser.execute_script("return document.querySelector('main').textContent")
    assert all(one["name"] in words for one in data["rows"]["suspects"])
    script = (
        "return document.getElementById('chart-fit').data.slice(1, 3)"
        ".flatMap((t) => t.hovertext).map((text) => text.split('\\n')[0])"
    )
    hover = browser.execute_script(script)
    assert sorted(hover) == sorted(data["rows"]["labels"])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_nothing_sticks_out_of_the_page(browser, files, name, width):
    open_page(browser, files[name], width)
    assert sticking_out(browser) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_captions_keep_a_distance_from_the_picture_above(browser, files, width):
    open_page(browser, files["ozone"], width)
    script = """
    const figures = [...document.querySelectorAll(".pair figure")];
    const boxes = figures.map((one) => one.getBoundingClientRect());
    const gaps = [];
    for (const one of boxes) for (const other of boxes)
      if (one.left === other.left && other.top > one.top) gaps.push(other.top - one.bottom);
    return gaps;
    """
    gaps = browser.execute_script(script)
    assert len(gaps) >= 2
    assert min(gaps) >= 12


@pytest.mark.parametrize("name", ["ozone", "hostile"])
def test_text_on_screen_has_the_contrast_of_wcag_aa(browser, files, name):
    open_page(browser, files[name])
    found = text_contrasts(browser)
    assert len(found) > 100
    assert [one for one in found if one[0] < 4.5] == []


def test_names_in_pictures_are_plain_text(browser, files):
    data = open_page(browser, files["hostile"])
    script = (
        "return [...document.querySelectorAll('#chart-coefficients .ytick text')]"
        ".map((one) => one.textContent)"
    )
    # SVG text shows a space where a name has a line break or several spaces.
    assert browser.execute_script(script) == data["features"]["names"]
    links = "return document.querySelectorAll('.chart a, .chart [onmouseover]').length"
    assert browser.execute_script(links) == 0


def test_all_controls_are_reached_by_the_tab_key(browser, files):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    open_page(browser, files["ozone"])
    reached = []
    for _ in range(12):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        reached.append(browser.execute_script("return document.activeElement.id"))
        outline = "return getComputedStyle(document.activeElement).outlineStyle"
        assert browser.execute_script(outline) == "solid"
    # Pictures are reached, too.
    pictures = [one for one in reached if one.startswith("chart-")]
    assert pictures[:2] == ["chart-dof", "chart-errors"]
    controls = [one for one in reached if one and one not in pictures]
    assert controls[:4] == ["less", "model", "more", "back"]


def test_buttons_step_and_return_to_the_chosen_model(browser, files):
    from selenium.webdriver.common.by import By

    data = open_page(browser, files["ozone"])
    for button, steps in (("less", -1), ("less", -2), ("more", -1), ("back", 0)):
        browser.find_element(By.ID, button).click()
        place = data["chosen"] - data["first"] + steps
        wait_until(browser, f"return document.getElementById('model').value === '{place}'")
    wait_until_drawn(browser)
    assert_numbers_equal_data(browser, data)


@pytest.mark.parametrize("name", ["ozone", "spectra"])
@pytest.mark.parametrize("width", WIDTHS)
def test_pictures_and_tables_fit_on_paper_and_return_to_the_screen(browser, files, name, width):
    open_page(browser, files[name], width)
    widths = "return [...document.querySelectorAll('.chart')].map((c) => c.layout.width || 0)"
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    printed = browser.execute_script(widths)
    assert len(printed) == {"ozone": 16, "spectra": 17}[name]
    assert set(printed) == {320, 660}
    paper = {"width": 680, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", paper)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    cut = """
    return [...document.querySelectorAll("table, svg.plot")].filter((one) =>
      one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
      .map((one) => one.tagName + " " + one.id)
    """
    assert browser.execute_script(cut) == []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    on_screen = "return document.querySelector('#chart-dof svg.plot').getBoundingClientRect()"
    assert browser.execute_script(on_screen)["width"] <= 680
    page = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(page["data"]) > 10_000
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("name", ["ozone", "spectra"])
def test_a_report_stays_small(browser, files, name):
    """What makes a page quick to open, counted: elements and bytes."""
    open_page(browser, files[name])
    wait_until_drawn(browser)
    charts, nodes = browser.execute_script(
        "return [document.querySelectorAll('.chart').length, document.querySelectorAll('*').length]"
    )
    # A few hundred elements per picture, and one per cell of the tables.
    assert nodes < 300 * charts
    assert files[name].stat().st_size < 2e6


def test_without_scripts_the_numbers_are_still_there(browser, files):
    data = json.loads(
        files["ozone"]
        .read_text(encoding="utf-8")
        .partition('id="data">')[2]
        .partition("</script")[0]
    )
    browser.get("about:blank")
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(files["ozone"].as_uri())
        text = browser.execute_cdp_cmd(
            "DOM.getOuterHTML",
            {"nodeId": browser.execute_cdp_cmd("DOM.getDocument", {})["root"]["nodeId"]},
        )["outerHTML"]
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert "need JavaScript" in text
    assert f"<dd>{dict(data['numbers'])['Degrees of Freedom']}</dd>" in text
