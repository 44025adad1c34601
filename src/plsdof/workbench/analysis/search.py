"""A search of columns inside an analysis: what it finds, and what it costs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof._core.choice import LEFT_OUT
from plsdof._core.display import plural, significant
from plsdof._core.inputs import Array, read_only
from plsdof.chemometrics.merit import figures_of_merit
from plsdof.workbench.analysis import remarks as words
from plsdof.workbench.analysis.data import TableProblem
from plsdof.workbench.analysis.request import Request
from plsdof.workbench.analysis.result import in_text

# Largest model that a search of columns looks at, and how often it is done again to count its cost.
SEARCHED_COMPONENTS, _DRAWS = 10, 50


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchCost:
    """What a search of columns found, and what it costs.

    Attributes
    ----------
    found : Search
    dof : DegreesOfFreedom
        Of the whole search, by Monte Carlo.
    residuals : (n,) array
        Of held-out rows, with the whole search in every fold.
    words : str
    """

    found: Any
    dof: Any
    residuals: Array
    words: str


def searched(data: TableProblem, request: Request) -> SearchCost:
    """Search, count the Degrees of Freedom of the search, and leave rows out of all of it."""
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline

    from plsdof.chemometrics.preprocessor import Preprocessor
    from plsdof.chemometrics.search import SelectedPLSRegressor
    from plsdof.complexity.regressors import degrees_of_freedom

    assert request.select is not None
    assert request.max_components is not None
    estimator = SelectedPLSRegressor(
        request.select,
        criterion=request.criterion or LEFT_OUT,
        max_components=request.max_components,
        scale=request.scales,
    )
    X, y = np.asarray(data.X, dtype=np.float64), data.y
    found = estimator.fit(X, y).search_
    whole = degrees_of_freedom(estimator, X, y, n_draws=_DRAWS)
    repeated, rows, chain = estimator, X, data.preprocessing
    if chain is not None and chain.learns_from_rows:
        repeated = make_pipeline(Preprocessor(chain.steps), estimator)
        rows = np.asarray(data.rows.X, dtype=np.float64)
    cv = data.folds(request.cv or 10, request.seed)
    residuals = y - cross_val_predict(repeated, rows, y, cv=cv)
    # What noise level and GCV are if the search is paid for.
    n, rss = len(y), float(found.path.rss[found.index])
    left = n - whole.value
    cost = "That leaves nothing to tell the noise level by."
    if left > 0:
        gcv, without = n * rss / left**2, n * float(np.sum((y - y.mean()) ** 2)) / (n - 1) ** 2
        sigma, *two = map(significant, (np.sqrt(rss / left), gcv, without))
        cost = f"With these, sigma is {sigma} and GCV {two[0]}; without predictors GCV is {two[1]}."
        cost += " Nothing was found that predicts." if gcv >= without else ""
    merit = figures_of_merit(y, y - residuals)
    said = words.said(
        "search",
        search=request.select,
        label=found.labels[found.chosen],
        kept=int(found.support.sum()),
        total=plural(len(found.support), "column"),
        fixed=float(found.path.dof[found.index]),
        whole=whole.value,
        error=whole.std_error,
        cost=cost,
        rmsecv=in_text(merit.rmse, merit.std_errors["rmse"]),
        q2=in_text(merit.r2, merit.std_errors["r2"]),
    )
    return SearchCost(found=found, dof=whole, residuals=read_only(residuals), words=said.words)
