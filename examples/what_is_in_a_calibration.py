"""
What is in a calibration?
=========================

Five pictures of one model: predicted against measured values, scores, loadings, distances of the
rows from the model, and what makes one row unusual.
"""

import matplotlib.pyplot as plt
import numpy as np

from plsdof import PLSRegressor
from plsdof.chemometrics import q_residuals
from plsdof.datasets import load_gasoline
from plsdof.plotting import (
    DistanceDisplay,
    ImportanceDisplay,
    LoadingsDisplay,
    PredictionDisplay,
    ScoresDisplay,
)

# %%
# Near infrared spectra of 60 gasolines and their octane numbers. Every third one is for a test.
X, y = load_gasoline(return_X_y=True, as_frame=True)
test = np.arange(len(y)) % 3 == 0
model = PLSRegressor(scale=False).fit(X[~test], y[~test])
print(model.selection_.message)

# %%
# Predicted against measured: points on the line are predicted exactly, and the legend gives the
# root mean squared error of each kind of row.
PredictionDisplay.from_estimator(model, X[test], y[test], response="octane")

# %%
# Scores: every row in the plane of the first two components. The ellipse holds about 95% of
# ordinary rows.
ScoresDisplay.from_estimator(model)

# %%
# Loadings: how the spectra change along these components.
LoadingsDisplay.from_estimator(model, components=(1, 2))

# %%
# T2 is the distance from the centre within the components, Q what they do not describe.
figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
DistanceDisplay.from_estimator(model, X[test], ax=ax)

# %%
# The test row with the largest Q, and the wavelengths that make it so.
row = int(np.argmax(q_residuals(model, X[test]).values))
ImportanceDisplay.from_estimator(model, X[test], kind="q", row=row)
