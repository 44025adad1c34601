"""What data sets there are, where their files are, and whether these are intact."""

from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

from plsdof.datasets.published import (
    COOKIE,
    GASOLINE,
    KIN32FH,
    OZONE,
    Folder,
    PublishedFile,
    ShippedFile,
    advice,
    data_folder,
    is_own_folder,
    is_there,
)


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
