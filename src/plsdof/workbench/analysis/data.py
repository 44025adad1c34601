"""What is analysed: rows with predictors and a response, in memory or read piece by piece."""

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.axes import wavelengths
from plsdof._core.folds import make_folds
from plsdof._core.inputs import Array, as_matrix, as_response, feature_names, read_only
from plsdof._core.model import Mixture, Model
from plsdof._core.path import Path
from plsdof._core.recipe import Recipe
from plsdof._core.remarks import Remark
from plsdof._core.spectrum import FORMED
from plsdof._core.threads import cached_property
from plsdof._core.warnings import quietly
from plsdof.chemometrics.merit import FiguresOfMerit, figures_of_merit
from plsdof.chemometrics.preprocessing import Chain
from plsdof.chemometrics.suspects import suspects
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.inference.intervals import Interval, prediction_interval
from plsdof.large.blocks import RowBlocks
from plsdof.workbench.tables.columns import shortened, shortened_path
from plsdof.workbench.tables.reading import files_in

Numbers = npt.NDArray[np.intp]
Labels = npt.NDArray[np.str_]
Mask = npt.NDArray[np.bool_]
Folds = int | str  # a number, "loo", or "blocks:5"


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Rows of a table with predictors and response, none of them missing.

    Attributes
    ----------
    X : pandas.DataFrame or (n, p) array
    y : (n,) array
    numbers : (n,) array of int
        Numbers of the rows in their file; 1 is the first one below the header.
    labels : (n,) array of str or None
        What names the rows.
    source : str
        Where they come from, in words.
    classes : tuple of str
        Of a response of text: ``y`` are positions among them. Empty for numbers.
    weights : (n,) array or None
        How many measurements each row is the mean of, over their mean.
    """

    X: Any
    y: Array
    numbers: Numbers
    labels: Labels | None
    source: str
    classes: tuple[str, ...] = ()
    weights: Array | None = None

    def row_name(self, i: int) -> str:
        """Return what messages call a row: its number in the file, and its name if it has one."""
        return row_name(self.numbers, self.labels, i)

    def take(self, which: Mask) -> "Rows":
        """Return some of the rows."""
        if which.all():
            return self
        labels = None if self.labels is None else self.labels[which]
        weights = None
        if self.weights is not None and np.ptp(self.weights[which]) > 0:
            weights = self.weights[which] / self.weights[which].mean()
        X, y = self.X[which].reset_index(drop=True), self.y[which]
        numbers = self.numbers[which]
        return replace(self, X=X, y=y, numbers=numbers, labels=labels, weights=weights)

    def preprocessed(self, chain: Chain, *, fit: bool) -> Any:
        """Return the predictors after a chain, fitted to these rows or before."""
        try:
            # What was fitted to blocks does not know names.
            named = fit or hasattr(chain, "feature_names_in_")
            X = self.X if named else np.asarray(self.X)
            values = chain.fit_transform(X, self.y, self.weights) if fit else chain.transform(X)
        except InvalidInputError as error:
            if not hasattr(error, "renamed"):
                raise
            told = error.renamed([self.row_name(i) for i in range(len(self.y))])
            raise InvalidInputError(f"{shortened_path(self.source)}: {told}") from error
        if not hasattr(self.X, "columns"):
            return values
        return self.X.__class__(values, columns=self.X.columns, copy=False)


def row_name(numbers: Numbers, labels: Labels | None, i: int) -> str:
    """Return what messages call a row: its number in the file, and its name if it has one."""
    label = "" if labels is None else str(labels[i])
    return f"{numbers[i]} ({shortened(label)})" if label else str(numbers[i])


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TestSet:
    """Rows that a model was not fitted to, with their predictions.

    Attributes
    ----------
    rows : Rows
        As they were read.
    X : (n, p) array
        Predictors as the model sees them, after preprocessing.
    model : Model
    level : float
    method : str or None
        Of the intervals.
    """

    __test__ = False  # not a test, whatever pytest thinks of its name

    rows: Rows
    X: Array
    model: Model
    level: float
    method: str | None

    @cached_property
    def predicted(self) -> Array:
        """Predictions. Shape (n,)."""
        return read_only(self.model.predict(seen_by(self.model, self.rows, self.X)))

    @cached_property
    def interval(self) -> Interval | None:
        """Intervals of one observation each, where the model has any."""
        seen = seen_by(self.model, self.rows, self.X)
        with quietly(), contextlib.suppress(NotAvailableError, InvalidInputError):
            how: Any = {"level": self.level, "method": self.method}
            return prediction_interval(self.model, seen, **how)
        return None

    @property
    def merit(self) -> FiguresOfMerit:
        """Figures of merit of the predictions."""
        return figures_of_merit(self.rows.y, self.predicted)

    @property
    def inside(self) -> int | None:
        """How many values lie in their intervals; None if there are none."""
        if self.interval is None:
            return None
        y = self.rows.y
        return int(np.count_nonzero((self.interval.lower <= y) & (y <= self.interval.upper)))


def seen_by(model: Model, rows: Rows, X: Array) -> Array:
    """Return rows as a model takes them; X are they after the preprocessing of the path.

    An average over recipes takes the rows as they were read.
    """
    return np.asarray(rows.X, dtype=np.float64) if isinstance(model, Mixture) else X


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """Single measurements of samples whose means are the rows of a calibration.

    Attributes
    ----------
    column : str
        What names the samples.
    X : (N, p) array
    samples : (N,) array of str
    """

    column: str
    X: Array
    samples: Labels


@dataclass(frozen=True, kw_only=True, eq=False)
class TableProblem:
    """A regression problem: rows in memory, or read piece by piece.

    Attributes
    ----------
    rows : Rows
        Those of the calibration, as they were read; of a table that is read piece by piece a
        random sample of them, for pictures.
    X : pandas.DataFrame, (n, p) array or RowBlocks
        Predictors as the model sees them: of all rows, after preprocessing.
    y : (n,) array
        Response of all rows.
    shape : tuple of int
        Numbers of rows and of predictors.
    names : tuple of str
    response, source, described : str
        Name of the response, the file, and how it was read.
    notes : tuple of str or Remark
        What the user should know about the choice of columns and rows.
    doubts : tuple of Remark
        What looks like a mistake in the table.
    dropped : int
        Number of rows that were dropped because of missing values.
    excluded : tuple of str
        Rows excluded as asked for, by number and name.
    test : Rows or None
        Rows that are kept apart to test the model on, as they were read.
    groups : (n,) array of str or None
        Rows with the same label are held out together.
    grouped_by : str
        What the groups are called.
    tested_by : str
        How rows of the same table were chosen for the test.
    replicates : str or None
        A column that is not a predictor and has repeated values, if there is one.
    preprocessing : Chain or None
        Fitted to the rows.
    recipe : str
        What "auto" has chosen: preprocessing and scaling; empty if nothing was to be chosen.
    places : (m,) array of int or None
        Which rows the sample has; None if ``rows`` are all of them.
    measured : Measured or None
        The measurements that rows are means of.
    files : tuple of Path
        The tables, if they are several.

    Examples
    --------
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True, as_frame=True)
    >>> data = TableProblem.of(X, y, response="octane")
    >>> data.shape, data.wavelengths[:2]
    ((60, 401), array([900., 902.]))
    """

    rows: Rows
    X: Any
    y: Array
    shape: tuple[int, int]
    names: tuple[str, ...]
    response: str
    source: str
    described: str
    notes: tuple[str | Remark, ...] = ()
    doubts: tuple[Remark, ...] = ()
    dropped: int = 0
    excluded: tuple[str, ...] = ()
    test: Rows | None = None
    groups: Labels | None = None
    grouped_by: str = ""
    tested_by: str = ""
    replicates: str | None = None
    preprocessing: Chain | None = None
    recipe: str = ""
    places: Numbers | None = None
    measured: Measured | None = None
    files: tuple[File, ...] = ()

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        response: str = "y",
        labels: Sequence[Any] | None = None,
        groups: Sequence[Any] | None = None,
        source: str = "",
    ) -> "TableProblem":
        """Return arrays or data frames as what is analysed."""
        values = as_matrix(X)
        n, p = values.shape
        names = feature_names(X) or tuple(f"x{i + 1}" for i in range(p))
        rows = Rows(
            X=X if hasattr(X, "columns") else values,
            y=as_response(y, n),
            numbers=np.arange(1, n + 1),
            labels=_as_labels(labels, n, "labels"),
            source=source,
        )
        return cls(
            rows=rows,
            X=rows.X,
            y=rows.y,
            groups=_as_labels(groups, n, "groups"),
            grouped_by="" if groups is None else str(getattr(groups, "name", None) or "groups"),
            shape=(n, p),
            names=names,
            response=response,
            source=source,
            described="arrays",
            doubts=tuple(
                suspects(
                    values,
                    rows.y,
                    response=response,
                    columns=names,
                    rows=rows.numbers,
                    grouped=groups is not None,
                )
            ),
        )

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What was noticed when the table was read: likely mistakes first."""
        notes = (n if isinstance(n, Remark) else Remark(key="data", words=n) for n in self.notes)
        return (*self.doubts, *notes)

    @property
    def is_streamed(self) -> bool:
        """Whether the table is read piece by piece."""
        return isinstance(self.X, RowBlocks)

    @property
    def wavelengths(self) -> Array | None:
        """The column names as numbers, if they are numbers."""
        return wavelengths(self.names)

    @property
    def has_intervals(self) -> bool:
        """Whether what standard errors rest on, p x rank numbers, takes bounded memory."""
        n, p = self.shape
        return not self.is_streamed or (min(n, p) <= FORMED and p * min(n - 1, p) <= FORMED**2)

    @cached_property
    def drawn(self) -> Array:
        """Predictors of `rows` as the model sees them, for pictures."""
        if self.places is None:
            return np.asarray(self.X, dtype=np.float64)
        chain, X = self.preprocessing, self.rows.X
        return np.asarray(X if chain is None else self.rows.preprocessed(chain, fit=False))

    def folds(self, cv: Folds | None, seed: int | None = None) -> Any:
        """Return the rows of every fold, fitted and held out; None where nobody says how."""
        if cv is None:
            return None
        rows = np.empty(self.shape[0])
        return [(one.train, one.test) for one in make_folds(rows, rows, cv, self.groups, rng=seed)]

    def fit(self, recipe: Recipe, *, prepared: bool = True) -> Path:
        """Fit a recipe to all rows, after preprocessing or before."""
        if isinstance(self.X, RowBlocks):
            return recipe.fit(self.X if prepared else RowBlocks(self.X.blocks, self.X.keep), None)
        X = self.X if prepared else np.asarray(self.rows.X)
        return recipe.fit(X, self.y, self.rows.weights)

    def after(self, steps: str) -> "TableProblem":
        """Return the same problem after a chain of preprocessing steps."""
        if steps == "none" or steps.startswith("auto"):  # which is made of recipes later on
            return self
        chain = Chain(steps)
        return replace(self, X=self.rows.preprocessed(chain, fit=True), preprocessing=chain)

    def sha256(self) -> str:
        """Return the SHA-256 of the files, see `sha256_of`; without one: of the fitted numbers."""
        if found := sha256_of(self.files or [self.source]):
            return found
        parts = np.column_stack([np.asarray(self.rows.X, dtype="<f8"), self.y])
        return hashlib.sha256(np.ascontiguousarray(parts, dtype="<f8").tobytes()).hexdigest()


def sha256_of(sources: Sequence[str | File]) -> str:
    """Return the SHA-256 of files, and those of folders, one after the other; "" without any."""
    digest, files = hashlib.sha256(), list[File]()
    with contextlib.suppress(OSError, ValueError):  # not the name of a file
        files = [
            one for source in map(File, sources) if source.exists() for one in files_in(source)
        ]
    for file in files:
        with file.open("rb") as stream:
            hashlib.file_digest(stream, lambda: digest)
    return digest.hexdigest() if files else ""


def _as_labels(labels: Sequence[Any] | None, n: int, what: str) -> Labels | None:
    if labels is None:
        return None
    found = np.array([str(one) for one in labels], dtype=np.str_)
    if len(found) != n:
        raise InvalidInputError(
            f"{what} has {len(found)} entries for {n} rows; give one for every row."
        )
    return found
