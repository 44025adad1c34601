from .classifier import PLSClassifier as PLSClassifier
from .flexible import KernelPLSRegressor as KernelPLSRegressor
from .flexible import PenalizedPLSRegressor as PenalizedPLSRegressor
from .linear import PCRegressor as PCRegressor
from .linear import PLSRegressor as PLSRegressor
from .linear import RidgeRegressor as RidgeRegressor
from .recipes import RecipeRegressor as RecipeRegressor
from .several import PLS2Regressor as PLS2Regressor
