"""Data sets that are part of the package."""

import io
from typing import Literal, overload

import numpy as np

from plsdof._validation import Array, as_choice
from plsdof.datasets.bunch import XY, Bunch, make_bunch
from plsdof.datasets.published import GASOLINE, OZONE, ShippedFile, read_shipped

OZONE_ROWS = ("complete", "all")

# mlbench's column, our name, what it is; the response V4 is among them.
_OZONE_COLUMNS = (
    ("V1", "month", "month, 1 = January ... 12 = December"),
    ("V2", "day_of_month", "day of the month"),
    ("V3", "day_of_week", "day of the week, 1 = Monday ... 7 = Sunday"),
    ("V4", "ozone", "daily maximum of the one-hour-average ozone reading"),
    ("V5", "pressure_height", "500 millibar pressure height at Vandenberg AFB (m)"),
    ("V6", "wind_speed", "wind speed at Los Angeles airport (mph)"),
    ("V7", "humidity", "humidity at Los Angeles airport (%)"),
    ("V8", "temperature_sandburg", "temperature at Sandburg (degrees F)"),
    ("V9", "temperature_el_monte", "temperature at El Monte (degrees F)"),
    ("V10", "inversion_height", "inversion base height at Los Angeles airport (feet)"),
    ("V11", "pressure_gradient", "pressure gradient from Los Angeles airport to Daggett (mm Hg)"),
    ("V12", "inversion_temperature", "inversion base temperature at the airport (degrees F)"),
    ("V13", "visibility", "visibility at Los Angeles airport (miles)"),
)
_OZONE_RESPONSE = 3

_OZONE_DESCR = """Los Angeles ozone pollution, 1976

366 days, 12 predictors, one response (V4); 203 days have no missing value, and these are the ones
used in the paper. Month, day of month and day of week are plain numbers.

{columns}

L. Breiman and J. H. Friedman (1985), Estimating optimal transformations for multiple regression
and correlation, Journal of the American Statistical Association 80, 580-598.
"""

_GASOLINE_DESCR = """Near-infrared spectra and octane numbers of gasoline

60 samples; log(1/R) at 401 wavelengths, 900 to 1700 nm in steps of 2 nm; response: octane number.

J. H. Kalivas (1997), Two data sets of near infrared spectra, Chemometrics and Intelligent
Laboratory Systems 37, 255-259.
"""


@overload
def load_ozone(
    *, rows: str = ..., as_frame: bool = ..., return_X_y: Literal[False] = ...
) -> Bunch: ...
@overload
def load_ozone(*, rows: str = ..., as_frame: bool = ..., return_X_y: Literal[True]) -> XY: ...
def load_ozone(
    *, rows: str = "complete", as_frame: bool = False, return_X_y: bool = False
) -> Bunch | XY:
    """Load the Los Angeles ozone data of 1976: 12 predictors, 203 complete days of 366.

    Parameters
    ----------
    rows : {"complete", "all"}
        "all" keeps the days with missing values, as nan.
    as_frame : bool
        Give pandas objects.
    return_X_y : bool
        Give only predictors and response.

    Returns
    -------
    Bunch or (data, target)
        `Bunch` with data (203, 12), target (203,), and besides the usual entries
        ``original_names`` (V1, V2, V3, V5, ..., V13) and ``row_numbers``, the days counted from 1.

    References
    ----------
    Breiman & Friedman (1985), J. Am. Stat. Assoc. 80, 580-598.

    Examples
    --------
    >>> ozone = load_ozone()
    >>> ozone.data.shape, ozone.target.mean().round(2)
    ((203, 12), np.float64(11.37))
    >>> ozone.feature_names[3], ozone.original_names[3]
    ('pressure_height', 'V5')
    """
    as_choice(rows, "rows", OZONE_ROWS)
    table = _table(OZONE)
    row_numbers = np.arange(1, len(table) + 1)
    if rows == "complete":
        complete = ~np.isnan(table).any(axis=1)
        table, row_numbers = table[complete], row_numbers[complete]
    predictors = [column for column in _OZONE_COLUMNS if column[0] != "V4"]
    lines = (f"{original:4}{name:23}{meaning}" for original, name, meaning in _OZONE_COLUMNS)
    bunch = make_bunch(
        name="ozone",
        data=np.delete(table, _OZONE_RESPONSE, axis=1),
        target=table[:, _OZONE_RESPONSE].copy(),
        feature_names=[name for _, name, _ in predictors],
        target_name="ozone",
        original_names=[original for original, _, _ in predictors],
        row_numbers=row_numbers,
        DESCR=_OZONE_DESCR.format(columns="\n".join(lines)),
        provenance="Ozone of the R package mlbench 2.1-3, exported from Debian's "
        "r-cran-mlbench 2.1-3-1; shipped with plsdof",
        simulated=False,
        as_frame=as_frame,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


@overload
def load_gasoline(*, as_frame: bool = ..., return_X_y: Literal[False] = ...) -> Bunch: ...
@overload
def load_gasoline(*, as_frame: bool = ..., return_X_y: Literal[True]) -> XY: ...
def load_gasoline(*, as_frame: bool = False, return_X_y: bool = False) -> Bunch | XY:
    """Load near-infrared spectra (401 wavelengths) and octane numbers of 60 gasoline samples.

    Parameters
    ----------
    as_frame : bool
        Give pandas objects.
    return_X_y : bool
        Give only predictors and response.

    Returns
    -------
    Bunch or (data, target)
        `Bunch` with data (60, 401), target (60,), and besides the usual entries ``wavelengths``
        (401,) in nanometres.

    References
    ----------
    Kalivas (1997), Chemometrics and Intelligent Laboratory Systems 37, 255-259.

    Examples
    --------
    >>> gasoline = load_gasoline()
    >>> gasoline.data.shape, gasoline.target[:3].tolist(), gasoline.feature_names[0]
    ((60, 401), [85.3, 85.25, 88.45], '900 nm')
    """
    table = _table(GASOLINE)
    wavelengths = np.arange(900.0, 1701.0, 2.0)
    bunch = make_bunch(
        name="gasoline",
        data=table[:, 1:].copy(),
        target=table[:, 0].copy(),
        feature_names=[f"{wavelength:g} nm" for wavelength in wavelengths],
        target_name="octane",
        wavelengths=wavelengths,
        DESCR=_GASOLINE_DESCR,
        provenance="gasoline of the R package pls 2.8-1, exported from Debian's "
        "r-cran-pls 2.8-1-1; shipped with plsdof",
        simulated=False,
        as_frame=as_frame,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


def _table(file: ShippedFile) -> Array:
    """Return the numbers of a CSV file with one line of names; empty cells become nan."""
    return np.genfromtxt(io.StringIO(read_shipped(file)), delimiter=",", skip_header=1)
