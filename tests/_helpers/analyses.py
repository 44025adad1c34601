"""Analyses of arrays and frames, as `plsdof.workbench.fit` makes them."""

from dataclasses import replace

import numpy as np
import pandas as pd

from plsdof import workbench
from plsdof.workbench import Request


def analyse(X, y, request=None, response="y"):
    """Return what there is to say about a fit to predictors and a response."""
    frame = X if hasattr(X, "columns") else pd.DataFrame(X).add_prefix("x")
    table = frame.reset_index(drop=True).assign(**{response: np.asarray(y)})
    return workbench.fit(table, replace(request or Request(), response=response)).analysis
