"""From checks of cells to the record: errors pooled, grouped, and counted by reason."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Final

import numpy as np

from netcosim.formatting import percent, short_rate
from netcosim.metrics import summarise
from ray_sweeps.crosscheck.comparable import REASONS
from ray_sweeps.crosscheck.record import (
    Beside,
    Burst,
    Cell,
    Crosscheck,
    Distribution,
    ErrorsOf,
    Group,
    NotCompared,
    Stored,
)
from ray_sweeps.crosscheck.unit import BurstCheck, CellCheck, CellFacts, StreamCheck

GROUPS: Final[dict[str, Callable[[StreamCheck], str]]] = {
    "release": lambda s: s.release,
    "transport": lambda s: s.transport,
    "discipline": lambda s: s.discipline.partition(" ")[0],
    "rate": lambda s: short_rate(s.rate_bps),
    "network": lambda s: s.network,
    "direction": lambda s: s.way,
    "exchange": lambda s: s.exchange,
    "burst on its connections": lambda s: "first" if s.first else "later",
    "credit": lambda s: "streams ran out of it" if s.bound else "no stream ran out of it",
}
"""Properties by which streams are grouped."""

_LEAVES_OUT: Final = (
    "Simulated links carry TCP payload alone, 1448 of the 1514 bytes of a full Ethernet frame, at"
    " the goodput that was measured before the run ({share} of what the configured rate allows):"
    " acknowledgements of the other direction, retransmissions, slow start and congestion control"
    " are left out.",
    "HTTP/2 frame headers, HEADERS and gRPC's five-byte prefixes are not sent: {framing} of the"
    " messages' bytes, by which predicted ends are early.",
    "There is no token bucket: the first bytes of a measured burst pass at line rate, up to the"
    " bucket, by which predicted ends are late at high rates.",
    "A kernel's buffer is as full as it may be ({buffers} cells; none in the others), and credit"
    " returns at once.",
    "From a hand-over to the transport no time passes; workers' connections hand over a message at"
    " one time.",
    "Earlier bursts of a connection are simulated with the hand-overs of the burst that is"
    " compared; what they leave is the discipline's state.",
)

Key = tuple[str, str, int]
"""Run, cell and burst."""


def summarise_checks(
    checks: Iterable[CellCheck],
    lines: Sequence[str],
    *,
    runs: int,
    engine: str,
    complete: bool,
) -> Crosscheck:
    """The record of a cross-check; cells in the order of their names.

    Parameters
    ----------
    checks : of all cells, in any order
    lines : what was left out or is not whole
    runs : that were asked for
    engine : hash of the simulator's source
    complete : whether all units were done
    """
    cells = sorted(checks, key=lambda c: (c.run, c.cell))
    problems = [f"{c.run}: {c.cell}: {c.problem}" for c in cells if c.problem]
    bursts = {(c.run, c.cell, b.burst): b for c in cells for b in c.bursts}
    compared = [s for c in cells for s in c.streams if s.compared]
    return Crosscheck(
        complete=complete,
        engine=engine,
        runs=runs,
        lines=(*lines, *problems),
        compared_bursts=sum(b.compared for b in bursts.values()),
        compared_streams=len(compared),
        errors=_errors(compared, bursts),
        groups=tuple(_groups(compared, bursts)),
        not_compared=tuple(_not_compared(cells, bursts)),
        beside=_beside(cells),
        leaves_out=tuple(_leaves_out(cells)),
        cells=tuple(_cell(c, c.facts, bursts) for c in cells if c.facts is not None),
    )


def _beside(cells: Sequence[CellCheck]) -> Beside | None:
    """The simulator's errors beside the stored ones, over the cells that have both."""
    pairs = [
        (
            statistics.fmean(abs(s.time_error) for s in c.streams if s.compared),
            statistics.fmean(s.order_error for s in c.streams if s.compared),
            c.stored,
        )
        for c in cells
        if c.stored is not None and any(s.compared for s in c.streams)
    ]
    if not pairs:
        return None
    return Beside(
        cells=len(pairs),
        time=statistics.median(time for time, _, _ in pairs),
        order=statistics.median(order for _, order, _ in pairs),
        stored_time=statistics.median(stored.time for _, _, stored in pairs),
        stored_order=statistics.median(stored.order for _, _, stored in pairs),
    )


def _groups(streams: Sequence[StreamCheck], bursts: dict[Key, BurstCheck]) -> Iterable[Group]:
    for by, value_of in GROUPS.items():
        found: dict[str, list[StreamCheck]] = {}
        for stream in sorted(streams, key=lambda s: (s.rate_bps, value_of(s))):
            found.setdefault(value_of(stream), []).append(stream)
        values = found if by == "rate" else sorted(found)
        for value in values:
            errors = _errors(found[value], bursts)
            if errors is not None:
                yield Group(by=by, value=value, errors=errors)


def _not_compared(
    cells: Sequence[CellCheck], bursts: dict[Key, BurstCheck]
) -> Iterable[NotCompared]:
    for reason, text in REASONS.items():
        found = [(c, b) for c in cells for b in c.bursts if b.reason == reason]
        if not found:
            continue
        cell, burst = found[0]
        detail = f": {burst.detail}" if burst.detail else ""
        streams = [s for c in cells for s in c.streams if s.reason == reason]
        yield NotCompared(
            reason=reason,
            text=text,
            bursts=len(found),
            cells=len({(c.run, c.cell) for c, _ in found}),
            example=f"{cell.run}, {cell.cell}, burst {burst.burst}{detail}",
            simulated=_errors(streams, bursts),
        )


def _errors(streams: Sequence[StreamCheck], bursts: dict[Key, BurstCheck]) -> ErrorsOf | None:
    """Errors of streams and of the bursts that they are of; None if there is none."""
    if not streams:
        return None
    time = np.array([s.time_error for s in streams])
    wall_ns: dict[Key, int] = {}
    for s in streams:
        wall_ns[_key(s)] = max(s.wall_ns, wall_ns.get(_key(s), 0))
    wall = [(s.predicted_ns - s.wall_ns) / wall_ns[_key(s)] for s in streams]
    relative = [abs(s.relative_error) for s in streams if s.relative_error is not None]
    own = [bursts[key] for key in wall_ns]
    ends = [b.end for b in own if b.end is not None]
    by_cell: dict[tuple[str, str], list[float]] = {}
    for stream in streams:
        by_cell.setdefault((stream.run, stream.cell), []).append(abs(stream.time_error))
    return ErrorsOf(
        cells=len(by_cell),
        bursts=len(own),
        orders_equal=sum(bool(b.order_equal) for b in own),
        time=_distribution(np.abs(time).tolist()),
        bias=float(time.mean()),
        wall=_distribution([abs(error) for error in wall]),
        relative=_distribution(relative) if relative else None,
        order=_distribution([s.order_error for s in streams]),
        end=_distribution([abs(end) for end in ends]),
        end_bias=statistics.fmean(ends),
        median_cell=statistics.median(statistics.fmean(each) for each in by_cell.values()),
    )


def _key(stream: StreamCheck) -> Key:
    return stream.run, stream.cell, stream.burst


def _distribution(errors: Sequence[float]) -> Distribution:
    stats = summarise(np.asarray(errors, dtype=np.float64))
    return Distribution(
        count=stats.streams,
        mean=stats.mean,
        median=stats.median,
        p95=stats.p95,
        p99=stats.p99,
        max=stats.max,
    )


def _cell(check: CellCheck, facts: CellFacts, bursts: dict[Key, BurstCheck]) -> Cell:
    return Cell(
        run=check.run,
        cell=check.cell,
        **asdict(facts),
        errors=_errors([s for s in check.streams if s.compared], bursts),
        stored=None if check.stored is None else Stored(**asdict(check.stored)),
        bursts=tuple(Burst(**asdict(burst), compared=burst.compared) for burst in check.bursts),
    )


def _leaves_out(cells: Sequence[CellCheck]) -> Iterable[str]:
    simulated = [c.facts for c in cells if c.facts is not None and c.facts.discipline]
    if not simulated:
        return
    shares = [facts.rate_share for facts in simulated]
    framing = [facts.framing for facts in simulated]
    buffered = sum(facts.buffer_bytes is not None for facts in simulated)
    for text in _LEAVES_OUT:
        yield text.format(share=_range(shares), framing=_range(framing), buffers=buffered)


def _range(values: Sequence[float]) -> str:
    least, most = percent(min(values)), percent(max(values))
    return least if least == most else f"{least} to {most}"
