"""A classifier as a frozen model: its discriminant functions, one for each class.

A model file of classes has the method "pls-classes" and one response per class: decision values,
whose softmax are probabilities.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import softmax

from plsdof._core.inputs import Array, read_only
from plsdof.files.frozen import FrozenModel, FrozenResponse, Member, Preparation, about

CLASSES = "pls-classes"


def frozen_classifier(
    model: Any,
    *,
    names: Sequence[str] | None = None,
    response: str = "y",
    source: Mapping[str, Any] | None = None,
    preprocessing: Any = None,
) -> FrozenModel:
    """Take a fitted `plsdof.PLSClassifier` out of its path; its classes become texts.

    Parameters are those of `plsdof.files.frozen_model`.
    """
    coef, intercept = model.coef_, model.intercept_
    if len(model.classes_) == 2:  # the first class is what the second is compared with
        coef, intercept = np.vstack([0 * coef, coef]), np.append(0.0, intercept)
    p, left = coef.shape[1], model.left_out_
    facts: dict[str, Any] = {"parameter": float(model.n_components_), "dof": model.dof_}
    chosen = model.selection_
    facts["choice"] = {
        "criterion": "log-loss" if chosen else "given",
        "message": chosen.message if chosen else f"{model.n_components_} components as asked for",
        "label": f"{model.n_components_} components",
    }
    given = getattr(model, "feature_names_in_", None) if names is None else names
    return FrozenModel(
        **about(given, p, {**(source or {}), "classes_of": response}),
        n=float(left.weights.sum()),
        method=CLASSES,
        parameter_name="n_components",
        one_response=False,
        class_limits=model.limits_,
        preparations=(
            Preparation(
                x_mean=read_only(np.zeros(p)),
                x_scale=read_only(np.ones(p)),
                preprocessing=preprocessing,
            ),
        ),
        responses=tuple(
            FrozenResponse(
                response=str(label), y_mean=float(b), members=(Member(coef=read_only(a)),), **facts
            )
            for label, a, b in zip(model.classes_, coef, intercept, strict=True)
        ),
    )


def class_probabilities(model: FrozenModel, X: Any) -> Array:
    """Return the probabilities of the classes, the responses of a model of classes. (n_new, K)."""
    return np.asarray(softmax(model.predict(X), axis=1))
