"""Linter of profiles: errors that prevent a simulation, and warnings of likely mistakes."""

from netcosim.workload.lint.check import check, lint
from netcosim.workload.lint.finding import Finding

__all__ = ["Finding", "check", "lint"]
