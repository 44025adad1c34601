from .classifier import PLSClassifier as PLSClassifier
from .joint import PLS2Regressor as PLS2Regressor
from .recipe_regressor import RecipeRegressor as RecipeRegressor
from .regressors import KernelPLSRegressor as KernelPLSRegressor
from .regressors import PCRegressor as PCRegressor
from .regressors import PenalizedPLSRegressor as PenalizedPLSRegressor
from .regressors import PLSRegressor as PLSRegressor
from .regressors import RidgeRegressor as RidgeRegressor
