"""Sweeps for tests, from their text."""

from pathlib import Path

from ray_sweeps.space import Point, Space, space_of
from ray_sweeps.space.build import unchecked_space
from ray_sweeps.sweep_file import Sweep, parse_sweep

FILE = Path("/nowhere/sweep.toml")
HEAD = 'name = "test"\n[fixed]\ntransport = "grpc"\nsteps = 60\n'
"""A sweep of the default scenario, which has several numbers of workers."""

ALONE = f"{HEAD}workers = 4\n"
"""The same with one number of workers: nothing varies yet."""


def sweep_of(text: str) -> Sweep:
    return parse_sweep(text, FILE)


def space_from(text: str) -> Space:
    return space_of(sweep_of(text))


def numbered(text: str) -> Space:
    """A space of which no point is tried: as it is numbered."""
    return unchecked_space(sweep_of(text))


def points_of(space: Space) -> list[Point]:
    found = (space.point(number) for number in range(len(space)))
    return [point for point in found if point is not None]
