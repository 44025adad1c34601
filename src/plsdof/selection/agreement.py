"""What a cross-validation says about a choice that was made without it."""

import numpy as np

from plsdof._core.criteria import Selection
from plsdof._core.inputs import require_type
from plsdof._core.path import Path
from plsdof.selection.cross_validation import CrossValidation

# A noise level below this share of the cross-validated error is far below it.
FAR_BELOW = 0.5
# A choice whose squared error is this many times the smallest one is a bad one.
BADLY = 1.25
# What a choice by cross-validation over groups cannot repair.
GROUPS_REMARK = (
    "Rows of one group are not independent, which noise level and intervals do not know: take them "
    "as lower limits, or fit group means."
)

# Of fewer Degrees of Freedom than those of the mean.
FEWEST_DOF = 1.0 - 1e-9
UNSTABLE_REMARK = (
    "Fewer than 1 Degree of Freedom means that small changes of the response would change the "
    "components: the noise level is not reliable here."
)


def agreement(path: Path, selection: Selection, cv: CrossValidation) -> tuple[str, ...]:
    """Compare a choice with a cross-validation; one plain sentence about each contradiction.

    Parameters
    ----------
    path : Path
    selection : Selection
        A choice on the path.
    cv : CrossValidation
        Of the same method on the same rows.

    Returns
    -------
    tuple of str
        Empty if they agree: the noise level is at least half of the cross-validated error, and
        that error is at most 1.25 times the smallest one (squared), or within a standard error.

    Examples
    --------
    >>> from plsdof import cross_validate, pls_path
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True)
    >>> path, cv = pls_path(X, y, 15), cross_validate(X, y, max_components=15)
    >>> agreement(path, path.select(), cv)
    ()
    >>> from dataclasses import replace
    >>> agreement(path, replace(path.select(), index=2), cv)
    ('Cross-validation disagrees: its error is 0.7646 here and 0.2097 with 7 components.',)
    """
    require_type(path, Path, "path", "pls_path")
    require_type(selection, Selection, "selection", "path.select()")
    require_type(cv, CrossValidation, "cv", "cross_validate")
    index = selection.index
    if index >= len(cv.parameters) or np.isnan(cv.mean_error[index]):
        return ()
    said, error = [], cv.mean_error
    best = int(np.nanargmin(error))
    limit = max(BADLY * error[best], error[best] + np.nan_to_num(cv.std_error[best]))
    if error[index] > limit:
        said.append(
            f"Cross-validation disagrees: its error is {cv.rmse[index]:.4g} here and "
            f"{cv.rmse[best]:.4g} with {path.label(best)}."
        )
    noise = float(np.sqrt(path.noise_at(index)))
    if noise < FAR_BELOW * cv.rmse[index]:
        said.append(
            f"The noise level {noise:.4g} is far below the cross-validated error "
            f"{cv.rmse[index]:.4g}: the model fits rows it has seen much better than others, and "
            "intervals are too short."
        )
    return tuple(said)
