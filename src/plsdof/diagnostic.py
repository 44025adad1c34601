"""One number per row or variable and the limit that flags it: what all diagnostics share."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._validation import Array, read_only
from plsdof.errors import InvalidInputError
from plsdof.path_types import PLSPath
from plsdof.readable import one_line

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, repr=False)
class Diagnostic:
    """One number per row (or variable), with the limit above which it is flagged.

    Attributes
    ----------
    name : str
    values : (k,) array
    limit : float
        nan where no limit is defined; ``message`` says why, and nothing is flagged.
    flags : (k,) bool array
        Whether the value (for studentised residuals its size) is above the limit.
    level : float or None
        Probability of staying below the limit, None for a rule of thumb.
    method : str
        How the limit was made.
    message : str
        Why something is undefined, or what to be careful about; empty if nothing is.

    Examples
    --------
    >>> from plsdof import hotelling_t2, pls_path
    >>> hotelling_t2(pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0]), 1)
    Diagnostic('t2', 0 of 4 flagged, limit=2.0306..., level=0.95)
    """

    name: str
    values: Array
    limit: float
    flags: Flags
    level: float | None
    method: str
    message: str = ""

    def __repr__(self) -> str:
        flagged = f"{np.count_nonzero(self.flags)} of {len(self.values)} flagged"
        return one_line(self, repr(self.name), flagged, limit=self.limit, level=self.level)


@dataclass(frozen=True, kw_only=True)
class Limit:
    """Where values become unusual, and how that was found; nan with a reason if it was not."""

    value: float
    method: str
    message: str = ""


def diagnose(
    name: str,
    values: Array,
    limit: Limit,
    level: float | None,
    *,
    note: str = "",
    two_sided: bool = False,
) -> Diagnostic:
    """Compare values, or their sizes if ``two_sided``, with their limit."""
    flags = (np.abs(values) if two_sided else values) > limit.value
    flags.flags.writeable = False
    return Diagnostic(
        name=name,
        values=read_only(values),
        limit=float(limit.value),
        flags=flags,
        level=level,
        method=limit.method,
        message=f"{limit.message} {note}".strip(),
    )


def as_pls_path(path: Any) -> PLSPath:
    """Return ``path`` if it is one of plain PLS.

    Penalised and kernel PLS are refused: their weights are not orthonormal in the predictors, and
    what is defined through the singular vectors of X would silently be something else.
    """
    if type(path) is not PLSPath:
        raise InvalidInputError(
            f"path must be a PLSPath, as made by pls_path; got {type(path).__name__}. Of a fitted "
            "estimator give path_ and n_components_."
        )
    return path


def as_components(path: Any, m: int) -> int:
    """Return ``m`` if the path has a model of that size."""
    return as_pls_path(path).index(m)


def squared_rows(rows: Array) -> Array:
    """Return the squared length of every row."""
    squares: Array = np.einsum("ij,ij->i", rows, rows)
    return squares
