"""Several recipes at once: scaling, preprocessing and size in one pool, or an average of pools."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from plsdof._core.fit import METHODS
from plsdof._core.objective import Pools
from plsdof._core.path import Path
from plsdof._core.recipe import Recipe
from plsdof._core.warnings import warn_caller
from plsdof.chemometrics.preprocessing import (
    NOTHING,
    Chain,
    UndefinedRowsError,
    parse_chain,
)
from plsdof.errors import InvalidInputError, RecipeWarning
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
    prepare = None if steps == NOTHING else partial(Chain, steps)
    if kernel:
        made = KERNEL_PLS.recipe(**options, kernel=kernel, gamma="median", scale=_SCALE in words)
    else:
        made = METHODS["pls"].recipe(**options, scale=_SCALE in words)
    return Recipe(method=made.method, options=made.options, prepare=prepare)


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
