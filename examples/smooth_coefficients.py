"""
Smooth coefficient curves for spectra
=====================================

Penalised PLS puts a price on the roughness of the coefficient curve. The Degrees of Freedom stay
exact. The strength of the penalty and the number of components are chosen together, by the
cross-validated error.
"""

import matplotlib.pyplot as plt

from plsdof import PenalizedPLSRegressor, penalized_pls_path, pls_path
from plsdof.datasets import load_gasoline
from plsdof.inference import simultaneous_band

# %%
# Sixty gasoline samples, 401 wavelengths, octane number. The joint choice:
data = load_gasoline()
X, y = data.data, data.target
strengths = [1.0, 10.0, 100.0, 1e3, 1e4]
chosen = PenalizedPLSRegressor(strength=strengths, max_components=8).fit(X, y)
print(f"strength {chosen.strength_:g}: {chosen.selection_.message}")

# %%
# Plain and penalised coefficients of the same number of components, with simultaneous 95% bands.
m = chosen.n_components_
paths = {
    "plain PLS": pls_path(X, y, m, scale=False),
    f"penalised, strength {chosen.strength_:g}": penalized_pls_path(
        X, y, strength=chosen.strength_, max_components=m
    ),
}
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
for ax, (name, path) in zip(axes, paths.items(), strict=True):
    band = simultaneous_band(path[m])
    ax.axhline(0, color="0.6", linewidth=0.8)
    ax.fill_between(data.wavelengths, band.lower, band.upper, color="#56B4E9", alpha=0.4)
    ax.plot(data.wavelengths, path.coef[m], color="#0072B2")
    ax.set(title=f"{name}: {m} components, {path.dof[m]:.1f} DoF", xlabel="wavelength (nm)")
axes[0].set_ylabel("coefficient")
plt.show()
