"""Exact Degrees of Freedom, model selection and inference for Partial Least Squares."""

from importlib import import_module
from typing import Any

from plsdof import criteria, inference, paper
from plsdof.chemometrics import (
    ExplainedVariance,
    explained_variance,
    selectivity_ratio,
    selectivity_ratio_test,
    vip,
)
from plsdof.collinearity import dof_lower_bound, mean_absolute_correlation
from plsdof.columnwise import ResponsePaths, pcr_paths, pls_paths, ridge_paths
from plsdof.comparison import Comparison, compare_paths
from plsdof.complexity import DegreesOfFreedom, degrees_of_freedom
from plsdof.criteria import Selection
from plsdof.cross_validated import CrossValidation
from plsdof.cross_validation import cross_validate
from plsdof.diagnostic import Diagnostic
from plsdof.file_blocks import file_blocks
from plsdof.intervals import CoefficientInference, Interval
from plsdof.joint_selection import JointSelection
from plsdof.kernel import KernelPLSPath, kernel_pls_path, select_kernel
from plsdof.methods import pcr_path, pls_path, ridge_path
from plsdof.moments import Moments
from plsdof.monitoring import hotelling_t2, q_residuals
from plsdof.multiresponse import PLS2Path, pls2_path
from plsdof.outliers import OutlierTable
from plsdof.path import Path
from plsdof.path_types import PCRPath, PLSPath, RidgePath
from plsdof.penalized import PenalizedPLSPath, penalized_pls_path, select_strength
from plsdof.randomization import RandomizationTest, randomization_test
from plsdof.resampling import Resampled, jackknife, residual_bootstrap
from plsdof.source_methods import pcr_path_from, pls_path_from, ridge_path_from
from plsdof.stability import SelectionFrequency, selection_frequency
from plsdof.summary import Summary

__version__ = "0.1.0"

# Imported when first used: the estimators need scikit-learn, and the rest takes time.
_ESTIMATORS = {
    "KernelPLSRegressor": "flexible_estimators",
    "PCRegressor": "estimators",
    "PLS2Regressor": "joint_estimator",
    "PLSRegressor": "estimators",
    "PenalizedPLSRegressor": "flexible_estimators",
    "RidgeRegressor": "estimators",
}
_MODULES = (
    "datasets",
    "estimators",
    "experiments",
    "flexible_estimators",
    "joint_estimator",
    "model_file",
    "plotting",
    "report",
)

__all__ = [
    "CoefficientInference",
    "Comparison",
    "CrossValidation",
    "DegreesOfFreedom",
    "Diagnostic",
    "ExplainedVariance",
    "Interval",
    "JointSelection",
    "KernelPLSPath",
    "KernelPLSRegressor",
    "Moments",
    "OutlierTable",
    "PCRPath",
    "PCRegressor",
    "PLS2Path",
    "PLS2Regressor",
    "PLSPath",
    "PLSRegressor",
    "Path",
    "PenalizedPLSPath",
    "PenalizedPLSRegressor",
    "RandomizationTest",
    "Resampled",
    "ResponsePaths",
    "RidgePath",
    "RidgeRegressor",
    "Selection",
    "SelectionFrequency",
    "Summary",
    "compare_paths",
    "criteria",
    "cross_validate",
    "degrees_of_freedom",
    "dof_lower_bound",
    "explained_variance",
    "file_blocks",
    "hotelling_t2",
    "inference",
    "jackknife",
    "kernel_pls_path",
    "mean_absolute_correlation",
    "paper",
    "pcr_path",
    "pcr_path_from",
    "pcr_paths",
    "penalized_pls_path",
    "pls2_path",
    "pls_path",
    "pls_path_from",
    "pls_paths",
    "q_residuals",
    "randomization_test",
    "residual_bootstrap",
    "ridge_path",
    "ridge_path_from",
    "ridge_paths",
    "select_kernel",
    "select_strength",
    "selection_frequency",
    "selectivity_ratio",
    "selectivity_ratio_test",
    "vip",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"plsdof.{name}")
    if name in _ESTIMATORS:
        return getattr(import_module(f"plsdof.{_ESTIMATORS[name]}"), name)
    raise AttributeError(f"module 'plsdof' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
