"""Results folders as a run would leave them, of streams that a model made: no network, no capture.

What happened on the wire is known to the byte, so what is said of it can be checked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from emu.network.measure import PathMeasured
from emu.plan import Plan, link_key, make_plan
from emu.rerun import rerun
from h2model.candidates import candidate_senders, receiver_model
from h2model.connection import Connection, LinkModel, ReceiverModel, StreamPlan
from netcosim.job import Cell
from netcosim.results.folder import ResultsFolder
from netcosim.results.run_record import RunRecord, Validity
from netcosim.results.streams.grants import GrantRow
from netcosim.results.streams.lost import PAUSE, LostRow
from netcosim.trace import Service, StreamRow

LINK = LinkModel(
    rate_bps=95_000_000,
    delay_ns=100_000,
    credit_latency_ns=200_000,
    past_bytes=65536,
    bucket_bytes=15_000,
)
Grants = tuple[tuple[int, int, int], ...]


def wire_of(
    plan: Plan,
    appearance: Mapping[int, Sequence[int]],
    cell_name: str,
    *,
    receiver: ReceiverModel | None = None,
    grants: Grants | None = None,
    rate_bps: float | None = None,
) -> list[StreamRow]:
    """Rows as a run would leave them, of a sender that was handed `appearance` in this order.

    By burst, the messages' places in their order of release. The logged times are those of
    the order of release, 1 ms apart.
    """
    cell = find(plan, cell_name)
    (planned,) = plan.connections(cell)
    sender = candidate_senders(cell.transport)[str(cell.transport.discipline)]
    configured = receiver_model(cell.transport, cell.window_bytes)
    connection = Connection(sender, receiver or configured, LINK)
    window = (receiver or configured).window_bytes
    rows = []
    for burst, order in appearance.items():
        streams = [2 * (len(order) * burst + place) + 1 for place in range(len(order))]
        schedule = connection.burst(
            [
                StreamPlan(
                    stream=streams[place],
                    size_bytes=planned.messages[place].size_bytes,
                    ready_ns=number * 1_000_000,
                )
                for number, place in enumerate(order)
            ],
            grants=grants,
            rate_bps=rate_bps,
        )
        for place, (message, stream) in enumerate(zip(planned.messages, streams, strict=True)):
            served = [
                Service(start_ns=i.start_ns, end_ns=i.end_ns, size_bytes=i.size_bytes, position=n)
                for n, i in enumerate(schedule.intervals)
                if i.stream == stream
            ]
            rows.append(
                StreamRow(
                    world="emu",
                    cell=cell.name,
                    burst=burst,
                    source=planned.source,
                    destination=planned.destination,
                    connection=planned.index,
                    stream=stream,
                    tensor=message.tensor,
                    size_bytes=message.size_bytes,
                    wire_bytes=message.size_bytes,
                    ready_ns=place * 1_000_000,
                    start_ns=served[0].start_ns,
                    wire_end_ns=schedule.end_ns[stream],
                    services=tuple(served),
                    # More than a window in several visits: its credit ran out between them, even if
                    # other streams kept the link busy meanwhile, so that it shows no stall.
                    credit_stops=max(
                        int(len(served) > 1 and message.size_bytes > window),
                        sum(
                            start < served[-1].end_ns and start >= served[0].end_ns
                            for start, _ in schedule.stalls
                        ),
                    ),
                )
            )
    return rows


def find(plan: Plan, cell_name: str) -> Cell:
    return next(c for c in plan.cells if c.name == cell_name)


def grant(kind, size_bytes, time_ns=-(10**6), stream=0, cell="mix/fifo") -> GrantRow:
    """A frame of the data's receiver, by default long before the first burst."""
    return GrantRow(
        cell=cell,
        burst=0,
        connection=0,
        time_ns=time_ns,
        from_receiver=True,
        kind=kind,
        stream=stream,
        size_bytes=size_bytes,
    )


OPEN_WINDOWS = (grant("initial_window", 2**31 - 1), grant("window_update", 2**31 - 1 - 65535))


def judgement(cell: str, burst: int, *, valid: bool = True) -> Validity:
    return Validity(
        cell=cell,
        burst=burst,
        attempt=0,
        valid=valid,
        reasons=() if valid else ("the capture lost 73 packets",),
        judged=valid,
        steal=0.0,
        throttled_ns=0,
        retransmissions=0,
        drops=0,
        capture_drops=0 if valid else 73,
        late_ns=0,
        past_scheduler_bytes=None,
    )


def write_run(path, scenario, *, bursts, pause=None) -> None:
    """A run whose every cell followed its own discipline on `LINK`; its first bursts are invalid.

    With its predictions, and without what only captures give. In each burst the machine stood still
    for `pause` (when, for how long), and that was recorded.
    """
    plan = make_plan(scenario)
    rows: list[StreamRow] = []
    grants: list[GrantRow] = []
    for cell in plan.cells:
        order = range(len(plan.connections(cell)[0].messages))
        made = wire_of(plan, dict.fromkeys(range(bursts), order), cell.name)
        rows += [replace(held(row, pause), valid=row.burst > 0) for row in made]
        grants += [replace(each, cell=cell.name) for each in OPEN_WINDOWS]
    with ResultsFolder.create(path, scenario) as folder:
        folder.write_trace(rows)
        folder.write_grants(grants)
        folder.write_lost(_lost(plan, bursts, pause))
        folder.write_run(_record(plan, bursts, None))
        again = rerun(folder)
        folder.write_summary(again.summary)
        digest = folder.write_predictions(again.predicted)
        folder.write_run(_record(plan, bursts, digest))


def held(row: StreamRow, pause: tuple[int, int] | None) -> StreamRow:
    """The row where everything stood still for a while, from a time on."""
    if pause is None:
        return row
    since_ns, length_ns = pause

    def at(time_ns: int) -> int:
        return time_ns + (length_ns if time_ns > since_ns else 0)

    return replace(
        row,
        ready_ns=at(row.ready_ns),
        start_ns=at(row.start_ns),
        wire_end_ns=at(row.wire_end_ns),
        services=tuple(
            replace(s, start_ns=at(s.start_ns), end_ns=at(s.end_ns)) for s in row.services
        ),
    )


def _lost(plan: Plan, bursts: int, pause: tuple[int, int] | None) -> list[LostRow]:
    if pause is None:
        return []
    since_ns, length_ns = pause
    return [
        LostRow(
            cell=cell.name,
            burst=burst,
            connection=0,
            start_ns=since_ns,
            length_ns=length_ns,
            cause=PAUSE,
        )
        for cell in plan.cells
        for burst in range(bursts)
    ]


def _record(plan: Plan, bursts: int, digest: str | None) -> RunRecord:
    return RunRecord(
        command=("emu.run",),
        started="2026-01-02T03:04:05Z",
        finished="2026-01-02T03:05:35Z",
        duration_s=90.25,
        phases_s={"links": 5.0} | {cell.name: 3.0 for cell in plan.cells},
        host={},
        versions={},
        network={},
        shares=[],
        links=[asdict(_path(plan))],
        models={link_key(cell.name, 0): asdict(LINK) for cell in plan.cells},
        predictions_sha256=digest,
        bounds={},
        validity=tuple(
            judgement(cell.name, burst, valid=burst > 0)
            for cell in plan.cells
            for burst in range(bursts)
        ),
        captures={"any": "captures/any.pcap.gz"},
        problems=(f"{plan.cells[0].name}, w0: a problem",),
    )


def _path(plan: Plan) -> PathMeasured:
    rate = round(LINK.rate_bps)
    return PathMeasured(
        server=plan.net.servers[0].name,
        worker=plan.net.workers[0].name,
        links=tuple(link.name for link in plan.net.links),
        rate_bps=plan.net.links[0].link.rate,
        loss=0.0,
        expected_bps=rate,
        down_bps=rate,
        up_bps=rate,
        both_down_bps=rate,
        both_up_bps=rate,
        round_trip_min_ns=200_000,
        round_trip_median_ns=200_000,
        queued_bytes=65536,
        queued_max_bytes=65536,
        congestion_control="cubic",
    )
