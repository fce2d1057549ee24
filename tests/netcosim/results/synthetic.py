"""SYNTHETIC results folders: a model's prediction with its clock warped stands for a measurement.

Nothing here was measured; it only has the shape of what a run leaves.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from h2model.connection import LinkModel, ReceiverModel, Schedule, SenderModel, StreamPlan
from h2model.predict import predict
from netcosim.results.folder import ResultsFolder
from netcosim.results.run_record import RunRecord, Validity
from netcosim.results.streams.grants import GrantRow
from netcosim.results.streams.lost import PAUSE, UNEXPLAINED, LostRow
from netcosim.results.streams.summary import Summary
from netcosim.results.streams.windows import WindowRow
from netcosim.scenario import Scenario, build_scenario
from netcosim.scoring.cell import summarise_cell
from netcosim.scoring.facts import CellFacts
from netcosim.trace import Service, Stall, StreamRow

MODELS = ("fifo", "two_visit", "round_robin", "write_cycle", "processor_sharing")
MIXED8 = (4_000_000, 1_000_000, 16_000_000, 500_000, 8_000_000, 2_000_000, 4_000_000, 1_000_000)
CAPACITY_BPS = 95_600_000
WINDOW_BYTES = 2**20
UNEXPLAINED_NS = 1_000_000
"""Of a case with a pause, in each burst, beside the pause."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One cell: its sizes, what stands for the truth, how often.

    `invalid` are bursts whose evidence was lost, `shown` those with an input that a pause delayed.
    In each burst the machine stood still for `pause` (when, for how long), and that was recorded.
    """

    workload: str = "mixed8"
    transport: str = "h2-on"
    sizes: tuple[int, ...] = MIXED8
    truth: str = "two_visit"
    bursts: int = 3
    connections: int = 1
    invalid: tuple[int, ...] = ()
    shown: tuple[int, ...] = ()
    pause: tuple[int, int] | None = None
    warp: float = 0.001
    rate_bps: float = CAPACITY_BPS

    @property
    def cell(self) -> str:
        return f"{self.workload}/{self.transport}"


def sizes_like(count: int, total_bytes: int = 20_000_000) -> tuple[int, ...]:
    """Tensors as uneven as a network's: some of a few hundred bytes, few that hold nearly all."""
    shares = [math.exp(-((7 * i) % count) * 9 / count) for i in range(count)]
    return tuple(max(200, round(total_bytes * s / sum(shares))) for s in shares)


def scenario(name: str = "synthetic", description: str = "made up by the tests") -> Scenario:
    return build_scenario(
        {
            "name": name,
            "description": description,
            "cluster": {"link": {"rate": "100mbit"}},
            "workload": [{"name": "mixed8", "set": "mixed8"}],
            "transport": [{"name": "h2-on", "sender": "h2", "receiver": "h2", "window": "1MiB"}],
        }
    )


def measured_rows(case: Case) -> list[StreamRow]:
    rows = []
    for burst in range(case.bursts):
        phase = 1.0 + burst
        for row in _rows(case, case.truth, burst):
            warped = _held(_warp(row, case.warp, phase), case.pause)
            arrived = warped.wire_end_ns + 300_000 + warped.size_bytes * 6 // 10
            rows.append(
                replace(
                    warped,
                    world="emu",
                    model="",
                    level="",
                    valid=burst not in (*case.invalid, *case.shown),
                    requested_ns=1000 * row.stream,
                    delivered_ns=arrived,
                )
            )
    return rows


def predicted_rows(case: Case) -> list[StreamRow]:
    return [
        row for model in MODELS for burst in range(case.bursts) for row in _rows(case, model, burst)
    ]


def window_rows(case: Case, measured: list[StreamRow]) -> list[WindowRow]:
    rows = []
    for row in measured:
        where = {"cell": row.cell, "burst": row.burst, "connection": row.connection}
        credit = WINDOW_BYTES
        points = [(0, credit)]
        for number, service in enumerate(row.services):
            points.append((service.start_ns, credit))
            if number == 0:  # the receiver sees the message's length and grants the rest
                credit += max(0, row.wire_bytes - WINDOW_BYTES)
                points.append((service.start_ns, credit))
            credit -= service.size_bytes
            points.append((service.end_ns, credit))
        rows += [
            WindowRow(**where, stream=row.stream, time_ns=t, credit_bytes=c) for t, c in points
        ]
    return rows


def grant_rows(case: Case, measured: list[StreamRow]) -> list[GrantRow]:
    """The rest of each message, granted when its first byte is there."""
    return [
        GrantRow(
            cell=row.cell,
            burst=row.burst,
            connection=row.connection,
            time_ns=row.start_ns,
            from_receiver=True,
            kind="window_update",
            stream=row.stream,
            size_bytes=row.wire_bytes - WINDOW_BYTES,
        )
        for row in measured
        if row.wire_bytes > WINDOW_BYTES
    ]


def lost_rows(case: Case) -> list[LostRow]:
    """The pause of each burst, and a loss that nothing explains."""
    if case.pause is None:
        return []
    start_ns, length_ns = case.pause
    spans = ((start_ns, length_ns, PAUSE), (2 * length_ns + start_ns, UNEXPLAINED_NS, UNEXPLAINED))
    return [
        LostRow(
            cell=case.cell,
            burst=burst,
            connection=connection,
            start_ns=begin_ns,
            length_ns=lasted_ns,
            cause=cause,
        )
        for burst in range(case.bursts)
        for connection in range(case.connections)
        for begin_ns, lasted_ns, cause in spans
    ]


def validities(case: Case) -> list[Validity]:
    lost_ns = 0 if case.pause is None else case.pause[1] + UNEXPLAINED_NS
    return [
        Validity(
            cell=case.cell,
            burst=burst,
            attempt=0,
            valid=burst not in case.invalid,
            reasons=("the capture lost 73 packets",) if burst in case.invalid else (),
            judged=burst not in (*case.invalid, *case.shown),
            delayed_inputs=("a grant came 7.3 ms of link work late",) * (burst in case.shown),
            steal=0.073 if burst in case.invalid else 0.001,
            throttled_ns=0,
            retransmissions=0,
            drops=0,
            capture_drops=0,
            length_ns=_length_ns(case),
            lost_ns=lost_ns,
            cut_ns=0 if case.pause is None else case.pause[1],
            late_ns=90_000,
            past_scheduler_bytes=81_234,
        )
        for burst in range(case.bursts)
    ]


def facts(case: Case) -> CellFacts:
    lost_ns = 0 if case.pause is None else case.pause[1] + UNEXPLAINED_NS
    unexplained_ns = 0 if case.pause is None else UNEXPLAINED_NS
    return CellFacts(
        workload=case.workload,
        transport=case.transport,
        sender="h2",
        receiver="h2",
        direction="pull",
        flow_control=True,
        windowed=True,
        window_bytes=WINDOW_BYTES,
        configured_discipline=case.truth,
        capacity_bps=CAPACITY_BPS,
        invalid_bursts=len(case.invalid),
        shown_bursts=frozenset(case.shown),
        lost_share=lost_ns / _length_ns(case),
        unexplained_share=unexplained_ns / _length_ns(case),
    )


def _length_ns(case: Case) -> int:
    paused_ns = 0 if case.pause is None else case.pause[1]
    return max(row.wire_end_ns for row in _rows(case, case.truth, 0)) + paused_ns


def summary(cases, *, complete=True, trusted=True, reasons=(), not_run=()) -> Summary:
    return Summary(
        not_run=not_run,
        scenario="synthetic",
        world="emu",
        seed=1,
        complete=complete,
        trusted=trusted,
        reasons=reasons,
        cells=tuple(
            summarise_cell(facts(case), measured_rows(case), predicted_rows(case), lost_rows(case))
            for case in cases
        ),
    )


def run_record(cases: tuple[Case, ...] = (), predictions_sha256: str | None = None) -> RunRecord:
    return RunRecord(
        command=("emu.run", "--scenario", "synthetic"),
        started="2026-01-02T03:04:05Z",
        finished="2026-01-02T03:05:35Z",
        duration_s=90.25,
        phases_s={"network": 2.5, "links": 5.0, "bursts": 60.0, "analysis": 20.0},
        host={"kernel": "6.1.0", "processors": 2},
        versions={"netcosim": "0.1.0", "grpcio": "1.85.1"},
        network={"congestion_control": "cubic"},
        shares=[],
        links=[
            {
                "path": "server1 to worker1",
                "asked_bps": 100_000_000,
                "one_way_bps": 95_600_000.0,
                "both_ways_bps": 93_700_000.0,
                "idle_rtt_ns": 81_000,
            }
        ],
        models={case.cell: {"rate_bps": case.rate_bps} for case in cases},
        predictions_sha256=predictions_sha256,
        bounds={"link_share": 0.97, "attempts": 3.0},
        validity=tuple(v for case in cases for v in validities(case)),
        captures={},
        problems=(),
    )


def write_folder(path, cases, *, complete=True, trusted=True, reasons=(), owner=None) -> None:
    """A whole results folder but for the report."""
    with ResultsFolder.create(path, scenario(), owner) as folder:
        measured = [row for case in cases for row in measured_rows(case)]
        predicted = [row for case in cases for row in predicted_rows(case)]
        digest = folder.write_predictions(predicted)
        folder.write_trace(measured)
        folder.write_windows(
            [row for case in cases for row in window_rows(case, measured_rows(case))]
        )
        folder.write_grants(
            [row for case in cases for row in grant_rows(case, measured_rows(case))]
        )
        folder.write_lost([row for case in cases for row in lost_rows(case)])
        folder.write_summary(summary(cases, complete=complete, trusted=trusted, reasons=reasons))
        folder.write_run(run_record(cases, digest))
        folder.write_perfetto()


def _rows(case: Case, model: str, burst: int) -> list[StreamRow]:
    return [
        row
        for connection in range(case.connections)
        for row in _connection_rows(case, model, burst, connection)
    ]


@cache
def _schedule(case: Case, model: str) -> Schedule:
    return predict(
        _plans(case),
        SenderModel(discipline=model),
        LinkModel(rate_bps=case.rate_bps / case.connections, delay_ns=40_000),
        ReceiverModel(window_bytes=WINDOW_BYTES, credit="rest_at_header"),
    )


def _plans(case: Case) -> list[StreamPlan]:
    return [
        StreamPlan(stream=2 * i + 1, size_bytes=size, ready_ns=200_000 + 50_000 * i)
        for i, size in enumerate(case.sizes)
    ]


def _connection_rows(case: Case, model: str, burst: int, connection: int) -> list[StreamRow]:
    schedule = _schedule(case, model)
    return [
        StreamRow(
            world="predict",
            model=model,
            level="PREDICT",
            cell=case.cell,
            burst=burst,
            source="server1",
            destination=f"worker{connection + 1}",
            connection=connection,
            stream=plan.stream,
            tensor=f"layer{i}.weight",
            size_bytes=plan.size_bytes,
            wire_bytes=plan.size_bytes,
            ready_ns=plan.ready_ns,
            start_ns=services[0].start_ns,
            wire_end_ns=schedule.end_ns[plan.stream],
            services=services,
            stalls=_stalls(services),
        )
        for i, plan in enumerate(_plans(case))
        for services in [_services(schedule, plan.stream)]
    ]


def _services(schedule: Schedule, stream: int) -> tuple[Service, ...]:
    return tuple(
        Service(start_ns=i.start_ns, end_ns=i.end_ns, size_bytes=i.size_bytes, position=position)
        for position, i in enumerate(schedule.intervals)
        if i.stream == stream
    )


def _stalls(services: tuple[Service, ...]) -> tuple[Stall, ...]:
    """As if credit came back at the latest moment that changes nothing."""
    if len(services) != 2:
        return ()
    return (Stall(start_ns=services[0].end_ns, end_ns=services[1].start_ns),)


def _warp(row: StreamRow, amount: float, phase: float) -> StreamRow:
    def at(time_ns: int) -> int:
        return time_ns + round(amount * time_ns * (0.6 + 0.4 * math.sin(phase + time_ns / 4e8)))

    return _at(row, at)


def _held(row: StreamRow, pause: tuple[int, int] | None) -> StreamRow:
    """The row of a burst in which everything stood still for a while."""
    if pause is None:
        return row
    start_ns, length_ns = pause
    return _at(row, lambda time_ns: time_ns + (length_ns if time_ns > start_ns else 0))


def _at(row: StreamRow, at: Callable[[int], int]) -> StreamRow:
    return replace(
        row,
        start_ns=at(row.start_ns),
        wire_end_ns=at(row.wire_end_ns),
        services=tuple(
            replace(s, start_ns=at(s.start_ns), end_ns=at(s.end_ns)) for s in row.services
        ),
        stalls=tuple(replace(s, start_ns=at(s.start_ns), end_ns=at(s.end_ns)) for s in row.stalls),
    )
