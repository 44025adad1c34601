"""How long `plsdof app` takes from a click to the picture.

    python benchmarks/app.py [--clicks 20]

It needs selenium, chromium and chromium-driver (`make browser` installs them). Of tables of several
sizes, rows are excluded one after the other, as a person does forty times a day: the clock runs
from the click until the pictures in sight are drawn for the new model. The slider moves through
models that are there already. Median and 95th percentile, and the median as a ratio to the bare
analysis of the same table in Python. Aims: below 300 ms for 70 x 700, below 500 ms for
300 x 1,000, below 50 ms for the slider.

Then it goes from a file to a saved model, as somebody new does, with a stop watch: seconds of the
machine alone, without the time to read and to move a hand. Aims: 1 s to the first picture, 8 s to
the saved model, 5 clicks. `load` in the results says what else the machine did: where it is above
the number of cores, the ratios say more than the milliseconds.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from cli import spectra

from plsdof import workbench
from plsdof.workbench.analysis import Request

SIZES = ((70, 700), (300, 1000))
RESULTS = Path(__file__).parent / "results" / "app.json"
SERVE = """
import sys
from pathlib import Path
from plsdof.workbench.app.transport import serve
from plsdof.workbench.cli.browser import CommandLine
if __name__ == "__main__":
    say = lambda text: print(text, flush=True)
    file = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    serve(CommandLine(), file, browser=False, say=say, home=Path(sys.argv[1]))
"""
# Do something, then wait for the pictures that follow a mark; return the milliseconds.
MEASURE = """
const done = arguments[arguments.length - 1], after = arguments[0];
performance.clearMarks();
const start = performance.now();
(new Function(arguments[1]))();
const timer = setInterval(() => {
  const answers = after ? performance.getEntriesByName(after) : [{ startTime: start }];
  if (!answers.length) return;
  const drawn = performance.getEntriesByName("seen");
  const seen = drawn.find((one) => one.startTime > answers[0].startTime);
  if (!seen) return;
  clearInterval(timer);
  done(seen.startTime - start);
}, 2);
"""
EXCLUDE = """
const box = document.querySelector("#samples tbody tr:last-child input");
box.checked = true;
box.dispatchEvent(new Event("change"));
document.getElementById("why").value = "benchmark";
document.querySelector("#marked button[type=submit]").click();
"""
SLIDE = """
const slider = document.getElementById("model");
slider.value = String((Number(slider.value) + 1) % (Number(slider.max) + 1));
slider.dispatchEvent(new Event("input"));
"""
SETTLED = (
    "return document.documentElement.dataset.idle === 'true'"
    " && document.documentElement.dataset.complete === 'true'"
)


def browser(folder: str) -> Any:
    """Return headless Chromium."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or ""
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_window_size(1280, 900)
    driver.set_script_timeout(120)
    return driver


def settled(driver: Any) -> None:
    """Wait until everything is drawn."""
    while not driver.execute_script(SETTLED):
        time.sleep(0.05)


def measured(driver: Any, address: str, clicks: int) -> dict[str, list[float]]:
    """Return milliseconds of excluding a row, and of moving the slider."""
    driver.get(address)
    settled(driver)
    driver.find_element("id", "tab-bench").click()
    settled(driver)
    driver.execute_script("document.getElementById('fold-samples').open = true")
    found: dict[str, list[float]] = {"exclude": [], "slider": []}
    for _ in range(clicks + 1):
        settled(driver)
        found["exclude"].append(driver.execute_async_script(MEASURE, "answer", EXCLUDE))
    for _ in range(clicks + 1):
        settled(driver)
        found["slider"].append(driver.execute_async_script(MEASURE, "", SLIDE))
    return {name: times[1:] for name, times in found.items()}


def from_file_to_model(driver: Any, script: Path, table: Path) -> dict[str, float]:
    """Return milliseconds from the choice of a file to the first picture and the saved model."""
    folder = table.parent
    there = {"behavior": "allow", "downloadPath": str(folder)}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", there)
    command = [sys.executable, str(script), f"{folder}/new"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        driver.get(server.stdout.readline().strip())
        while driver.execute_script("return document.documentElement.dataset.idle") != "true":
            time.sleep(0.02)
        driver.execute_script("performance.clearMarks()")
        start = time.perf_counter()
        begun = driver.execute_script("return performance.now()")
        driver.find_element("css selector", "#screen-table input").send_keys(str(table))
        settled(driver)
        marks = "return performance.getEntriesByName('spectra').map((one) => one.startTime)"
        first = driver.execute_script(marks)[0] - begun
        for click in ("#tab-bench", "#release", "#tab-out", "#files button"):
            driver.find_element("css selector", click).click()
            settled(driver)
        while not list(folder.glob("*.json")):
            time.sleep(0.02)
        saved = 1000 * (time.perf_counter() - start)
        server.terminate()
    return {"first picture after the drop": first, "file to saved model, 5 clicks": saved}


def bare(table: Any, repeats: int = 5) -> float:
    """Return the median milliseconds of the analysis alone."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        workbench.fit(table, Request(response="y"))
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times[1:])


def main() -> None:
    """Measure all sizes, print and keep the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clicks", type=int, default=20)
    clicks = parser.parse_args().clicks
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "serve.py"
        script.write_text(SERVE)
        driver = browser(f"{folder}/profile")
        for n, p in SIZES:
            table = spectra(n, p)
            file = Path(folder) / f"table-{n}-{p}.csv"
            table.to_csv(file, index=False)
            command = [sys.executable, str(script), f"{folder}/home", str(file)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
                assert server.stdout is not None
                found = measured(driver, server.stdout.readline().strip(), clicks)
                server.terminate()
            fit = bare(table)
            for what, times in found.items():
                middle = statistics.median(times)
                high = float(np.percentile(times, 95))
                row = {"n": n, "p": p, "what": what, "median_ms": middle, "p95_ms": high}
                rows.append(row | {"bare_fit_ms": fit, "ratio": middle / fit})
                print(
                    f"{n:5d} x {p:5d} {what:8s} median {middle:7.1f} ms, 95% {high:7.1f} ms, "
                    f"{middle / fit:5.1f} x the bare analysis"
                )
        times = from_file_to_model(driver, script, Path(folder) / "table-70-700.csv")
        for what, milliseconds in times.items():
            rows.append({"n": 70, "p": 700, "what": what, "median_ms": milliseconds})
            print(f"   70 x   700 {what}: {milliseconds:.0f} ms")
        driver.quit()
    # Times of a machine that does other work, too, say little about the app.
    load = {"load": round(os.getloadavg()[1], 1), "cores": os.cpu_count()}
    RESULTS.write_text(json.dumps([row | load for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
