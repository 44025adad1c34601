"""
Why not count components as Degrees of Freedom?
===============================================

Degrees of Freedom are, by definition, how much a fit follows its own noise: the sum of the
covariances of fitted and observed values over the noise variance. A PLS component is chosen with
the help of y and follows the noise more than a fixed variable does.
"""

import matplotlib.pyplot as plt
import numpy as np

from plsdof import pls_path

# %%
# The same X with 300 responses, noise of standard deviation 1.
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 30))
signal = X[:, :5] @ np.ones(5)
responses = signal + rng.normal(size=(300, 60))
paths = [pls_path(X, y, 6) for y in responses]

# %%
# The definition, by simulation; the exact formula, averaged over the responses; and counting.
fitted = np.array([path.fitted for path in paths])
centred = fitted - fitted.mean(axis=0)
noise = responses - signal
by_definition = np.einsum("bmi,bi->m", centred, noise) / (len(responses) - 1)
exact = np.mean([path.dof for path in paths], axis=0)
counting = 1 + np.arange(7)
for m in range(7):
    print(f"{m} components: {by_definition[m]:5.1f} {exact[m]:5.1f} {counting[m]:5.1f}")

# %%
figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
ax.plot(counting - 1, by_definition, "o", label="by definition (simulated)")
ax.plot(counting - 1, exact, label="exact formula")
ax.plot(counting - 1, counting, "--", color="grey", label="counting")
ax.set(xlabel="number of components", ylabel="Degrees of Freedom")
ax.legend()
