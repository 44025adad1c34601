"""
Several responses: one model each, or one for all
=================================================

Several responses can be modelled in two ways. PLS1 fits every column on its own; PLS2 looks for
components that serve all columns. Both have exact Degrees of Freedom, so their costs can be
compared.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_linnerud

from plsdof import PLS2Regressor, PLSRegressor, pls2_path, pls_path

# %%
# Twenty men of a fitness club: weight, waist and pulse from three exercises.
data = load_linnerud(as_frame=True)
X, Y = data.data, data.target
for name in Y.columns:
    alone = PLSRegressor("bic").fit(X, Y[name])
    print(
        f"{name:7} alone: {alone.n_components_} component(s), {alone.dof_:.2f} Degrees of Freedom"
    )
together = PLS2Regressor(scale_response=True).fit(X, Y)
print(together.selection_.message)

# %%
# What the components cost each response. Counting components says m + 1 for all of them; PLS1
# pays for the choice of each component by its own response, PLS2 shares that price.
singles = [pls_path(X, Y[name]) for name in Y.columns]
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
