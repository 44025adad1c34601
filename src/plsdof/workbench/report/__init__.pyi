from .document import write_report as write_report
