"""The container every data set comes in: scikit-learn's Bunch convention, without scikit-learn."""

from collections.abc import Iterable, Sequence
from typing import Any

from plsdof._validation import Array
from plsdof.errors import MissingExtraError

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
