"""The best order of a step's receives for one worker alone, by branch and bound."""

import math
from dataclasses import dataclass
from typing import Final

from netcosim.policies.makespan import makespan_ns
from netcosim.step_graph import (
    StepGraph,
    pulled_tensors,
    successors,
    topological_order,
)

MOST_RECEIVES: Final = 8
"""Tensors that are pulled, at most: their orders are tried."""


def best_order(step: StepGraph) -> list[int]:
    """One of the orders of the tensors that are pulled with the least `makespan_ns`.

    Raises
    ------
    ValueError
        More than `MOST_RECEIVES` tensors are pulled, or `makespan_ns` can't be told.
    """
    tensors = pulled_tensors(step)
    if len(tensors) > MOST_RECEIVES:
        raise ValueError(f"{len(tensors)} tensors are pulled; must be <= {MOST_RECEIVES}")
    search = _Search(_Bounds.of(step), step, tensors, makespan_ns(step, tensors))
    search.go_on([], tensors)
    return search.best


@dataclass(slots=True)
class _Search:
    """Depth first, the most promising receive first; a branch that can't be better is left out."""

    bounds: "_Bounds"
    step: StepGraph
    best: list[int]
    least_ns: float

    def go_on(self, chosen: list[int], left: list[int]) -> None:
        """Try every order that begins with what is chosen."""
        if not left:
            found_ns = makespan_ns(self.step, chosen)
            if found_ns < self.least_ns:
                self.best, self.least_ns = chosen, found_ns
            return
        branches = sorted((self.bounds.of_prefix([*chosen, t]), t) for t in left)
        for bound_ns, tensor in branches:
            if bound_ns < self.least_ns * (1 - _ROUNDING):
                self.go_on([*chosen, tensor], [t for t in left if t != tensor])


_ROUNDING: Final = 1e-12
"""A bound that is as much below the best order is taken to be equal to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    """Lower bounds of all orders that begin alike.

    Attributes
    ----------
    step : of the worker
    slices : by tensor, its pulls
    waited : (operations,) pulls that each waits for, directly or not
    order : operations, each behind those that it waits for
    tail_ns : (operations,) the longest path behind each
    lines : (places, operations) of each processor and of the pushes: how many run at a time, which
    """

    step: StepGraph
    slices: dict[int, list[int]]
    waited: list[list[int]]
    order: list[int]
    tail_ns: list[float]
    lines: list[tuple[int, list[int]]]

    @classmethod
    def of(cls, step: StepGraph) -> "_Bounds":
        """Bounds of a step."""
        slices: dict[int, list[int]] = {tensor: [] for tensor in pulled_tensors(step)}
        lines: list[tuple[int, list[int]]] = [(places, []) for places in step.capacity]
        pushes: list[int] = []
        for op, kind in enumerate(step.kind):
            if kind == "pull":
                slices[step.tensor[op]].append(op)
            else:
                (pushes if kind == "push" else lines[step.processor[op]][1]).append(op)
        order, waited = topological_order(step), [set[int]() for _ in step.kind]
        for op in order:
            for before in step.predecessors[op]:
                waited[op] |= {before} if step.kind[before] == "pull" else waited[before]
        tail_ns, behind = [0.0] * len(step), successors(step)
        for op in reversed(order):
            tail_ns[op] = max((step.duration_ns[i] + tail_ns[i] for i in behind[op]), default=0.0)
        return cls(
            step=step,
            slices=slices,
            waited=[sorted(pulls) for pulls in waited],
            order=[op for op in order if step.kind[op] != "pull"],
            tail_ns=tail_ns,
            lines=[line for line in [*lines, (1, pushes)] if line[1]],
        )

    def of_prefix(self, chosen: list[int]) -> float:
        """No order that begins so has a smaller makespan.

        An operation can't begin before all that it waits for has ended, of receives in the known
        part of the order at the time known, of others at the earliest one after the other behind
        it. Of those of one processor that begin at a time or later, the last one ends no sooner
        than all their work takes from there; and behind it comes the shortest of their tails.
        """
        duration_ns, ended_ns = self.step.duration_ns, self._received(chosen)
        known_ns = max(ended_ns.values(), default=0.0)
        begin_ns = [0.0] * len(self.step)
        bound_ns = sum(duration_ns[pull] for pulls in self.slices.values() for pull in pulls)
        for op in self.order:
            missing = [duration_ns[pull] for pull in self.waited[op] if pull not in ended_ns]
            if missing:
                begin_ns[op] = known_ns + sum(missing)
            else:
                begin_ns[op] = max((ended_ns[pull] for pull in self.waited[op]), default=0.0)
            for before in self.step.predecessors[op]:
                if self.step.kind[before] != "pull":
                    begin_ns[op] = max(begin_ns[op], begin_ns[before] + duration_ns[before])
            bound_ns = max(bound_ns, begin_ns[op] + duration_ns[op] + self.tail_ns[op])
        for places, operations in self.lines:
            work_ns, tail_ns = 0.0, math.inf
            for op in sorted(operations, key=begin_ns.__getitem__, reverse=True):
                work_ns += duration_ns[op]
                tail_ns = min(tail_ns, self.tail_ns[op])
                bound_ns = max(bound_ns, begin_ns[op] + work_ns / places + tail_ns)
        return bound_ns

    def _received(self, chosen: list[int]) -> dict[int, float]:
        """By pull of an order's known part, when it ends."""
        found, now_ns = {}, 0.0
        for tensor in chosen:
            for pull in self.slices[tensor]:
                now_ns += self.step.duration_ns[pull]
                found[pull] = now_ns
        return found
