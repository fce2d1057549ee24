"""Captured connections of a round, and the facts that each burst is judged by."""

import math
from collections.abc import Sequence
from typing import Final

from emu.capture import analyse_capture
from emu.capture.analyse import DEFAULT_GAP_NS, PACKETS_OF_A_GAP
from emu.measurement.burst_clock import ConnectionClock
from emu.measurement.delayed_inputs import DelayedInput
from emu.measurement.round import Round
from emu.measurement.trace_rows import (
    CapturedBurst,
    CapturedConnection,
    common_zero,
    find_connection,
)
from emu.measurement.validity import Facts, LinkSeen
from netcosim.errors import CaptureError
from netcosim.scenario import TcpSpec
from netcosim.spans import total_ns
from topo.spec import FRAME_BYTES, NetSpec

_LEAST_LAG_NS: Final = 20_000_000
_FRAME_BITS: Final = FRAME_BYTES * 8


def captured_connections(
    done: Round, net: NetSpec, tcp: TcpSpec
) -> tuple[list[CapturedConnection], list[str]]:
    """Connections of a round as captured where they end, and the problems of the captures.

    Raises
    ------
    CaptureError
        A capture can't be read, or lacks a connection.
    """
    rate_bps = min(link.link.rate for link in net.links)
    packet_ns = math.ceil(_FRAME_BITS * 1e9 / rate_bps) * max(1, len(done.planned))
    gap_ns = max(DEFAULT_GAP_NS, PACKETS_OF_A_GAP * packet_ns)
    # Bytes in the socket buffer can take twice their time on an idle link to be on the wire.
    lag_ns = max(_LEAST_LAG_NS, round(16e9 * (tcp.send_buffer or 0) / rate_bps))
    reports = {
        host: analyse_capture(path, gap_ns=gap_ns, lag_ns=lag_ns)
        for host, path in done.captures.items()
        if path.exists()
    }
    missing = [c.destination for c in done.planned if c.destination not in reports]
    if missing:
        raise CaptureError(f"{missing[0]}: nothing was captured")
    connections = [
        CapturedConnection(
            planned=planned,
            logs=logs,
            report=find_connection(reports[planned.destination], planned.port),
        )
        for planned, logs in zip(done.planned, done.logs, strict=True)
        if logs
    ]
    return connections, [
        f"{host}: {p}" for host, report in reports.items() for p in report.problems
    ]


def facts_of(
    done: Round,
    seen: Sequence[CapturedBurst],
    burst: int,
    clocks: Sequence[ConnectionClock] = (),
    moved: Sequence[DelayedInput] = (),
) -> Facts:
    """Facts of one burst of a round, over all its connections.

    Of the problems of a capture those count that touch the burst: what went wrong behind the last
    byte of its data is no evidence against it.
    """
    facts = done.facts[burst]
    past = [each.log.past_scheduler for each in seen]
    known = [p.max_bytes for p in past if p is not None]
    worst = max(clocks, key=lambda clock: clock.lost_ns, default=None)
    links = {clock.way: clock.work for clock in clocks}
    return Facts(
        steal=facts.steal,
        throttled_ns=facts.throttled_ns,
        retransmissions=facts.retransmissions,
        loss_probes=facts.loss_probes,
        timeouts=facts.timeouts,
        reorderings=facts.reorderings,
        drops=facts.drops,
        capture_drops=done.lost.get(burst, 0),
        zero_ns=common_zero(seen),
        length_ns=max(each.last_ns for each in seen) - common_zero(seen),
        lost_ns=0 if worst is None else worst.lost_ns,
        cut_ns=0 if worst is None else total_ns(worst.cut),
        links=tuple(
            LinkSeen(name=name, rate_bps=work.rate_bps, seen_bps=work.seen_bps)
            for (name, _), work in sorted(links.items())
        ),
        moved=tuple(moved),
        late_ns=max(each.log.late_ns for each in seen),
        past_scheduler_bytes=max(known) if known else None,
        problems=tuple(
            p for each in seen for p in each.carried.report.problems_until(each.last_ns)
        ),
    )
