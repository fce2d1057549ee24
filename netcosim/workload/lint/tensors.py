"""Lint rules for tensors: updates at the server, slices and sizes in both directions."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from netcosim.formatting import shown
from netcosim.workload.lint.finding import Finding, error, warning
from netcosim.workload.model import Profile, Role, Transfer

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
    earlier = {op.name: op.after for op in profile.step.operations}
    for op in profile.step.transfers:
        if op.source == op.destination:
            continue
        if not updaters[op.tensor]:
            if op.tensor not in seen:
                yield _never_updated(op, pushed)
            seen.add(op.tensor)
        elif op.destination == "server" and not any(
            _waits_for(earlier, update, op.name) for update in updaters[op.tensor]
        ):
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
