"""Real data sets: shipped with the package, or downloaded once and verified by their hashes.

Published files are kept by pooch in one folder: ``data_home`` if given, else the folder named by
the environment variable ``PLSDOF_DATA``, else the cache folder of this package. What is missing or
broken there is downloaded into it. Nothing is used before its SHA-256 hash has been compared.
"""

import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from plsdof._core.display import data_frame
from plsdof._core.inputs import Array, as_choice, as_count
from plsdof.errors import InvalidInputError, MissingExtraError, PlsdofError

if TYPE_CHECKING:  # takes a second to import
    from sklearn.utils import Bunch

Folder = str | os.PathLike[str] | None
Constituent = Literal["fat", "sucrose", "dry_flour", "water"]
OzoneRows = Literal["complete", "all"]
CookieRows = Literal["paper", "all"]

FOLDER_VARIABLE = "PLSDOF_DATA"
CONSTITUENTS = get_args(Constituent)
# Counted from 1. Row 23 of the 40 for calibration, row 21 of the 32 for validation (40 + 21).
_COOKIE_OUTLIERS = (23, 61)
# Column V4 of mlbench.
_OZONE_RESPONSE = 3


class DatasetError(PlsdofError):
    """A data file is broken, or is not the file that was published."""


class DatasetUnavailableError(DatasetError):
    """A published file is neither in the data folder nor can it be downloaded."""


# What every data set comes in
# ----------------------------


def make_bunch(
    file: "DataFile | None",
    X: Array,
    y: Array,
    *,
    names: Sequence[str] | Array,
    target: str,
    as_frame: bool,
    return_X_y: bool = False,
    **entries: Any,
) -> Any:
    """Put a data set together, with pandas objects if ``as_frame``.

    Besides ``entries`` it has the name, data (n, p), target (n,), feature_names, target_names (one
    response), frame (predictors and response together, or None), the description DESCR, and the
    provenance. ``names`` are those of the columns, or wavelengths. Without a file, numbers are
    those of the stand-in for cookie.
    """
    from sklearn.utils import Bunch

    if isinstance(names, np.ndarray):
        entries["wavelengths"] = names
        names = [f"{wavelength:.10g} nm" for wavelength in names]
    data, response, frame = X, y, None
    if as_frame:
        frame = data_frame(dict(zip(names, X.T, strict=True)) | {target: y})
        data, response = frame[names], frame[target]
    if return_X_y:
        return data, response
    name = "cookie stand-in" if file is None else file.name
    made = "simulated by plsdof.datasets.make_spectra, a stand-in for cookie"
    return Bunch(
        name=name,
        data=data,
        target=response,
        feature_names=list(names),
        target_names=[target],
        frame=frame,
        DESCR=shipped(f"{name.replace(' ', '-')}.txt").read_text(encoding="ascii"),
        provenance=made if file is None else file.provenance,
        simulated=file is None,
        **entries,
    )


# The files of the data sets: their hashes, where they are, and how they get there
# --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """The file of a data set: a part of the package, or published at a fixed address.

    Attributes
    ----------
    name, function : str
        Name of the data set, and the function of `plsdof.datasets` that gives the data.
    shape : (int, int)
        Rows and predictors that the function gives by default.
    filename, sha256 : str
    provenance : str
        Where the numbers come from.
    columns : sequence of str
        Names of the columns, where the file has none that speak.
    address : str or None
        Where it is published; None for a part of the package.
    advice : str
        What to use instead.
    """

    name: str
    function: str
    shape: tuple[int, int]
    filename: str
    sha256: str
    provenance: str
    columns: Sequence[str] = ()
    address: str | None = None
    advice: str = ""

    def is_intact(self, path: Traversable | Path) -> bool:
        """Compare the hash; of a shipped file with whatever line ends version control put in."""
        content = path.read_bytes()
        text = content.replace(b"\r\n", b"\n") if self.address is None else content
        return sha256(text).hexdigest() == self.sha256


def shipped(filename: str) -> Traversable:
    """Return a file that is part of the package."""
    return files("plsdof.datasets") / "data" / filename


def _files() -> list[DataFile]:
    table = json.loads(shipped("files.json").read_text(encoding="ascii"))
    return [DataFile(**{**row, "shape": tuple(row["shape"])}) for row in table]


FILES = OZONE, GASOLINE, COOKIE, KIN32FH = tuple(_files())


def _registry(data_home: Folder) -> Any:
    """Return the folder of the published files, with their hashes and addresses, as pooch's."""
    try:
        import pooch
    except ImportError as error:
        raise MissingExtraError("pooch", "data", "Fetching published data") from error
    # It would write to what was stderr when it was imported, --quiet or not, closed or not.
    pooch.get_logger().setLevel("WARNING")
    folder = data_home or os.environ.get(FOLDER_VARIABLE) or pooch.os_cache("plsdof")
    published = [file for file in FILES if file.address is not None]
    try:
        return pooch.create(
            path=Path(folder).expanduser(),
            base_url="",
            registry={file.filename: f"sha256:{file.sha256}" for file in published},
            urls={file.filename: file.address for file in published},
        )
    except (TypeError, RuntimeError) as error:
        raise InvalidInputError(
            f"data_home and {FOLDER_VARIABLE} must name a folder; got {folder!r} ({error})."
        ) from error


def _fetched(file: DataFile, data_home: Folder) -> bytes:
    """Return the content of a published file, after a download where that is needed."""
    registry = _registry(data_home)
    try:
        return Path(registry.fetch(file.filename)).read_bytes()
    except OSError as error:
        raise DatasetUnavailableError(
            f"{_missing(file, registry.abspath)} The download failed: {type(error).__name__}: "
            f"{error}"
        ) from error
    except ValueError as error:
        raise DatasetError(
            f"What came from {file.address} is not the published {file.filename} (expected "
            f"SHA-256 {file.sha256}); nothing was kept. Try again later, and look out for a "
            f"proxy or login page in between. {error}"
        ) from error


def _missing(file: DataFile, folder: Path) -> str:
    return (
        f"{file.filename} is not in {folder}. Download it from {file.address} on any machine and "
        f"put it there, or into another folder named by data_home= or by the environment "
        f"variable {FOLDER_VARIABLE}."
    )


@dataclass(frozen=True, kw_only=True)
class DatasetStatus(DataFile):
    """The file of a data set, and what state it is in.

    Attributes
    ----------
    state : {"shipped", "cached", "local", "missing"}
        Part of the package; downloaded into the cache of this package; found in a folder chosen
        by the user; not there.
    location : str
        Path of the file, or where it would be; empty if only an absent package could tell.
    hash_ok : bool or None
        Whether the file is the one published; None if it is missing.
    message : str
        The state in words, with what to do about it.
    """

    state: Literal["shipped", "cached", "local", "missing"]
    location: str
    hash_ok: bool | None
    message: str


def dataset_status(*, data_home: Folder = None) -> list[DatasetStatus]:
    """List the data sets, find their files and verify their hashes. Nothing is downloaded.

    Parameters
    ----------
    data_home : folder, optional
        Where to look for the published files, as in `fetch_cookie`.

    Returns
    -------
    list
        For every data set its name, function, shape, state ("shipped", "cached", "local" or
        "missing"), location, hash_ok and message.

    Examples
    --------
    >>> for status in dataset_status()[:2]:
    ...     print(status.name, status.shape, status.state, status.hash_ok)
    ozone (203, 12) shipped True
    gasoline (60, 401) shipped True
    """
    return [_status(file, data_home) for file in FILES]


def _status(file: DataFile, data_home: Folder) -> DatasetStatus:
    state: Literal["shipped", "cached", "local", "missing"] = "shipped"
    path: Traversable | Path | None = shipped(file.filename)
    message = "Part of the package."
    if file.address is not None:
        state, path, message = "missing", None, f"Call {file.function}() to download it."
        try:
            path = Path(_registry(data_home).abspath) / file.filename
            message = f"{message} {_missing(file, path.parent)} {file.advice}"
        except MissingExtraError as error:
            message = f"{error} {message} {file.advice}"
        if path is not None and path.is_file():
            own = data_home or os.environ.get(FOLDER_VARIABLE)
            state, message = "local" if own else "cached", "Intact."
    intact = None if path is None or state == "missing" else file.is_intact(path)
    if intact is False:
        repair = f"call {file.function}() to download it again" if file.address else "reinstall"
        message = f"Broken or another version: {repair}."
    return DatasetStatus(
        **vars(file),
        state=state,
        location="" if path is None else str(path),
        hash_ok=intact,
        message=message.strip(),
    )


# Data sets that are part of the package
# --------------------------------------


def load_ozone(
    *, rows: OzoneRows = "complete", as_frame: bool = False, return_X_y: bool = False
) -> Any:
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
        scikit-learn's `Bunch` with data (203, 12), target (203,), feature_names, target_names,
        frame, DESCR, provenance, simulated (False), and ``original_names`` (V1, V2, V3, V5, ...,
        V13) and ``row_numbers``, the days counted from 1.

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
    as_choice(rows, "rows", get_args(OzoneRows))
    table = _table(OZONE)
    row_numbers = np.arange(1, len(table) + 1)
    if rows == "complete":
        complete = ~np.isnan(table).any(axis=1)
        table, row_numbers = table[complete], row_numbers[complete]
    predictors = [i for i in range(len(OZONE.columns)) if i != _OZONE_RESPONSE]
    return make_bunch(
        OZONE,
        np.delete(table, _OZONE_RESPONSE, axis=1),
        table[:, _OZONE_RESPONSE].copy(),
        names=[OZONE.columns[i] for i in predictors],
        target="ozone",
        as_frame=as_frame,
        return_X_y=return_X_y,
        original_names=[f"V{i + 1}" for i in predictors],
        row_numbers=row_numbers,
    )


def load_gasoline(*, as_frame: bool = False, return_X_y: bool = False) -> Any:
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
        As `load_ozone` does, with data (60, 401), target (60,), and besides the usual entries
        ``wavelengths`` (401,) in nanometres.

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
    return make_bunch(
        GASOLINE,
        table[:, 1:].copy(),
        table[:, 0].copy(),
        names=wavelengths,
        target="octane",
        as_frame=as_frame,
        return_X_y=return_X_y,
    )


def _table(file: DataFile) -> Array:
    """Return the numbers of a CSV file with one line of names; empty cells become nan."""
    with shipped(file.filename).open("rb") as stream:
        return np.genfromtxt(stream, delimiter=",", skip_header=1)


# Data sets that are downloaded once, or read from a local folder
# ---------------------------------------------------------------


def fetch_cookie(
    *,
    response: Constituent = "fat",
    rows: CookieRows = "paper",
    data_home: Folder = None,
    as_frame: bool = False,
) -> "Bunch":
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
    as_frame : bool
        Give pandas objects.

    Returns
    -------
    Bunch
        As `load_ozone` does, with data (70, 700), target (70,), and besides the usual entries
        ``wavelengths`` (700,) in nanometres, ``constituents`` (70, 4) with ``constituent_names``,
        and ``row_numbers`` (70,), counted from 1.

    Raises
    ------
    PlsdofError
        The file is not in the folder and cannot be downloaded (DatasetUnavailableError), or is not
        the one published (DatasetError, both of `plsdof.datasets.real`).

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
    as_choice(rows, "rows", get_args(CookieRows))
    try:
        import rdata
    except ImportError as error:  # before a download
        raise MissingExtraError("rdata", "data", f"Reading {COOKIE.filename}") from error
    content = io.BytesIO(_fetched(COOKIE, data_home))
    cookie = rdata.read_rda(content, default_encoding="ascii")["cookie"]
    spectra = cookie["NIR"].to_numpy(dtype=np.float64)
    constituents = cookie["constituents"][list(CONSTITUENTS)].to_numpy(dtype=np.float64)
    row_numbers = np.arange(1, len(spectra) + 1)
    if rows == "paper":
        row_numbers = np.setdiff1d(row_numbers, _COOKIE_OUTLIERS)
    constituents = constituents[row_numbers - 1]
    wavelengths = np.arange(1100.0, 2499.0, 2.0)
    return make_bunch(
        COOKIE,
        spectra[row_numbers - 1],
        constituents[:, CONSTITUENTS.index(response)].copy(),
        names=wavelengths,
        target=response,
        as_frame=as_frame,
        constituents=constituents,
        constituent_names=list(CONSTITUENTS),
        row_numbers=row_numbers,
    )


def fetch_kin32fh(
    *, n_rows: int | None = None, data_home: Folder = None, as_frame: bool = False
) -> "Bunch":
    """Fetch kin-32fh of the Delve repository: a robot arm, 32 predictors, 8192 rows.

    Downloaded once (1.2 MB) and kept.

    Parameters
    ----------
    n_rows : int, optional
        Keep the first ``n_rows`` rows. Default: all 8192. The paper's Figure 1 uses 300 rows
        without saying which.
    data_home : folder, optional
        Where ``kin32fh.mat`` is or shall be kept. Default: the folder named by the environment
        variable PLSDOF_DATA, else the cache folder of this package.
    as_frame : bool
        Give pandas objects.

    Returns
    -------
    Bunch
        As `load_ozone` does, with data (n_rows, 32), target (n_rows,), and besides the usual
        entries ``row_numbers`` (n_rows,), counted from 1.

    Raises
    ------
    PlsdofError
        As `fetch_cookie` does.

    References
    ----------
    Delve, University of Toronto, http://www.cs.toronto.edu/~delve/

    Examples
    --------
    >>> fetch_kin32fh(n_rows=300).data.shape  # doctest: +SKIP
    (300, 32)
    """
    from scipy.io import loadmat

    wanted = None if n_rows is None else as_count(n_rows, "n_rows", minimum=1)
    stream: Any = io.BytesIO(_fetched(KIN32FH, data_home))  # allowed, but not by scipy's stubs
    contents: dict[str, Any] = loadmat(stream)
    # MATLAB stores by columns, everything here expects rows.
    X = np.ascontiguousarray(contents["X"], dtype=np.float64)
    y = np.ravel(contents["Y"]).astype(np.float64)
    if wanted is not None and wanted > len(y):
        raise InvalidInputError(f"n_rows must be in 1..{len(y)}; got {wanted}.")
    # For the links 1 to 8: joint angles, link twists, link lengths, offsets.
    kinds = ("theta", "alpha", "a", "d")
    return make_bunch(
        KIN32FH,
        X[:wanted].copy(),
        y[:wanted].copy(),
        names=[f"{kind}{link}" for kind in kinds for link in range(1, 9)],
        target="distance",
        as_frame=as_frame,
        row_numbers=np.arange(1, len(y) + 1)[:wanted],
    )
