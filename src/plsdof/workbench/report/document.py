"""The page itself: a template filled with the content, styles, scripts and data in one file."""

import base64
import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from importlib import metadata, resources
from typing import Any

from plsdof._core.warnings import quietly
from plsdof.chemometrics.merit import HEADINGS, Acceptance, accepted
from plsdof.errors import MissingExtraError
from plsdof.models.writing import atomic_write, check_writable, plain
from plsdof.plotting.style import is_harmless, readable
from plsdof.workbench.analysis import Analysis, analysis_of
from plsdof.workbench.analysis.result import Result, in_number
from plsdof.workbench.report._numbers import shown
from plsdof.workbench.report.content import in_tables, ranked, report_content

# What draws a content object, in a report and elsewhere.
_SCRIPTS = ("plot", "base", "pictures", "models", "predictors", "rows", "draw")
# Rows of a table on the page.
_MOST_LISTED = 60
_PACKAGES = ("numpy", "scipy", "jinja2")
_HASH = re.compile(r"'(sha256-[A-Za-z0-9+/=]+)'")


def write_report(
    analysis: Any,
    file: str | os.PathLike[str],
    *,
    response: str = "y",
    labels: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None,
    level: float = 0.95,
    command: str = "",
    accept: Sequence[str] = (),
) -> None:
    """Write what there is to say about a fit as one HTML file that needs no network.

    Parameters
    ----------
    analysis : Analysis, Model or fitted estimator
        Several analyses, of several responses, become one file with a page for each.
    file : path
        The HTML file; it appears complete or not at all.
    response, labels, groups, level
        Of a model or an estimator, as for `analysis_of`. An analysis has its own.
    command : str
        The command that made the report, quoted in it as it is.
    accept : sequence of str
        Criteria of acceptance, such as "RMSEP<0.15", judged on the first page.

    Notes
    -----
    Text that comes from the data is escaped wherever it goes, and a content security policy lets
    the page run its own scripts only and load nothing. Cost: for each model on the slider
    O((n + p) r^2) time; of large problems fewer models, rows and predictors are shown, and the
    page says so.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from plsdof import PLSRegressor
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "ozone.html"
    ...     write_report(PLSRegressor("bic").fit(X, y), file, response="ozone")
    ...     "What was found" in file.read_text(encoding="utf-8")
    True
    """
    check_writable(file)
    several = list(analysis) if isinstance(analysis, list | tuple) else [analysis]
    own: dict[str, Any] = {"response": response, "labels": labels, "groups": groups, "level": level}
    pages = {}
    for one in several:
        found = one if isinstance(one, Analysis) else analysis_of(one, **own)
        with quietly():
            content = report_content(found)
        judged = [accepted(one, found.merit) for one in accept]
        page = render(content, command=command, judged=judged)
        pages[found.data.response] = page
    text = next(iter(pages.values())) if len(several) == 1 else combined(pages)
    with atomic_write(file) as stream:
        stream.write(text.encode("utf-8", errors="replace"))


def write_result(
    result: Result, file: str | os.PathLike[str], *, picture: str = "", command: str = ""
) -> None:
    """Write a result as one HTML file that needs no network and runs no script.

    Parameters
    ----------
    result : Result
    file : path
    picture : str
        SVG, drawn above the tables.
    command : str
        The command that made it, quoted as it is.
    """
    check_writable(file)
    content = said_content(result, picture)
    more = {"command": _visible(command), "versions": versions(), "shared": _markup(style())}
    data = {name: one for name, one in content.items() if name != "picture"}
    page = _filled("result", data, [], **_shown_by(content), **more)
    with atomic_write(file) as stream:
        stream.write(page.encode("utf-8", errors="replace"))


def said_content(result: Result, picture: str = "") -> dict[str, Any]:
    """Return a result as a page without sliders has it."""
    return in_tables(result) | ranked(result.remarks) | {"picture": picture}


def write_check(content: Mapping[str, Any], file: str | os.PathLike[str]) -> None:
    """Write what a check of a calibration found, with its control charts, as one HTML file.

    Parameters
    ----------
    content : mapping
        What ``plsdof check --json`` gives.
    file : path
    """
    check_writable(file)
    from markupsafe import Markup

    facts, own = plain(content), joined("plot", "base", "pictures", "check", "check-page")
    page = _filled("check", facts, [own], **facts, shared=Markup(style()), show=_short)
    with atomic_write(file) as stream:
        stream.write(page.encode("utf-8", errors="replace"))


def _short(value: float | None) -> str:
    return shown(None if value is None else in_number(value))


def render(content: dict[str, Any], *, command: str, judged: Sequence[Acceptance] = ()) -> str:
    """Fill the template; ``content`` is also embedded as the data that the page draws."""
    return _filled(
        "report",
        content,
        [script("page")],
        **_values(content),
        command=_visible(command),
        judged=[(one.criterion, shown(in_number(one.value)), one.passed) for one in judged],
        versions=versions(),
    )


def script(*names: str, more: Sequence[str] = ()) -> str:
    """Return what draws a content object, further scripts by their names, and more text."""
    return joined(*_SCRIPTS, *names, more=more)


def joined(*names: str, more: Sequence[str] = ()) -> str:
    """Return scripts in a scope of their own."""
    parts = [*(_own_file(f"script/{name}.js") for name in names), *more]
    return '"use strict";\n(function () {\n' + "\n".join(parts) + "})();\n"


def fragment(name: str, content: dict[str, Any]) -> str:
    """Return a part of the page as HTML: "found", "spectra", "models", "tables"."""
    shown = _values(content) if "details" in content else _shown_by(content)
    return str(_environment().get_template(f"{name}.html.j2").render(**shown))


def style() -> str:
    """Return the styles of a report."""
    return _own_file("report.css")


def _values(content: dict[str, Any]) -> dict[str, Any]:
    """Return what templates show: the content, and a few things that follow from it."""
    place = content["chosen"] - content["first"]
    known = {name: [v for v in vs if v is not None] for name, vs in content["models"].items()}
    return {
        **_shown_by(content),
        "rest": f"{100 - content['level']:.1f}".removesuffix(".0"),
        "by_components": content["parameter_name"] == "n_components",
        "detail": content["details"][place],
        "any_x": known["x_explained"],
        "any_cv": known["rmsecv"],
        "merit_headings": HEADINGS,
    }


def _shown_by(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content, and how templates show its numbers."""
    return {
        **content,
        "number": partial(_number, content),
        "at": partial(_at, content),
        "most_listed": _MOST_LISTED,
        "picture": _markup(content.get("picture", "")),
    }


def _markup(text: str) -> Any:
    """Return HTML that is ours."""
    _environment()
    from markupsafe import Markup

    return Markup(text)


def combined(pages: Mapping[str, str]) -> str:
    """Return pages of several responses, named by them, as one with a switch.

    The page needs no network and runs its own scripts only, as the pages themselves do. Printed,
    each response begins a page.
    """
    content = {"pages": list(pages.values())}
    # A page inside this one obeys both policies, so this one has to allow its scripts.
    allowed = [one for page in pages.values() for one in _HASH.findall(page)]
    names = [readable(name, 60) for name in pages]
    own = _own_file("script/several.js")
    from markupsafe import Markup

    paper = Markup(style())
    return _filled("several", content, [own], allowed=allowed, names=names, paper=paper)


def _filled(
    name: str,
    content: dict[str, Any],
    scripts: Sequence[str],
    allowed: Sequence[str] = (),
    **rest: Any,
) -> str:
    """Fill a template with data, styles and scripts; a policy allows these scripts only."""
    environment = _environment()
    from markupsafe import Markup

    hashes = [script_hash(script) for script in scripts] + list(allowed)
    filled: str = environment.get_template(f"{name}.html.j2").render(
        **rest,
        data=Markup(as_embedded_json(content)),
        styles=Markup(_own_file(f"{name}.css") if scripts else ""),
        scripts=[Markup(script) for script in scripts],
        script_hashes=list(dict.fromkeys(hashes)),
    )
    return filled


def _environment() -> Any:
    """Return the templates."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("jinja2", "report", "The HTML report") from error
    return _templates()


@lru_cache(maxsize=1)
def _templates() -> Any:
    """Return the templates, compiled once; all text is escaped."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("plsdof.workbench.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def as_embedded_json(content: dict[str, Any]) -> str:
    r"""Write JSON that no HTML parser takes for the end of its script element.

    Every ``<`` becomes ``\u003c``, so neither ``</script>`` nor ``<!--`` can appear; characters
    outside ASCII are escaped as well.

    Examples
    --------
    >>> as_embedded_json({"a": "</script>"})
    '{"a":"\\u003c/script>"}'
    """
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def script_hash(script: str) -> str:
    """Return what a content security policy allows a script by."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _number(content: dict[str, Any], where: str, unit: str = "") -> Any:
    """Show one number of the content, marked with its place there."""
    from markupsafe import Markup

    value: Any = _at(content, where)
    # A number that is not defined has no unit.
    unit = "" if value is None else unit
    return Markup('<span data-number="{}">{}</span>{}').format(where, shown(value), unit)


def _at(content: Any, where: str) -> Any:
    """Return what is at a place of the content."""
    for key in where.split("."):
        content = content[int(key)] if isinstance(content, list) else content[key]
    return content


def _visible(command: str) -> str:
    """Spell out characters that HTML cannot hold or that turn the text around them."""
    return "".join(c if is_harmless(c) or c in "\n\t" else f"\\u{ord(c):04x}" for c in command)


def _own_file(name: str) -> str:
    return (
        resources.files("plsdof.workbench")
        .joinpath("report")
        .joinpath("templates", name)
        .read_text(encoding="utf-8")
    )


def versions() -> list[tuple[str, str]]:
    """Return name and version of everything that took part."""
    import plsdof

    found = [("Python", platform.python_version()), ("plsdof", plsdof.__version__)]
    return found + [(name, metadata.version(name)) for name in _PACKAGES]
