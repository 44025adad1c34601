"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from plsdof._core.choice import RULES
from plsdof._core.criteria import CRITERIA, DOF_KINDS
from plsdof._core.fit import METHODS
from plsdof.analysis.remarks import usual_scheme
from plsdof.analysis.request import CHOICES
from plsdof.inference.intervals import COVARIANCES, INTERVAL_METHODS


def _completing(words: tuple[str, ...]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


class StrictCommand(TyperCommand):
    """A command that refuses options which contradict each other, or are given twice.

    Those that add up may be repeated.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse twice: first to see what was given, how often; then as ever."""
        if not ctx.resilient_parsing:  # as it is for completion in a shell
            *_, given = self.make_parser(ctx).parse_args(args=list(args))
            self._require_once(ctx, given)
        return super().parse_args(ctx, args)

    def _require_once(self, ctx: Any, given: list[Any]) -> None:
        for option in self.get_params(ctx):
            is_single = option.param_type_name == "option" and not option.multiple
            if is_single and not option.is_eager and given.count(option) > 1:
                names = " or ".join([*option.opts, *option.secondary_opts])
                ctx.fail(f"{names} is given {given.count(option)} times; give it once.")
        if {"quiet", "verbose"} <= {option.name for option in given}:
            ctx.fail("--quiet and --verbose exclude each other; give one of them.")


_TABLE = "Columns of the table"
_MODEL = "Model"
_TEST = "Rows to test on"
_OUTPUT = "Output"

File = Annotated[
    Path, typer.Argument(metavar="TABLE", help="CSV, TSV, Parquet or Excel (.xlsx) file.")
]
FileOrFolder = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet or Excel (.xlsx) file, or a folder of CSV or Parquet files.",
    ),
]
Response = Annotated[
    str,
    typer.Option(
        "--response",
        "-r",
        metavar="COLUMN",
        help="Column to be predicted.",
        rich_help_panel=_TABLE,
        show_default=False,
    ),
]
Responses = Annotated[
    list[str],
    typer.Option(
        "--response",
        "-r",
        metavar="COLUMN",
        help="Column to be predicted. Repeat it for several, each with a model of its own.",
        rich_help_panel=_TABLE,
        show_default=False,
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        "--features",
        "-f",
        metavar="CHOICE",
        help="Predictors: a name, a range such as 1100:1300 or a:f, or a pattern such as 'nir*'. "
        "May be repeated.",
        show_default="all numeric columns; wavelengths only, if most are",
        rich_help_panel=_TABLE,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        "-x",
        metavar="CHOICE",
        help="Columns to leave out, chosen in the same way. May be repeated.",
        rich_help_panel=_TABLE,
        show_default=False,
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Rows with the same value here, such as replicates of a sample, are left out "
        "together. Not a predictor.",
        rich_help_panel=_TABLE,
        show_default=False,
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column that names the rows. No predictor.",
        rich_help_panel=_TABLE,
        show_default=False,
    ),
]
DropMissing = Annotated[
    bool,
    typer.Option(
        "--drop-missing",
        help="Drop rows with missing values, and say how many.",
        rich_help_panel=_TABLE,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        help="Sheet of an Excel file.",
        metavar="NAME",
        show_default="first",
        rich_help_panel=_TABLE,
    ),
]
HeaderRow = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Line (or row of the sheet) with the names of the columns, from 1.",
        show_default="found",
        rich_help_panel=_TABLE,
    ),
]
SkipRows = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Leave out the first N lines of the file.",
        rich_help_panel=_TABLE,
        show_default=False,
    ),
]
Transpose = Annotated[
    bool,
    typer.Option(
        "--transpose",
        help="The names are in the first column; every other column is a row.",
        rich_help_panel=_TABLE,
    ),
]
Na = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CODE",
        help="What stands for a missing value, such as -999 or n.d. May be repeated.",
        show_default=False,
        rich_help_panel=_TABLE,
    ),
]
ResponseFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Table with the response, joined by the values of a column that names the rows "
        "(--id), whatever it is called there.",
        show_default=False,
        rich_help_panel=_TABLE,
    ),
]
ResponseSheet = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Sheet with the response, of TABLE or of --response-file.",
        show_default=False,
        rich_help_panel=_TABLE,
    ),
]
ByRowOrder = Annotated[
    bool,
    typer.Option(
        "--by-row-order",
        help="Join the response row by row: the first with the first, and so on.",
        rich_help_panel=_TABLE,
    ),
]
ExcludeRows = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROWS",
        help="Rows to leave out: 1,5,41:60 (1 is the first row below the header), or "
        "COLUMN=VALUE,VALUE. May be repeated.",
        show_default=False,
        rich_help_panel=_TABLE,
    ),
]
InMemory = Annotated[
    bool | None,
    typer.Option(
        "--in-memory/--streamed",
        metavar=" ",  # not <bool>: a flag takes no value
        help="Read the table as a whole, or piece by piece in bounded memory.",
        show_default="streamed above 1 GB (Parquet: 500 MB, folders: 100 MB)",
        rich_help_panel=_TABLE,
    ),
]
Choice = Annotated[
    str | None,
    typer.Option(
        "--criterion",
        metavar="NAME",
        help=f"How to choose a model: left-out (errors of rows left out), average (of all models), "
        f"or {', '.join(CRITERIA)}.",
        autocompletion=_completing(CHOICES),
        show_default="left-out; gcv for a streamed table without --cv",
        rich_help_panel=_MODEL,
    ),
]
Rule = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help=f"Of a criterion: {', '.join(RULES)}.",
        show_default="paper",
        autocompletion=_completing(RULES),
        rich_help_panel=_MODEL,
    ),
]
Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=f"Regression method: {', '.join(METHODS)}.",
        autocompletion=_completing(tuple(METHODS)),
        rich_help_panel=_MODEL,
    ),
]
Components = Annotated[
    int | None,
    typer.Option(
        metavar="M",
        help="Keep this many components instead of choosing (pls and pcr).",
        show_default=False,
        rich_help_panel=_MODEL,
    ),
]
MaxComponents = Annotated[
    int | None,
    typer.Option(
        metavar="M",
        help="Largest model to look at (pls and pcr).",
        show_default="30, or what the table supports",
        rich_help_panel=_MODEL,
    ),
]
Scale = Annotated[
    bool | None,
    typer.Option(
        "--scale/--no-scale",
        metavar=" ",  # not <bool>: a flag takes no value
        help="Scale the predictors to unit variance.",
        show_default="scaled, unless they are wavelengths",
        rich_help_panel=_MODEL,
    ),
]
LeftOutText = Annotated[
    str | None,
    typer.Option(
        "--cv",
        metavar="K|loo",
        help="Leave rows out in K folds, row i in fold i modulo K; or one by one.",
        show_default=usual_scheme(),
        rich_help_panel=_MODEL,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Random folds for --cv, reproducible by this number.",
        show_default="row i in fold i modulo K",
        rich_help_panel=_MODEL,
    ),
]
DofKind = Annotated[
    str | None,
    typer.Option(
        "--dof",
        metavar="KIND",
        help=f"Degrees of Freedom in the criterion: {', '.join(DOF_KINDS)}.",
        autocompletion=_completing(DOF_KINDS),
        show_default="exact",
        rich_help_panel=_MODEL,
    ),
]
Preprocess = Annotated[
    str,
    typer.Option(
        metavar="STEPS",
        help="Preprocessing, such as savgol:15:2:1,snv (window, degree, derivative). Steps: "
        "snv, msc, savgol, smooth, detrend, baseline, center, autoscale.",
        rich_help_panel=_MODEL,
    ),
]
Preprocesses = Annotated[
    list[str] | None,
    typer.Option(
        "--preprocess",
        metavar="STEPS",
        help="Preprocessing, such as savgol:15:2:1,snv; none for none. Repeat it to compare.",
        show_default="none",
        rich_help_panel=_MODEL,
    ),
]
Select = Annotated[
    str | None,
    typer.Option(
        metavar="SEARCH",
        help="Select columns first: intervals:K (iPLS, the best of K intervals or all), forward:K "
        "or backward:K (intervals are added or left out one by one), or vip (thresholds of "
        "variable importance). What the search costs is counted.",
        show_default=False,
        rich_help_panel=_MODEL,
    ),
]
Test = Annotated[
    Path | None,
    typer.Option(
        "--test",
        metavar="FILE",
        help="Test the model on the rows of another table with the same columns.",
        show_default=False,
        rich_help_panel=_TEST,
    ),
]
TestRows = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROWS",
        help="Keep rows apart for the test: 1,5,41:60 (1 is the first row below the header), or "
        "COLUMN=VALUE,VALUE. May be repeated.",
        show_default=False,
        rich_help_panel=_TEST,
    ),
]
TestFraction = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="Keep a random share of the rows apart for the test; the same one every time.",
        show_default=False,
        rich_help_panel=_TEST,
    ),
]
Level = Annotated[
    float, typer.Option(metavar="P", help="Level of the intervals.", rich_help_panel=_MODEL)
]
StdErrors = Annotated[
    bool | None,
    typer.Option(
        "--std-errors/--no-std-errors",
        metavar=" ",  # not <bool>: a flag takes no value
        help="Standard errors of the coefficients, and an interval of the noise level.",
        show_default="unless rows and columns are more than 1000",
        rich_help_panel=_MODEL,
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print JSON: all that the tables give, and more.", rich_help_panel=_OUTPUT
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.html",
        help="Write a report for the browser.",
        show_default=False,
        rich_help_panel=_OUTPUT,
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.png|svg|pdf",
        help="Draw an overview.",
        show_default=False,
        rich_help_panel=_OUTPUT,
    ),
]
ModelOut = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="FILE.json",
        help="Keep the model for `plsdof predict`.",
        show_default=False,
        rich_help_panel=_OUTPUT,
    ),
]
TablesOut = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE.xlsx|csv",
        help="Write the tables to Excel: coefficients, models, figures of merit, test rows. To "
        "CSV go the coefficients only.",
        show_default=False,
        rich_help_panel=_OUTPUT,
    ),
]
PlainCsv = Annotated[
    bool,
    typer.Option(
        "--plain-csv",
        help="Write texts to CSV as they are, also those that a spreadsheet takes for formulas. "
        "Otherwise they get an apostrophe in front.",
        rich_help_panel=_OUTPUT,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=_OUTPUT),
]
Intervals = Annotated[
    str | None,
    typer.Option(
        "--intervals",
        metavar="METHOD",
        help="How predictions of a kept model are covered: left-out (errors of rows left out) or "
        "normal (noise level).",
        autocompletion=_completing(INTERVAL_METHODS),
        show_default="left-out",
        rich_help_panel=_MODEL,
    ),
]
Covariance = Annotated[
    str,
    typer.Option(
        metavar="KIND",
        help="Standard errors of the coefficients: homoscedastic, hc3 (noise of any variances) or "
        "jackknife (rows are a random sample).",
        autocompletion=_completing(COVARIANCES),
        rich_help_panel=_MODEL,
    ),
]
Permutations = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Test whether the response has anything to do with the predictors: compare the best "
        "score over all sizes with that of N permuted responses, such as 999.",
        show_default=False,
        rich_help_panel=_MODEL,
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Print everything: all rows of all tables.", rich_help_panel=_OUTPUT
    ),
]
