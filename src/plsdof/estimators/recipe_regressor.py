"""The regressor that chooses a recipe, or averages several."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from plsdof._core.axes import decided, kind_of_columns
from plsdof._core.choice import LEFT_OUT
from plsdof._core.fit import METHODS
from plsdof._core.inputs import Array
from plsdof._core.model import Mixture, Model, members_of, pooled
from plsdof._core.path import Path
from plsdof._core.paths import PLSPath
from plsdof._core.recipe import Recipe
from plsdof._core.remarks import Remark
from plsdof.errors import NotAvailableError
from plsdof.estimators.base import ComponentRegressor, ScoresMixin
from plsdof.estimators.recipes import as_recipe, fit_recipes, recipe_texts
from plsdof.inference.covariance import Covariance
from plsdof.inference.intervals import CoefficientInference

_NO_COEFFICIENTS = (
    "A recipe of this model is not linear in the columns (snv, msc, baseline, kernel), so there "
    "are no coefficients of columns and no tests of them; see model_.members of an average."
)


@dataclass(eq=False, repr=False)
class RecipeRegressor(ScoresMixin, ComponentRegressor[PLSPath]):
    """Partial Least Squares with scaling, preprocessing and size chosen, or averaged, at once.

    Every recipe has its own matrix of cross-validated residuals, of the same folds; one objective
    over the models of all recipes chooses one of them, or weights them all.

    Parameters
    ----------
    n_components : {"left-out", "average"} or int
        One model, an average of many, or the best recipe for a fixed size.
    recipes : {"spectra", "table", "spectra+kernel", "table+kernel"} or list, optional
        "spectra": as measured, scaled, snv, first and second derivative; for columns that share a
        unit and follow each other. An average is the mean of three: of these, of these and eight
        windows of the wavelength axis, of these and eight windows after snv. "table": scaled, and
        scaled columns weighted by their coefficients in a ridge regression, for columns of any
        units. "+kernel": kernel PLS takes part, of spectra with a Gaussian kernel and in averages
        only, of tables with a Laplacian one; it has no coefficients of the columns. Or a list of
        texts, such as ["none", "scale", "snv", "msc,savgol:15:2:1", "snv,kernel"] (steps as for
        `plsdof.chemometrics.Preprocessor`), or of `Recipe`. By default "spectra" where all names of
        columns are numbers that rise or fall (wavelengths), else "table".
    max_components : int, optional
        The largest model to look at, of every recipe; by default as for `PLSRegressor`.
    cv : int, splitter or iterable, optional
        Folds of held-out rows, as for `PLSRegressor`.

    Attributes
    ----------
    recipes_ : str or list
        What was compared: `recipes`, or what the columns decided.
    recipe_ : str
        The chosen recipe; of an average that with most weight, windows aside.
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
    Cost: about that of one `PLSRegressor` per recipe, twice that of an average with windows. Steps
    that learn from rows are made again in every fold. What it gains, measured: docs/choice.md.

    Examples
    --------
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True)
    >>> model = RecipeRegressor("average", recipes=["none", "scale"]).fit(X, y)
    >>> model.recipe_, round(model.model_.rmse, 3)
    ('scale', 0.23)
    """

    n_components: int | Literal["left-out", "average"] = LEFT_OUT
    _: KW_ONLY
    recipes: Any = None
    max_components: int | None = None
    cv: Any = None

    _method = METHODS["pls"]
    _passed_on = ()

    def _recipes(self) -> dict[str, Recipe]:
        options, average = self._options(), self.n_components == "average"
        self.recipes_ = self.recipes
        if self.recipes is None:
            self.recipes_ = kind_of_columns(list(getattr(self, "feature_names_in_", ())))
        texts, self._pools = recipe_texts(self.recipes_, self.n_features_in_, average=average)
        return {str(text): as_recipe(text, options) for text in texts}

    def _by_recipe(self, X: Any, y: Any, weights: Any) -> dict[str, Path]:
        recipes, rows = self._recipes(), self._observed(X, y, weights)
        is_preset = isinstance(self.recipes_, str)
        found, self._pools = fit_recipes(recipes, *rows, pools=self._pools, skip=is_preset)
        return found

    def _chosen_of(self, paths: dict[str, Path], *data: Any) -> Model:
        if self.n_components != "average":
            return self._pooled(paths, data[-1])  # also of one recipe: it has a name
        return pooled(paths, average=True, cv=self._cv, groups=data[-1], pools=self._pools)

    def _publish_coef(self, model: Any) -> None:
        self.__dict__.pop("coef_", None)
        self.recipe_ = model.selection.recipe_name
        paths = [one.path for one in members_of(model)]
        if all(
            not path.rows.is_dual and (path.rows.before is None or path.rows.before.is_linear)
            for path in paths
        ):
            self.coef_, self.intercept_ = linear_in_x(model, self.n_features_in_)

    def _inference(self, level: float, covariance: Covariance) -> CoefficientInference:
        if any(one.path.rows.is_dual for one in members_of(self._fitted().model_)):
            raise NotAvailableError(_NO_COEFFICIENTS)
        return super()._inference(level, covariance)

    def __getattr__(self, name: str) -> Any:
        """Say why there are no coefficients."""
        if name in ("coef_", "intercept_") and "recipe_" in vars(self):
            raise AttributeError(_NO_COEFFICIENTS)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def remarks_(self) -> tuple[Remark, ...]:
        """What is worth knowing, as for `PLSRegressor`; and what the columns decided."""
        found = super().remarks_
        if self.recipes is not None:
            return found
        return (decided(self.recipes_, recipes="{}"), *found)

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
        looks = any(one.path.rows.looks_at_y for one in members_of(self.model_))
        return "left-out" if looks else "exact"


def linear_in_x(model: Model, p: int) -> tuple[Array, float]:
    """Return coefficients of the columns as they came, and the intercept."""
    coef, intercept = np.zeros(p), 0.0
    shares = model.shares if isinstance(model, Mixture) else np.ones(1)
    for share, one in zip(shares, members_of(model), strict=True):
        own, level, before = np.array(one.coef), one.intercept, one.path.rows.before
        if before is not None:
            origin = np.asarray(before.transform(np.zeros((1, p))))[0]
            level += float(origin @ own)
            own = (np.asarray(before.transform(np.eye(p))) - origin) @ own
        coef, intercept = coef + share * own, intercept + share * level
    return coef, float(intercept)
