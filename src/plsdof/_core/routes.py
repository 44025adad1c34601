"""From data to the closed form: by a Gram matrix where it has enough digits, else by X itself.

Few components of Partial Least Squares take a Krylov space and eigenvalues without vectors; all
components, other methods and derivatives take a decomposition with vectors. There are two kinds of
data: rows in memory (`count_rows`), and those that were read into a Gram matrix (`count_gram`).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np

from plsdof._core.compression import (
    Eigenvalues,
    bidiagonalize,
    compress_gram,
    compress_rows,
    eigenvalues_of,
    krylov_steps,
    peeled_values,
    reaches_all,
    singular_values,
)
from plsdof._core.exact import Exact
from plsdof._core.filters import Filter
from plsdof._core.moments import gram_in_blocks
from plsdof._core.recipe import Recipe
from plsdof._core.spectrum import (
    Gram,
    Spectrum,
    decompose,
    decompose_gram,
    dense_gram,
    spectrum_on_gram,
)
from plsdof._core.standardize import Observations, Standardized, standardize_observations
from plsdof._core.threads import threads_for

MakeFilter = Callable[[Spectrum], Filter]

# solver="auto" keeps the Gram route if the estimated errors, relative to Degrees of Freedom and
# residual sums of squares, are within these: more than five digits are not used of a Degree of
# Freedom, and estimates exceed errors by factors of 3 to 10^3. Coefficients come from the rows.
_DOF_ERROR, _RSS_ERROR = 1e-5, 1e-4
# Derivatives have the digits of coefficients, whose error is to be below this.
COEF_ERROR = 1e-5
# Residual sums of squares below this share of |y|^2 count as nothing in that.
_NEGLIGIBLE_RSS = 1e-10


def count_rows(given: Observations, recipe: Recipe, *, method: MakeFilter, krylov: bool) -> Exact:
    """Count rows in memory; with ``krylov``, few components take no singular vectors."""
    solver, scale = recipe.options["solver"], recipe.options["scale"]
    asked = recipe.options.get("max_components")
    data = cache(partial(standardize_observations, given, scale=scale))
    with threads_for(given.X.shape):
        if solver == "svd":
            return by_svd(data(), method)
        gram = gram_in_blocks(given, scale=scale) or dense_gram(data())
        steps = _few_steps(gram.order, asked) if krylov else None
        if steps is None:
            exact = by_gram(gram, method)
            if solver == "gram" or is_accurate(exact, asked, derivatives=True):
                return exact
            return by_svd(data(), method)
        if solver == "gram":
            return by_krylov_of_gram(gram, method, steps)
        vectors = partial(count_rows, given, recipe, method=method, krylov=False)
        eigenvalues = eigenvalues_of(gram)
        if reaches_all(gram, eigenvalues):
            exact = by_krylov_of_gram(gram, method, steps, eigenvalues)
            if is_accurate(exact, asked):
                return replace(exact, full=vectors)
        return by_values(data(), method, steps, asked, eigenvalues, vectors)


def count_gram(
    given: Observations | None,  # noqa: ARG001 (the rows, where they can be reached)
    recipe: Recipe,
    *,
    gram: Gram,
    method: MakeFilter,
    krylov: bool,
) -> Exact:
    """Count data that were read into a Gram matrix."""
    asked = recipe.options.get("max_components")
    vectors = partial(_vectors_of, gram, method, asked)
    if not krylov or (steps := _few_steps(gram.order, asked)) is None:
        return vectors()
    exact = by_krylov_of_gram(gram, method, steps)
    if gram.refine is None:
        return exact
    if is_accurate(exact, asked) or (data := gram.refine()) is None:
        return replace(exact, full=vectors)
    return _with_rows_of(gram, by_values(data, method, steps, asked, None, vectors))


def _vectors_of(gram: Gram, method: MakeFilter, asked: int | None) -> Exact:
    exact = by_gram(gram, method)
    if gram.refine is None or is_accurate(exact, asked, derivatives=True):
        return exact
    data = gram.refine()
    return exact if data is None else _with_rows_of(gram, by_svd(data, method))


def by_gram(gram: Gram, method: MakeFilter) -> Exact:
    """Fit with all eigenvectors of a formed Gram matrix."""
    decomposition = decompose_gram(gram)
    spectrum = spectrum_on_gram(gram, decomposition)
    return Exact.assemble(gram.units, decomposition, spectrum, method)


def by_krylov_of_gram(
    gram: Gram, method: MakeFilter, steps: int, eigenvalues: Eigenvalues | None = None
) -> Exact:
    """Fit in a Krylov space of a formed Gram matrix, with its eigenvalues."""
    eigenvalues = eigenvalues or eigenvalues_of(gram)
    if not reaches_all(gram, eigenvalues):
        return by_gram(gram, method)
    compressed = compress_gram(gram, eigenvalues, steps)
    return Exact.assemble(gram.units, *compressed, method, full=partial(by_gram, gram, method))


def by_values(
    data: Standardized,
    method: MakeFilter,
    steps: int,
    asked: int | None,
    rough: Eigenvalues | None,
    vectors: Callable[[], Exact],
) -> Exact:
    """Fit in a Krylov space of the rows, with singular values but without singular vectors.

    ``rough`` are eigenvalues of a Gram matrix, which are often enough for a trace. If not, those of
    what the space leaves of X may be.
    """
    space = bidiagonalize(data.X, data.y, steps)
    for values in (rough, partial(peeled_values, data, space), partial(singular_values, data)):
        eigenvalues = values() if callable(values) else values
        if eigenvalues is None:
            continue
        compressed = compress_rows(data, space, eigenvalues)
        exact = Exact.assemble(data.units, *compressed, method, full=vectors)
        if is_accurate(exact, asked):
            break
    return exact


def by_svd(data: Standardized, method: MakeFilter) -> Exact:
    """Fit with the singular value decomposition, which has all digits."""
    return Exact.build(data, decompose(data), method)


def _few_steps(order: int, asked: int | None) -> int | None:
    """Return how many steps a Krylov space takes; None if they are not few."""
    if asked is None or 2 * krylov_steps(asked) > order:
        return None
    return krylov_steps(asked)


def _with_rows_of(gram: Gram, exact: Exact) -> Exact:
    """Reach the rows of the data, in the place of those of their factor."""
    basis = exact.decomposition.feature_basis
    reached = replace(exact.decomposition, left=None, right=basis, X=gram.X)
    return replace(exact, decomposition=reached)


def is_accurate(exact: Exact, asked: int | None, *, derivatives: bool = False) -> bool:
    """Whether the a-posteriori check supports what was made with less than full accuracy.

    With ``derivatives``, in all digits that Jacobians and covariances need.
    """
    everything = exact.spectrum.unresolved == 0
    complete = everything or (asked is not None and len(exact.dof) > asked)
    # No component lies beyond the largest rank there can be.
    ended = bool(exact.filter.message) and not (
        everything and len(exact.dof) - 1 == exact.spectrum.rank
    )
    # A model that interpolates leaves rounding; its digits are not worth a decomposition.
    rss = np.maximum(exact.rss, _NEGLIGIBLE_RSS * exact.spectrum.total)
    return bool(
        complete
        and not ended
        and not np.any(exact.filter.dof_error > _DOF_ERROR * np.maximum(1.0, np.abs(exact.dof)))
        and np.all(exact.filter.rss_error <= _RSS_ERROR * rss)
        and not (derivatives and np.any(exact.coef_error > COEF_ERROR))
    )
