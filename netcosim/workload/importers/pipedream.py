"""Importer of the PipeDream project's layer graphs (`graph.txt` of its profiler).

Narayanan et al., "PipeDream: generalized pipeline parallelism for DNN training" (SOSP 2019),
section 3.1: forward and backward times in ms, sizes of activations and parameters in bytes. A line
a layer, then a line an edge, which begins with a tab.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from netcosim.errors import ScenarioError
from netcosim.formatting import printable, shown
from netcosim.workload.importers import UnknownBatchError
from netcosim.workload.layers import (
    ASSUMED_JITTER,
    ASSUMED_JITTER_NOTE,
    Layer,
    Tensor,
    build_step,
)
from netcosim.workload.model import MOST, Profile

SUMMARY: Final = "a layer graph of PipeDream (graph.txt)"

_NS_PER_MS: Final = 1_000_000
_BYTES_PER_VALUE: Final = 4  # the profiles are of float32

_FIRST: Final = re.compile(r"\s*node\d{1,9} -- ", re.ASCII)
_NODE: Final = re.compile(
    r"(?P<name>node\d{1,9}) -- (?P<what>.+?) -- forward_compute_time=(?P<forward>[^,]*),"
    r" backward_compute_time=(?P<backward>[^,]*), activation_size=(?P<activation>[^,]*),"
    r" parameter_size=(?P<parameter>[^,\s]*)( -- stage_id=\d+)?\s*",
    re.ASCII,
)
_EDGE: Final = re.compile(r"\t(?P<from>node\d{1,9}) -- (?P<to>node\d{1,9})\s*", re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,16}(\.\d{1,12})?", re.ASCII)
_INPUT: Final = re.compile(r"Input\d*")
_KIND: Final = re.compile(r"\w+")

# Activations of these are (batch, values); the state of an LSTM, its second output, likewise.
_WIDTHS: Final = (
    re.compile(r"Linear\(in_features=\d+, out_features=(\d{1,9}),[^()]*\)"),
    re.compile(r"View\((\d{1,9})\)"),
)
_LSTM: Final = re.compile(r"LSTM\(\d+, (\d{1,9})\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    name: str
    what: str
    forward_ns: int
    backward_ns: int
    activations: tuple[Decimal, ...]
    parameter_bytes: int


def matches(text: str) -> bool:
    """True if the text's first line begins as a node's."""
    return _FIRST.match(text) is not None


def read(text: str, source: str, batch: int | None) -> Profile:
    """The profile; the `Input` nodes are left out: their time is data loading.

    Without `batch`, it is what the sizes of activations tell. A layer's parameters are one tensor.
    The profiler did not measure updates: they take no time.

    Raises
    ------
    ScenarioError
        Not such a file, damaged, or of an unknown batch (`UnknownBatchError`).
    """
    if not matches(text):
        raise ScenarioError(f"{source}: is not {SUMMARY}")
    nodes, inputs = _parse(text, source)
    examples = _batch(nodes.values(), source) if batch is None else batch
    dropped = {name for name, node in nodes.items() if _INPUT.fullmatch(node.what)}
    called = {name: _called(node) for name, node in nodes.items()}
    step, durations = build_step(
        [
            Layer(
                name=called[name],
                forward_ns=node.forward_ns,
                backward_ns=node.backward_ns,
                inputs=tuple(called[other] for other in inputs[name] if other not in dropped),
                tensors=_tensors(node),
            )
            for name, node in sorted(nodes.items(), key=lambda item: int(item[0][4:]))
            if name not in dropped
        ],
        source,
    )
    return Profile(
        name=_profile_name(source, examples),
        provenance="PipeDream's profiler, on a GPU: layers with their forward and backward times; "
        f"batch {examples} {'by its activations' if batch is None else 'as given'}. The input nodes"
        f" were dropped; updates were not measured and take no time. {ASSUMED_JITTER_NOTE}",
        batch=examples,
        samples="medians",
        jitter=ASSUMED_JITTER,
        step=step,
        duration_ns=(durations,),
    )


def _parse(text: str, source: str) -> tuple[dict[str, _Node], dict[str, list[str]]]:
    """The nodes by name, and for each the nodes that it reads."""
    nodes: dict[str, _Node] = {}
    edges: list[tuple[str, str, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{source}: line {number}"
        if edge := _EDGE.fullmatch(line):
            edges.append((edge["from"], edge["to"], where))
        elif found := _NODE.fullmatch(line):
            if found["name"] in nodes:
                raise ScenarioError(f"{where}: {found['name']}: is there twice; must be unique")
            nodes[found["name"]] = _node(found, f"{where}: {found['name']}")
        elif line.strip():
            raise _wrong(where, line, "must be a node with its times and sizes, or an edge")
    inputs: dict[str, list[str]] = {name: [] for name in nodes}
    for earlier, later, where in edges:
        for name in (earlier, later):
            if name not in nodes:
                raise _wrong(where, name, "no node has this name")
        if earlier in inputs[later]:
            raise _wrong(where, f"{earlier} -- {later}", "is there twice")
        inputs[later].append(earlier)
    return nodes, inputs


def _node(found: re.Match[str], where: str) -> _Node:
    activation = found["activation"].strip("[]").split("; ")
    return _Node(
        name=found["name"],
        what=found["what"],
        forward_ns=_whole(f"{where}: forward_compute_time", found["forward"], _NS_PER_MS),
        backward_ns=_whole(f"{where}: backward_compute_time", found["backward"], _NS_PER_MS),
        activations=tuple(_number(f"{where}: activation_size", size) for size in activation),
        parameter_bytes=_whole(f"{where}: parameter_size", found["parameter"], 1),
    )


def _whole(where: str, text: str, factor: int) -> int:
    value = round(_number(where, text) * factor)
    if value > MOST:
        raise _wrong(where, text, f"must be <= {Decimal(MOST) / factor:f}")
    return value


def _number(where: str, text: str) -> Decimal:
    if _NUMBER.fullmatch(text) is None:
        raise _wrong(where, text, "must be a number >= 0")
    return Decimal(text)


def _batch(nodes: Iterable[_Node], source: str) -> int:
    """Examples of a batch, on which all layers of a known width agree."""
    told = {size for node in nodes for size in _batches(node)}
    if len(told) == 1 and (batch := told.pop()) == int(batch) and batch >= 1:
        return int(batch)
    raise UnknownBatchError(
        f"{source}: batch: the sizes of activations do not tell it; must be given"
    )


def _batches(node: _Node) -> list[Decimal]:
    for pattern in _WIDTHS:
        if found := pattern.fullmatch(node.what):
            return [node.activations[0] / (max(1, int(found[1])) * _BYTES_PER_VALUE)]
    if (found := _LSTM.fullmatch(node.what)) and len(node.activations) > 1:
        return [node.activations[1] / (max(1, int(found[1])) * _BYTES_PER_VALUE)]
    return []


def _called(node: _Node) -> str:
    """The layer's name: that of its node, and its kind."""
    kind = _KIND.match(node.what)
    return f"{node.name}.{kind[0]}"[:100] if kind else node.name


def _tensors(node: _Node) -> tuple[Tensor, ...]:
    size = node.parameter_bytes
    return (Tensor(name=_called(node), size_bytes=size),) if size else ()


def _profile_name(source: str, batch: int) -> str:
    stem = re.split(r"[/\\]", source)[-1].removesuffix(".txt").removesuffix(".graph")
    return f"{printable(stem)[:100] or 'graph'}-b{batch}"


def _wrong(where: str, value: str, allowed: str) -> ScenarioError:
    return ScenarioError(printable(f"{where}: {shown(value)}: {allowed}"))
