"""Run of an engine under a coordinator: batches change at workers' ends of steps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from netcosim.policies.coordination.observed import Begin, Coordinator, Ended, UseOf
from netcosim.training.batch_curve import BatchCurve
from netcosim.training.plan import Draws
from sim.engine.engine import Engine, Stop
from sim.fast.engine import FastEngine
from sim.kernels.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """Batches that a job begins with, and what they take.

    Attributes
    ----------
    batches : by worker, those of the profile, to which its durations belong
    curves : by worker, time of its computations by batch
    """

    batches: tuple[int, ...]
    curves: tuple[BatchCurve, ...]

    def factor(self, worker: int, batch: int) -> float:
        """By how much longer a worker's computations take than with the profile's batch."""
        curve = self.curves[worker]
        return curve.of(batch) / curve.of(self.batches[worker])


class CoordinatedRun:
    """A run in which a coordinator decides who begins its next step when, and with which batch.

    Parameters
    ----------
    engine
        Either one, made with `Control.stop_at_steps` and no bound on staleness.
    draws
        Those that the engine was made with; its factors, one a step, are changed in place.
    use
        Use of a worker's machine now.

    Attributes
    ----------
    batches : (workers, steps) examples of each step that was begun; 0 of others
    """

    def __init__(
        self,
        engine: Engine | FastEngine,
        draws: Draws,
        coordinator: Coordinator,
        batching: Batching,
        use: UseOf,
    ) -> None:
        if draws.factor.shape != draws.step.shape:
            raise ValueError(f"factor: shape {draws.factor.shape}: must be one for each step")
        self._engine = engine
        self._coordinator = coordinator
        self._batching = batching
        self._use = use
        self._drawn: Floats = draws.factor.copy()
        self._factor = draws.factor
        self.batches: Ints = np.zeros(draws.step.shape, dtype=np.int64)

    def run(self) -> None:
        """Simulate to the end."""
        self._let_begin(self._coordinator.begin(list(self._batching.batches)))
        while self._engine.run() == Stop.BOUNDARY:
            worker, step, start_ns, end_ns = self._engine.last_step
            ended = Ended(
                worker=worker,
                step=step,
                batch=int(self.batches[worker, step]),
                taken_ns=end_ns - start_ns,
            )
            self._let_begin(self._coordinator.ended(ended, self._use))

    def _let_begin(self, begins: Sequence[Begin]) -> None:
        steps = self._factor.shape[1]
        free = [each for each in begins if self._engine.done[each.worker] < steps]
        for worker, batch in free:
            step = self._engine.done[worker]
            self.batches[worker, step] = batch
            factor = self._batching.factor(worker, batch)
            self._factor[worker, step] = self._drawn[worker, step] * factor
        self._engine.begin([each.worker for each in free])
