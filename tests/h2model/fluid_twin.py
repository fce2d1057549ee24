"""Connections as fluids: each sends its messages in order, at its share of the links."""


def fluid_ends(messages, shares):
    """Times at which each message has left.

    `messages`: of each connection (bytes, ready in ns) in order of readiness. `shares`: from
    the busy connections to their rates in bits/s.
    """
    queues = [[list(m) for m in each] for each in messages]
    ends = [[] for _ in messages]
    now = 0.0
    while any(queues):
        busy = frozenset(i for i, queue in enumerate(queues) if queue and queue[0][1] <= now)
        rates = shares(busy) if busy else {}
        steps = [queues[i][0][0] * 8e9 / rates[i] for i in busy]
        steps += [m[1] - now for queue in queues for m in queue if m[1] > now]
        step = min(steps)
        for i in busy:
            queues[i][0][0] -= rates[i] * step / 8e9
            if queues[i][0][0] < 1e-6:
                queues[i].pop(0)
                ends[i].append(now + step)
        now += step
    return ends
