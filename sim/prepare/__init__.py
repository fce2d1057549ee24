"""From a profile to a plan: placement, order of release, parsing, runs of computations as one."""

from sim.prepare.build import Assignment, make_plan
from sim.prepare.collapse import collapse

__all__ = ["Assignment", "collapse", "make_plan"]
