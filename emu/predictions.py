"""What every model says of a cell's bursts, from what may be known before them (PREDICT).

Known are sizes, the hand-over times that the sending application logged, configured windows and the
receiver's credit rule, and the link as measured before the run. Nothing comes from the capture of
the burst.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from h2model.candidates import (
    GRPC_PREFIX_BYTES,
    candidate_senders,
    receiver_model,
    speaks_grpc,
)
from h2model.connection import Connection, LinkModel, Schedule, StreamPlan
from netcosim.job import Cell
from netcosim.trace import Service, Stall, StreamRow

LEVEL = "PREDICT"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """A message as the sending application handed it over, on the burst's clock."""

    stream: int
    tensor: str
    size_bytes: int
    ready_ns: int
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBurst:
    """What a model may know of one burst of one connection."""

    burst: int
    source: str
    destination: str
    connection: int
    messages: tuple[HandOver, ...]


def predict_round(cell: Cell, link: LinkModel, bursts: Sequence[KnownBurst]) -> list[StreamRow]:
    """Predict the bursts of one connection in their order, with every candidate discipline.

    The state of a connection (write target, connection credit) carries over from burst to burst.
    """
    receiver = receiver_model(cell.transport, cell.window_bytes)
    prefix = GRPC_PREFIX_BYTES if speaks_grpc(cell.transport) else 0
    rows: list[StreamRow] = []
    for model, sender in candidate_senders(cell.transport).items():
        connection = Connection(sender, receiver, link)
        for burst in bursts:
            schedule = connection.burst(_plans(burst, prefix))
            rows.extend(_rows(cell, model, burst, prefix, schedule))
    return rows


def _plans(burst: KnownBurst, prefix: int) -> list[StreamPlan]:
    return [
        StreamPlan(
            stream=m.stream,
            size_bytes=m.size_bytes + prefix,
            ready_ns=m.ready_ns,
            priority=m.priority,
        )
        for m in burst.messages
    ]


def _rows(
    cell: Cell, model: str, burst: KnownBurst, prefix: int, schedule: Schedule
) -> list[StreamRow]:
    services: Mapping[int, list[Service]] = {m.stream: [] for m in burst.messages}
    for position, i in enumerate(schedule.intervals):
        services[i.stream].append(
            Service(
                start_ns=i.start_ns, end_ns=i.end_ns, size_bytes=i.size_bytes, position=position
            )
        )
    return [
        StreamRow(
            world="predict",
            model=model,
            level=LEVEL,
            cell=cell.name,
            burst=burst.burst,
            source=burst.source,
            destination=burst.destination,
            connection=burst.connection,
            stream=m.stream,
            tensor=m.tensor,
            size_bytes=m.size_bytes,
            wire_bytes=m.size_bytes + prefix,
            ready_ns=m.ready_ns,
            start_ns=services[m.stream][0].start_ns,
            wire_end_ns=schedule.end_ns[m.stream],
            services=tuple(services[m.stream]),
            stalls=tuple(
                Stall(start_ns=a, end_ns=b)
                for a, b in schedule.stalls
                if a < schedule.end_ns[m.stream]
            ),
        )
        for m in burst.messages
    ]
