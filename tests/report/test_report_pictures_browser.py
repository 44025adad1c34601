"""The pictures of a calibration in a real browser: wide and narrow, light and dark."""

import numpy as np
import pandas as pd
import pytest
from _helpers.browser import (
    assert_numbers_equal_data,
    assert_quiet,
    open_page,
    press,
    set_scheme,
    sticking_out,
    text_contrasts,
    wait_until,
    wait_until_drawn,
)
from _helpers.calibration import Calibration

from plsdof import PLSRegressor, RecipeRegressor
from plsdof.chemometrics import contributions, outliers, selectivity_ratio, vip, window_weights
from plsdof.chemometrics.distances import standardized_rows
from plsdof.datasets import load_gasoline, load_ozone
from plsdof.workbench.analysis import analysis_of
from plsdof.workbench.report import write_report

pytestmark = pytest.mark.browser

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
# Pictures of every page; a page of spectra has these as well.
PICTURES = (
    "errors",
    "vip",
    "selectivity",
    "fit",
    "distance",
    "t2-parts",
    "q-parts",
    "scores",
    "loadings",
    "weights",
)
SPECTRA = ("spectra-raw", "spectra-preprocessed", "permutation")
HOSTILE = ["<img src=x onerror=window.hacked=1>", "w" * 1000, "\u202egnp.exe", "%{y}${x}"]


def write_named(file):
    """Write a report of named predictors, with hostile names of rows and groups."""
    X, y = load_ozone(return_X_y=True, as_frame=True)
    names = [HOSTILE[i % 4] for i in range(len(y))]
    write_report(PLSRegressor("bic").fit(X, y), file, groups=names, labels=names)


@pytest.fixture(scope="module")
def gasoline():
    return Calibration()


@pytest.fixture(scope="module")
def files(gasoline, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    write_report(gasoline.analysed(permutations=199), folder / "spectra.html")
    write_named(folder / "names.html")
    return {name: folder / f"{name}.html" for name in ("spectra", "names")}


def traces(browser, chart):
    script = (
        f"return document.getElementById('chart-{chart}').data"
        ".map((t) => ({x: [...t.x], y: [...t.y], name: t.name, color: (t.line || t.marker).color}))"
    )
    return browser.execute_script(script)


def background(browser, selector):
    script = f"return getComputedStyle(document.querySelector('{selector}')).backgroundColor"
    return browser.execute_script(script)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["spectra", "names"])
def test_every_picture_is_drawn_fits_and_can_be_read(browser, files, name, width, scheme):
    data = open_page(browser, files[name], width, scheme=scheme)
    for picture in (*PICTURES, *(SPECTRA if name == "spectra" else ())):
        script = f"""
        const chart = document.getElementById('chart-{picture}');
        const box = chart.getBoundingClientRect();
        const marks = chart.querySelectorAll('.line, .points, .area, canvas').length;
        return [marks, box.width, box.height];
        """
        marks, wide, high = browser.execute_script(script)
        assert marks > 0, picture
        assert 250 <= wide <= width, picture
        assert high >= 250, picture
    assert sticking_out(browser) == []
    found = text_contrasts(browser)
    assert len(found) > 200
    assert [one for one in found if one[0] < 4.5] == []
    paper = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}[scheme]
    assert background(browser, "body") == paper
    drawn = "return [...document.querySelectorAll('.chart')].map((one) => one.layout.theme.paper)"
    assert set(browser.execute_script(drawn)) == {"#ffffff" if scheme == "light" else "#14181d"}
    assert_numbers_equal_data(browser, data)
    assert_quiet(browser, files[name])
    assert browser.execute_script("return typeof window.hacked") == "undefined"


def test_a_page_that_is_open_follows_the_system_to_dark_and_back(browser, files):
    open_page(browser, files["spectra"])
    light = traces(browser, "scores")[1]["color"]
    paper = "document.getElementById('chart-scores').layout.theme.paper"
    set_scheme(browser, "dark")
    wait_until(browser, f"return {paper} === '#14181d'")
    assert traces(browser, "scores")[1]["color"] != light
    set_scheme(browser, "light")
    wait_until(browser, f"return {paper} === '#ffffff'")
    assert traces(browser, "scores")[1]["color"] == light
    assert_quiet(browser, files["spectra"])


def test_a_dark_page_is_printed_on_white_paper(browser, files):
    open_page(browser, files["spectra"], scheme="dark")
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    drawn = "return [...document.querySelectorAll('.chart')].map((one) => one.layout.theme.paper)"
    assert set(browser.execute_script(drawn)) == {"#ffffff"}
    assert background(browser, "body") == "rgb(255, 255, 255)"
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert set(browser.execute_script(drawn)) == {"#14181d"}
    assert browser.get_log("browser") == []


def click_point(browser, chart, trace, k):
    """Click with the mouse where a point is drawn."""
    from selenium.webdriver.common.action_chains import ActionChains

    script = f"""
    const chart = document.getElementById('chart-{chart}');
    chart.scrollIntoView({{block: 'center'}});
    const box = chart.getBoundingClientRect();
    const one = chart.data[{trace}], [x, y] = chart.at(one.x[{k}], one.y[{k}]);
    return [box.left + x, box.top + y];
    """
    x, y = browser.execute_script(script)
    wait_until_drawn(browser)
    x, y = browser.execute_script(script)
    actions = ActionChains(browser)
    actions.w3c_actions.pointer_action.move_to_location(round(x), round(y))
    actions.w3c_actions.pointer_action.pause(0.3)
    actions.w3c_actions.pointer_action.click()
    actions.perform()
    wait_until_drawn(browser)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_click_on_t2_and_q_shows_the_contributions_of_that_row(
    browser, files, gasoline, width, scheme
):
    data = open_page(browser, files["spectra"], width, scheme=scheme)
    m = data["chosen"]
    expected = contributions(gasoline.path[m])
    clicked = set()
    # Rows inside the limits, apart from the crowd: there need not be any beyond.
    for k in np.argsort(traces(browser, "distance")[0]["x"])[-3:].tolist():
        click_point(browser, "distance", 0, k)
        row = int(browser.execute_script("return document.getElementById('pick-row').value"))
        point = {
            key: value[k] for key, value in traces(browser, "distance")[0].items() if key in "xy"
        }
        assert data["details"][m]["rows"]["t2"][row] == point["x"]
        assert data["details"][m]["rows"]["q"][row] == point["y"]
        clicked.add(row)
        for chart, values in (("t2-parts", expected.t2[row]), ("q-parts", expected.q[row])):
            found = np.array(traces(browser, chart)[0]["y"])
            np.testing.assert_allclose(found, values, rtol=0, atol=1e-3 * np.abs(values).max())
        ring = traces(browser, "scores")[-1]
        np.testing.assert_allclose(
            [ring["x"][0], ring["y"][0]], gasoline.path.x_scores[row, :2], rtol=1e-5
        )
        # The row that was picked is thick among the spectra.
        thick = traces(browser, "spectra-raw")[-1]
        np.testing.assert_allclose(
            thick["y"], gasoline.raw[gasoline.kept].iloc[row], rtol=0, atol=1e-4
        )
    assert len(clicked) == 3
    assert_quiet(browser, files["spectra"])


def test_contributions_follow_the_slider_and_the_list_of_rows(browser, files, gasoline):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select

    open_page(browser, files["spectra"])
    Select(browser.find_element(By.ID, "pick-row")).select_by_value("20")
    assert press(browser, "END") == 8
    for m in (8, 7):
        expected = contributions(gasoline.path[m]).q[20]
        found = np.array(traces(browser, "q-parts")[0]["y"])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3 * np.abs(expected).max())
        press(browser, "ARROW_LEFT")
    press(browser, "HOME")
    assert not np.any(traces(browser, "t2-parts")[0]["y"])


def test_scores_loadings_and_weights_are_of_the_components_that_are_picked(
    browser, files, gasoline
):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select

    data = open_page(browser, files["spectra"])
    path = gasoline.path
    Select(browser.find_element(By.ID, "pick-across")).select_by_value("3")
    Select(browser.find_element(By.ID, "pick-up")).select_by_value("5")
    wait_until_drawn(browser)
    for chart, matrix in (("loadings", path.x_loadings), ("weights", path.x_weights)):
        for one, k in zip(traces(browser, chart), (3, 5), strict=True):
            assert one["name"] == f"component {k}"
            np.testing.assert_allclose(one["y"], matrix[:, k - 1], rtol=1e-5, atol=1e-7)
    ellipse, *groups, tested = traces(browser, "scores")[:-1]
    found = sorted((x, y) for one in groups for x, y in zip(one["x"], one["y"], strict=True))
    expected = sorted(map(tuple, path.x_scores[:, [2, 4]]))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert {one["name"] for one in groups} == {"<old>", "new"}
    new = standardized_rows(path, gasoline.test.X) @ path.x_rotations[:, [2, 4]]
    np.testing.assert_allclose(np.transpose([tested["x"], tested["y"]]), new, rtol=1e-4, atol=1e-5)
    half = data["components"]["half_axes"]
    assert max(ellipse["x"]) == pytest.approx(half[2])
    assert max(ellipse["y"]) == pytest.approx(half[4], rel=1e-3)


def test_predictions_of_fit_folds_and_test_rows_are_drawn(browser, files, gasoline):
    data = open_page(browser, files["spectra"])
    press(browser, "ARROW_RIGHT")
    m = data["chosen"] + 1
    drawn = {}
    for one in traces(browser, "fit"):
        for pair in zip(one["x"], one["y"], strict=True):
            drawn.setdefault(one["name"], set()).add(pair)
    rows, test = data["rows"], data["test"]
    one = data["details"][m]
    assert drawn["calibration"] == set(zip(rows["observed"], one["rows"]["fitted"], strict=True))
    expected = set(zip(rows["observed"], one["rows"]["left_out"], strict=True))
    assert drawn["cross-validation"] == expected
    assert drawn["test"] == set(zip(test["observed"], one["test"]["predicted"], strict=True))
    expected = gasoline.path.predict(gasoline.test.X)[m]
    np.testing.assert_allclose(one["test"]["predicted"], expected, rtol=1e-4)
    merit = one["merit"]["test"]
    ((low, at_low), (high, at_high)) = sorted(drawn["line of test"])
    assert (at_high - at_low) / (high - low) == pytest.approx(merit["slope"], rel=1e-6)


def test_test_rows_are_drawn_in_the_pictures_of_influence(browser, files, gasoline):
    data = open_page(browser, files["spectra"])
    m = data["chosen"]
    table = outliers(
        gasoline.path[m], gasoline.test.X, gasoline.test.rows.y, limit="cross-validated"
    )
    for chart, across, up in (("distance", "t2", "q"), ("leverage", "leverage", "studentized")):
        (drawn,) = [one for one in traces(browser, chart) if one["name"] == "test"]
        for found, kind in ((drawn["x"], across), (drawn["y"], up)):
            np.testing.assert_allclose(found, table.diagnostics[kind].values, rtol=2e-3)


def test_test_rows_have_bars_of_their_prediction_intervals(browser, files):
    data = open_page(browser, files["spectra"])
    script = (
        "return document.getElementById('chart-fit').data.filter((t) => t.name === 'test')"
        ".map((t) => [t.y, t.bars && t.bars.above, t.bars && t.bars.below])[0]"
    )
    predicted, above, below = browser.execute_script(script)
    test = data["test"]
    np.testing.assert_allclose(np.add(predicted, above), test["upper"])
    np.testing.assert_allclose(np.subtract(predicted, below), test["lower"])
    press(browser, "ARROW_LEFT")
    assert browser.execute_script(script)[1] is None


def test_permuted_scores_are_bars_beside_that_of_the_data(browser, files):
    data = open_page(browser, files["spectra"])["permutation"]
    bars, mine = traces(browser, "permutation")
    assert set(mine["x"]) == {data["score"]}
    assert max(bars["y"]) == max(data["counts"])
    assert bars["x"][0] == data["edges"][0]
    assert bars["x"][-1] == data["edges"][-1]


def test_importance_follows_the_slider(browser, files, gasoline):
    open_page(browser, files["spectra"])
    m = press(browser, "ARROW_RIGHT")
    for chart, expected in (
        ("vip", vip(gasoline.path[m])),
        ("selectivity", selectivity_ratio(gasoline.path[m]).values),
    ):
        found = traces(browser, chart)[0]["y"]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.ptp(expected))
    press(browser, "HOME")
    assert traces(browser, "vip") == []


def test_errors_have_a_band_of_one_standard_error(browser, files):
    models = open_page(browser, files["spectra"])["models"]
    low, high, fitted, curve, tested, _ = traces(browser, "errors")
    assert fitted["y"] == models["rmsec"]
    assert tested["y"] == models["rmsep"]
    assert curve["y"] == models["rmsecv"]
    error, spread = np.array(models["rmsecv"]), np.array(models["rmsecv_std_error"])
    np.testing.assert_allclose(high["y"], error + spread)
    np.testing.assert_allclose(low["y"], np.maximum(error - spread, error.min() / 10))


def test_wavelengths_have_plain_ticks(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 60)).cumsum(axis=1))
    X.columns = [f"{9000 + 100 * i} cm-1" for i in range(60)]
    y = X.iloc[:, 30].to_numpy() + rng.normal(size=30)
    file = tmp_path / "wavenumbers.html"
    write_report(PLSRegressor("bic", max_components=4).fit(X, y), file)
    open_page(browser, file)
    for chart in ("spectra-raw", "coefficients", "vip", "loadings", "q-parts"):
        ticks = ticks_of(browser, chart)
        assert len(ticks) >= 3
        assert all(one.isdigit() for one in ticks), (chart, ticks)
        assert max(map(int, ticks)) >= 10_000


def ticks_of(browser, chart, axis="x"):
    script = (
        f"return [...document.querySelectorAll('#chart-{chart} .{axis}tick text')]"
        ".map((one) => one.textContent)"
    )
    return browser.execute_script(script)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_few_models_have_a_tick_each(browser, tmp_path, width):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)) * [1, 2, 3, 4]
    y = X @ [5000.0, 0, 0, 0.1] + rng.normal(size=40)
    file = tmp_path / "few.html"
    write_report(PLSRegressor("bic", max_components=4).fit(X, y), file)
    open_page(browser, file, width=width)
    for chart in ("dof", "criterion", "errors"):
        assert ticks_of(browser, chart) == ["0", "1", "2", "3", "4"]
    # Thousands are plain numbers, and what is rounding is drawn as zero.
    press(browser, "END")
    assert all("10" not in one or one.isdigit() for one in ticks_of(browser, "coefficients"))
    parts = "return document.getElementById('chart-q-parts').data[0].x"
    assert browser.execute_script(parts) == [0, 0, 0, 0]


def test_a_model_without_components_has_no_importance(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 40)), columns=[f"{1100 + 10 * i}" for i in range(40)])
    y = rng.normal(size=30)
    file = tmp_path / "empty.html"
    write_report(PLSRegressor("bic", max_components=4).fit(X, y), file)
    data = open_page(browser, file)
    assert data["chosen"] == 0
    for chart in ("vip", "selectivity"):
        ticks = [int(one) for one in ticks_of(browser, chart)]
        assert 1100 <= min(ticks) < max(ticks) <= 1500
        text = f"return document.querySelector('#chart-{chart} .annotation').textContent"
        assert "not defined without components" in browser.execute_script(text)
    assert_quiet(browser, file)


def test_one_component_is_enough_for_a_page(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1))
    y = X[:, 0] + rng.normal(size=20)
    file = tmp_path / "one.html"
    write_report(PLSRegressor("bic", max_components=4).fit(X, y), file)
    open_page(browser, file)
    assert_quiet(browser, file)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_switch_shows_the_report_of_each_response(browser, tmp_path, width, scheme):
    from selenium.webdriver.common.by import By

    X, y = load_ozone(return_X_y=True, as_frame=True)
    powers = {"ozone": 1, "<b>squared": 2}
    analyses = [
        analysis_of(PLSRegressor(max_components=3).fit(X, y**power), response=name)
        for name, power in powers.items()
    ]
    file = tmp_path / "all.html"
    write_report(analyses, file)
    browser.get("about:blank")
    browser.get_log("browser")
    set_scheme(browser, scheme)
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(file.as_uri())
    for button, name in enumerate(powers):
        browser.find_elements(By.CSS_SELECTOR, "nav button")[button].click()
        browser.switch_to.frame(button)
        wait_until(browser, f"return document.title === 'PLS model of {name}'")
        wait_until_drawn(browser)
        assert sticking_out(browser) == []
        browser.switch_to.default_content()
    assert browser.get_log("browser") == []


def test_the_weight_of_windows_is_drawn_over_the_wavelengths(browser, tmp_path):
    X, y = load_gasoline(return_X_y=True, as_frame=True)
    model = RecipeRegressor("average").fit(X, y)
    write_report(model, tmp_path / "average.html")
    open_page(browser, tmp_path / "average.html")
    wait_until_drawn(browser)
    (curve,) = traces(browser, "windows")
    assert (curve["x"][0], curve["x"][-1]) == (900, 1700)
    np.testing.assert_allclose(curve["y"], window_weights(model), rtol=0.01)
    assert_quiet(browser, tmp_path / "average.html")
