"""
Does a new sample fit the calibration?
======================================

A prediction is only as good as the resemblance of the sample to those of the calibration.
Hotelling's T2 measures the distance within the model, Q what the model does not explain.
"""

import matplotlib.pyplot as plt
import numpy as np

from plsdof import PLSRegressor
from plsdof.chemometrics import hotelling_t2, q_residuals
from plsdof.datasets import load_gasoline

# %%
# Fit 45 samples; of the other 15, one gets a bump that no gasoline has.
X, y = load_gasoline(return_X_y=True)
order = np.random.default_rng(1).permutation(len(y))
train, test = order[:45], order[45:]
model = PLSRegressor(4, scale=False).fit(X[train], y[train])
new = X[test].copy()
new[3] += 0.05 * np.exp(-(((np.arange(401) - 200) / 10) ** 2))

# %%
# Both distances of new rows, with their limits. The prediction itself does not give it away.
t2, q = hotelling_t2(model, new), q_residuals(model, new)
print("flagged by T2:", np.flatnonzero(t2.flags), " by Q:", np.flatnonzero(q.flags))
print("prediction with and without the bump:", model.predict([new[3], X[test[3]]]).round(2))

# %%
# The usual picture: both axes on a logarithmic scale, with the limits.
figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.loglog(t2.values, q.values, "o")
ax.loglog(t2.values[3], q.values[3], "o", color="#D55E00", label="with a bump")
ax.axvline(t2.limit, color="grey", linewidth=0.8)
ax.axhline(q.limit, color="grey", linewidth=0.8)
ax.set(xlabel="T2", ylabel="Q")
ax.legend()
