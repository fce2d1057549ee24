"""Two traces of the same job compared: how far the ends are apart, whether the order agrees."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from netcosim.metrics import ErrorStats, Floats, primary_errors, secondary_errors, summarise
from netcosim.trace import StreamRow, bursts, service_order


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelScore:
    """One model against the measured bursts of one cell, pooled over the valid ones.

    `orders_equal` counts the bursts whose order of service is exactly the predicted one. Where a
    receiver was not calibrated, a predicted wire end stands for its delivered end.
    """

    cell: str
    model: str
    level: str
    bursts: int
    orders_equal: int
    wire: ErrorStats
    wire_secondary: ErrorStats
    delivered: ErrorStats | None
    delivered_secondary: ErrorStats | None


def score(measured: Iterable[StreamRow], predicted: Iterable[StreamRow]) -> list[ModelScore]:
    """Score every (cell, model, level) of the predictions on the valid bursts that both hold.

    Raises
    ------
    ValueError
        A prediction lacks a stream of its burst, or has one that was not measured.
    """
    truth = bursts(row for row in measured if row.valid)
    by_model: dict[tuple[str, str, str], list[StreamRow]] = {}
    for row in predicted:
        if (row.cell, row.burst) in truth:
            by_model.setdefault((row.cell, row.model, row.level), []).append(row)
    return [_score(key, rows, truth) for key, rows in by_model.items()]


def _score(
    key: tuple[str, str, str],
    predicted: Sequence[StreamRow],
    truth: dict[tuple[str, int], list[StreamRow]],
) -> ModelScore:
    wire: list[Floats] = []
    late: list[Floats] = []
    delivered: list[Floats] = []
    delivered_late: list[Floats] = []
    equal = 0
    groups = bursts(predicted)
    for where, rows in groups.items():
        ours, theirs = _align(rows, truth[where])
        ends = [r.wire_end_ns for r in ours]
        measured = [r.wire_end_ns for r in theirs]
        wire.append(primary_errors(ends, measured))
        late.append(secondary_errors(ends, measured))
        equal += service_order(ours) == service_order(theirs)
        arrived = [r.delivered_ns for r in theirs if r.delivered_ns is not None]
        if len(arrived) == len(theirs):
            ready = [r.wire_end_ns if r.delivered_ns is None else r.delivered_ns for r in ours]
            delivered.append(primary_errors(ready, arrived))
            delivered_late.append(secondary_errors(ready, arrived))
    cell, model, level = key
    return ModelScore(
        cell=cell,
        model=model,
        level=level,
        bursts=len(groups),
        orders_equal=equal,
        wire=summarise(np.concatenate(wire)),
        wire_secondary=summarise(np.concatenate(late)),
        delivered=summarise(np.concatenate(delivered)) if delivered else None,
        delivered_secondary=summarise(np.concatenate(delivered_late)) if delivered_late else None,
    )


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
