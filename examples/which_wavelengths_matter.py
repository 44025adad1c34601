"""
Which wavelengths matter?
=========================

Three answers for the same spectra: coefficients with a confidence band, variable importance
(VIP), and the selectivity ratio. They ask different questions, and a wavelength that all three
point at deserves attention.
"""

import matplotlib.pyplot as plt
import numpy as np

from plsdof import PLSRegressor
from plsdof.chemometrics import selectivity_ratio, vip
from plsdof.datasets import load_gasoline
from plsdof.plotting import CoefficientDisplay

# %%
# A data frame keeps the wavelengths as names; numbers as column names are names, too.
X, y = load_gasoline(return_X_y=True, as_frame=True)
X = X.set_axis(np.arange(900, 1701, 2), axis=1)
model = PLSRegressor(scale=False).fit(X, y)
CoefficientDisplay.from_estimator(model)

# %%
# Functions of a model take the fitted estimator itself.
importance, ratio = vip(model), selectivity_ratio(model).values
figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4.5), layout="constrained")
for ax, values, name in zip(axes, (importance, ratio), ("VIP", "selectivity ratio"), strict=True):
    ax.plot(X.columns, values)
    ax.set_ylabel(name)
axes[0].axhline(1.0, color="grey", linewidth=0.8)
axes[1].set_xlabel("wavelength (nm)")
print("largest VIP at", X.columns[importance.argmax()], "nm")
