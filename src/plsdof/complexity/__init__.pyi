from .benchmark import Benchmark as Benchmark
from .benchmark import benchmark as benchmark
from .collinearity import dof_lower_bound as dof_lower_bound
from .collinearity import mean_absolute_correlation as mean_absolute_correlation
from .comparison import Comparison as Comparison
from .comparison import compare_paths as compare_paths
from .regressors import DegreesOfFreedom as DegreesOfFreedom
from .regressors import degrees_of_freedom as degrees_of_freedom
