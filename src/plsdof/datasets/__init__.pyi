from .real import dataset_status as dataset_status
from .real import fetch_cookie as fetch_cookie
from .real import fetch_kin32fh as fetch_kin32fh
from .real import load_gasoline as load_gasoline
from .real import load_ozone as load_ozone
from .simulated import make_spectra as make_spectra
