from .blocks import ArrayBlocks as ArrayBlocks
from .blocks import Rows as Rows
from .cross_validation import cross_validate_from as cross_validate_from
from .sources import Moments as Moments
from .sources import pcr_path_from as pcr_path_from
from .sources import pls_path_from as pls_path_from
from .sources import ridge_path_from as ridge_path_from
