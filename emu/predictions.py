"""What every model says of a cell's bursts, level by level.

PREDICT knows sizes, the hand-over times that the sending application logged, configured windows
and the receiver's credit rule, and the link as measured before the run: nothing of the capture.
EXPLAIN also knows the order in which the streams first appeared on the wire.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from emu.known import HandOver, KnownBurst, KnownCell, KnownConnection, KnownRound
from h2model.candidates import (
    GRPC_PREFIX_BYTES,
    candidate_senders,
    receiver_model,
    speaks_grpc,
)
from h2model.connection import Connection, ReceiverModel, Schedule, SenderModel, StreamPlan
from netcosim.job import Cell
from netcosim.trace import Service, Stall, StreamRow

Level = Literal["PREDICT", "EXPLAIN"]
LEVELS: Final[tuple[Level, ...]] = ("PREDICT", "EXPLAIN")


def predict_cell(known: KnownCell) -> list[StreamRow]:
    """Predict every burst of a cell, with every candidate discipline and at every level.

    A connection's state (write target, connection credit) carries over from burst to burst of its
    round, at each level of its own; invalid bursts take part in it. Levels above PREDICT are asked
    only of the discipline that the sender was configured for, if it was.
    """
    return [
        row
        for round_ in known.rounds
        for model, sender in candidate_senders(known.cell.transport).items()
        for level in LEVELS
        if level == "PREDICT" or known.cell.transport.discipline in (None, model)
        for row in _round_rows(known.cell, round_, model, sender, level)
    ]


def _round_rows(
    cell: Cell, round_: KnownRound, model: str, sender: SenderModel, level: Level
) -> Iterator[StreamRow]:
    receiver = receiver_model(cell.transport, cell.window_bytes)
    prefix = GRPC_PREFIX_BYTES if speaks_grpc(cell.transport) else 0
    for connection in round_.connections:
        schedules = _schedules(connection, sender, receiver, prefix, level)
        for burst, schedule in zip(connection.bursts, schedules, strict=True):
            services = _services(burst, schedule)
            for message in burst.messages:
                yield StreamRow(
                    world="predict",
                    model=model,
                    level=level,
                    cell=cell.name,
                    burst=burst.burst,
                    source=connection.source,
                    destination=connection.destination,
                    connection=connection.index,
                    stream=message.stream,
                    tensor=message.tensor,
                    size_bytes=message.size_bytes,
                    wire_bytes=message.size_bytes + prefix,
                    ready_ns=message.ready_ns,
                    start_ns=services[message.stream][0].start_ns,
                    wire_end_ns=schedule.end_ns[message.stream],
                    services=tuple(services[message.stream]),
                    stalls=_stalls(schedule, message.stream),
                )


def _schedules(
    connection: KnownConnection,
    sender: SenderModel,
    receiver: ReceiverModel,
    prefix: int,
    level: Level,
) -> list[Schedule]:
    """The bursts of one connection, one after the other."""
    simulated = Connection(sender, receiver, connection.link)
    return [simulated.burst(_plans(burst, prefix, level)) for burst in connection.bursts]


def _plans(burst: KnownBurst, prefix: int, level: Level) -> list[StreamPlan]:
    messages = burst.messages
    ready = [m.ready_ns for m in messages]
    if level != "PREDICT":
        messages, ready = _as_they_appeared(burst), sorted(ready)
    return [
        StreamPlan(
            stream=m.stream,
            size_bytes=m.size_bytes + prefix,
            ready_ns=ready_ns,
            priority=m.priority,
        )
        for m, ready_ns in zip(messages, ready, strict=True)
    ]


def _as_they_appeared(burst: KnownBurst) -> tuple[HandOver, ...]:
    by_stream = {m.stream: m for m in burst.messages}
    return tuple(by_stream[stream] for stream in burst.wire.appearance)


def _services(burst: KnownBurst, schedule: Schedule) -> Mapping[int, Sequence[Service]]:
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
