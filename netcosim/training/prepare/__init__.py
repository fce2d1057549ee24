"""Turn a profile into a plan: placement, order of release, parsing, fused operations."""

from netcosim.training.prepare.build import Assignment, make_plan
from netcosim.training.prepare.fuse import fuse

__all__ = ["Assignment", "fuse", "make_plan"]
