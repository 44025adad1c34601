"""Pictures of a classifier: errors over components, confusions, scores by class, importance."""

from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay

from plsdof.chemometrics.rows import t2_limit
from plsdof.estimators.classifier import PLSClassifier
from plsdof.plotting.curves import CriterionDisplay
from plsdof.plotting.predictors import ImportanceDisplay
from plsdof.plotting.rows import ScoresDisplay
from plsdof.plotting.style import feature_axis, matplotlib, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def class_figure(model: PLSClassifier) -> "Figure":
    """Draw what chose a classifier, which classes it confuses, scores by class, and importance.

    Confusions are those of rows left out. Scores need two components, importance one: their
    pictures are left out without them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> len(class_figure(PLSClassifier().fit(*load_iris(return_X_y=True))).axes)
    4
    """
    m, left = model.n_components_, model.left_out_
    figure: Figure = matplotlib("figure").Figure(figsize=(11.0, 8.0), layout="constrained")
    choice, confusion, scores, importance = figure.subplots(2, 2).ravel()
    CriterionDisplay(
        parameters=np.arange(len(left.log_loss), dtype=np.float64),
        scores=left.log_loss,
        criterion="log loss of rows left out",
        chosen=float(m),
    ).plot(choice)
    choice.set_title("How the model was chosen")
    names = [plain(str(one), 16) for one in model.classes_]
    shown = ConfusionMatrixDisplay(model.errors().matrix, display_labels=names)
    shown.plot(ax=confusion, colorbar=False, cmap="Blues", values_format="g")
    confusion.set_title("Rows left out")
    if m < 2:
        scores.remove()
    else:
        T, n = model.x_scores_[:, :2], left.weights.sum()
        share = np.reshape(model.y_explained_variance_ratio_, (m, -1)).mean(axis=1)
        ScoresDisplay(
            scores=T,
            components=(1, 2),
            x_share=100 * model.explained_variance_ratio_[:2],
            y_share=100 * share[:2],
            half_axes=T.std(axis=0, ddof=1) * np.sqrt(t2_limit(n, 2, 0.95, True).value),
            groups=np.array([str(one) for one in model.classes_[left.codes]]),
            response="the classes",
        ).plot(scores)
        scores.set_title("Scores by class")
    if m < 1:
        importance.remove()
    else:
        values = np.asarray(model.vip())
        known = getattr(model, "feature_names_in_", None)
        features = feature_axis(None if known is None else list(known), len(values))
        ImportanceDisplay(values=values, limit=1.0, features=features, title="VIP").plot(importance)
        importance.set_title("What the classes differ in")
    return figure
