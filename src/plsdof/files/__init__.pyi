from .blocks import file_blocks as file_blocks
from .models import load_model as load_model
from .models import save_model as save_model
from .portable import portable_model as portable_model
from .tables import read_table as read_table
