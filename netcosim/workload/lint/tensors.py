"""Lint rules for tensors: updates at the server, slices and sizes in both directions."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from netcosim.formatting import shown
from netcosim.workload.lint.finding import Finding, error, warning
from netcosim.workload.model import Profile, Role, Transfer
from netcosim.workload.topological_order import sorted_nodes

_AT_A_TIME: Final = 2048
"""Pushes followed through the step in one pass; more need more memory."""

Sizes = dict[str, dict[Role, dict[int, int]]]


def updates(profile: Profile) -> Iterator[Finding]:
    """An update belongs to a tensor that is pushed, and runs at the server that keeps it."""
    node = {r.name: r.node for r in profile.step.resources}
    moved = {op.tensor for op in profile.step.transfers}
    pushed = {op.tensor for op in profile.step.transfers if op.destination == "server"}
    for op in profile.step.computes:
        at = node.get(op.resource)
        if op.tensor is None:
            if at == "server":
                yield warning("tensor: not given: which of several servers runs it?", op.name)
        elif at == "worker":
            yield error(f"tensor: {shown(op.tensor)}: only for work at a server", op.name)
        elif op.tensor not in moved:
            yield error(f"tensor: {shown(op.tensor)}: no transfer moves a tensor of it", op.name)
        elif op.tensor not in pushed:
            yield warning(f"tensor: {shown(op.tensor)}: updated, but never pushed", op.name)


def moved_tensors(profile: Profile) -> Iterator[Finding]:
    """A moved tensor is updated at the server, and some update waits for each of its pushes."""
    updaters = _updaters(profile)
    pushed = {op.tensor for op in profile.step.transfers if op.destination == "server"}
    seen: set[str] = set()
    useless = _not_waited_for(profile, updaters)
    for op in profile.step.transfers:
        if op.source == op.destination:
            continue
        if not updaters[op.tensor]:
            if op.tensor not in seen:
                yield _never_updated(op, pushed)
            seen.add(op.tensor)
        elif op.name in useless:
            yield error(f"tensor: {shown(op.tensor)}: no update of it waits for this", op.name)


def slices(profile: Profile) -> Iterator[Finding]:
    """A slice goes once in each direction, and is as large in one as in the other."""
    repeated = Counter((op.tensor, op.slice, op.source) for op in profile.step.transfers)
    told: set[tuple[str, int, Role]] = set()
    for op in profile.step.transfers:
        key = (op.tensor, op.slice, op.source)
        if repeated[key] > 1 and key not in told:
            told.add(key)
            yield error(
                f"slice: {op.slice} of tensor {shown(op.tensor)}: {repeated[key]} transfers"
                f" from the {op.source} have it; must be one",
                op.name,
            )
    yield from _unequal(profile)


def _unequal(profile: Profile) -> Iterator[Finding]:
    sizes: Sizes = defaultdict(lambda: {"server": {}, "worker": {}})
    for op in profile.step.transfers:
        sizes[op.tensor][op.source][op.slice] = op.size_bytes
    told: set[str] = set()
    for op in profile.step.transfers:
        down, up = sizes[op.tensor]["server"], sizes[op.tensor]["worker"]
        if op.tensor in told or not down or not up:
            continue
        if down.keys() == up.keys():
            if down[op.slice] != up[op.slice]:
                told.add(op.tensor)
                yield warning(
                    f"size_bytes: slice {op.slice} of tensor {shown(op.tensor)} has"
                    f" {down[op.slice]} bytes down and {up[op.slice]} up",
                    op.name,
                )
        elif sum(down.values()) != sum(up.values()):
            told.add(op.tensor)
            yield warning(
                f"size_bytes: the slices of tensor {shown(op.tensor)} come to"
                f" {sum(down.values())} bytes down and {sum(up.values())} up",
                op.name,
            )


def _updaters(profile: Profile) -> dict[str, list[str]]:
    """The updates of each tensor, by name."""
    node = {r.name: r.node for r in profile.step.resources}
    found: dict[str, list[str]] = defaultdict(list)
    for op in profile.step.computes:
        if op.tensor is not None and node.get(op.resource) == "server":
            found[op.tensor].append(op.name)
    return found


def _never_updated(op: Transfer, pushed: set[str]) -> Finding:
    if op.tensor in pushed:
        return error(f"tensor: {shown(op.tensor)}: no update at the server for it", op.name)
    return warning(f"tensor: {shown(op.tensor)}: pulled, but never updated", op.name)


def _not_waited_for(profile: Profile, updaters: dict[str, list[str]]) -> set[str]:
    """The pushes that no update of their tensor waits for, directly or not."""
    earlier = {op.name: op.after for op in profile.step.operations}
    left = {
        op.name: op.tensor
        for op in profile.step.transfers
        if op.destination == "server"
        and op.source != "server"
        and not any(op.name in earlier[update] for update in updaters[op.tensor])
    }
    if not left:
        return set()
    names = list(left)
    order = sorted_nodes(earlier)
    if len(order) < len(earlier):  # a cycle, which has a finding of its own
        return {n for n in names if not any(_waits_for(earlier, u, n) for u in updaters[left[n]])}
    found: set[str] = set()
    for first in range(0, len(names), _AT_A_TIME):
        some = names[first : first + _AT_A_TIME]
        found |= _unreached(earlier, order, {name: updaters[left[name]] for name in some})
    return found


def _unreached(
    earlier: dict[str, tuple[str, ...]], order: list[str], ends: dict[str, list[str]]
) -> set[str]:
    """Those of the keys that none of their ends waits for: one pass with a bit for each key."""
    bit = {name: 1 << i for i, name in enumerate(ends)}
    reached: dict[str, int] = {}
    for name in order:
        bits = bit.get(name, 0)
        for other in earlier[name]:
            bits |= reached.get(other, 0)
        reached[name] = bits
    return {n for n, updates in ends.items() if not any(reached[u] & bit[n] for u in updates)}


def _waits_for(earlier: dict[str, tuple[str, ...]], name: str, target: str) -> bool:
    """True if an operation waits, directly or not, for the target."""
    if target in earlier[name]:
        return True
    seen, ahead = {name}, [name]
    while ahead:
        for other in earlier.get(ahead.pop(), ()):
            if other == target:
                return True
            if other not in seen:
                seen.add(other)
                ahead.append(other)
    return False
