"""The three data sets of the paper, or labelled stand-ins for what is out of reach."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from plsdof._validation import Array, read_only
from plsdof.datasets import (
    Bunch,
    DatasetUnavailableError,
    fetch_cookie,
    fetch_kin32fh,
    load_ozone,
    make_kin,
    make_spectra,
)
from plsdof.datasets.published import Folder
from plsdof.errors import MissingExtraError
from plsdof.experiments.settings import generator


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A data set and where it comes from.

    Attributes
    ----------
    name : str
        "kin (fh)", "ozone" or "cookie", as in the paper.
    X, y : arrays
        Predictors (n, p) and response (n,).
    stand_in : str
        What was simulated instead of the published data; empty for published data.
    reason : str
        Why the published data were not used.
    """

    name: str
    X: Array
    y: Array
    stand_in: str = ""
    reason: str = ""

    @property
    def label(self) -> str:
        """Name, with a mark on stand-ins."""
        return f"{self.name} (stand-in)" if self.stand_in else self.name

    def first(self, rows: int) -> "Source":
        """Keep the first rows."""
        return replace(self, X=self.X[:rows], y=self.y[:rows])


def load_sources(data_home: Folder, seed: int) -> dict[str, Source]:
    """Load kin, ozone and cookie; simulate kin and cookie where they cannot be had."""
    return {
        "kin": _or_stand_in(
            "kin (fh)",
            lambda: fetch_kin32fh(data_home=data_home),
            lambda: make_kin(random_state=generator(seed, "kin stand-in")),
            "make_kin",
        ),
        "ozone": load_ozone_source(),
        "cookie": _or_stand_in(
            "cookie",
            lambda: fetch_cookie(data_home=data_home),
            lambda: make_spectra(random_state=generator(seed, "cookie stand-in")),
            "make_spectra",
        ),
    }


def load_ozone_source() -> Source:
    """Load the 203 complete rows of ozone, which are part of the package."""
    return _source("ozone", load_ozone())


def _or_stand_in(
    name: str, fetch: Callable[[], Bunch], make: Callable[[], Bunch], maker: str
) -> Source:
    try:
        return _source(name, fetch())
    except (DatasetUnavailableError, MissingExtraError) as error:
        stand_in = (
            f"{name} was not available: SIMULATED STAND-IN from plsdof.datasets.{maker}, "
            "not the published data."
        )
        return replace(_source(name, make()), stand_in=stand_in, reason=str(error))


def _source(name: str, bunch: Bunch) -> Source:
    return Source(name=name, X=read_only(bunch.data), y=read_only(bunch.target))
