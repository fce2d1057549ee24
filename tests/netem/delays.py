"""What a round trip does to bursts of real streams, seen on a kernel with netem, and as predicted.

`observe` runs there; it is called in private namespaces. `compare` runs wherever its answer comes.
"""

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emu import isolate
from emu.calibration import HANDLING_NS
from emu.capture import analyse_capture
from emu.endpoints.pairing import send_limit_bytes
from emu.live_round import port_of, run_round
from emu.measured import Carried, common_zero, find_connection, measured_rows, see_burst
from emu.network import LiveNetwork, open_network
from emu.network.measure import steady_goodput_bps
from emu.network.probing import asking, serving
from emu.plan import Plan, PlannedConnection, make_plan
from h2model.candidates import (
    GRPC_PREFIX_BYTES,
    candidate_senders,
    followed,
    receiver_model,
    speaks_grpc,
)
from h2model.connection import Connection, LinkModel, Schedule, StreamPlan
from netcosim.job import Cell
from netcosim.scenario.toml import build_scenario
from netcosim.trace import StreamRow
from topo.paths import path_between, round_trip_ns

Json = dict[str, Any]

ROUND_TRIPS_MS = (1, 5, 20)
LINKS: Json = {
    "s0": {"rate": "60mbit"},
    **{
        f"w{place}": {"rate": "20mbit", "delay": f"{500 * trip_ms}us"}
        for place, trip_ms in enumerate(ROUND_TRIPS_MS)
    },
}
# 20 Mbit/s bring 50 kB in 20 ms, 12.5 kB in 5 ms and 2.5 kB in 1 ms.
TRANSPORTS: Json = {
    "h2-fifo-32K": {"sender": "h2", "receiver": "h2", "discipline": "fifo", "window": "32KiB"},
    "h2-visits-256K": {
        **{"sender": "h2", "receiver": "h2", "discipline": "two_visit", "window": "256KiB"},
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
            # Holds what is on the wire, and as much again: a configured bound, as all predict with.
            **{"link": LINKS["w0"], "tcp": {"send_buffer": "160KiB"}},
        },
        "workload": [
            {
                "name": "two",
                "tensors": [{"name": "a", "size": "600kB"}, {"name": "b", "size": "400kB"}],
            }
        ],
        "transport": [{"name": name, **TRANSPORTS[name]} for name in transports],
    }


SET = scenario(*TRANSPORTS)

BURSTS = 2
"""The first leaves TCP's window open; it is not compared."""

_ROUND_TRIPS_S = 0.5
_DOWNLOAD_S = 1.0


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


def observe(scenario: Json) -> Json:
    """Every connection of a scenario alone, one after the other: its path, then its bursts."""
    plan = make_plan(build_scenario(scenario, "delays"))
    with open_network(plan.net, tcp=plan.scenario.cluster.tcp) as live:
        server = plan.net.servers[0].name
        with serving(live, [server]):
            paths = {w.name: _path(live, server, w.name) for w in plan.net.workers}
        bursts = [
            {
                "cell": cell.name,
                "worker": planned.worker,
                "streams": _bursts(live, plan, cell, planned),
            }
            for cell in plan.cells
            for planned in plan.connections(cell)
        ]
        slowest = {link.name: live.bucket_bytes(link.name) for link in plan.net.links}
    return {
        "kernel": os.uname().release,
        "paths": paths,
        "bucket_bytes": min(slowest.values()),
        "bursts": bursts,
    }


def compare(scenario: Json, answer: Json) -> list[Compared]:
    """Each connection's last burst beside what the model of its discipline says of it."""
    plan = make_plan(build_scenario(scenario, "delays"))
    cells = {cell.name: cell for cell in plan.cells}
    found = []
    for each in answer["bursts"]:
        cell, worker = cells[each["cell"]], each["worker"]
        path = path_between(plan.net, plan.net.servers[0].name, worker)
        streams = each["streams"]
        schedule = _predicted(plan, cell, streams, answer["paths"][worker], answer["bucket_bytes"])
        names = {s["stream"]: s["tensor"] for s in streams[-1]}
        found.append(
            Compared(
                transport=cell.transport.name,
                round_trip_ns=round_trip_ns(path),
                order=_order(streams[-1]),
                predicted_order=[
                    name for name, _ in itertools.groupby(names[s] for s in schedule.order)
                ],
                stalls=len({tuple(gap) for s in streams[-1] for gap in s["stalls"]}),
                predicted_stalls=len(schedule.stalls),
                length_ns=max(s["end_ns"] for s in streams[-1]),
                predicted_length_ns=max(schedule.end_ns.values()),
            )
        )
    return found


def _path(live: LiveNetwork, server: str, worker: str) -> Json:
    """Round trips and goodput before any burst, on a connection of their own."""
    with asking(live, server, worker) as ask:
        trips = sorted(ask({"do": "rtt", "seconds": _ROUND_TRIPS_S})["round_trips_ns"])
        down = ask({"do": "down", "seconds": _DOWNLOAD_S})
    return {
        "round_trip_ns": trips[len(trips) // 2],
        "goodput_bps": steady_goodput_bps(down["samples"]),
        "queued_bytes": sorted(down["sender"]["queued_bytes"] or [0])[-1],
    }


def _bursts(
    live: LiveNetwork, plan: Plan, cell: Cell, planned: PlannedConnection
) -> list[list[Json]]:
    done = run_round(
        live,
        cell,
        [planned],
        plan.scenario.cluster.tcp,
        isolate.scratch_dir(),
        bursts=range(BURSTS),
        expected_s=plan.burst_seconds(cell),
        on_burst=lambda _: None,
    )
    if done.failure is not None:
        raise done.failure
    capture = done.captures[planned.destination]
    report = find_connection(analyse_capture(capture), port_of(planned))
    capture.unlink()
    carried = Carried(planned=planned, logs=done.logs[0], report=report)
    seen = [see_burst(carried, burst) for burst in range(BURSTS)]
    return [
        [_as_json(row) for row in measured_rows(cell, each, common_zero([each]), valid=True)]
        for each in seen
    ]


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
    plan: Plan, cell: Cell, bursts: Sequence[Sequence[Json]], path: Mapping[str, int], bucket: int
) -> Schedule:
    """The last burst's schedule at level PREDICT, after those before it."""
    transport = cell.transport
    one_way_ns = path["round_trip_ns"] // 2
    ours = send_limit_bytes(transport, plan.scenario.cluster.tcp)
    link = LinkModel(
        rate_bps=path["goodput_bps"],
        delay_ns=one_way_ns,
        credit_latency_ns=one_way_ns + HANDLING_NS,
        past_bytes=(ours if transport.sender == "h2" else None) or path["queued_bytes"],
        bucket_bytes=bucket,
    )
    name = followed(transport)
    assert name is not None
    sender = candidate_senders(transport)[name]
    connection = Connection(sender, receiver_model(transport, cell.window_bytes), link)
    prefix = GRPC_PREFIX_BYTES if speaks_grpc(transport) else 0
    schedules = [
        connection.burst(
            [
                StreamPlan(
                    stream=s["stream"],
                    size_bytes=s["size_bytes"] + prefix,
                    ready_ns=max(0, s["ready_ns"]),
                )
                for s in streams
            ]
        )
        for streams in bursts
    ]
    return schedules[-1]
