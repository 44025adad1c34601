"""The page on ONNX runs as it stands, and exported models agree with ours."""

import re
from pathlib import Path

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof import PCRegressor, PLS2Regressor, PLSRegressor, RidgeRegressor

REASON = "ONNX needs plsdof[onnx], which is not part of plsdof[test]"
pytest.importorskip("skl2onnx", reason=REASON)
onnxruntime = pytest.importorskip("onnxruntime", reason=REASON)

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "onnx.md"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Names that the code of the page defines."""
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S))
    names = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        exec(compile(code, str(PAGE), "exec"), names)
    return names


def exported_predictions(page, linear, X):
    content = page["to_onnx"](linear, X[:1]).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(None, {"X": X})[0]


def test_the_page_runs_and_its_model_agrees(page):
    np.testing.assert_allclose(
        page["predicted"][:, 0], page["model"].predict(page["X"]), rtol=1e-12
    )


@pytest.mark.parametrize(
    "estimator",
    [PLSRegressor(3), PLSRegressor("average"), PCRegressor(3), RidgeRegressor(alpha=2.0)],
    ids=["pls", "average", "pcr", "ridge"],
)
def test_linear_models_agree(page, estimator):
    X, y = make_problem(30, 6, noise=2.0)
    X = X * 10.0 ** np.arange(-2, 4)
    model = estimator.fit(X, y)
    ours = exported_predictions(page, page["as_linear_regression"](model), X)
    np.testing.assert_allclose(ours[:, 0], model.predict(X), rtol=1e-10)


def test_several_responses_agree(page):
    X, y = make_problem(30, 6)
    model = PLS2Regressor(3).fit(X, np.column_stack([y, y**2]))
    ours = exported_predictions(page, page["as_linear_regression"](model), X)
    np.testing.assert_allclose(ours, model.predict(X), rtol=1e-10)


def test_numbers_of_32_bits_agree_to_their_digits(page):
    X = page["X"].astype(np.float32)
    ours = exported_predictions(page, page["as_linear_regression"](page["model"]), X)
    assert ours.dtype == np.float32
    assert np.abs(ours[:, 0] - page["model"].predict(page["X"])).max() < 1e-3


def test_a_scaler_can_stand_before(page):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = make_problem(30, 6)
    model = make_pipeline(StandardScaler(), PLSRegressor(3)).fit(X, y)
    linear = make_pipeline(model[0], page["as_linear_regression"](model[1]))
    ours = exported_predictions(page, linear, X)
    np.testing.assert_allclose(ours[:, 0], model.predict(X), rtol=1e-10)
