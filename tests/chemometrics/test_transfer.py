"""Calibration transfer: steps by other routes, and the choice by pairs left out."""

import numpy as np
import pytest
from chemotools.adaptation import PiecewiseDirectStandardization

from plsdof import PLSRegressor
from plsdof.chemometrics import fit_transfer
from plsdof.datasets import make_spectra
from plsdof.errors import InvalidInputError, MissingExtraError


@pytest.fixture(scope="module")
def pairs():
    """Return a calibration, and spectra of both instruments with reference values."""
    made = make_spectra(120, 25, noise=0.1, random_state=3)
    rng = np.random.default_rng(0)
    A = made.data
    B = 1.03 * (0.97 * A + 0.03 * np.roll(A, 1, axis=1)) + 0.02 + 1e-4 * rng.normal(size=A.shape)
    B[:, 0] = A[:, 0]  # which np.roll has mixed with the last column
    model = PLSRegressor().fit(A[:60], made.target[:60])
    return model, A[60:], B[60:], made.target[60:]


def rms(values):
    return float(np.sqrt(np.mean(values**2)))


@pytest.mark.parametrize("method", ["auto", "bias", "ds", "pds"])
def test_new_rows_are_predicted_as_on_the_primary(pairs, method):
    model, A, B, y = pairs
    found = fit_transfer(model.predict, A[:15], B[:15], method, y=y[:15])
    assert found.step.kind == (method if method != "auto" else found.chosen.split()[0])
    assert found.step.rows == 15
    assert found.errors[found.chosen] < found.errors["none"]
    new = model.predict(found.step.apply(B[15:]))
    assert rms(new - y[15:]) < 0.6 * rms(model.predict(B[15:]) - y[15:])
    assert set(found.rmsep) == set(found.errors)
    if method == "auto":
        assert found.errors[found.chosen] == min(found.errors.values())
        assert {"bias", "ds", "pds 1"} <= set(found.errors)
    assert found.chosen in repr(found)


def test_errors_are_those_of_pairs_left_out(pairs):
    model, A, B, _ = pairs
    found = fit_transfer(model.predict, A[:12], B[:12], "bias")
    difference = []
    for i in range(12):
        rest = np.arange(12) % 5 != i % 5
        row = B[i] + (A[:12] - B[:12])[rest].mean(axis=0)
        difference.append(model.predict([row])[0] - model.predict(A[[i]])[0])
    assert found.errors["bias"] == pytest.approx(rms(np.array(difference)), rel=1e-10)
    assert found.errors["none"] == pytest.approx(
        rms(model.predict(B[:12]) - model.predict(A[:12])), rel=1e-10
    )
    assert found.rmsep == {}


def test_steps_against_other_routes(pairs):
    _, A, B, _ = pairs
    A, B, new = A[:15, 1:], B[:15, 1:], B[15:, 1:]
    ds = fit_transfer(lambda rows: rows[:, 0], A, B, "ds").step
    assert np.allclose(ds.apply(B), A, rtol=0, atol=1e-9)
    # What the pairs say nothing about stays as it is.
    across = np.linalg.svd(B - B.mean(axis=0))[2][-1]
    assert np.allclose(ds.apply(B + across) - ds.apply(B), across, rtol=0, atol=1e-9)
    pds = fit_transfer(lambda rows: rows[:, 5], A, B, "pds")
    w = int(pds.chosen.split()[1])
    other = PiecewiseDirectStandardization(window_length=w, n_components=2)
    expected = new + other.fit(B, X_source=A - B).transform(new)
    assert np.allclose(pds.step.apply(new), expected, rtol=0, atol=1e-12)


def test_bad_pairs_are_refused(pairs):
    model, A, B, _ = pairs
    with pytest.raises(InvalidInputError):
        fit_transfer(model.predict, A[:3], B[:3])
    with pytest.raises(InvalidInputError):
        fit_transfer(model.predict, A[:9], B[:9, :-1])
    with pytest.raises(InvalidInputError):
        fit_transfer(model.predict, A, B, "osc")
    with pytest.raises(InvalidInputError):
        fit_transfer(lambda rows: rows[:, 0], A[:, :2], B[:, :2], "pds")


def test_without_chemotools(pairs, monkeypatch):
    model, A, B, _ = pairs
    monkeypatch.setitem(__import__("sys").modules, "chemotools.adaptation", None)
    with pytest.raises(MissingExtraError):
        fit_transfer(model.predict, A, B, "ds")
    assert fit_transfer(model.predict, A, B, "bias").chosen == "bias"
