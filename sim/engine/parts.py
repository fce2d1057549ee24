"""Tables and state of steps in which each node goes on by its own state (`sim.kernels.parts`)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from netcosim.training.executor.joined import is_joined
from netcosim.training.executor.part import server_part, worker_part
from netcosim.training.plan import SERVER, UP, StepPlan
from sim.engine.control import Control
from sim.kernels.arrays import NONE, Ints, K, Step, W


def part_tables(plan: StepPlan, calls: int) -> dict[str, Ints]:
    """Node of each operation, and what each node's part of a step has; no part has the calls.

    Parameters
    ----------
    calls : how many of the operations, the last ones
    """
    channels, parts = len(plan.channels), 1 + plan.servers
    part_of = np.full(plan.operations, NONE, dtype=np.int64)
    size, waiting = np.zeros(parts, dtype=np.int64), [list[int]() for _ in range(parts)]
    processor_part = np.array(
        [1 + p.server if p.node == SERVER else 0 for p in plan.processors], dtype=np.int64
    )
    for op, place in enumerate(plan.place[: plan.operations - calls].tolist()):
        if place < channels:
            part_of[op] = 1 + plan.channels[place].server
            size[0] += 1
        else:
            part_of[op] = processor_part[place - channels]
        size[part_of[op]] += not is_joined(plan, op)
        if plan.waits[op]:
            # A message waits at its sender: what is pushed at the worker.
            pushed = place < channels and plan.channels[place].direction == UP
            waiting[0 if pushed else int(part_of[op])].append(op)
    return {
        "part_of": part_of,
        "part_size": size,
        "reset_op": np.array([op for ops in waiting for op in ops], dtype=np.int64),
        "reset_start": np.cumsum([0, *map(len, waiting)]).astype(np.int64),
        "processor_part": processor_part,
    }


def part_state(step: Step) -> dict[str, Any]:
    """Nothing was requested, no part of any step has begun."""
    workers, parts = int(step.sizes[W]), 1 + int(step.sizes[K])
    names = ("part_step", "part_left", "part_rec")
    state: dict[str, Any] = {name: np.zeros((workers, parts), dtype=np.int64) for name in names}
    return state | {
        "asked": np.zeros(workers, dtype=np.int64),
        "asked_ns": np.zeros(workers),
        "joined": np.zeros((parts, 4), dtype=np.int64),
        "part_version": np.full((workers, parts), NONE, dtype=np.int64),
    }


def check_parts(plan: StepPlan, control: Control, absent: Sequence[int]) -> None:
    """Refuse what nodes that go on by their own state can't do here.

    Raises
    ------
    ScenarioError
        An operation waits for one at another node without a transfer between them.
    ValueError
        Gradients that are joined by tensor, updates that others wait for, stops at steps, workers
        that are absent.
    """
    worker_part(plan)
    for server in range(plan.servers):
        server_part(plan, server)
    once = [op for op in range(plan.operations) if is_joined(plan, op)]
    by_tensor = bool(once) and (control.join is None or control.join.by != "step")
    waited_for = any(plan.after_start[op] < plan.after_start[op + 1] for op in once)
    stops = control.stop_at_steps or control.stop_at_last
    if by_tensor or waited_for or stops or absent:
        allowed = "joins by step without overlap; no stops at steps or absent workers"
        raise ValueError(f"in_parts: {allowed}")
