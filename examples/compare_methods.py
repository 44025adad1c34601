"""
Is PLS the right method here?
=============================

PLS, principal components and ridge regression on one scale: how many Degrees of Freedom they
use, and what they gain by them.
"""

from plsdof import compare_paths
from plsdof.datasets import load_gasoline
from plsdof.plotting import ComparisonDisplay

# %%
# All three, cross-validated on the same folds.
X, y = load_gasoline(return_X_y=True)
table = compare_paths(X, y, max_components=10, cv=10)
for method, row in table.best("cv_error").items():
    print(f"{method:6} {table.dof[row]:5.1f} DoF, error {table.cv_error[row]:.4f}")

# %%
# A principal component costs one Degree of Freedom and a PLS component more, so that numbers of
# components cannot be compared. On the scale of Degrees of Freedom the methods can be.
ComparisonDisplay.from_comparison(table)
