"""Inputs of a cell's predictions, from the rows that a run leaves of it.

A run and a later recomputation come here with the same rows, so both predict the same.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from emu.plan import Plan, PlannedConnection
from emu.prediction.calls import Calls, calls_of
from emu.prediction.own_headers import OwnHeaders, own_headers
from h2model.arrivals import spans_of
from h2model.connection import Grant, LinkModel
from h2model.event_loop import Shares
from h2model.grpc_receiver import PING as PING_TARGET
from h2model.overhead import AT_ONCE, Acceptance, Overhead
from h2model.protocol import DEFAULT_WINDOW_BYTES
from netcosim.job import Cell
from netcosim.results.streams.grants import INITIAL_WINDOW, PING, WINDOW_UPDATE, GrantRow
from netcosim.results.streams.lost import LostRow, moments_on_work_clock, work_clocks
from netcosim.trace import StreamRow
from netcosim.work_clock import on_work_clock
from topo.share import LinkDirection
from topo.spec import FRAME_BYTES

_LONG_BEFORE_NS: Final = -(10**9)
_NOT_KNOWN: Final[Mapping[int, int | None]] = MappingProxyType({})
_LEAST_SLACK_BYTES: Final = 4 * FRAME_BYTES
"""Spacing between frames that is no pause, even where the token bucket is smaller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """A message as the sending application handed it over, on the burst's clock.

    `asked_ns` is when the requesting application asked for it; None for a push. `call_bytes` is
    the length of the HEADERS frame of its call; 0 if that is not known. `head_bytes` is that of our
    own sender's HEADERS before it.
    """

    stream: int
    tensor: str
    size_bytes: int
    ready_ns: int
    priority: int = 0
    asked_ns: int | None = None
    call_bytes: int = 0
    head_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """Captured facts of a burst: inputs at EXPLAIN and ORACLE, none at PREDICT.

    `appearance` has the streams in the order of their first DATA byte. `grants` are the
    WINDOW_UPDATEs as (time at the receiver, stream or 0 for the connection, bytes); what
    SETTINGS moved stands there as updates of each stream. They count from windows of
    `DEFAULT_WINDOW_BYTES`, which every stream and every connection has at its start. `pings` are
    the receiver's, as grants of no bytes to a target of their own. `busy_ns` is the time that the
    link was needed, `spans` when DATA arrived, in order of their begin.
    """

    appearance: tuple[int, ...]
    grants: tuple[Grant, ...]
    pings: tuple[Grant, ...]
    busy_ns: int
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstInputs:
    """One burst of one connection: its messages in the order of release, and its wire.

    `zero_ns` is its zero on the receiver's clock, if that is known.
    """

    burst: int
    messages: tuple[HandOver, ...]
    wire: Wire
    zero_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionInputs:
    """One connection of a round, its path as calibrated before the run, its bursts in order.

    `bottleneck` is the busiest of the link directions that it crosses; `ping_delays_ms` the
    delays between PINGs that its receiver logged, if it did.
    """

    index: int
    source: str
    destination: str
    link: LinkModel
    bottleneck: LinkDirection
    bursts: tuple[BurstInputs, ...]
    ping_delays_ms: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundInputs:
    """Connections that were opened and closed together; each has the same bursts."""

    connections: tuple[ConnectionInputs, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCalibration:
    """Calibration of a cell's connections and receivers, measured before the cells.

    Attributes
    ----------
    links : the path of each connection, by its number
    shares : how the connections, by position, share the links
    overhead : what their ends add, if it was measured
    acceptance : how long the receivers leave pushed calls unread
    ping_delays_ms : the delays between PINGs that a connection's receiver logged, if it did
    """

    links: Mapping[int, LinkModel]
    shares: Shares
    overhead: Overhead | None = None
    acceptance: Acceptance = AT_ONCE
    ping_delays_ms: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellInputs:
    """A cell with all its rounds; every round began with new connections."""

    cell: Cell
    rounds: tuple[RoundInputs, ...]
    calibration: CellCalibration


def cell_inputs(
    plan: Plan,
    cell: Cell,
    calibration: CellCalibration,
    attempts: Mapping[int, int],
    *,
    measured: Sequence[StreamRow],
    grants: Sequence[GrantRow],
    lost: Sequence[LostRow] = (),
    zeros_ns: Mapping[int, int | None] = _NOT_KNOWN,
) -> CellInputs:
    """Collect the inputs of a cell's predictions, on the clock of link work.

    Parameters
    ----------
    plan, cell
        The resolved scenario; it has the messages' priorities and their order of release.
    calibration
        The cell's paths and receivers, as measured before the cells.
    attempts
        The round that each burst belongs to.
    measured, grants
        The cell's rows, those of invalid bursts too: a connection's state outlives them.
    lost
        The rows of time that its links lost; the part that pauses explain is cut out of all times.
    zeros_ns
        Each burst's zero on the receiver's clock, where that is known.
    """
    clocks = work_clocks(lost)
    rows: dict[tuple[int, int], list[StreamRow]] = {}
    for row in on_work_clock(measured, clocks):
        rows.setdefault((row.connection, row.burst), []).append(row)
    events: dict[tuple[int, int], list[GrantRow]] = {}
    for event in moments_on_work_clock(grants, clocks):
        events.setdefault((event.connection, event.burst), []).append(event)
    rounds: dict[int, list[int]] = {}
    for burst in sorted({burst for _, burst in rows}):
        rounds.setdefault(attempts[burst], []).append(burst)
    bottlenecks = plan.bottlenecks(cell)
    return CellInputs(
        cell=cell,
        calibration=calibration,
        rounds=tuple(
            RoundInputs(
                connections=tuple(
                    _connection(
                        planned,
                        (calls_of(plan, cell, planned), own_headers(plan, cell, planned)),
                        calibration,
                        bottlenecks[planned.index],
                        {burst: zeros_ns.get(burst) for burst in bursts},
                        rows,
                        events,
                    )
                    for planned in plan.connections(cell)
                )
            )
            for _, bursts in sorted(rounds.items())
        ),
    )


def _connection(
    planned: PlannedConnection,
    headers: tuple[Calls, OwnHeaders | None],
    calibration: CellCalibration,
    bottleneck: LinkDirection,
    bursts: Mapping[int, int | None],
    rows: Mapping[tuple[int, int], Sequence[StreamRow]],
    events: Mapping[tuple[int, int], Sequence[GrantRow]],
) -> ConnectionInputs:
    window = DEFAULT_WINDOW_BYTES
    calls, own = headers
    link = calibration.links[planned.index]
    known = []
    for burst, zero_ns in bursts.items():
        mine = rows[planned.index, burst]
        grants, window = _grants(
            {row.stream for row in mine}, events.get((planned.index, burst), ()), window
        )
        served = sorted(mine, key=lambda row: row.services[0].position)
        known.append(
            BurstInputs(
                burst=burst,
                messages=_messages(
                    planned,
                    mine,
                    calls.of_burst(burst, mine),
                    {} if own is None else own.of_burst(burst, mine),
                ),
                wire=Wire(
                    appearance=tuple(row.stream for row in served),
                    grants=grants,
                    pings=_pings(events.get((planned.index, burst), ())),
                    busy_ns=busy_ns(mine, link),
                    spans=tuple(sorted(spans_of(mine))),
                ),
                zero_ns=zero_ns,
            )
        )
    return ConnectionInputs(
        index=planned.index,
        source=planned.source,
        destination=planned.destination,
        link=link,
        bottleneck=bottleneck,
        bursts=tuple(known),
        ping_delays_ms=calibration.ping_delays_ms.get(planned.index, ()),
    )


def _messages(
    planned: PlannedConnection,
    rows: Sequence[StreamRow],
    call_bytes: Mapping[int, int],
    head_bytes: Mapping[int, int],
) -> tuple[HandOver, ...]:
    by_tensor = {row.tensor: row for row in rows}
    return tuple(
        HandOver(
            stream=by_tensor[m.tensor].stream,
            tensor=m.tensor,
            size_bytes=m.size_bytes,
            ready_ns=max(0, by_tensor[m.tensor].ready_ns),
            priority=m.priority,
            asked_ns=by_tensor[m.tensor].asked_ns,
            call_bytes=call_bytes.get(by_tensor[m.tensor].stream, 0),
            head_bytes=head_bytes.get(by_tensor[m.tensor].stream, 0),
        )
        for m in planned.messages
    )


def _grants(
    streams: Collection[int], events: Sequence[GrantRow], window: int
) -> tuple[tuple[Grant, ...], int]:
    """Credit of a burst, given the initial window before it, and the initial window after it.

    A stream that begins after a SETTINGS begins with its window, one that is there already moves
    by the difference (RFC 9113, section 6.9.2): in both cases it has the same in all.
    """
    found = []
    before = window
    for event in events:
        if event.kind == INITIAL_WINDOW:
            if event.time_ns <= 0:
                before = event.size_bytes
            else:
                moved = event.size_bytes - window
                found += [(event.time_ns, stream, moved) for stream in sorted(streams)]
            window = event.size_bytes
        elif event.kind == WINDOW_UPDATE and (event.stream == 0 or event.stream in streams):
            found.append((event.time_ns, event.stream, event.size_bytes))
    start = [(_LONG_BEFORE_NS, each, before - DEFAULT_WINDOW_BYTES) for each in sorted(streams)]
    return (*start, *found), window


def _pings(events: Sequence[GrantRow]) -> tuple[Grant, ...]:
    return tuple(
        (event.time_ns, PING_TARGET, 0)
        for event in events
        if event.kind == PING and event.from_receiver
    )


def busy_ns(rows: Sequence[StreamRow], link: LinkModel) -> int:
    """Time that the link needed for one connection's burst, its longer pauses excluded.

    From the first to the last DATA byte, less the pauses between. A pause is as long as it
    exceeds what the token bucket makes good afterwards, at line speed; the bucket was also full
    when the burst began.
    """
    spans = sorted(spans_of(rows))
    slack_ns = 8e9 * max(link.bucket_bytes, _LEAST_SLACK_BYTES) / link.rate_bps
    pauses_ns = 0.0
    reached = spans[0][0]
    for start_ns, end_ns in spans:
        pauses_ns += max(0.0, start_ns - reached - slack_ns)
        reached = max(reached, end_ns)
    return round(reached - spans[0][0] + slack_ns - pauses_ns)
