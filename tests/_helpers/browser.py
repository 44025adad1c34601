"""Opening reports in a real browser, and what must be true of every one."""

import json


def open_page(browser, file, width=1280, height=900, scheme="light"):
    browser.get("about:blank")
    set_scheme(browser, scheme)
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(file.as_uri())
    wait_until_drawn(browser)
    return browser.execute_script("return JSON.parse(document.getElementById('data').textContent)")


def set_scheme(browser, scheme):
    """Pretend that the reader's system is light or dark."""
    wanted = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": wanted})


def wait_until_drawn(browser):
    wait_until(browser, "return document.documentElement.dataset.complete === 'true'")


def wait_until(browser, script, most=60):
    """Wait until a script returns true, a minute at most if nothing else is said."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, most, 0.05).until(lambda driver: driver.execute_script(script))


def press(browser, key, times=1):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    slider = browser.find_element(By.ID, "model")
    for _ in range(times):
        slider.send_keys(getattr(Keys, key))
    wait_until_drawn(browser)
    return int(slider.get_attribute("value"))


def value_at(data, where):
    for key in where.split("."):
        data = data[int(key)] if isinstance(data, list) else data[key]
    return data


def assert_numbers_equal_data(browser, data):
    script = (
        "return [...document.querySelectorAll('[data-number]')]"
        ".map((one) => [one.dataset.number, one.textContent])"
    )
    shown = browser.execute_script(script)
    assert len(shown) > 50
    for where, text in shown:
        value = value_at(data, where)
        assert text == "not defined" if value is None else float(text) == value, where


def assert_quiet(browser, file):
    assert browser.get_log("browser") == []
    loaded = browser.execute_script(
        "return performance.getEntriesByType('resource').map((one) => one.name)"
    )
    assert [one for one in loaded if not one.startswith("data:")] == []
    messages = [json.loads(one["message"])["message"] for one in browser.get_log("performance")]
    asked = {
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    }
    assert {one for one in asked if not one.startswith("data:")} <= {file.as_uri(), "about:blank"}
    assert file.as_uri() in asked


def sticking_out(browser):
    """Return what is cut off at the sides of the page or of a picture."""
    script = """
    const wide = document.documentElement.clientWidth, out = [];
    if (document.documentElement.scrollWidth > wide) out.push("page");
    for (const one of document.querySelectorAll("main *, header *")) {
      if (one.closest(".scroll, svg, noscript, .skip, pre")) continue;
      const box = one.getBoundingClientRect();
      if (box.right > wide + 1 || box.left < -1) out.push(one.tagName + " " + one.className);
    }
    for (const svg of document.querySelectorAll(".chart svg.plot")) {
      const frame = svg.getBoundingClientRect();
      for (const text of svg.querySelectorAll("text")) {
        const box = text.getBoundingClientRect();
        if (box.width && (box.left < frame.left - 2 || box.right > frame.right + 2))
          out.push(svg.closest(".chart").id + ": " + text.textContent);
      }
    }
    return out;
    """
    return browser.execute_script(script)


def text_contrasts(browser):
    """Return the contrast of every text on the screen with what is behind it."""
    script = """
    const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
    const light = (c) => c.slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const paper = (one) => {
      for (; one; one = one.parentElement) {
        const color = rgb(getComputedStyle(one).backgroundColor);
        if (color.length === 3 || color[3] > 0) return color;
      }
      return [255, 255, 255];
    };
    const found = [];
    for (const one of document.querySelectorAll("body *")) {
      const own = [...one.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
      if (!own || !one.getClientRects().length) continue;
      const style = getComputedStyle(one), inside = one.closest("svg");
      const ink = light(rgb(inside ? style.fill : style.color));
      const back = light(paper(inside ? inside.parentElement : one));
      const ratio = (Math.max(ink, back) + 0.05) / (Math.min(ink, back) + 0.05);
      found.push([ratio, one.tagName + ": " + one.textContent.slice(0, 40)]);
    }
    return found;
    """
    return browser.execute_script(script)
