"""Files behind the data sets: what there is, where it comes from, whether it is intact.

A file is *shipped* with the package, or *published* at a fixed address. Published files are looked
for in one folder: ``data_home`` if given, else the folder named by the environment variable
``PLSDOF_DATA``, else pooch's cache folder of this package. What is missing there is downloaded
into it, once. Nothing is used before its SHA-256 hash has been compared.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from plsdof._core.inputs import Array
from plsdof.errors import InvalidInputError, MissingExtraError, PlsdofError

# The container every data set comes in: scikit-learn's Bunch convention, without scikit-learn
# --------------------------------------------------------------------------------------------

XY = tuple[Any, Any]


class Bunch(dict[str, Any]):
    """A dictionary whose entries can be read as attributes.

    Every data set of this package has the entries

    name : str
        Short name.
    data : (n, p) array or DataFrame
        Predictors.
    target : (n,) array or Series
        Response.
    feature_names, target_names : list of str
        Names of the columns; one response.
    frame : DataFrame or None
        Predictors and response together, with ``as_frame=True``.
    simulated : bool
        True for a stand-in made by a random generator, False for measured or published data.
    DESCR, provenance : str
        What the data are, and where they come from.

    Examples
    --------
    >>> Bunch(name="ozone").name
    'ozone'
    """

    def __getattr__(self, key: str) -> Any:
        try:
            return self[key]
        except KeyError:
            raise AttributeError(
                f"this data set has no entry {key!r}; it has {', '.join(self)}"
            ) from None

    def __setattr__(self, key: str, value: Any) -> None:
        self[key] = value

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        if "data" not in self:
            return f"Bunch({', '.join(self)})"
        label = " (simulated)" if self.get("simulated") else ""
        return f"Bunch({self.get('name')!r}{label}, data {self['data'].shape}: {', '.join(self)})"


def make_bunch(
    *,
    data: Array,
    target: Array,
    feature_names: Sequence[str],
    target_name: str,
    as_frame: bool,
    **entries: Any,
) -> Bunch:
    """Put a data set together, with pandas objects if ``as_frame``."""
    bunch = Bunch(
        data=data,
        target=target,
        feature_names=list(feature_names),
        target_names=[target_name],
        frame=None,
        **entries,
    )
    if as_frame:
        _use_frames(bunch)
    return bunch


def _use_frames(bunch: Bunch) -> None:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("pandas", "frame", "as_frame=True") from error
    features, target = bunch.feature_names, bunch.target_names[0]
    frame = pd.DataFrame(bunch.data, columns=features)
    # concat rather than assignment: one more column behind 700 fragments the frame.
    frame = pd.concat([frame, pd.Series(bunch.target, name=target)], axis=1)
    bunch.update(frame=frame, data=frame[features], target=frame[target])


# Files behind the data sets: their hashes, where they are, and how they get there
# --------------------------------------------------------------------------------

FOLDER_VARIABLE = "PLSDOF_DATA"
CACHE_NAME = "plsdof"

Folder = str | os.PathLike[str] | None


class DatasetError(PlsdofError):
    """A data file is broken, or is not the file that was published."""


class DatasetUnavailableError(DatasetError):
    """A published file is neither in the data folder nor can it be downloaded."""


@dataclass(frozen=True, kw_only=True)
class ShippedFile:
    """A file inside the package."""

    filename: str
    sha256: str

    @property
    def path(self) -> Traversable:
        """Where the file is."""
        return files("plsdof.datasets") / "data" / self.filename

    def matches(self, content: bytes) -> bool:
        """Compare the hash, whatever line endings a version control system has put in."""
        return _hash(content.replace(b"\r\n", b"\n")) == self.sha256


@dataclass(frozen=True, kw_only=True)
class PublishedFile:
    """A file at a fixed address, not part of the package."""

    filename: str
    sha256: str
    address: str

    def matches(self, content: bytes) -> bool:
        """Compare the hash."""
        return _hash(content) == self.sha256


OZONE = ShippedFile(
    filename="ozone.csv",
    sha256="a054e531ec90517f6c76ebab5e6bc9470bf51867894a9d6bfaaa81273d63be75",
)
GASOLINE = ShippedFile(
    filename="gasoline.csv",
    sha256="eea806cc70e6ac7260a093f0cd33a0d1f37af4ea1cef7e35f9958d20ccbd8245",
)
COOKIE = PublishedFile(
    filename="cookie.rda",
    sha256="e25f6bfce79aee2c97456c5d435ef339e8d229c7a4bdbaa4241f847def19c201",
    address="https://raw.githubusercontent.com/cran/ppls/"
    "b7de9415acf46a2758c1d8745a58a35a60143af9/data/cookie.rda",
)
KIN32FH = PublishedFile(
    filename="kin32fh.mat",
    sha256="2e0200d706148e17e994806c76a5b1404f09c827e4f135fa416dce223b648e62",
    address="https://raw.githubusercontent.com/marthawhite/reverse-prediction/"
    "6706cbaa8d04e93e77a267743cd6cb7ff7682b91/data/misc/kin32fh.mat",
)


def read_shipped(file: ShippedFile) -> str:
    """Return the text of a shipped file, after checking its hash."""
    try:
        content = file.path.read_bytes()
    except OSError as error:
        raise DatasetError(
            f"{file.filename}, a part of the package, cannot be read ({error}); "
            "install the package again."
        ) from error
    if not file.matches(content):
        raise DatasetError(
            f"{file.path}, a part of the package, has been changed (SHA-256 {_hash(content)}, "
            f"expected {file.sha256}); install the package again."
        )
    return content.decode("ascii")


def read_published(
    file: PublishedFile, *, data_home: Folder = None, download_if_missing: bool = True
) -> bytes:
    """Return the content of a published file, downloading it first where that is needed.

    The bytes returned are the bytes that were hashed. A file found with another hash is reported
    and left as it is: it may be somebody's own.
    """
    path = _path(file, data_home)
    if not is_there(path):
        if not download_if_missing:
            raise DatasetUnavailableError(advice(file, path.parent))
        _download(file, path.parent)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read ({error}); check its permissions.") from error
    if not file.matches(content):
        raise DatasetError(
            f"{path} is not the published file: it has {len(content)} bytes and SHA-256 "
            f"{_hash(content)}, expected {file.sha256}. It is broken or another version; "
            f"delete it to have it downloaded again, or put the file from {file.address} there."
        )
    return content


def data_folder(data_home: Folder = None) -> Path | None:
    """Return the folder for published files; None if it takes pooch to know and pooch is absent."""
    chosen = data_home or os.environ.get(FOLDER_VARIABLE)
    if chosen:
        try:
            return Path(chosen).expanduser()
        except (TypeError, RuntimeError) as error:
            raise InvalidInputError(
                f"data_home and {FOLDER_VARIABLE} must name a folder; got {chosen!r} ({error})."
            ) from error
    pooch = _pooch()
    return None if pooch is None else Path(pooch.os_cache(CACHE_NAME))


def is_own_folder(data_home: Folder = None) -> bool:
    """Tell a folder chosen by the user from the cache of this package."""
    return bool(data_home or os.environ.get(FOLDER_VARIABLE))


def is_there(path: Path) -> bool:
    """Tell whether there is such a file; a path that cannot even be looked up is not there."""
    try:
        return path.is_file()
    except OSError:
        return False


def advice(file: PublishedFile, folder: Path) -> str:
    """Say that a file is missing and what to do about it."""
    return (
        f"{file.filename} is not in {folder}. Download it from {file.address} on any machine and "
        f"put it there, or into another folder named by data_home= or by the environment "
        f"variable {FOLDER_VARIABLE}."
    )


def _path(file: PublishedFile, data_home: Folder) -> Path:
    folder = data_folder(data_home)
    if folder is None:
        raise MissingExtraError("pooch", "data", f"Downloading {file.filename}")
    return folder / file.filename


def _download(file: PublishedFile, folder: Path) -> None:
    pooch = _pooch()
    if pooch is None:
        purpose = f"{file.filename} is not in {folder}, and downloading it"
        raise MissingExtraError("pooch", "data", purpose)
    # It would write to what was stderr when it was imported, --quiet or not, closed or not.
    pooch.get_logger().setLevel("WARNING")
    try:
        # pooch writes to a temporary file and renames it once the hash is right.
        pooch.retrieve(
            url=file.address,
            known_hash=f"sha256:{file.sha256}",
            fname=file.filename,
            path=folder,
        )
    except OSError as error:
        raise DatasetUnavailableError(
            f"{advice(file, folder)} The download failed: {type(error).__name__}: {error}"
        ) from error
    except ValueError as error:
        raise DatasetError(
            f"What came from {file.address} is not the published {file.filename} (expected "
            f"SHA-256 {file.sha256}); nothing was kept. Try again later, and look out for a "
            f"proxy or login page in between. {error}"
        ) from error


def _pooch() -> Any:
    try:
        import pooch
    except ImportError:
        return None
    return pooch


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()


# What data sets there are, where their files are, and whether these are intact
# -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DatasetStatus:
    """One data set and the state of its file.

    Attributes
    ----------
    name, function : str
        Name, and the function of `plsdof.datasets` that gives the data.
    shape : (int, int)
        Rows and predictors that the function gives by default.
    state : {"shipped", "cached", "local", "missing"}
        Part of the package; downloaded into the cache of this package; found in a folder chosen
        by the user; not there.
    location : str
        Path of the file, or where it would be; empty if only an absent package could tell.
    address : str or None
        Where a missing file can be downloaded; None for a shipped one.
    hash_ok : bool or None
        Whether the file is the one published; None if it is missing.
    stand_in : str or None
        Function of `plsdof.datasets` that simulates a replacement.
    message : str
        The state in words, with what to do about it.
    """

    name: str
    function: str
    shape: tuple[int, int]
    state: str
    location: str
    address: str | None
    hash_ok: bool | None
    stand_in: str | None
    message: str

    @property
    def usable(self) -> bool:
        """True if the file is there and intact."""
        return self.hash_ok is True


@dataclass(frozen=True, kw_only=True)
class _Entry:
    name: str
    function: str
    shape: tuple[int, int]
    file: ShippedFile | PublishedFile
    stand_in: str | None = None


_CATALOGUE = (
    _Entry(name="ozone", function="load_ozone", shape=(203, 12), file=OZONE),
    _Entry(name="gasoline", function="load_gasoline", shape=(60, 401), file=GASOLINE),
    _Entry(
        name="cookie",
        function="fetch_cookie",
        shape=(70, 700),
        file=COOKIE,
        stand_in="make_spectra",
    ),
    _Entry(
        name="kin32fh",
        function="fetch_kin32fh",
        shape=(8192, 32),
        file=KIN32FH,
        stand_in="make_kin",
    ),
)


def dataset_status(*, data_home: Folder = None) -> list[DatasetStatus]:
    """List the data sets, find their files and verify their hashes. Nothing is downloaded.

    Parameters
    ----------
    data_home : folder, optional
        Where to look for the published files, as in `fetch_cookie`.

    Examples
    --------
    >>> for status in dataset_status()[:2]:
    ...     print(status.name, status.shape, status.state, status.hash_ok)
    ozone (203, 12) shipped True
    gasoline (60, 401) shipped True
    """
    return [_status(entry, data_home) for entry in _CATALOGUE]


def _status(entry: _Entry, data_home: Folder) -> DatasetStatus:
    if isinstance(entry.file, ShippedFile):
        return _shipped_status(entry, entry.file)
    return _published_status(entry, entry.file, data_home)


def _shipped_status(entry: _Entry, file: ShippedFile) -> DatasetStatus:
    intact = _intact(file, file.path)
    return DatasetStatus(
        name=entry.name,
        function=entry.function,
        shape=entry.shape,
        state="shipped",
        location=str(file.path),
        address=None,
        hash_ok=intact,
        stand_in=entry.stand_in,
        message="Part of the package." if intact else "Broken: install the package again.",
    )


def _published_status(entry: _Entry, file: PublishedFile, data_home: Folder) -> DatasetStatus:
    folder = data_folder(data_home)
    path = None if folder is None else folder / file.filename
    found = path is not None and is_there(path)
    present = "local" if is_own_folder(data_home) else "cached"
    intact = _intact(file, path) if path is not None and found else None
    return DatasetStatus(
        name=entry.name,
        function=entry.function,
        shape=entry.shape,
        state=present if found else "missing",
        location="" if path is None else str(path),
        address=file.address,
        hash_ok=intact,
        stand_in=entry.stand_in,
        message=_in_words(entry, file, folder, intact),
    )


def _in_words(entry: _Entry, file: PublishedFile, folder: Path | None, intact: bool | None) -> str:
    if intact:
        return "Intact."
    if intact is False:
        return (
            f"Broken or another version: delete it and call {entry.function}(), or put the file "
            f"from {file.address} there."
        )
    offline = f"{entry.stand_in}() simulates a stand-in."
    if folder is None:
        return f"Install 'plsdof[data]' and call {entry.function}() to download it; {offline}"
    return f"Call {entry.function}() to download it. {advice(file, folder)} {offline}"


def _intact(file: ShippedFile | PublishedFile, path: Traversable | Path) -> bool:
    try:
        return file.matches(path.read_bytes())
    except OSError:
        return False
