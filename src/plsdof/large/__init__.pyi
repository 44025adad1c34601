from .blocks import ArrayBlocks as ArrayBlocks
from .blocks import Rows as Rows
from .sources import Moments as Moments
