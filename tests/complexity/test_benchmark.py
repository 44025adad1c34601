"""Rules and methods compared on one's own data."""

import json

import numpy as np
import pytest
from _helpers.latent import latent_data
from sklearn.linear_model import LinearRegression

from plsdof import pls_path
from plsdof.complexity import benchmark
from plsdof.errors import InvalidInputError

X, Y = latent_data(40, 8, 0, noise=1.0)


def test_errors_are_those_of_the_rows_left_out():
    result = benchmark(X, Y, ["pls", "pls-average", "mean"], n_splits=3, random_state=5)
    rng = np.random.default_rng(5)
    for split in range(3):
        order = rng.permutation(40)
        train, test = order[:32], order[32:]
        path = pls_path(X[train], Y[train], 8)
        fits = (path.predict(X[test])[path.select().index], path.average().predict(X[test]))
        for k, predicted in enumerate((*fits, Y[train].mean())):
            assert result.error[split, k] == pytest.approx(np.mean((Y[test] - predicted) ** 2))
        assert result.dof[split, 1] == pytest.approx(path.average().dof)
    assert (result.n_train, result.n_test) == (32, 8)
    np.testing.assert_allclose(result.rmse, np.sqrt(result.error.mean(axis=0)))
    assert result.names[int(np.argmin(result.ratio))] != "mean"


def test_regressors_take_part_with_their_degrees_of_freedom():
    result = benchmark(X, Y, {"ols": LinearRegression(), "ours": "pls-bic"}, n_splits=2)
    assert result.names == ("ols", "ours")
    np.testing.assert_allclose(result.dof[:, 0], 9)
    assert np.isnan(result.size[:, 0]).all()
    frame = result.to_frame()
    assert frame["rmse"].is_monotonic_increasing


def test_an_interrupted_run_goes_on(tmp_path):
    file = tmp_path / "splits.json"
    whole = benchmark(X, Y, ["pls", "pcr"], n_splits=4)
    benchmark(X, Y, ["pls", "pcr"], n_splits=2, resume=file)
    kept = json.loads(file.read_text())
    kept["splits"][0][0]["error"] = 7.0  # a split that is there is not computed again
    file.write_text(json.dumps(kept))
    again = benchmark(X, Y, ["pls", "pcr"], n_splits=4, resume=file)
    assert again.error[0, 0] == 7.0
    np.testing.assert_allclose(again.error[1:], whole.error[1:])
    with pytest.raises(InvalidInputError, match="other data or settings"):
        benchmark(X, Y + 1, ["pls", "pcr"], n_splits=4, resume=file)
    kept["splits"][0][0]["error"] = "seven"
    for damaged in ("{}", json.dumps(kept), "[" * 200_000):
        file.write_text(damaged)
        with pytest.raises(InvalidInputError, match="not a file of a benchmark"):
            benchmark(X, Y, ["pls", "pcr"], n_splits=4, resume=file)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"methods": ["lasso"]}, "methods must be some of 'pls'"),
        ({"methods": []}, "methods is empty"),
        ({"train_size": 0.01}, "leaves 0 of 40 rows to fit"),
        ({"train_size": 2}, "train_size"),
        ({"n_splits": 0}, "n_splits"),
    ],
)
def test_unusable_options_say_what_is_allowed(options, match):
    with pytest.raises(InvalidInputError, match=match):
        benchmark(X, Y, **options)
