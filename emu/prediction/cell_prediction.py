"""Predict a cell's bursts with every model, at the levels PREDICT, EXPLAIN and ORACLE.

PREDICT has as inputs sizes, the times at which the applications asked and handed over, which they
logged before the transport, configured windows and the receiver's credit rule, the link as measured
before the run, the time between two bursts, and what a library drew of its PINGs' times, if it
logged that: nothing of the capture.
EXPLAIN also has the order in which the streams first appeared on the wire. ORACLE also has when the
receiver gave which credit, and how fast the link was in the burst itself.

Several connections are predicted together, each at its share of the links among those that are
busy.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from emu.prediction.cell_inputs import (
    BurstInputs,
    CellInputs,
    ConnectionInputs,
    RoundInputs,
)
from emu.prediction.link_speed import own_speed
from h2model import transports
from h2model.candidates import (
    candidate_senders,
    followed,
    receiver_model,
    speaks_grpc,
)
from h2model.connection import (
    Connection,
    Grant,
    LinkModel,
    ReceiverModel,
    Schedule,
    SenderModel,
    StreamPlan,
)
from h2model.event_loop import Shares
from h2model.network import Network
from h2model.overhead import (
    AT_ONCE,
    NOTHING,
    Acceptance,
    Linear,
    Overhead,
    with_transport_ns,
)
from h2model.protocol import DEFAULT_WINDOW_BYTES, FRAME_HEADER_BYTES, GRPC_PREFIX_BYTES
from h2model.standstill import StandstillError
from netcosim.job import Cell
from netcosim.trace import LEVELS, Level, Service, Stall, StreamRow

_AS_GIVEN: Final = ReceiverModel(
    window_bytes=DEFAULT_WINDOW_BYTES, connection_window_bytes=DEFAULT_WINDOW_BYTES, credit="fixed"
)
"""Receiver at ORACLE: the credit that it gave is an input, and its rule is never used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """Model, level and calibration of one prediction of a cell."""

    cell: Cell
    model: str
    sender: SenderModel
    level: Level
    overhead: Overhead | None = None
    acceptance: Acceptance = AT_ONCE

    def receiver(self, ping_delays_ms: tuple[int, ...]) -> ReceiverModel:
        if self.level == "ORACLE":
            return _AS_GIVEN
        listens = self.cell.workload.direction == "push"
        return receiver_model(
            self.cell.transport,
            self.cell.window_bytes,
            listens=listens,
            acceptance=self.acceptance,
            overhead=self.overhead,
            ping_delays_ms=ping_delays_ms,
        )

    @property
    def prefix_bytes(self) -> int:
        return GRPC_PREFIX_BYTES if speaks_grpc(self.cell.transport) else 0

    def plans(self, burst: BurstInputs, *, first: bool) -> list[StreamPlan]:
        """Stream plans of the burst's messages; `first` if it is the first of its connection."""
        messages = burst.messages
        ready = [m.ready_ns for m in messages]
        if self.level != "PREDICT":
            by_stream = {m.stream: m for m in messages}
            messages = tuple(by_stream[stream] for stream in burst.wire.appearance)
            ready.sort()
        # The burst's zero is when the first request is on the wire.
        first_asked_ns = min((m.asked_ns for m in messages if m.asked_ns is not None), default=0)
        sizes = [m.size_bytes for m in messages]
        scheduled = with_transport_ns(ready, sizes, self._handover(first=first))
        return [
            StreamPlan(
                stream=m.stream,
                size_bytes=m.size_bytes + self.prefix_bytes,
                ready_ns=scheduled_ns,
                priority=m.priority,
                asked_ns=0 if m.asked_ns is None else m.asked_ns - first_asked_ns,
                call_bytes=m.call_bytes,
                head_bytes=m.head_bytes,
                is_answer=m.asked_ns is not None,
            )
            for m, scheduled_ns in zip(messages, scheduled, strict=True)
        ]

    def _handover(self, *, first: bool) -> Linear:
        if self.overhead is None:
            return NOTHING
        return self.overhead.handover_first if first else self.overhead.handover_later

    def grants(self, burst: BurstInputs) -> tuple[Grant, ...] | None:
        """Captured credit at ORACLE; with PINGs for studied senders, whose answers are writes."""
        if self.level != "ORACLE":
            return None
        studied = transports.load(self.cell.transport.sender).STUDIED
        return burst.wire.grants if studied is None else (*burst.wire.grants, *burst.wire.pings)

    def rate_bps(self, burst: BurstInputs) -> float | None:
        """Rate of the burst's own frames at ORACLE, idle times excluded."""
        if self.level != "ORACLE":
            return None
        return 8e9 * self._moved_bytes(burst) / burst.wire.busy_ns

    def speed(
        self, bursts: Sequence[BurstInputs], shares: Shares, links: Sequence[LinkModel]
    ) -> float:
        """Speed of shared links in the burst at ORACLE, relative to their calibration."""
        if self.level != "ORACLE":
            return 1.0
        slack_ns = max(
            link.bucket_bytes * 8e9 / shares(frozenset({i}))[i] for i, link in enumerate(links)
        )
        moved = sum(self._moved_bytes(burst) for burst in bursts)
        return own_speed([burst.wire.spans for burst in bursts], moved, shares, slack_ns)

    def _moved_bytes(self, burst: BurstInputs) -> int:
        """Bytes of one connection's burst, with frame headers."""
        sizes = [m.size_bytes + self.prefix_bytes for m in burst.messages]
        frames = sum(math.ceil(size / self.sender.frame_bytes) for size in sizes)
        return sum(sizes) + frames * FRAME_HEADER_BYTES


def predict_cell(known: CellInputs) -> list[StreamRow]:
    """Predict every burst of a cell, with every candidate discipline and at every level.

    A connection's state (write target, connection credit) carries over from burst to burst of its
    round, at each level of its own; invalid bursts take part in it. Levels above PREDICT are
    computed only for the discipline that the sender is known to follow, for all where that is not
    known. A round in which not all credit was captured has no ORACLE.
    """
    cell = known.cell
    pushes = cell.workload.direction == "push"
    return [
        row
        for round_ in known.rounds
        for model, sender in candidate_senders(
            cell.transport, pushes=pushes, window_bytes=cell.window_bytes
        ).items()
        for level in LEVELS
        if level == "PREDICT" or followed(cell.transport) in (None, model)
        for row in _round_rows(
            _Question(
                cell=cell,
                model=model,
                sender=sender,
                level=level,
                overhead=known.calibration.overhead,
                acceptance=known.calibration.acceptance,
            ),
            round_,
            known.calibration.shares,
        )
    ]


def _round_rows(asked: _Question, round_: RoundInputs, shares: Shares) -> Iterator[StreamRow]:
    try:
        if len(round_.connections) == 1:
            schedules = [_alone(asked, round_.connections[0])]
        else:
            schedules = _together(asked, round_, shares)
    except StandstillError:
        if asked.level == "ORACLE":
            return
        raise
    for connection, answers in zip(round_.connections, schedules, strict=True):
        sharing = [
            theirs
            for other, theirs in zip(round_.connections, schedules, strict=True)
            if other.bottleneck == connection.bottleneck
        ]
        for i, (burst, schedule) in enumerate(zip(connection.bursts, answers, strict=True)):
            together = [each[i] for each in sharing] if len(sharing) > 1 else []
            yield from _burst_rows(asked, connection, burst, schedule, together)


def _alone(asked: _Question, connection: ConnectionInputs) -> list[Schedule]:
    """Simulate the bursts of one connection, one after the other."""
    receiver = asked.receiver(connection.ping_delays_ms)
    simulated = Connection(asked.sender, receiver, connection.link)
    return [
        simulated.burst(
            asked.plans(burst, first=i == 0),
            grants=asked.grants(burst),
            rate_bps=asked.rate_bps(burst),
            next_ns=next_ns,
        )
        for i, (burst, next_ns) in enumerate(
            zip(connection.bursts, _next_ns(connection.bursts), strict=True)
        )
    ]


def _next_ns(bursts: Sequence[BurstInputs]) -> list[int | None]:
    """For each burst when the next one begins, on its own clock; None if that is not known."""
    zeros = [burst.zero_ns for burst in bursts]
    found = [
        None if zero is None or then is None else then - zero for zero, then in pairwise(zeros)
    ]
    return [*found, None]


def _together(asked: _Question, round_: RoundInputs, shares: Shares) -> list[list[Schedule]]:
    """Simulate bursts over shared links; for each connection its schedules in order."""
    network = Network(
        [
            Connection(asked.sender, asked.receiver(c.ping_delays_ms), c.link)
            for c in round_.connections
        ],
        shares,
    )
    answers: list[list[Schedule]] = [[] for _ in round_.connections]
    nexts = _next_ns(round_.connections[0].bursts)
    for i, bursts in enumerate(zip(*(c.bursts for c in round_.connections), strict=True)):
        given = [asked.grants(burst) for burst in bursts]
        grants = [each or () for each in given] if asked.level == "ORACLE" else None
        plans = [asked.plans(burst, first=i == 0) for burst in bursts]
        speed = asked.speed(bursts, shares, [c.link for c in round_.connections])
        schedules = network.burst(plans, grants=grants, speed=speed, next_ns=nexts[i])
        for mine, schedule in zip(answers, schedules, strict=True):
            mine.append(schedule)
    return answers


def _burst_rows(
    asked: _Question,
    connection: ConnectionInputs,
    burst: BurstInputs,
    schedule: Schedule,
    sharing: Sequence[Schedule],
) -> Iterator[StreamRow]:
    """Predicted rows of one burst; `sharing` has all schedules over its bottleneck if several."""
    services = _services(burst, schedule)
    ends_ns = [schedule.end_ns[message.stream] for message in burst.messages]
    positions = _link_positions(ends_ns, sharing) if sharing else [None] * len(ends_ns)
    for message, position in zip(burst.messages, positions, strict=True):
        yield StreamRow(
            world="predict",
            model=asked.model,
            level=asked.level,
            cell=asked.cell.name,
            burst=burst.burst,
            source=connection.source,
            destination=connection.destination,
            connection=connection.index,
            stream=message.stream,
            tensor=message.tensor,
            size_bytes=message.size_bytes,
            wire_bytes=message.size_bytes + asked.prefix_bytes,
            ready_ns=message.ready_ns,
            start_ns=services[message.stream][0].start_ns,
            wire_end_ns=schedule.end_ns[message.stream],
            services=tuple(services[message.stream]),
            stalls=_stalls(schedule, message.stream),
            link_position=position,
        )


def _link_positions(ends_ns: Sequence[int], sharing: Sequence[Schedule]) -> Sequence[float | None]:
    """Share of all bytes of these schedules that was carried by each end time."""
    found = np.zeros(len(ends_ns))
    total = 0
    for schedule in sharing:
        times, sizes = zip(*schedule.carried, strict=True)
        found += np.interp(ends_ns, times, sizes)
        total += sizes[-1]
    positions: list[float] = (found / total).tolist()
    return positions


def _services(burst: BurstInputs, schedule: Schedule) -> Mapping[int, Sequence[Service]]:
    services: dict[int, list[Service]] = {m.stream: [] for m in burst.messages}
    for position, i in enumerate(schedule.intervals):
        services[i.stream].append(
            Service(
                start_ns=i.start_ns, end_ns=i.end_ns, size_bytes=i.size_bytes, position=position
            )
        )
    return services


def _stalls(schedule: Schedule, stream: int) -> tuple[Stall, ...]:
    end_ns = schedule.end_ns[stream]
    return tuple(Stall(start_ns=a, end_ns=b) for a, b in schedule.stalls if a < end_ns)
