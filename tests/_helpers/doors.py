"""The doors of the package: what each of them answers to a request, in one form.

The content that the command line prints for machines is what the others are compared with. An
answer has single numbers ("answer"), columns of them ("tables") and remarks.
"""

import json
import os
import re
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from openpyxl import load_workbook
from typer.testing import CliRunner

from _helpers.requests import Asked
from plsdof import load_model, workbench
from plsdof._core.display import significant
from plsdof.errors import PlsdofError
from plsdof.models.writing import plain
from plsdof.workbench.analysis import Request
from plsdof.workbench.analysis.result import in_text
from plsdof.workbench.app.session import key_of
from plsdof.workbench.app.view import Workbench
from plsdof.workbench.cli import app as program
from plsdof.workbench.cli._show import with_mend
from plsdof.workbench.cli.browser import CommandLine
from plsdof.workbench.tables import read_table
from plsdof.workbench.tables.joining import JoinedReading

# Of each table the columns that every door is to have.
FITTED = {
    "models": ("dof", "naive_dof", "rss", "explained", "sigma", "rmsec", "rmsecv", "q2"),
    "coefficients": ("coef", "std_error", "lower", "upper", "p_value"),
    "recipes": ("rmsecv", "weight"),
    "rows": ("row", "t2", "q", "leverage", "studentized"),
    "test rows": ("observed", "prediction"),
}
FACTS = {
    "size": "choice.parameter",
    "dof": "choice.dof",
    "sigma": "sigma.value",
    "sigma from": "sigma.lower",
    "sigma to": "sigma.upper",
    "intercept": "intercept.value",
    "permutations": "permutations.p_value",
}
MERIT = ("n", "rmse", "r2", "bias", "sep", "rpd", "rpiq", "slope", "intercept")
SHARES = ("sensitivity", "specificity", "precision")
PREDICTED = ("prediction", "lower", "upper", "mean_lower", "mean_upper", "t2", "q", "status")
CHECKED = ("reference", "predicted", "error", "t2", "q")


class Absent(Exception):  # noqa: N818
    """The door has no answer to such a request."""


@dataclass
class Answer:
    """What a door answers."""

    answer: dict = field(default_factory=dict)
    tables: dict = field(default_factory=dict)
    remarks: list = field(default_factory=list)
    # Of each remark, by its words: what code and buttons need.
    mends: dict = field(default_factory=dict)
    refused: str = ""
    # What was rounded is compared with this.
    expected: object = None
    # How one number, and a column of them, are rounded.
    one: object = float
    column: object = list


def sixteen(value):
    """Return a number with the digits that a spreadsheet keeps."""
    return float(f"{value:.16g}") if isinstance(value, float) else value


def in_spreadsheet(values):
    return [sixteen(one) for one in values]


def said(text):
    """Return a text as all doors may have it: without breaks and what marks options."""
    return re.sub(r"[-=\s'\"]+", " ", text).strip()


def mends(remarks):
    """Return what would mend each remark that says so, by its words."""
    return {said(one["words"]): one["mend"] for one in remarks if one["mend"]}


def numbers(values):
    """Return a column as a list, None where a number is missing."""
    found = np.asarray(values).tolist()
    return [None if one is None or one != one else one for one in found]


def columns(rows, names):
    """Turn a list of rows into columns."""
    known = [name for name in names if rows and name in rows[0]]
    return {name: numbers([row[name] for row in rows]) for name in known}


# What content for machines says
# ------------------------------


def of_fit(content):
    if "responses" in content:
        return together([of_fit(one) for one in content["responses"]])
    made = Answer(remarks=list(content["notes"]), mends=mends(content["remarks"]))
    if "error" in content:
        made.answer = {"size": content["choice"]["parameter"], "dof": content["choice"]["dof"]}
        made.answer |= {f"error {rows}": one for rows, one in content["error"].items()}
        for rows, found in content["errors"].items():
            table = columns(found, SHARES)
            made.tables |= {f"errors {rows} {name}": values for name, values in table.items()}
        return made
    sigma, merit = content["sigma"], content["merit"]
    made.answer = {
        "size": content["choice"]["parameter"],
        "dof": content["choice"]["dof"],
        "sigma": sigma["value"],
        "sigma from": sigma["lower"],
        "sigma to": sigma["upper"],
        "intercept": content["intercept"]["value"],
        **{f"{rows} {name}": one[name] for rows, one in merit.items() for name in MERIT},
    }
    if content["permutations"]:
        made.answer["permutations"] = content["permutations"]["p_value"]
    lists = {**content, "test rows": (content["test"] or {}).get("rows", [])}
    for table, names in FITTED.items():
        found = columns(lists.get(table), names)
        made.tables |= {f"{table} {name}": values for name, values in found.items()}
    return made


def together(parts):
    """Return the answers of several responses as one."""
    made = replace(parts[0], answer={}, tables={}, remarks=[], mends={})
    for place, part in enumerate(parts):
        made.answer |= {f"{place} {name}": value for name, value in part.answer.items()}
        made.tables |= {f"{place} {name}": values for name, values in part.tables.items()}
        made.remarks += part.remarks
        made.mends |= part.mends
    return made


def of_predictions(content):
    rows = content["predictions"]
    made = Answer(remarks=list(content["notes"]), mends=mends(content["remarks"]))
    made.tables = columns(rows, [*PREDICTED, *(name for name in rows[0] if name[:2] == "P(")])
    made.answer = dict(content["limits"] or {}) | dict(content["merit"] or {})
    return made


def of_check(content):
    made = Answer(remarks=[*content["notes"], *(one["text"] for one in content["verdicts"])])
    made.mends = mends(content["remarks"])
    for one in content["verdicts"]:
        made.answer |= {one["name"]: one["value"], f"limit of {one['name']}": one["limit"]}
    made.tables = columns(content["rows"], CHECKED)
    return made


def of_others(content):
    """Return all numbers of what makes or compares models."""
    made = Answer(remarks=list(content["notes"]), mends=mends(content["remarks"]))
    for name, value in content.items():
        if name in ("chosen", "remarks"):  # which rows of a table; the same as the notes
            continue
        if isinstance(value, int | float | None):
            made.answer[name] = value
        elif isinstance(value, dict) and name not in ("written", "recipe"):
            made.answer |= {f"{name} {key}": one for key, one in value.items()}
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            keys = [key for key in value[0] if isinstance(value[0][key], int | float)]
            made.tables |= {f"{name} {key}": numbers([one[key] for one in value]) for key in keys}
    return made


READERS = {"fit": of_fit, "predict": of_predictions, "check": of_check}


def read(verb, content):
    """Return the answer that content for machines holds, which may not be JSON yet."""
    return READERS.get(verb, of_others)(json.loads(json.dumps(plain(content))))


def _read_all(verb, made, most=None):
    found = [one.to_dict(most) for one in made]
    return read(verb, found[0] if len(found) == 1 else {"responses": found})


# The doors
# ---------


class House:
    """The tables, and what each door has answered already."""

    def __init__(self, folder):
        self.folder, self.answers, self.models, self.contents = folder, {}, {}, {}
        self.rounded = {}  # what results say, as they round it
        self.bench = Workbench(CommandLine())
        (folder / "made").mkdir()

    def ask(self, door, asked):
        """Return what a door answers; why it refuses; or None, if it knows no such request."""
        key = (door, str(asked))
        if key not in self.answers:
            try:
                self.answers[key] = getattr(self, door)(asked)
            except PlsdofError as error:
                words = with_mend(str(error), getattr(error, "mend", {}))
                self.answers[key] = Answer(refused=words)
            except (Absent, KeyError, TypeError):
                self.answers[key] = None
        return self.answers[key]

    def run(self, *words):
        """Run a command; return what it prints, or raise why it refuses."""
        result = CliRunner().invoke(program, [*words])
        if result.exit_code == 2:
            raise PlsdofError(result.stderr.removeprefix("Error: "))
        assert result.exit_code in (0, 3), result.output
        return result.stdout

    def model(self, options):
        """Fit the model that is asked about, and return its file."""
        key = str(options)
        if key not in self.models:
            file = f"made/model-{len(self.models)}.json"
            words = Asked(options={k: v for k, v in options.items() if k != "file"}).words()
            self.run("fit", options["file"], *words, "--model", file, "--quiet")
            self.models[key] = file
        return self.models[key]

    def command(self, asked):
        """Return the words of the command line."""
        if asked.model is None:
            return [asked.verb, asked.file, *asked.words()]
        model, new = self.model(asked.model), ["--out", "made/new.json"]
        if asked.verb == "transfer":
            return ["transfer", model, "--primary", asked.file, *asked.words(), *new]
        return [asked.verb, model, asked.file, *asked.words(), *new * (asked.verb == "adjust")]

    def content(self, asked):
        """Return what is printed for machines, and where the files are that other doors read."""
        key = str(asked)
        if key not in self.contents:
            wanted = {"fit": ("out", "report"), "predict": ("out",), "check": ("report",)}
            name, ends = f"made/{len(self.contents)}", {"out": ".xlsx", "report": ".html"}
            files = {one: name + ends[one] for one in wanted.get(asked.verb, ())}
            words = [word for one, file in files.items() for word in (f"--{one}", file)]
            found = json.loads(self.run(*self.command(asked), *words, "--json"))
            self.contents[key] = SimpleNamespace(found=found, **files)
        return self.contents[key]

    def json(self, asked):
        return READERS.get(asked.verb, of_others)(self.content(asked).found)

    def terminal(self, asked):
        """Return what is printed for people; numbers are looked for in the text."""
        text = said(self.run(*self.command(asked)))
        expected = self.json(asked)
        self.ask("python", asked)
        rounded, known = self.rounded.get(str(asked), expected).answer, {}
        for name, value in expected.answer.items():
            forms = {
                str(rounded[name]).removesuffix(".0"),
                significant(value),
                in_text(value),
                "-" if value is None else f"{value:.2f}",
                f"{value}",
                "-" if value is None else f"{100 * value:g}%",
            }
            if any(said(one) in text for one in forms):
                known[name] = value
        remarks = [one for one in expected.remarks if said(one) in text]
        tried = {words: said(with_mend("", mend)) for words, mend in expected.mends.items()}
        return Answer(
            answer=known,
            tables=expected.tables,
            remarks=remarks,
            mends={words: expected.mends[words] for words, one in tried.items() if one in text},
        )

    def python(self, asked):
        """Return what a program gets from the functions of the package."""
        options, verb = dict(asked.options), asked.verb
        if verb in ("fit", "compare"):
            names = [one.name for one in fields(JoinedReading)]
            given = {name: options.pop(name) for name in names if name in options}
            for name in given.keys() & {"response_file"} | options.keys() & {"test"}:
                where = given if name in given else options
                where[name] = Path(where[name])
            reading, request = JoinedReading(**given), Request(**options)
            table = reading.with_response([Path(asked.file)], request.response, request.label)
            if verb == "compare":
                made = [workbench.compare(table, request)]
            else:
                made = [one.result for one in workbench.fit_each(table, request, reading)]
        else:
            made = self.later(verb, load_model(self.model(asked.model)), asked.file, options)
        if verb in ("fit", "predict"):
            self.rounded[str(asked)] = _read_all(verb, made, most=10**6)
        return _read_all(verb, made)

    @staticmethod
    def later(verb, model, file, options):
        """Return the results of what is asked of a model."""
        table = read_table(file)
        if verb == "predict":
            return [workbench.predict(model, table, Request(**options))]
        if verb == "check":
            return [workbench.check(model, table, request=Request(**options))]
        if verb == "adjust":
            kind = "slope" if options.get("slope") else "bias"
            return [workbench.adjust(model, table, kind, reason=options["reason"]).result]
        other, method = read_table(options["secondary"]), options["transfer_method"]
        return [workbench.transfer(model, table, other, method).result]

    def workbook(self, asked):
        """Return what a spreadsheet has."""
        file = self.content(asked).out
        book = load_workbook(file, read_only=True, data_only=True)
        sheets = {}
        for sheet in book:
            first, *rest = sheet.iter_rows(values_only=True)
            sheets[sheet.title] = {name: list(v) for name, *v in zip(first, *rest, strict=True)}
        book.close()
        if asked.verb == "predict":
            facts = dict(zip(sheets["facts"]["fact"], sheets["facts"]["value"], strict=True))
            parts = [name for name in facts if name.startswith(("limits.", "merit."))]
            return Answer(
                answer={name.partition(".")[2]: facts[name] for name in parts},
                tables=sheets["predictions"],
                remarks=sheets.get("remarks", {}).get("words", []),
                mends=self._mends(sheets),
                one=sixteen,
                column=in_spreadsheet,
            )
        parts = {}
        for title, found in sheets.items():
            names = [*asked.options["response"]] if len(asked.options["response"]) > 1 else [""]
            place = next((i for i, one in enumerate(names) if title.startswith(one)), 0)
            parts.setdefault(place, {})[title.removeprefix(names[place]).strip()] = found
        made = [self._sheets(parts[place]) for place in sorted(parts)]
        return made[0] if len(made) == 1 else together(made)

    @staticmethod
    def _sheets(sheets):
        made = Answer(one=sixteen, column=in_spreadsheet)
        facts = dict(zip(sheets["facts"]["fact"], sheets["facts"]["value"], strict=True))
        made.answer = {name: facts[key] for name, key in FACTS.items() if key in facts}
        made.answer |= {
            f"error {name.partition('.')[2]}": value
            for name, value in facts.items()
            if name.startswith("error.")
        }
        merit = sheets.get("merit", {})
        for place, rows in enumerate(merit.get("rows", ())):
            made.answer |= {f"{rows} {name}": merit[name][place] for name in MERIT}
        for title, found in sheets.items():
            made.tables |= {
                f"{title.replace('.', ' ')} {name}": values for name, values in found.items()
            }
        made.remarks = sheets.get("remarks", {}).get("words", [])
        made.mends = House._mends(sheets)
        return made

    @staticmethod
    def _mends(sheets):
        found = sheets.get("remarks", {"words": [], "mend": []})
        pairs = zip(found["words"], found["mend"], strict=True)
        return {said(words): json.loads(mend) for words, mend in pairs if mend}

    def report(self, asked):
        """Return what a page has embedded."""
        page = Path(self.content(asked).report).read_text(encoding="utf-8")
        found = re.search(r'type="application/json" id="(data|pages)">(.*?)</script>', page, re.S)
        if found is None:
            raise Absent
        content = json.loads(found[2])
        if found[1] == "pages":
            inside = [re.search(r'id="data">(.*?)</script>', one, re.S) for one in content["pages"]]
            return together([self._page(json.loads(one[1]), asked) for one in inside])
        return of_check(content) if asked.verb == "check" else self._page(content, asked)

    def app(self, asked):
        """Return what the page of the app gets."""
        os.chdir(self.folder)
        if asked.verb == "fit":
            # Every response is a trial of its own.
            made = []
            for name in asked.options["response"]:
                one = replace(asked, options={**asked.options, "response": [name]})
                found = self.bench.show({"file": one.file, **one.options})
                made.append(self._page(found["content"] or found["said"], one))
                made[-1].mends = mends(found["answer"]["remarks"])
            if len(made) == 1:
                return made[0]
            return replace(together(made), expected=together([one.expected for one in made]))
        if asked.verb in ("transfer", "compare"):
            raise Absent
        adjusted, verb = {}, asked.verb
        if verb == "adjust":
            kind = "slope" if asked.options.get("slope") else "bias"
            about = {"file": asked.file, "kind": kind, "why": asked.options["reason"]}
            adjusted, verb = {key_of(asked.model): about}, "predict"
        level = {name: asked.options[name] for name in {"level"} & asked.options.keys()}
        found = self.bench.predict({"y": asked.model | level}, asked.file, verb, adjusted)["y"]
        return read(asked.verb, found["change"] if asked.verb == "adjust" else found)

    def _page(self, content, asked):
        """Return what a page says; its numbers are as the result rounds them."""
        made, sides = of_fit(content["result"]), ("doubts", "notes", "guesses")
        made.remarks = [one for side in sides for one in content.get(side, ())]
        made.remarks += [text for _, text in content["sentences"]]
        place = content.get("chosen", 0) - content.get("first", 0)
        made.remarks += [one["reason"] for one in content.get("details", ())[place : place + 1]]
        self.ask("python", asked)
        made.expected = self.rounded[str(asked)]
        return made
