"""Exceptions and warnings.

Every message says what came in, what is allowed, and what to do about it. Warnings point at the
line outside of this package that led to them.
"""

from collections.abc import Mapping
from typing import Any


class PlsdofError(Exception):
    """Base class of all errors raised on purpose by this package."""


class InvalidInputError(PlsdofError, ValueError):
    """The data or an option cannot be used as given.

    Attributes
    ----------
    mend : mapping
        Arguments that would help, as those of a remark; empty if none are known.
    """

    def __init__(self, *words: object, mend: Mapping[str, Any] | None = None) -> None:
        super().__init__(*words)
        self.mend: Mapping[str, Any] = mend or {}


class NotNumericError(InvalidInputError, TypeError):
    """Values are not numbers; numpy and scikit-learn raise a TypeError for some of them."""


class NotAvailableError(PlsdofError, ValueError, AttributeError):
    """The quantity is not defined for this result, or was not kept.

    It is an AttributeError, too: ``hasattr`` says False where a property raises it.
    """


class MissingExtraError(PlsdofError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed; "
            f"install it with: pip install 'plsdof[{extra}]'"
        )


class PlsdofWarning(UserWarning):
    """Base class of all warnings of this package."""


class ConstantColumnWarning(PlsdofWarning):
    """Some columns of X do not vary; they are kept with a zero coefficient."""


class ResponseInPredictorsWarning(PlsdofWarning):
    """The response is one of the columns of X, which then predicts itself."""


class RankExhaustedWarning(PlsdofWarning):
    """The path is shorter than asked for because the data support no more components."""


class RelativeWeightsWarning(PlsdofWarning):
    """Weights look like relative ones, but count as numbers of repeated rows."""


class LowLevelWarning(PlsdofWarning):
    """A confidence level below one half was asked for."""


class EmptyModelWarning(PlsdofWarning):
    """The model without components was chosen, although a richer one would score lower."""


class RecipeWarning(PlsdofWarning):
    """A recipe of a pool is not defined for these data and was left out."""
