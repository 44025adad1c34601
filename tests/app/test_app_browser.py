"""The app in a real browser: from a file to a prediction, as somebody new would."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from _helpers.browser import (
    assert_numbers_equal_data,
    press,
    set_scheme,
    sticking_out,
    text_contrasts,
    wait_until,
)
from _helpers.command_line import GASOLINE

from plsdof.workbench.report.content import MOST_FEATURES, MOST_ROWS

pytestmark = pytest.mark.browser

SCREENS = ("table", "bench", "trials", "predict", "check", "out")
SERVE = """
import sys
from pathlib import Path
from plsdof.workbench.app.transport import serve
from plsdof.workbench.cli.browser import CommandLine
if __name__ == "__main__":
    say = lambda text: print(text, flush=True)
    serve(CommandLine(), None, browser=False, say=say, home=Path(sys.argv[1]))
"""
# Where pictures for the how-to go, if somebody wants new ones.
PICTURES = os.environ.get("PLSDOF_PICTURES")


@pytest.fixture
def address(tmp_path):
    """Serve an empty session; return its address with the token."""
    script = tmp_path / "serve.py"
    script.write_text(SERVE)
    command = [sys.executable, str(script), str(tmp_path / "home")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().strip()
    process.terminate()
    process.communicate()


def visit(browser, address, width=1280, height=900, scheme="light"):
    browser.get("about:blank")
    set_scheme(browser, scheme)
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(address)
    wait_until(browser, "return document.documentElement.dataset.idle === 'true'")


def find(browser, selector):
    return browser.find_element("css selector", selector)


def wait_until_settled(browser, most=60):
    """Wait until nothing is asked for and everything in sight is drawn."""
    script = (
        "return document.documentElement.dataset.idle === 'true'"
        " && document.documentElement.dataset.complete === 'true'"
    )
    wait_until(browser, script, most)


def go(browser, screen, most=60):
    find(browser, f"#tab-{screen}").click()
    wait_until_settled(browser, most)


def give(browser, selector, file):
    find(browser, f"{selector} input[type=file]").send_keys(str(file))
    wait_until_settled(browser)


def state(browser):
    script = "const done = arguments[0]; fetch('/state').then((a) => a.json()).then(done)"
    return browser.execute_async_script(script)


def view(browser):
    script = "const done = arguments[0]; fetch('/view').then((a) => a.json()).then(done)"
    return browser.execute_async_script(script)["content"]


def assert_stays_here(browser, address):
    """Nothing was complained about, and no request left for another machine."""
    assert browser.get_log("browser") == []
    home = address.split("/?")[0]
    messages = [json.loads(one["message"])["message"] for one in browser.get_log("performance")]
    asked = {
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    }
    local = (f"{home}/", "data:", "blob:", "about:")
    assert [one for one in asked if not one.startswith(local)] == []
    assert any(one.startswith(home) for one in asked)
    assert browser.execute_script("return typeof window.hacked") == "undefined"


def lasso(browser, chart, share=0.5):
    """Draw a line around the left part of a picture."""
    from selenium.webdriver.common.action_chains import ActionChains

    plot = find(browser, f"#chart-{chart} svg.plot")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    wait_until_settled(browser)
    box = plot.rect
    w, h = box["width"], box["height"]
    start = ActionChains(browser).move_to_element_with_offset(plot, 4 - w / 2, 4 - h / 2)
    drag = start.click_and_hold()
    for x, y in ((share * w, 0), (0, h - 8), (-share * w, 0), (0, 8 - h)):
        for _ in range(4):
            drag = drag.move_by_offset(int(x / 4), int(y / 4))
    drag.release().perform()
    wait_until(browser, "return !document.getElementById('marked').hidden")


def picture(browser, name):
    if PICTURES:
        from PIL import Image

        Path(PICTURES).mkdir(parents=True, exist_ok=True)
        file = Path(PICTURES) / f"{name}.png"
        browser.save_screenshot(str(file))
        Image.open(file).convert("RGB").quantize(128).save(file, optimize=True)


def release(browser):
    """Release the trial at hand, on the workbench."""
    go(browser, "bench")
    find(browser, "#release").click()
    wait_until(browser, "return document.getElementById('release').ariaPressed === 'true'")
    wait_until_settled(browser)


def choose_role(browser, name, role):
    """Search a column and give it a role."""
    search = find(browser, "#search")
    search.clear()
    search.send_keys(name)
    script = (
        "const box = document.querySelector(`[aria-label=${JSON.stringify('Role of ' + "
        "arguments[0])}]`); box.value = arguments[1]; box.dispatchEvent(new Event('change'))"
    )
    browser.execute_script(script, name, role)
    wait_until_settled(browser)


def test_from_a_file_to_a_prediction(browser, address):
    visit(browser, address)
    assert find(browser, "#welcome").is_displayed()
    give(browser, "#screen-table .drop", GASOLINE)
    assert "octane" in find(browser, "#preview").text
    assert find(browser, "[aria-label='Role of octane']").get_attribute("value") == "response"
    assert find(browser, "#chart-table svg.plot").is_displayed()
    picture(browser, "app-table")
    go(browser, "bench")
    data = view(browser)
    picture(browser, "app-bench")
    assert find(browser, "#rail h3").text == data["models"]["words"][data["chosen"]]
    # The four pictures and the answer are in sight without scrolling.
    for chart in ("bench-first", "chart-errors", "chart-fit", "chart-distance"):
        box = find(browser, f"#{chart} svg.plot").rect
        assert box["y"] + box["height"] < 900
    assert_numbers_equal_data(browser, data)
    last = len(data["details"]) - 1
    assert press(browser, "END") == last
    assert_numbers_equal_data(browser, data)
    # Only what is released predicts, is checked and is exported.
    go(browser, "predict")
    assert "released" in find(browser, "#trouble").text
    find(browser, "#trouble .mend").click()
    wait_until(browser, "return document.getElementById('trouble').hidden")
    assert "released octane: trial 1" in find(browser, "#standing").text
    give(browser, "#screen-predict .drop", GASOLINE)
    wait_until(browser, "return document.querySelectorAll('#predictions tbody tr').length === 60")
    assert "ok" in find(browser, "#predictions").text
    go(browser, "check")
    give(browser, "#screen-check .drop", GASOLINE)
    wait_until(browser, "return document.querySelectorAll('#checked tbody tr').length > 3")
    # The verdict first, then the chart, then the tests; nothing is significant to adjust.
    order = browser.execute_script(
        "return ['.verdict', '.chart', 'table'].map((one) => "
        "document.querySelector('#checked ' + one).getBoundingClientRect().top)"
    )
    assert order == sorted(order)
    assert "nothing to adjust" in find(browser, "#adjust").text
    picture(browser, "app-check")
    go(browser, "out")
    wait_until(
        browser, "return document.getElementById('python').textContent.includes('workbench.fit')"
    )
    command = browser.execute_script("return document.getElementById('command').textContent")
    assert command == "plsdof fit gasoline.csv --response octane"
    assert_stays_here(browser, address)


def test_lasso_exclude_undo_redo_and_reload(browser, address):
    visit(browser, address)
    find(browser, "#demo").click()
    wait_until_settled(browser)
    go(browser, "bench")
    lasso(browser, "fit", 0.6)
    marked = find(browser, "#marked-names").text
    assert "samples" in marked
    # What is marked in one picture is marked in all.
    counts = browser.execute_script(
        "return ['fit', 'distance'].map((id) => document.getElementById('chart-' + id).data"
        ".slice(0, 3).reduce((n, t) => n + (t.marked || []).length, 0))"
    )
    assert counts[0] == counts[1] > 0
    # The reason has the focus.
    assert browser.execute_script("return document.activeElement.id") == "why"
    picture(browser, "app-lasso")
    # A reason is needed.
    find(browser, "#marked button[type=submit]").click()
    assert browser.execute_script("return document.querySelector('#why:invalid') !== null")
    assert state(browser)["options"].get("excluded") is None
    find(browser, "#why").send_keys("typing error")
    find(browser, "#marked button[type=submit]").click()
    wait_until(browser, "return document.getElementById('delta') !== null")
    assert "samples that both have" in find(browser, "#delta").text
    wait_until_settled(browser)
    excluded = state(browser)["options"]["excluded"]
    assert set(excluded.values()) == {"typing error"}
    assert view(browser)["n"] == 60 - len(excluded)
    names = browser.execute_script(
        "return document.getElementById('chart-fit').data.map((t) => t.name)"
    )
    assert "excluded" in names
    find(browser, "body").send_keys("\ue009z")  # Ctrl+Z
    wait_until(browser, "return !document.getElementById('redo').disabled")
    wait_until_settled(browser)
    assert view(browser)["n"] == 60
    find(browser, "#redo").click()
    wait_until(browser, "return document.getElementById('redo').disabled")
    wait_until_settled(browser)
    browser.refresh()
    wait_until_settled(browser)
    assert find(browser, "#screen-bench").is_displayed()
    assert state(browser)["options"]["excluded"] == excluded
    browser.execute_script("document.getElementById('away').open = true")
    rows = browser.find_elements("css selector", "#excluded li")
    assert len(rows) == len(excluded)
    rows[0].find_element("css selector", "button").click()
    wait_until(
        browser,
        f"return document.querySelectorAll('#excluded li').length === {len(rows) - 1}",
    )
    wait_until_settled(browser)
    assert view(browser)["n"] == 61 - len(excluded)
    go(browser, "trials")
    # A step is undone where it was made, not from another screen.
    assert not find(browser, "#undo").is_enabled()
    boxes = browser.find_elements("css selector", "#trials tbody input[type=checkbox]")
    assert len(boxes) == 3
    boxes[0].click()
    browser.find_elements("css selector", "#trials tbody input[type=checkbox]")[1].click()
    wait_until(browser, "return (document.getElementById('chart-trials').data || []).length === 2")
    assert "samples that both have" in find(browser, "#paired").text
    assert_stays_here(browser, address)


def test_preparation_is_a_chain_and_ranges_are_brushed(browser, address):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.support.ui import Select

    visit(browser, address)
    find(browser, "#demo").click()
    wait_until_settled(browser)
    go(browser, "bench")
    for name, words in (("snv", "SNV"), ("savgol", "Derivative")):
        Select(find(browser, "#step")).select_by_value(name)
        find(browser, "#add-step button").click()
        wait_until(
            browser, f"return document.getElementById('chain').textContent.includes('{words}')"
        )
        wait_until_settled(browser)
    assert view(browser)["spectra"]["preprocessing"] == "snv,savgol:11:2:1"
    find(browser, "[aria-label='Earlier: Derivative (Savitzky-Golay), 11, 2, 1']").click()
    wait_until(
        browser, "return document.querySelector('#chain li').textContent.includes('Derivative')"
    )
    wait_until_settled(browser)
    find(browser, "#chain li:last-child input").click()
    wait_until(browser, "return !document.querySelector('#chain li:last-child input').checked")
    wait_until_settled(browser)
    assert view(browser)["spectra"]["preprocessing"] == "savgol:11:2:1"
    find(browser, "#first-raw").click()
    find(browser, ".left details:nth-of-type(2) summary").click()
    find(browser, "#brush").click()
    wait_until_settled(browser)
    plot = find(browser, "#bench-first svg.plot")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    wait_until_settled(browser)
    drag = ActionChains(browser).move_to_element_with_offset(plot, -60, 0).click_and_hold()
    drag.move_by_offset(40, 5).move_by_offset(40, 5).release().perform()
    wait_until(browser, "return document.querySelector('#ranges .chip') !== null")
    find(browser, "#range-keep").click()
    wait_until(browser, "return document.getElementById('ranges').textContent.includes('Kept')")
    wait_until_settled(browser)
    assert 10 < view(browser)["p"] < 200
    assert_stays_here(browser, address)


def test_two_tabs_share_a_session(browser, address):
    visit(browser, address)
    find(browser, "#demo").click()
    wait_until_settled(browser)
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    browser.get(address.split("?")[0])
    wait_until_settled(browser)
    post = (
        "const done = arguments[0]; fetch('/event', {method: 'POST', headers: {'x-plsdof': 'page'},"
        " body: JSON.stringify({do: 'set', options: {cv: '5'}})}).then((a) => done(a.status))"
    )
    assert browser.execute_async_script(post) == 200
    browser.close()
    browser.switch_to.window(first)
    # The first tab is behind: its next step is refused, and it takes over what was done.
    go(browser, "bench")
    if state(browser)["options"].get("chain") is None:
        browser.execute_script("document.querySelector('#add-step button').click()")
    script = "return document.getElementById('standing').textContent.includes('5 folds')"
    wait_until(browser, script)
    assert state(browser)["options"]["cv"] == "5"


def test_what_takes_long_is_stopped_and_the_last_answer_stays(browser, address):
    visit(browser, address)
    find(browser, "#demo").click()
    wait_until_settled(browser)
    go(browser, "bench")
    long = (
        "fetch('/event', {method: 'POST', headers: {'x-plsdof': 'page'}, body: JSON.stringify("
        "{do: 'set', options: {permutations: 200000}})}).then(() => arguments[0]())"
    )
    browser.execute_async_script(long)
    browser.refresh()
    fitting = "document.getElementById('doing').textContent.includes('fitting')"
    wait_until(browser, f"return !document.getElementById('busy').hidden && {fitting}")
    find(browser, "#stop").click()
    wait_until(browser, "return document.getElementById('trouble').textContent.includes('Stopped')")
    wait_until_settled(browser)
    # The fit does not run again by itself.
    assert browser.execute_script("return document.getElementById('busy').hidden")
    find(browser, "#undo").click()
    wait_until_settled(browser)
    assert view(browser)["n"] == 60


def test_a_large_table_says_what_is_drawn_as_a_sample(browser, address, tmp_path):
    rng = np.random.default_rng(0)
    n, p = 2000, 3000
    parts = rng.normal(size=(5, p)).cumsum(axis=1)
    scores = rng.normal(size=(n, 5))
    values = (scores @ parts + 0.1 * rng.normal(size=(n, p))).round(3)
    frame = pd.DataFrame(values, columns=[str(1000 + j) for j in range(p)])
    frame.insert(0, "y", (scores @ np.arange(1.0, 6.0) + rng.normal(size=n)).round(3))
    frame.to_csv(file := tmp_path / "large.csv", index=False)
    visit(browser, address)
    # What takes longer than a moment says so.
    find(browser, "#screen-table .drop input[type=file]").send_keys(str(file))
    wait_until(browser, "return !document.getElementById('busy').hidden")
    wait_until_settled(browser, 600)
    go(browser, "bench", 600)
    words = browser.execute_script("return document.getElementById('folds').textContent")
    words = " ".join(words.split())
    # What is drawn is a part, and not more than the page can bear.
    for what, total, most in (("rows", 2000, MOST_ROWS), ("predictors", 3000, MOST_FEATURES)):
        drawn = [int(n) for n in re.findall(rf"(\d+) of {total} {what} are drawn", words)]
        assert drawn
        assert 0 < min(drawn) <= max(drawn) <= most
    assert press(browser, "END") > 0
    wait_until_settled(browser)
    assert_stays_here(browser, address)


def hostile_table(folder):
    rng = np.random.default_rng(0)
    names = [
        "<img src=x onerror=window.hacked=1>",
        "\"'><script>window.hacked=2</script>",
        "%{y}<br>",
    ]
    names += [str(1100 + i) for i in range(20)]
    frame = pd.DataFrame(rng.normal(size=(30, len(names))), columns=names)
    frame["<b onclick=window.hacked=3>id</b>"] = [
        f"<script>window.hacked=4</script>{i}" for i in range(30)
    ]
    file = folder / "<img src=x onerror=window.hacked=5>.csv"
    frame.to_csv(file, index=False)
    return file


def test_a_hostile_table_does_no_harm(browser, address, tmp_path):
    visit(browser, address)
    give(browser, "#screen-table .drop", hostile_table(tmp_path))
    assert "img src" in find(browser, "#preview").text
    choose_role(browser, "%{y}<br>", "response")
    for screen in SCREENS:
        go(browser, screen)
    go(browser, "bench")
    browser.execute_script("document.getElementById('fold-samples').open = true")
    wait_until(browser, "return document.querySelector('#samples tbody input') !== null")
    browser.execute_script("document.querySelector('#samples tbody input').click()")
    find(browser, "#why").send_keys("<img src=x onerror=window.hacked=6>")
    find(browser, "#marked button[type=submit]").click()
    wait_until(browser, "return document.querySelectorAll('#excluded li').length === 1")
    wait_until_settled(browser)
    for screen in SCREENS:
        go(browser, screen)
    assert (
        browser.execute_script("return document.querySelectorAll('main img, main b').length") == 0
    )
    assert_stays_here(browser, address)


def test_classes_are_shown_and_predicted(browser, address, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 12)) + 3 * np.repeat(np.eye(12)[:3], 20, axis=0)
    frame = pd.DataFrame(X, columns=[str(1100 + 2 * j) for j in range(12)])
    frame.insert(0, "kind", np.repeat(["corn", "rye", "<img src=x onerror=window.hacked=1>"], 20))
    file = tmp_path / "kinds.csv"
    frame.to_csv(file, index=False)
    visit(browser, address)
    give(browser, "#screen-table .drop", file)
    choose_role(browser, "kind", "response")
    wait_until(browser, "return document.querySelector('#rail h3') !== null")
    go(browser, "bench")
    picture(browser, "app-classes")
    assert sticking_out(browser) == []
    assert "misclassified" in find(browser, "#rail").text
    names = "return document.getElementById('chart-distance').data.map((one) => one.name)"
    assert "corn" in browser.execute_script(names)
    # No fold is empty, and nobody is sent to a row whose class is certain.
    empty = (
        "return [...document.querySelectorAll('#folds > details section')]"
        ".filter((one) => !one.textContent.trim()).length"
    )
    assert browser.execute_script(empty) == 0
    assert "the probability of its class is 1." not in find(browser, "#rail").text
    lasso(browser, "distance", 0.4)
    find(browser, "#unmark").click()
    release(browser)
    for screen in ("trials", "out", "predict"):
        go(browser, screen)
    give(browser, "#screen-predict .drop", file)
    wait_until(browser, "return document.querySelectorAll('#predictions tbody tr').length === 60")
    assert "P(corn)" in find(browser, "#predictions").text
    assert_stays_here(browser, address)


def spectra_of(n, rng):
    """Return spectra of four substances, and how much there is of each."""
    centres = np.array([10, 25, 35, 50])[:, None]
    parts = np.exp(-(((np.arange(60) - centres) / 7.0) ** 2))
    amounts = rng.uniform(0.2, 1.0, size=(n, 4))
    X = (amounts @ parts + 0.003 * rng.normal(size=(n, 60))).round(5)
    return pd.DataFrame(X, columns=[str(1100 + 4 * j) for j in range(60)]), amounts


def assert_names_no_option(browser):
    """No text in sight, folded or not, names an option of a command line."""
    script = (
        "return [...document.querySelectorAll('body *')].filter((one) => !one.closest("
        "'#screen-out, script') && [...one.childNodes].some((n) => n.nodeType === 3 &&"
        " /(^|\\s)--?[a-z]/.test(n.textContent))).map((one) => one.textContent.slice(0, 200))"
    )
    assert browser.execute_script(script) == []


def test_a_reference_with_holes_predicts_from_its_complete_rows(browser, address, tmp_path):
    X, amounts = spectra_of(60, np.random.default_rng(0))
    frame = X.assign(Ciso=(3 * amounts[:, 0]).round(3), Corg=(2 * amounts[:, 1]).round(3))
    frame.loc[[3, 9, 20], "Ciso"] = np.nan
    frame.insert(0, "Sample", [f"S{i // 2}" for i in range(60)])
    frame.to_csv(file := tmp_path / "soil.csv", index=False)
    visit(browser, address)
    give(browser, "#screen-table .drop", file)
    # Spectra are there before any response; the complete one is proposed.
    assert find(browser, "#chart-table svg.plot").is_displayed()
    assert "Corg" in find(browser, "#proposal").text
    assert "none missing" in find(browser, "#proposal").text
    assert "response" not in state(browser)["options"]
    choose_role(browser, "Ciso", "response")
    assert state(browser)["options"]["missing"] == "drop"
    go(browser, "bench")
    assert view(browser)["n"] == 57
    browser.execute_script("document.getElementById('minor').open = true")
    assert "3 of 60 rows dropped" in find(browser, "#minor").text
    assert_names_no_option(browser)
    # Replicates are named, and one button keeps them together.
    mend = "[...document.querySelectorAll('#rail .mend')].find((b) => /Sample/.test(b.textContent))"
    browser.execute_script(f"{mend}.click()")
    wait_until_settled(browser)
    assert state(browser)["options"]["groups"] == "Sample"
    assert_stays_here(browser, address)


def test_tables_of_other_programs_are_read_and_their_response_is_found(browser, address, tmp_path):
    X, amounts = spectra_of(40, np.random.default_rng(4))
    # Semicolons and decimal commas; the only reference column has holes: its complete rows count.
    frame = X.assign(Glucose=(9 * amounts[:, 0]).round(3))
    frame.loc[[2, 7], "Glucose"] = np.nan
    frame.to_csv(file := tmp_path / "ferment.csv", index=False, sep=";", decimal=",")
    visit(browser, address)
    give(browser, "#screen-table .drop", file)
    assert not find(browser, "#trouble").is_displayed()
    assert state(browser)["options"]["response"] == ["Glucose"]
    go(browser, "bench")
    assert view(browser)["n"] == 38
    # Every axis has numbers enough to read it.
    script = (
        "return ['bench-first', 'chart-errors', 'chart-fit', 'chart-distance'].flatMap((id) =>"
        " ['x', 'y'].map((k) => document.querySelectorAll(`#${id} .${k}tick text`).length))"
    )
    assert min(browser.execute_script(script)) >= 3
    # Columns x_001, x_002, ... are spectra; what else was measured does not predict.
    names = [f"x_{j:03d}" for j in range(1, 61)]
    meats = X.set_axis(names, axis=1).assign(water=amounts[:, 1], fat=amounts[:, 0].round(3))
    meats.to_csv(file := tmp_path / "meats.csv", index=False)
    go(browser, "table")
    give(browser, "#screen-table .drop", file)
    assert find(browser, "#chart-table svg.plot").is_displayed()
    choose_role(browser, "fat", "response")
    assert "from 60 columns" in find(browser, "#preview").text
    # The response of a process is not one of its numbered steps.
    steps = pd.DataFrame(amounts, columns=[f"step_{j}" for j in range(4)])
    steps.insert(0, "yield", amounts.sum(axis=1).round(3))
    steps.to_csv(file := tmp_path / "process.csv", index=False)
    give(browser, "#screen-table .drop", file)
    assert "Predict yield" in find(browser, "#proposal").text
    assert_stays_here(browser, address)


def test_a_problem_has_one_button_that_mends_it(browser, address, tmp_path):
    X, amounts = spectra_of(40, np.random.default_rng(1))
    X.iloc[4, 7] = np.nan
    X.assign(fat=amounts[:, 0].round(3)).to_csv(file := tmp_path / "holes.csv", index=False)
    visit(browser, address)
    give(browser, "#screen-table .drop", file)
    assert "missing values" in find(browser, "#trouble").text
    assert_names_no_option(browser)
    find(browser, "#trouble .mend").click()
    wait_until_settled(browser)
    assert not find(browser, "#trouble").is_displayed()
    go(browser, "bench")
    assert view(browser)["n"] == 39
    # What is wrong with a file of new rows is said there, and undoes nothing here.
    release(browser)
    before = state(browser)["steps"]
    go(browser, "predict")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n3,4\n")
    give(browser, "#screen-predict .drop", tmp_path / "other.csv")
    assert find(browser, "#trouble").is_displayed()
    assert "Undo" not in find(browser, "#trouble").text
    go(browser, "bench")
    assert not find(browser, "#trouble").is_displayed()
    assert state(browser)["steps"] == before


def test_names_that_differ_by_a_hyphen_are_joined_by_one_button(browser, address, tmp_path):
    X, amounts = spectra_of(40, np.random.default_rng(2))
    names = [f"T-{i:02d}" for i in range(40)]
    X.assign(id=names).to_csv(file := tmp_path / "spectra.csv", index=False)
    names[5], names[18] = "T05", "T_18"
    frame = pd.DataFrame({"id": names, "fat": amounts[:, 0].round(3), "salt": amounts[:, 1]})
    frame.drop(index=33).to_csv(reference := tmp_path / "lab.csv", index=False)
    visit(browser, address)
    give(browser, "#screen-table .drop", file)
    give(browser, "#drop-response", reference)
    # Both names stand beside each other, and the spectra are there all the same.
    assert "'T-05' here is 'T05' there" in find(browser, "#trouble").text
    assert find(browser, "#chart-table svg.plot").is_displayed()
    assert_names_no_option(browser)
    find(browser, "#trouble .mend").click()
    wait_until_settled(browser)
    assert not find(browser, "#trouble").is_displayed()
    # Of two columns there the person chooses; the sample that is not there is left out.
    find(browser, "#proposal button").click()
    wait_until_settled(browser)
    go(browser, "bench")
    assert view(browser)["n"] == 39
    assert "missing drop" not in find(browser, "#standing").text
    # The last column of named ones, and a column of a few words, are proposed.
    named = pd.DataFrame(amounts, columns=["a", "b", "c", "pIC50"]).round(3)
    named.to_csv(file := tmp_path / "named.csv", index=False)
    go(browser, "table")
    give(browser, "#screen-table .drop", file)
    assert "Predict pIC50" in find(browser, "#proposal").text
    X.assign(oil=["olive", "rape"] * 20).to_csv(file := tmp_path / "oils.csv", index=False)
    give(browser, "#screen-table .drop", file)
    assert "Predict oil" in find(browser, "#proposal").text


def test_named_columns_are_found_by_a_search_and_have_bars(browser, address, tmp_path):
    rng = np.random.default_rng(0)
    names = [f"gene_{i}" for i in range(100)] + ["moisture", "fat", "protein"]
    frame = pd.DataFrame(rng.normal(size=(60, 103)).round(3), columns=names)
    frame["fat"] = (2 * frame["gene_3"] + frame["gene_50"]).round(3)
    frame.to_csv(file := tmp_path / "wide.csv", index=False)
    visit(browser, address)
    give(browser, "#screen-table .drop", file)
    reached = []
    for name in ("fat", "gene_99", "protein"):
        search = find(browser, "#search")
        search.clear()
        search.send_keys(name)
        reached += browser.find_elements("css selector", f"[aria-label='Role of {name}']")
    assert len(reached) == 3
    choose_role(browser, "fat", "response")
    go(browser, "bench")
    script = "return document.getElementById('bench-first').data.length && " + (
        "[...document.querySelectorAll('#bench-first .ytick')].map((one) => one.textContent)"
    )
    assert browser.execute_script(script)[0] == "gene_3"
    assert browser.find_elements("css selector", "#first-raw") == []
    assert sticking_out(browser) == []


def test_settings_are_applied_together_and_keep_the_focus(browser, address):
    visit(browser, address)
    find(browser, "#demo").click()
    wait_until_settled(browser)
    go(browser, "bench")
    steps = len(state(browser)["steps"])
    browser.execute_script(
        "const form = document.getElementById('settings'); form.closest('details').open = true;"
        "form.elements.cv.value = JSON.stringify('5'); form.elements.max_components.value = '10';"
    )
    assert len(state(browser)["steps"]) == steps
    find(browser, "#settings button").click()
    wait_until_settled(browser)
    after = state(browser)
    assert len(after["steps"]) == steps + 1
    assert (after["options"]["cv"], after["options"]["max_components"]) == ("5", 10)
    assert browser.execute_script("return document.activeElement.closest('form').id") == "settings"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1920, 1280, 390])
def test_every_screen_fits_and_can_be_read(browser, address, width, scheme):
    visit(browser, address, width, scheme=scheme)
    assert sticking_out(browser) == []
    browser.execute_script("document.getElementById('demo').click()")
    wait_until_settled(browser)
    for screen in SCREENS:
        browser.execute_script(f"document.getElementById('tab-{screen}').click()")
        wait_until_settled(browser)
        assert sticking_out(browser) == [], screen
        faint = [one for one in text_contrasts(browser) if one[0] < 4.5]
        assert faint == [], screen
        picture(browser, f"{screen}-{width}-{scheme}")
        unnamed = browser.execute_script(
            "return [...document.querySelectorAll('button, input, select')]"
            ".filter((one) => one.getClientRects().length && !(one.textContent.trim() ||"
            " one.ariaLabel || one.labels && one.labels.length)).map((one) => one.outerHTML)"
        )
        assert unnamed == [], screen
    assert_stays_here(browser, address)


# Where `make scripts-tools` puts it.
AXE = Path(sys.prefix, "node_modules", "axe-core", "axe.min.js")
SERIOUS = """
const done = arguments[0];
axe.run().then(({ violations }) => done(
  violations.filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => [one.id, one.nodes.map((node) => node.html)])));
"""


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed; run `make scripts-tools`")
def test_no_screen_has_a_serious_problem_of_accessibility(browser, address):
    visit(browser, address)
    browser.execute_script("document.getElementById('demo').click()")
    wait_until_settled(browser)
    for screen in SCREENS:
        browser.execute_script(f"document.getElementById('tab-{screen}').click()")
        wait_until_settled(browser)
        browser.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text()})
        assert browser.execute_async_script(SERIOUS) == [], screen
