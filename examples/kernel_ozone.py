"""
Kernel PLS on the ozone data
============================

A Gaussian kernel lets PLS bend. Its width and the number of components are chosen together by BIC
with exact Degrees of Freedom, and the fit comes with pointwise intervals.
"""

import matplotlib.pyplot as plt
import numpy as np

from plsdof import cross_validate, pls_path
from plsdof.datasets import load_ozone
from plsdof.inference import prediction_interval
from plsdof.variants import kernel_pls_path, select_kernel

# %%
# 203 days, 12 predictors. Linear PLS and kernel PLS, both chosen by BIC:
data = load_ozone()
X, y = data.data, data.target
choice = select_kernel(X, y, max_components=10)
linear = pls_path(X, y)
print("linear:", linear.select("bic").message)
print("kernel:", choice.message)

# %%
# The price and the gain: Degrees of Freedom, noise level and cross-validated error.
path = kernel_pls_path(X, y, gamma=choice.value, max_components=10)
m, k = linear.select("bic").n_components, choice.n_components
print(f"linear {linear.dof[m]:5.1f} DoF, sigma {np.sqrt(linear.noise_at(m)):.2f}")
print(f"kernel {path.dof[k]:5.1f} DoF, sigma {np.sqrt(path.noise_at(k)):.2f}")
fit = lambda X, y: kernel_pls_path(X, y, gamma=choice.value, max_components=k)  # noqa: E731
print(f"10-fold error, linear: {cross_validate(X, y, max_components=m).mean_error[m]:.1f}")
print(f"10-fold error, kernel: {cross_validate(X, y, fit).mean_error[k]:.1f}")

# %%
# How the prediction bends along the temperature at Sandburg, other predictors at their medians.
column = 6
grid = np.tile(np.median(X, axis=0), (60, 1))
grid[:, column] = np.linspace(X[:, column].min(), X[:, column].max(), 60)
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(X[:, column], y, ".", color="0.7", label="observed")
for one, size, colour, style, name in [
    (linear, m, "#D55E00", "--", "linear PLS"),
    (path, k, "#0072B2", "-", "kernel PLS"),
]:
    interval = prediction_interval(one, size, grid, kind="mean")
    ax.fill_between(grid[:, column], interval.lower, interval.upper, color=colour, alpha=0.2)
    ax.plot(grid[:, column], interval.center, style, color=colour, label=name)
ax.set(xlabel=data.feature_names[column].replace("_", " "), ylabel="ozone reading")
ax.legend()
plt.show()
