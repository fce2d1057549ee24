"""Differences between a simulation and an emulation: streams that both have."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from netcosim.compare import ModelScore, score
from netcosim.scoring.differences.ends import ends, named_streams
from netcosim.scoring.differences.records import Change, WorldsCell, WorldsChanges
from netcosim.trace import Service, StreamRow, bursts

NOT_COMPARED: Final = (
    "Training figures (throughput, saturation, bottleneck) are not compared: an emulation sends"
    " single bursts of tensors, and no training job runs in it."
)

Burst = list[StreamRow]


def worlds_changes(
    simulated: Sequence[StreamRow], measured: Sequence[StreamRow], *, simulated_first: bool
) -> WorldsChanges:
    """Compare streams by cell, burst, hosts and tensor.

    A simulated step is the burst of its number. Times of both count from the burst's first
    hand-over.

    Parameters
    ----------
    simulated, measured
        Rows of the two traces; the measured ones on the clock of link work. Of these the bursts
        that may be scored count.
    simulated_first
        Whether the simulation is A.
    """
    ours = bursts(simulated)
    theirs = bursts(row for row in measured if row.valid)
    cells: dict[str, list[tuple[Burst, Burst]]] = {}
    for where, burst in theirs.items():
        if where in ours and (named_streams(burst).keys() & named_streams(ours[where]).keys()):
            pair = (_from_hand_over(ours[where]), _from_hand_over(burst))
            cells.setdefault(where[0], []).append(pair)
    return WorldsChanges(
        cells=tuple(_cell(cell, pairs, simulated_first) for cell, pairs in cells.items()),
        not_compared=NOT_COMPARED,
    )


def _cell(cell: str, pairs: Sequence[tuple[Burst, Burst]], simulated_first: bool) -> WorldsCell:
    common = [_common(ours, theirs) for ours, theirs in pairs]
    scored = _score(common)
    lengths = [[_length_ns(burst) for burst in several] for several in zip(*common, strict=True)]
    whole = list(zip(*pairs, strict=True))
    if not simulated_first:
        lengths.reverse()
        whole.reverse()
    return WorldsCell(
        cell=cell,
        bursts=len(pairs),
        order_mean=scored.order.mean,
        order_max=scored.order.max,
        orders_equal=scored.orders_equal,
        time_mean=scored.wire.mean,
        time_max=scored.wire.max,
        length_ns=Change.between(*lengths),
        ends=ends(*whole),
    )


def _score(pairs: Sequence[tuple[Burst, Burst]]) -> ModelScore:
    """Score the simulation as a model's prediction of the emulation."""
    ours = [row for burst, _ in pairs for row in burst]
    theirs = [row for _, burst in pairs for row in burst]
    [scored] = score(theirs, ours)
    return scored


def _common(ours: Burst, theirs: Burst) -> tuple[Burst, Burst]:
    """The streams that both have; the simulated ones numbered as the measured ones are."""
    simulated, measured = named_streams(ours), named_streams(theirs)
    kept = [stream for stream in measured if stream in simulated]
    numbered = [
        replace(
            simulated[stream],
            connection=measured[stream].connection,
            stream=measured[stream].stream,
        )
        for stream in kept
    ]
    return _in_order_of_service(numbered), [measured[stream] for stream in kept]


def _in_order_of_service(rows: Burst) -> Burst:
    """Rows whose services have their places in their connection's order: by their ends."""
    served: dict[int, list[tuple[int, int, int]]] = {}
    for place, row in enumerate(rows):
        for turn, service in enumerate(row.services):
            served.setdefault(row.connection, []).append((service.end_ns, place, turn))
    position = {
        (place, turn): number
        for mine in served.values()
        for number, (_, place, turn) in enumerate(sorted(mine))
    }
    return [
        replace(
            row,
            services=tuple(
                replace(service, position=position[place, turn])
                for turn, service in enumerate(row.services)
            ),
        )
        for place, row in enumerate(rows)
    ]


def _from_hand_over(burst: Burst) -> Burst:
    """A burst's rows, with ends counted from its first hand-over."""
    zero = min(row.ready_ns for row in burst)
    return [
        replace(
            row,
            ready_ns=row.ready_ns - zero,
            start_ns=row.start_ns - zero,
            wire_end_ns=row.wire_end_ns - zero,
            delivered_ns=None,
            services=tuple(_shifted(service, zero) for service in row.services),
        )
        for row in burst
    ]


def _shifted(service: Service, zero_ns: int) -> Service:
    return replace(service, start_ns=service.start_ns - zero_ns, end_ns=service.end_ns - zero_ns)


def _length_ns(burst: Burst) -> int:
    return max(row.wire_end_ns for row in burst)
