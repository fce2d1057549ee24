"""Pictures and the page, made from a results folder alone."""

from netcosim.report.write import write_report

__all__ = ["write_report"]
