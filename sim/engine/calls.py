"""Calls that ask for tensors, as transfers beside a step: tables of the kernel."""

from dataclasses import replace

import numpy as np

from netcosim.training.plan import UP, StepPlan
from sim.kernels.arrays import NONE, Ints
from sim.plan import Calls


def with_calls(plan: StepPlan, calls: Calls | None) -> tuple[StepPlan, Ints]:
    """Add calls to a plan, as transfers that no operation waits for, behind all others.

    Returns
    -------
    tuple
        The plan, and (2, servers) the calls' operations by direction; NONE where there are none.
    """
    found = np.full((2, plan.servers), NONE, dtype=np.int64)
    if calls is None:
        return plan, found
    places: list[int] = []
    sizes: list[int] = []
    for number, channel in enumerate(plan.channels):
        size = (calls.up_bytes if channel.direction == UP else calls.down_bytes)[channel.server]
        if size and found[channel.direction, channel.server] == NONE:
            found[channel.direction, channel.server] = plan.operations + len(places)
            places.append(number)
            sizes.append(size)
    return _with_transfers(plan, places, sizes), found


def _with_transfers(plan: StepPlan, places: list[int], sizes: list[int]) -> StepPlan:
    """Append transfers that wait for nothing and are no sources; the most urgent ones of all."""
    count = len(places)
    first = int(plan.priority.max(initial=0)) + 1
    after_start = np.concatenate([plan.after_start, np.full(count, plan.after_start[-1])])
    return replace(
        plan,
        names=(*plan.names, *("calls" for _ in places)),
        place=np.append(plan.place, np.array(places, dtype=np.int64)),
        size_bytes=np.append(plan.size_bytes, np.array(sizes, dtype=np.int64)),
        priority=np.append(plan.priority, np.full(count, first)),
        duration_ns=np.pad(plan.duration_ns, ((0, 0), (0, count))),
        waits=np.append(plan.waits, np.zeros(count, dtype=np.int64)),
        after_start=after_start.astype(np.int64),
        members=(*plan.members, *(() for _ in places)),
        once=None if plan.once is None else np.append(plan.once, np.zeros(count, dtype=np.int64)),
        pulled_after=None
        if plan.pulled_after is None
        else np.append(plan.pulled_after, np.full(count, NONE)),
    )
