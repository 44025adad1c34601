"""
How do I use it in a scikit-learn Pipeline?
===========================================

Preprocessing, model and search in one object. What takes a fitted model takes the Pipeline, and
new rows go through all of its steps.
"""

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from plsdof import PLSRegressor
from plsdof.chemometrics import hotelling_t2
from plsdof.datasets import load_gasoline
from plsdof.inference import prediction_interval


def derivative(spectra):
    """First differences, which remove an offset."""
    return np.diff(spectra, axis=1)


# %%
# With and without a derivative; the number of components is chosen inside every fold.
X, y = load_gasoline(return_X_y=True)
pipeline = make_pipeline(FunctionTransformer(derivative), PLSRegressor(scale=False))
search = GridSearchCV(
    pipeline,
    {"functiontransformer__func": [None, derivative], "plsregressor__max_components": [10]},
    cv=5,
    scoring="neg_root_mean_squared_error",
).fit(X, y)
print("best:", search.best_params_["functiontransformer__func"], -search.best_score_.round(3))

# %%
# Intervals and T2 of new rows, from the search itself.
interval = prediction_interval(search, X[:3])
print(np.column_stack([interval.lower, y[:3], interval.upper]).round(2))
print(hotelling_t2(search, X[:3]).values.round(2))
