"""Importer of layer profiles measured under PyTorch: a flat list of layers with medians.

The list has no dependencies; those of networks whose layers branch are known from the papers
(`netcosim.workload.wiring`), any other network is a chain.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from netcosim.errors import ScenarioError
from netcosim.formatting import shown
from netcosim.workload.checked import Where, parse_json, validated
from netcosim.workload.layers import (
    ASSUMED_JITTER,
    ASSUMED_JITTER_NOTE,
    Layer,
    Tensor,
    build_step,
)
from netcosim.workload.model import MOST, Profile
from netcosim.workload.wiring import wire

SUMMARY: Final = "a layer profile of PyTorch (JSON with layers[].fwd_us_median)"

_NS_PER_US: Final = 1_000
_NS_PER_S: Final = 1_000_000_000
_KEYS: Final = ('"layers"', '"fwd_us_median"')

_Text = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\p{C}]*$")]
_Bytes = Annotated[int, Field(ge=1, le=MOST, strict=True)]
_Us = Annotated[float, Field(ge=0, le=1e12, strict=True)]
_Seconds = Annotated[float, Field(ge=0, le=1e6, strict=True)]


class _Lenient(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Layer(_Lenient):
    name: _Text
    params: tuple[tuple[_Text, _Bytes], ...]
    fwd_us_median: _Us
    bwd_us_median: _Us


class _File(_Lenient):
    model: _Text
    batch: Annotated[int, Field(ge=1, strict=True)]
    torch: _Text
    threads: Annotated[int, Field(ge=1, strict=True)]
    iters: Annotated[int, Field(ge=1, strict=True)]
    forward_s_median: _Seconds
    backward_s_median: _Seconds
    optimizer_s_median: _Seconds
    layers: tuple[_Layer, ...]


def matches(text: str) -> bool:
    """True if the text looks like JSON with timed layers."""
    return text.lstrip().startswith("{") and all(key in text for key in _KEYS)


def read(text: str, source: str, batch: int | None) -> Profile:
    """The profile; the optimizer's time is shared among the tensors by their bytes.

    Raises
    ------
    ScenarioError
        Not such a file, or a batch that is not the file's.
    """
    if not matches(text):
        raise ScenarioError(f"{source}: is not {SUMMARY}")
    data = parse_json(text, source)
    found = validated(_File, data, source, _places(data), {})
    if batch not in (None, found.batch):
        raise ScenarioError(f"{source}: batch: {batch}: the file says {found.batch}")
    step, durations = build_step(_layers(found), source)
    return Profile(
        name=f"{found.model}-b{found.batch}",
        provenance=_provenance(found),
        batch=found.batch,
        samples="medians",
        jitter=ASSUMED_JITTER,
        step=step,
        duration_ns=(durations,),
    )


def _layers(found: _File) -> list[Layer]:
    inputs = wire(found.model, [layer.name for layer in found.layers])
    total_bytes = sum(size for layer in found.layers for _, size in layer.params)
    ns_per_byte = found.optimizer_s_median * _NS_PER_S / max(1, total_bytes)
    return [
        Layer(
            name=layer.name,
            forward_ns=round(layer.fwd_us_median * _NS_PER_US),
            backward_ns=round(layer.bwd_us_median * _NS_PER_US),
            inputs=inputs[layer.name],
            tensors=_tensors(layer.params, ns_per_byte),
        )
        for layer in found.layers
    ]


def _tensors(params: Sequence[tuple[str, int]], ns_per_byte: float) -> tuple[Tensor, ...]:
    return tuple(
        Tensor(name=name, size_bytes=size, update_ns=round(size * ns_per_byte))
        for name, size in params
    )


def _provenance(found: _File) -> str:
    forward_s = sum(layer.fwd_us_median for layer in found.layers) / 1e6
    backward_s = sum(layer.bwd_us_median for layer in found.layers) / 1e6
    return (
        f"{found.model} with PyTorch {found.torch} on {found.threads} CPU thread(s), batch"
        f" {found.batch}: medians of {found.iters} iterations, layer by layer."
        f" The layers' passes come to {forward_s:.3f} s of {found.forward_s_median:.3f} s forward"
        f" and {backward_s:.3f} s of {found.backward_s_median:.3f} s backward; what is between them"
        " (functions that are no modules, and PyTorch itself) is in no operation."
        " The optimizer's time is shared among the updates by bytes."
        f" {ASSUMED_JITTER_NOTE}"
    )


def _places(data: Any) -> Where:
    """Naming of places in such a file, for errors: layers by their names."""

    def where(place: tuple[int | str, ...]) -> str:
        fields = list(place)
        prefix = ""
        if len(fields) > 1 and fields[0] == "layers" and isinstance(fields[1], int):
            layer = data["layers"][fields[1]]
            name = layer.get("name") if isinstance(layer, dict) else None
            prefix = f"layer {shown(name) if isinstance(name, str) else f'number {fields[1]}'}: "
            fields = fields[2:]
        text = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in fields)
        return prefix + (f"{text.lstrip('.')}: " if text else "")

    return where
