"""Gradients that servers join, as docs/background/simulator.md has it: who counts, what may go on.

Nothing here knows of time, links or processors: the twin asks, and does what it is told.
"""

from collections.abc import Iterator

from netcosim.training.plan import NONE, StepPlan
from netcosim.training.synchronisation import Join


class Joining:
    """What has been counted, which updates were handed over, and which have been made."""

    def __init__(self, plan: StepPlan, rule: Join, workers: int, steps: int) -> None:
        assert plan.once is not None
        assert plan.pulled_after is not None
        self.rule = rule
        self.steps = steps
        self.present = set(range(workers))
        self.updates = [op for op in range(plan.operations) if plan.once[op]]
        self.pulled_after = plan.pulled_after
        self.handed_over = dict.fromkeys(self.updates, 0)  # how often each update was
        self.made = dict.fromkeys(self.updates, 0)
        self.arrived: set[tuple[int, int, int]] = set()  # worker, step, update
        self.counted: dict[tuple[int, int], list[int]] = {}  # workers by step and update

    @property
    def complete(self) -> int:
        """Number of steps of which every update has been made."""
        return min(self.made.values())

    def available(self, update: int) -> int:
        """Number of steps after which what this update makes can be had."""
        return self.complete if self.rule.by == "step" else self.made[update]

    def pull_is_held(self, pull: int, step: int) -> bool:
        """Whether a pull at the begin of a step has nothing to pull yet."""
        update = int(self.pulled_after[pull])
        return update != NONE and self.available(update) < step

    def gradient_arrives(self, worker: int, step: int, update: int) -> None:
        """All that an update waits for at this worker is there."""
        assert step <= self.handed_over[update]
        self.arrived.add((worker, step, update))
        if self.rule.by == "tensor":
            self._count(worker, step, [update])
        elif all((worker, step, each) in self.arrived for each in self.updates):
            self._count(worker, step, self.updates)

    def _count(self, worker: int, step: int, updates: list[int]) -> None:
        for update in updates:
            if step == self.handed_over[update]:
                self.counted.setdefault((step, update), []).append(worker)

    def next_updates(self) -> Iterator[tuple[int, int]]:
        """Updates that are to be handed over now, each with its step; lowest number first."""
        needed = min(self.rule.first, len(self.present))
        for update in self.updates:
            step = self.handed_over[update]
            if len(self.counted.get((step, update), [])) >= needed:
                self.handed_over[update] += 1
                yield step, update

    def last_counted(self, step: int, update: int) -> int:
        """The worker whose recorded step an update repeats."""
        return self.counted[step, update][-1]

    def update_ends(self, update: int) -> list[int]:
        """Note that an update was made; those whose results can be had from now on."""
        before = self.complete
        self.made[update] += 1
        if self.rule.by == "tensor":
            return [update]
        return self.updates if self.complete > before else []

    def weight(self, worker: int, step: int) -> float:
        """The part of the step's updates that the worker was counted for."""
        counted = [worker in self.counted.get((step, update), []) for update in self.updates]
        return sum(counted) / len(counted)
