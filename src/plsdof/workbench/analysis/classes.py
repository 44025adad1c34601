"""A text response: one request becomes one classification, what there is to say about it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._core.choice import LEFT_OUT
from plsdof._core.left_out import MOST_COMPONENTS
from plsdof.chemometrics.classes import ClassErrors
from plsdof.errors import InvalidInputError
from plsdof.inference.resampling import PermutationTest
from plsdof.workbench.analysis.data import TableProblem
from plsdof.workbench.analysis.request import AUTO, Request

if TYPE_CHECKING:  # needs scikit-learn, which takes a second to import
    from plsdof.estimators.classifier import PLSClassifier

# What belongs to numbers only, with its value where nobody asks for it.
_NOT_FOR_CLASSES: dict[str, Any] = {
    "method": "pls",
    "criterion": LEFT_OUT,
    "seed": None,
    "intervals": None,
    "covariance": "homoscedastic",
    "select": None,
    "opls": False,
    "std_errors": None,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassAnalysis:
    """Everything there is to say about one classification.

    Attributes
    ----------
    request : Request
    data : TableProblem
        Its response are numbers of the classes.
    model : PLSClassifier
    errors : dict of ClassErrors
        By the rows they are of: "left-out", "calibration", "test".
    permutation : PermutationTest or None
    created : str
        When (UTC, ISO 8601).
    """

    request: Request
    data: TableProblem
    model: "PLSClassifier"
    errors: dict[str, ClassErrors]
    permutation: PermutationTest | None
    created: str

    @property
    def summary(self) -> str:
        """The model in a sentence or two."""
        m = self.model
        chosen = f"{m.n_components_} components, as asked for."
        return (
            f"{chosen if m.selection_ is None else m.selection_.message} Complexity {m.dof_:.1f}: "
            "Degrees of Freedom of the regression on the coded classes, how strongly it reacts to "
            "labels."
        )

    def tables(self) -> dict[str, dict[str, Any]]:
        """Return the errors by class as tables, by the rows they are of."""
        classes = [str(one) for one in self.model.classes_]
        return {
            f"errors {rows}": {"class": classes, **found.columns()}
            for rows, found in self.errors.items()
        }

    def to_content(self) -> dict[str, Any]:
        """Return the analysis as numbers and texts by name."""
        m, left = self.model, self.model.left_out_
        return {
            "response": self.data.response,
            "classes": [str(one) for one in m.classes_],
            "n_components": m.n_components_,
            "dof": m.dof_,
            "models": {"log_loss": left.log_loss.tolist(), "error": left.error.tolist()},
            "errors": {
                rows: {"matrix": found.matrix.tolist(), "error": found.error}
                | {name: values.tolist() for name, values in found.columns().items()}
                for rows, found in self.errors.items()
            },
            "summary": self.summary,
            "permutation": None if self.permutation is None else self.permutation.p_value,
            "notes": [*self.data.doubts, *self.data.notes],
            "created": self.created,
        }


def classified(data: TableProblem, request: Request) -> ClassAnalysis:
    """Fit a classifier to rows whose response are numbers of classes (`Rows.classes`)."""
    from plsdof.estimators.classifier import PLSClassifier

    if request.preprocess == AUTO:
        raise InvalidInputError(
            f"{data.response!r} holds text, and preprocess 'auto' chooses among recipes for "
            "numbers; name the steps, such as snv."
        )
    for name, usual in _NOT_FOR_CLASSES.items():
        if getattr(request, name) not in (None, usual):
            raise InvalidInputError(
                f"{data.response!r} holds text, and {name.replace('_', '-')} is for numbers; leave "
                "it out."
            )
    classes = np.array(data.rows.classes)
    labels = classes[data.y.astype(np.intp)]
    model = PLSClassifier(
        LEFT_OUT if request.components is None else request.components,
        max_components=request.max_components or MOST_COMPONENTS,
        scale=data.wavelengths is None if request.scale is None else request.scale,
        cv=request.cv,
        novelty=request.novelty,
    ).fit(data.X, labels, data.rows.weights, data.groups)
    errors = {
        LEFT_OUT: model.errors(level=request.level),
        "calibration": model.errors(rows="calibration", level=request.level),
    }
    if data.test is not None:
        chain = data.preprocessing
        X = data.test.X if chain is None else data.test.preprocessed(chain, fit=False)
        true = classes[data.test.y.astype(np.intp)]
        errors["test"] = model.errors(X, true, level=request.level)
    tested = None
    if request.permutations is not None:
        if data.rows.weights is not None:
            raise InvalidInputError("permutations need rows of equal weight; leave them out.")
        draws = request.permutations
        tested = model.permutation_test(data.X, labels, data.groups, n_permutations=draws)
    return ClassAnalysis(
        request=request,
        data=data,
        model=model,
        errors=errors,
        permutation=tested,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
