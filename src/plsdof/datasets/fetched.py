"""Data sets that are downloaded once, or read from a local folder."""

import io
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from plsdof._validation import Array, as_choice, as_count
from plsdof.datasets.bunch import XY, Bunch, make_bunch
from plsdof.datasets.published import (
    COOKIE,
    KIN32FH,
    DatasetError,
    Folder,
    PublishedFile,
    read_published,
)
from plsdof.errors import InvalidInputError, MissingExtraError

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
