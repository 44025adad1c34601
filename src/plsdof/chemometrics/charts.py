"""Control charts: errors in time order, each over its expected size, with limits and rules."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtrit

from plsdof._core.display import one_line
from plsdof._core.inputs import Array, as_float, read_only

# Weight of the latest error in the exponentially weighted moving average, and the standard
# deviation of the average for errors with standard deviation 1.
EWMA_WEIGHT = 0.4
EWMA_SPREAD = math.sqrt(EWMA_WEIGHT / (2.0 - EWMA_WEIGHT))
# With so many degrees of freedom Student's t is normal.
_NORMAL_DF = 1e9
# A run of so many errors on one side of zero is not chance (1 in 256).
_RUN = 9


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ControlChart:
    """Errors over their expected sizes in time order, with limits; see `control_chart`.

    Attributes
    ----------
    errors, ewma : (n,) arrays
    warning, action, ewma_limit : float
    alarms : mapping from a rule to an (n,) array of bool
        Where it was broken: "action", "two of three", "nine on one side", "ewma".
    start : int
        Where the errors of the last check begin.
    names : tuple of str
        What they are called; empty for numbers.
    """

    errors: Array
    ewma: Array
    warning: float
    action: float
    ewma_limit: float
    alarms: Mapping[str, npt.NDArray[np.bool_]]
    start: int = 0
    names: tuple[str, ...] = field(default=())

    @property
    def sentences(self) -> tuple[str, ...]:
        """Which rules the errors of the last check break, and first by which of them."""
        found = []
        for rule, where in self.alarms.items():
            places = np.flatnonzero(where[self.start :]).tolist()
            more = f", and {len(places) - 1} more" if len(places) > 1 else ""
            for first in places[:1]:
                size = f"{self.errors[self.start + first]:.3g} times its expected size"
                called = f"row {self.names[first]}" if self.names else f"error {first + 1}"
                found.append(f"{_RULES[rule]}: {called}, {size}{more}.")
        return tuple(found)

    def __repr__(self) -> str:
        broken = [rule for rule, where in self.alarms.items() if where.any()]
        return one_line(
            self, f"{len(self.errors)} errors", f"alarms: {', '.join(broken) or 'none'}"
        )


_RULES = {
    "action": "Beyond the action limit",
    "two of three": "Two of three beyond the same warning limit",
    "nine on one side": "Nine in a row on one side of zero",
    "ewma": "Moving average (EWMA) beyond its limit",
}


def control_chart(
    errors: Any,
    expected: Any,
    df: float = math.inf,
    *,
    start: int = 0,
    names: Sequence[str] = (),
) -> ControlChart:
    """Return the control chart of errors in time order, each over its expected size.

    With z = error / expected size, warning and action limits are crossed as often as 2 and 3
    standard deviations by a normal error: 4.6 % and .27 % of Student's t. Alarms: one error beyond
    an action limit; two of three beyond the same warning limit; nine in a row on one side of zero;
    the exponentially weighted moving average w_i = .4 z_i + .6 w_{i-1} beyond the action limit
    times sqrt(.4 / 1.6). In the average an error beyond the action limit
    is taken to be at that limit: one sample alone is not a drift.

    Parameters
    ----------
    errors : (n,) array
        Predicted minus reference.
    expected : float or (n,) array
        How large errors usually are: RMSECV, or the sizes that `check_calibration` gives.
    df : float
        Degrees of freedom of that: rows of the calibration less those of the model.
    start : int
        Where the errors of the last check begin: sentences are about these.
    names : sequence of str
        Of these errors.

    References
    ----------
    Western Electric (1956), Statistical Quality Control Handbook; S. W. Roberts (1959),
    Technometrics 1, 239-250 (EWMA).

    Examples
    --------
    >>> control_chart([0.1, -0.2, 0.9, 0.1, 0.8], 0.35)
    ControlChart(5 errors, alarms: two of three)
    """
    e = as_float(errors, "errors").reshape(-1)
    z = e / np.broadcast_to(as_float(expected, "expected"), e.shape)
    from scipy.signal import lfilter  # importing it takes half a second

    df = min(df, _NORMAL_DF)
    warning, action = (float(-stdtrit(df, float(ndtr(-sd)))) for sd in (2.0, 3.0))
    near = np.clip(z, -action, action)
    ewma = np.asarray(lfilter([EWMA_WEIGHT], [1.0, EWMA_WEIGHT - 1.0], near)) if len(e) else near
    sides = (z, -z)
    alarms = {
        "action": np.abs(z) > action,
        "two of three": np.any([(v > warning) & _recent(v > warning, 3, 2) for v in sides], 0),
        "nine on one side": np.any([_recent(v > 0, _RUN, _RUN) for v in sides], axis=0),
        "ewma": np.abs(ewma) > action * EWMA_SPREAD,
    }
    return ControlChart(
        errors=read_only(z),
        ewma=read_only(ewma),
        warning=warning,
        action=action,
        ewma_limit=action * EWMA_SPREAD,
        alarms=alarms,
        start=start,
        names=tuple(names),
    )


def _recent(hits: npt.NDArray[np.bool_], window: int, least: int) -> npt.NDArray[np.bool_]:
    """Return where at least so many of the last ``window`` entries are hits."""
    counts = np.cumsum(np.concatenate([np.zeros(window, dtype=int), hits]))
    return np.asarray(counts[window:] - counts[:-window] >= least)
