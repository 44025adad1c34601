"""Make the shipped CSV files from Debian's packages of mlbench and pls.

Run once, kept so that anyone can repeat it byte for byte::

    dpkg-deb --extract r-cran-mlbench_2.1-3-1_amd64.deb unpacked
    dpkg-deb --extract r-cran-pls_2.8-1-1_all.deb unpacked
    python -m plsdof.datasets._export unpacked/usr/lib/R/site-library OUTPUT_FOLDER

Only data are read, no R code. Needs the package ``rdata``.
"""

import sys
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def export(site_library: Path, output: Path) -> None:
    """Write ozone.csv and gasoline.csv into the folder ``output``."""
    for name, text in (
        ("ozone.csv", ozone_csv(site_library / "mlbench" / "data" / "Ozone.rda")),
        ("gasoline.csv", gasoline_csv(site_library / "pls" / "data" / "Rdata")),
    ):
        (output / name).write_bytes(text.encode("ascii"))


def ozone_csv(path: Path) -> str:
    """Return all 366 rows of mlbench's Ozone, columns V1..V13, missing values as empty cells."""
    import rdata

    frame = rdata.read_rda(path, default_encoding="ascii")["Ozone"]
    columns = [np.asarray(frame[name].astype(str).astype(float)) for name in frame.columns]
    return _csv([str(name) for name in frame.columns], zip(*columns, strict=True))


def gasoline_csv(database: Path) -> str:
    """Return octane and the 401 absorbances of pls's gasoline, one column per wavelength."""
    import rdata

    # A data frame with a matrix inside is more than pandas can hold; a dict will do.
    plain: dict[str | bytes, Any] = dict.fromkeys(("data.frame", "AsIs"), lambda value, _: value)
    parsed = rdata.parser.parse_data(lazy_load(database, "gasoline"), extension=".rds")
    columns = rdata.conversion.convert(parsed, constructor_dict=plain, default_encoding="ascii")
    spectra = columns["NIR"]
    nanometres = [str(label).removesuffix(" nm") for label in spectra.coords["dim_1"].values]
    rows = np.column_stack([columns["octane"], spectra.values])
    return _csv(["octane", *nanometres], rows)


def lazy_load(database: Path, name: str) -> bytes:
    """Return the serialised object ``name`` of an R lazy-load database.

    ``database.rdx`` is an index from names to (offset, length) in ``database.rdb``, where a chunk
    is its uncompressed length (four bytes, big-endian) followed by a zlib stream.
    """
    import rdata

    index = rdata.read_rds(database.with_suffix(".rdx"), default_encoding="ascii")
    offset, length = (int(value) for value in index["variables"][name])
    chunk = database.with_suffix(".rdb").read_bytes()[offset : offset + length]
    content = zlib.decompress(chunk[4:])
    if len(content) != int.from_bytes(chunk[:4], "big"):
        raise ValueError(f"{name} in {database} is {len(content)} bytes long, not as announced.")
    return content


def _csv(header: Sequence[str], rows: Iterable[Any]) -> str:
    lines = [",".join(header), *(",".join(map(_cell, row)) for row in rows)]
    return "\n".join(lines) + "\n"


def _cell(value: float) -> str:
    """Return the shortest text that reads back as the same number; nothing for a missing one."""
    return "" if np.isnan(value) else repr(float(value)).removesuffix(".0")


if __name__ == "__main__":
    export(Path(sys.argv[1]), Path(sys.argv[2]))
