"""Which noise variance is meant: words for it, numbers, and what is usual."""

from typing import Any

import numpy as np

from plsdof.errors import InvalidInputError

# A kind of noise variance, a variance, or what is usual.
Noise = str | float | None
NOISE_KINDS = ("jacobian", "dof", "naive")
# Criteria that need one.
WITH_NOISE = ("aic", "bic", "cp")


def as_variance(noise: Any) -> float:
    """Return a noise variance given as a number."""
    if isinstance(noise, bool) or not isinstance(noise, int | float | np.number):
        raise InvalidInputError(
            f"noise must be one of {', '.join(map(repr, NOISE_KINDS))}, a variance > 0, or None; "
            f"got {noise!r}."
        )
    if not (np.isfinite(noise) and noise > 0):
        raise InvalidInputError(f"noise must be a finite variance > 0; got {noise!r}.")
    return float(noise)


def usual_noise(dof: str) -> str:
    """Return the kind of noise variance that goes with a kind of Degrees of Freedom."""
    return "naive" if dof == "naive" else "jacobian"


def noise_label(criterion: str, dof: str, noise: Noise) -> str:
    """Say which noise variance a criterion was evaluated with."""
    if criterion not in WITH_NOISE:
        return "not used"
    if noise is None:
        return "least-squares" if criterion == "cp" else usual_noise(dof)
    return noise if isinstance(noise, str) else f"{float(noise):g}"
