"""Orders of release on real networks: one point simulated, as a row of figures.

Pulls are listed at random (`shuffle`): profiles list them layer by layer, which is TIC's order.
Rates are such that receiving takes as long as the forward pass of the recorded batch (D = F).
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

import sim
from bench.common.transports import WHOLE_MESSAGES
from netcosim.training.prepare.graph import graph_of_names
from netcosim.workload import Jitter, Operation, Profile, dump_profile
from netcosim.workload.catalogue import load_profile
from topo.spec import GOODPUT_SHARE

Kind = Literal["forward", "training"]

NETWORKS: Final = ("alexnet", "googlenet", "inception_v3", "resnet50", "vgg11")
ORDERS: Final = ("tic", "tac", "tac_printed", "reverse", "as_listed", "random")
SHUFFLES: Final = 20
FEWER: Final = 4
"""Shuffles where the batch or the number of servers is another."""
STEPS, WARMUP = 30, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One order on one network.

    Attributes
    ----------
    kind : pulls and the forward pass, as in inference; or the whole step
    batch_share : examples of a step over those of the profile
    workers : with more than one they go in rounds, each with a port of its own
    jitter : whether durations vary from step to step, as the profile says
    """

    network: str
    order: str
    kind: Kind = "forward"
    shuffle: int = 0
    batch_share: float = 1.0
    servers: int = 1
    workers: int = 1
    jitter: bool = True

    @property
    def file_name(self) -> str:
        """Of its profile."""
        return f"{self.network}-{self.kind}-{self.shuffle}{'' if self.jitter else '-still'}.json"


def points() -> Iterator[Point]:
    """All points, those whose batch or servers are others with fewer shuffles."""
    for network in NETWORKS:
        kinds: tuple[Kind, ...] = ("forward", "training")
        for kind in kinds:
            for order in ORDERS:
                base = Point(network=network, order=order, kind=kind)
                yield from (replace(base, shuffle=k) for k in range(SHUFFLES))
                for k in range(FEWER):
                    each = replace(base, shuffle=k)
                    yield from (replace(each, batch_share=share) for share in (0.5, 2.0))
                    yield from (replace(each, servers=servers) for servers in (2, 3, 4))
                    if kind == "training":
                        yield replace(each, workers=4)
                        yield replace(each, workers=4, jitter=False)


def write_profiles(folder: Path) -> None:
    """Write the profiles of all points into a folder."""
    for network in NETWORKS:
        whole = load_profile(network)
        for kind, profile in (("forward", forward_part(whole)), ("training", whole)):
            for k in range(SHUFFLES):
                listed = shuffled(profile, k)
                still = listed.model_copy(update={"jitter": Jitter(model="deterministic")})
                for each, ending in ((listed, ""), (still, "-still")):
                    path = folder / f"{network}-{kind}-{k}{ending}.json"
                    path.write_text(dump_profile(each), encoding="utf-8")


def forward_part(profile: Profile) -> Profile:
    """The step up to its loss: pulls, and what is computed before anything is sent."""
    step = profile.step
    graph = graph_of_names({op.name: tuple(dict.fromkeys(op.after)) for op in step.operations})
    last = next(i for i, op in enumerate(step.operations) if op.name == "loss")
    kept, pending = set[int](), [last]
    while pending:
        op = pending.pop()
        if op not in kept:
            kept.add(op)
            pending += graph.predecessors[op]
    names = {step.operations[i].name for i in kept}
    columns = [i for i, op in enumerate(step.computes) if op.name in names]
    operations = tuple(op for op in step.operations if op.name in names)
    return profile.model_copy(
        update={
            "step": step.model_copy(update={"operations": operations}),
            "duration_ns": tuple(tuple(row[i] for i in columns) for row in profile.duration_ns),
        }
    )


def shuffled(profile: Profile, seed: int) -> Profile:
    """The profile with its pulls listed in a random order, the same for every part of a network."""
    is_pull = [op.kind == "transfer" and op.source == "server" for op in profile.step.operations]
    pulls = [op for op, pull in zip(profile.step.operations, is_pull, strict=True) if pull]
    others = [op for op, pull in zip(profile.step.operations, is_pull, strict=True) if not pull]
    order = np.random.default_rng(seed).permutation(len(pulls))
    operations: tuple[Operation, ...] = (*(pulls[i] for i in order), *others)
    step = profile.step.model_copy(update={"operations": operations})
    return profile.model_copy(update={"step": step})


def forward_s(network: str) -> float:
    """Seconds of the recorded forward pass, F."""
    return float(np.sum(forward_part(load_profile(network)).duration_ns)) / 1e9


def pulled_bytes(network: str) -> int:
    """Bytes of all parameters."""
    step = load_profile(network).step
    return sum(op.size_bytes for op in step.transfers if op.source == "server")


def rate_bps(network: str) -> int:
    """Rate at which D = F at the recorded batch."""
    return round(8 * pulled_bytes(network) / forward_s(network) / GOODPUT_SHARE)


def measure_order(point: Point, folder: Path) -> dict[str, Any]:
    """Simulate a point; its row of figures. The folder has the profiles."""
    rate = rate_bps(point.network)
    batch = max(1, round(load_profile(point.network).batch * point.batch_share))
    scenario: dict[str, Any] = {
        "name": "orders",
        "repetitions": 1,
        "seed": 1 + point.shuffle,
        "cluster": {
            "topology": "star",
            "servers": point.servers,
            "workers": point.workers,
            "link": {"rate": f"{rate * (100 if point.workers > 1 else 1)}bit"},
            "links": {f"w{w}": {"rate": f"{rate}bit"} for w in range(point.workers)}
            if point.workers > 1
            else {},
        },
        "policy": {"order": point.order},
        "training": {
            "steps": STEPS,
            "warmup": WARMUP,
            "workers": [point.workers],
            "batch": batch,
            "recorded": 20,
            "trace_steps": 10,
            "synchronisation": "bsp" if point.workers > 1 else "asp",
        },
        "workload": [{"name": point.network, "profile": str(folder / point.file_name)}],
        "transport": [WHOLE_MESSAGES],
    }
    traced = point.shuffle == 0 and point.workers == 1
    result = sim.simulate(scenario, trace=[1] if traced else [])
    (found,) = result.summary.series[0].points
    steps = [row for row in result.steps.to_pylist() if row["step"] >= WARMUP]
    bounds = found.step_bounds
    return {
        **asdict(point),
        "rate_bps": rate,
        "bytes_over_rate_s": 8 * pulled_bytes(point.network) / rate / GOODPUT_SHARE,
        "forward_s": forward_s(point.network),
        "efficiency": None if bounds is None else bounds.efficiency,
        "speed_up": None if bounds is None else bounds.speed_up,
        "step_ms": [(row["end_ns"] - row["start_ns"]) / 1e6 for row in steps if row["worker"] == 0],
        "straggler_share": None
        if found.straggler_ns is None
        else found.straggler_ns / found.step_ns.mean,
        "unique_orders": unique_orders(result) if traced else None,
    }


def unique_orders(result: sim.Result) -> int:
    """Number of different orders in which the traced steps' pulls began."""
    orders: dict[int, list[tuple[int, str]]] = {}
    for row in result.operations.to_pylist():
        if row["place"].endswith(" down"):
            orders.setdefault(row["step"], []).append((row["start_ns"], row["operation"]))
    return len({json.dumps([name for _, name in sorted(each)]) for each in orders.values()})
