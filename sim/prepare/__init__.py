"""Turn a profile into a plan: placement, order of release, parsing, fused operations."""

from sim.prepare.build import Assignment, make_plan
from sim.prepare.fuse import fuse

__all__ = ["Assignment", "fuse", "make_plan"]
