"""Comparison of two traces of the same job: order of service, end times, shares of links."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from netcosim.metrics import (
    ErrorStats,
    Floats,
    position_errors,
    primary_errors,
    secondary_errors,
    summarise,
)
from netcosim.service_positions import byte_positions
from netcosim.trace import StreamRow, bursts, service_order
from netcosim.work_clock import Connection, WorkClock, on_work_clock


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstScore:
    """Errors of one model in one burst: mean and largest order error and time error."""

    burst: int
    order_mean: float
    order_max: float
    time_mean: float
    time_max: float
    order_equal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelScore:
    """Errors of one model in one cell, pooled over the bursts that may be scored.

    Attributes
    ----------
    by_burst : the bursts one by one
    order : error of positions in the connection's bytes
    order_errors : the same stream by stream, burst by burst
    share : error of positions in the shared link's bytes; None where no link is shared
    wire, wire_secondary : errors of wire ends on the clock of link work
    wall : the primary errors of wire ends on the wall clock
    delivered, delivered_secondary : errors of delivered ends on the clock of link work; where a
        receiver was not calibrated, a predicted wire end stands for its delivered end
    """

    cell: str
    model: str
    level: str
    by_burst: tuple[BurstScore, ...]
    order: ErrorStats
    order_errors: tuple[Floats, ...]
    share: ErrorStats | None
    wire: ErrorStats
    wire_secondary: ErrorStats
    wall: ErrorStats
    delivered: ErrorStats | None
    delivered_secondary: ErrorStats | None

    def order_of(self, bursts: Collection[int]) -> ErrorStats | None:
        """The order errors of these bursts only; None if none of them was scored."""
        found = [
            e for b, e in zip(self.by_burst, self.order_errors, strict=True) if b.burst in bursts
        ]
        return summarise(np.concatenate(found)) if found else None

    @property
    def bursts(self) -> int:
        """The number of bursts scored."""
        return len(self.by_burst)

    @property
    def orders_equal(self) -> int:
        """The number of them in which the order of service is exactly the predicted one."""
        return sum(burst.order_equal for burst in self.by_burst)


def score(
    measured: Iterable[StreamRow],
    predicted: Iterable[StreamRow],
    clocks: Mapping[Connection, WorkClock] = MappingProxyType({}),
) -> list[ModelScore]:
    """Score every (cell, model, level) of the predictions on the bursts that may be scored.

    Parameters
    ----------
    measured, predicted
        Rows; the measured ones are on the wall clock.
    clocks
        The clocks of link work, where something was cut out.

    Raises
    ------
    ValueError
        A prediction lacks a stream of its burst, or has one that was not measured.
    """
    kept = [row for row in measured if row.valid]
    wall, work = bursts(kept), bursts(on_work_clock(kept, clocks))
    by_model: dict[tuple[str, str, str], list[StreamRow]] = {}
    for row in predicted:
        if (row.cell, row.burst) in wall:
            by_model.setdefault((row.cell, row.model, row.level), []).append(row)
    return [_score(key, rows, wall, work) for key, rows in by_model.items()]


Bursts = Mapping[tuple[str, int], Sequence[StreamRow]]


@dataclass(slots=True)
class _Pool:
    """The errors of one kind, burst by burst."""

    found: list[Floats] = field(default_factory=list)

    def add(self, errors: Floats) -> Floats:
        self.found.append(errors)
        return errors

    def stats(self) -> ErrorStats | None:
        return summarise(np.concatenate(self.found)) if self.found else None

    def known(self) -> ErrorStats:
        return summarise(np.concatenate(self.found))


def _score(
    key: tuple[str, str, str], predicted: Sequence[StreamRow], wall: Bursts, work: Bursts
) -> ModelScore:
    order, share, ends, late = _Pool(), _Pool(), _Pool(), _Pool()
    on_wall, delivered, delivered_late = _Pool(), _Pool(), _Pool()
    by_burst = []
    for where, rows in bursts(predicted).items():
        ours, theirs = _align(rows, work[where])
        predicted_ns, measured_ns = _ends_ns(ours), _ends_ns(theirs)
        in_order = order.add(order_errors(ours, theirs))
        in_time = ends.add(primary_errors(predicted_ns, measured_ns))
        late.add(secondary_errors(predicted_ns, measured_ns))
        _, unmapped = _align(rows, wall[where])
        on_wall.add(primary_errors(predicted_ns, _ends_ns(unmapped)))
        _add_share(share, ours, theirs)
        _add_delivered(delivered, delivered_late, ours, theirs)
        by_burst.append(
            BurstScore(
                burst=where[1],
                order_mean=float(in_order.mean()),
                order_max=float(in_order.max()),
                time_mean=float(in_time.mean()),
                time_max=float(in_time.max()),
                order_equal=service_order(ours) == service_order(theirs),
            )
        )
    cell, model, level = key
    return ModelScore(
        cell=cell,
        model=model,
        level=level,
        by_burst=tuple(by_burst),
        order=order.known(),
        order_errors=tuple(order.found),
        share=share.stats(),
        wire=ends.known(),
        wire_secondary=late.known(),
        wall=on_wall.known(),
        delivered=delivered.stats(),
        delivered_secondary=delivered_late.stats(),
    )


def order_errors(ours: Sequence[StreamRow], theirs: Sequence[StreamRow]) -> Floats:
    """The order errors of one burst's streams, in the order of the measured rows."""
    predicted, measured = byte_positions(ours), byte_positions(theirs)
    keys = [(row.connection, row.stream) for row in theirs]
    return position_errors([predicted[key] for key in keys], [measured[key] for key in keys])


def _ends_ns(rows: Iterable[StreamRow]) -> list[int]:
    return [row.wire_end_ns for row in rows]


def _add_share(pool: _Pool, ours: Sequence[StreamRow], theirs: Sequence[StreamRow]) -> None:
    known = [
        (one.link_position, other.link_position)
        for one, other in zip(ours, theirs, strict=True)
        if one.link_position is not None and other.link_position is not None
    ]
    if known:
        pool.add(position_errors([one for one, _ in known], [other for _, other in known]))


def _add_delivered(
    primary: _Pool, secondary: _Pool, ours: Sequence[StreamRow], theirs: Sequence[StreamRow]
) -> None:
    arrived = [row.delivered_ns for row in theirs if row.delivered_ns is not None]
    if len(arrived) == len(theirs):
        ready = [row.wire_end_ns if row.delivered_ns is None else row.delivered_ns for row in ours]
        primary.add(primary_errors(ready, arrived))
        secondary.add(secondary_errors(ready, arrived))


def _align(
    predicted: Sequence[StreamRow], measured: Sequence[StreamRow]
) -> tuple[list[StreamRow], list[StreamRow]]:
    ours = {(r.connection, r.stream): r for r in predicted}
    theirs = {(r.connection, r.stream): r for r in measured}
    if ours.keys() != theirs.keys():
        odd = sorted(ours.keys() ^ theirs.keys())[0]
        where = f"{measured[0].cell}, burst {measured[0].burst}"
        raise ValueError(f"{where}: connection {odd[0]}, stream {odd[1]} is in one trace only")
    keys = sorted(ours)
    return [ours[k] for k in keys], [theirs[k] for k in keys]
