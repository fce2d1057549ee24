"""Calls that ask for tensors, as transfers beside a step, on connections of their own."""

from dataclasses import replace

import numpy as np

from netcosim.training.plan import DOWN, UP, Channel, StepPlan
from sim.kernels.arrays import NONE, Ints
from sim.plan import Calls

_CONNECTION = "calls"


def with_calls(plan: StepPlan, calls: Calls | None) -> tuple[StepPlan, Ints]:
    """Add calls to a plan, as transfers that no operation waits for, behind all others.

    They go beside what they overtake: by the connection whose other direction brings what is asked.

    Returns
    -------
    tuple
        The plan, and (2, servers) the calls' operations by direction; NONE where there are none.
    """
    found = np.full((2, plan.servers), NONE, dtype=np.int64)
    if calls is None:
        return plan, found
    channels: list[Channel] = []
    sizes: list[int] = []
    for direction, each in ((DOWN, calls.down_bytes), (UP, calls.up_bytes)):
        for server, size in enumerate(each):
            if size:
                found[direction, server] = plan.operations + len(sizes)
                channels.append(Channel(server=server, direction=direction, connection=_CONNECTION))
                sizes.append(size)
    return _with_transfers(plan, channels, sizes), found


def _with_transfers(plan: StepPlan, channels: list[Channel], sizes: list[int]) -> StepPlan:
    """Append transfers that wait for nothing and are no sources, each on a channel of its own."""
    count, before = len(sizes), len(plan.channels)
    computed = plan.place >= before
    nothing = np.zeros(count, dtype=np.int64)
    after_start = np.concatenate([plan.after_start, np.full(count, plan.after_start[-1])])
    return replace(
        plan,
        names=(*plan.names, *(_CONNECTION for _ in sizes)),
        channels=(*plan.channels, *channels),
        place=np.append(plan.place + count * computed, before + np.arange(count)),
        size_bytes=np.append(plan.size_bytes, np.array(sizes, dtype=np.int64)),
        priority=np.append(plan.priority, nothing),
        duration_ns=np.pad(plan.duration_ns, ((0, 0), (0, count))),
        waits=np.append(plan.waits, nothing),
        after_start=after_start.astype(np.int64),
        members=(*plan.members, *(() for _ in sizes)),
        once=None if plan.once is None else np.append(plan.once, nothing),
        pulled_after=None
        if plan.pulled_after is None
        else np.append(plan.pulled_after, nothing + NONE),
    )
