"""Summary of a cell from its rows: measured figures, errors of each model, verdict."""

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final, Literal

import numpy as np

from netcosim.compare import ModelScore, score
from netcosim.metrics import ErrorStats
from netcosim.results.streams.lost import LostRow, work_clocks
from netcosim.results.streams.summary import BurstErrors, CellSummary, Errors, ModelResult, Ratios
from netcosim.results.streams.unstudied_releases import NotStudied, not_studied_text
from netcosim.results.streams.verdict import (
    DISCRIMINATING,
    Limits,
    decide,
    undecided_between,
    verdict,
)
from netcosim.service_positions import byte_positions
from netcosim.trace import StreamRow, bursts
from netcosim.units import format_size
from netcosim.work_clock import on_work_clock

LEVEL = "PREDICT"
GRADE_A: Final = 0.005
GRADE_B: Final = 0.05
UNLIMITED_BYTES = 2**30
"""From here on a window binds nothing; receivers that switch flow control off give 2 GiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFacts:
    """Facts of a cell besides its rows: its settings, path and bursts.

    `capacity_bps` is the TCP goodput that the cell's links delivered before the run, 0 if unknown;
    `invalid_bursts` counts bursts whose evidence was lost, `shown_bursts` are those with an input
    that a pause delayed; `first_bursts` were the first on their connections. `lost_share` is what a
    bottleneck lost of the judged bursts' length, `unexplained_share` the part without a recorded
    pause; None where nothing was recorded. `seen_window_bytes` is the stream window that the
    receiver announced, `past_bytes` the most unacknowledged bytes that the models assume,
    `bdp_bytes` what a round trip holds; None where it is not known. A release is None unless the
    scenario names it. `without_windows` says of disciplines which one they are where no window
    binds.
    """

    workload: str
    transport: str
    sender: str
    receiver: str
    direction: str
    flow_control: bool
    windowed: bool
    window_bytes: int | None
    configured_discipline: str | None
    capacity_bps: float
    invalid_bursts: int
    shown_bursts: frozenset[int] = frozenset()
    first_bursts: frozenset[int] = frozenset()
    lost_share: float | None = None
    unexplained_share: float | None = None
    seen_window_bytes: int | None = None
    past_bytes: int | None = None
    bdp_bytes: float | None = None
    sender_release: str | None = None
    receiver_release: str | None = None
    without_windows: Mapping[str, str] = field(default_factory=dict)
    not_studied: tuple[NotStudied, ...] = ()

    @property
    def cell(self) -> str:
        """The cell's name in traces."""
        return f"{self.workload}/{self.transport}"

    @property
    def subject(self) -> str:
        """Subject of a sentence about this cell: its ends and their flow control."""
        sender = _named(self.sender, self.sender_release)
        receiver = _named(self.receiver, self.receiver_release)
        ends = sender if sender == receiver else f"{sender} to {receiver}"
        control = "on" if self.flow_control else "off"
        window = "" if self.window_bytes is None else f" (window {format_size(self.window_bytes)})"
        return f"{ends} with flow control {control}{window}"


def _named(implementation: str, release: str | None) -> str:
    return implementation if release is None else f"{implementation} {release}"


def grade_of(lost_share: float | None) -> Literal["A", "B", "C"] | None:
    """Grade by the link's lost share: A up to 0.5 %, B up to 5 %; at C only the order is of use."""
    if lost_share is None:
        return None
    return "A" if lost_share <= GRADE_A else "B" if lost_share <= GRADE_B else "C"


def summarise_cell(
    facts: CellFacts,
    measured: Iterable[StreamRow],
    predicted: Iterable[StreamRow],
    lost: Iterable[LostRow] = (),
) -> CellSummary:
    """Score every model on the cell's judged bursts and summarise the measurements.

    Where a pause delayed an input in every burst, the figures are of those, and nothing is decided.

    Parameters
    ----------
    facts
        The cell and its settings.
    measured, predicted
        Rows of traces; those of other cells and of bursts that are not judged are passed over.
    lost
        Time that links lost; what pauses explain is cut out of measured times.

    Raises
    ------
    ValueError
        A prediction lacks a stream of its burst, or has one that was not measured.
    """
    clocks = work_clocks(row for row in lost if row.cell == facts.cell)
    rows = [row for row in measured if row.cell == facts.cell]
    seen = [row for row in rows if row.valid]
    judged_bursts = len({row.burst for row in seen})
    if not seen:
        seen = [replace(row, valid=True) for row in rows if row.burst in facts.shown_bursts]
    claims = [row for row in predicted if row.cell == facts.cell]
    truth = on_work_clock(seen, clocks)
    groups = list(bursts(truth).values())
    models = model_results(score(seen, claims, clocks), facts.first_bursts)
    judged = [model for model in models if model.level == LEVEL]
    separations = model_separations(truth, claims)
    separation = max(separations.values(), default=0.0)
    unknown = not_studied_text(facts.not_studied)
    goodput = _goodput_bps(groups)
    stalls = _mean([sum(row.credit_stops for row in rows) for rows in groups])
    grade = grade_of(facts.lost_share)
    limits = Limits(
        shown=len(facts.shown_bursts),
        unbound=frozenset(
            rows[0].burst for rows in groups if not any(row.credit_stops for row in rows)
        ),
        without_windows=facts.without_windows,
    )
    answer = (
        decide(judged, separations, facts.configured_discipline, limits)
        if judged_bursts
        else undecided_between(judged)
    )
    return CellSummary(
        cell=facts.cell,
        workload=facts.workload,
        transport=facts.transport,
        sender=facts.sender,
        sender_release=facts.sender_release,
        receiver_release=facts.receiver_release,
        not_studied=facts.not_studied,
        receiver=facts.receiver,
        direction=facts.direction,
        flow_control=facts.flow_control,
        window_bytes=facts.window_bytes,
        configured_discipline=facts.configured_discipline,
        judged_bursts=judged_bursts,
        shown_bursts=len(facts.shown_bursts),
        invalid_bursts=facts.invalid_bursts,
        grade=grade,
        lost_share=facts.lost_share,
        unexplained_share=facts.unexplained_share,
        streams=len(groups[0]) if groups else 0,
        burst_bytes=sum(row.size_bytes for row in groups[0]) if groups else 0,
        burst_length_ns=round(_mean([_length_ns(rows) for rows in groups])),
        goodput_bps=goodput,
        utilisation=goodput / facts.capacity_bps if facts.capacity_bps else 0.0,
        stalls=round(stalls),
        link_stall_ns=round(_mean([link_stall_ns(rows) for rows in groups])),
        visits=_mean([len(row.services) for row in truth]),
        counted=not facts.windowed or stalls > 0,
        ratios=cell_ratios(facts, truth),
        models=models,
        best=answer.model,
        separation=separation,
        discriminating=separation >= DISCRIMINATING,
        answer=answer,
        verdict=verdict(
            facts.subject,
            answer,
            judged,
            separation,
            grade,
            facts.configured_discipline,
            limits,
        )
        + ("" if unknown is None else f" {unknown}."),
    )


def cell_ratios(facts: CellFacts, measured: Sequence[StreamRow]) -> Ratios:
    """Ratios of window, turns and buffer to the largest message, and of the path to the window."""
    largest = max((row.wire_bytes for row in measured), default=0)
    window = facts.seen_window_bytes
    # A window no message can use up is none.
    if window is not None and window >= UNLIMITED_BYTES:
        window = None
    turns = [size for row in measured for size in unfinished_turns(row)]
    return Ratios(
        window_to_message=_ratio(window, largest),
        turn_to_message=_ratio(float(np.median(turns)) if turns else None, largest),
        buffer_to_message=_ratio(facts.past_bytes, largest),
        bdp_to_window=_ratio(facts.bdp_bytes, window),
    )


def unfinished_turns(row: StreamRow) -> list[int]:
    """Bytes of each turn that left the stream unfinished; pauses do not end a turn."""
    turns: list[int] = []
    previous = None
    for service in row.services:
        if previous is not None and service.position == previous + 1:
            turns[-1] += service.size_bytes
        else:
            turns.append(service.size_bytes)
        previous = service.position
    return turns[:-1]


def _ratio(value: float | None, of: float | None) -> float | None:
    return value / of if value is not None and of else None


def model_results(
    scores: Iterable[ModelScore], first_bursts: Collection[int] = ()
) -> tuple[ModelResult, ...]:
    """The scores as they stand in the summary: PREDICT first, then best first."""
    results = [
        ModelResult(
            model=s.model,
            level=s.level,  # the record itself refuses other levels
            bursts=s.bursts,
            orders_equal=s.orders_equal,
            order=_errors(s.order),
            order_first=_known_errors(s.order_of(first_bursts)),
            order_later=_known_errors(s.order_of({b.burst for b in s.by_burst} - {*first_bursts})),
            share=_known_errors(s.share),
            by_burst=tuple(
                BurstErrors(first=burst.burst in first_bursts, **asdict(burst))
                for burst in s.by_burst
            ),
            wire=_errors(s.wire),
            wall=_errors(s.wall),
            wire_secondary=_errors(s.wire_secondary),
            delivered=_known_errors(s.delivered),
            delivered_secondary=_known_errors(s.delivered_secondary),
        )
        for s in scores
    ]
    return tuple(
        sorted(
            results,
            key=lambda r: (r.level != LEVEL, r.level, r.order.mean, r.wire.mean, r.model),
        )
    )


def model_separations(
    measured: Iterable[StreamRow], predicted: Iterable[StreamRow]
) -> dict[frozenset[str], float]:
    """Mean distance between two models' predicted positions of stream ends, for each pair."""
    there = bursts(measured)
    claims: dict[tuple[str, str, int], list[StreamRow]] = {}
    for row in predicted:
        if row.level == LEVEL and (row.cell, row.burst) in there:
            claims.setdefault((row.model, row.cell, row.burst), []).append(row)
    ends: dict[str, dict[tuple[int, int, int], float]] = {}
    for (model, _, burst), rows in claims.items():
        for (connection, stream), position in byte_positions(rows).items():
            ends.setdefault(model, {})[burst, connection, stream] = position
    return {
        frozenset((one, other)): _distance(ends[one], ends[other])
        for one, other in itertools.combinations(ends, 2)
    }


def link_stall_ns(rows: Sequence[StreamRow]) -> int:
    """Time in which nothing of a burst was on the wire while a stream waited for credit."""
    edges: list[tuple[int, int, int]] = []
    for row in rows:
        for service in row.services:
            edges += [(service.start_ns, 1, 0), (service.end_ns, -1, 0)]
        for stall in row.stalls:
            edges += [(stall.start_ns, 0, 1), (stall.end_ns, 0, -1)]
    total = served = waiting = previous = 0
    for time, service_step, stall_step in sorted(edges):
        if served == 0 and waiting > 0:
            total += time - previous
        served += service_step
        waiting += stall_step
        previous = time
    return total


def _distance(
    one: Mapping[tuple[int, int, int], float], other: Mapping[tuple[int, int, int], float]
) -> float:
    return _mean([abs(end - other[key]) for key, end in one.items() if key in other])


def _length_ns(rows: Iterable[StreamRow]) -> int:
    return max(row.wire_end_ns for row in rows)


def _goodput_bps(groups: Sequence[Sequence[StreamRow]]) -> float:
    moved = sum(row.wire_bytes for rows in groups for row in rows)
    time_ns = sum(_length_ns(rows) - min(r.start_ns for r in rows) for rows in groups)
    return moved * 8e9 / time_ns if time_ns else 0.0


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def _known_errors(stats: ErrorStats | None) -> Errors | None:
    return None if stats is None else _errors(stats)


def _errors(stats: ErrorStats) -> Errors:
    return Errors(
        streams=stats.streams,
        mean=stats.mean,
        median=stats.median,
        p95=stats.p95,
        p99=stats.p99,
        max=stats.max,
    )
