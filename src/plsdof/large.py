"""The door for data that are sparse, implicit, on disk or on a cluster."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from plsdof._validation import as_generator, as_positive
from plsdof.block_gram import block_gram
from plsdof.block_sources import open_blocks
from plsdof.errors import InvalidInputError, MissingExtraError, NotAvailableError
from plsdof.gram import FORMED, Gram
from plsdof.moments import Moments
from plsdof.operators import operator_gram
from plsdof.sampled_trace import Sampling


def large_gram(
    X: Any,
    y: Any,
    *,
    scale: bool = True,
    sample_weight: Any = None,
    progress: bool = False,
    limit: int = FORMED,
) -> Gram | None:
    """Return the Gram matrix of data that are not to be put into one dense array, else None.

    Parameters
    ----------
    X : scipy sparse matrix or LinearOperator, dask collection, np.memmap or zarr array
        Anything else is left to `standardize`.
    limit : int
        Order up to which the matrix is formed; beyond, it is only multiplied with.
    """
    if scipy.sparse.issparse(X) or isinstance(X, scipy.sparse.linalg.LinearOperator):
        return operator_gram(X, y, scale=scale, sample_weight=sample_weight, limit=limit)
    blocks = open_blocks(X, y, sample_weight, progress=progress)
    return None if blocks is None else block_gram(blocks, scale=scale, limit=limit)


def source_gram(source: Any, *, scale: bool = True, limit: int = FORMED) -> Gram:
    """Return the Gram matrix of data that hold their own response.

    A Gram has been scaled, or not, when it was made.
    """
    if isinstance(source, Gram):
        divisors = source.units.x_scale
        if not scale and np.any((divisors != 1.0) & np.isfinite(divisors)):
            raise InvalidInputError(
                "scale=False comes too late for a Gram of scaled columns; give it to the function "
                "that makes the Gram, such as block_gram or operator_gram."
            )
        return source
    if isinstance(source, Moments):
        return source.gram(scale)
    if hasattr(source, "reduce") and hasattr(source, "n_columns"):
        return block_gram(source, scale=scale, limit=limit)
    raise InvalidInputError(
        "The source must be Moments, Blocks (see file_blocks) or a Gram; got "
        f"{type(source).__name__}. "
        "For a table X and a response y use the function without '_from' in its name."
    )


def refuse_svd(solver: str) -> None:
    """Say that a singular value decomposition is out of reach."""
    if solver == "svd":
        raise NotAvailableError(
            "solver='svd' needs X as one dense array in memory; use solver='auto' for sparse and "
            "large data, or pass np.asarray(X)."
        )


@contextmanager
def sampling_of(
    gram: Gram,
    max_components: int | None,
    tolerance: float,
    random_state: Any,
    progress: bool,
) -> Iterator[Sampling | None]:
    """Provide how traces of ``gram`` are sampled, None if that is not necessary."""
    if gram.matrix is not None:
        yield None
        return
    if max_components is None:
        raise InvalidInputError(
            f"X has {gram.units.n_rows} rows and {len(gram.units.x_mean)} columns, too many for "
            "all components; say how many are wanted at most, for example max_components=10."
        )
    seed = int(as_generator(random_state).integers(2**63))
    share = float(as_positive(tolerance, "tolerance")[0])
    with _probe_bar(progress) as told:
        yield Sampling(n_components=max_components, tolerance=share, seed=seed, progress=told)


@contextmanager
def _probe_bar(progress: bool) -> Iterator[Callable[[int, int], object] | None]:
    if not progress:
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError as error:
        raise MissingExtraError("rich", "cli", "A progress bar") from error
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Random probes")
        yield lambda done, planned: bar.update(task, completed=done, total=planned)
