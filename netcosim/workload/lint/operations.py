"""Lint rules for operations: their names, places and order."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from netcosim.formatting import shown
from netcosim.nearest import unknown
from netcosim.workload.lint.finding import Finding, error, warning
from netcosim.workload.model import Compute, Profile, Transfer
from netcosim.workload.topological_order import cycle_text, dependents, find_cycle

_DATA_LOADING: Final = re.compile(
    r"(^|[/:._\s-])(inputs?\d*|data[ _-]?load(ing|er)?\d*)($|[/:\s])", re.IGNORECASE
)
_LISTED: Final = 8


def names(profile: Profile) -> Iterator[Finding]:
    """Operations and resources have unique names; there is at least one operation."""
    if not profile.step.operations:
        yield error("step.operations: none; must be at least one")
    for name, count in Counter(op.name for op in profile.step.operations).items():
        if count > 1:
            yield error(f"name: {count} operations have it; must be unique", name)
    for name, count in Counter(r.name for r in profile.step.resources).items():
        if count > 1:
            yield error(f"step.resources: {shown(name)}: {count} have it; must be unique")


def resources(profile: Profile) -> Iterator[Finding]:
    """Computations have a resource, and resources have computations."""
    known = [r.name for r in profile.step.resources]
    used = {op.resource for op in profile.step.computes}
    for op in profile.step.computes:
        if op.resource not in known:
            yield error(f"resource: {shown(op.resource)}: {_unknown(op.resource, known)}", op.name)
    for name in known:
        if name not in used:
            yield warning(f"step.resources: {shown(name)}: no operation runs on it")


def transfers(profile: Profile) -> Iterator[Finding]:
    """Transfers have bytes, and go somewhere else."""
    for op in profile.step.transfers:
        if op.source == op.destination:
            yield error(f"destination: {shown(op.destination)}: is also the source", op.name)
        if op.size_bytes < 1:
            yield error(f"size_bytes: {op.size_bytes}: must be >= 1", op.name)


def dependencies(profile: Profile) -> Iterator[Finding]:
    """Dependencies exist, are listed once, and form no cycle."""
    known = {op.name for op in profile.step.operations}
    for op in profile.step.operations:
        different = set(op.after)
        if len(different) == len(op.after) and different <= known:
            continue
        for name, count in Counter(op.after).items():
            if name not in known:
                yield error(f"after: {shown(name)}: no operation has this name", op.name)
            if count > 1:
                yield error(f"after: {shown(name)}: stands there {count} times", op.name)
    cycle = find_cycle({op.name: op.after for op in profile.step.operations})
    if cycle:
        yield error(f"after: a cycle, in which nothing can begin: {cycle_text(cycle)}", cycle[0])


def loose_ends(profile: Profile) -> Iterator[Finding]:
    """Pulls are waited for, and computations are connected to the rest of the step."""
    later = dependents({op.name: op.after for op in profile.step.operations})
    for op in profile.step.operations:
        if later[op.name]:
            continue
        if isinstance(op, Transfer) and op.source == "server":
            yield warning("nothing waits for what it brings to the worker", op.name)
        elif isinstance(op, Compute) and not op.after:
            yield warning("waits for nothing, and nothing waits for it", op.name)


def data_loading(profile: Profile) -> Iterator[Finding]:
    """Data loading is no operation: examples are read ahead, beside other steps.

    Looked for by name (`Input`, `input0`, `data loading`...), on a worker, waiting for nothing.
    """
    node = {r.name: r.node for r in profile.step.resources}
    later = dependents({op.name: op.after for op in profile.step.operations})
    for op in profile.step.computes:
        first = not op.after and node.get(op.resource) == "worker" and bool(later[op.name])
        if first and _DATA_LOADING.search(op.name):
            yield error("is data loading, which is no part of a step; drop this operation", op.name)


def parsing(profile: Profile) -> Iterator[Finding]:
    """Parsing happens at its receiver, on a resource that computes."""
    node = {r.name: r.node for r in profile.step.resources}
    used = {op.resource for op in profile.step.computes}
    for i, entry in enumerate(profile.parsing):
        where = f"parsing[{i}].resource: {shown(entry.resource)}: "
        if entry.resource not in node:
            yield error(f"{where}{_unknown(entry.resource, list(node))}")
        elif node[entry.resource] != entry.destination:
            yield error(f"{where}must be at the {entry.destination}, which receives")
        elif entry.resource not in used:
            computing = [n for n in node if n in used and node[n] == entry.destination]
            yield error(f"{where}no operation runs on it; {_allowed(computing)}")
    for role, count in Counter(entry.destination for entry in profile.parsing).items():
        if count > 1:
            yield error(f"parsing: {count} entries for messages to the {role}; must be one")


def _unknown(name: str, known: list[str]) -> str:
    return unknown(name, known) if known else f"unknown; {_allowed(known)}"


def _allowed(known: list[str]) -> str:
    listed = ", ".join(known[:_LISTED]) + (", ..." if len(known) > _LISTED else "")
    return f"allowed: {listed}" if known else "the step has no resources"
