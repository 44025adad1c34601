"""A text response: one request becomes one classification, what there is to say about it."""

import io
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._core.choice import LEFT_OUT
from plsdof._core.left_out import MOST_COMPONENTS
from plsdof._core.remarks import Remark
from plsdof._core.threads import cached_property
from plsdof.chemometrics.classes import ClassErrors
from plsdof.errors import InvalidInputError
from plsdof.inference.resampling import PermutationTest
from plsdof.workbench.analysis.data import TableProblem, data_texts
from plsdof.workbench.analysis.request import AUTO, Request
from plsdof.workbench.analysis.result import TWO_DECIMALS, Fact, Result, Table, as_column

if TYPE_CHECKING:  # needs scikit-learn, which takes a second to import
    from plsdof.estimators.classifier import PLSClassifier

# What belongs to numbers only, with its default.
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

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What is worth knowing about the data."""
        return data_texts(self.data)

    @cached_property
    def result(self) -> Result:
        """What there is to say, as every door shows it."""
        m, (n, p), left = self.model, self.data.shape, self.model.left_out_
        errors = {f"error.{kind}": one.error for kind, one in self.errors.items()}
        facts = {
            "response": Fact(value=self.data.response),
            "n": Fact(value=n),
            "p": Fact(value=p),
            "n_components": Fact(value=m.n_components_, label="components"),
            "dof": Fact(value=m.dof_, label="Degrees of Freedom", error=TWO_DECIMALS),
            "summary": Fact(value=self.summary, label="Model"),
            "created": Fact(value=self.created),
            "permutation": Fact(value=self.permutation and self.permutation.p_value),
        }
        facts |= {
            name: Fact(value=value, label=f"error of {_ROWS[name.partition('.')[2]]}", error=0.01)
            for name, value in errors.items()
        }
        if self.permutation is not None:
            facts["permutations"] = Fact(value=self.permutation.message, label="Permutations")
        pictures: dict[str, Any] = {
            "classes": [str(one) for one in m.classes_],
            "models": {"log_loss": left.log_loss, "error": left.error},
        }
        tables: dict[str, Table] = {}
        for kind, one in self.errors.items():
            tables |= _by_class(kind, one)
        pictures |= {f"confusions.{kind}": one.matrix for kind, one in self.errors.items()}
        return Result(
            title=f"{self.data.response:.40}: {len(m.classes_)} classes, {n} rows, {p} predictors",
            facts=facts,
            tables=tables,
            remarks=self.remarks,
            pictures=pictures,
            main=f"errors.{LEFT_OUT}",
        )

    def picture(self) -> str:
        """Draw probabilities, confusions and errors, as SVG."""
        from plsdof.plotting.curves import class_figure

        drawn = io.StringIO()
        class_figure(self.model).savefig(drawn, format="svg")
        _, start, rest = drawn.getvalue().partition("<svg")
        return start + rest


_ROWS = {LEFT_OUT: "held-out rows", "calibration": "fitted rows", "test": "test rows"}


def _by_class(kind: str, found: ClassErrors) -> dict[str, Table]:
    """Return what rows of every class were taken for, and the measures with their limits."""
    names = [str(one) for one in found.classes]
    counts = {"class": as_column(names, "class, predicted as")} | {
        name: as_column(_counts(column), f"{name:.16}")
        for name, column in zip(names, found.matrix.T, strict=True)
    }
    shares = {"class": as_column(names, "class")}
    for name, values in found.columns().items():
        label, counted = name.rpartition(" ")[2], name == "rows"
        values = _counts(values) if counted else values
        shares[name] = as_column(
            values,
            label,
            error=None if counted else TWO_DECIMALS,
            brief=not name.startswith("precision "),
        )
    title = f"Classes of {_ROWS[kind]}, error {found.error:.3f}"
    return {
        f"counts.{kind}": Table(columns=counts, title=title),
        f"errors.{kind}": Table(columns=shares, title=f"Errors of {_ROWS[kind]}"),
    }


def _counts(values: Any) -> Any:
    """Return numbers of rows, as whole numbers unless rows are weighted."""
    whole = np.asarray(values)
    return whole.astype(int) if np.all(whole % 1 == 0) else whole


def classified(data: TableProblem, request: Request) -> ClassAnalysis:
    """Fit a classifier to rows whose response are numbers of classes (`Rows.classes`)."""
    from plsdof.estimators.classifier import PLSClassifier

    if request.preprocess in AUTO:
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
        scale=request.scales,
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
