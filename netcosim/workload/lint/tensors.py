"""Lint rules for tensors: updates at the server, slices and sizes in both directions."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from netcosim.formatting import shown
from netcosim.workload.lint.finding import Finding, error, warning
from netcosim.workload.lint.linted import Linted
from netcosim.workload.model import Role, Transfer

_VISITS_AN_OPERATION: Final = 20
"""Operations that are looked at behind updates, as a multiple of all: few are close behind one."""

_AT_A_TIME: Final = 2048
"""Pushes followed through the step in one pass; more need more memory."""

Sizes = dict[str, dict[Role, dict[int, int]]]


def updates(seen: Linted) -> Iterator[Finding]:
    """An update belongs to a tensor that is pushed, and runs at the server that keeps it."""
    node = seen.node
    moved = {op.tensor for op in seen.transfers}
    pushed = {op.tensor for op in seen.transfers if op.destination == "server"}
    for op in seen.computes:
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


def moved_tensors(seen: Linted) -> Iterator[Finding]:
    """A moved tensor is updated at the server, and some update waits for each of its pushes."""
    updaters = _updaters(seen)
    pushed = {op.tensor for op in seen.transfers if op.destination == "server"}
    told: set[str] = set()
    useless = _not_waited_for(seen, updaters)
    for op in seen.transfers:
        if op.source == op.destination:
            continue
        if not updaters[op.tensor]:
            if op.tensor not in told:
                yield _never_updated(op, pushed)
            told.add(op.tensor)
        elif op.name in useless:
            yield error(f"tensor: {shown(op.tensor)}: no update of it waits for this", op.name)


def slices(seen: Linted) -> Iterator[Finding]:
    """A slice goes once in each direction, and is as large in one as in the other."""
    repeated = Counter((op.tensor, op.slice, op.source) for op in seen.transfers)
    told: set[tuple[str, int, Role]] = set()
    for op in seen.transfers:
        key = (op.tensor, op.slice, op.source)
        if repeated[key] > 1 and key not in told:
            told.add(key)
            yield error(
                f"slice: {op.slice} of tensor {shown(op.tensor)}: {repeated[key]} transfers"
                f" from the {op.source} have it; must be one",
                op.name,
            )
    yield from _unequal(seen)


def _unequal(seen: Linted) -> Iterator[Finding]:
    sizes: Sizes = {}
    for op in seen.transfers:
        of_tensor = sizes.setdefault(op.tensor, {"server": {}, "worker": {}})
        of_tensor[op.source][op.slice] = op.size_bytes
    alike = {tensor for tensor, of in sizes.items() if of["server"].keys() == of["worker"].keys()}
    told: set[str] = set()
    for op in seen.transfers:
        down, up = sizes[op.tensor]["server"], sizes[op.tensor]["worker"]
        if op.tensor in told or not down or not up:
            continue
        if op.tensor in alike:
            if down[op.slice] != up[op.slice]:
                told.add(op.tensor)
                yield warning(
                    f"size_bytes: slice {op.slice} of tensor {shown(op.tensor)} has"
                    f" {down[op.slice]} bytes down and {up[op.slice]} up",
                    op.name,
                )
            continue
        told.add(op.tensor)  # once is enough, also where they are equal
        if sum(down.values()) != sum(up.values()):
            yield warning(
                f"size_bytes: the slices of tensor {shown(op.tensor)} come to"
                f" {sum(down.values())} bytes down and {sum(up.values())} up",
                op.name,
            )


def _updaters(seen: Linted) -> dict[str, list[str]]:
    """The updates of each tensor, by name."""
    node = seen.node
    found: dict[str, list[str]] = defaultdict(list)
    for op in seen.computes:
        if op.tensor is not None and node.get(op.resource) == "server":
            found[op.tensor].append(op.name)
    return found


def _never_updated(op: Transfer, pushed: set[str]) -> Finding:
    if op.tensor in pushed:
        return error(f"tensor: {shown(op.tensor)}: no update at the server for it", op.name)
    return warning(f"tensor: {shown(op.tensor)}: pulled, but never updated", op.name)


def _not_waited_for(seen: Linted, updaters: dict[str, list[str]]) -> set[str]:
    """The pushes that no update of their tensor waits for, directly or not."""
    earlier = seen.earlier
    left = {
        op.name: op.tensor
        for op in seen.transfers
        if op.destination == "server"
        and op.source != "server"
        and not any(op.name in earlier[update] for update in updaters[op.tensor])
    }
    if not left:
        return set()
    cyclic = len(seen.order) < len(earlier)  # which has a finding of its own
    level = {} if cyclic else _levels(seen)
    pushes: dict[str, list[str]] = defaultdict(list)
    for name, tensor in left.items():
        pushes[tensor].append(name)
    found = set[str]()
    visits = _VISITS_AN_OPERATION * len(earlier)
    waiting = iter(pushes.items())
    for tensor, names in waiting:
        least = min(level.get(name, 0) for name in names)
        reached = _reached(earlier, level, updaters[tensor], least, visits)
        if reached is None:  # what is behind them is too much to look at for each tensor
            waiting = itertools.chain([(tensor, names)], waiting)
            break
        visits -= len(reached)
        found |= {name for name in names if name not in reached}
    if cyclic:
        return found
    rest = {name: updaters[tensor] for tensor, names in waiting for name in names}
    many = list(rest)
    for first in range(0, len(many), _AT_A_TIME):
        some = {name: rest[name] for name in many[first : first + _AT_A_TIME]}
        found |= _unreached(earlier, seen.order, some)
    return found


def _levels(seen: Linted) -> dict[str, int]:
    """The length of the longest way to each operation; an operation waits for lower ones alone."""
    found: dict[str, int] = {}
    for name in seen.order:
        found[name] = 1 + max((found.get(other, 0) for other in seen.earlier[name]), default=0)
    return found


def _reached(
    earlier: dict[str, tuple[str, ...]],
    level: dict[str, int],
    ends: list[str],
    least: int,
    most: int,
) -> set[str] | None:
    """Operations from this level on that the ends wait for; None if they are more than `most`."""
    found, ahead = set(ends), list(ends)
    while ahead:
        if len(found) > most:
            return None
        for other in earlier.get(ahead.pop(), ()):
            if other not in found and level.get(other, 0) >= least:
                found.add(other)
                ahead.append(other)
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
