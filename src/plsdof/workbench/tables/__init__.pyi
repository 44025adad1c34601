from .blocks import file_blocks as file_blocks
from .reading import read_table as read_table
