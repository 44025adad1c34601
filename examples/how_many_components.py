"""
How many components should I keep?
==================================

Near-infrared spectra of gasoline, and the octane number. The default choice cross-validates
all models in one go; Degrees of Freedom say what each of them costs.
"""

import matplotlib.pyplot as plt

from plsdof import PLSRegressor, cross_validate
from plsdof.datasets import load_gasoline
from plsdof.plotting import CriterionDisplay, DoFDisplay

# %%
# 60 samples, 401 wavelengths. The estimator says what it chose and why:
X, y = load_gasoline(return_X_y=True)
model = PLSRegressor(max_components=10).fit(X, y)
print(model.selection_.message)

# %%
# The same folds with the rule of one standard error, which prefers small models.
result = cross_validate(X, y, max_components=10)
print("minimum:", result.select().n_components)
print("one standard error:", result.select(rule="one-standard-error").n_components)

# %%
# A component costs more than one Degree of Freedom, which is why counting components misleads.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
DoFDisplay.from_estimator(model, ax=left)
CriterionDisplay.from_estimator(model, ax=right)
