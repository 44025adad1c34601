"""From data to the closed form: the Gram matrix where it has enough digits, else the SVD.

There are two ways to count, `by_gram` and `by_svd`, and two kinds of data: rows in memory
(`count_rows`), and those that were read into a Gram matrix (`count_gram`).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from plsdof._core.compression import Count, compress_gram, krylov_steps
from plsdof._core.exact import Exact
from plsdof._core.filters import Filter
from plsdof._core.moments import tall_gram
from plsdof._core.parallel import progress_bar
from plsdof._core.recipe import Recipe
from plsdof._core.spectrum import (
    FORMED,
    Gram,
    Spectrum,
    decompose,
    decompose_gram,
    dense_gram,
    spectrum_on_gram,
)
from plsdof._core.standardize import Observations, Standardized, standardize_observations
from plsdof._core.threads import threads_for
from plsdof.errors import NotAvailableError

MakeFilter = Callable[[Spectrum], Filter]

# solver="auto" keeps the Gram route if the estimated errors, relative to Degrees of Freedom,
# coefficients and residual sums of squares, are within these: nobody uses more than five digits of
# a Degree of Freedom, and estimates exceed errors by factors of 3 to 10^3.
_DOF_ERROR, _COEF_ERROR, _RSS_ERROR = 1e-5, 1e-5, 1e-4
# Residual sums of squares below this share of |y|^2 count as nothing in that.
_NEGLIGIBLE_RSS = 1e-10


def count_rows(given: Observations, recipe: Recipe, *, method: MakeFilter, krylov: bool) -> Exact:
    """Count rows in memory; with ``krylov``, few components take no singular vectors."""
    solver, scale = recipe.options["solver"], recipe.options["scale"]
    size = recipe.options.get("max_components")
    data = cache(partial(standardize_observations, given, scale=scale))
    with threads_for(given.X.shape):
        if solver != "svd":
            gram = tall_gram(given, scale=scale) or dense_gram(data())
            exact = by_gram(gram, method, size if krylov else None)
            if solver == "gram" or is_accurate(exact, size):
                return exact
        return by_svd(data(), method)


def count_gram(
    given: Observations | None,  # noqa: ARG001 (the rows, where they can be reached)
    recipe: Recipe,
    *,
    gram: Gram,
    method: MakeFilter,
    krylov: bool,
    progress: bool = False,
    **sampling: Any,
) -> Exact:
    """Count data that were read into a Gram matrix, formed or not.

    ``sampling`` says how traces are estimated where eigenvalues are too many to compute.
    """
    size, count = recipe.options.get("max_components"), None
    with progress_bar("Random probes", wanted=progress and gram.matrix is None) as told:
        if krylov and gram.matrix is None:
            assert gram.count is not None
            count = partial(gram.count, n_components=size, progress=told, **sampling)
        exact = by_gram(gram, method, size if krylov else None, count)
    if gram.refine is None or is_accurate(exact, size) or (data := gram.refine()) is None:
        return exact
    exact = by_svd(data, method)
    # Reach the rows of the data, in the place of those of their factor.
    basis = exact.decomposition.feature_basis
    reached = replace(exact.decomposition, left=None, right=basis, X=gram.X)
    return replace(exact, decomposition=reached)


def by_gram(
    gram: Gram, method: MakeFilter, components: int | None, count: Count | None = None
) -> Exact:
    """Fit on a Gram matrix: in its Krylov space if ``components`` are given and few."""
    full = partial(_all_directions, gram, method)
    if components is None or (count is None and 2 * krylov_steps(components) > gram.order):
        return full()
    return Exact.assemble(gram.units, *compress_gram(gram, components, count), method, full=full)


def by_svd(data: Standardized, method: MakeFilter) -> Exact:
    """Fit with the singular value decomposition, which has all digits."""
    return Exact.build(data, decompose(data), method)


def is_accurate(exact: Exact, asked: int | None) -> bool:
    """Whether the a-posteriori check supports what was made with less than full accuracy."""
    everything = exact.spectrum.unresolved == 0
    complete = everything or (asked is not None and len(exact.dof) > asked)
    # Nobody finds a component beyond the largest rank there can be.
    ended = bool(exact.filter.message) and not (
        everything and len(exact.dof) - 1 == exact.spectrum.rank
    )
    # A model that interpolates leaves rounding; its digits are not worth a decomposition.
    rss = np.maximum(exact.rss, _NEGLIGIBLE_RSS * exact.spectrum.total)
    return bool(
        complete
        and not ended
        and not np.any(exact.filter.dof_error > _DOF_ERROR * np.maximum(1.0, np.abs(exact.dof)))
        and np.all(exact.coef_error <= _COEF_ERROR)
        and np.all(exact.filter.rss_error <= _RSS_ERROR * rss)
    )


def _all_directions(gram: Gram, method: MakeFilter) -> Exact:
    """Fit any method with all eigenvectors of a formed Gram matrix."""
    if gram.matrix is None:
        raise NotAvailableError(
            "This needs every direction of X, and X is too large for that: more than "
            f"{FORMED:,} rows and columns. What there is at this size: coefficients, predictions, "
            "Degrees of Freedom, noise level and criteria of Partial Least Squares with a given "
            "max_components."
        )
    decomposition = decompose_gram(gram)
    spectrum = spectrum_on_gram(gram, decomposition)
    return Exact.assemble(gram.units, decomposition, spectrum, method)
