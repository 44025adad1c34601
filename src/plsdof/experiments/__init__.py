"""The paper, reproduced: one module per group of figures, and one function that runs them.

`reproduce` writes tidy tables (CSV), pictures (PNG and SVG), a web page, and checks: every claim
the paper makes about a figure, with the number behind it and an interval.

    settings, store, work     what is run, what is kept, how it is done
    sources                   the three data sets, or labelled stand-ins
    curves                    Table 1, Figure 1
    comparison                Figures 2, 3
    choices, simulation       the simulation behind Figures 4 to 8
    accuracy, noise, runtime  Figures 4 to 6, Figure 7, Figure 8
    checks, errata            claims and verdicts; misprints
    style, draw_*, page, run  pictures, pages, and the function
"""

from plsdof.experiments.checks import Check, Claim
from plsdof.experiments.run import Reproduction, reproduce
from plsdof.experiments.settings import DIMENSIONS, TARGETS, Settings

__all__ = [
    "DIMENSIONS",
    "TARGETS",
    "Check",
    "Claim",
    "Reproduction",
    "Settings",
    "reproduce",
]
