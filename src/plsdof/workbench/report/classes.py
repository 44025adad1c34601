"""A classification as one web page: pictures, confusions and errors by class, without scripts."""

import io
from html import escape
from typing import Any

from plsdof.models.writing import atomic_write, check_writable
from plsdof.plotting.style import readable
from plsdof.workbench.analysis.classes import ClassAnalysis

_TITLES = {"left-out": "Held-out rows", "calibration": "Calibration, as fitted", "test": "Test set"}
_PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<style>:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }}
td, th {{ padding: 2px 10px; text-align: right }}
svg {{ max-width: 100%; height: auto; background: white }}
.scroll {{ overflow-x: auto }}</style>
</head><body><h1>{title}</h1>{body}</body></html>
"""


def write_class_report(analysis: ClassAnalysis, file: Any, *, command: str = "") -> None:
    """Write a classification as one HTML file that needs no network and runs no script."""
    check_writable(file)
    made = f"{readable(command, 900)} {analysis.created}".strip()
    title = f"Classes of {readable(analysis.data.response)}"
    body = f"{class_body(analysis)}<p>{escape(made)}</p>"
    with atomic_write(file) as stream:
        page = _PAGE.format(title=escape(title), body=body)
        stream.write(page.encode("utf-8", errors="replace"))


def class_body(analysis: ClassAnalysis) -> str:
    """Return what there is to say about a classification, as HTML."""
    from plsdof.plotting.curves import class_figure

    picture = io.StringIO()
    class_figure(analysis.model).savefig(picture, format="svg")
    sentences = [analysis.summary, *analysis.data.notes]
    sentences += [] if analysis.permutation is None else [analysis.permutation.message]
    body = "".join(f"<p>{escape(readable(one, 900))}</p>" for one in sentences)
    body += picture.getvalue().partition("<svg")[1] + picture.getvalue().partition("<svg")[2]
    for rows, found in analysis.errors.items():
        body += f"<h2>{_TITLES[rows]}</h2><div class='scroll'>{found.to_html()}</div>"
    return body
