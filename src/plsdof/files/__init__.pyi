from .blocks import file_blocks as file_blocks
from .frozen import frozen_model as frozen_model
from .models import load_model as load_model
from .models import save_model as save_model
from .reading import read_table as read_table
