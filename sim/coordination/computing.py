"""Jobs whose communication takes no time, under a coordinator or with work stealing.

For processors computing is nearly all of a step (Chen et al., SoCC 2020, section 3.2.1: more than
99 %). Each example takes its time at the machine's speed of the moment. The engines do the same
with links, but give nobody work in mid-step.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from netcosim.policies.coordinator.observed import Begin, Coordinator, Ended, Use
from netcosim.policies.stealing import CHECKS, WorkStealing
from netcosim.training.plan import Floats
from netcosim.training.speed import SpeedTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A worker's machine.

    Attributes
    ----------
    speed : over time; 1 is that at which an example takes its time
    use : at a time
    """

    speed: SpeedTrace
    use: Callable[[float], Use]


@dataclass(frozen=True, slots=True, kw_only=True)
class StealingCosts:
    """Looks at progress, and what they and help take; chosen, not measured.

    Attributes
    ----------
    checks : looks a step, by the time that the step before took
    check_ns : what a look takes each worker
    help_ns : what it takes a helper to get examples
    """

    checks: int = CHECKS
    check_ns: float = 0.0
    help_ns: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """Examples that a run has computed, and its length.

    Attributes
    ----------
    examples : that entered an update
    end_ns : when the last of them had
    """

    examples: int
    end_ns: float


def run_coordinated(
    coordinator: Coordinator,
    machines: Sequence[Machine],
    batches: Sequence[int],
    example_ns: float,
    *,
    examples: int,
    decision_ns: float = 0.0,
) -> Computed:
    """Run until so many examples have entered updates.

    Parameters
    ----------
    batches : of each worker's first step
    decision_ns : what a decision takes, for which those wait who begin by it
    """
    running: list[tuple[float, int, float, int]] = []
    steps, counted = [0] * len(machines), 0

    def begin(begins: Sequence[Begin], now_ns: float) -> None:
        for worker, batch in begins:
            end_ns = machines[worker].speed.end_of(now_ns, batch * example_ns)
            heapq.heappush(running, (end_ns, worker, now_ns, batch))

    def use_at(now_ns: float, worker: int) -> Use:
        return machines[worker].use(now_ns)

    begin(coordinator.begin(list(batches)), 0.0)
    end_ns = 0.0
    while counted < examples:
        end_ns, worker, begin_ns, batch = heapq.heappop(running)
        ended = Ended(worker=worker, step=steps[worker], batch=batch, taken_ns=end_ns - begin_ns)
        steps[worker] += 1
        begins = coordinator.ended(ended, partial(use_at, end_ns))
        counted += batch * coordinator.counts(worker)
        begin(begins, end_ns + decision_ns)
    return Computed(examples=counted, end_ns=end_ns)


def run_stealing(
    rule: WorkStealing,
    machines: Sequence[Machine],
    batches: Sequence[int],
    example_ns: float,
    *,
    steps: int,
    costs: StealingCosts,
) -> Computed:
    """Run so many steps with a barrier behind each, and work that moves within them.

    Raises
    ------
    ValueError
        Looks at progress take longer than is between them.
    """
    now_ns = 0.0
    took_ns = max(b * example_ns for b in batches)
    for _ in range(steps):
        begin_ns = now_ns
        step = _Step(machines, batches, example_ns, took_ns / costs.checks, costs)
        now_ns = step.run(rule, begin_ns)
        took_ns = now_ns - begin_ns
    return Computed(examples=steps * sum(batches), end_ns=now_ns)


@dataclass(frozen=True, slots=True)
class _Step:
    """A step with work that moves; progress is looked at `every_ns`."""

    machines: Sequence[Machine]
    batches: Sequence[int]
    example_ns: float
    every_ns: float
    costs: StealingCosts

    def run(self, rule: WorkStealing, begin_ns: float) -> float:
        """End of the step; `left` is each worker's work, in ns at speed 1, as of `now_ns`."""
        rule.begin()
        now_ns, end_ns = begin_ns, begin_ns
        left = np.array([batch * self.example_ns for batch in self.batches])
        while (left > 0).any():
            next_ns = now_ns + self.every_ns
            ends_ns = self._ends_ns(left, now_ns)
            if max(ends_ns) <= next_ns:
                return max(*ends_ns, end_ns)
            end_ns = max([end_ns, *(each for each in ends_ns if each <= next_ns)])
            done = np.array(
                [m.speed.work_by(next_ns) - m.speed.work_by(now_ns) for m in self.machines]
            )
            # A look is work, for those who have work.
            busy = left > done
            if busy.any() and not (done[busy] > self.costs.check_ns).any():
                raise ValueError(
                    "costs.check_ns: looks at progress take all of the time between them"
                )
            left = np.where(busy, left - done + self.costs.check_ns, 0.0)
            now_ns = next_ns
            self._move(rule, left)
        return end_ns

    def _ends_ns(self, left: Floats, now_ns: float) -> list[float]:
        return [
            machine.speed.end_of(now_ns, float(work)) if work > 0 else 0.0
            for machine, work in zip(self.machines, left, strict=True)
        ]

    def _move(self, rule: WorkStealing, left: Floats) -> None:
        unbegun = np.maximum(np.ceil(left / self.example_ns) - 1, 0).astype(int).tolist()
        for straggler, helper, examples in rule.check(self.batches, unbegun):
            left[straggler] -= examples * self.example_ns
            left[helper] += examples * self.example_ns + self.costs.help_ns
