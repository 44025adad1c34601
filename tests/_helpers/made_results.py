"""Cross-validation results with given errors."""

import numpy as np

from plsdof._core.folds import Fold
from plsdof.selection import CrossValidation


def made_result(fold_errors, **changes):
    """Build a result with given fold errors, one test row per fold."""
    errors = np.array(fold_errors, dtype=float)
    F, K = errors.shape
    fields = {
        "parameters": np.arange(K, dtype=float),
        "parameter_name": "n_components",
        "simplest_first": np.arange(K),
        "folds": tuple(Fold(test=np.array([i]), n_rows=F) for i in range(F)),
        "fold_errors": errors,
        "fold_correlations": np.full((F, K), np.nan),
        "y": np.zeros(F),
        "predictions": np.sqrt(errors).T[None],
        "sample_weight": None,
        "groups": None,
        "message": "",
    }
    return CrossValidation(**{**fields, **changes})
