"""HTML report with its pictures, made from a results folder alone."""

from netcosim.report.write import write_report

__all__ = ["write_report"]
