"""Measurement of a network's links before a run, over test connections.

HTB counts frames of 1514 bytes of which TCP with timestamps carries 1448: 0.9564 of the rate is the
most there is. A link's rate is estimated from frames that came back to back (`spacing`), so
that a machine that takes its processors away for a while changes nothing in it.
"""

import functools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from emu.network.contention import Busy, watching_contention
from emu.network.expected import expected_goodput_bps, jitter_ns_of, loss_of, reading_s
from emu.network.live import LiveNetwork
from emu.network.measured_paths import Measured, PathMeasured, ShareMeasured
from emu.network.pairs import MeasuredPath, Pair, plan_pairs, plan_rounds
from emu.network.probe_processes import Ask, asking, serving
from emu.network.punctuality import MACHINE, Punctuality
from emu.network.rate_readings import (
    AGREEMENT,
    AGREEMENT_BOTH,
    GRACE_NS,
    Reading,
    Readings,
    read_way,
)
from emu.network.share_measurement import measure_share
from emu.pauses.processor_time import ProcessorClock
from netcosim.threads import in_threads
from topo.paths import path_between, round_trip_ns
from topo.share import max_min_bps
from topo.spec import NetSpec

_ROUND_TRIPS_S: Final = 0.1
_PROBES_S: Final = 0.3
_WAYS: Final = ("down", "up", "both")
_IDLE, _STEAL = 3, 7  # columns of /proc/stat

Json = dict[str, Any]

__all__ = [
    "Measured",
    "PathMeasured",
    "ShareMeasured",
    "expected_s",
    "measure_network",
    "remeasure",
]


def measure_network(live: LiveNetwork, *, log: Callable[[str], None] = lambda _: None) -> Measured:
    """Measure paths that together cover every link, then how workers share each server.

    Pairs of hosts whose paths share no link are measured side by side.

    Raises
    ------
    NetworkError
        A probe died or did not answer.
    """
    servers = [server.name for server in live.spec.servers]
    shared = servers if len(live.spec.workers) > 1 else []
    return _measure(live, plan_pairs(live.spec), shared, log)


def remeasure(
    live: LiveNetwork,
    before: Measured,
    paths: Sequence[PathMeasured],
    shares: Sequence[ShareMeasured],
    *,
    log: Callable[[str], None] = lambda _: None,
) -> Measured:
    """Measure some paths and shares once more; of all others the earlier measurement stands."""
    wanted = {(path.server, path.worker) for path in paths}
    pairs = [
        pair
        for pair in plan_pairs(live.spec)
        if not wanted.isdisjoint((stretch.server, stretch.worker) for stretch in pair.stands_for)
    ]
    now = _measure(live, pairs, [share.server for share in shares], log)
    new_paths = {(path.server, path.worker): path for path in now.paths}
    new_shares = {share.server: share for share in now.shares}
    return replace(
        now,
        paths=tuple(new_paths.get((path.server, path.worker), path) for path in before.paths),
        shares=tuple(new_shares.get(share.server, share) for share in before.shares),
        rounds=before.rounds + now.rounds,
    )


def _measure(
    live: LiveNetwork, pairs: Sequence[Pair], shared: Sequence[str], log: Callable[[str], None]
) -> Measured:
    """Measure these pairs of hosts, then how workers share these servers."""
    rounds = plan_rounds(pairs)
    listening = list(dict.fromkeys([*shared, *(pair.near for pair in pairs)]))
    before = _processor_time()
    paths: list[PathMeasured] = []
    shares: list[ShareMeasured] = []
    with watching_contention() as busy, serving(live, listening):
        for side_by_side in rounds:
            named = ", ".join(f"{pair.near} - {pair.far}" for pair in side_by_side)
            log(f"measuring {named}")
            calls = [functools.partial(_measure_pair, live, pair, busy) for pair in side_by_side]
            with in_threads(calls, len(calls)) as found:
                paths += [path for each in found for path in each.result()]
        for server in shared:
            log(f"measuring how {len(live.spec.workers)} workers share {server}")
            shares.append(measure_share(live, server, busy))
    order = {worker.name: place for place, worker in enumerate(live.spec.workers)}
    return Measured(
        paths=tuple(sorted(paths, key=lambda path: order[path.worker])),
        shares=tuple(shares),
        rounds=len(rounds),
        **_time_shares(before, _processor_time()),
    )


def expected_s(spec: NetSpec) -> float:
    """Expected seconds of a measurement on an otherwise idle machine."""
    total_s = _PROBES_S
    for side_by_side in plan_rounds(plan_pairs(spec)):
        longest_s = max(reading_s(pair.path) for pair in side_by_side)
        total_s += _PROBES_S + _ROUND_TRIPS_S + len(_WAYS) * MACHINE.readings * longest_s
    if len(spec.workers) > 1:
        for server in spec.servers:
            paths = {w.name: path_between(spec, server.name, w.name) for w in spec.workers}
            slowest_bps = min(max_min_bps(paths).values())
            total_s += _PROBES_S + max(reading_s(path, slowest_bps) for path in paths.values())
    return total_s


def _measure_pair(live: LiveNetwork, pair: Pair, busy: Busy) -> list[PathMeasured]:
    clock = ProcessorClock.read()
    with asking(live, pair.near, pair.far) as ask:
        pause_s = live.punctuality.trip_pause_s
        asked = {"do": "rtt", "seconds": _ROUND_TRIPS_S, "pause_s": pause_s}
        trips = ask(asked)["round_trips_ns"]
        down, up, both = (_read(ask, way, pair, busy, live.punctuality) for way in _WAYS)
    steal = ProcessorClock.read().since(clock).steal
    return [
        _path_measured(stretch, pair, (down, up, both), trips, steal) for stretch in pair.stands_for
    ]


def _read(ask: Ask, way: str, pair: Pair, busy: Busy, punctuality: Punctuality) -> Readings:
    seconds = reading_s(pair.path, punctuality=punctuality)

    def read() -> tuple[Json, Sequence[Reading]]:
        answer = ask({"do": way, "seconds": seconds})
        halves = [answer["down"], answer["up"]] if way == "both" else [answer]
        return answer, [Reading.of(half) for half in halves]

    return read_way(
        read,
        goodput_bps=expected_goodput_bps(pair.rate_bps),
        rate_bps=pair.rate_bps,
        busy=busy,
        grace_ns=GRACE_NS + round_trip_ns(pair.path),
        agreement=AGREEMENT_BOTH if way == "both" else AGREEMENT,
        punctuality=punctuality,
    )


def _path_measured(
    stretch: MeasuredPath,
    pair: Pair,
    readings: tuple[Readings, ...],
    trips: Sequence[int],
    steal: float,
) -> PathMeasured:
    """Turn a pair's readings into the figures of the server and worker that they stand for."""
    ahead, back, both = readings
    if stretch.reversed:
        ahead, back = back, ahead
    sender = ahead.answer["sender"]
    expected_bps = expected_goodput_bps(pair.rate_bps)
    steady = not loss_of(pair.path) and not jitter_ns_of(pair.path)
    # TCP can't fill a link that loses or reorders: what it delivered is all there is to tell.
    one_way = [
        (way.rate_bps or expected_bps) if steady else way.goodput_bps
        for way in (*ahead.ways, *back.ways)
    ]
    two_way = [
        (way.rate_bps or way.goodput_bps) if steady else way.goodput_bps
        for way in (both.ways[::-1] if stretch.reversed else both.ways)
    ]
    (down,), (up,) = ahead.ways, back.ways
    queued = sender["queued_bytes"] or [0]
    return PathMeasured(
        server=stretch.server,
        worker=stretch.worker,
        links=stretch.links,
        rate_bps=pair.rate_bps,
        loss=loss_of(pair.path),
        expected_bps=expected_bps,
        down_bps=one_way[0],
        up_bps=one_way[1],
        both_down_bps=two_way[0],
        both_up_bps=two_way[1],
        round_trip_min_ns=min(trips),
        round_trip_median_ns=round(statistics.median(trips)),
        queued_bytes=round(statistics.median(queued)),
        queued_max_bytes=max(queued),
        congestion_control=sender["congestion_control"],
        jitter_ns=jitter_ns_of(pair.path),
        down_agreeing=down.agreeing,
        up_agreeing=up.agreeing,
        down_lost=down.lost,
        up_lost=up.lost,
        down_unexplained=down.unexplained,
        up_unexplained=up.unexplained,
        steal=steal,
        readings=sum(each.count for each in readings),
    )


def _processor_time() -> list[int]:
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()
    return [int(field) for field in fields[1 : _STEAL + 2]]


def _time_shares(before: Sequence[int], after: Sequence[int]) -> dict[str, float]:
    spent = [late - early for early, late in zip(before, after, strict=True)]
    total = sum(spent) or 1
    return {"steal": spent[_STEAL] / total, "idle": spent[_IDLE] / total}
