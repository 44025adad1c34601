"""
Should I choose one model, or average all of them?
==================================================

Where the data do not tell two numbers of components apart, a weighted average of the models is
often the better predictor. Its weights make the cross-validated error small, which is also how
the default chooses one model. It is one more model, with Degrees of Freedom of its own.
"""

import numpy as np

from plsdof import PLSRegressor
from plsdof.datasets import load_ozone

# %%
# Fit half of the ozone data, test on the other half, twenty times.
X, y = load_ozone(return_X_y=True)
errors = {"left-out": [], "average": [], "bic": []}
for seed in range(20):
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:100], order[100:]
    for how, found in errors.items():
        model = PLSRegressor(how, max_components=12).fit(X[train], y[train])
        found.append(np.mean((y[test] - model.predict(X[test])) ** 2))
for how, found in errors.items():
    print(f"{how:8} mean squared error {np.mean(found):.2f}")

# %%
# The weights of the average say how clear the choice was.
model = PLSRegressor("average", max_components=12).fit(X, y)
print(model.selection_.message)
print("weights:", model.model_.weights.round(2))
print(f"{model.dof_:.2f} Degrees of Freedom")
