"""The page itself: a template filled with the content, styles, scripts and data in one file."""

import base64
import hashlib
import json
import os
import platform
import re
from collections.abc import Iterable
from functools import partial
from importlib import metadata, resources
from typing import Any

from plsdof._core.criteria import Selection
from plsdof.chemometrics.merit import TestSet
from plsdof.complexity.comparison import Comparison
from plsdof.errors import MissingExtraError
from plsdof.files.writing import atomic_write, check_writable
from plsdof.inference.permutation import PermutationTest
from plsdof.plotting.style import as_fitted, is_harmless
from plsdof.report._subject import make_subject, shown
from plsdof.report.content import report_content
from plsdof.selection.cross_validation import CrossValidation
from plsdof.selection.stability import SelectionFrequency

# var a=core();a.register([bar(),...,map()]);b.exports=a});return
_REGISTRATION = re.compile(
    r"(var ([\w$]+)=[\w$]+\(\);\2\.register\(\[)"
    r"(?:[\w$]+\(\),?)+"
    r"(\]\);[\w$]+\.exports=\2\}\);return )"
)
_SCRIPTS = ("base", "models", "predictors", "rows", "tables", "page")
_PACKAGES = ("plsdof", "numpy", "scipy", "plotly", "jinja2")


def write_report(
    file: str | os.PathLike[str],
    path: Any,
    selection: Selection | None = None,
    *,
    X: Any,
    y: Any,
    row_labels: Iterable[Any] | None = None,
    response: str = "y",
    source: str = "",
    command: str = "",
    cv: CrossValidation | None = None,
    comparison: Comparison | None = None,
    level: float = 0.95,
    stability: SelectionFrequency | None = None,
    notes: Iterable[str] = (),
    row_numbers: Iterable[int] | None = None,
    groups: Iterable[Any] | None = None,
    raw: Any = None,
    preprocessing: str = "",
    search: str = "",
    test: TestSet | None = None,
    intervals: str = "normal",
    covariance: str = "homoscedastic",
    permutation: PermutationTest | None = None,
    sample: Any = None,
    progress: bool = False,
) -> None:
    """Write a path and the choice on it as one HTML file that needs no network.

    Parameters
    ----------
    file : path
        The HTML file; it appears complete or not at all.
    path : Path or fitted estimator
        Of any method; T^2, Q and studentised residuals are shown for plain PLS.
    selection : Selection
        The choice, made from ``path`` or ``cv``; that of an estimator by default.
    X, y : arrays or data frame
        The training rows (those with positive weight). Column names that are numbers become a
        wavelength axis.
    row_labels : sequence, optional
        What to call the rows, such as sample names; by default they are numbered from 1.
    response, source : str
        Name of the response and of the file the data came from.
    command : str
        The command that made the report, quoted in it as it is.
    cv : CrossValidation, optional
        Of the same method; adds its errors. Those of an estimator by default.
    comparison : Comparison, optional
        Adds a section on other methods.
    level : float
        Of the intervals and of the limits for unusual rows.
    stability : SelectionFrequency, optional
        Adds how often the same model was chosen.
    notes : sequence of str
        What a reader should know about the data, such as columns and rows left out.
    row_numbers : sequence of int, optional
        Numbers of the rows in their file; by default 1, 2, ..., n.
    groups : sequence, optional
        Which rows belong together: colours of the scores.
    raw : (n, q) array or data frame, optional
        The rows before preprocessing, drawn beside X.
    preprocessing : str
        How X was made from ``raw``, in words.
    search : str
        What a search of columns found and what it costs, in words. It looked at the response, and
        X is 0 in all columns but those it selected.
    test : TestSet, optional
        Rows that took no part in the fit: adds their predictions and figures of merit.
    intervals : {"normal", "conformal", "jackknife+"}
        Of the predictions of the test set; see `plsdof.inference.prediction_interval`.
    covariance : {"homoscedastic", "hc3", "jackknife"}
        Of the coefficients; see `plsdof.inference.coefficient_inference`.
    permutation : PermutationTest, optional
        Adds whether there is anything to predict at all.
    sample : (n,) array of int, optional
        Which rows of the fit X and y are, from 0 and in this order, if they are not all of them;
        ``path`` is one that `plsdof.large.rows.at_rows` made then.
    progress : bool
        Show a bar on stderr that counts the models described. Needs rich.

    Notes
    -----
    Text that comes from the data is escaped wherever it goes, and a content security policy lets
    the page run its own two scripts only and load nothing. Cost: for each model on the slider
    O((n + p) r^2) time; of large problems fewer models, rows and predictors are shown, and the
    page says so.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> path = pls_path(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "ozone.html"
    ...     write_report(file, path, path.select("bic"), X=X, y=y, response="ozone")
    ...     "How many components" in file.read_text(encoding="utf-8")
    True
    """
    check_writable(file)
    model = as_fitted(path, selection, cv)
    plotly = plotly_script()
    subject = make_subject(
        model,
        X=X,
        y=y,
        row_labels=row_labels,
        response=response,
        source=source,
        comparison=comparison,
        level=level,
        stability=stability,
        notes=notes,
        row_numbers=row_numbers,
        groups=groups,
        raw=raw,
        preprocessing=preprocessing,
        search=search,
        test=test,
        intervals=intervals,
        covariance=covariance,
        permutation=permutation,
        sample=sample,
    )
    page = render(report_content(subject, progress=progress), plotly=plotly, command=command)
    with atomic_write(file) as stream:
        stream.write(page.encode("utf-8", errors="replace"))


def render(content: dict[str, Any], *, plotly: str, command: str) -> str:
    """Fill the template; ``content`` is also embedded as the data that the page draws."""
    try:
        import jinja2
        from markupsafe import Markup
    except ImportError as error:
        raise MissingExtraError("jinja2", "report", "The HTML report") from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("plsdof.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    own = _own_script()
    return environment.get_template("report.html.j2").render(
        **content,
        number=partial(_number, content),
        command=_visible(command),
        versions=_versions(plotly),
        data=Markup(as_embedded_json(content)),
        styles=Markup(_own_file("report.css")),
        plotly_script=Markup(plotly),
        own_script=Markup(own),
        script_hashes=[script_hash(plotly), script_hash(own)],
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


def _number(content: dict[str, Any], where: str, unit: str = "") -> Any:
    """Show one number of the content, marked with its place there."""
    from markupsafe import Markup

    value: Any = content
    for key in where.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    # A number that is not defined has no unit.
    unit = "" if value is None else unit
    return Markup('<span data-number="{}">{}</span>{}').format(where, shown(value), unit)


def _visible(command: str) -> str:
    """Spell out characters that HTML cannot hold or that turn the text around them."""
    return "".join(c if is_harmless(c) or c in "\n\t" else f"\\u{ord(c):04x}" for c in command)


def plotly_script() -> str:
    """Return the library that draws, as it stands in every page."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingExtraError("plotly", "report", "The HTML report") from error
    text = only_scatter(get_plotlyjs())
    # Inside a string of JavaScript the backslash changes nothing; in HTML it keeps the script open.
    return text.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def only_scatter(bundle: str) -> str:
    """Keep plotly.js from starting the 46 kinds of pictures that a report does not draw.

    The last module of the bundle wakes all of them up, which takes a browser most of the time
    of opening a report; its first module has what lines and points need. A bundle that does not
    end in the known way is left as it is.

    Examples
    --------
    >>> only_scatter("var b=W(()=>{var a=core();a.register([bar(),map()]);c.exports=a});return b()")
    'var b=W(()=>{var a=core();a.register([]);c.exports=a});return b()'
    """
    return _REGISTRATION.sub(r"\1\3", bundle, count=1)


def _own_script() -> str:
    """Return the parts of the script, one subject each, in a scope of their own."""
    parts = [_own_file(f"script/{name}.js") for name in _SCRIPTS]
    return '"use strict";\n(function () {\n' + "\n".join(parts) + "})();\n"


def _own_file(name: str) -> str:
    return resources.files("plsdof.report").joinpath("templates", name).read_text(encoding="utf-8")


def script_hash(script: str) -> str:
    """Return what a content security policy allows a script by."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _versions(plotly: str) -> list[tuple[str, str]]:
    """Return name and version of everything that took part."""
    import plsdof

    found = [("Python", platform.python_version()), ("plsdof", plsdof.__version__)]
    found += [(name, metadata.version(name)) for name in _PACKAGES if name != "plsdof"]
    banner = plotly[:200].partition("plotly.js v")[2].split()
    return [*found, ("plotly.js", banner[0])] if banner else found
