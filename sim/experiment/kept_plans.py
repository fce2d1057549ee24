"""Plans that outlive a simulation: another rate, transport or number of workers uses them again."""

import threading
from collections.abc import Callable
from typing import Final

from netcosim.training.workload_plan import Source
from sim.experiment.plans import WorkloadPlans

MOST_BYTES: Final = 256_000_000
"""Most bytes of plans that are kept; those used last are kept in any case."""


class Plans:
    """Plans of workloads; beyond `most_bytes` the least recently used are dropped.

    May be asked by several threads.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: list[WorkloadPlans] = []
        self._lock = threading.RLock()

    def of(self, source: Source, make: Callable[[], WorkloadPlans]) -> WorkloadPlans:
        """The plans of this source, made if they are not there."""
        with self._lock:
            found = next((plans for plans in self._kept if plans.source.same(source)), None)
            if found is None:
                found = make()
            else:
                self._kept.remove(found)
            self._kept.append(found)
            while len(self._kept) > 1 and self.size_bytes > self._most_bytes:
                del self._kept[0]
            return found

    @property
    def size_bytes(self) -> int:
        """Bytes of all that is kept."""
        return sum(plans.size_bytes for plans in self._kept)

    def __len__(self) -> int:
        return len(self._kept)
