"""Real data sets: shipped with the package, or downloaded once."""

import io
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from plsdof._core.inputs import Array, as_choice, as_count
from plsdof.datasets.catalogue import (
    COOKIE,
    GASOLINE,
    KIN32FH,
    OZONE,
    XY,
    Bunch,
    DatasetError,
    Folder,
    PublishedFile,
    ShippedFile,
    make_bunch,
    read_published,
    read_shipped,
)
from plsdof.errors import InvalidInputError, MissingExtraError

# Data sets that are part of the package
# --------------------------------------

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


# Data sets that are downloaded once, or read from a local folder
# ---------------------------------------------------------------

COOKIE_ROWS = ("paper", "all")
CONSTITUENTS = ("fat", "sucrose", "dry_flour", "water")
KIN_FEATURES = tuple(
    f"{kind}{link}" for kind in ("theta", "alpha", "a", "d") for link in range(1, 9)
)

# Counted from 1. Row 23 of the 40 for calibration, row 21 of the 32 for validation (40 + 21).
COOKIE_OUTLIERS = (23, 61)

_COOKIE_DESCR = """Near-infrared spectra of biscuit dough

72 pieces of dough; near-infrared reflectance spectrum at 700 wavelengths, 1100 to 2498 nm in steps
of 2 nm; percentages of fat, sucrose, dry flour and water.

Rows 1-40 are the calibration and rows 41-72 the validation set of the original study, in which
rows 23 and 61 are outliers. rows="paper" leaves them out: 70 pieces, as many as the paper uses.
(The mean absolute correlation of 0.867 in its Table 1 is that of all 72; it is 0.882 for the 70.)

B. G. Osborne, T. Fearn, A. R. Miller and S. Douglas (1984), Application of near infrared
reflectance spectroscopy to the compositional analysis of biscuits and biscuit doughs, Journal of
the Science of Food and Agriculture 35, 99-105.
P. J. Brown, T. Fearn and M. Vannucci (2001), Bayesian wavelet regression on curves with
application to a spectroscopic calibration problem, Journal of the American Statistical
Association 96, 398-408.
"""

_KIN_DESCR = """kin-32fh: forward kinematics of a robot arm with eight revolute links

8192 rows from a simulation published in the Delve repository, fairly linear (f), much noise (h).
Predictors, for the links 1 to 8: joint angles theta, link twists alpha, link lengths a, offsets d.
Response: noisy distance of the end of the arm from a target.

Delve, University of Toronto, http://www.cs.toronto.edu/~delve/
"""


@overload
def fetch_cookie(
    *,
    response: str = ...,
    rows: str = ...,
    data_home: Folder = ...,
    download_if_missing: bool = ...,
    as_frame: bool = ...,
    return_X_y: Literal[False] = ...,
) -> Bunch: ...
@overload
def fetch_cookie(
    *,
    response: str = ...,
    rows: str = ...,
    data_home: Folder = ...,
    download_if_missing: bool = ...,
    as_frame: bool = ...,
    return_X_y: Literal[True],
) -> XY: ...
def fetch_cookie(
    *,
    response: str = "fat",
    rows: str = "paper",
    data_home: Folder = None,
    download_if_missing: bool = True,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch | XY:
    """Fetch near-infrared spectra (700 wavelengths) and the composition of biscuit dough.

    Downloaded once (0.3 MB) and kept; `make_spectra` is a simulated stand-in that needs no file.

    Parameters
    ----------
    response : {"fat", "sucrose", "dry_flour", "water"}
        Constituent to predict, in percent.
    rows : {"paper", "all"}
        "paper" leaves out the outliers, rows 23 and 61 counted from 1, so 70 of 72 are left.
    data_home : folder, optional
        Where ``cookie.rda`` is or shall be kept. Default: the folder named by the environment
        variable PLSDOF_DATA, else the cache folder of this package.
    download_if_missing : bool
        With False a missing file is an error at once.
    as_frame : bool
        Give pandas objects.
    return_X_y : bool
        Give only predictors and response.

    Returns
    -------
    Bunch or (data, target)
        `Bunch` with data (70, 700), target (70,), and besides the usual entries ``wavelengths``
        (700,) in nanometres, ``constituents`` (70, 4) with ``constituent_names``, and
        ``row_numbers`` (70,), counted from 1.

    Raises
    ------
    DatasetUnavailableError
        The file is not in the folder and cannot be downloaded.
    DatasetError
        The file found or downloaded is not the one published.

    References
    ----------
    Osborne, Fearn, Miller & Douglas (1984), J. Sci. Food Agric. 35, 99-105.
    Brown, Fearn & Vannucci (2001), J. Am. Stat. Assoc. 96, 398-408.

    Examples
    --------
    >>> fetch_cookie(response="water").data.shape  # doctest: +SKIP
    (70, 700)
    """
    as_choice(response, "response", CONSTITUENTS)
    as_choice(rows, "rows", COOKIE_ROWS)
    _require_rdata()
    content = read_published(COOKIE, data_home=data_home, download_if_missing=download_if_missing)
    spectra, constituents = _parse(COOKIE, content, _cookie_tables)
    row_numbers = np.arange(1, len(spectra) + 1)
    if rows == "paper":
        row_numbers = np.setdiff1d(row_numbers, COOKIE_OUTLIERS)
    constituents = constituents[row_numbers - 1]
    wavelengths = np.arange(1100.0, 2499.0, 2.0)
    bunch = make_bunch(
        name="cookie",
        data=spectra[row_numbers - 1],
        target=constituents[:, CONSTITUENTS.index(response)].copy(),
        feature_names=[f"{wavelength:g} nm" for wavelength in wavelengths],
        target_name=response,
        wavelengths=wavelengths,
        constituents=constituents,
        constituent_names=list(CONSTITUENTS),
        row_numbers=row_numbers,
        DESCR=_COOKIE_DESCR,
        provenance=f"cookie of the R package ppls 2.0.0, {COOKIE.address}",
        simulated=False,
        as_frame=as_frame,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


@overload
def fetch_kin32fh(
    *,
    n_rows: int | None = ...,
    data_home: Folder = ...,
    download_if_missing: bool = ...,
    as_frame: bool = ...,
    return_X_y: Literal[False] = ...,
) -> Bunch: ...
@overload
def fetch_kin32fh(
    *,
    n_rows: int | None = ...,
    data_home: Folder = ...,
    download_if_missing: bool = ...,
    as_frame: bool = ...,
    return_X_y: Literal[True],
) -> XY: ...
def fetch_kin32fh(
    *,
    n_rows: int | None = None,
    data_home: Folder = None,
    download_if_missing: bool = True,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch | XY:
    """Fetch kin-32fh of the Delve repository: a robot arm, 32 predictors, 8192 rows.

    Downloaded once (1.2 MB) and kept; `make_kin` is a simulated stand-in that needs no file.

    Parameters
    ----------
    n_rows : int, optional
        Keep the first ``n_rows`` rows. Default: all 8192. The paper's Figure 1 uses 300 rows
        without saying which.
    data_home : folder, optional
        Where ``kin32fh.mat`` is or shall be kept. Default: the folder named by the environment
        variable PLSDOF_DATA, else the cache folder of this package.
    download_if_missing : bool
        With False a missing file is an error at once.
    as_frame : bool
        Give pandas objects.
    return_X_y : bool
        Give only predictors and response.

    Returns
    -------
    Bunch or (data, target)
        `Bunch` with data (n_rows, 32), target (n_rows,), and besides the usual entries
        ``row_numbers`` (n_rows,), counted from 1.

    Raises
    ------
    DatasetUnavailableError
        The file is not in the folder and cannot be downloaded.
    DatasetError
        The file found or downloaded is not the one published.

    References
    ----------
    Delve, University of Toronto, http://www.cs.toronto.edu/~delve/

    Examples
    --------
    >>> fetch_kin32fh(n_rows=300).data.shape  # doctest: +SKIP
    (300, 32)
    """
    wanted = None if n_rows is None else as_count(n_rows, "n_rows", minimum=1)
    content = read_published(KIN32FH, data_home=data_home, download_if_missing=download_if_missing)
    X, y = _parse(KIN32FH, content, _kin_tables)
    if wanted is not None and wanted > len(y):
        raise InvalidInputError(f"n_rows must be in 1..{len(y)}; got {wanted}.")
    bunch = make_bunch(
        name="kin32fh",
        data=X[:wanted].copy(),
        target=y[:wanted].copy(),
        feature_names=KIN_FEATURES,
        target_name="distance",
        row_numbers=np.arange(1, len(y) + 1)[:wanted],
        DESCR=_KIN_DESCR,
        provenance=f"kin-32fh of the Delve repository, {KIN32FH.address}",
        simulated=False,
        as_frame=as_frame,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


def _cookie_tables(content: bytes) -> tuple[Array, Array]:
    import rdata

    cookie = rdata.read_rda(io.BytesIO(content), default_encoding="ascii")["cookie"]
    constituents = cookie["constituents"][list(CONSTITUENTS)]
    return cookie["NIR"].to_numpy(dtype=np.float64), constituents.to_numpy(dtype=np.float64)


def _kin_tables(content: bytes) -> tuple[Array, Array]:
    from scipy.io import loadmat

    stream: Any = io.BytesIO(content)  # allowed by scipy's documentation, not by its stubs
    contents: dict[str, Any] = loadmat(stream)
    # MATLAB stores by columns, everything here expects rows.
    X = np.ascontiguousarray(contents["X"], dtype=np.float64)
    return X, np.ravel(contents["Y"]).astype(np.float64)


def _parse(
    file: PublishedFile, content: bytes, reader: Callable[[bytes], tuple[Array, Array]]
) -> tuple[Array, Array]:
    try:
        return reader(content)
    # The hash was right, so the reading library is at fault, with whatever error it likes.
    except Exception as error:
        raise DatasetError(
            f"{file.filename} is intact but could not be read ({type(error).__name__}: {error}); "
            "update the packages rdata and scipy."
        ) from error


def _require_rdata() -> None:
    try:
        import rdata  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("rdata", "data", f"Reading {COOKIE.filename}") from error
