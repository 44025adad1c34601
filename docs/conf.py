"""Sphinx configuration; `make docs` builds, and the pages read, without network."""

from docutils import nodes
from latex2mathml.converter import convert

import plsdof

project = "plsdof"
author = "The plsdof founders"
copyright = "2026, the plsdof founders"
release = plsdof.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
numpydoc_show_class_members = False
autosummary_generate = True
exclude_patterns = ["_build"]
# Inherited docstrings point into scikit-learn's own documentation.
suppress_warnings = ["ref.ref"]
html_theme = "furo"
html_title = "plsdof"
html_math_renderer = "mathml"
# Search works from a folder, too: its index is a script. Excerpts would have to be fetched.
html_show_search_summary = False
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r".*\.py",
    "abort_on_example_error": True,
    "first_notebook_cell": "# pip install 'plsdof[all]'",
    "write_computation_times": False,  # that page loads scripts from elsewhere
}


def _inline_formula(translator, node):
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _displayed_formula(translator, node):
    translator.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def _escape_bars(app, what, name, obj, options, lines):  # noqa: ARG001
    """Keep |x| in a formula from being read as a substitution."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = line.split("``")  # every second part is literal
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[i] = "``".join(parts)


def setup(app):
    """Typeset formulas as MathML, which browsers show by themselves."""
    app.add_html_math_renderer("mathml", (_inline_formula, None), (_displayed_formula, None))
    # After numpydoc, which reads the docstrings first.
    app.connect("autodoc-process-docstring", _escape_bars, priority=900)
