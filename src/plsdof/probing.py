"""How many random probes are enough: drawing them until a tolerance is met."""

from collections.abc import Callable

import numpy as np

from plsdof._validation import Array
from plsdof.gram import Map
from plsdof.probes import MINIMUM, Probes, TraceEstimate, estimate_trace, joined, random_probes
from plsdof.quadrature import Deflation

# From nodes (B, L) to values of K functions at them, (K, B, L).
Functions = Callable[[Array], Array]

# One look plans at most this many times the probes that it is based on.
_GROWTH = 4


def enough(estimate: TraceEstimate, tolerance: float, offset: Array | float = 0.0) -> bool:
    """Return whether every standard error is at most ``tolerance * |value + offset|``.

    ``offset`` is what is added to the traces and known exactly.
    """
    allowed = tolerance * np.abs(estimate.value + offset)
    return bool(np.all(estimate.std_error <= allowed))


def probes_wanted(
    estimate: TraceEstimate,
    count: int,
    tolerance: float,
    offset: Array | float = 0.0,
    *,
    batch: int = MINIMUM,
    maximum: int = 1000,
) -> int:
    """Return with how many probes in all the tolerance should be met, at most four times as many.

    ``count`` if it is met already, or if there are ``maximum`` probes. Full batches otherwise.

    Examples
    --------
    >>> known = TraceEstimate(
    ...     value=np.array([100.0]), std_error=np.array([1.5]), degrees=np.array([99.0])
    ... )
    >>> probes_wanted(known, 8, 0.01)
    24
    """
    if enough(estimate, tolerance, offset) or count >= maximum:
        return count
    allowed = tolerance * np.abs(estimate.value + offset)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.nanmax((estimate.std_error / allowed) ** 2))
    more = count * (min(ratio, float(_GROWTH)) - 1.0)
    return min(count + batch * max(int(np.ceil(more / batch)), 1), maximum)


def probe_until(
    times: Map,
    order: int,
    steps: int,
    functions: Functions,
    *,
    seed: int,
    tolerance: float = 0.01,
    offset: Array | float = 0.0,
    batch: int = MINIMUM,
    maximum: int = 1000,
    deflation: Deflation | None = None,
    trace: float = np.nan,
    progress: Callable[[int, int], object] | None = None,
) -> Probes:
    """Draw probes until the traces of all ``functions`` are known to a relative tolerance.

    Parameters
    ----------
    times, order, steps, seed, deflation, trace
        See `random_probes`.
    functions : callable
        From nodes (B, L) to values (K, B, L).
    tolerance, offset, batch, maximum
        See `enough` and `probes_wanted`. With ``maximum`` probes it ends, met or not: the
        standard errors tell.
    progress : callable, optional
        Called with the numbers of probes done and planned after every batch.

    Examples
    --------
    >>> eigenvalues = np.linspace(0.0, 2.0, 500)
    >>> found = probe_until(
    ...     np.diag(eigenvalues).__matmul__, 500, 2, lambda nodes: nodes[None] ** 2, seed=0
    ... )
    >>> found.count
    32
    """
    probes: Probes | None = None
    done, planned = 0, max(min(max(batch, MINIMUM), maximum), 2)
    while done < planned:
        new = random_probes(
            times,
            order,
            steps,
            seed=seed,
            first=done,
            count=min(batch, planned - done),
            batch=batch,
            deflation=deflation,
            trace=trace,
        )
        probes = new if probes is None else joined(probes, new)
        done = probes.count
        if progress is not None:
            progress(done, planned)
        if done == planned:
            found = estimate_trace(probes, functions(probes.nodes))
            planned = probes_wanted(found, done, tolerance, offset, batch=batch, maximum=maximum)
    assert probes is not None
    return probes
