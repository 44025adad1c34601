"""A path and its choice as one web page that needs no network: `write_report`."""

from plsdof.report.document import write_report

__all__ = ["write_report"]
