"""
How sure can I be of a prediction?
==================================

Every prediction of a fitted model comes with limits for a new measurement. Their width comes from
the cross-validated errors: how far off the predictions of held-out samples were.
"""

import matplotlib.pyplot as plt
import numpy as np

from plsdof import PLSRegressor
from plsdof.datasets import load_gasoline

# %%
# Fit 45 samples, predict the other 15.
X, y = load_gasoline(return_X_y=True)
rng = np.random.default_rng(0)
order = rng.permutation(len(y))
train, test = order[:45], order[45:]
model = PLSRegressor().fit(X[train], y[train])
lower, upper = np.asarray(model.predict_interval(X[test], level=0.9)).T
inside = (lower <= y[test]) & (y[test] <= upper)
print(f"{inside.sum()} of {len(test)} new measurements are within their 90% limits")

# %%
# Limits are wider for samples that are unlike the others, and hold on average over samples.
# ``method="normal"`` takes normal noise of one variance, and the model, for granted.
predicted = model.predict(X[test])
figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.errorbar(y[test], predicted, yerr=[predicted - lower, upper - predicted], fmt="o", capsize=3)
ax.axline((y.min(), y.min()), slope=1, color="grey", linewidth=0.8)
ax.set(xlabel="measured octane number", ylabel="predicted, with 90% limits")
