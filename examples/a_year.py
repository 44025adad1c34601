"""
A year of a calibration
=======================

A calibration of fat is made in January and checked every week with ten control samples. From week
16 on the window gets a film that absorbs as fat does. The check says so, the bias is adjusted, the
model is carried to a second instrument, and at the end of the year new samples enter it. Spectra
are simulated.
"""

import matplotlib.pyplot as plt
import numpy as np

from plsdof import PLSRegressor, predictor
from plsdof.chemometrics import check_calibration, fit_transfer
from plsdof.datasets import make_spectra

# %%
# January: 120 samples. The file of this model would be ``model.save("fat.json")``.
WEEKS, CONTROL, LEVEL, START = 40, 10, 0.99, 15
made = make_spectra(120 + WEEKS * CONTROL, 100, random_state=0)
X, y = made.data, made.target
model = PLSRegressor().fit(X[:120], y[:120])
bands = np.cov(y[:120], X[:120].T)[0, 1:] / np.var(y[:120])

# %%
# Every week ten control samples. The film grows from week 16 on. All tests of a week have one
# level, 99 %; the control chart goes on from week to week, as the log of ``plsdof check`` does. A
# bias that is an alarm will be adjusted.
frozen, before = predictor(model), np.zeros(0)
for week in range(WEEKS):
    rows = slice(120 + week * CONTROL, 120 + (week + 1) * CONTROL)
    film = 0.08 * max(week + 1 - START, 0) * bands
    check = check_calibration(frozen, X[rows] + film, y[rows], level=LEVEL, before=before)
    chart = check.chart
    before = chart.errors
    if check.verdicts[0].alarm:
        break
print(f"week {week + 1}: {check.message}", check.verdicts[0].text)
print(*chart.sentences, sep="\n")

# %%
# The bias is adjusted by the control samples of this week; file and predictions know why.
adjusted = frozen.adjusted(X[rows] + film, y[rows], kind="bias", reason="film on the window")
after = slice(rows.stop, rows.stop + 3 * CONTROL)
for name, one in (("before", frozen), ("after", adjusted)):
    bias = np.mean(one.predict(X[after] + film) - y[after])
    print(f"bias of the next three weeks {name} the adjustment: {bias:.3f}")
print(adjusted.history[-1])

# %%
# A second instrument, with another gain and wavelength scale: 20 samples are measured on both.
second = 1.03 * (0.5 * X + 0.5 * np.roll(X, 1, axis=1)) + 0.02
second[:, 0] = X[:, 0]
pairs, new = slice(-60, -40), slice(-40, None)
found = fit_transfer(model.predict, X[pairs], second[pairs], "ds")
moved = model.predict(found.step.apply(second[new]))
for name, predicted in (("without", model.predict(second[new])), ("with", moved)):
    print(f"RMSEP {name} a transfer step: {np.sqrt(np.mean((predicted - y[new]) ** 2)):.3f}")

# %%
# December: the year's control samples enter the calibration, the last 40 stay out for a test.
used = np.r_[0:120, 120 : len(y) - 40]
updated = PLSRegressor().fit(X[used], y[used])
for name, one in (("January", model), ("December", updated)):
    print(f"RMSEP of {name}: {np.sqrt(np.mean((one.predict(X[new]) - y[new]) ** 2)):.3f}")

# %%
# The control chart of the year up to the alarm.
figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
axes.plot(chart.errors, ".", label="error")
axes.plot(chart.ewma, label="moving average")
for limit in (chart.warning, chart.action):
    axes.axhline(limit, color="0.4", linestyle="--")
    axes.axhline(-limit, color="0.4", linestyle="--")
axes.axvline(START * CONTROL, color="0.4", linestyle=":", label="film begins")
axes.set(xlabel="control sample", ylabel="error / expected size")
axes.legend()
