"""Coordination of a scenario's run: batches and curves, machines' use, which engine."""

from collections.abc import Callable, Sequence

import numpy as np

from netcosim.policies.coordinator.observed import Use
from netcosim.scenario import CoordinationSpec, CurveSpec
from netcosim.training.batch_curve import BatchCurve, measured
from netcosim.training.stragglers import Conditions
from netcosim.training.stragglers.effect import Use as MachineUse
from sim.coordination.coordinated import Batching


def batching_of(spec: CoordinationSpec, batch: int, workers: int) -> Batching:
    """Batches and curves of so many workers, which all begin with this batch."""
    return Batching(
        batches=(batch,) * workers,
        curves=tuple(_curve(_spec_of(spec.curve, w), batch, workers) for w in range(workers)),
    )


def _spec_of(specs: Sequence[CurveSpec], worker: int) -> CurveSpec:
    """The last entry that has a worker."""
    mine = [s for s in specs if s.workers == "all" or worker in s.workers]
    return mine[-1] if mine else CurveSpec()


def _curve(spec: CurveSpec, batch: int, workers: int) -> BatchCurve:
    most = spec.most or batch * workers
    if spec.points is not None:
        found = measured(spec.points)
        return found if spec.most is None else found.up_to(spec.most)
    if spec.saturated is None:
        return BatchCurve((0.0, float(most)), (0.0, float(most)))
    flat = float(spec.saturated)
    if flat >= most:
        return BatchCurve((0.0, float(most)), (flat, flat))
    return BatchCurve((0.0, flat, float(most)), (flat, flat, float(most)))


def use_of(under: Conditions) -> Callable[[int, float], Use]:
    """Use of each worker's machine at a time; memory as a part of the most that it has in use."""

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
    if use.memory_bytes is None:
        return None
    most = float(use.memory_bytes.max())
    return float(use.memory_bytes[row]) / most if most > 0 else 0.0
