"""Scaling, preprocessing and size chosen, or averaged, at once: one pool of models."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from plsdof._core.choice import LEFT_OUT
from plsdof._core.fit import METHODS
from plsdof._core.inputs import Array
from plsdof._core.model import Mixture, Model, members_of
from plsdof._core.path import PLSPath
from plsdof._core.recipe import Recipe
from plsdof._core.warnings import warn_caller
from plsdof.chemometrics.preprocessing import (
    NOTHING,
    Preprocessor,
    UndefinedRowsError,
    parse_chain,
)
from plsdof.errors import InvalidInputError, RecipeWarning
from plsdof.estimators.base import ComponentRegressor, ScoresMixin

# What spectra and tables are compared in. Of 5, 8 and 14 candidates five are as good as any for an
# average, and better for one model; columns of a table differ in units, so all are scaled.
PRESETS = ("spectra", "table")
_SCALE = "scale"
# Points of the window of a derivative, fewer for short spectra, and the degree of its polynomial.
_WINDOW, _DEGREE = 11, 2


def recipe_texts(recipes: str | Sequence[Any], p: int) -> list[Any]:
    """Return the recipes of a name for p columns, or those given, as texts or Recipe.

    Examples
    --------
    >>> recipe_texts("spectra", 401)
    ['none', 'scale', 'snv', 'savgol:11:2:1', 'savgol:11:2:2']
    >>> recipe_texts("table", 12)
    ['scale', 'adaptive']
    """
    if recipes == "table":
        return [_SCALE, "adaptive"]
    if recipes == "spectra":
        window = min(_WINDOW, (p - 1) // 2 * 2 + 1)
        along = [f"savgol:{window}:{_DEGREE}:{k}" for k in (1, 2) if window > _DEGREE]
        return [NOTHING, _SCALE, *(["snv"] if p >= 3 else []), *along]
    if isinstance(recipes, str) or not isinstance(recipes, Sequence) or not len(recipes):
        raise InvalidInputError(
            "recipes must be 'spectra' (columns share a unit and follow each other), 'table', or a "
            f"list of texts such as ['none', 'scale', 'snv,savgol:15:2:1']; got {recipes!r:.80}."
        )
    return list(recipes)


def as_recipe(text: Any, options: Mapping[str, Any]) -> Recipe:
    """Return a recipe of Partial Least Squares: steps with commas between, "scale" among them.

    Examples
    --------
    >>> as_recipe("snv,scale", {"max_components": 5})
    Recipe(pls, max_components=5, scale=True)
    """
    if isinstance(text, Recipe):
        return text
    if not isinstance(text, str):
        raise InvalidInputError(f"A recipe is a text such as 'snv' or 'scale'; got {text!r:.80}.")
    words = [word.strip() for word in text.split(",")]
    steps = ",".join(word for word in words if word != _SCALE) or NOTHING
    parse_chain(steps)
    prepare = None if steps == NOTHING else partial(Preprocessor, steps)
    made = METHODS["pls"].recipe(**options, scale=_SCALE in words)
    return Recipe(method=made.method, options=made.options, prepare=prepare)


@dataclass(eq=False, repr=False)
class RecipeRegressor(ScoresMixin, ComponentRegressor[PLSPath]):
    """Partial Least Squares with scaling, preprocessing and size chosen, or averaged, at once.

    Every recipe has its own matrix of left-out residuals, of the same folds; one objective over
    the models of all recipes chooses one of them, or weights them all.

    Parameters
    ----------
    n_components : {"left-out", "average"} or int
        One model, an average of many, or the best recipe for a fixed size.
    recipes : {"spectra", "table"} or list
        "spectra": as measured, scaled, snv, first and second derivative; for columns that share a
        unit and follow each other. "table": scaled, and scaled columns weighted by their
        coefficients in a ridge regression, for columns of any units. Or a list of texts, such as
        ["none", "scale", "snv", "msc,savgol:15:2:1"] (steps as for
        `plsdof.chemometrics.Preprocessor`), or of `Recipe`.
    max_components : int, optional
        The largest model to look at, of every recipe; by default as for `PLSRegressor`.
    cv : int, splitter or iterable, optional
        Folds of the rows that are left out, as for `PLSRegressor`.

    Attributes
    ----------
    recipe_ : str
        The chosen recipe; of an average that with most weight.
    weights_ : pandas.DataFrame, or mapping
        Of an average: recipe x components -> weight; of one model a single one.
    n_components_, selection_, model_, path_
        As for `PLSRegressor`; of an average over recipes those of the recipe with most weight.
    dof_, dof_kind_
        Degrees of Freedom, and whether they are "exact" or "left-out" (where a recipe looks at y,
        as "adaptive" does).
    coef_, intercept_
        Where every recipe that is used is linear in X.

    Notes
    -----
    Cost: about that of one `PLSRegressor` per recipe. Steps that learn from rows are made again in
    every fold. What it gains, measured: docs/choice.md.

    Examples
    --------
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True)
    >>> model = RecipeRegressor("average", recipes=["none", "scale"]).fit(X, y)
    >>> model.recipe_, round(model.model_.rmse, 3)
    ('scale', 0.202)
    """

    n_components: int | Literal["left-out", "average"] = LEFT_OUT
    _: KW_ONLY
    recipes: Any = "spectra"
    max_components: int | None = None
    cv: Any = None

    _method = METHODS["pls"]
    _passed_on = ()

    def _recipes(self, p: int) -> dict[str, Recipe]:
        options = self._options()
        texts = recipe_texts(self.recipes, p)
        return {str(text): as_recipe(text, options) for text in texts}

    def _by_recipe(
        self, recipes: dict[str, Recipe], X: Any, Y: Array, weights: Array | None
    ) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for name, one in recipes.items():
            try:
                found[name] = self._paths(one, X, Y, weights)
            except UndefinedRowsError as error:
                if self.recipes not in PRESETS:
                    raise
                warn_caller(f"The recipe {name!r} is left out: {error}", RecipeWarning)
        return found

    def _publish_coef(self, models: Any) -> None:
        self.recipe_ = self._one_or_tuple([one.selection.recipe_name for one in models])
        if all(is_linear(one.path.before) for model in models for one in members_of(model)):
            coefs = [linear_in_x(model, self.n_features_in_) for model in models]
            self.coef_ = self._one_or_array([coef for coef, _ in coefs])
            self.intercept_ = self._one_or_array([intercept for _, intercept in coefs])

    def predict(self, X: Any) -> Array:
        """Predict with the chosen model. Shape (n_new,), or (n_new, q) if y had columns."""
        rows = self.path_rows(X)
        columns = [one.predict(rows) for one in self.models_]
        return np.asarray(columns[0] if self._one_response else np.column_stack(columns))

    @property
    def weights_(self) -> Any:
        """Weights of all models: recipe x components."""
        from plsdof._core.display import data_frame

        selection = self.model_.selection
        assert selection is not None
        weights = selection.weights
        if weights is None:
            weights = {self.recipe_: np.eye(selection.index + 1)[-1]}
        width = max(map(len, weights.values()))
        padded = {name: np.pad(w, (0, width - len(w))) for name, w in weights.items()}
        try:
            return data_frame(padded).T.rename_axis(index="recipe", columns="n_components")
        except ImportError:
            return padded

    @property
    def dof_kind_(self) -> str:
        """Whether Degrees of Freedom are "exact" or, where a recipe looks at y, "left-out"."""
        looks = any(one.path.looks_at_y for one in members_of(self.model_))
        return "left-out" if looks else "exact"


def is_linear(before: Any) -> bool:
    """Whether prepared rows are linear in X: none of the steps divides rows by what they are."""
    return before is None or before.is_linear


def linear_in_x(model: Model, p: int) -> tuple[Array, float]:
    """Return coefficients of the columns as they came, and the intercept."""
    coef, intercept = np.zeros(p), 0.0
    shares = model.shares if isinstance(model, Mixture) else np.ones(1)
    for share, one in zip(shares, members_of(model), strict=True):
        own, level, before = np.array(one.coef), one.intercept, one.path.before
        if before is not None:
            origin = np.asarray(before.transform(np.zeros((1, p))))[0]
            level += float(origin @ own)
            own = (np.asarray(before.transform(np.eye(p))) - origin) @ own
        coef, intercept = coef + share * own, intercept + share * level
    return coef, float(intercept)
