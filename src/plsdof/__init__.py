"""Exact Degrees of Freedom, model selection and inference for Partial Least Squares."""

from plsdof.methods import PCRPath, PLSPath, RidgePath, pcr_path, pls_path, ridge_path
from plsdof.path import Path

__version__ = "0.1.0"

__all__ = [
    "PCRPath",
    "PLSPath",
    "Path",
    "RidgePath",
    "pcr_path",
    "pls_path",
    "ridge_path",
]
