"""``plsdof compare``."""

from typing import Annotated

from plsdof import workbench
from plsdof.workbench.analysis import Request
from plsdof.workbench.cli import _show as show
from plsdof.workbench.cli._options import File, Printing
from plsdof.workbench.tables.joining import JoinedReading

# What can be asked of a comparison.
_ASKED = (
    *("response", "features", "exclude", "groups", "average_by", "label", "missing"),
    *("exclude_rows", "criterion", "max_components", "scale", "preprocess", "cv"),
)


def compare(
    file: File,
    reading: JoinedReading,
    request: Annotated[Request, _ASKED],
    printing: Printing,
) -> None:
    """Compare PLS, PCR and ridge regression by Degrees of Freedom."""
    with show.waiting("Comparing", quiet=printing.quiet):
        table = reading.with_response([file], request.response, request.label)
        found = workbench.compare(table, request)
    show.give("compare", [found], [{"written": {}}], printing)
