"""A response of text in the app: its classes, as `plsdof fit` has them."""

import numpy as np
import pandas as pd
import pytest
from _helpers.command_line import run_json

from plsdof.workbench.analysis.result import in_text

EVIL = "<script>window.hacked=1</script>"


@pytest.fixture
def table():
    """Return spectra of three kinds, one of them with a hostile name."""
    rng = np.random.default_rng(3)
    kinds = np.repeat(["corn", "rye", EVIL], 20)
    X = rng.normal(size=(60, 12)) + 3 * np.repeat(np.eye(12)[:3], 20, axis=0)
    frame = pd.DataFrame(X, columns=[str(1100 + 2 * j) for j in range(12)])
    frame.insert(0, "kind", kinds)
    return frame.to_csv(index=False).encode()


def started(page, table):
    page.post("/upload", files=[("files", ("kinds.csv", table))], data={"use": "table"})
    page.post("/event", json={"do": "set", "options": {"response": ["kind"]}})
    return page.client.get("/view").json()


def test_a_response_of_text_is_shown_and_listed_as_a_trial(page, table):
    found = started(page, table)
    assert found["content"] is None
    # Importance over the wavelengths, from left to right; the pictures follow light and dark.
    assert found["classes"]["positions"] == sorted(found["classes"]["positions"])
    assert len(found["classes"]["positions"]) == len(found["classes"]["vip"])
    assert "<svg" not in found["parts"]["found"]
    assert "<script" not in found["parts"]["found"]
    (trial,) = found["state"]["trials"]
    assert 0 <= trial["summary"]["errors"]["misclassified"] < 0.3
    assert trial["summary"]["n"] == 60
    assert page.client.get("/table").json()["error"] == {}
    page.post("/event", json={"do": "release", "trial": found["trial"]})
    assert "response='kind'" in page.client.get("/export").json()["python"]


def test_classes_are_those_of_the_command_line(page, table):
    found = started(page, table)
    page.post("/event", json={"do": "release", "trial": found["trial"]})
    printed = run_json(*page.client.get("/export").json()["command"][1:])
    (trial,) = found["state"]["trials"]
    assert trial["summary"]["dof"] == in_text(printed["choice"]["dof"], 0.1)
    assert trial["summary"]["rmsecv"] == [one["error"] for one in printed["models"]]
    assert trial["summary"]["errors"]["misclassified"] == printed["error"]["left-out"]


def test_classes_are_predicted_with_their_probabilities(page, table):
    trial = started(page, table)["trial"]
    page.post("/event", json={"do": "release", "trial": trial})
    page.post("/event", json={"do": "use", "file": "kinds.csv", "as": "predict"})
    rows = page.client.get("/predictions?kind=predict").json()["found"]["kind"]["predictions"]
    likeliest = {"corn": "P(corn)", "rye": "P(rye)", EVIL: f"P({EVIL})"}
    for row in rows:
        best = row[likeliest[row["prediction"]]]
        assert best == max(row[one] for one in likeliest.values())
    assert page.client.get("/file?kind=predictions").status_code == 200
    for kind in ("model", "report", "out", "plot"):
        assert page.client.get(f"/file?kind={kind}").status_code == 200


def test_a_check_of_classes_is_refused(page, table):
    trial = started(page, table)["trial"]
    page.post("/event", json={"do": "release", "trial": trial})
    page.post("/event", json={"do": "use", "file": "kinds.csv", "as": "check"})
    answer = page.client.get("/predictions?kind=check")
    assert answer.status_code == 422
    assert "classes" in answer.json()["error"]
