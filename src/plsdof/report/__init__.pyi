from .document import write_report as write_report
from .switch import combine_reports as combine_reports
