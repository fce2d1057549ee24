"""Updates of one server that are done once for all workers, when enough gradients are there."""

from functools import partial

from netcosim.training.executor.processors import Ended, Processors
from netcosim.training.job import TrainingJob
from netcosim.training.plan import SERVER, StepPlan


def is_joined(plan: StepPlan, op: int) -> bool:
    """True for an update that is done once for all workers."""
    return plan.once is not None and bool(plan.once[op])


class JoinedUpdates:
    """Updates of a server, one step of them after the other.

    A step's updates are made when the gradients of as many workers have arrived as the rule asks
    for, or of all that there are. Each worker's gradients are of the version of the parameters that
    it was answered with; those of an older one come too late, and count for nothing.

    Parameters
    ----------
    job : whose gradients are joined
    number : of the server

    Attributes
    ----------
    made : steps of which all updates are made: the version of the parameters
    """

    def __init__(self, job: TrainingJob, number: int) -> None:
        assert job.join is not None
        plan = job.plan
        self._job = job
        self._needed = min(job.join.first, job.workers)
        place = {}
        for op in range(plan.operations):
            if is_joined(plan, op):
                at = int(plan.place[op]) - len(plan.channels)
                processor = plan.processors[at]
                if (processor.node, processor.server) == (SERVER, number):
                    place[op] = at
        used = sorted(set(place.values()))
        self._processor = {op: used.index(at) for op, at in place.items()}
        self._processors: Processors[int] = Processors(
            [plan.processors[at].capacity for at in used]
        )
        self._counted = 0
        self._handed_over = 0
        self._left = 0
        self.made = 0

    @property
    def next_ns(self) -> float:
        """Time of the next update's end; infinite if none is made."""
        return self._processors.next_ns

    @property
    def over(self) -> bool:
        """True if the updates of all steps are made."""
        return self.made == self._job.steps

    def gradients_arrive(self, worker: int, step: int, version: int, now_ns: float) -> None:
        """All of a worker's gradients of a step have arrived, computed from this version."""
        if version != self._handed_over:
            return
        self._counted += 1
        if self._counted < self._needed:
            return
        self._counted = 0
        self._handed_over += 1
        self._left = len(self._processor)
        for op, processor in self._processor.items():
            self._processors.enter(
                processor, op, partial(self._job.end_of, op, worker, step), now_ns
            )
        if self._left == 0:
            self.made += 1

    def end_next(self) -> tuple[int, Ended[int]]:
        """End the next update: its step, and the update."""
        ended = self._processors.end_next()
        step = self.made
        self._left -= 1
        if self._left == 0:
            self.made += 1
        return step, ended
