"""Tensor sets by name: one JSON file each under `data`, and their scaling."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources

from netcosim.errors import ScenarioError
from netcosim.nearest import unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSet:
    """Names and sizes in forward order, and where they come from."""

    name: str
    source: str
    tensors: tuple[tuple[str, int], ...]

    @property
    def total_bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(size for _, size in self.tensors)


def set_names() -> tuple[str, ...]:
    """The names of all tensor sets, sorted."""
    files = (resources.files(__name__) / "data").iterdir()
    return tuple(sorted(f.name.removesuffix(".json") for f in files if f.name.endswith(".json")))


def tensor_set(name: str) -> TensorSet:
    """The tensor set of this name.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    if name not in set_names():
        raise ScenarioError.at("workload.set", name, unknown(name, set_names()))
    data = json.loads((resources.files(__name__) / "data" / f"{name}.json").read_text("utf-8"))
    return TensorSet(
        name=name,
        source=data["source"],
        tensors=tuple((tensor, size) for tensor, size in data["tensors"]),
    )


def scale_factor(sizes: Sequence[int], total_bytes: int | None) -> Fraction:
    """Factor that scales sizes so that they come to `total_bytes`; None keeps them."""
    return Fraction(1) if total_bytes is None else Fraction(total_bytes, sum(sizes))


def scale_sizes(sizes: Sequence[int], total_bytes: int | None) -> list[int]:
    """Scale sizes to `total_bytes` in all; none falls below one byte.

    Every size is rounded down, and the bytes left over go one by one to those that lost most
    (largest remainder). What raising tiny tensors to a byte costs, the largest give.

    Raises
    ------
    ScenarioError
        There are more tensors than bytes.
    """
    if total_bytes is None:
        return list(sizes)
    if total_bytes < len(sizes):
        raise ScenarioError.at("total", total_bytes, f"must be >= {len(sizes)}, a byte a tensor")
    factor = scale_factor(sizes, total_bytes)
    exact = [size * factor for size in sizes]
    scaled = [max(1, int(size)) for size in exact]
    spare = total_bytes - sum(scaled)
    lost = sorted(range(len(scaled)), key=lambda i: scaled[i] - exact[i])
    for i in lost[: max(0, spare)]:
        scaled[i] += 1
    for i in sorted(range(len(scaled)), key=scaled.__getitem__, reverse=True):
        spare = min(0, total_bytes - sum(scaled))
        scaled[i] = max(1, scaled[i] + spare)
    return scaled
