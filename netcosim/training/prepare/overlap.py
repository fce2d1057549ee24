"""Steps that begin behind the loss: gradients, pushes, updates, pulls, forward.

All of a worker's work passes the loss, so there nothing of two steps overlaps: a step may as well
be counted from there. Then the pulls of a step are behind the updates of the same step, each as
soon as its own is made, as in MXNet and BytePS.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netcosim.errors import ScenarioError
from netcosim.training.plan import Floats
from netcosim.training.prepare.graph import Graph, graph_of_names, last_forward
from netcosim.workload import Compute, Operation, Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """A profile whose steps begin behind the loss.

    Attributes
    ----------
    profile : the same operations, in the same order, with other dependencies
    forward : (computations,) true for those up to the loss, which were recorded a step later
    """

    profile: Profile
    forward: NDArray[np.bool_]

    def paired(self, durations_ns: Floats) -> Floats:
        """Durations of these steps: what is behind a row's loss, then the next row up to its loss.

        Parameters
        ----------
        durations_ns : (steps, computations) as recorded; the result has a step less

        Raises
        ------
        ScenarioError
            Only one step was recorded.
        """
        if len(durations_ns) < 2:
            raise _refused("this profile has one recorded step, and two make one that overlaps")
        paired: Floats = np.where(self.forward, durations_ns[1:], durations_ns[:-1])
        return paired


def overlapping(profile: Profile) -> Overlap:
    """Let a profile's step begin behind the loss.

    Raises
    ------
    ScenarioError
        Not all of the worker's computations are before or behind one that waits for all pulls.
    """
    operations = profile.step.operations
    graph = graph_of_names({op.name: tuple(dict.fromkeys(op.after)) for op in operations})
    before_loss = _before_loss(profile, graph)
    after = _after(profile, before_loss)
    changed = tuple(
        op.model_copy(update={"after": names}) for op, names in zip(operations, after, strict=True)
    )
    step = profile.step.model_copy(update={"operations": changed})
    columns = [early for op, early in zip(operations, before_loss, strict=True) if _computes(op)]
    return Overlap(
        profile=profile.model_copy(update={"step": step}),
        forward=np.array(columns, dtype=bool),
    )


def _before_loss(profile: Profile, graph: Graph) -> list[bool]:
    """By operation, whether it is the loss or comes before it."""
    operations, step = profile.step.operations, profile.step
    pulls = [i for i, op in enumerate(operations) if step.phase(op) == "downlink"]
    computes = [i for i in graph.order if step.phase(operations[i]) == "worker"]
    loss = last_forward(graph, pulls, computes) if pulls else None
    if loss is None:
        raise _refused(
            "this profile has no computation that all pulls are before, and all others before"
            " or behind, where a step could begin"
        )
    found = [False] * len(operations)
    pending = [computes[loss]]
    while pending:
        op = pending.pop()
        if not found[op]:
            found[op] = True
            pending += graph.predecessors[op]
    return found


def _after(profile: Profile, before_loss: Sequence[bool]) -> list[tuple[str, ...]]:
    """What each operation waits for, in a step that begins behind the loss."""
    operations, step = profile.step.operations, profile.step
    early = {op.name for op, before in zip(operations, before_loss, strict=True) if before}
    updates = _updates(profile)
    last = _last_computations(profile, early)
    found = []
    for op in operations:
        names = tuple(name for name in op.after if op.name in early or name not in early)
        if op.name in early and not names:
            is_pull = step.phase(op) == "downlink"
            names = updates.get(op.tensor or "", ()) if is_pull else last
        found.append(names)
    return found


def _updates(profile: Profile) -> dict[str, tuple[str, ...]]:
    """By tensor, what has to be done before it can be pulled again: its updates, or its pushes."""
    step = profile.step
    pushes: dict[str, list[str]] = {}
    updates: dict[str, list[str]] = {}
    tensor_of = {op.name: op.tensor for op in step.transfers if step.phase(op) == "uplink"}
    for name, tensor in tensor_of.items():
        pushes.setdefault(tensor, []).append(name)
    for op in step.computes:
        if step.phase(op) == "ps":
            for tensor in dict.fromkeys(tensor_of[name] for name in op.after if name in tensor_of):
                updates.setdefault(tensor, []).append(op.name)
    return {tensor: tuple(updates.get(tensor, names)) for tensor, names in pushes.items()}


def _last_computations(profile: Profile, early: set[str]) -> tuple[str, ...]:
    """Computations behind the loss that no other one waits for."""
    step = profile.step
    late = [op for op in step.computes if step.phase(op) == "worker" and op.name not in early]
    waited_for = {name for op in late for name in op.after}
    return tuple(op.name for op in late if op.name not in waited_for)


def _computes(op: Operation) -> bool:
    return isinstance(op, Compute)


def _refused(why: str) -> ScenarioError:
    return ScenarioError.at("training.overlap", True, why)
