"""Lint rules for operations: their names, places and order."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from netcosim.formatting import shown
from netcosim.nearest import unknown
from netcosim.workload.lint.finding import Finding, error, warning
from netcosim.workload.lint.linted import Linted
from netcosim.workload.model import Compute, Transfer
from netcosim.workload.topological_order import cycle_text, find_cycle

_DATA_LOADING: Final = re.compile(
    r"(^|[/:._\s-])(inputs?\d*|data[ _-]?load(ing|er)?\d*)($|[/:\s])", re.IGNORECASE
)
_LISTED: Final = 8
_SUGGESTED: Final = 100


def names(seen: Linted) -> Iterator[Finding]:
    """Operations and resources have unique names; there is at least one operation."""
    if not seen.operations:
        yield error("step.operations: none; must be at least one")
    for name, count in Counter(op.name for op in seen.operations).items():
        if count > 1:
            yield error(f"name: {count} operations have it; must be unique", name)
    for name, count in Counter(r.name for r in seen.profile.step.resources).items():
        if count > 1:
            yield error(f"step.resources: {shown(name)}: {count} have it; must be unique")


def resources(seen: Linted) -> Iterator[Finding]:
    """Computations have a resource, and resources have computations."""
    known = list(seen.node)
    told = dict[str, str]()
    used = {op.resource for op in seen.computes}
    for op in seen.computes:
        if op.resource not in seen.node:
            if op.resource not in told:  # what was meant is looked for among all, which takes time
                many = len(told) >= _SUGGESTED
                told[op.resource] = "unknown" if many else _unknown(op.resource, known)
            yield error(f"resource: {shown(op.resource)}: {told[op.resource]}", op.name)
    for name in known:
        if name not in used:
            yield warning(f"step.resources: {shown(name)}: no operation runs on it")


def transfers(seen: Linted) -> Iterator[Finding]:
    """Transfers have bytes, and go somewhere else."""
    for op in seen.transfers:
        if op.source == op.destination:
            yield error(f"destination: {shown(op.destination)}: is also the source", op.name)
        if op.size_bytes < 1:
            yield error(f"size_bytes: {op.size_bytes}: must be >= 1", op.name)


def dependencies(seen: Linted) -> Iterator[Finding]:
    """Dependencies exist, are listed once, and form no cycle."""
    known = {op.name for op in seen.operations}
    for op in seen.operations:
        different = set(op.after)
        if len(different) == len(op.after) and different <= known:
            continue
        for name, count in Counter(op.after).items():
            if name not in known:
                yield error(f"after: {shown(name)}: no operation has this name", op.name)
            if count > 1:
                yield error(f"after: {shown(name)}: stands there {count} times", op.name)
    cycle = find_cycle(seen.earlier, seen.order)
    if cycle:
        yield error(f"after: a cycle, in which nothing can begin: {cycle_text(cycle)}", cycle[0])


def loose_ends(seen: Linted) -> Iterator[Finding]:
    """Pulls are waited for, and computations are connected to the rest of the step."""
    for op in seen.operations:
        if seen.later[op.name]:
            continue
        if isinstance(op, Transfer) and op.source == "server":
            yield warning("nothing waits for what it brings to the worker", op.name)
        elif isinstance(op, Compute) and not op.after:
            yield warning("waits for nothing, and nothing waits for it", op.name)


def data_loading(seen: Linted) -> Iterator[Finding]:
    """Data loading is no operation: examples are read ahead, beside other steps.

    Looked for by name (`Input`, `input0`, `data loading`...), on a worker, waiting for nothing.
    """
    node = seen.node
    for op in seen.computes:
        first = not op.after and node.get(op.resource) == "worker" and bool(seen.later[op.name])
        if first and _DATA_LOADING.search(op.name):
            yield error("is data loading, which is no part of a step; drop this operation", op.name)


def parsing(seen: Linted) -> Iterator[Finding]:
    """Parsing happens at its receiver, on a resource that computes."""
    node = seen.node
    used = {op.resource for op in seen.computes}
    for i, entry in enumerate(seen.profile.parsing):
        where = f"parsing[{i}].resource: {shown(entry.resource)}: "
        if entry.resource not in node:
            yield error(f"{where}{_unknown(entry.resource, list(node))}")
        elif node[entry.resource] != entry.destination:
            yield error(f"{where}must be at the {entry.destination}, which receives")
        elif entry.resource not in used:
            computing = [n for n in node if n in used and node[n] == entry.destination]
            yield error(f"{where}no operation runs on it; {_allowed(computing)}")
    for role, count in Counter(entry.destination for entry in seen.profile.parsing).items():
        if count > 1:
            yield error(f"parsing: {count} entries for messages to the {role}; must be one")


def _unknown(name: str, known: list[str]) -> str:
    return unknown(name, known) if known else f"unknown; {_allowed(known)}"


def _allowed(known: list[str]) -> str:
    listed = ", ".join(known[:_LISTED]) + (", ..." if len(known) > _LISTED else "")
    return f"allowed: {listed}" if known else "the step has no resources"
