from .analysis import Analysis as Analysis
from .analysis import analysis_of as analysis_of
from .request import Request as Request
