from .comparison import compare_paths as compare_paths
from .regressors import degrees_of_freedom as degrees_of_freedom
from .regressors import dof_lower_bound as dof_lower_bound
