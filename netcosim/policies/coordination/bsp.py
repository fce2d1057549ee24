"""Bulk synchronous: all workers begin a step together, with their batches as they were."""

from collections.abc import Mapping
from typing import Final

from netcosim.policies.coordinator.barrier import Barrier
from netcosim.policies.coordinator.observed import Coordinator, UseOf
from netcosim.policies.coordinator.option import Options
from netcosim.policies.coordinator.predictor import MakePredictor


class BulkSynchronous(Barrier):
    """Coordinator with a barrier behind every step."""

    def __init__(self) -> None:
        super().__init__(_as_they_were)


def _as_they_were(batches: list[int], taken_ns: list[float], use: UseOf) -> list[int]:
    return batches


LEAD: Final = 0
OPTIONS: Final[Options] = {}


def make(workers: int, options: Mapping[str, float], predictor: MakePredictor) -> Coordinator:
    """Make the coordinator of so many workers."""
    return BulkSynchronous()
