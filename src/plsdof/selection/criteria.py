"""Information criteria and rules of choice, as functions of arrays."""

from plsdof._core.criteria import (
    CRITERIA,
    Criterion,
    Fits,
    Selection,
    aic,
    aicc,
    bic,
    cp,
    first_minimum,
    gcv,
    global_minimum,
    gmdl,
    hqc,
    noise_from_dof,
    noise_from_jacobian,
    one_standard_error,
)

__all__ = [
    "CRITERIA",
    "Criterion",
    "Fits",
    "Selection",
    "aic",
    "aicc",
    "bic",
    "cp",
    "first_minimum",
    "gcv",
    "global_minimum",
    "gmdl",
    "hqc",
    "noise_from_dof",
    "noise_from_jacobian",
    "one_standard_error",
]
