"""Effect of a round trip on bursts of real streams, on a kernel with netem, and as predicted.

`observe` runs there; it is called in private namespaces. `compare` runs wherever its answer comes.
"""

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from emu.calibration.links import guests_pace
from emu.capture import analyse_capture
from emu.endpoints.pairing import send_limit_bytes
from emu.isolation import isolate
from emu.measurement.round import run_round
from emu.measurement.trace_rows import (
    CapturedConnection,
    common_zero,
    find_burst,
    find_connection,
    measured_rows,
)
from emu.network import LiveNetwork, open_network
from emu.network.expected import expected_goodput_bps
from emu.plan import Plan, PlannedConnection, make_plan
from h2model.candidates import candidate_senders, followed, receiver_model, speaks_grpc
from h2model.connection import Connection, LinkModel, Schedule, StreamPlan
from h2model.protocol import GRPC_PREFIX_BYTES
from netcosim.job import Cell
from netcosim.scenario.toml import build_scenario
from netcosim.trace import StreamRow
from topo.paths import bottleneck_bps, path_between, round_trip_ns
from topo.spec import FRAME_BYTES, NetLink

Json = dict[str, Any]

ROUND_TRIPS_MS = (1, 5, 20)
LINKS: Json = {
    "s0": {"rate": "12mbit"},
    **{
        f"w{place}": {"rate": "4mbit", "delay": f"{500 * trip_ms}us"}
        for place, trip_ms in enumerate(ROUND_TRIPS_MS)
    },
}
# What 4 Mbit/s bring in 20 ms, 10 kB, is more than one window and less than another; no start of
# TCP is slow then, and an emulated processor keeps up.
TRANSPORTS: Json = {
    "h2-fifo-8K": {"sender": "h2", "receiver": "h2", "discipline": "fifo", "window": "8KiB"},
    "h2-visits-32K": {
        **{"sender": "h2", "receiver": "h2", "discipline": "two_visit", "window": "32KiB"},
        "credit": "rest_when_exhausted",
    },
    "grpc-default": {"sender": "grpc", "receiver": "grpc"},
    "grpc-64K": {"sender": "grpc", "receiver": "grpc", "window": "64KiB"},
}


def scenario(*transports: str) -> Json:
    """Three workers, each with a link and a round trip of its own, and some of the transports."""
    return {
        "name": "delays",
        "cluster": {
            **{"topology": "star", "workers": len(ROUND_TRIPS_MS), "links": LINKS},
            **{"link": LINKS["w0"], "tcp": {"send_buffer": "64KiB"}},
        },
        "workload": [
            {
                "name": "two",
                "tensors": [{"name": "a", "size": "120kB"}, {"name": "b", "size": "40kB"}],
            }
        ],
        "transport": [{"name": name, **TRANSPORTS[name]} for name in transports],
    }


SET = scenario(*TRANSPORTS)

_PACKETS_OF_A_GAP = 2.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """One burst of one connection as seen and as predicted: order, stalls, length."""

    transport: str
    round_trip_ns: int
    order: Sequence[str]
    predicted_order: Sequence[str]
    stalls: int
    predicted_stalls: int
    length_ns: int
    predicted_length_ns: int


def observe(scenario: Json, only: Sequence[Sequence[str]] | None = None) -> Json:
    """Every connection of a scenario alone, one after the other: one burst each.

    `only` names some of them, each by its transport and its worker.
    """
    plan = make_plan(build_scenario(scenario, "delays"))
    with open_network(plan.net, tcp=plan.scenario.cluster.tcp) as live:
        bursts = [
            {
                "cell": cell.name,
                "worker": planned.worker,
                "bucket_bytes": live.bucket_bytes(planned.worker),
                "streams": _burst(live, plan, cell, planned),
            }
            for cell in plan.cells
            for planned in plan.connections(cell)
            if only is None or [cell.transport.name, planned.worker] in only
        ]
    return {"kernel": os.uname().release, "bursts": bursts}


def compare(scenario: Json, answer: Json) -> list[Compared]:
    """Each burst beside what the model of its discipline says of it, from the configuration."""
    plan = make_plan(build_scenario(scenario, "delays"))
    cells = {cell.name: cell for cell in plan.cells}
    found = []
    for each in answer["bursts"]:
        cell, streams = cells[each["cell"]], each["streams"]
        path = path_between(plan.net, plan.net.servers[0].name, each["worker"])
        schedule = _predicted(plan, cell, streams, path, each["bucket_bytes"])
        names = {s["stream"]: s["tensor"] for s in streams}
        found.append(
            Compared(
                transport=cell.transport.name,
                round_trip_ns=round_trip_ns(path),
                order=_order(streams),
                predicted_order=[
                    name for name, _ in itertools.groupby(names[s] for s in schedule.order)
                ],
                stalls=len({tuple(gap) for s in streams for gap in s["stalls"]}),
                predicted_stalls=sum(b - a >= gap_ns(path) for a, b in schedule.stalls),
                length_ns=max(s["end_ns"] for s in streams),
                predicted_length_ns=max(schedule.end_ns.values()),
            )
        )
    return found


def gap_ns(path: Sequence[NetLink]) -> int:
    """Idle times of a link from here on count: well above a packet's own time."""
    return round(_PACKETS_OF_A_GAP * FRAME_BYTES * 8e9 / bottleneck_bps(tuple(path)))


def _burst(live: LiveNetwork, plan: Plan, cell: Cell, planned: PlannedConnection) -> list[Json]:
    done = run_round(
        live,
        cell,
        [planned],
        plan.scenario.cluster.tcp,
        isolate.scratch_dir(),
        bursts=[0],
        expected_s=plan.burst_seconds(cell),
        on_burst=lambda _: None,
    )
    if done.failure is not None:
        raise done.failure
    capture = done.captures[planned.destination]
    path = path_between(plan.net, planned.source, planned.destination)
    report = find_connection(analyse_capture(capture, gap_ns=gap_ns(path)), planned.port)
    capture.unlink()
    seen = find_burst(CapturedConnection(planned=planned, logs=done.logs[0], report=report), 0)
    return [_as_json(row) for row in measured_rows(cell, seen, common_zero([seen]), valid=True)]


def _as_json(row: StreamRow) -> Json:
    return {
        "stream": row.stream,
        "tensor": row.tensor,
        "size_bytes": row.size_bytes,
        "ready_ns": row.ready_ns,
        "end_ns": row.wire_end_ns,
        "services": [[s.start_ns, s.end_ns, s.position] for s in row.services],
        "stalls": [[s.start_ns, s.end_ns] for s in row.stalls],
    }


def _order(streams: Sequence[Json]) -> list[str]:
    served = sorted((s[2], stream["tensor"]) for stream in streams for s in stream["services"])
    return [name for name, _ in itertools.groupby(name for _, name in served)]


def _predicted(
    plan: Plan, cell: Cell, streams: Sequence[Json], path: Sequence[NetLink], bucket_bytes: int
) -> Schedule:
    transport, tcp, pace = cell.transport, plan.scenario.cluster.tcp, guests_pace(plan.net)
    one_way_ns = round_trip_ns(tuple(path)) // 2
    assert tcp.send_buffer is not None
    limit = send_limit_bytes(transport, tcp) if transport.sender == "h2" else None
    link = LinkModel(
        rate_bps=expected_goodput_bps(bottleneck_bps(tuple(path))),
        delay_ns=one_way_ns,
        credit_latency_ns=one_way_ns + pace.handling_ns,
        past_bytes=limit or tcp.send_buffer,
        send_memory_bytes=0 if limit else tcp.send_buffer,
        bucket_bytes=bucket_bytes,
        segment_bytes=pace.segment_bytes,
        poll_ns=pace.poll_ns,
        flight_segments=pace.flight_segments,
    )
    name = followed(transport)
    assert name is not None
    sender = candidate_senders(transport)[name]
    prefix = GRPC_PREFIX_BYTES if speaks_grpc(transport) else 0
    return Connection(sender, receiver_model(transport, cell.window_bytes), link).burst(
        [
            StreamPlan(
                stream=s["stream"],
                size_bytes=s["size_bytes"] + prefix,
                ready_ns=max(0, s["ready_ns"]),
            )
            for s in streams
        ]
    )
