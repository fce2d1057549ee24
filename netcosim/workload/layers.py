"""Construction of a step from layers: pulls, passes, loss, pushes, updates.

Shared by the importers of layer profiles. Every gradient of a layer is ready when the layer's
backward pass ends; a layer's forward pass waits for those of its inputs and for its own parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from netcosim.errors import ScenarioError
from netcosim.formatting import shown
from netcosim.workload.model import Compute, Jitter, Operation, Resource, Step, Transfer
from netcosim.workload.topological_order import cycle_text, dependents, find_cycle, sorted_nodes

WORKER: Final = "worker"
SERVER: Final = "server"

ASSUMED_JITTER: Final = Jitter(model="lognormal", spread=0.1, scope="step")
ASSUMED_JITTER_NOTE: Final = (
    "The jitter (lognormal, 10 % for a whole step) is assumed, not measured: it rests on how far"
    " below the median the shortest of a few passes was in the built-in profiles."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A parameter tensor; its gradient is of the same size. `update_ns` is at the server."""

    name: str
    size_bytes: int
    update_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A layer; `inputs` are the layers whose outputs it reads."""

    name: str
    forward_ns: int
    backward_ns: int
    inputs: tuple[str, ...] = ()
    tensors: tuple[Tensor, ...] = ()


def build_step(layers: Sequence[Layer], source: str) -> tuple[Step, tuple[int, ...]]:
    """The step of these layers, and the duration of each computation.

    Operations stand in the order of a run without a network: pulls and forward passes in the order
    of the layers, the loss (no time of its own), backward passes and pushes in the reverse order.

    Raises
    ------
    ScenarioError
        There are no layers, one is there twice, an input is unknown, or layers are in a cycle.
    """
    by_name = {layer.name: layer for layer in layers}
    inputs = {layer.name: layer.inputs for layer in layers}
    _check(layers, inputs, source)
    ordered = [by_name[name] for name in sorted_nodes(inputs)]
    outputs = dependents(inputs)
    timed: list[tuple[Operation, int]] = [
        (_pull(tensor), 0) for layer in ordered for tensor in layer.tensors
    ]
    timed += [(_forward(layer), layer.forward_ns) for layer in ordered]
    ends = tuple(f"{layer.name}/forward" for layer in ordered if not outputs[layer.name])
    timed.append((Compute(name="loss", resource=WORKER, after=ends), 0))
    for layer in reversed(ordered):
        later = tuple(f"{name}/backward" for name in outputs[layer.name]) or ("loss",)
        backward = Compute(name=f"{layer.name}/backward", resource=WORKER, after=later)
        timed.append((backward, layer.backward_ns))
        timed += [(_push(tensor, layer), 0) for tensor in layer.tensors]
        timed += [(_update(tensor), tensor.update_ns) for tensor in layer.tensors]
    step = Step(
        resources=(Resource(name=WORKER, node="worker"), Resource(name=SERVER, node="server")),
        operations=tuple(operation for operation, _ in timed),
    )
    return step, tuple(ns for operation, ns in timed if isinstance(operation, Compute))


def _check(layers: Sequence[Layer], inputs: dict[str, tuple[str, ...]], source: str) -> None:
    if not layers:
        raise ScenarioError(f"{source}: no layers; must have at least one")
    if len(inputs) < len(layers):
        names = [layer.name for layer in layers]
        twice = next(name for name in names if names.count(name) > 1)
        raise ScenarioError(f"{source}: layer {shown(twice)}: is there twice; must be unique")
    for layer in layers:
        for name in layer.inputs:
            if name not in inputs:
                where = f"{source}: layer {shown(layer.name)}: input {shown(name)}"
                raise ScenarioError(f"{where}: no layer has this name")
    cycle = find_cycle(inputs)
    if cycle:
        raise ScenarioError(f"{source}: layers in a cycle: {cycle_text(cycle)}")


def _pull(tensor: Tensor) -> Transfer:
    return Transfer(
        name=f"{tensor.name}/pull",
        source="server",
        destination="worker",
        tensor=tensor.name,
        size_bytes=tensor.size_bytes,
    )


def _forward(layer: Layer) -> Compute:
    parameters = (f"{tensor.name}/pull" for tensor in layer.tensors)
    earlier = (f"{name}/forward" for name in layer.inputs)
    return Compute(name=f"{layer.name}/forward", resource=WORKER, after=(*parameters, *earlier))


def _push(tensor: Tensor, layer: Layer) -> Transfer:
    return Transfer(
        name=f"{tensor.name}/push",
        source="worker",
        destination="server",
        tensor=tensor.name,
        size_bytes=tensor.size_bytes,
        after=(f"{layer.name}/backward",),
    )


def _update(tensor: Tensor) -> Compute:
    return Compute(
        name=f"{tensor.name}/update",
        resource=SERVER,
        after=(f"{tensor.name}/push",),
        batch_share=0.0,
        tensor=tensor.name,
    )
