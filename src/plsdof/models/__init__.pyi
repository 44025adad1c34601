from .calibration import Calibration as Calibration
from .files import load_model as load_model
from .files import save_model as save_model
from .predictor import Predictions as Predictions
from .predictor import Predictor as Predictor
