"""One node's part of a step: its computations, what arrives at it, what it hands over."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netcosim.errors import ScenarioError
from netcosim.training.executor.joined import is_joined
from netcosim.training.plan import DOWN, SERVER, UP, StepPlan

COMPUTED, ARRIVES, HANDED_OVER = range(3)
"""Kinds of operations, as a node sees them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Operations of a step that a node takes part in, by their number in the plan.

    Attributes
    ----------
    kind : of each operation of the part
    waits : how many operations each one waits for that does not arrive
    after : those of the part that wait for an operation, in the order of hand-over
    sources : by recorded step, what waits for nothing, in the order of hand-over
    processor : of each computation, by its number at this node
    capacities : of the node's processors; those of a server are one worker's
    """

    kind: Mapping[int, int]
    waits: Mapping[int, int]
    after: Mapping[int, Sequence[int]]
    sources: Sequence[Sequence[int]]
    processor: Mapping[int, int]
    capacities: Sequence[int]

    def of_kind(self, kind: int) -> list[int]:
        """Its operations of a kind."""
        return [op for op, each in self.kind.items() if each == kind]


def worker_part(plan: StepPlan) -> Part:
    """The worker's part: pulls arrive, pushes are handed over.

    Raises
    ------
    ScenarioError
        An operation waits for one at another node without a transfer between them.
    """
    kind = {}
    for op, place in enumerate(plan.place.tolist()):
        if place < len(plan.channels):
            kind[op] = ARRIVES if plan.channels[place].direction == DOWN else HANDED_OVER
        elif plan.processors[place - len(plan.channels)].node != SERVER:
            kind[op] = COMPUTED
    return _part(plan, kind)


def server_part(plan: StepPlan, server: int) -> Part:
    """A server's part for one worker: pushes arrive, pulls are handed over.

    Updates that are done once for all workers are not among it.

    Raises
    ------
    ScenarioError
        As `worker_part`.
    """
    kind = {}
    for op, place in enumerate(plan.place.tolist()):
        if place < len(plan.channels):
            if plan.channels[place].server == server:
                up = plan.channels[place].direction == UP
                kind[op] = ARRIVES if up else HANDED_OVER
            continue
        processor = plan.processors[place - len(plan.channels)]
        mine = (processor.node, processor.server) == (SERVER, server)
        if mine and not is_joined(plan, op):
            kind[op] = COMPUTED
    return _part(plan, kind)


def _part(plan: StepPlan, kind: Mapping[int, int]) -> Part:
    start = plan.after_start.tolist()
    after = {
        op: [
            other
            for other in plan.after[start[op] : start[op + 1]].tolist()
            if kind.get(other, ARRIVES) != ARRIVES
        ]
        for op in kind
    }
    waits = {op: int(plan.waits[op]) for op, each in kind.items() if each != ARRIVES}
    _check(plan, waits, after)
    place = {op: int(plan.place[op]) - len(plan.channels) for op in kind if kind[op] == COMPUTED}
    used = sorted(set(place.values()))
    return Part(
        kind=kind,
        waits=waits,
        after=after,
        sources=[[op for op in row if op in waits] for row in plan.sources.tolist()],
        processor={op: used.index(each) for op, each in place.items()},
        capacities=[plan.processors[each].capacity for each in used],
    )


def _check(plan: StepPlan, waits: Mapping[int, int], after: Mapping[int, Sequence[int]]) -> None:
    found = Counter(other for others in after.values() for other in others)
    for op, count in waits.items():
        if found[op] != count:
            allowed = "waits for an operation at another node; must wait for a transfer from there"
            raise ScenarioError.at("profile.operations", plan.names[op], allowed)


class PartRun:
    """One step of a part, from its begin until all of it is over.

    Parameters
    ----------
    part : what there is to do
    step, recorded : number of the step, and of the recorded one that it repeats
    """

    __slots__ = ("_left", "_part", "_waits", "recorded", "step")

    def __init__(self, part: Part, step: int, recorded: int) -> None:
        self.step = step
        self.recorded = recorded
        self._part = part
        self._waits = dict(part.waits)
        self._left = len(part.kind)

    @property
    def over(self) -> bool:
        """True if all of it is over."""
        return self._left == 0

    def over_with(self, op: int) -> list[int]:
        """Note that an operation is over; those that wait for nothing any more.

        One that is handed over is over then; one that arrives, when it has.
        """
        self._left -= 1
        ready = []
        for other in self._part.after[op] if self._part.kind[op] != HANDED_OVER else ():
            self._waits[other] -= 1
            if self._waits[other] == 0:
                ready.append(other)
        return ready
