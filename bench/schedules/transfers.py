"""Schedules of gradients: one setting simulated, as a row of figures beside its lower bound."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

import sim
from bench.common.transports import WHOLE_MESSAGES
from bench.schedules.scaled import compute_s, pushed_bytes, scaled
from netcosim.policies import load_schedule
from sim import Result
from topo.spec import GOODPUT_SHARE

SCHEDULES: Final = ("fifo", "p3", "bytescheduler", "prophet", "prophet_printed")
BLOCK_BYTES: Final = 8_000_000
"""ResNet-50's 102 MB in thirteen blocks, as many as figure 4 of the paper has steps."""
STEPS, WARMUP, RUNS = 60, 10, 4
_TRACED: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One point: a network on its links, with a schedule.

    Attributes
    ----------
    rate_bps : of each worker's link
    server_bps : of the server's port; 0: the same
    cost_ns : of sending a message
    options : of the schedule, where they are not its own
    slow_bps : of the first worker's link; 0: as the others
    """

    network: str
    schedule: str
    rate_bps: int
    server_bps: int = 0
    batch: int = 64
    workers: int = 1
    cost_ns: int = 0
    block_bytes: int = BLOCK_BYTES
    options: Mapping[str, int] = field(default_factory=dict)
    slow_bps: int = 0

    def scenario(self, profile: Path) -> dict[str, Any]:
        """The scenario, as its file would have it."""
        links = {f"w{w}": {"rate": f"{self.rate_bps}bit"} for w in range(self.workers)}
        if self.slow_bps:
            links["w0"] = {"rate": f"{self.slow_bps}bit"}
        training: dict[str, Any] = {
            "steps": STEPS,
            "warmup": WARMUP,
            "workers": [self.workers],
            "batch": self.batch,
            "recorded": 50,
            "synchronisation": "join",
            "join": "tensor",
            "overlap": True,
            "trace_steps": _TRACED,
        }
        if self.block_bytes:
            training["gradient_blocks"] = f"{self.block_bytes}B"
        if self.cost_ns:
            training["sent_messages"] = {"message": f"{self.cost_ns}ns"}
        return {
            "name": "schedules",
            "repetitions": RUNS,
            "cluster": {
                "topology": "star",
                "workers": self.workers,
                "link": {"rate": f"{self.server_bps or self.rate_bps}bit"},
                "links": links if self.server_bps or self.slow_bps else {},
            },
            "policy": {"schedule": self.schedule, "schedule_options": dict(self.options)},
            "training": training,
            "workload": [{"name": self.network, "profile": str(profile)}],
            "transport": [WHOLE_MESSAGES],
        }


def measure(setting: Setting, folder: Path) -> dict[str, Any]:
    """Simulate a setting; its row of figures. The folder has the scaled profiles."""
    profile = folder / f"{setting.network}.json"
    result = sim.simulate(setting.scenario(profile), trace=[setting.workers])
    (point,) = result.summary.series[0].points
    waits, transfers, slices = _gradients(result, setting)
    bound_s = least_step_s(setting)
    per_worker = point.examples_per_s.mean / setting.workers
    return {
        **asdict(setting),
        "compute_s": compute_s(scaled(setting.network), setting.batch),
        "bytes_over_rate_s": _moved_s(setting),
        "examples_per_s": point.examples_per_s.mean,
        "values": list(point.examples_per_s.values),
        "examples_per_s_a_worker": per_worker,
        "bound_examples_per_s_a_worker": setting.batch / bound_s,
        "of_bound": per_worker * bound_s / setting.batch,
        "link_use": max(use.utilisation for use in point.link_utilisation),
        "worker_use": point.worker_utilisation,
        "wait_ms": waits,
        "transfer_ms": transfers,
        "messages": slices,
    }


def _moved_s(setting: Setting) -> float:
    """Seconds that the gradients of all workers need on the busiest port."""
    size = 8 * pushed_bytes(scaled(setting.network))
    ports = [size * setting.workers / (setting.server_bps or setting.rate_bps)]
    ports.append(size / (setting.slow_bps or setting.rate_bps))
    return max(ports) / GOODPUT_SHARE


def least_step_s(setting: Setting) -> float:
    """Lower bound of a step's length, whatever the schedule.

    The larger of what the busiest port carries, and of the computations with the round that nothing
    can overlap with: the last gradient to be computed is the first to be needed, and of it at least
    one slice has to be pushed and pulled in between. Updates and costs are left out.
    """
    profile = scaled(setting.network)
    first = next(op for op in profile.step.transfers if op.source == "server")
    size = first.size_bytes
    options = {**load_schedule(setting.schedule).OPTIONS, **setting.options}
    cut = options.get("partition_bytes", 0)
    alone_bps = (setting.slow_bps or setting.rate_bps) * GOODPUT_SHARE
    around_s = 2 * 8 * (min(size, cut) if cut else size) / alone_bps
    return max(compute_s(profile, setting.batch) + around_s, _moved_s(setting))


def _gradients(result: Result, setting: Setting) -> tuple[float, float, int]:
    """Mean wait and transfer of a gradient of the first worker, ms; messages of a step.

    From when it is there a gradient waits until the first byte of it leaves, and is transferred
    until the last one has arrived (figure 11 of the paper). The first step is left out.
    """
    times_ns: dict[tuple[int, str], list[float]] = {}
    count = 0
    for row in result.operations.to_pylist():
        sends, goes_up = row["place"].endswith(" send"), row["place"].endswith(" up")
        if row["worker"] or not row["step"] or row["run"] or not (sends or goes_up):
            continue
        key = (row["step"], row["operation"].removesuffix("/send").partition("#")[0])
        seen = times_ns.setdefault(key, [np.inf, np.inf, 0.0])
        seen[0] = min(seen[0], row["ready_ns"])
        if goes_up:
            seen[1] = min(seen[1], row["start_ns"])
            seen[2] = max(seen[2], row["end_ns"])
            count += 1
    times = np.array(list(times_ns.values())) / 1e6
    waits, transfers = times[:, 1] - times[:, 0], times[:, 2] - times[:, 1]
    return float(waits.mean()), float(transfers.mean()), count // (_TRACED - 1)
