"""Find link time lost to machine pauses in a burst, and cut it out of the clock of link work.

Cut out is time in which a bottleneck's bucket was full and nothing came (`link_work`), though some
connection over it had a message handed over and credit for it, and which a recorded pause explains.
It is decided before any model runs, from the captures, the applications' logs and the pauses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from emu.capture.report import Packets, gaps_between
from emu.measurement.link_work import LinkWork
from emu.measurement.trace_rows import CapturedBurst
from emu.pauses.pauses import PERIOD_NS, Pauses
from netcosim.results.streams.lost import PAUSE, UNEXPLAINED, LostRow
from netcosim.spans import Spans, common, total_ns, united, widened, within, without
from netcosim.work_clock import WorkClock
from topo.share import LinkDirection

RECOVERY_NS: Final = PERIOD_NS + 1_000_000
"""Time of the ends to fill the link again after a pause, beyond a round trip: a late
acknowledgement, a process to be woken at either end, one period of the recorder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionClock:
    """One connection's bottleneck during one burst; all times on the machine's clock.

    Attributes
    ----------
    seen : the burst
    way : the direction of a link that is its bottleneck
    work : the frames that it carried
    cut : spans cut out of the connection's time
    unexplained : lost time that no recorded pause explains; it stays
    lag_ns : time of bytes between their sender's decision and the wire
    """

    seen: CapturedBurst
    way: LinkDirection
    work: LinkWork
    cut: Spans
    unexplained: Spans
    lag_ns: int

    @property
    def lost_ns(self) -> int:
        """Time that the bottleneck lost though data could be sent."""
        return total_ns(self.cut) + total_ns(self.unexplained)

    def clock(self, zero_ns: int) -> WorkClock:
        """The connection's clock in this burst, from the burst's wall clock."""
        return WorkClock.without((start - zero_ns, end - zero_ns) for start, end in self.cut)

    def rows(self, cell: str, zero_ns: int) -> list[LostRow]:
        """Rows of `lost.parquet`, one a span."""
        named = [(PAUSE, span) for span in self.cut]
        named += [(UNEXPLAINED, span) for span in self.unexplained]
        return [
            LostRow(
                cell=cell,
                burst=self.seen.burst,
                connection=self.seen.carried.planned.index,
                start_ns=start - zero_ns,
                length_ns=end - start,
                cause=cause,
            )
            for cause, (start, end) in sorted(named, key=lambda each: each[1])
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkShape:
    """A link as configured: its rate and its token bucket."""

    rate_bps: int
    bucket_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Routes of a cell's connections, by their numbers, and the links as configured, by name.

    `routes` has the directions of links that a connection's data crosses, `bottlenecks` the busiest
    of them, `lags_ns` the time of bytes between their sender's decision and the wire.
    """

    routes: Mapping[int, tuple[LinkDirection, ...]]
    bottlenecks: Mapping[int, LinkDirection]
    links: Mapping[str, LinkShape]
    lags_ns: Mapping[int, int]


def connection_clocks(
    together: Sequence[CapturedBurst], paths: Paths, pauses: Pauses, zero_ns: int
) -> list[ConnectionClock]:
    """Bottleneck of each connection of a burst, and the spans cut out of its time.

    Parameters
    ----------
    together
        One burst of all connections of a cell.
    paths
        Their routes and bottlenecks.
    pauses
        The recorded pauses.
    zero_ns
        The burst's zero.
    """
    ways = [paths.bottlenecks[each.carried.planned.index] for each in together]
    end_ns = max(each.last_ns for each in together)
    found: dict[LinkDirection, tuple[LinkWork, Spans, Spans]] = {}
    for way in set(ways):
        work = _work(together, paths, way, zero_ns, end_ns)
        crossing = [each for each in together if way in _route(paths, each)]
        usable = common(work.lost, united(span for each in crossing for span in _sendable(each)))
        round_trip_ns = max(each.carried.data.round_trip_ns for each in crossing)
        evidence = widened(
            within(pauses.anywhere, zero_ns - PERIOD_NS, end_ns), 0, RECOVERY_NS + round_trip_ns
        )
        found[way] = work, common(usable, evidence), without(usable, evidence)
    return [
        ConnectionClock(
            seen=each,
            way=way,
            work=found[way][0],
            cut=found[way][1],
            unexplained=found[way][2],
            lag_ns=paths.lags_ns[each.carried.planned.index],
        )
        for each, way in zip(together, ways, strict=True)
    ]


def _route(paths: Paths, seen: CapturedBurst) -> tuple[LinkDirection, ...]:
    return paths.routes[seen.carried.planned.index]


def _work(
    together: Sequence[CapturedBurst], paths: Paths, way: LinkDirection, zero_ns: int, end_ns: int
) -> LinkWork:
    """Frames in one direction of a link: data, and acknowledgements of other data."""
    name, forward = way
    packets: list[Packets] = []
    for each in together:
        route = _route(paths, each)
        if way in route:
            packets.append(each.carried.data.packets.between(zero_ns, end_ns))
        if (name, not forward) in route:
            packets.append(each.carried.feedback.packets.between(zero_ns, end_ns))
    link = paths.links[name]
    return LinkWork.of(packets, link.rate_bps, link.bucket_bytes)


def link_positions(clocks: Sequence[ConnectionClock]) -> dict[tuple[int, int], float]:
    """Share of the bottleneck's DATA carried by each stream's end, by connection and stream.

    Counted at the receivers, over all connections with that bottleneck; those that have one to
    themselves are left out.
    """
    found: dict[tuple[int, int], float] = {}
    for way in {clock.way for clock in clocks}:
        sharing = [clock.seen for clock in clocks if clock.way == way]
        if len(sharing) > 1:
            found.update(_positions(sharing))
    return found


def _positions(sharing: Sequence[CapturedBurst]) -> dict[tuple[int, int], float]:
    inside = []
    for seen in sharing:
        chunks = seen.carried.data.chunks
        mine = np.isin(chunks.stream, [stream.stream for stream in seen.streams.values()])
        inside.append((chunks.time_ns[mine], chunks.size_bytes[mine]))
    time_ns = np.concatenate([times for times, _ in inside])
    order = np.argsort(time_ns, kind="stable")
    done = np.cumsum(np.concatenate([sizes for _, sizes in inside])[order])
    times = time_ns[order]
    found = {}
    for seen in sharing:
        for index, stream in seen.streams.items():
            place = np.searchsorted(times, seen.half(index).last_data_ns or 0, side="right") - 1
            key = seen.carried.planned.index, stream.stream
            found[key] = float(done[place] / done[-1])
    return found


def _sendable(seen: CapturedBurst) -> Spans:
    """Spans in which a connection had a message handed over and unfinished, and credit for it."""
    handed = [
        (log.handed_ns, seen.half(log.index).last_data_ns or seen.last_ns)
        for log in seen.log.streams
    ]
    stalls = gaps_between(seen.carried.data.short_stalls, seen.first_ns, seen.last_ns)
    return without(united(handed), united((gap.start_ns, gap.end_ns) for gap in stalls))
