"""The space of a sweep: its points by number, each with the changes that make its scenario."""

from ray_sweeps.space.build import space_of
from ray_sweeps.space.points import Factor, Point, Space

__all__ = ["Factor", "Point", "Space", "space_of"]
