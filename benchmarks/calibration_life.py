"""After the calibration: false alarms, how late a drift is seen, and what a transfer restores.

Run with ``python benchmarks/calibration_life.py [--only real|drift|transfer] [--repeats 50]
[--seed 2026]``; "real" takes a tenth of the repeats on every set.
Results go to ``results/calibration_life.json``. Spectra are those of `make_spectra`.

real        resampled real data: calibrations with 30, 60 and 120 rows drawn at random, up to four
            weeks with 20 of the other rows each, which come from the same instrument; share of
            weeks with an alarm, and with one after a bias of one RMSECV. Sets: those of the package
            LimeSoDa with at least 50 rows (soil; pip install LimeSoDa), gasoline, ozone, diabetes
drift       from week 11 a film grows on the window, with the bands of the constituent: predictions
            shift by a tenth of RMSECV more every week; weeks until the alarm of each kind
transfer    a secondary instrument with another wavelength scale, gain, offset and line width;
            20 pairs: error over that of a full recalibration on the secondary with 80 samples
"""

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from chemotools.adaptation import DirectStandardization, PiecewiseDirectStandardization
from choice_designs import soils
from scipy.ndimage import gaussian_filter1d
from sklearn.datasets import load_diabetes

from plsdof import PLSRegressor
from plsdof.chemometrics import check_calibration
from plsdof.chemometrics.transfer import fit_transfer
from plsdof.datasets import load_gasoline, load_ozone, make_spectra

RESULTS = Path(__file__).with_name("results") / "calibration_life.json"
CONTROL = 20
START, MOST = 10, 60  # weeks before a drift, and weeks to look


def real_sets() -> dict[str, tuple[Any, Any]]:
    """Return predictors and response of every set, by name."""
    found = {
        "gasoline": load_gasoline(return_X_y=True),
        "ozone": load_ozone(return_X_y=True),
        "diabetes": load_diabetes(return_X_y=True),
    }
    for name, rows in soils().items():
        if len(rows.y) >= 30 + CONTROL:
            # Hundreds of neighbouring wavelengths say what every other one says.
            p = rows.X.shape[1]
            found[name] = rows.X[:, :: max(1, p // 300) if p > 600 else 1], rows.y
    return found


def real(repeats: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the share of stable weeks of real data with an alarm, and of biased ones."""
    sets, found = real_sets(), {}
    for n in (30, 60, 120):
        weeks: list[dict[str, bool]] = []
        used = {name: (X, y) for name, (X, y) in sets.items() if len(y) >= n + CONTROL}
        for X, y in used.values():
            size = n + CONTROL * min(4, (len(y) - n) // CONTROL)
            for _ in range(max(1, repeats // 10)):
                rows = rng.permutation(len(y))[:size]
                weeks += _weeks(np.asarray(X)[rows], np.asarray(y)[rows], n)
        found[f"n = {n}"] = {"sets": len(used), "weeks": len(weeks)} | _shares(weeks)
    return found


def _weeks(X: Any, y: Any, n: int) -> list[dict[str, bool]]:
    """Calibrate with n rows, check with the others week by week, and return what failed."""
    model, weeks = PLSRegressor().fit(X[:n], y[:n]), []
    before: list[float] = []
    for start in range(n, len(X), CONTROL):
        rows = slice(start, start + CONTROL)
        check = check_calibration(model, X[rows], y[rows], before=before)
        shift = check.calibration.rmsecv
        biased = check_calibration(model, X[rows], y[rows] - shift, before=before)
        failed = {name: passed is False for name, passed in check.passed.items()}
        failed["alarm"] = not check.is_good
        failed["alarm at a bias of one RMSECV"] = not biased.is_good
        failed["bias, standard"] = abs(check.bias) > check.bias_limit_standard
        failed["sep, standard"] = check.sep > check.sep_limit_standard
        failed["slope, standard"] = check.slope_t_standard > check.slope_limit_standard
        weeks.append(failed | _broken(check.chart))
        before = check.chart.errors.tolist()
    return weeks


def _broken(chart: Any) -> dict[str, bool]:
    new = slice(chart.start, None)
    broken = {f"chart, {rule}": bool(where[new].any()) for rule, where in chart.alarms.items()}
    return broken | {"chart, any rule": any(broken.values())}


def _shares(weeks: list[dict[str, bool]]) -> dict[str, float]:
    return {name: round(float(np.mean([one[name] for one in weeks])), 3) for name in weeks[0]}


def drift(repeats: int, rng: np.random.Generator, n: int = 80) -> dict[str, Any]:
    """Return how many weeks after its start a drift is seen, and how large it is then."""
    first: dict[str, list[int]] = {}
    for _ in range(repeats):
        made = make_spectra(n + MOST * CONTROL, 100, random_state=rng)
        X, y = made.data, made.target
        model = PLSRegressor().fit(X[:n], y[:n])
        usual = check_calibration(model, X[:n], y[:n]).calibration.rmsecv
        bands = np.cov(y[:n], X[:n].T)[0, 1:] / np.var(y[:n])
        film = 0.1 * usual * bands / (model.coef_ @ bands)
        before: list[float] = []
        seen: dict[str, int] = {}
        for week in range(MOST):
            rows = slice(n + week * CONTROL, n + (week + 1) * CONTROL)
            thickness = max(week + 1 - START, 0)
            check = check_calibration(model, X[rows] + thickness * film, y[rows], before=before)
            alarms = {name: passed is False for name, passed in check.passed.items()}
            alarms |= {"alarm": not check.is_good} | _broken(check.chart)
            before = check.chart.errors.tolist()
            for name, alarm in alarms.items():
                if alarm and week >= START and name not in seen:
                    seen[name] = week + 1 - START
        for name in alarms:
            first.setdefault(name, []).append(seen.get(name, MOST - START))
    return {
        name: {
            "median weeks": float(np.median(one)),
            "90 % of cases": round(float(np.quantile(one, 0.9)), 1),
            "bias then, in RMSECV": round(0.1 * float(np.median(one)), 2),
        }
        for name, one in first.items()
    }


INSTRUMENTS: dict[str, dict[str, float]] = {
    "shift 1.5 nm": {"shift": 1.5},
    "gain 1.03, offset 0.02": {"gain": 1.03, "offset": 0.02},
    "line width 8 nm": {"width": 8.0},
    "all three": {"shift": 1.5, "gain": 1.03, "offset": 0.02, "width": 4.0},
}


def measured(
    X: Any,
    axis: Any,
    at: Any,
    rng: np.random.Generator,
    *,
    shift: float = 0.0,
    gain: float = 1.0,
    offset: float = 0.0,
    width: float = 0.0,
) -> Any:
    """Return what an instrument makes of spectra: line width, wavelength scale, gain, noise."""
    Z = gaussian_filter1d(X, width / (axis[1] - axis[0]), axis=1) if width else X
    Z = np.array([np.interp(at + shift, axis, row) for row in Z])
    return gain * Z + offset + 2e-4 * rng.standard_normal(Z.shape)


def transfer(repeats: int, rng: np.random.Generator, pairs: int = 20) -> dict[str, Any]:
    """Return errors of ways to transfer over that of a full recalibration."""
    at, found = np.linspace(1120.0, 2480.0, 137), {}
    for name, changes in INSTRUMENTS.items():
        ratios: dict[str, list[float]] = {}
        for _ in range(repeats):
            made = make_spectra(80 + pairs + 200, 1399, noise=0.1, random_state=rng)
            A = measured(made.data, made.wavelengths, at, rng)
            B = measured(made.data, made.wavelengths, at, rng, **changes)
            y, train, both, new = (
                made.target,
                slice(0, 80),
                slice(80, 80 + pairs),
                slice(-200, None),
            )
            model = PLSRegressor().fit(A[train], y[train])
            again = PLSRegressor().fit(B[train], y[train])
            steps = {"none": lambda rows: rows}
            for method in ("auto", "bias", "ds", "pds"):
                steps[method] = fit_transfer(model.predict, A[both], B[both], method).step.apply
            for label, made_by in (
                ("chemotools ds", DirectStandardization()),
                ("chemotools pds", PiecewiseDirectStandardization()),
            ):
                steps[label] = made_by.fit(B[both], X_source=A[both]).transform
            full = _rms(again.predict(B[new]) - y[new])
            for label, step in steps.items():
                ratios.setdefault(label, []).append(
                    _rms(model.predict(step(B[new])) - y[new]) / full
                )
        found[name] = {label: round(float(np.mean(one)), 3) for label, one in ratios.items()}
    return found


def _rms(values: Any) -> float:
    return float(np.sqrt(np.mean(values**2)))


def main() -> None:
    """Run what is asked for, keep the rest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("real", "drift", "transfer"))
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--seed", type=int, default=2026)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for study in (real, drift, transfer):
        name = study.__name__
        if given.only in (None, name):
            known[name] = study(given.repeats, np.random.default_rng(given.seed))
            print(name, json.dumps(known[name], indent=1))
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
