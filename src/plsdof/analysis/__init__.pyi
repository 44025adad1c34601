from .analysis import Analysis as Analysis
from .analysis import analyse as analyse
from .analysis import analysis_of as analysis_of
from .data import Rows as Rows
from .data import StreamedProblem as StreamedProblem
from .data import TableProblem as TableProblem
from .request import Request as Request
