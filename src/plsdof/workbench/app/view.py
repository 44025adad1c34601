"""What the page draws: tables with the roles of their columns, and the content of the report.

A report is a view that was frozen: the page draws the same content by the same scripts.
"""

import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from plsdof._core.axes import header_number
from plsdof._core.choice import LEFT_OUT
from plsdof._core.display import plural
from plsdof._core.inputs import Array
from plsdof._core.warnings import quietly
from plsdof.errors import InvalidInputError, PlsdofError
from plsdof.plotting.style import readable
from plsdof.workbench.analysis import Analysis
from plsdof.workbench.analysis.classes import ClassAnalysis
from plsdof.workbench.analysis.data import Rows, TableProblem
from plsdof.workbench.analysis.remarks import in_ranges
from plsdof.workbench.app.session import Options, Tools, arguments, key_of
from plsdof.workbench.report.classes import class_body
from plsdof.workbench.report.content import MOST_MODELS, View, classes, report_content
from plsdof.workbench.report.document import fragment
from plsdof.workbench.tables.joining import labels_of
from plsdof.workbench.tables.table import Table
from plsdof.workbench.tables.writing import write_tables

Adjusted = dict[str, dict[str, Any]]

# Analyses and models that are kept: stepping back and forth through a session fits nothing twice.
_MOST_KEPT = 12
# How much of a table is previewed.
_PREVIEW_ROWS, _PREVIEW_COLUMNS, _PREVIEW_PREDICTORS = 12, 40, 6
# Columns named by numbers from which on a table is one of spectra, and others are not predictors.
_SPECTRUM = 10
# What is written, and how its file ends.
ENDINGS = {"report": ".html", "model": ".json", "out": ".xlsx", "plot": ".svg"}


class Workbench:
    """The work of a session: tables, analyses, predictions and files, each made once.

    Parameters
    ----------
    tools : Tools
    report : callable
        Called with a few words when a longer piece of work begins.
    """

    def __init__(self, tools: Tools, report: Callable[[str], None] = lambda _: None) -> None:
        self.tools, self.report = tools, report
        self._analyses: OrderedDict[str, Analysis | ClassAnalysis] = OrderedDict()
        self._numbers: tuple[Any, Any] = (None, None)

    def analysis(self, options: Options) -> Analysis | ClassAnalysis:
        """Return the analysis that options ask for."""
        key = key_of(arguments(options))
        if key not in self._analyses:
            self.report("Fitting, and leaving rows out")
            with quietly():
                self._analyses[key] = self.tools.fit(arguments(options))
            while len(self._analyses) > _MOST_KEPT:
                self._analyses.popitem(last=False)
        self._analyses.move_to_end(key)
        return self._analyses[key]

    def numbers(self, table: Table, names: tuple[str, ...], response: str) -> tuple[Array, Array]:
        """Return predictors and response of all rows of a table, those used last without work."""
        key = (id(table), names, response)
        if self._numbers[0] != key:
            self._numbers = (key, (table.numbers(names), table.numbers((response,))[:, 0]))
        found: tuple[Array, Array] = self._numbers[1]
        return found

    # The table
    # ---------

    def guess(self, options: Options) -> str | None:
        """Return the column that is most likely the response.

        Of a table of spectra, or of another one with reference values: the first column of
        numbers that is neither a wavelength nor counts the rows. None if there is none.
        """
        other = options.get("response_file")
        table = self.tools.table({"file": other or options["file"]})
        names = [name for name in table.names if header_number(name) is None]
        if other is None and len(table.names) - len(names) < _SPECTRUM:
            return None
        return next((name for name in names if _is_measured(table, name)), None)

    def table(self, options: Options) -> dict[str, Any]:
        """Return the table as it was read: the role of every column, first rows, remarks."""
        asked = arguments(options)
        table, error, found = self.tools.table(asked), "", None
        if asked.get("response"):
            try:
                found = self.analysis(options)
            except PlsdofError as trouble:
                error = str(trouble)
        roles = _roles(table, options, None if found is None else found.data)
        notes = table.notes if found is None else found.data.notes
        shown = _previewed(roles)
        frame = table.frame.iloc[:_PREVIEW_ROWS]
        return {
            "file": options["file"],
            "described": table.described,
            "rows": len(table),
            "columns": [
                {
                    "name": name,
                    "role": roles[name],
                    "text": table.is_text(name),
                    "values": [_cell(value) for value in frame[name].tolist()],
                }
                for name in shown
            ],
            "numbers": table.row_numbers[:_PREVIEW_ROWS].tolist(),
            "total": len(table.names),
            "predictors": sum(role == "predictor" for role in roles.values()),
            "sheets": list(table.sheets),
            "reference": self._reference(options),
            "notes": [readable(text, 400) for text in notes],
            "doubts": [] if found is None else [readable(one, 400) for one in found.data.doubts],
            "unmatched": _unmatched(table, options),
            "error": error,
        }

    def _reference(self, options: Options) -> list[str]:
        """Return the columns of reference values in another file, if there is one."""
        if not options.get("response_file"):
            return []
        other = self.tools.table({"file": options["response_file"]})
        return [name for name in other.names if not other.is_text(name)]

    def colours(self, options: Options, name: str) -> dict[str, Any]:
        """Return classes of all rows by the values of a column: quantiles of numbers, or texts."""
        table = self.tools.table(arguments(options))
        if name not in table.names:
            raise InvalidInputError(f"no column {name[:60]!r}.")
        values, wrong = (np.zeros(0), {}) if table.is_text(name) else table.readable(name)
        if len(values) and not wrong and len(np.unique(values)) > 5:
            known = ~np.isnan(values)
            found, edges = classes(values[known])
            numbers = table.row_numbers[known].tolist()
            return {
                "of": dict(zip(numbers, found.tolist(), strict=True)),
                "classes": edges,
                "ordered": True,
            }
        labels = [readable(one, 40) for one in labels_of(table, name).tolist()]
        names = list(dict.fromkeys(labels))
        names = names if len(names) <= 5 else [*names[:4], "other"]
        of = [names.index(one) if one in names else len(names) - 1 for one in labels]
        numbers = table.row_numbers.tolist()
        texts = [[one, one] for one in names]
        return {"of": dict(zip(numbers, of, strict=True)), "classes": texts, "ordered": False}

    # The models
    # ----------

    def show(self, options: Options, most_models: int | None = None) -> dict[str, Any]:
        """Return what is drawn, with the text around it: of all models or of the chosen one."""
        analysis = self.analysis(options)
        self.report("Preparing the pictures")
        if isinstance(analysis, ClassAnalysis):
            parts = {"found": class_body(analysis), "spectra": "", "models": ""}
            return {"content": None, "parts": parts, "summary": summary(analysis)}
        with quietly():
            content = report_content(analysis, most_models)
            content["excluded"] = _excluded(self, analysis, options, most_models)
        parts = {name: fragment(name, content) for name in ("found", "spectra", "models")}
        return {"content": content, "parts": parts, "summary": summary(analysis)}

    def summary(self, options: Options) -> dict[str, Any]:
        """Return what a list of trials shows of the analysis that options ask for."""
        return summary(self.analysis(options))

    def python(self, options: Options) -> str:
        """Return lines of Python that give the same analysis."""
        table, analysis = self.tools.table(arguments(options)), self.analysis(options)
        if isinstance(analysis, ClassAnalysis):
            return "# Classes: see PLSClassifier."
        return "\n".join(_python(table, analysis, options))

    def write(self, options: Options, kind: str, adjusted: Adjusted) -> bytes:
        """Return a file: "report", "model", "out" (a workbook) or "plot"."""
        self.report("Writing")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{Path(options['file']).stem}{ENDINGS[kind]}"
            if kind == "model":
                self._model(file, options, adjusted)
            else:
                self.tools.fit(arguments(options), **{kind: file})
            return file.read_bytes()

    def _model(self, file: Path, options: Options, adjusted: Adjusted) -> None:
        """Write a model, with the correction that it was given."""
        self.tools.fit(arguments(options), model=file)
        one = adjusted.get(key_of(options))
        if one is not None:
            self.tools.adjust(file, Path(one["file"]), one["kind"], one["why"])

    # New rows
    # --------

    def predict(
        self, models: dict[str, Options], name: str, kind: str, adjusted: Adjusted
    ) -> dict[str, Any]:
        """Return predictions of the rows of a file by each model, or checks of the models."""
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            for response, options in models.items():
                self.report(f"Predicting {response}")
                self._model(file := Path(folder) / "model.json", options, adjusted)
                work = self.tools.predict if kind == "predict" else self.tools.check_calibration
                key = key_of(options)
                about = {"trial": key, "adjusted": adjusted.get(key)}
                found[response] = work(file, Path(name)) | about
        return found

    def predictions(self, models: dict[str, Options], name: str, adjusted: Adjusted) -> bytes:
        """Return the predictions as a workbook with one sheet per response."""
        found = self.predict(models, name, "predict", adjusted)
        sheets = {response[:31]: one["columns"] for response, one in found.items()}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "predictions.xlsx"
            write_tables(sheets, file)
            return file.read_bytes()


# Roles of columns
# ----------------


def _is_measured(table: Table, name: str) -> bool:
    """Whether a column holds numbers that differ and do not count the rows."""
    if table.is_text(name):
        return False
    values, wrong = table.readable(name)
    known = values[~np.isnan(values)]
    counts = len(known) > 1 and np.array_equal(np.diff(known), np.ones(len(known) - 1))
    return not wrong and not counts and len(np.unique(known)) > 1


def _roles(table: Table, options: Options, data: Any) -> dict[str, str]:
    given = {str(options.get("groups")): "groups", str(options.get("label")): "id"}
    given |= dict.fromkeys(options.get("response", ()), "response")
    used = () if data is None else data.names
    roles = dict.fromkeys(table.names, "left out") | dict.fromkeys(used, "predictor")
    if data is not None and not options.get("label"):
        roles |= _named_by(table, data)
    return roles | {name: role for name, role in given.items() if name in roles}


def _named_by(table: Table, data: TableProblem) -> dict[str, str]:
    """Find the column that names the rows, if one does."""
    labels = data.rows.labels
    if labels is None:
        return {}
    fitted = np.isin(table.row_numbers, data.rows.numbers)
    for name in table.names:
        if table.is_text(name) and np.array_equal(labels_of(table, name)[fitted], labels):
            return {name: "id"}
    return {}


def _previewed(roles: dict[str, str]) -> list[str]:
    """Choose columns: all that are not predictors, and the first predictors."""
    few = [name for name, role in roles.items() if role == "predictor"][:_PREVIEW_PREDICTORS]
    wanted = {*few, *[n for n, role in roles.items() if role != "predictor"][:_PREVIEW_COLUMNS]}
    return [name for name in roles if name in wanted]


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else readable(str(value), 40)


def _unmatched(table: Table, options: Options) -> list[str]:
    """Name the rows that a joined table has no response for."""
    response = options.get("response", ())
    if not (options.get("response_file") or options.get("response_sheet")) or not response:
        return []
    gone = table.frame[response[0]].isna().to_numpy()
    texts = [name for name in table.names if table.is_text(name)]
    label = options.get("label") or next(iter(texts), None)
    names = table.row_numbers.astype(str) if label is None else labels_of(table, label)
    return [readable(one, 40) for one in names[gone].tolist()[:100]]


# One model in a line, rows that were excluded, and Python
# --------------------------------------------------------


def summary(analysis: Analysis | ClassAnalysis) -> dict[str, Any]:
    """Return what a list of trials shows: plain numbers.

    Errors of a classification are shares of rows.
    """
    data = analysis.data
    if isinstance(analysis, ClassAnalysis):
        label, dof = plural(int(analysis.model.n_components_), "component"), analysis.model.dof_
        errors = {"misclassified": analysis.errors[LEFT_OUT].error}
        curve = analysis.model.left_out_.error
        parameters = np.arange(len(curve), dtype=np.float64)
    else:
        label, dof = analysis.model.label, analysis.model.dof
        errors = {name: one.rmse for name, one in analysis.merit.items()}
        curve, parameters = (
            analysis.rmsecv[analysis.order],
            analysis.path.parameters[analysis.order],
        )
    return {
        "response": data.response,
        "model": label,
        "dof": float(dof),
        "dof_range": "" if isinstance(analysis, ClassAnalysis) else str(analysis.dof_range or ""),
        "n": data.shape[0],
        "p": data.shape[1],
        "errors": {name: float(one) for name, one in errors.items()},
        "parameters": parameters.tolist(),
        "rmsecv": [None if np.isnan(one) else one for one in curve.tolist()],
    }


def _excluded(
    bench: Workbench, analysis: Analysis, options: Options, most_models: int | None
) -> dict[str, Any] | None:
    """Return the excluded rows where the models see them: predictions and scores."""
    reasons = options.get("excluded", {})
    if not reasons:
        return None
    table, data = bench.tools.table(arguments(options)), analysis.data
    all_X, all_y = bench.numbers(table, data.names, data.response)
    view = View(analysis=analysis, most_models=most_models or MOST_MODELS)
    away = np.isin(table.row_numbers, list(map(int, reasons)))
    X, y = all_X[away], all_y[away]
    complete = ~np.isnan(np.column_stack([X, y])).any(axis=1)
    if not complete.any():
        return None
    numbers = table.row_numbers[away][complete]
    frame = table.with_names(X[complete], data.names)
    rows = Rows(X=frame, y=y[complete], numbers=numbers, labels=None, source="")
    return {
        "number": numbers.tolist(),
        "why": [reasons[str(one)] for one in numbers],
        **view.others(rows),
    }


_PLAIN = {"file", "response", "features", "exclude", "groups", "label", "chain", "test"}
_PLAIN |= {"excluded", "sheet", "header_row", "skip_rows", "transpose", "na", "test_rows"}
_PLAIN |= {"split"}  # the rows themselves are named


def _python(table: Table, analysis: Analysis, options: Options) -> Iterator[str]:
    """Write the analysis in Python: the same rows, columns and request."""
    data, request = analysis.data, analysis.request
    fields = dict(vars(request))
    asked = {n: v for n, v in fields.items() if v != type(request).__dataclass_fields__[n].default}
    strange = set(options) - _PLAIN - set(fields)
    strange -= {"missing"} if options.get("missing") == "drop" else set()
    if strange or not isinstance(data, TableProblem):
        yield f"# {', '.join(sorted(strange))}: on the command line only."
        return
    reading = ("sheet", "header_row", "skip_rows", "transpose", "na")
    how = "".join(f", {name}={options[name]!r}" for name in reading if name in options)
    places = [table.names.index(name) for name in data.names]
    first, last = places[0], places[-1]
    is_slice = places == list(range(first, last + 1))
    names = f"table.names[{first}:{last + 1}]" if is_slice else repr(tuple(data.names))
    groups = "" if data.groups is None else f", groups=labels_of(table, {data.grouped_by!r})[rows]"
    yield "import numpy as np"
    yield "from plsdof.workbench.analysis import Request, analyse"
    yield "from plsdof.workbench.tables import read_table"
    if groups:
        yield "from plsdof.workbench.tables.joining import labels_of"
    yield ""
    yield f"table = read_table({options['file']!r}{how})"
    yield f"names = {names}"
    ranges = [part.split(":") for part in in_ranges(data.rows.numbers.tolist()).split(",")]
    parts = [f"*range({one[0]}, {int(one[-1]) + 1})" if len(one) > 1 else one[0] for one in ranges]
    yield f"rows = np.isin(table.row_numbers, [{', '.join(parts)}])"
    yield "X = table.with_names(table.numbers(names), names)[rows]"
    yield f"y = table.numbers(({data.response!r},))[rows, 0]"
    given = ", ".join(f"{name}={value!r}" for name, value in asked.items())
    yield f"found = analyse(X, y, Request({given}), response={data.response!r}{groups})"
    yield "print(found.choice)"
