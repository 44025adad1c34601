"""Which preprocessing and scaling: one pool of recipes, for an analysis that then follows one."""

import contextlib

import numpy as np

from plsdof._core.choice import Remark
from plsdof._core.model import Model, pooled
from plsdof.analysis.data import TableProblem
from plsdof.analysis.remarks import significant

# A recipe is clearly better if its errors are smaller by so many standard errors of the difference.
_CLEARLY = 2.0


def pool_of_recipes(
    data: TableProblem, cv: object, max_components: int | None, *, average: bool
) -> Model:
    """Return the best model, or average, of all recipes of spectra or tables, by rows left out."""
    # They need scikit-learn, which takes a second to import.
    from plsdof.chemometrics.preprocessing import UndefinedRowsError
    from plsdof.estimators.recipes import as_recipe, recipe_texts

    kind = "table" if data.wavelengths is None else "spectra"
    rows, options = np.asarray(data.rows.X, dtype=np.float64), {"max_components": max_components}
    texts = recipe_texts(kind, rows.shape[1])
    paths = {}
    for text in texts:
        # A row without a signal has no snv: that recipe takes no part.
        with contextlib.suppress(UndefinedRowsError):
            paths[text] = as_recipe(text, options).fit(rows, data.y, data.rows.weights)
    return pooled(paths, average=average, cv=cv, groups=data.groups)


def steps_of(recipe: str) -> str:
    """Return the preprocessing steps of a recipe, without its scaling.

    Examples
    --------
    >>> steps_of("scale"), steps_of("snv"), is_scaled("savgol:11:2:1,scale")
    ('none', 'snv', True)
    """
    return ",".join(word for word in recipe.split(",") if word != "scale") or "none"


def is_scaled(recipe: str) -> bool:
    """Whether a recipe scales the columns."""
    return "scale" in recipe.split(",")


def better_recipe(own: Model, best: Model) -> Remark | None:
    """Say that another recipe predicts rows left out clearly better; None if none does."""
    assert best.selection is not None
    gain = own.left_out_residuals**2 - best.left_out_residuals**2
    if own.left_out.groups is not None:
        gain = own.left_out.fold_sums(gain[None])[0]
    if not gain.sum() > _CLEARLY * np.std(gain) * np.sqrt(len(gain)):
        return None
    recipe = best.selection.recipe_name
    steps = steps_of(recipe)
    how = "after scaling" if steps == "none" else f"after {steps}"
    return Remark(
        kind="better-recipe",
        text=f"Rows left out are predicted clearly better {how}: RMSECV {significant(best.rmse)} "
        f"instead of {significant(own.rmse)}.",
    )
