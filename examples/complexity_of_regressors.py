r"""
Complexity of twelve regressors on one axis
===========================================

How complex is a random forest, compared with Partial Least Squares or a spline? Numbers of leaves,
components and knots cannot be compared; Degrees of Freedom can. They say how strongly the fitted
values follow the observed ones,

.. math:: \mathrm{DoF} = \sum_i \mathrm{cov}(\hat y_i, y_i) / \sigma^2,

and are 1 for the mean and 13 for least squares with twelve predictors.
:func:`plsdof.complexity.degrees_of_freedom` takes any scikit-learn regressor: it uses a formula
where one is known and perturbs the response otherwise. The data are the 203 complete days of the
Los Angeles ozone data.
"""

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LassoCV, LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from plsdof import PLSRegressor, degrees_of_freedom
from plsdof.datasets import load_ozone

X, y = load_ozone(return_X_y=True)


def scaled(*steps):
    """Put a scaling of the predictors in front."""
    return make_pipeline(StandardScaler(), *steps)


regressors = {
    "PCR, 4 components": scaled(PCA(4), LinearRegression()),
    "PLS, 2 components": PLSRegressor(2),
    "PLS, components by BIC": PLSRegressor("bic"),
    "lasso, penalty by CV": scaled(LassoCV(alphas=30, cv=5)),
    "ridge, penalty 100": scaled(Ridge(100)),
    "least squares": LinearRegression(),
    "additive splines, ridge": scaled(SplineTransformer(6), Ridge(1.0)),
    "10 nearest neighbours": scaled(KNeighborsRegressor(10)),
    "kernel ridge": scaled(KernelRidge(alpha=1.0, kernel="rbf", gamma=0.02)),
    "support vectors": scaled(SVR(C=10, gamma=0.02)),
    "tree with 8 leaves": DecisionTreeRegressor(max_leaf_nodes=8, random_state=0),
    "random forest": RandomForestRegressor(50, min_samples_leaf=3, random_state=0),
}

# %%
# Exact where a formula is known, drawn otherwise
# -----------------------------------------------
#
# PLS with two components uses more than three Degrees of Freedom because its components look at
# the response. Where the number of components, or the penalty of the lasso, is chosen by looking at
# the response once more, Monte Carlo counts the choice; for PLS a formula takes it as given.

results = {name: degrees_of_freedom(model, X, y, n_draws=30) for name, model in regressors.items()}
for name, result in results.items():
    spread = f"+- {result.std_error:.1f}" if result.std_error else ""
    print(f"{name:26}{result.value:6.1f} {spread:8}{result.method}")
print(results["PLS, components by BIC"].message)

# %%
# All on one axis
# ---------------
#
# Once its splits are known, a tree with eight leaves is made of eight means; finding the splits
# makes it as complex as a model with several times as many parameters. Bars are two standard errors
# of the Monte Carlo average.

order = sorted(results, key=lambda name: results[name].value)
colours = {"exact": "#1b6ca8", "monte-carlo": "#d1603d"}
labels = {"exact": "formula", "monte-carlo": "Monte Carlo"}

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
for row, name in enumerate(order):
    result = results[name]
    colour = colours[result.method]
    axes.errorbar(result.value, row, xerr=2 * result.std_error, fmt="o", color=colour, capsize=3)
    reach = max(result.value + 2 * result.std_error, result.conditional or 0)
    axes.annotate(
        f"{result.value:.1f}", (reach, row), (8, 0), textcoords="offset points", va="center"
    )
    if result.conditional is not None:
        axes.plot(result.conditional, row, "o", mfc="white", mec=colour)
axes.axvline(len(y), color="0.6", lw=1)
axes.annotate("n = 203", (len(y), 0), (-5, 0), textcoords="offset points", ha="right", va="center")
for method, colour in colours.items():
    axes.plot([], [], "o", color=colour, label=labels[method])
axes.plot([], [], "o", mfc="white", mec=colours["monte-carlo"], label="formula, choice as given")
axes.set(
    xscale="log", xlim=(3, 300), xlabel="Degrees of Freedom", title="Ozone, 203 days, 12 predictors"
)
axes.set_yticks(range(len(order)), order)
axes.set_xticks([4, 10, 20, 50, 100, 200], ["4", "10", "20", "50", "100", "200"])
axes.minorticks_off()
axes.grid(axis="y", color="0.92")
axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(0.93, 0.08))
axes.spines[["top", "right"]].set_visible(False)
plt.show()
