"""Map the nodes of the autograd graph to layers, and each layer to the layers that it reads.

The graph is the one that the backward pass goes through: it tells what was computed from what, also
where a model's code branches or calls functions between its modules.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

BETWEEN: Final = -1
"""Owner of nodes between layers: functions called outside of any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A layer's call: the nodes that made its inputs and its outputs."""

    inputs: Sequence[Any]
    outputs: Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """Owners of graph nodes, and the calls whose outputs each call reads.

    Attributes
    ----------
    owner : of each node: the number of a call, or `BETWEEN`
    reads : per call, the calls whose outputs it reads
    loose : of parameters that functions between layers use, by identity: the call that comes next
    """

    owner: Mapping[Any, int]
    reads: tuple[tuple[int, ...], ...]
    loose: Mapping[int, int]


@dataclass(slots=True, kw_only=True)
class _Walk:
    owner: dict[Any, int] = field(default_factory=dict)
    made_by: dict[Any, int] = field(default_factory=dict)
    loose: dict[int, int] = field(default_factory=dict)


def ownership(calls: Sequence[Call]) -> Ownership:
    """Go through the graph behind each call; a node belongs to the first that reaches it.

    A layer whose inputs carry no gradient reads the last such layer before it.
    """
    walk = _Walk()
    reads = []
    without: tuple[int, ...] = ()
    for number, call in enumerate(calls):
        found = _read(walk, call.inputs)
        reads.append(found or without)
        for node in _reach(walk, call.inputs):
            walk.owner[node] = BETWEEN
            if hasattr(node, "variable"):
                walk.loose.setdefault(id(node.variable), number)
        for node in _reach(walk, call.outputs):
            walk.owner[node] = number
        walk.made_by.update(dict.fromkeys(call.outputs, number))
        if not call.outputs:
            without = (number,)
    return Ownership(owner=walk.owner, reads=tuple(reads), loose=walk.loose)


def _reach(walk: _Walk, ends: Sequence[Any]) -> Iterator[Any]:
    """Nodes behind `ends` that have no owner; each must be given one as it comes."""
    left = list(ends)
    while left:
        node = left.pop()
        if node is None or node in walk.owner:
            continue
        yield node
        left += [other for other, _ in node.next_functions]


def _read(walk: _Walk, ends: Sequence[Any]) -> tuple[int, ...]:
    """The calls whose outputs are behind `ends`, without a call in between."""
    found: set[int] = set()
    seen: set[Any] = set()
    left = list(ends)
    while left:
        node = left.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        call = walk.made_by.get(node, walk.owner.get(node, BETWEEN))
        if call == BETWEEN:
            left += [other for other, _ in node.next_functions]
        else:
            found.add(call)
    return tuple(sorted(found))
