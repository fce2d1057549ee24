"""Bulk synchronous: all workers begin a step together, with their batches as they were."""

from netcosim.policies.coordination.barrier import Barrier
from netcosim.policies.coordination.observed import UseOf


class BulkSynchronous(Barrier):
    """Coordinator with a barrier behind every step."""

    def __init__(self) -> None:
        super().__init__(_as_they_were)


def _as_they_were(batches: list[int], taken_ns: list[float], use: UseOf) -> list[int]:
    return batches
