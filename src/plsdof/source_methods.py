"""PLS, PCR and ridge for data that hold their own response: moments, and tables in blocks."""

from functools import partial
from typing import Any

from plsdof.blocks import Blocks
from plsdof.filters import pls_filter, ridge_filter
from plsdof.gram import Gram
from plsdof.large import sampling_of, source_gram
from plsdof.methods import as_penalties, optional_count, pcr_method, report_end
from plsdof.moments import Moments
from plsdof.path_types import PCRPath, PLSPath, RidgePath
from plsdof.routes import gram_route, whole_gram_route


def pls_path_from(
    source: Moments | Blocks | Gram,
    max_components: int | None = None,
    *,
    scale: bool = True,
    strict: bool = False,
    tolerance: float = 0.01,
    random_state: Any = 0,
    progress: bool = False,
) -> PLSPath:
    """Fit Partial Least Squares to data that hold their own response.

    Parameters
    ----------
    source : Moments, Blocks or Gram
        Moments that were collected piece by piece, or a table in blocks, as `file_blocks` makes
        of files; or their Gram matrix, which has its scaling already.
    max_components, scale, strict, tolerance, random_state, progress
        As for `pls_path`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> moments = Moments.empty()
    >>> for day in range(5):
    ...     X = rng.normal(size=(30, 4))
    ...     y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=30)
    ...     moments = moments.partial_fit(X, y)
    >>> pls_path_from(moments, 3).select("bic").n_components
    3
    """
    method = partial(pls_filter, max_components=optional_count(max_components))
    gram = source_gram(source, scale=scale)
    with sampling_of(gram, max_components, tolerance, random_state, progress) as sampling:
        path = gram_route(PLSPath, gram, method, max_components, sampling)
    report_end(path, strict, max_components)
    return path


def pcr_path_from(
    source: Moments | Blocks | Gram,
    max_components: int | None = None,
    *,
    order: str = "variance",
    scale: bool = True,
    strict: bool = False,
) -> PCRPath:
    """Fit principal components regression to data that hold their own response.

    Parameters
    ----------
    source : Moments, Blocks or Gram
        As for `pls_path_from`, with at most 5,000 rows or columns.
    max_components, order, scale, strict
        As for `pcr_path`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> moments = Moments.of(X, X @ [1.0, 2.0, 0.0, -1.0])
    >>> pcr_path_from(moments).dof
    array([1., 2., 3., 4., 5.])
    """
    method = pcr_method(order, max_components)
    path = whole_gram_route(PCRPath, source_gram(source, scale=scale), method)
    report_end(path, strict, max_components)
    return path


def ridge_path_from(
    source: Moments | Blocks | Gram, alphas: Any = None, *, scale: bool = True
) -> RidgePath:
    """Fit ridge regression to data that hold their own response.

    Parameters
    ----------
    source : Moments, Blocks or Gram
        As for `pls_path_from`, with at most 5,000 rows or columns.
    alphas, scale
        As for `ridge_path`.

    Examples
    --------
    >>> moments = Moments.of([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])
    >>> ridge_path_from(moments, alphas=[2.0, 1e-9]).dof.round(6)
    array([1.5, 2. ])
    """
    gram = source_gram(source, scale=scale)
    penalties = as_penalties(alphas, gram.units.n)
    method = partial(ridge_filter, alphas=penalties)
    return whole_gram_route(RidgePath, gram, method, alphas=penalties)
