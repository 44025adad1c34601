"""Colours of the report, and their contrast by WCAG."""

import re
from importlib import resources

import numpy as np


def styles():
    """Return the style sheet of the report."""
    return (
        resources.files("plsdof.workbench")
        .joinpath("report")
        .joinpath("templates", "report.css")
        .read_text("utf-8")
    )


def palettes():
    """Return the colours by name, light and dark."""
    dark = styles().partition("prefers-color-scheme: dark")[2].partition("}\n}")[0]
    return [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", part))
        for part in (styles().partition("@media")[0], dark)
    ]


def contrast(one, other):
    """Return the ratio of luminances, 1 to 21."""
    light, dark = sorted([_luminance(one), _luminance(other)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color):
    channels = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]
