"""What makes a profile one that can't be simulated, or hardly the one that was meant."""

from netcosim.workload.lint.check import check, lint
from netcosim.workload.lint.finding import Finding

__all__ = ["Finding", "check", "lint"]
