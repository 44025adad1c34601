"""Data sets of the paper and of the examples, and simulated stand-ins for those not at hand.

`load_*` reads files that are part of the package, `fetch_*` downloads once or reads a local
folder, `make_*` simulates. All give a `Bunch` in scikit-learn's convention.
"""

from plsdof.datasets.bunch import Bunch
from plsdof.datasets.catalogue import DatasetStatus, dataset_status
from plsdof.datasets.fetched import fetch_cookie, fetch_kin32fh
from plsdof.datasets.published import DatasetError, DatasetUnavailableError
from plsdof.datasets.shipped import load_gasoline, load_ozone
from plsdof.datasets.simulated import make_kin, make_spectra

__all__ = [
    "Bunch",
    "DatasetError",
    "DatasetStatus",
    "DatasetUnavailableError",
    "dataset_status",
    "fetch_cookie",
    "fetch_kin32fh",
    "load_gasoline",
    "load_ozone",
    "make_kin",
    "make_spectra",
]
