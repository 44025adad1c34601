"""
A near infrared calibration, validated
======================================

From spectra to a calibration: preprocessing, the number of components, and three ways to say how
well it predicts. The command line does all of it in one go::

    plsdof fit gasoline.csv -r octane --preprocess savgol:15:2:1,snv --cv 10 --test-fraction 0.3

and these are the same numbers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import ShuffleSplit

from plsdof import cross_validate, pls_path
from plsdof.chemometrics import Preprocessor, figures_of_merit
from plsdof.datasets import load_gasoline
from plsdof.plotting import (
    ErrorDisplay,
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
# Neither looks at the response, so the Degrees of Freedom of what follows stay exact.
chain = Preprocessor("savgol:15:2:1,snv").fit(X.iloc[train])
spectra = X.iloc[train].copy()
spectra[:] = chain.transform(X.iloc[train])
held_back = X.iloc[test].copy()
held_back[:] = chain.transform(X.iloc[test])
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
SpectraDisplay.from_spectra(X.iloc[train], y.iloc[train], response="octane", ax=axes[0])
SpectraDisplay.from_spectra(
    spectra, y.iloc[train], response="octane", title="derivative, SNV", ax=axes[1]
)

# %%
# GCV with Degrees of Freedom, leave-one-out, and cross-validation estimate the same error. Where
# they disagree, the data do not determine the number of components well.
path = pls_path(spectra, y.iloc[train], 30)
cv = cross_validate(spectra, y.iloc[train], cv=10, max_components=10)
chosen = path.select()
ErrorDisplay.from_path(pls_path(spectra, y.iloc[train], 10), chosen, cv=cv)
print(f"{chosen.n_components} components, {path.dof[chosen.index]:.2f} Degrees of Freedom")

# %%
# Predicted against measured, for rows of the fit, rows left out, and rows kept apart. Only the
# last ones had no part in any choice.
PredictionDisplay.from_path(
    path,
    chosen.index,
    y=y.iloc[train],
    cv=cv,
    X_test=held_back,
    y_test=y.iloc[test],
    response="octane",
)
merit = figures_of_merit(y.iloc[test], path.predict(held_back)[chosen.index])
print(f"RMSEP {merit.rmse:.4f}, bias {merit.bias:.4f}, RPD {merit.rpd:.2f}")

# %%
# What the components are: samples on the left, wavelengths on the right.
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
ScoresDisplay.from_path(path, ax=axes[0])
LoadingsDisplay.from_path(path, ax=axes[1])
