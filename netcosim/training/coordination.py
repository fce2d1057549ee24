"""Coordination of a job's run by its executors: steps, batches, factors by a coordinator."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from netcosim.policies.coordinator.observed import Begin, Coordinator, Ended, Use
from netcosim.policies.coordinators import make_coordinator
from netcosim.scenario import Scenario
from netcosim.training.batching import Batching, batching_of
from netcosim.training.job import TrainingJob
from netcosim.training.plan import Ints

OVER_REAL_FLOWS: Final = ("asp", "bsp", "lb_bsp", "lb_bsp_gpu", "ssp")
"""Coordinators under which each worker does all of its steps, and whose decisions take no time."""


class Begun(NamedTuple):
    """A worker's begin of a step.

    Attributes
    ----------
    factor : by how much longer its computations take than with the profile's batch
    """

    worker: int
    step: int
    batch: int
    factor: float


@dataclass(slots=True, kw_only=True)
class JobCoordination:
    """A coordinator and the steps of the workers that it is told of.

    Attributes
    ----------
    steps : of each worker
    nodes : that have a part in a worker's step: the worker, and the servers that it has to do with
    batches : (workers, steps) examples of each step that was begun; 0 of others
    """

    coordinator: Coordinator
    batching: Batching
    steps: int
    nodes: int
    batches: Ints = field(init=False)
    _step: list[int] = field(default_factory=list)
    _batch: list[int] = field(default_factory=list)
    _begun_ns: list[float] = field(default_factory=list)
    _over_ns: dict[int, list[float]] = field(default_factory=dict)

    @classmethod
    def of(cls, scenario: Scenario, batch: int, job: TrainingJob) -> "JobCoordination":
        """Make the scenario's for a job; each worker begins with this batch."""
        plan, workers = job.plan, job.workers
        channels = {place for place in plan.place.tolist() if place < len(plan.channels)}
        assert scenario.coordination is not None
        return cls(
            coordinator=make_coordinator(scenario.coordination, workers, scenario.seed),
            batching=batching_of(scenario.coordination, batch, workers),
            steps=job.steps,
            nodes=1 + len({plan.channels[place].server for place in channels}),
        )

    def begin(self) -> list[Begun]:
        """Begin the job."""
        workers = len(self.batching.batches)
        self.batches = np.zeros((workers, self.steps), dtype=np.int64)
        self._step = [-1] * workers
        batches = list(self.batching.batches)
        self._batch = list(batches)
        self._begun_ns = [0.0] * workers
        return self._let(self.coordinator.begin(batches, self.batching.limits), 0.0)

    def over(self, worker: int, at_ns: float) -> list[Begun]:
        """Take that a node's part of a worker's step is over; who begins the next one now.

        A step has ended with the last of its parts: all is computed, all gradients have arrived,
        and their updates are made.
        """
        over_ns = self._over_ns.setdefault(worker, [])
        over_ns.append(at_ns)
        if len(over_ns) < self.nodes:
            return []
        end_ns = max(self._over_ns.pop(worker))
        ended = Ended(
            worker=worker,
            step=self._step[worker],
            batch=self._batch[worker],
            taken_ns=end_ns - self._begun_ns[worker],
        )
        return self._let(self.coordinator.ended(ended, self._use), end_ns)

    def _use(self, worker: int) -> Use:
        return Use(memory=self._batch[worker] / self.batching.curves[worker].most)

    def _let(self, begins: list[Begin], now_ns: float) -> list[Begun]:
        free = [each for each in begins if self._step[each.worker] + 1 < self.steps]
        return [self._begun(each, now_ns) for each in free]

    def _begun(self, begin: Begin, now_ns: float) -> Begun:
        worker, batch = begin
        self._begun_ns[worker] = now_ns
        self._step[worker] += 1
        self._batch[worker] = self.batches[worker, self._step[worker]] = batch
        return Begun(worker, self._step[worker], batch, self.batching.factor(worker, batch))
