"""Topological order and cycles of a graph, given as the nodes that each node waits for."""

import heapq
from collections.abc import Mapping, Sequence

After = Mapping[str, Sequence[str]]


def dependents(after: After) -> dict[str, list[str]]:
    """Successors of every node: those that wait for it, in the graph's order."""
    found: dict[str, list[str]] = {name: [] for name in after}
    for name, earlier in after.items():
        for other in earlier:
            if other in found:
                found[other].append(name)
    return found


def sorted_nodes(after: After) -> list[str]:
    """Topological order of the nodes; where that leaves a choice, in the graph's order.

    What is in a cycle or behind one is left out; nodes that don't exist are waited for by nobody.
    """
    names = list(after)
    place = {name: i for i, name in enumerate(names)}
    later = dependents(after)
    waits = [sum(other in place for other in after[name]) for name in names]
    free = [i for i, count in enumerate(waits) if count == 0]
    found = []
    while free:
        name = names[heapq.heappop(free)]
        found.append(name)
        for other in later[name]:
            waits[place[other]] -= 1
            if waits[place[other]] == 0:
                heapq.heappush(free, place[other])
    return found


def some_order(after: After, later: Mapping[str, Sequence[str]]) -> list[str]:
    """A topological order of the nodes, any one; `later` is of `dependents`.

    What is in a cycle or behind one is left out; nodes that don't exist are waited for by nobody.
    """
    waits = dict.fromkeys(after, 0)
    for others in later.values():
        for other in others:
            waits[other] += 1
    found = [name for name, count in waits.items() if not count]
    for name in found:  # grows meanwhile
        for other in later[name]:
            waits[other] -= 1
            if not waits[other]:
                found.append(other)
    return found


def find_cycle(after: After, order: Sequence[str] | None = None) -> list[str]:
    """Find a cycle: each node waits for the one before it, the first for the last; or none.

    It begins with the node that the graph names first. `order` is a topological order, if known.
    """
    done = set(sorted_nodes(after) if order is None else order)
    left = [name for name in after if name not in done]
    if not left:
        return []
    path, seen = [left[0]], {left[0]: 0}
    while True:
        name = next(other for other in after[path[-1]] if other in after and other not in done)
        if name in seen:
            cycle = path[seen[name] :][::-1]
            place = {name: i for i, name in enumerate(after)}
            first = cycle.index(min(cycle, key=place.__getitem__))
            return cycle[first:] + cycle[:first]
        seen[name] = len(path)
        path.append(name)


def cycle_text(cycle: Sequence[str], most: int = 8) -> str:
    """A cycle in words; the middle of a long one is left out."""
    shown = list(cycle)
    if len(shown) > most:
        shown = [*shown[: most - 2], f"... ({len(shown) - most + 1} more)", shown[-1]]
    return " -> ".join([*shown, shown[0]])
