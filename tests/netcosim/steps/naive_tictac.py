"""TicTac's Algorithms 1 to 3 as they are written down, with sets; a receive is a tensor's pulls."""

import math


def dependencies(step):
    """op.dep: the tensors whose pulls an operation waits for, directly or transitively."""
    found = {}

    def visit(op):
        if op not in found:
            found[op] = set().union(*(visit(before) for before in step.predecessors[op]), set())
            if step.kind[op] == "pull":
                found[op].add(step.tensor[op])
        return found[op]

    for op in range(len(step.kind)):
        visit(op)
    return found


def update_properties(step, dep, time, time_of, outstanding):
    """Algorithm 1: M of operations and receives, P and M+ of outstanding receives."""
    m = {op: sum(time_of[r] for r in dep[op] & outstanding) for op in range(len(step.kind))}
    p = dict.fromkeys(outstanding, 0)
    m_plus = dict.fromkeys(outstanding, math.inf)
    for op in range(len(step.kind)):
        if step.kind[op] == "pull":
            continue
        d = dep[op] & outstanding
        if len(d) == 1:
            for r in d:
                p[r] += time[op]
        if len(d) > 1:
            for r in d:
                m_plus[r] = min(m_plus[r], m[op])
    return p, m_plus


def receives(step):
    """R, as listed."""
    pairs = zip(step.kind, step.tensor, strict=True)
    return sorted({tensor for kind, tensor in pairs if kind == "pull"})


def tic(step):
    """Algorithm 2."""
    dep, listed = dependencies(step), receives(step)
    time_of = dict.fromkeys(listed, 1)
    _, m_plus = update_properties(step, dep, [0] * len(step.kind), time_of, set(listed))
    return sorted(listed, key=lambda r: (m_plus[r], listed.index(r)))


def tac(step, *, printed):
    """Algorithm 3, by Eq. 6 or as printed; the first one of equals, by a scan as listed."""
    dep, listed = dependencies(step), receives(step)
    time = step.duration_ns
    time_of = {
        r: sum(
            time[op] for op in range(len(time)) if step.kind[op] == "pull" and step.tensor[op] == r
        )
        for r in listed
    }
    order = []
    while len(order) < len(listed):
        outstanding = [r for r in listed if r not in order]
        p, m_plus = update_properties(step, dep, time, time_of, set(outstanding))

        def before(a, b, p=p, m_plus=m_plus):
            one, other = min(p[a], time_of[b]), min(p[b], time_of[a])
            if not printed:
                one, other = other, one
            return one < other if one != other else m_plus[a] < m_plus[b]

        best = outstanding[0]
        for r in outstanding[1:]:
            if before(r, best):
                best = r
        order.append(best)
    return order
