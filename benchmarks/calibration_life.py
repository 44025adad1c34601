"""After the calibration: false alarms, how late a drift is seen, and what a transfer restores.

Run with ``python benchmarks/calibration_life.py [--only real|stable|drift|transfer] [--repeats 50]
[--seed 2026]``; "stable" takes four times the repeats, "real" a tenth of them on every set.
Results go to ``results/calibration_life.json``. Spectra are those of `make_spectra`.

real        resampled real data: calibrations with 30, 60 and 120 rows drawn at random, up to four
            weeks with 20 of the other rows each, which come from the same instrument; share of
            weeks with an alarm, and with one after a bias of one RMSECV. Sets: those of the package
            LimeSoDa with at least 50 rows (soil; pip install LimeSoDa), gasoline, ozone, diabetes
stable      calibrations with 30, 60 and 120 samples, 5 weeks each, 20 control samples a week, an
            instrument that does not change: share of weeks in which each test fails (nominal 5 %),
            in which any does, and in which a rule of the control chart is broken; the last also
            for independent normal errors of known size, as "nominal". Four kinds of data: spectra,
            spectra with scatter and sloping baselines, skewed concentrations, a table of 18 columns
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
from scipy.ndimage import gaussian_filter1d
from sklearn.datasets import load_diabetes

from plsdof import PLSRegressor
from plsdof.chemometrics import check_calibration
from plsdof.chemometrics.checks import control_chart
from plsdof.chemometrics.transfer import fit_transfer
from plsdof.datasets import load_gasoline, load_ozone, make_spectra

RESULTS = Path(__file__).with_name("results") / "calibration_life.json"
CONTROL, WEEKS = 20, 5
START, MOST = 10, 60  # weeks before a drift, and weeks to look


def bands(rng: np.random.Generator, count: int, p: int, width: float) -> Any:
    """Return spectra of pure constituents: three bands each. Shape (count, p)."""
    x, centres = np.linspace(0.0, 1.0, p), rng.uniform(size=(count, 3, 1))
    widths = width * rng.uniform(0.5, 1.5, size=(count, 3, 1))
    heights = rng.uniform(0.3, 1.0, size=(count, 3, 1))
    return np.sum(heights * np.exp(-(((x - centres) / widths) ** 2) / 2), axis=1)


def spectra(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Return spectra of `make_spectra`, and the response."""
    made = make_spectra(n, 100, random_state=rng)
    return made.data, made.target


def scattered(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Return spectra with gain, offset and slope of their own, and the response."""
    shares = rng.dirichlet(np.full(5, 4.0), n)
    gain, offset, slope = rng.standard_normal((3, n, 1))
    X = shares @ bands(rng, 5, 120, 0.08) * (1 + 0.05 * gain) + 0.02 * offset
    X += 0.02 * slope * np.linspace(-1, 1, 120) + 0.002 * rng.standard_normal((n, 120))
    return X, 10 * shares[:, 0] + 0.15 * rng.standard_normal(n)


def skewed(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Return spectra of four lognormal concentrations, and the first of these."""
    amounts = np.exp(0.7 * rng.standard_normal((n, 4)))
    X = amounts @ bands(rng, 4, 80, 0.06) + 0.05 * rng.standard_normal((n, 1))
    X += 0.01 * rng.standard_normal((n, 80))
    return X, amounts[:, 0] + 0.1 * rng.standard_normal(n)


def table(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Return 18 columns with six factors, and a response of all of them."""
    sizes = np.array([3.0, 2.0, 1.5, 1.0, 0.7, 0.5])
    X = sizes * rng.standard_normal((n, 6)) @ rng.standard_normal((6, 18))
    X += rng.standard_normal((n, 18))
    y = X @ rng.standard_normal(18)
    return X, y / y.std() + 0.5 * rng.standard_normal(n)


def real_sets() -> dict[str, tuple[Any, Any]]:
    """Return predictors and response of every set, by name."""
    found = {
        "gasoline": load_gasoline(return_X_y=True),
        "ozone": load_ozone(return_X_y=True),
        "diabetes": load_diabetes(return_X_y=True),
    }
    try:
        import LimeSoDa
    except ImportError:
        print("without the sets of LimeSoDa: pip install LimeSoDa")
        return found
    for name in sorted(set(LimeSoDa.list_datasets()) - {"Overview_Datasets"}):
        table = LimeSoDa.load_dataset(name)["Dataset"]
        targets = [one for one in table.columns if one.endswith("_target")]
        X = table.drop(columns=targets).to_numpy(float)
        for target in targets:
            y = table[target].to_numpy(float)
            known = np.isfinite(X).all(axis=1) & np.isfinite(y)
            if np.count_nonzero(known) >= 30 + CONTROL:
                # Hundreds of neighbouring wavelengths say what every other one says.
                thin = max(1, X.shape[1] // 300) if X.shape[1] > 600 else 1
                found[f"{name}, {target[:-7]}"] = X[known][:, ::thin], y[known]
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


def stable(repeats: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the share of stable weeks with an alarm, by data and size of the calibration."""
    found: dict[str, Any] = {}
    for make in (spectra, scattered, skewed, table):
        for n in (30, 60, 120):
            weeks = [
                one
                for _ in range(4 * repeats)
                for one in _weeks(*make(rng, n + WEEKS * CONTROL), n)
            ]
            found[f"{make.__name__}, n = {n}"] = {"weeks": len(weeks)} | _shares(weeks)
    normal = []
    for _ in range(4 * repeats):
        errors = rng.standard_normal(WEEKS * CONTROL)
        for week in range(WEEKS):
            until = errors[: (week + 1) * CONTROL]
            normal.append(_broken(control_chart(until, 1.0, start=week * CONTROL)))
    found["nominal"] = {"weeks": len(normal)} | _shares(normal)
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
    parser.add_argument("--only", choices=("real", "stable", "drift", "transfer"))
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--seed", type=int, default=2026)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for study in (real, stable, drift, transfer):
        name = study.__name__
        if given.only in (None, name):
            known[name] = study(given.repeats, np.random.default_rng(given.seed))
            print(name, json.dumps(known[name], indent=1))
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
