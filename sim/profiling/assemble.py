"""Assemble a profile from measured steps: every recorded step is a row.

What lies between layers becomes operations of its own, `other.before.LAYER`, where it is long or
has parameters; the rest of it is in `other`, behind the last layer.
"""

import itertools
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from netcosim.errors import ScenarioError
from netcosim.formatting import printable, shown
from netcosim.workload import Parsing, Profile
from netcosim.workload.layers import SERVER, WORKER, Layer, Tensor, build_step
from netcosim.workload.model import Role
from sim.profiling.attribute import Attributed
from sim.profiling.measure import Measured
from sim.profiling.records import RecordedLayer, RecordedTensor, Structure

OTHER: Final = "other"
MOST_LEFT: Final = 0.01
"""Share of a step: so much of the time between layers may be put behind the last layer."""

_LONGEST: Final = 150
_LIKE_INPUT: Final = re.compile(r"(^|[._\s-])(inputs?|data[ _-]?load(ing|er)?)\d*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a profile that no measured step gives.

    Attributes
    ----------
    parsing : alpha in nanoseconds a byte and beta in nanoseconds, at both ends; None: not known
    branches : whether layers wait for those that they read, else for the one that ran before
    """

    name: str
    batch: int
    branches: bool = False
    parsing: tuple[float, float] | None = None


def build_profile(measured: Measured, settings: Settings) -> Profile:
    """Build the profile of a measurement.

    Raises
    ------
    ScenarioError
        A layer or a tensor has a name that a profile can't have.
    """
    model = _named(measured.structure)
    apart = _apart(measured)
    step, _ = build_step(_layers(model, apart, branches=settings.branches), settings.name)
    columns = [op.name for op in step.computes]
    rows = [_times(model, apart, attributed) for attributed in measured.steps]
    return Profile(
        name=settings.name,
        provenance=printable(_provenance(measured, settings)),
        batch=settings.batch,
        samples="measured",
        parsing=_parsing(settings.parsing),
        step=step,
        duration_ns=tuple(tuple(row[name] for name in columns) for row in rows),
    )


def _named(model: Structure) -> Structure:
    """Rename layers whose names look like the reading of examples; refuse unusable names."""
    names = (*(layer.name for layer in model.layers), *(tensor.name for tensor in model.tensors))
    for name in names:
        if not name or len(name) > _LONGEST or not name.isprintable():
            allowed = f"must be printable and of 1 to {_LONGEST} characters"
            raise ScenarioError(printable(f"name of a layer or tensor: {shown(name)}: {allowed}"))
    layers = tuple(
        replace(layer, name=f"{layer.name}_") if _LIKE_INPUT.search(layer.name) else layer
        for layer in model.layers
    )
    return replace(model, layers=layers)


def _apart(measured: Measured) -> frozenset[int]:
    """Layers preceded by an operation of its own, for parameters or much time before them."""
    layers = measured.structure.layers
    gaps = [
        statistics.median(step.before_ns[i] + step.behind_ns[i] for step in measured.steps)
        for i in range(len(layers))
    ]
    most = MOST_LEFT * measured.step_ns
    found = {i for i, layer in enumerate(layers) if layer.tensors_before}
    left = sum(gaps[i] for i in range(len(layers)) if i not in found)
    for i in sorted(set(range(len(layers))) - found, key=lambda i: -gaps[i]):
        if left <= most:
            break
        found.add(i)
        left -= gaps[i]
    return frozenset(found)


def _before(layer: RecordedLayer) -> str:
    return f"{OTHER}.before.{layer.name}"


def _rest(model: Structure) -> str:
    names = {layer.name for layer in model.layers}
    name = OTHER
    while name in names:
        name += "_"
    return name


def _layers(model: Structure, apart: frozenset[int], *, branches: bool) -> list[Layer]:
    found = []
    for i, layer in enumerate(model.layers):
        chain = (i - 1,) if i else ()
        reads = tuple(model.layers[j].name for j in (layer.reads if branches else chain))
        if i in apart:
            found.append(_layer(_before(layer), reads, layer.tensors_before))
            reads = (_before(layer),)
        found.append(_layer(layer.name, reads, layer.tensors))
    read = set(itertools.chain.from_iterable(layer.inputs for layer in found))
    ends = tuple(layer.name for layer in found if layer.name not in read)
    return [*found, _layer(_rest(model), ends, model.tensors_behind)]


def _layer(name: str, reads: tuple[str, ...], tensors: Sequence[RecordedTensor]) -> Layer:
    """Layer without times, for the step's order; its times are in the profile's rows."""
    held = tuple(Tensor(name=t.name, size_bytes=t.size_bytes) for t in tensors)
    return Layer(name=name, forward_ns=0, backward_ns=0, inputs=reads, tensors=held)


def _times(model: Structure, apart: frozenset[int], step: Attributed) -> dict[str, int]:
    """Nanoseconds of each computation of one step."""
    rest = [i for i in range(len(model.layers)) if i not in apart]
    found = {
        "loss": step.loss_ns,
        f"{_rest(model)}/forward": step.tail_ns + sum(step.before_ns[i] for i in rest),
        f"{_rest(model)}/backward": sum(step.behind_ns[i] for i in rest),
    }
    for i, layer in enumerate(model.layers):
        found[f"{layer.name}/forward"] = step.forward_ns[i]
        found[f"{layer.name}/backward"] = step.backward_ns[i]
        if i in apart:
            found[f"{_before(layer)}/forward"] = step.before_ns[i]
            found[f"{_before(layer)}/backward"] = step.behind_ns[i]
    return found | _updates(model.tensors, step.optimizer_ns)


def _updates(tensors: Sequence[RecordedTensor], optimizer_ns: int) -> dict[str, int]:
    """The optimizer's time, shared by bytes; rounded so that nothing is lost."""
    total = sum(tensor.size_bytes for tensor in tensors)
    sizes = (tensor.size_bytes for tensor in tensors)
    bounds = [optimizer_ns * done // total for done in itertools.accumulate(sizes, initial=0)]
    return {
        f"{tensor.name}/update": end - begin
        for tensor, (begin, end) in zip(tensors, itertools.pairwise(bounds), strict=True)
    }


def _parsing(given: tuple[float, float] | None) -> tuple[Parsing, ...]:
    if given is None:
        return ()
    ends: tuple[tuple[Role, str], ...] = (("worker", WORKER), ("server", SERVER))
    return tuple(
        Parsing(destination=role, resource=resource, alpha_ns_per_byte=given[0], beta_ns=given[1])
        for role, resource in ends
    )


def _provenance(measured: Measured, settings: Settings) -> str:
    between = statistics.median(
        (step.forward_other_ns + sum(step.behind_ns)) / step.step_ns for step in measured.steps
    )
    order = "layers wait for what they read" if settings.branches else "layers are a chain"
    return (
        f"{settings.name}: {measured.about}. {len(measured.records)} steps as they were, after"
        f" {measured.warmup} of warm-up; {order}."
        f" {between:.1%} of a step is in no layer: operations {OTHER} and {OTHER}.before.*."
        f" Median of a step: {measured.step_ns / 1e6:.6g} ms; of steps in between that were not"
        f" watched: {measured.plain_step_ns / 1e6:.6g} ms."
        " The optimizer's time is shared among the updates by bytes. No data loading, no network."
        f" Parsing was {'not measured' if settings.parsing is None else 'given, not measured'}."
    )
