"""Several recipes at once: scaling, preprocessing and size in one pool, or an average of pools."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from plsdof._core.axes import decided, kind_of_columns
from plsdof._core.choice import LEFT_OUT
from plsdof._core.fit import METHODS
from plsdof._core.inputs import Array
from plsdof._core.model import Mixture, Model, members_of, pooled
from plsdof._core.objective import Pools
from plsdof._core.path import Path
from plsdof._core.paths import PLSPath
from plsdof._core.recipe import Recipe
from plsdof._core.remarks import Remark
from plsdof._core.warnings import warn_caller
from plsdof.chemometrics.preprocessing import (
    NOTHING,
    Preprocessor,
    UndefinedRowsError,
    parse_chain,
)
from plsdof.errors import InvalidInputError, NotAvailableError, RecipeWarning
from plsdof.estimators.base import ComponentRegressor, ScoresMixin
from plsdof.inference.covariance import Covariance
from plsdof.inference.intervals import CoefficientInference
from plsdof.variants.kernel import KERNEL_PLS

# Families of recipes, and what presets make of them
# ---------------------------------------------------

_SCALE = "scale"
# Points of the window of a derivative, fewer for short spectra, and the degree of its polynomial.
_SAVGOL, _DEGREE = 11, 2
# Eight half-overlapping ranges of the wavelength axis, with as many components as a ninth part of a
# spectrum may need.
_WINDOWS, _IN_WINDOW = 8, 12
# Kernel PLS with a kernel of one width, and components enough for it. Spectra are smooth and want
# Gaussian kernels; on 89 tables a Laplacian one had .94 of the squared error of a Gaussian one.
_KERNELS, _IN_KERNEL = {"kernel": "rbf", "laplacian": "laplacian"}, 20


def five(p: int) -> list[str]:
    """Return what spectra are compared in: of 5, 8 and 14 candidates five are as good as any.

    Examples
    --------
    >>> five(401)
    ['none', 'scale', 'snv', 'savgol:11:2:1', 'savgol:11:2:2']
    """
    window = min(_SAVGOL, (p - 1) // 2 * 2 + 1)
    along = [f"savgol:{window}:{_DEGREE}:{k}" for k in (1, 2) if window > _DEGREE]
    return [NOTHING, _SCALE, *(["snv"] if p >= 3 else []), *along]


def windows(p: int, *, before: str = "") -> list[str]:
    """Return windows of p columns, as half-overlapping recipes; none if they were too narrow.

    Examples
    --------
    >>> windows(401, before="snv,")[:2]
    ['snv,columns:0:89', 'snv,columns:45:134']
    """
    length = 2 * p // (_WINDOWS + 1)
    starts = [round(i * (p - length) / (_WINDOWS - 1)) for i in range(_WINDOWS)]
    return [f"{before}columns:{a}:{a + length}" for a in starts] if length >= 3 else []


Family = Callable[[int], list[str]]


def kernels(p: int) -> list[str]:
    """Return kernel PLS of what spectra share least with straight lines.

    Examples
    --------
    >>> kernels(401)
    ['snv,kernel', 'savgol:11:2:1,kernel']
    """
    return [f"{text},kernel" for text in five(p)[2:4]]


def _scaled(_: int) -> list[str]:
    """Columns of a table differ in units, so all are scaled."""
    return [_SCALE, "adaptive"]


def _scaled_kernel(_: int) -> list[str]:
    return [f"{_SCALE},laplacian"]


# Nested pools: the first one chooses a single model; an average is the mean of those of all.
_SPECTRA: tuple[tuple[Family, ...], ...] = (
    (five,),
    (five, windows),
    (five, partial(windows, before="snv,")),
)
PRESETS: Mapping[str, tuple[tuple[Family, ...], ...]] = {
    "spectra": _SPECTRA,
    "spectra+kernel": (*_SPECTRA, (five, kernels)),
    "table": ((_scaled,),),
    "table+kernel": ((_scaled, _scaled_kernel),),
}


def recipe_texts(recipes: Any, p: int, *, average: bool = False) -> tuple[list[Any], Pools]:
    """Return recipes for p columns as texts or `Recipe`, and which of them are a pool together.

    Parameters
    ----------
    recipes : str or sequence
        One of `PRESETS`, or the recipes themselves.
    p : int
    average : bool
        Whether they are averaged: a single model is chosen from the first pool.

    Examples
    --------
    >>> recipe_texts("table", 12)
    (['scale', 'adaptive'], [[0, 1]])
    >>> texts, pools = recipe_texts("spectra", 401, average=True)
    >>> len(texts), [len(pool) for pool in pools]
    (21, [5, 13, 13])
    """
    if isinstance(recipes, str) and recipes in PRESETS:
        nested = PRESETS[recipes] if average else PRESETS[recipes][:1]
        named = [[text for family in pool for text in family(p)] for pool in nested]
        texts = list(dict.fromkeys(text for pool in named for text in pool))
        pools = {tuple(map(texts.index, pool)): None for pool in named}
        return texts, list(map(list, pools))
    if isinstance(recipes, str) or not isinstance(recipes, Sequence) or not len(recipes):
        raise InvalidInputError(
            "recipes must be 'spectra' (columns share a unit and follow each other), 'table', one "
            "of these with '+kernel', or a list of texts such as ['none', 'scale', "
            f"'snv,savgol:15:2:1']; got {recipes!r:.80}."
        )
    different = list({str(one): one for one in recipes}.values())
    return different, [list(range(len(different)))]


def as_recipe(text: Any, options: Mapping[str, Any]) -> Recipe:
    """Return a recipe of Partial Least Squares: steps with commas between, "scale" among them.

    With "kernel" or "laplacian" at the end it is kernel PLS, with a Gaussian kernel or the
    Laplacian one, of one width. Windows (``columns``) have at most 12 components, kernels 20.

    Examples
    --------
    >>> as_recipe("snv,scale", {"max_components": 5})
    Recipe(pls, max_components=5, scale=True)
    >>> as_recipe("snv,kernel", {"max_components": None}).gamma
    'median'
    """
    if isinstance(text, Recipe):
        return text
    if not isinstance(text, str):
        raise InvalidInputError(f"A recipe is a text such as 'snv' or 'scale'; got {text!r:.80}.")
    words = [word.strip() for word in text.split(",")]
    kernel = next((_KERNELS[word] for word in words if word in _KERNELS), None)
    steps = ",".join(word for word in words if word not in (_SCALE, *_KERNELS)) or NOTHING
    in_window = any(name == "columns" for name, _ in parse_chain(steps))
    if in_window or kernel:
        most = _IN_WINDOW if in_window else _IN_KERNEL
        options = {**options, "max_components": min(options.get("max_components") or most, most)}
    prepare = None if steps == NOTHING else partial(Preprocessor, steps)
    if kernel:
        made = KERNEL_PLS.recipe(**options, kernel=kernel, gamma="median", scale=_SCALE in words)
    else:
        made = METHODS["pls"].recipe(**options, scale=_SCALE in words)
    return Recipe(method=made.method, options=made.options, prepare=prepare)


_NO_COEFFICIENTS = (
    "A recipe of this model is not linear in the columns (snv, msc, baseline, kernel), so there "
    "are no coefficients of columns and no tests of them; see model_.members of an average."
)


def fit_recipes(
    recipes: Mapping[str, Recipe], *rows: Any, pools: Pools, skip: bool
) -> tuple[dict[str, Path], Pools]:
    """Fit recipes to the same rows, which they share, with the steps that they begin with.

    Returns paths, and pools as positions among these. With ``skip`` a recipe that is not defined
    for some row, such as snv of one without a signal, takes no part.
    """
    found: dict[str, Path] = {}
    made: dict[str, Any] = {}
    for name, one in recipes.items():
        try:
            found[name] = one.fit(*rows, made=made)
        except UndefinedRowsError as error:
            if not skip:
                raise
            warn_caller(f"The recipe {name!r} is left out: {error}", RecipeWarning)
    names, place = list(recipes), {name: i for i, name in enumerate(found)}
    return found, [[place[names[i]] for i in pool if names[i] in place] for pool in pools]


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
