"""Time that messages take at their senders, as further operations of a step's plan.

By the machine's clock our endpoints take, make and answer calls one after the other, beside what
they compute. A parameter waits for its turn at its server, which has one for all workers, a
gradient at its worker.
"""

from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Final

import numpy as np

from netcosim.results.training.job_summary import MessageTimes
from netcosim.training.plan import NONE, SENDING, SERVER, UP, WORKER, Ints, Processor, StepPlan

_RESOURCE: Final = "messages"
_AHEAD: Final = 0.5
"""Part of a parameter's time that goes to taking the call for it, and its worker's to making it."""


@dataclass(frozen=True, slots=True)
class _Added:
    """An operation behind all others of a plan.

    Attributes
    ----------
    by : number of the server, or NONE for the worker
    ahead : what part of it is done before a server may answer
    before : the transfer that waits for it; NONE for none
    """

    name: str
    by: int
    takes_ns: float
    ahead: float
    before: int


def with_message_times(plan: StepPlan, times: MessageTimes) -> StepPlan:
    """Add to a plan what each of its messages takes at its sender.

    A server asks for a step's gradients before it hands over the first parameter.
    """
    added = _added(plan, times)
    numbered = list(enumerate(added, start=plan.operations))
    moved = {each.before: number for number, each in numbered if each.before != NONE}
    asking = [number for number, each in numbered if each.before == NONE]
    start = plan.after_start.tolist()
    after = [[moved.get(o, o) for o in plan.after[a:b].tolist()] for a, b in pairwise(start)]
    after += [[] if each.before == NONE else [each.before] for each in added]
    waits = plan.waits.copy()
    waits[list(moved)] = 1
    nothing = np.zeros(len(added), dtype=np.int64)
    processors, place, at = _with_senders(plan)
    return replace(
        plan,
        names=(*plan.names, *(each.name for each in added)),
        processors=processors,
        place=np.append(place, [at[each.by] for each in added]),
        size_bytes=np.append(plan.size_bytes, nothing),
        priority=np.append(plan.priority, nothing),
        duration_ns=np.hstack(
            [plan.duration_ns, np.tile([each.takes_ns for each in added], (plan.steps, 1))]
        ),
        waits=np.append(waits, [0 if e.before == NONE else plan.waits[e.before] for e in added]),
        after=np.array(list(chain.from_iterable(after)), dtype=np.int64),
        after_start=np.cumsum([0, *map(len, after)], dtype=np.int64),
        sources=np.array(
            [[*asking, *(moved.get(op, op) for op in row)] for row in plan.sources.tolist()],
            dtype=np.int64,
        ),
        members=(*plan.members, *(() for _ in added)),
        once=None if plan.once is None else np.append(plan.once, nothing),
        pulled_after=None
        if plan.pulled_after is None
        else np.append(plan.pulled_after, nothing + NONE),
    )


def ahead_of(plan: StepPlan, times: MessageTimes) -> tuple[float, ...]:
    """By operation of the plan with these times, what part a server does before it may answer.

    It takes calls as they come, and asks for gradients, whether it may answer yet or not.
    """
    return (*(0.0 for _ in plan.names), *(each.ahead for each in _added(plan, times)))


def _added(plan: StepPlan, times: MessageTimes) -> list[_Added]:
    """Operations that are added, a server's calls for gradients first."""
    transfers = [
        (op, plan.channels[place])
        for op, place in enumerate(plan.place.tolist())
        if place < len(plan.channels)
    ]
    added = []
    for server in range(plan.servers):
        pushed = sum((c.direction, c.server) == (UP, server) for _, c in transfers)
        if pushed:
            takes_ns = float(pushed * times.asking_ns)
            added.append(_Added("calls for gradients", server, takes_ns, 1.0, NONE))
    for op, channel in transfers:
        name = f"{plan.names[op]}: at its sender"
        if channel.direction == UP:
            added.append(_Added(name, NONE, times.gradient_ns, 0.0, op))
        else:
            added.append(_Added(name, channel.server, times.parameter_ns, _AHEAD, op))
    return added


def _with_senders(plan: StepPlan) -> tuple[tuple[Processor, ...], Ints, dict[int, int]]:
    """Processors with those that hand messages over, a server's shared by all workers.

    Returns
    -------
    tuple
        Processors, places of the plan's operations, and by server, or NONE for the worker, the
        place where messages are handed over.
    """
    own = sum(processor.node == WORKER for processor in plan.processors)
    channels, before = len(plan.channels), len(plan.processors) + 1
    at = {NONE: channels + own}
    at |= {server: channels + before + server for server in range(plan.servers)}
    processors = (
        *plan.processors[:own],
        Processor(node=SENDING, server=0, resource=_RESOURCE, capacity=1),
        *plan.processors[own:],
        *(
            Processor(node=SERVER, server=server, resource=_RESOURCE, capacity=1, shared=True)
            for server in range(plan.servers)
        ),
    )
    return processors, plan.place + (plan.place >= channels + own), at
