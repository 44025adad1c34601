"""What the page draws: tables with the roles of their columns, and the content of the report.

A report is a view that was frozen: the page draws the same content by the same scripts.
"""

import re
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from plsdof._core.axes import header_number
from plsdof._core.choice import LEFT_OUT, as_good
from plsdof._core.display import plural, significant
from plsdof._core.inputs import Array
from plsdof._core.remarks import Remark
from plsdof._core.warnings import quietly
from plsdof.errors import InvalidInputError, PlsdofError
from plsdof.plotting.style import feature_axis, is_spectrum, readable
from plsdof.workbench.analysis import Analysis, Request
from plsdof.workbench.analysis.classes import ClassAnalysis
from plsdof.workbench.analysis.data import Rows, TableProblem
from plsdof.workbench.analysis.result import TWO_DECIMALS, Column, Fact, Result, with_error
from plsdof.workbench.analysis.tables import facts_of, merit_table
from plsdof.workbench.app.session import Options, Tools, arguments, key_of
from plsdof.workbench.report._numbers import evenly_spaced, rounded
from plsdof.workbench.report.content import MOST_MODELS, View, classes, report_content
from plsdof.workbench.report.document import fragment, said_content
from plsdof.workbench.tables.joining import labels_of
from plsdof.workbench.tables.table import Table
from plsdof.workbench.tables.writing import write_tables

Adjusted = dict[str, dict[str, Any]]

# Analyses and models that are kept: stepping back and forth through a session fits nothing twice.
_MOST_KEPT = 12
# How many values of a column are previewed, and bars that its histogram has.
_PREVIEW_ROWS, _BINS = 5, 12
# Columns named by numbers from which on a table is one of spectra, and others are not predictors.
_SPECTRUM = 10
# How many spectra, and points of each, are drawn before there is a model.
_SPECTRA, _POINTS = 60, 300
# Names of samples that are so much alike may be one name with a typing error.
_ALIKE = 0.8
# Texts that are proposed as classes: so few, and each so often.
_MOST_CLASSES, _FEWEST_OF_A_CLASS = 10, 2
# Options that say how a file is read.
_READING = ("sheet", "header_row", "skip_rows", "transpose", "na")
# Of intervals and limits, unless a trial has another.
LEVEL = Request().level
# Numbers of a result that stand in the rail, and those of them that have a standard error.
_IN_RAIL = ("errors.chosen", "test.rmse", "choice.dof", "explained")
_ESTIMATED = ("errors.chosen", "test.rmse")
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
            self.report("1 of 2: fitting, and leaving rows out")
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

    def guess(self, options: Options) -> Options:
        """Return the response, if a single column can be it, of its complete rows.

        Of a table of spectra, or of another one with reference values: the column of numbers that
        is neither a wavelength nor counts the rows.
        """
        other = options.get("response_file")
        table = self.tools.table({"file": other or options["file"]})
        measured = _measured(table)
        if len(measured) != 1 or not (other or _has_spectra(table)):
            return {}
        holes = bool(other or _missing(table, measured[0]))
        return {"response": measured} | ({"missing": "drop"} if holes else {})

    def proposed(self, options: Options) -> list[str]:
        """Return the column to ask for first: measured and complete, or of few classes."""
        table = self.tools.table({"file": options.get("response_file") or options["file"]})
        found = _measured(table)
        if options.get("response_file") or _has_spectra(table):
            return (found or [name for name in table.names if _has_classes(table, name)])[:1]
        # Of columns that are all named, the response is the last one as a rule, and none of a
        # series such as step_1, step_2.
        complete = [name for name in found if _missing(table, name) == _missing(table, found[0])]
        stems = [name.rstrip("0123456789") for name in table.names]
        alone = [name for name in complete if stems.count(name.rstrip("0123456789")) == 1]
        last = table.names[-1]
        return [last] if _has_classes(table, last) else (alone or complete)[-1:]

    def table(self, options: Options) -> dict[str, Any]:
        """Return the table as it was read: every column with its role, spectra, remarks.

        Nothing is fitted: it is there before the first model.
        """
        asked, found = arguments(options), None
        error: dict[str, Any] = {}
        alone = {name: asked[name] for name in ("file", *_READING) if name in asked}
        table = self.tools.table(alone)  # what cannot be joined is there, too
        try:
            table = self.tools.table(asked)
            if asked.get("response"):
                found = self.tools.problem(asked)
        except PlsdofError as trouble:
            error = on_the_page(str(trouble), getattr(trouble, "mend", {}))
        roles = _roles(table, options, found)
        notes = table.notes if found is None else found.notes
        return {
            "file": options["file"],
            "described": table.described,
            "rows": len(table),
            "columns": [_column(table, name, roles[name]) for name in table.names],
            "predictors": sum(role == "predictor" for role in roles.values()),
            "proposed": [] if asked.get("response") else self.proposed(options),
            "spectra": _spectra(table),
            "sheets": list(table.sheets),
            "reference": self._reference(options),
            "notes": [on_the_page(str(one))["words"] for one in notes],
            "doubts": [] if found is None else list(map(_remark, found.doubts)),
            "unmatched": self._unmatched(table, options),
            "error": error,
        }

    def _unmatched(self, table: Table, options: Options) -> list[list[str]]:
        """Name the rows of a joined table without a response, and who they may be in the other."""
        response = options.get("response", ())
        if not (options.get("response_file") or options.get("response_sheet")):
            return []
        if not response or response[0] not in table.names:
            return []
        gone = table.frame[response[0]].isna().to_numpy()
        texts = [name for name in table.names if table.is_text(name)]
        label = options.get("label") or next(iter(texts), None)
        names = table.row_numbers.astype(str) if label is None else labels_of(table, label)
        theirs: list[str] = []
        if options.get("response_file"):
            other = self.tools.table({"file": options["response_file"]})
            columns = [labels_of(other, one) for one in other.names if other.is_text(one)]
            theirs = [one for column in columns for one in column if one not in set(names)]
        return [
            [readable(one, 40), *(readable(other, 40) for other in _partners(one, theirs))]
            for one in names[gone].tolist()[:100]
        ]

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

    def show(
        self, options: Options, most_models: int | None = None, before: Options | None = None
    ) -> dict[str, Any]:
        """Return what is drawn, with the text around it: of all models or of the chosen one."""
        analysis = self.analysis(options)
        self.report("2 of 2: preparing the pictures")
        classes_shown, found, content = None, None, None
        if isinstance(analysis, ClassAnalysis):
            found = said_content(analysis.result)
            silent = found | {"notes": [], "doubts": []}
            parts = {name: fragment(name, silent) for name in ("found", "tables")}
            classes_shown = _class_pictures(analysis)
        else:
            with quietly():
                content = report_content(analysis, most_models)
                content["excluded"] = _excluded(self, analysis, options, most_models)
            # Remarks have a place of their own, with what mends them.
            silent = content | {"doubts": [], "notes": [], "guesses": []}
            parts = {name: fragment(name, silent) for name in ("found", "spectra", "models")}
        said = answer(analysis) | {"change": "" if before is None else self.paired(before, options)}
        shown = {"content": content, "said": found, "classes": classes_shown, "parts": parts}
        return shown | {"summary": summary(analysis), "answer": said}

    def paired(self, before: Options, options: Options) -> str:
        """Say what a change did to the errors of the samples that both analyses have."""
        if before.get("response") != options.get("response"):
            return ""
        with suppress(PlsdofError):  # what could not be fitted before is not compared
            return paired_in_words(self.analysis(before), self.analysis(options))
        return ""

    def summary(self, options: Options) -> dict[str, Any]:
        """Return what a list of trials shows of the analysis that options ask for."""
        return summary(self.analysis(options))

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

    def _model(self, file: Path, options: Options, adjusted: Adjusted) -> Result | None:
        """Write a model, with the correction that it was given; return what that changes."""
        self.tools.fit(arguments(options), model=file)
        one = adjusted.get(key_of(options))
        if one is None:
            return None
        return self.tools.adjust(file, Path(one["file"]), one["kind"], one["why"])

    # New rows
    # --------

    def predict(
        self, models: dict[str, Options], name: str, kind: str, adjusted: Adjusted
    ) -> dict[str, Any]:
        """Return predictions of the rows of a file by each model, or checks of the models."""
        found = {}
        for response, (one, change) in self._results(models, name, kind, adjusted).items():
            key = key_of(models[response])
            about: dict[str, Any] = {"trial": key, "adjusted": adjusted.get(key)}
            about["change"] = None if change is None else change.to_dict()
            found[response] = one.to_dict() | about
            if kind == "predict":
                found[response] |= self._as_shown(one, response, models[response])
        return found

    def _results(
        self, models: dict[str, Options], name: str, kind: str, adjusted: Adjusted
    ) -> dict[str, tuple[Result, Result | None]]:
        """Return predictions or checks by each model, and what its correction changed."""
        found = {}
        work = self.tools.predict if kind == "predict" else self.tools.check_calibration
        with tempfile.TemporaryDirectory() as folder:
            for response, options in models.items():
                self.report(f"Predicting {response}")
                change = self._model(file := Path(folder) / "model.json", options, adjusted)
                found[response] = work(file, Path(name), options.get("level", LEVEL)), change
        return found

    def _as_shown(self, found: Result, response: str, options: Options) -> dict[str, Any]:
        """Return predictions as people read them, and a word on what cannot be."""
        columns, notes = found.main_table.values(), [one.words for one in found.remarks]
        values, shown = columns["prediction"], {}
        if "upper" in columns:
            half = (columns["upper"] - columns["lower"]) / 2
            pairs = zip(values.tolist(), half.tolist(), strict=True)
            shown[response] = [with_error(*pair) for pair in pairs]
            measured = self.analysis(options).data
            below = np.count_nonzero(values < 0)
            if below and isinstance(measured, TableProblem) and np.min(measured.y) >= 0:
                notes += [
                    f"{plural(int(below), 'prediction')} below zero, where no calibration sample "
                    "is: such a value says that there is less than its interval reaches."
                ]
        else:
            shown[response] = [_cell(one) or "-" for one in values.tolist()]
        for name in (one for one in columns if one.startswith("P(")):
            shown[name] = Column(values=columns[name], error=TWO_DECIMALS, least=0.01).texts()
        if "observed" in columns:
            shown[f"{response}, measured"] = list(map(_cell, columns["observed"].tolist()))
        if "status" in columns:
            pairs = zip(columns["status"].tolist(), columns["reason"].tolist(), strict=True)
            shown["Status"] = [": ".join(filter(None, pair)) for pair in pairs]
        names = columns["id"] if "id" in columns else [f"row {one}" for one in columns["row"]]
        samples = [readable(str(one), 40) for one in names]
        return {"samples": samples, "shown": shown, "notes": notes}

    def predictions(self, models: dict[str, Options], name: str, adjusted: Adjusted) -> bytes:
        """Return the predictions as a workbook with one sheet per response."""
        found = self._results(models, name, "predict", adjusted)
        sheets = {response[:31]: one.main_table.values() for response, (one, _) in found.items()}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "predictions.xlsx"
            write_tables(sheets, file)
            return file.read_bytes()


# Sentences of the page
# ---------------------

# What the parser of the command line says names an option.
_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)")


def on_the_page(words: str, mend: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return sentences that name no option of a command line, and the step that mends it.

    Examples
    --------
    >>> on_the_page("--max-components must be an integer.", {"cv": "blocks:5"})
    {'words': '“max components” must be an integer.', 'mend': {'cv': 'blocks:5'}}
    """
    # Groups as numbers of the rows are not a setting of the page.
    given = {n: v for n, v in (mend or {}).items() if not (n == "groups" and isinstance(v, list))}
    plain = _OPTION.sub(lambda found: f"“{found[1].replace('-', ' ')}”", words)
    return {"words": readable(plain, 600), "mend": given}


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
    roles = dict.fromkeys(table.names, "" if data is None else "left out")
    roles |= dict.fromkeys(used, "predictor")
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


def _missing(table: Table, name: str) -> int:
    return int(table.frame[name].isna().sum())


def _measured(table: Table) -> list[str]:
    """Return the columns of numbers that are not wavelengths, those with fewest holes first."""
    names = [name for name in table.names if header_number(name) is None]
    measured = [name for name in names if _is_measured(table, name)]
    return sorted(measured, key=lambda name: _missing(table, name))


def _has_spectra(table: Table) -> bool:
    return sum(header_number(name) is not None for name in table.names) >= _SPECTRUM


def _has_classes(table: Table, name: str) -> bool:
    """Whether a column holds a few words, each several times."""
    if not table.is_text(name):
        return False
    counts = table.frame[name].value_counts()
    return 2 <= len(counts) <= _MOST_CLASSES and int(counts.min()) >= _FEWEST_OF_A_CLASS


def _column(table: Table, name: str, role: str) -> dict[str, Any]:
    """Return what there is to see of a column; wavelengths have no histogram."""
    column = table.frame[name]
    bars: list[int] = []
    if not table.is_text(name) and header_number(name) is None:
        values, _ = table.readable(name)
        known = values[np.isfinite(values)]
        bars = np.histogram(known, bins=_BINS)[0].tolist() if len(known) else []
    return {
        "name": name,
        "role": role,
        "text": table.is_text(name),
        "missing": int(column.isna().sum()),
        "bars": bars,
        "values": [_cell(value) for value in column.iloc[:_PREVIEW_ROWS].tolist()],
    }


def _spectra(table: Table) -> dict[str, Any] | None:
    """Return some rows as curves, if enough columns are named by numbers."""
    found = {name: number for name in table.names if (number := header_number(name)) is not None}
    if len(found) < _SPECTRUM:
        return None
    axis = feature_axis(tuple(found), len(found))
    names = [list(found)[j] for j in axis.order[evenly_spaced(len(found), _POINTS)]]
    rows = evenly_spaced(len(table), _SPECTRA)
    values = table.numbers(tuple(names))[rows]
    return {
        "title": axis.title,
        "positions": [found[name] for name in names],
        "values": [rounded(row) for row in values],
    }


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _partners(name: str, others: list[str]) -> list[str]:
    """Return the name that another one may be, with other hyphens or a typing error."""
    same = [one for one in others if _plain(one) == _plain(name)]
    return same[:1] or get_close_matches(name, others, n=1, cutoff=_ALIKE)


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else readable(str(value), 40)


# The answer, one model in a line, and rows that were excluded
# ------------------------------------------------------------


def _facts(analysis: Analysis | ClassAnalysis) -> Mapping[str, Fact]:
    return facts_of(analysis) if isinstance(analysis, Analysis) else analysis.result.facts


def _size(analysis: Analysis | ClassAnalysis) -> str:
    if isinstance(analysis, Analysis):
        return analysis.model.label
    return plural(int(analysis.model.n_components_), "component")


def answer(analysis: Analysis | ClassAnalysis) -> dict[str, Any]:
    """Return what the rail says: the size, its error, what is as good, remarks with their mends."""
    found, facts = _facts(analysis), []
    if isinstance(analysis, ClassAnalysis):
        error = analysis.errors[LEFT_OUT].error
        spread = float(np.sqrt(error * (1 - error) / analysis.data.shape[0]))
        facts += [("misclassified", f"{with_error(100 * error, 100 * spread)} %")]
    elif analysis.selection.recipe_name:
        facts += [("preparation", analysis.selection.recipe_name)]
    facts += [
        (found[name].label, found[name].with_error if name in _ESTIMATED else found[name].text)
        for name in _IN_RAIL
        if name in found
    ]
    if isinstance(analysis, Analysis) and not analysis.model.is_average:
        left = analysis.left_out
        if left is not None and analysis.index < len(left.rss):
            near = left.parameters[as_good(left, analysis.index)]
            facts += [("as good", f"{near.min():g} to {near.max():g}")] * (len(near) > 1)
    said = list(map(_remark, analysis.remarks))
    return {"title": _size(analysis), "facts": facts, "remarks": said}


def _class_pictures(analysis: ClassAnalysis) -> dict[str, Any]:
    """Return what the four pictures of a classification show."""
    model, data = analysis.model, analysis.data
    left, m, names = model.left_out_, int(model.n_components_), data.names
    share = np.exp(left.log_proba[m][np.arange(len(left.codes)), left.codes])
    labels = data.rows.labels
    vip = np.asarray(model.vip()) if m else np.zeros(0)
    axis = feature_axis(names, data.shape[1])
    places = axis.order if is_spectrum(axis) and m else np.argsort(-vip, kind="stable")[:_BINS]
    return {
        "names": [readable(str(one), 40) for one in model.classes_],
        "of": left.codes.tolist(),
        "rows": {
            "number": data.rows.numbers.tolist(),
            "labels": None if labels is None else [readable(str(one), 40) for one in labels],
        },
        "error": rounded(left.error),
        "chosen": m,
        "matrix": analysis.errors[LEFT_OUT].matrix.tolist(),
        "probability": rounded(share),
        "scores": [rounded(one) for one in model.x_scores_[:, :2].T] if m > 1 else None,
        "vip": rounded(vip[places]),
        "largest": [readable(names[j], 40) for j in places],
        "axis": axis.title,
        "positions": [axis.positions[j] for j in places] if is_spectrum(axis) and m else None,
    }


def _remark(one: Remark) -> dict[str, Any]:
    """Return a remark as the page shows it."""
    return {"severity": one.severity} | on_the_page(one.words, one.mend)


def paired_in_words(before: Analysis | ClassAnalysis, now: Analysis | ClassAnalysis) -> str:
    """Compare errors of two analyses on the rows that both have."""
    if isinstance(before, ClassAnalysis) or isinstance(now, ClassAnalysis):
        return ""
    if before.left_out is None or now.left_out is None:
        return ""
    rows, i, j = np.intersect1d(
        before.data.rows.numbers, now.data.rows.numbers, return_indices=True
    )
    old, new = before.model.left_out_residuals[i] ** 2, now.model.left_out_residuals[j] ** 2
    errors = significant(np.sqrt(old.mean()), 3), significant(np.sqrt(new.mean()), 3)
    gain = new - old
    spread = float(np.std(gain, ddof=1) / np.sqrt(len(rows))) if len(rows) > 1 else np.inf
    clear = abs(gain.mean()) > 2 * spread
    word = "no clear difference" if not clear else "better" if gain.mean() < 0 else "worse"
    return f"Before {errors[0]}, now {errors[1]} on the {len(rows)} samples that both have: {word}."


def summary(analysis: Analysis | ClassAnalysis) -> dict[str, Any]:
    """Return what a list of trials shows: plain numbers.

    Errors of a classification are shares of rows.
    """
    found = _facts(analysis)
    if isinstance(analysis, ClassAnalysis):
        error = float(analysis.errors[LEFT_OUT].error)
        errors = {"misclassified": (error, f"{100 * error:.1f} %")}
        curve = analysis.model.left_out_.error
        parameters = np.arange(len(curve), dtype=np.float64)
    else:
        texts = merit_table(analysis.merit).columns["rmse"].texts()
        rmse = [float(one.rmse) for one in analysis.merit.values()]
        errors = dict(zip(analysis.merit, zip(rmse, texts, strict=True), strict=True))
        curve = analysis.rmsecv[analysis.order]
        parameters = analysis.path.parameters[analysis.order]
    return {
        **{name: found[name].value for name in ("response", "n", "p")},
        "model": _size(analysis),
        "dof": found["choice.dof"].text,
        "errors": {name: value for name, (value, _) in errors.items()},
        "shown": {name: text for name, (_, text) in errors.items()},
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
