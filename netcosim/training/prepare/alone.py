"""A step's computations without any wait for the network: when each operation would end."""

import heapq
from collections import deque

from netcosim.training.plan import Floats, StepPlan
from netcosim.training.prepare.graph import graph_of


def ends_alone_ns(plan: StepPlan, duration_ns: Floats) -> list[float]:
    """End of each operation after the step's begin, if transfers took no time.

    Processors work first in, first out; those that workers share have nobody else's work.

    Parameters
    ----------
    duration_ns : (operations,)
    """
    graph, channels = graph_of(plan), len(plan.channels)
    waits = plan.waits.tolist()
    free = [p.capacity for p in plan.processors]
    queues: list[deque[int]] = [deque() for _ in plan.processors]
    ends = [0.0] * plan.operations
    running: list[tuple[float, int]] = []
    ready = deque(op for op in graph.order if waits[op] == 0)
    now = 0.0
    while True:
        while ready:
            op = ready.popleft()
            place = int(plan.place[op]) - channels
            if place < 0:
                heapq.heappush(running, (now, op))
            else:
                queues[place].append(op)
        for place, queue in enumerate(queues):
            while queue and free[place]:
                free[place] -= 1
                op = queue.popleft()
                heapq.heappush(running, (now + float(duration_ns[op]), op))
        if not running:
            return ends
        now, op = heapq.heappop(running)
        ends[op] = now
        place = int(plan.place[op]) - channels
        if place >= 0:
            free[place] += 1
        for follower in graph.successors[op]:
            waits[follower] -= 1
            if waits[follower] == 0:
                ready.append(follower)
