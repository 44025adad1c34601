from .cross_validation import CrossValidation as CrossValidation
from .cross_validation import LeftOut as LeftOut
from .cross_validation import Selection as Selection
from .cross_validation import cross_validate as cross_validate
from .cross_validation import make_folds as make_folds
