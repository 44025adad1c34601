"""
Kernel PLS on the ozone data
============================

A Gaussian kernel lets PLS bend. Its width and the number of components are chosen together, by the
cross-validated error, and the fit comes with pointwise intervals.
"""

import matplotlib.pyplot as plt
import numpy as np

from plsdof import KernelPLSRegressor, pls_path
from plsdof.datasets import load_ozone
from plsdof.inference import prediction_interval

# %%
# 203 days, 12 predictors. Linear PLS and kernel PLS, both chosen by cross-validation:
data = load_ozone()
X, y = data.data, data.target
widths = np.logspace(-2, 1, 7) / X.shape[1]
bent = KernelPLSRegressor(gamma=widths, max_components=10).fit(X, y)
linear = pls_path(X, y)
straight = linear.select()
print("linear:", straight.message)
print(f"kernel, gamma = {bent.gamma_:.2g}:", bent.selection_.message)

# %%
# The price and the gain: Degrees of Freedom, noise level and cross-validated error.
models = {
    "linear PLS": linear[straight.index],
    "kernel PLS": bent.model_,
}
for name, model in models.items():
    print(f"{name}: {model.dof:5.1f} DoF, sigma {model.noise_std:.2f}, RMSECV {model.rmse:.2f}")

# %%
# How the prediction bends along the temperature at Sandburg, other predictors at their medians.
column = 6
grid = np.tile(np.median(X, axis=0), (60, 1))
grid[:, column] = np.linspace(X[:, column].min(), X[:, column].max(), 60)
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(X[:, column], y, ".", color="0.7", label="observed")
styles = [("#D55E00", "--"), ("#0072B2", "-")]
for (name, model), (colour, style) in zip(models.items(), styles, strict=True):
    interval = prediction_interval(model, grid, kind="mean")
    ax.fill_between(grid[:, column], interval.lower, interval.upper, color=colour, alpha=0.2)
    ax.plot(grid[:, column], interval.center, style, color=colour, label=name)
ax.set(xlabel=data.feature_names[column].replace("_", " "), ylabel="ozone reading")
ax.legend()
plt.show()
