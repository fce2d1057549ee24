"""Paths of the calls by which a training job's tensors are asked for, or pushed."""

from typing import Final

PULL: Final = "pull"
GRADIENT: Final = "gradient"

_SERVICE: Final = "/netcosim.Training/"


def path_of(what: str, worker: int, step: int, operation: int) -> str:
    """Path of the call for a tensor."""
    return f"{_SERVICE}{what}/w{worker}/s{step}/o{operation}"


def parse_path(path: str) -> tuple[str, int, int, int]:
    """Kind of tensor, worker, step and operation that a path names."""
    what, worker, step, operation = path.removeprefix(_SERVICE).split("/")
    return what, int(worker[1:]), int(step[1:]), int(operation[1:])
