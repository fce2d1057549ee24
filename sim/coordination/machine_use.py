"""Use of machines, as a scenario's stragglers have it, for coordinators."""

from collections.abc import Callable

import numpy as np

from netcosim.policies.coordinator.observed import Use
from netcosim.training.stragglers import Conditions
from netcosim.training.stragglers.effect import Use as MachineUse


def use_of(under: Conditions) -> Callable[[int, float], Use]:
    """Use of each worker's machine at a time; memory where it is known how much it has."""

    def at(worker: int, now_ns: float) -> Use:
        use = under.use[worker]
        if use is None:
            return Use()
        row = int(np.searchsorted(use.time_ns, now_ns, side="right")) - 1
        return Use(
            processor=None if use.cpu is None else float(use.cpu[row]), memory=_memory(use, row)
        )

    return at


def _memory(use: MachineUse, row: int) -> float | None:
    if use.memory_bytes is None or use.machine_bytes is None:
        return None
    return min(1.0, float(use.memory_bytes[row]) / use.machine_bytes)
