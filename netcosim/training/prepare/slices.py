"""Gradients that are sent in slices: each is pushed, updated and pulled by itself.

Source: P3 (Jayarajan et al., MLSys 2019) and ByteScheduler (Peng et al., SOSP 2019) cut tensors so;
servers treat a slice as they do a tensor.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.step_graph import StepGraph
from netcosim.training.plan import Floats, Ints
from netcosim.training.prepare.build import Assignment, tensors_of
from netcosim.workload import Compute, Operation, Profile, Transfer


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """A profile whose large tensors are cut.

    Attributes
    ----------
    profile : with a tensor for each slice, named ``tensor#1``, ``tensor#2`` and so on
    tensor_of : tensor of each slice, and of each tensor that is not cut
    column : (computations,) the recorded computation of which each is a part
    share : (computations,) which part
    """

    profile: Profile
    tensor_of: Mapping[str, str]
    column: Ints
    share: Floats

    def durations(self, duration_ns: Floats) -> Floats:
        """(steps, computations) durations of (steps, recorded computations)."""
        parts: Floats = duration_ns[:, self.column] * self.share
        return parts

    def assignment(self, whole: Assignment, sizes_bytes: Sequence[int]) -> Assignment:
        """The assignment of slices: each is where its tensor is, in its tensor's turn.

        Parameters
        ----------
        whole : of the tensors
        sizes_bytes : of the tensors, in their order
        """
        slices = list(tensors_of(self.profile))
        tensors = list(whole.server_of)
        of: dict[str, list[int]] = {}
        for i, name in enumerate(slices):
            of.setdefault(self.tensor_of[name], []).append(i)

        def arrange(
            each: Sequence[int], rng: np.random.Generator, step: StepGraph | None
        ) -> list[int]:
            if step is not None:  # its receives are slices
                return whole.arrange(each, rng, step)
            order = whole.arrange(list(sizes_bytes), rng, None)
            return [i for t in order for i in of.get(tensors[t], [])]

        return replace(
            whole,
            server_of={name: whole.server_of[self.tensor_of[name]] for name in slices},
            arrange=arrange,
            priority={name: whole.priority.get(self.tensor_of[name], 0) for name in slices},
        )


def sliced(profile: Profile, partition_bytes: int) -> Slices:
    """Cut every tensor whose gradient is larger than a partition, with its updates and pulls.

    An update of several tensors is not cut: it waits for all of their slices.

    Raises
    ------
    ScenarioError
        A slice would have the name of something else in the profile.
    """
    pieces = _pieces(profile, partition_bytes)
    cut = _cut_operations(profile, pieces)
    operations: list[Operation] = []
    column, share, computes = [], [], 0
    for op in profile.step.operations:
        parts = list(_parts(op, pieces[cut[op.name]] if op.name in cut else (), cut, pieces))
        operations += [part for part, _ in parts]
        if isinstance(op, Compute):
            column += [computes] * len(parts)
            share += [size for _, size in parts]
            computes += 1
    step = profile.step.model_copy(update={"operations": tuple(operations)})
    names = {t: _names(t, pieces.get(t, ())) for t in tensors_of(profile)}
    _check_names(op.name for op in operations)
    _check_names(name for parts in names.values() for name in parts)
    return Slices(
        profile=profile.model_copy(update={"step": step}),
        tensor_of={name: t for t, parts in names.items() for name in parts},
        column=np.array(column, dtype=np.int64),
        share=np.array(share, dtype=np.float64),
    )


def _pieces(profile: Profile, partition_bytes: int) -> dict[str, tuple[float, ...]]:
    """Shares of the slices of each tensor that is cut: whole partitions, and what is left."""
    found = {}
    for op in profile.step.transfers:
        if op.source == "worker" and op.size_bytes > partition_bytes:
            whole, rest = divmod(op.size_bytes, partition_bytes)
            sizes = [partition_bytes] * whole + ([rest] if rest else [])
            found[op.tensor] = tuple(size / op.size_bytes for size in sizes)
    return found


def _cut_operations(profile: Profile, pieces: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """Tensor of each operation that is cut: its transfers, and updates of nothing else."""
    cut = {op.name: op.tensor for op in profile.step.transfers if op.tensor in pieces}
    nodes = {resource.name: resource.node for resource in profile.step.resources}
    for op in profile.step.computes:
        tensors = {cut.get(name) for name in op.after}
        if nodes[op.resource] == "server" and len(tensors) == 1 and None not in tensors:
            cut[op.name] = tensors.pop() or ""
    return cut


def _parts(
    op: Operation,
    shares: Sequence[float],
    cut: Mapping[str, str],
    pieces: Mapping[str, Sequence[float]],
) -> Iterator[tuple[Operation, float]]:
    """An operation, or its slices, with their shares of it."""

    def before(k: int | None) -> tuple[str, ...]:
        found: list[str] = []
        for name in op.after:
            of = cut.get(name)
            if of is None:
                found.append(name)
            elif k is not None and of == cut[op.name]:
                found.append(_name(name, k))
            else:
                found += _names(name, pieces[of])
        return tuple(found)

    if not shares:
        yield op.model_copy(update={"after": before(None)}), 1.0
        return
    for k, share in enumerate(shares):
        changed: dict[str, object] = {"name": _name(op.name, k), "after": before(k)}
        if op.tensor is not None:
            changed["tensor"] = _name(op.tensor, k)
        if isinstance(op, Transfer):
            ends = np.rint(np.cumsum([0.0, *shares]) * op.size_bytes).astype(int)
            changed["size_bytes"] = int([b - a for a, b in pairwise(ends)][k])
        yield op.model_copy(update=changed), share


def _check_names(names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            allowed = "is the name of a slice, too; a profile that is cut must not have such a name"
            raise ScenarioError.at("profile", name, allowed)


def _names(name: str, shares: Sequence[float]) -> list[str]:
    return [_name(name, k) for k in range(len(shares))] or [name]


def _name(name: str, k: int) -> str:
    return f"{name}#{k + 1}"
