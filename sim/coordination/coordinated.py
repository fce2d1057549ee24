"""Run of an engine under a coordinator: batches change at workers' ends of steps."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from netcosim.policies.coordinator.observed import Begin, Coordinator, Ended, Use
from netcosim.training.batching import Batching
from netcosim.training.plan import Draws
from sim.engine.engine import Engine, Stop
from sim.fast.engine import FastEngine
from sim.kernels.arrays import Floats, Ints


def _ignore(worker: int, step: int) -> None:
    """Look at nothing."""


class CoordinatedRun:
    """A run in which a coordinator decides who begins its next step when, and with which batch.

    Parameters
    ----------
    engine
        Either one, made with `Control.stop_at_steps` and no bound on staleness.
    draws
        Those that the engine was made with; its factors, one a step, are changed in place.
    use
        Use of a worker's machine, from the worker and the time in ns.
    decision_ns
        What a decision takes, for which all wait; of the generic engine alone.

    Attributes
    ----------
    coordinator : as it is by now
    batches : (workers, steps) examples of each step that was begun; 0 of others
    counted : (workers, steps) true for steps that have ended and entered an update
    """

    def __init__(
        self,
        engine: Engine | FastEngine,
        draws: Draws,
        coordinator: Coordinator,
        batching: Batching,
        use: Callable[[int, float], Use],
        decision_ns: int = 0,
    ) -> None:
        if draws.factor.shape != draws.step.shape:
            raise ValueError(f"factor: shape {draws.factor.shape}: must be one for each step")
        self._engine = engine
        self.coordinator = coordinator
        self._batching = batching
        self._use = use
        self._decision_ns = decision_ns
        self._drawn: Floats = draws.factor.copy()
        self._factor = draws.factor
        self.batches: Ints = np.zeros(draws.step.shape, dtype=np.int64)
        self._newest = list(batching.batches)
        self.counted = np.zeros(draws.step.shape, dtype=np.bool_)

    def run(
        self, *, until_first: bool = False, watch: Callable[[int, int], None] = _ignore
    ) -> None:
        """Simulate to the end, or until the first worker has ended its last step.

        `watch` is told of the worker and number of each step that has ended.
        """
        batching = self._batching
        self._let_begin(self.coordinator.begin(list(batching.batches), batching.limits))
        while self._engine.run() == Stop.BOUNDARY:
            worker, step, start_ns, end_ns = self._engine.last_step
            watch(worker, step)
            ended = Ended(
                worker=worker,
                step=step,
                batch=int(self.batches[worker, step]),
                taken_ns=end_ns - start_ns,
            )
            begins = self.coordinator.ended(ended, partial(self._use_at, end_ns))
            self.counted[worker, step] = self.coordinator.counts(worker)
            if until_first and step + 1 == self._factor.shape[1]:
                return
            if begins and self._decision_ns:
                self._engine.run(end_ns + self._decision_ns)
            self._let_begin(begins)

    def _use_at(self, now_ns: float, worker: int) -> Use:
        """Use of a worker's machine, its memory at least as full as its batch makes it."""
        use = self._use(worker, now_ns)
        full = self._newest[worker] / self._batching.curves[worker].most
        return use._replace(memory=max(full, use.memory or 0.0))

    def _let_begin(self, begins: Sequence[Begin]) -> None:
        steps = self._factor.shape[1]
        free = [each for each in begins if self._engine.done[each.worker] < steps]
        for worker, batch in free:
            step = self._engine.done[worker]
            self.batches[worker, step] = self._newest[worker] = batch
            factor = self._batching.factor(worker, batch)
            self._factor[worker, step] = self._drawn[worker, step] * factor
        self._engine.begin([each.worker for each in free])
