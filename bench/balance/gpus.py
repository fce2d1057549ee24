"""Four unequal GPUs under LB-BSP: the equilibrium of Chen et al., Fig. 8; a port that falls."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from bench.balance.jobs import BATCH, job, run
from bench.common.record import Figure, at_most
from netcosim.policies.coordination.lb_bsp_gpu import LoadBalancedGpu
from netcosim.training.batch_curve import BatchCurve
from sim.coordination.coordinated import CoordinatedRun
from sim.engine.engine import Engine
from sim.fast.engine import FastEngine
from sim.kernels.arrays import Ints

PUBLISHED: Final = (89, 21, 12, 6)
EXAMPLE_MS: Final = (8.8, 40.0, 60.0, 77.0)
"""Of each GPU beyond what fills it: 57 cost the first half a second, 26 save the last 2 s."""
EQUAL_MS: Final = 1200.0
STEPS, FALL, STEADY = 300, 150, 60
PUBLISHED_PART: Final = 0.25
PARTS: Final = (PUBLISHED_PART, 0.15)
"""Parts of its 10 Gbit/s to which the M60's port falls: the published one, and a smaller one."""
SERVERS: Final = 4
"""As many ports as workers have: of one server's, each of four has a quarter anyway."""
M60: Final = 1
"""The paper does not say which of the four is the M60; this is the second fastest."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Balanced:
    """A run: batches by worker and step, the times of steps, and the coordinator."""

    batches: Ints
    took_s: Mapping[tuple[int, int], float]
    coordinator: LoadBalancedGpu

    def times_s(self, step: int) -> list[float]:
        """Time of each worker's step."""
        return [self.took_s[worker, step] for worker in range(4)]

    def steady(self, end: int) -> tuple[list[float], list[float]]:
        """Means over the `STEADY` steps before `end`: batch, and time in s, of each worker."""
        steps = range(end - STEADY, end)
        times = np.mean([self.times_s(step) for step in steps], axis=0)
        return self.batches[:, steps].mean(axis=1).tolist(), times.tolist()


def curve(worker: int) -> BatchCurve:
    """Time by batch, ms: flat up to what fills it, the others' at its published batch."""
    batch, each = PUBLISHED[worker], EXAMPLE_MS[worker]
    full = 8 if batch > BATCH else 2
    least, most = EQUAL_MS - each * (batch - full), EQUAL_MS + each * (200 - batch)
    return BatchCurve((0.0, float(full), 200.0), (least, least, most))


def gpu_figures(rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    """Batches by step, and what they come to."""
    for part in PARTS:
        balanced = _run(part)
        for step in range(0, STEPS - 1, 10):
            batches, times = balanced.batches[:, step].tolist(), balanced.times_s(step)
            row = {"part": "gpus", "port": part, "step": step + 1, "batches": batches, "s": times}
            rows.append(row)
        if part == PUBLISHED_PART:
            yield from _first_equilibrium(balanced)
        yield from _second_equilibrium(balanced, f"port at {part:.0%}")


def _run(part: float) -> Balanced:
    curves = [curve(worker) for worker in range(4)]
    base = curves[0].of(BATCH)
    coordination = {
        "kind": "lb_bsp_gpu",
        "curve": [
            {"workers": [w], "points": [list(p) for p in zip(c.batches, c.time_ns, strict=True)]}
            for w, c in enumerate(curves)
        ],
    }
    stragglers: list[Json] = [
        {"kind": "slow", "workers": [w], "options": {"factor": c.of(BATCH) / base}}
        for w, c in enumerate(curves)
        if w
    ]
    stragglers.append(
        {"kind": "jitter", "workers": "all", "options": {"model": "lognormal", "spread": 0.003}}
    )
    # A path of any length needs the engine that can change a port, and the share that looks at it.
    stragglers.append({"kind": "delay", "workers": "all", "options": {"delay": "10us"}})
    data = job(
        coordination,
        workers=4,
        servers=SERVERS,
        steps=STEPS,
        computation_ms=base,
        stragglers=stragglers,
    )
    data["training"]["share"] = "max_min"
    ended: dict[int, int] = {}

    def watch(engine: Engine | FastEngine, run: CoordinatedRun, worker: int, step: int) -> None:
        ended[step] = ended.get(step, 0) + 1
        if step == FALL - 1 and ended[step] == 4:
            assert isinstance(engine, Engine)
            engine.scale_worker_port(M60, part)

    engine, coordinated = run(data, watch)
    steps = engine.steps()
    took_s = {
        (w, s): (b - a) / 1e9
        for w, s, a, b in zip(steps.worker, steps.step, steps.start_ns, steps.end_ns, strict=True)
    }
    assert isinstance(coordinated.coordinator, LoadBalancedGpu)
    return Balanced(coordinated.batches, took_s, coordinated.coordinator)


def _first_equilibrium(balanced: Balanced) -> Iterator[Figure]:
    at = balanced.batches[:, 59]
    off = int(np.abs(at - PUBLISHED).max())
    text = " ".join(map(str, at))
    yield at_most(
        "gpus: batches of step 60 off (89, 21, 12, 6)",
        off,
        "examples",
        2,
        f"{text}; Chen et al., Fig. 8",
    )
    since = balanced.coordinator.fine_since or 0
    yield Figure(
        name="gpus: fine phase from step", value=since, unit="", note="30 in Chen et al., Fig. 8"
    )


def _second_equilibrium(balanced: Balanced, what: str) -> Iterator[Figure]:
    """The M60's lot, and how unequal times are, before its port falls, behind, and at the end."""
    before, before_s = balanced.steady(FALL)
    behind_s = balanced.times_s(FALL + 1)
    after, after_s = balanced.steady(STEPS - 1)
    yield Figure(
        name=f"gpus, {what}: the M60's batch, mean of {STEADY} steps, over that before",
        value=after[M60] / before[M60],
        unit="",
        note=f"{_numbers(before, 1)}, then {_numbers(after, 1)}",
    )
    for when, times in (("before", before_s), ("just behind", behind_s), ("at the end", after_s)):
        yield Figure(
            name=f"gpus, {what}: slowest over fastest worker, {when}",
            value=max(times) / min(times),
            unit="",
            note=f"{_numbers(times, 3)} s",
        )


def _numbers(values: list[float], digits: int) -> str:
    return " ".join(f"{value:.{digits}f}" for value in values)
