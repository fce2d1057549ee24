"""Four unequal GPUs under LB-BSP: the equilibrium of 003, Fig. 8, and one port that falls."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from bench.balance.jobs import BATCH, job, run
from bench.common.record import Figure, at_most
from netcosim.policies.coordination.lb_bsp_gpu import LoadBalancedGpu
from netcosim.training.batch_curve import BatchCurve
from sim.coordination.coordinated import CoordinatedRun
from sim.engine.engine import Engine
from sim.fast.engine import FastEngine

PUBLISHED: Final = (89, 21, 12, 6)
EXAMPLE_MS: Final = (8.8, 40.0, 60.0, 77.0)
"""Of each GPU beyond what fills it: 57 cost the first half a second, 26 save the last 2 s."""
EQUAL_MS: Final = 1200.0
STEPS, FALL, PART = 300, 150, 0.25
M60: Final = 1
"""The paper does not say which of the four is the M60; this is the second fastest."""

Json = dict[str, Any]


def curve(worker: int) -> BatchCurve:
    """Time by batch, ms: flat up to what fills it, the others' at its published batch."""
    batch, each = PUBLISHED[worker], EXAMPLE_MS[worker]
    full = 8 if batch > BATCH else 2
    least, most = EQUAL_MS - each * (batch - full), EQUAL_MS + each * (200 - batch)
    return BatchCurve((0.0, float(full), 200.0), (least, least, most))


def gpu_figures(rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    """Batches by step, and what they come to."""
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
    data = job(coordination, workers=4, steps=STEPS, computation_ms=base, stragglers=stragglers)
    data["training"]["share"] = "max_min"
    ended: dict[int, int] = {}

    def watch(engine: Engine | FastEngine, run: CoordinatedRun, worker: int, step: int) -> None:
        ended[step] = ended.get(step, 0) + 1
        if step == FALL - 1 and ended[step] == 4:
            assert isinstance(engine, Engine)
            engine.scale_worker_port(M60, PART)

    engine, coordinated = run(data, watch)
    batches, steps = coordinated.batches, engine.steps()
    took = {
        (w, s): b - a
        for w, s, a, b in zip(steps.worker, steps.step, steps.start_ns, steps.end_ns, strict=True)
    }
    for step in range(0, STEPS - 1, 10):
        times = [took[w, step] / 1e9 for w in range(4) if (w, step) in took]
        rows.append(
            {"part": "gpus", "step": step + 1, "batches": batches[:, step].tolist(), "s": times}
        )
    at = batches[:, 59]
    off = int(np.abs(at - PUBLISHED).max())
    text = " ".join(map(str, at))
    yield at_most(
        "gpus: batches of step 60 off (89, 21, 12, 6)", off, "examples", 2, f"{text}; 003, Fig. 8"
    )
    assert isinstance(coordinated.coordinator, LoadBalancedGpu)
    since = coordinated.coordinator.fine_since or 0
    yield Figure(name="gpus: fine phase from step", value=since, unit="", note="30 in 003, Fig. 8")
    places = (
        ("before its port falls", FALL - 1),
        ("just behind", FALL + 2),
        ("at the end", STEPS - 2),
    )
    for name, step in places:
        times = [took[w, step] / 1e9 for w in range(4)]
        text = " ".join(map(str, batches[:, step]))
        yield Figure(
            name=f"gpus: slowest over fastest step, {name}",
            value=max(times) / min(times),
            unit="",
            note=f"batches {text}, {min(times):.3f} to {max(times):.3f} s",
        )
