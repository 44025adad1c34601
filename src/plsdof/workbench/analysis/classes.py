"""A text response: one request becomes one classification, what there is to say about it."""

import io
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._core.choice import LEFT_OUT
from plsdof._core.display import one_line, plural
from plsdof._core.left_out import MOST_COMPONENTS
from plsdof._core.remarks import Remark
from plsdof._core.threads import cached_property
from plsdof.chemometrics.discriminant import ClassErrors
from plsdof.errors import InvalidInputError
from plsdof.inference.resampling import PermutationTest
from plsdof.workbench.analysis import remarks as words
from plsdof.workbench.analysis.data import TableProblem
from plsdof.workbench.analysis.request import AUTO, Request
from plsdof.workbench.analysis.result import TWO_DECIMALS, Fact, Result, Table, as_column, in_text
from plsdof.workbench.analysis.tables import shared_facts, short_path, title

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


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        return one_line(self, repr(self.model), response=self.data.response)

    @property
    def choice(self) -> str:
        """The choice in words, with what the Degrees of Freedom are of."""
        m = self.model
        chosen = f"{plural(m.n_components_, 'component')}, as asked for."
        if m.selection_ is not None:
            chosen = m.selection_.summary
        dof = in_text(m.dof_, TWO_DECIMALS)
        return f"{chosen} The regression on the coded classes uses {dof} Degrees of Freedom."

    @cached_property
    def recipe(self) -> dict[str, str]:
        """How all of this was made, for the record."""
        groups = None if self.data.groups is None else len(set(self.data.groups.tolist()))
        return words.recorded(
            self.data,
            self.request,
            method="PLS discriminant analysis",
            held_out=words.scheme_in_words(self.model.left_out_.fold, groups),
            created=self.created,
        )

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What is worth knowing: of the data, of the choice, of the preprocessing."""
        data, selection = self.data, self.model.selection_
        return (
            *data.remarks,
            *([] if selection is None else words.selection_remarks(selection, data)),
            *words.preprocessing_remarks(data, words.ONCE),
            *words.group_remarks(data),
        )

    @cached_property
    def result(self) -> Result:
        """What there is to say, as every door shows it."""
        m, data = self.model, self.data
        facts = shared_facts(self, m.n_components_, m.dof_) | {
            f"error.{kind}": Fact(value=one.error, label=f"error of {_ROWS[kind]}", error=0.01)
            for kind, one in self.errors.items()
        }
        tables = {"models": _models(m)}
        for kind, one in self.errors.items():
            tables |= _by_class(kind, one)
        names = [str(one) for one in m.classes_]
        return Result(
            title=f"{title(data, self.request.scales)} in {len(names)} classes",
            facts=facts,
            tables=tables,
            remarks=self.remarks,
            pictures={"classes": names}
            | {f"confusions.{kind}": one.matrix for kind, one in self.errors.items()},
            record=self.recipe,
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


def _models(model: "PLSClassifier") -> Table:
    """Return one row per model: log loss and share of wrong classes of held-out rows."""
    left = model.left_out_
    error, sizes = left.error, np.arange(len(left.error))
    columns = {
        "n_components": as_column(sizes, "m"),
        "dof": as_column(model.path_.dof[sizes], "DoF", error=TWO_DECIMALS),
        "log_loss": as_column(left.log_loss, "log loss", digits=3),
        "error": as_column(error, "error", error=np.sqrt(error * (1 - error) / len(left.codes))),
    }
    place = int(model.n_components_)
    return Table(
        columns=columns,
        title="PLS discriminant analysis, model by model",
        caption="Held-out rows: mean log loss, and share of wrong classes.",
        chosen=place,
        short=short_path(len(sizes), place, evenly=False),
    )


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
    if data.preprocessing is not None and data.preprocessing.looks_at_y:
        raise InvalidInputError(
            f"{data.response!r} holds text, and {request.preprocess} looks at a number to be "
            "predicted; leave that step out."
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
