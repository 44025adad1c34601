"""
Several responses: one model each, or one for all
=================================================

A y with several columns can mean two things. PLS1 fits every column by itself, on one
decomposition of X; PLS2 looks for components that serve all columns. Both have exact Degrees of
Freedom, so their prices can be compared.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_linnerud

from plsdof import PLS2Regressor, PLSRegressor, pls2_path

# %%
# Twenty men of a fitness club: weight, waist and pulse from three exercises.
data = load_linnerud(as_frame=True)
X, Y = data.data, data.target
one_each = PLSRegressor("bic").fit(X, Y)
for name, m, dof in zip(Y.columns, one_each.n_components_, one_each.dof_, strict=True):
    print(f"{name:7} alone: {m} component(s), {dof:.2f} Degrees of Freedom")
together = PLS2Regressor(scale_response=True).fit(X, Y)
print(together.selection_.message)

# %%
# What the components cost each response. Counting components says m + 1 for all of them; PLS1
# pays for the choice of each component by its own response, PLS2 shares that price.
singles = [one.path for one in one_each.models_]
joint = pls2_path(X, Y, scale_response=True)
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharey=True, layout="constrained")
for j, (ax, name) in enumerate(zip(axes, Y.columns, strict=True)):
    ax.plot(joint.n_components, joint.n_components + 1, ":", color="0.5", label="m + 1")
    ax.plot(singles[j].n_components, singles[j].dof, "o-", color="#0072B2", label="PLS1")
    ax.plot(joint.n_components, joint.dof_by_response[:, j], "s--", color="#D55E00", label="PLS2")
    ax.set(title=name, xlabel="components", xticks=joint.n_components)
axes[0].set_ylabel("Degrees of Freedom")
axes[0].legend()
plt.show()
