"""Turn a profile into a plan: placement, order of release, parsing, fused operations."""

from sim.prepare.build import Assignment, make_plan
from sim.prepare.collapse import collapse

__all__ = ["Assignment", "collapse", "make_plan"]
