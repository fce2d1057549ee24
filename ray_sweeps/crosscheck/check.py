"""Cross-check of one cell: its bursts simulated, and each stream's end against the measured one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from h2model import transports
from h2model.candidates import largest_frame_bytes
from h2model.parameters import releases
from h2model.protocol import FRAME_HEADER_BYTES
from netcosim.errors import NetcosimError, ScenarioError
from netcosim.job import Cell, resolve_cells
from netcosim.metrics import SECONDARY_FROM
from netcosim.results.json_files import from_json
from netcosim.results.run_record import RunRecord, Validity
from netcosim.results.storage.parquet import read_parquet
from netcosim.results.streams import lost
from netcosim.scenario import Scenario, TransportSpec, parse_scenario
from netcosim.service_positions import byte_positions
from netcosim.trace import StreamRow, bursts, service_order, trace_rows
from netcosim.work_clock import on_work_clock
from ray_sweeps.crosscheck.comparable import (
    REFUSED,
    SIMULATED_ALL_THE_SAME,
    Finding,
    burst_finding,
    cell_finding,
)
from ray_sweeps.crosscheck.feed import (
    Rates,
    expected_streams,
    hand_overs,
    kernel_buffer,
    measured_rates,
    named_transport,
    places_on_connection,
)
from ray_sweeps.crosscheck.simulated import Rows, Simulated, simulate_bursts
from ray_sweeps.crosscheck.unit import (
    BurstCheck,
    CellCheck,
    CellFacts,
    StoredScore,
    StreamCheck,
    Unit,
)
from sim.settings import sending_of

DOWN: Final = "server to worker"
UP: Final = "worker to server"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """A unit, read: its scenario, record and rows by burst, on both clocks."""

    unit: Unit
    scenario: Scenario
    cell: Cell
    record: RunRecord
    work: Mapping[int, Rows]
    wall: Mapping[int, Rows]

    @property
    def places(self) -> dict[int, int]:
        """Number of earlier bursts on the connections of each burst."""
        return places_on_connection(self.work, self.validity.values())

    @property
    def validity(self) -> dict[int, Validity]:
        """Validity of each burst, as the emulator recorded it."""
        return {v.burst: v for v in self.record.validity if v.cell == self.cell.name}


def check_cell(unit: Unit) -> CellCheck:
    """Simulate the bursts of a cell and compare them with what was measured.

    What can't be read of the unit is told in its result.
    """
    try:
        return _checked(_read(unit))
    except (NetcosimError, ValueError) as problem:
        line = str(problem).splitlines()[0]
        return CellCheck(run=unit.run, cell=unit.cell, problem=line)


def _read(unit: Unit) -> _Cell:
    scenario = parse_scenario(unit.scenario, f"{unit.run}/scenario.toml")
    cells = {cell.name: cell for cell in resolve_cells(scenario)}
    if unit.cell not in cells:
        raise ScenarioError.at("cell", unit.cell, f"scenario.toml has {', '.join(sorted(cells))}")
    measured = trace_rows(read_parquet(unit.trace))
    spans = () if unit.lost is None else lost.TABLE.rows(read_parquet(unit.lost))
    on_work = on_work_clock(measured, lost.work_clocks(spans))
    return _Cell(
        unit=unit,
        scenario=scenario,
        cell=cells[unit.cell],
        record=from_json(RunRecord, unit.record, f"{unit.run}/run.json"),
        work={burst: rows for (_, burst), rows in bursts(on_work).items()},
        wall={burst: rows for (_, burst), rows in bursts(measured).items()},
    )


def _checked(one: _Cell) -> CellCheck:
    transport = named_transport(one.cell, one.record)
    rates = measured_rates(one.record.links, one.cell.workload.direction)
    findings = _findings(one)
    simulated = None
    todo = [b for b, found in findings.items() if not found or found[0] in SIMULATED_ALL_THE_SAME]
    if todo:
        try:
            measured = {burst: one.work[burst] for burst in todo}
            simulated = simulate_bursts(
                one.scenario,
                one.cell,
                transport,
                rates,
                measured,
                one.places,
                _buffer(one, transport),
            )
        except ScenarioError as problem:
            findings |= dict.fromkeys(todo, (REFUSED, str(problem)))
    facts = _facts(one, transport, rates, simulated)
    streams: dict[int, list[StreamCheck]] = {}
    if simulated is not None:
        streams = {b: _streams(one, facts, b, findings[b], simulated.rows[b]) for b in todo}
    checks = [_burst(one, b, findings[b], streams.get(b, []), simulated) for b in sorted(findings)]
    return CellCheck(
        run=one.unit.run,
        cell=one.cell.name,
        facts=facts,
        bursts=tuple(checks),
        streams=tuple(stream for b in sorted(streams) for stream in streams[b]),
        stored=_stored(one.unit.stored, facts.discipline),
        typical=_typical(one, checks, simulated),
    )


def _findings(one: _Cell) -> dict[int, Finding | None]:
    """Of each measured burst, why it is not compared; None: it is."""
    whole = cell_finding(one.scenario, one.cell.workload)
    if whole is not None:
        return dict.fromkeys(one.work, whole)
    expected = expected_streams(one.cell, one.scenario.cluster)
    return {
        burst: burst_finding(rows, one.validity.get(burst), expected, hand_overs(rows)[1])
        for burst, rows in one.work.items()
    }


def _buffer(one: _Cell, transport: TransportSpec) -> int | None:
    """Bytes of a connection's kernel buffer, where it is to be simulated with one.

    Raises
    ------
    ScenarioError
        The simulator refuses the transport.
    """
    sending = sending_of(transport)
    windows = (sending.window_bytes, sending.connection_window_bytes)
    asked = one.unit.buffers
    if asked == "none" or (asked == "unbound" and windows != (None, None)):
        return None
    return kernel_buffer(one.record.models, one.cell.name)


def _facts(
    one: _Cell, transport: TransportSpec, rates: Rates, simulated: Simulated | None
) -> CellFacts:
    cluster = one.scenario.cluster
    rows = [row for rows in one.work.values() for row in rows]
    return CellFacts(
        scenario=one.scenario.name,
        workload=one.cell.workload.name,
        transport=transport.name,
        network=f"{cluster.topology}, {cluster.link.model}",
        servers=cluster.servers,
        workers=cluster.workers,
        rate_bps=cluster.link.rate,
        release=_release(transport),
        exchange=one.cell.workload.direction,
        discipline="" if simulated is None else simulated.discipline,
        rate_share=rates.share,
        rate_measured=rates.measured,
        both_busy=rates.both_busy,
        window_bytes=None if simulated is None else simulated.window_bytes,
        buffer_bytes=None if simulated is None else simulated.buffer_bytes,
        window_moved=_window_moved(one),
        framing=_framing(rows, largest_frame_bytes(transport)),
    )


def _release(transport: TransportSpec) -> str:
    """Kinds and releases of both ends, such as ``grpc 1.59.5 to h2``."""
    named = transports.releases_not_named(transport)
    ends = []
    for end in ("sender", "receiver"):
        kind, release = getattr(transport, end), getattr(transport, f"{end}_release")
        newest = releases("grpc")[-1] if f"{end}_release" in named else None
        ends.append(" ".join(filter(None, (kind, release or newest))))
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def _window_moved(one: _Cell) -> bool:
    """True if some receiver of the cell changed its initial window, as a gRPC probe does."""
    for name, ends in one.record.peers.items():
        if name.startswith(f"{one.cell.name} connection "):
            taken: Any = ends
            for key in ("receiver", "settings", "initial_window_size"):
                taken = taken.get(key) if isinstance(taken, dict) else None
            if isinstance(taken, list) and len(taken) > 1:
                return True
    return False


def _framing(rows: Rows, frame_bytes: int) -> float:
    """Bytes that the simulator does not send over the messages'; frames are taken to be full."""
    payload = sum(row.size_bytes for row in rows)
    headers = sum(-(-row.wire_bytes // frame_bytes) * FRAME_HEADER_BYTES for row in rows)
    prefixes = sum(row.wire_bytes - row.size_bytes for row in rows)
    return (headers + prefixes) / payload if payload else 0.0


def _streams(
    one: _Cell, facts: CellFacts, burst: int, finding: Finding | None, simulated: Rows
) -> list[StreamCheck]:
    """Checks of a burst's streams; simulated rows are in the order of the measured ones."""
    measured, wall = one.work[burst], one.wall[burst]
    length_ns = max(row.wire_end_ns for row in measured)
    if length_ns <= 0:
        raise ValueError(f"burst {burst} took no time")
    bound = any(row.credit_stops for row in measured)
    predicted, truth = byte_positions(simulated), byte_positions(measured)
    found = []
    for ours, theirs, unmapped in zip(simulated, measured, wall, strict=True):
        error_ns = ours.wire_end_ns - theirs.wire_end_ns
        late = theirs.wire_end_ns >= SECONDARY_FROM * length_ns
        key = (theirs.connection, theirs.stream)
        found.append(
            StreamCheck(
                run=one.unit.run,
                cell=one.cell.name,
                workload=facts.workload,
                transport=facts.transport,
                release=facts.release,
                network=facts.network,
                rate_bps=facts.rate_bps,
                exchange=facts.exchange,
                way=DOWN if theirs.source.startswith("s") else UP,
                discipline=facts.discipline,
                burst=burst,
                first=one.places[burst] == 0,
                bound=bound,
                compared=finding is None,
                reason="" if finding is None else finding[0],
                connection=theirs.connection,
                stream=theirs.stream,
                tensor=theirs.tensor,
                size_bytes=theirs.size_bytes,
                ready_ns=theirs.ready_ns,
                predicted_ns=ours.wire_end_ns,
                measured_ns=theirs.wire_end_ns,
                wall_ns=unmapped.wire_end_ns,
                length_ns=length_ns,
                time_error=error_ns / length_ns,
                relative_error=error_ns / theirs.wire_end_ns if late else None,
                predicted_position=predicted[key],
                measured_position=truth[key],
            )
        )
    return found


def _burst(
    one: _Cell,
    burst: int,
    finding: Finding | None,
    streams: Sequence[StreamCheck],
    simulated: Simulated | None,
) -> BurstCheck:
    reason, detail = finding or ("", "")
    measured = one.work[burst]
    length_ns = max(row.wire_end_ns for row in measured)
    known = BurstCheck(
        burst=burst,
        first=one.places[burst] == 0,
        reason=reason,
        detail=detail,
        streams=len(measured),
        length_ns=length_ns,
    )
    if simulated is None or not streams:
        return known
    order = [stream.order_error for stream in streams]
    time = [abs(stream.time_error) for stream in streams]
    last_ns = max(stream.predicted_ns for stream in streams)
    return replace(
        known,
        order_mean=float(np.mean(order)),
        order_max=max(order),
        order_equal=service_order(simulated.rows[burst]) == service_order(measured),
        time_mean=float(np.mean(time)),
        time_max=max(time),
        end=(last_ns - length_ns) / length_ns,
    )


def _stored(scores: Sequence[StoredScore], discipline: str) -> StoredScore | None:
    """The score of the discipline that was simulated, else of the best model."""
    name = discipline.partition(" ")[0]
    return next((score for score in scores if score.model == name), next(iter(scores), None))


def _typical(
    one: _Cell, checks: Sequence[BurstCheck], simulated: Simulated | None
) -> tuple[tuple[StreamRow, ...], tuple[StreamRow, ...]]:
    """Rows of the compared burst with the median time error; none if no burst is compared."""
    errors = sorted(
        (b.time_mean, b.burst) for b in checks if b.compared and b.time_mean is not None
    )
    if simulated is None or not errors:
        return (), ()
    _, burst = errors[len(errors) // 2]
    return tuple(one.work[burst]), tuple(simulated.rows[burst])
