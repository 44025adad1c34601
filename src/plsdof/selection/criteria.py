"""Information criteria and rules of choice, as functions of arrays."""

from plsdof._core.choice import choose, first_minimum, global_minimum, one_standard_error
from plsdof._core.criteria import (
    CRITERIA,
    Criterion,
    Fits,
    aic,
    aicc,
    bic,
    cp,
    gcv,
    gmdl,
    hqc,
    noise_from_dof,
    noise_from_jacobian,
)
from plsdof._core.left_out import noise_from_left_out

__all__ = [
    "CRITERIA",
    "Criterion",
    "Fits",
    "aic",
    "aicc",
    "bic",
    "choose",
    "cp",
    "first_minimum",
    "gcv",
    "global_minimum",
    "gmdl",
    "hqc",
    "noise_from_dof",
    "noise_from_jacobian",
    "noise_from_left_out",
    "one_standard_error",
]
