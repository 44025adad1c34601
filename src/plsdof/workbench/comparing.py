"""PLS, principal components and ridge regression on the scale of Degrees of Freedom."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plsdof._core.choice import LEFT_OUT
from plsdof._core.criteria import CRITERIA
from plsdof._core.fit import METHODS, method_label
from plsdof._core.inputs import as_choice
from plsdof._core.remarks import Remark
from plsdof._core.warnings import quietly
from plsdof.complexity.comparison import Comparison
from plsdof.errors import InvalidInputError
from plsdof.workbench.analysis import Request
from plsdof.workbench.analysis.analysis import chosen, fitted, left_out
from plsdof.workbench.analysis.data import TableProblem, data_texts
from plsdof.workbench.analysis.remarks import group_remarks, preprocessing_remarks
from plsdof.workbench.analysis.tables import records
from plsdof.workbench.choosing import as_table
from plsdof.workbench.problems import problems_of


@dataclass(frozen=True, kw_only=True)
class Compared:
    """All models of all methods.

    Attributes
    ----------
    data : TableProblem
    criterion : str
        By which a model of each method is chosen.
    models : Comparison
    rows : dict of int
        Of each method the row chosen.
    scores : dict of float
        Of these.
    """

    data: TableProblem
    criterion: str
    models: Comparison
    rows: dict[str, int]
    scores: dict[str, float]

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What is worth knowing about the table."""
        return (
            *data_texts(self.data),
            *group_remarks(self.data),
            *preprocessing_remarks(self.data, left_out=True),
        )

    @property
    def words(self) -> str:
        """What the chosen models cost, and whose error is smallest."""
        costs = {method_label(name): self.models.dof[row] for name, row in self.rows.items()}
        best = min(self.rows, key=lambda name: self.rmsecv[self.rows[name]])
        words = ", ".join(f"{label} {value:.1f}" for label, value in costs.items())
        # The mean has one.
        if min(costs.values()) >= 1.0 - 1e-9:
            words += f"; {min(costs, key=lambda one: costs[one])} is the most economical."
        else:
            words += ". Fewer than 1: small changes of the response would change the components."
        return (
            f"Degrees of Freedom used: {words} The smallest cross-validated error is that of "
            f"{method_label(best)}."
        )

    def to_content(self) -> dict[str, Any]:
        """Return everything there is to say, for machines."""
        columns = self.models.columns() | {"rmsec": self.rmsec, "rmsecv": self.rmsecv}
        facts = {"file": self.data.source, "response": self.data.response, "n": len(self.data.y)}
        facts |= {"p": len(self.data.names), "rows_dropped": self.data.dropped}
        return facts | {
            "criterion": self.criterion,
            "models": records(columns),
            "chosen": self.rows,
            "notes": [one.words for one in self.remarks],
        }

    @property
    def rmsec(self) -> Any:
        """Root mean squared errors of the fitted rows, of all models."""
        return np.sqrt(self.models.train_error)

    @property
    def rmsecv(self) -> Any:
        """Root mean squared cross-validated errors, of all models."""
        return np.sqrt(self.models.cv_error)


def compare(table: Any, request: Request) -> Compared:
    """Fit all methods with the same scaling and held-out rows, and choose a model of each.

    Parameters
    ----------
    table : Table or data frame
    request : Request
        Of one response; its method does not matter.

    Returns
    -------
    Compared

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> compare(X.assign(ozone=y), Request(response="ozone", cv=5)).rows["pls"]
    12
    """
    known = as_table(table)
    criterion = as_choice(request.criterion or LEFT_OUT, "criterion", (LEFT_OUT, *CRITERIA))
    if len(request.response) > 1 or request.steps == "auto":
        raise InvalidInputError("a comparison is about one --response and one --preprocess.")
    (data,) = problems_of(known, request)
    if data.rows.classes:
        raise InvalidInputError(f"{data.response!r:.40} holds text; a comparison is about numbers.")
    asked = replace(request, preprocess=request.steps, criterion=criterion, max_components=None)
    with quietly():
        return _compared(data, asked, request.max_components)


def _compared(problem: TableProblem, request: Request, max_components: int | None) -> Compared:
    paths, errors, rows, scores, start = {}, {}, {}, {}, 0
    for name, method in METHODS.items():
        size = max_components if method.size == "max_components" else None
        changes: dict[str, Any] = {"method": name, "max_components": size}
        one = replace(request, **changes)
        path = paths[name] = fitted(problem, one)
        left = left_out(problem, replace(one, criterion="bic"), path)  # of all models
        assert left is not None
        selection, _ = chosen(path, left, one)
        rows[name] = start + selection.index
        scores[name] = float(selection.scores[selection.index])
        errors[name] = left.rmse**2
        start += len(path)
    models = Comparison.of(paths, errors, criteria=tuple(CRITERIA))
    facts: dict[str, Any] = {"data": problem, "criterion": request.criterion}
    return Compared(**facts, models=models, rows=rows, scores=scores)
