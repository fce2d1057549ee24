"""The process in which a driver's Ray lives."""

from pathlib import Path


def ray_child(driver: int) -> int:
    """Number of the process that a driver has started for Ray."""
    (found,) = (
        number
        for number in map(int, Path(f"/proc/{driver}/task/{driver}/children").read_text().split())
        if b"ray_sweeps.runner.ray_child" in Path(f"/proc/{number}/cmdline").read_bytes()
    )
    return found
