"""
A near infrared calibration, validated
======================================

From spectra to a calibration: preprocessing, the number of components, and three ways to say how
well it predicts. The command line does all of it in one go::

    plsdof fit gasoline.csv -r octane --preprocess savgol:15:2:1,snv --split random:0.3
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline

from plsdof import PLSRegressor
from plsdof.chemometrics import Preprocessor, figures_of_merit
from plsdof.datasets import load_gasoline
from plsdof.plotting import (
    CriterionDisplay,
    LoadingsDisplay,
    PredictionDisplay,
    ScoresDisplay,
    SpectraDisplay,
)

# %%
# Thirty percent of the rows are kept apart, before anything else looks at them.
X, y = load_gasoline(return_X_y=True, as_frame=True)
X = X.set_axis([str(wavelength) for wavelength in range(900, 1701, 2)], axis=1)
train, test = map(np.sort, next(ShuffleSplit(1, test_size=0.3, random_state=0).split(X)))

# %%
# A first derivative takes offsets away, and the standard normal variate takes the path length away.
# Neither looks at the response, so the Degrees of Freedom of what follows stay exact. The pipeline
# preprocesses whatever rows it is given.
model = make_pipeline(Preprocessor("savgol:15:2:1,snv"), PLSRegressor(max_components=15))
model.fit(X.iloc[train], y.iloc[train])
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
SpectraDisplay.from_spectra(X.iloc[train], y.iloc[train], response="octane", ax=axes[0])
SpectraDisplay.from_model(
    model, X.iloc[train], y.iloc[train], response="octane", title="derivative, SNV", ax=axes[1]
)

# %%
# Held-out rows choose the number of components. Where many models are as good, it says so.
CriterionDisplay.from_estimator(model)
print(model[-1].selection_.message)
print(f"{model[-1].dof_:.2f} Degrees of Freedom")

# %%
# Predicted against measured, for rows of the fit, held-out rows, and rows kept apart. Only the
# last ones had no part in any choice.
PredictionDisplay.from_model(model, X.iloc[test], y.iloc[test], response="octane")
merit = figures_of_merit(y.iloc[test], model.predict(X.iloc[test]))
print(f"RMSEP {merit.rmse:.4f}, bias {merit.bias:.4f}, RPD {merit.rpd:.2f}")

# %%
# What the components are: samples on the left, wavelengths on the right.
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
ScoresDisplay.from_estimator(model, ax=axes[0])
LoadingsDisplay.from_estimator(model, ax=axes[1])
