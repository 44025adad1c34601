"""
My rows are replicates. What changes?
=====================================

Three measurements of one sample are not three samples. Cross-validation that splits them between
training and test rows reports errors that are too small, and criteria, which take rows as
independent, refuse groups.
"""

import numpy as np

from plsdof import PLSRegressor, cross_validate
from plsdof.datasets import load_gasoline

# %%
# Three noisy copies of each spectrum, as if every sample had been measured three times.
X, y = load_gasoline(return_X_y=True)
rng = np.random.default_rng(0)
rows = np.repeat(np.arange(len(y)), 3)
X3 = X[rows] + 0.002 * rng.normal(size=(len(rows), X.shape[1]))
y3 = y[rows]

# %%
# Folds of single rows, and folds that keep the replicates of a sample together:
apart = cross_validate(X3, y3, max_components=10, rng=0)
together = cross_validate(X3, y3, groups=rows, max_components=10, rng=0)
print("RMSE, rows apart:    ", apart.rmse.min().round(3))
print("RMSE, rows together: ", together.rmse.min().round(3))

# %%
# The estimator takes the groups as well. It holds them out together, to choose the model and to
# find how wide an interval for a new sample has to be.
model = PLSRegressor(max_components=10).fit(X3, y3, groups=rows)
print(model.selection_.message)
