"""Cross-validation results with given errors or predictions."""

import numpy as np

from plsdof._core.folds import Fold
from plsdof.selection import CrossValidation


def made_from_predictions(predictions, y, sizes, weights=None, groups=None):
    """Build a result from (K, n) predictions of rows that lie fold after fold."""
    predictions, y = np.asarray(predictions, dtype=float), np.asarray(y, dtype=float)
    (K, n), ends = predictions.shape, np.cumsum(sizes)
    rows = np.arange(n)
    return CrossValidation(
        parameters=np.arange(K, dtype=float),
        parameter_name="n_components",
        order=np.arange(K),
        residuals=y - predictions,
        rss=np.full(K, np.nan),
        leverage=np.full((K, n), np.nan),
        exhausted=np.zeros((K, len(sizes)), dtype=bool),
        rounding=np.full(K, np.nan),
        fold=np.repeat(np.arange(len(sizes)), sizes),
        y=y,
        sample_weight=weights,
        groups=None if groups is None else len(np.unique(groups)),
        rows=rows,
        units=rows if groups is None else groups,
        folds=tuple(
            Fold(test=np.arange(a, b), n_rows=n) for a, b in zip([0, *ends], ends, strict=False)
        ),
    )


def made_result(fold_errors, y=None, **options):
    """Build a result with given fold errors, one test row per fold."""
    errors = np.array(fold_errors, dtype=float)
    y = np.zeros(len(errors)) if y is None else y
    return made_from_predictions(y + np.sqrt(errors.T), y, np.ones(len(y), dtype=int), **options)
