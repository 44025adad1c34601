"""What both algorithms start from: standardised data and how many components they support."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof._validation import Array, as_count
from plsdof.decomposition import decompose
from plsdof.errors import InvalidInputError, RankExhaustedWarning, warn_caller
from plsdof.filters import pls_filter
from plsdof.standardize import Standardized, standardize


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Standardised data, eigenvalues of K, and the number of components they support."""

    data: Standardized
    eigenvalues: Array
    largest: float
    size: int
    message: str


def prepare(X: Any, y: Any, max_components: int, scale: bool) -> Problem:
    """Standardise the data and find out how many components they support."""
    as_count(max_components, "max_components")
    data = standardize(X, y, scale=scale)
    spectrum = decompose(data).spectrum(data.y, data.units.n)
    # How far the data carry is decided in one place; the algorithms cannot see it themselves.
    supported = pls_filter(spectrum, max_components)
    return Problem(
        data=data,
        eigenvalues=spectrum.eigenvalues,
        largest=float(np.max(spectrum.eigenvalues, initial=0.0)) or 1.0,
        size=len(supported.dof) - 1,
        message=supported.message,
    )


def as_size(m: int, dof: Array, message: str) -> int:
    """Return ``m`` if there is a model with that many components."""
    index = as_count(m, "m")
    if index >= len(dof):
        raise InvalidInputError(f"m must be in 0..{len(dof) - 1}; got {m}. {message}".rstrip())
    return index


def report_end(size: int, asked: int, problem: Problem) -> str:
    """Return the message of the result, and warn if it is not empty."""
    if size == asked:
        return ""
    reason = problem.message
    if size < problem.size:
        reason = (
            f"component {size + 1} would be made of rounding errors in S; "
            "plsdof.pls_path goes further."
        )
    text = f"{asked} components asked for, {size} supported: {reason}"
    warn_caller(text, RankExhaustedWarning)
    return reason
