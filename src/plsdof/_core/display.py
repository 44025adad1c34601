"""How results show themselves: in one line, and as a data frame."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof.errors import MissingExtraError


def one_line(result: object, *facts: str, **values: object) -> str:
    """Return the class of a result with what matters about it, for its ``repr``.

    Examples
    --------
    >>> one_line(1.5, "3 models", n=20.0, solver="svd")
    "float(3 models, n=20, solver='svd')"
    """
    named = (f"{name}={_shown(value)}" for name, value in values.items())
    return f"{type(result).__name__}({', '.join([*facts, *named])})"


def data_frame(columns: Mapping[str, Any], names: Sequence[Any] | None = None) -> Any:
    """Return columns as a pandas data frame, with the names of the rows where they are known.

    Examples
    --------
    >>> data_frame({"coef": [1.0, 2.0]}, ["fat", "water"])
           coef
    fat     1.0
    water   2.0
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("pandas", "frame", "A data frame") from error
    # A copy: results are read-only, frames are not.
    index = None if names is None else list(names)
    return pd.DataFrame(dict(columns), index=index, copy=True)


def parameter_column(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return the parameters of models as they are shown: whole numbers of components, or alphas."""
    return values.astype(np.intp) if name == "n_components" else values


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)
