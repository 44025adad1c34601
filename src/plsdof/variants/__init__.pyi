from .kernel import KernelPLSPath as KernelPLSPath
from .kernel import kernel_pls_path as kernel_pls_path
from .penalized import PenalizedPLSPath as PenalizedPLSPath
from .penalized import penalized_pls_path as penalized_pls_path
from .pls2 import PLS2Model as PLS2Model
from .pls2 import PLS2Path as PLS2Path
from .pls2 import pls2_path as pls2_path
