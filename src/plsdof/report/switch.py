"""Reports of several responses in one file, with a switch."""

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from typing import Any

from plsdof.files.writing import atomic_write
from plsdof.plotting.style import readable

_TOKEN = "@plotly@"
_HASH = re.compile(r"'(sha256-[A-Za-z0-9+/=]+)'")
_SCRIPT = """
const pages = JSON.parse(document.getElementById("pages").textContent);
const frames = Array.from(document.querySelectorAll("iframe"));
const buttons = Array.from(document.querySelectorAll("nav button"));
function load(i) {
  if (!frames[i].srcdoc) frames[i].srcdoc = pages.pages[i].split(pages.token).join(pages.shared);
}
function show(i) {
  load(i);
  buttons.forEach((one, j) => one.setAttribute("aria-pressed", String(i === j)));
  frames.forEach((one, j) => one.classList.toggle("shown", i === j));
}
buttons.forEach((one, i) => one.addEventListener("click", () => show(i)));
// The others follow one after the other, so that all of them can be printed.
const next = (i) => i + 1 < frames.length && load(i + 1);
frames.forEach((one, i) => one.addEventListener("load", () => next(i)));
const whole = (one) => one.contentDocument.documentElement.scrollHeight + "px";
const stretch = (height) => frames.forEach((one) => (one.style.height = height(one)));
window.addEventListener("beforeprint", () => stretch(whole));
window.addEventListener("afterprint", () => stretch(() => ""));
show(0);
"""
_STYLES = """
:root { color-scheme: light dark; font: 16px system-ui, sans-serif; }
html, body { height: 100%; margin: 0; }
body { display: flex; flex-direction: column; }
nav { display: flex; flex-wrap: wrap; gap: .5rem; padding: .5rem 1rem; }
button { font: inherit; padding: .4rem .9rem; max-width: 100%; overflow-wrap: anywhere; }
button[aria-pressed="true"] { font-weight: bold; outline: 2px solid; }
iframe { flex: 1; width: 100%; border: 0; }
iframe:not(.shown) { position: absolute; visibility: hidden; }
@media print {
  html, body { height: auto; display: block; }
  nav { display: none; }
  iframe, iframe:not(.shown) { display: block; position: static; visibility: visible; }
  iframe { break-after: page; }
}
"""


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


def combine_reports(file: str | os.PathLike[str], pages: Mapping[str, str], shared: str) -> None:
    """Write pages of several responses, named by them, as one file with a switch.

    What all pages have in common, the library that draws (``shared``), is in the file once. The
    page needs no network and runs its own scripts only, as the pages themselves do. Printed, each
    response begins a page.
    """
    from markupsafe import escape

    hashes = [script_hash(_SCRIPT)]
    for page in pages.values():
        # A page inside this one obeys both policies, so this one has to allow its scripts.
        hashes += [one for one in _HASH.findall(page) if one not in hashes]
    content = {
        "token": _TOKEN,
        "shared": shared,
        "pages": [page.replace(shared, _TOKEN) for page in pages.values()],
    }
    buttons = "".join(
        f'<button type="button">{escape(readable(name, 60))}</button>' for name in pages
    )
    frames = "\n".join(f'<iframe title="{escape(readable(name, 60))}"></iframe>' for name in pages)
    allowed = " ".join(f"'{one}'" for one in hashes)
    text = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; base-uri '
        "'none'; form-action 'none'; img-src data:; style-src 'unsafe-inline'; "
        f'script-src {allowed}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<title>Models of several responses'
        f'</title>\n<link rel="icon" href="data:,">\n<style>{_STYLES}</style>\n</head>\n<body>\n'
        f'<nav aria-label="Responses">{buttons}</nav>\n{frames}\n'
        f'<script type="application/json" id="pages">{as_embedded_json(content)}</script>\n'
        f"<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )
    with atomic_write(file) as stream:
        stream.write(text.encode("utf-8", errors="replace"))
