"""A profile scaled to other sizes and durations, with the proportions that it has."""

from fractions import Fraction

from netcosim.errors import ScenarioError
from netcosim.tensors import scale_sizes
from netcosim.units import format_duration
from netcosim.workload.model import Operation, Profile, Transfer


class UnscalableError(ScenarioError):
    """A profile that can't be scaled as asked for; names the field, its value, what is allowed."""


def scaled(profile: Profile, total_bytes: int | None, computation_ns: int | None) -> Profile:
    """Scale a profile's messages and its computations.

    Parameters
    ----------
    profile : one that the linter finds no error in
    total_bytes : what a step's pulls come to; pushes are scaled alike. None: as recorded
    computation_ns : what a step's computations at the worker come to, one after the other, in the
        mean of the recorded steps; those of servers are scaled alike. None: as recorded

    Raises
    ------
    UnscalableError
        There are more messages than bytes; the profile computes nothing at the worker.
    """
    if total_bytes is not None:
        profile = _with_total(profile, total_bytes)
    if computation_ns is not None:
        profile = _with_computation(profile, computation_ns)
    return profile


def _with_total(profile: Profile, total_bytes: int) -> Profile:
    pulls = [op for op in profile.step.transfers if op.source == "server"]
    before = [op.size_bytes for op in pulls]
    try:
        after = scale_sizes(before, total_bytes)
    except ScenarioError as problem:
        raise UnscalableError(str(problem)) from None
    factor = Fraction(total_bytes, sum(before))
    known = {
        (op.tensor, op.slice, op.size_bytes): size for op, size in zip(pulls, after, strict=True)
    }

    def resized(op: Operation) -> Operation:
        if not isinstance(op, Transfer):
            return op
        size = known.get((op.tensor, op.slice, op.size_bytes))
        if size is None:
            size = max(1, round(op.size_bytes * factor))
        return op.model_copy(update={"size_bytes": size})

    operations = tuple(map(resized, profile.step.operations))
    step = profile.step.model_copy(update={"operations": operations})
    return profile.model_copy(update={"step": step})


def _with_computation(profile: Profile, computation_ns: int) -> Profile:
    nodes = {resource.name: resource.node for resource in profile.step.resources}
    at_worker = [nodes[op.resource] == "worker" for op in profile.step.computes]
    recorded = sum(
        duration
        for row in profile.duration_ns
        for duration, own in zip(row, at_worker, strict=True)
        if own
    )
    if recorded == 0:
        allowed = "has no effect, as the profile's worker computes nothing"
        raise UnscalableError.at("computation", format_duration(computation_ns), allowed)
    factor = Fraction(computation_ns * len(profile.duration_ns), recorded)
    durations = tuple(tuple(round(d * factor) for d in row) for row in profile.duration_ns)
    return profile.model_copy(update={"duration_ns": durations})
