"""The results to read: a web page, a Markdown summary, and a table for the console."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plsdof.errors import MissingExtraError
from plsdof.paper._settings import LEVEL, Check, Settings
from plsdof.paper.data_figures import Exhibit

# Misprints of the paper, and statements that do not hold in general
# ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """One place of the paper: what is printed and what is correct."""

    where: str
    printed: str
    correct: str


ERRATA = (
    Erratum(
        where="Derivative of v/|v|_S",
        printed="vv'S / (v'v)",
        correct="vv'S / (v'Sv)",
    ),
    Erratum(
        where="Algorithm 1, lines 10 and 11, and appendix",
        printed="factor sqrt(n-1) in the normalisation",
        correct="no factor: with S and s as defined the recursions need v'Sv = 1",
    ),
    Erratum(
        where="Jacobian of the fit (Krylov representation)",
        printed="(1/n) I_n",
        correct="11'/n (the trace is the same)",
    ),
    Erratum(
        where="Trace formula (Krylov representation), third term",
        printed="sum_{j,l} t_l'K^j t_l",
        correct="sum_{j,l} c_j t_l'K^j t_l",
    ),
    Erratum(where="Hat matrix, before eq. (hat)", printed="p x p", correct="n x n"),
    Erratum(
        where="Table 1, cookie",
        printed="0.867 for 70 rows",
        correct="0.8669 on all 72 rows; 0.8817 without rows 23 and 61",
    ),
    Erratum(
        where="Table 1, ozone",
        printed="0.260",
        correct="0.2592 on the 203 complete rows",
    ),
    Erratum(
        where="Caption of Figure 8",
        printed="Left: ... Left: ...",
        correct="Left: ... Right: ...",
    ),
    Erratum(
        where="Discussion",
        printed="the results confirm the conjecture DoF(m) >= m + 1",
        correct="it is not a theorem: eigenvalues (1, 1e-4) with z^2 = (1e-6, 1) give DoF(1) = "
        "-95.01 exactly, and on cookie DoF(2) = 2.89",
    ),
    Erratum(
        where="Section on numerical stability",
        printed="negative Degrees of Freedom indicate a numerical problem",
        correct="they may (Krylov form), but the exact value can be negative as well",
    ),
)


# The results to read: a web page, a Markdown summary, and a table for the console
# --------------------------------------------------------------------------------

_ABOUT = (
    "N. Krämer and M. Sugiyama (2011), The Degrees of Freedom of Partial Least Squares "
    "Regression, Journal of the American Statistical Association"
)


def require_jinja() -> None:
    """Say what to install before any work is done."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("jinja2", "report", "Writing index.html") from error


def html_page(exhibits: Sequence[Exhibit], settings: Settings) -> str:
    """Return index.html: figures with their text, checks and errata. Everything is escaped."""
    require_jinja()
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("plsdof.paper"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("index.html")
    checks = all_checks(exhibits)
    return template.render(
        about=_ABOUT,
        exhibits=exhibits,
        checks=checks,
        errata=ERRATA,
        summary=summary(checks),
        how=how_checked(settings),
        tables={e.name: table_cells(e) for e in exhibits if e.draw is None},
    )


def markdown(exhibits: Sequence[Exhibit], settings: Settings) -> str:
    """Return the captions, checks and errata as Markdown, for a page of documentation."""
    checks = all_checks(exhibits)
    lines = [
        "# The paper, reproduced",
        "",
        f"{_ABOUT}.",
        "",
        how_checked(settings),
        "",
        f"**{summary(checks)}**",
        "",
    ]
    for exhibit in exhibits:
        lines += [f"## {exhibit.title}", ""]
        if exhibit.draw is not None:
            title = exhibit.title.partition(":")[0]
            lines += [f"![{title}](figures/{exhibit.name}.png)", ""]
        lines += [exhibit.caption, ""]
        if exhibit.draw is None:
            header, *rows = table_cells(exhibit)
            lines += [*_markdown_table(header, rows), ""]
        if exhibit.checks:
            header = ["check", "claim", "measured", "95 % interval", "required", "verdict", "note"]
            rows = [_markdown_row(check) for check in exhibit.checks]
            lines += [*_markdown_table(header, rows), ""]
    lines += ["## Errata", ""]
    errata = [[e.where, e.printed, e.correct] for e in ERRATA]
    lines += _markdown_table(["where", "printed", "correct"], errata)
    return "\n".join(lines) + "\n"


def console_table(checks: Sequence[Check]) -> Any:
    """Return the checks as a rich table."""
    from rich.table import Table

    table = Table(title="What the paper says, checked", show_lines=False)
    table.add_column("Where", no_wrap=True)
    table.add_column("Claim", ratio=1)
    table.add_column("Measured", justify="right", no_wrap=True)
    table.add_column("95 % interval", no_wrap=True)
    table.add_column("Verdict")
    for check in checks:
        style = "green" if check.holds else "red"
        mark = " (stand-in)" if check.stand_in else ""
        table.add_row(
            check.claim.exhibit,
            check.claim.text + mark,
            f"{check.value:.3g}",
            check.interval,
            f"[{style}]{check.verdict}[/]",
        )
    return table


def all_checks(exhibits: Sequence[Exhibit]) -> list[Check]:
    """Return the checks of all exhibits, in their order."""
    return [check for exhibit in exhibits for check in exhibit.checks]


def summary(checks: Sequence[Check]) -> str:
    """Count the verdicts."""
    holding = sum(check.holds for check in checks)
    unclear = sum(not check.clear for check in checks)
    return (
        f"{holding} of {len(checks)} checks hold, {len(checks) - holding} do not; for {unclear} "
        "of them the interval reaches across the bound."
    )


def how_checked(settings: Settings) -> str:
    """Say how the numbers came about."""
    return (
        f"Random splits and simulations: {settings.repeats} repeats, seed {settings.seed}. "
        f"Intervals: percentile bootstrap over the repeats, {100 * LEVEL:g} percent, "
        f"{settings.draws} draws; none where nothing was repeated. "
        'A verdict is "not clearly" so if its interval '
        "reaches across the required bound."
    )


def table_cells(exhibit: Exhibit) -> list[list[str]]:
    """Return header and rows of a table as text."""
    rows = [[_cell(value) for value in row] for row in exhibit.rows]
    return [[column.replace("_", " ") for column in exhibit.columns], *rows]


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _markdown_row(check: Check) -> list[str]:
    claim = check.claim
    return [
        check.name,
        claim.text,
        f"{claim.measure}: {check.value:.4g}",
        check.interval,
        claim.required,
        f"**{check.verdict}**",
        check.note,
    ]


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in lines]


def _escaped(cell: str) -> str:
    """Keep bars from ending a cell, and stars and underscores from being read as emphasis."""
    text = cell.replace("|", "\\|")
    if text.startswith("**"):
        return text
    return text.replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")
