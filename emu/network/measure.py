"""Measures a network before a run: what its links deliver, over connections of their own.

Goodput is taken at the receiver over a steady window, start-up excluded. HTB counts frames of
1514 bytes of which TCP with timestamps carries 1448: 0.9564 of the rate is the most there is.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from emu.network.live import LiveNetwork
from emu.network.probing import ask_at_once, asking, serving
from emu.network.tc import FRAME_BYTES
from netcosim.errors import NetworkError
from netcosim.metrics import jain_index
from topo.paths import bottleneck_bps, path_between, round_trip_ns
from topo.share import max_min_bps
from topo.spec import NetLink

PAYLOAD_BYTES: Final = 1448
_ONE_PATH_S: Final = 0.3
_AGREEMENT: Final = 0.0005
_AGREEMENT_BOTH: Final = 0.003
_LEAST_READINGS: Final = 3
_MOST_READINGS: Final = 6
_LEAST_S: Final = 0.25
_LEAST_FRAMES: Final = 100
_ROUND_TRIPS_S: Final = 0.1
_START_UP: Final = 0.35
_IDLE, _STEAL = 3, 7  # columns of /proc/stat

Json = dict[str, Any]
Samples = Sequence[Sequence[int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class PathMeasured:
    """One server and one worker: goodput in bits per second one way and both ways at once.

    ``down`` is from server to worker; ``both_down`` is what it gets while ``up`` is busy, too.
    `queued_bytes` are what lies past a server's blocked sender: the median of SIOCOUTQ whenever it
    could not write.
    """

    server: str
    worker: str
    links: tuple[str, ...]
    rate_bps: int
    loss: float
    expected_bps: int
    down_bps: int
    up_bps: int
    both_down_bps: int
    both_up_bps: int
    round_trip_min_ns: int
    round_trip_median_ns: int
    queued_bytes: int
    queued_max_bytes: int
    congestion_control: str
    jitter_ns: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ShareMeasured:
    """All workers pull from one server at once: bytes of each in the same window.

    `expected_bps` is each worker's max-min fair goodput; `jain` is Jain's index of the bytes, each
    divided by what was expected.
    """

    server: str
    fair: bool
    loss: float
    bytes_by_worker: dict[str, int]
    expected_bps: dict[str, int]
    total_bps: int
    jain: float
    jitter_ns: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A network as measured, and what the processors did meanwhile.

    `steal` is the share of their time that the hypervisor gave to others, `idle` the share that
    nobody wanted.
    """

    paths: tuple[PathMeasured, ...]
    shares: tuple[ShareMeasured, ...]
    steal: float
    idle: float

    def record(self) -> Json:
        """Plain values, ready for JSON."""
        return asdict(self)


def measure_network(live: LiveNetwork, *, log: Callable[[str], None] = lambda _: None) -> Measured:
    """Measure paths that together cover every link, then how workers share each server.

    Raises
    ------
    NetworkError
        A probe died or did not answer.
    """
    spec = live.spec
    servers, workers = [s.name for s in spec.servers], [w.name for w in spec.workers]
    count = max(len(servers), len(workers))
    pairs = [(servers[i % len(servers)], workers[i % len(workers)]) for i in range(count)]
    before = _processor_time()
    with serving(live, servers):
        paths = [_measure_path(live, s, w, len(pairs), log) for s, w in pairs]
        shares = [_measure_share(live, s, log) for s in servers] if len(workers) > 1 else []
    return Measured(
        paths=tuple(paths), shares=tuple(shares), **_time_shares(before, _processor_time())
    )


def expected_goodput_bps(rate_bps: int) -> int:
    """TCP's payload of a rate that counts whole frames, in bits per second."""
    return rate_bps * PAYLOAD_BYTES // FRAME_BYTES


def steady_goodput_bps(samples: Samples) -> int:
    """Goodput from the end of start-up on, in bits per second.

    The slope of the least squares through all samples: a late reading at either end, of which a
    brief measurement has few, does not turn it.

    Parameters
    ----------
    samples
        Pairs of arrival time in ns and bytes so far.
    """
    if len(samples) < 4:
        return 0
    begin = samples[0][0] + round((samples[-1][0] - samples[0][0]) * _START_UP)
    times, sizes = zip(*(sample for sample in samples if sample[0] >= begin), strict=True)
    if times[-1] == times[0]:
        return 0
    return round(statistics.linear_regression(times, sizes).slope * 8e9)


def bytes_between(samples: Samples, begin_ns: int, end_ns: int) -> int:
    """Bytes that arrived in a window, interpolated between samples."""
    return round(_bytes_at(samples, end_ns) - _bytes_at(samples, begin_ns))


def _measure_path(
    live: LiveNetwork, server: str, worker: str, count: int, log: Callable[[str], None]
) -> PathMeasured:
    path = path_between(live.spec, server, worker)
    rate = bottleneck_bps(path)
    log(f"measuring {server} - {worker}")
    seconds = _duration_s(path, count)
    with asking(live, server, worker) as ask:
        trips = ask({"do": "rtt", "seconds": _ROUND_TRIPS_S})["round_trips_ns"]
        down, (down_bps,) = _steady(ask, "down", seconds, rate)
        _, (up_bps,) = _steady(ask, "up", seconds, rate)
        _, (both_down_bps, both_up_bps) = _steady(ask, "both", seconds, rate)
    queued = down["sender"]["queued_bytes"] or [0]
    return PathMeasured(
        server=server,
        worker=worker,
        links=tuple(link.name for link in path),
        rate_bps=rate,
        loss=_loss(path),
        expected_bps=expected_goodput_bps(rate),
        down_bps=down_bps,
        up_bps=up_bps,
        both_down_bps=both_down_bps,
        both_up_bps=both_up_bps,
        round_trip_min_ns=min(trips),
        round_trip_median_ns=round(statistics.median(trips)),
        queued_bytes=round(statistics.median(queued)),
        queued_max_bytes=max(queued),
        congestion_control=down["sender"]["congestion_control"],
        jitter_ns=_jitter_ns(path),
    )


def _steady(
    ask: Callable[[Json], Json], way: str, seconds: float, rate_bps: int
) -> tuple[Json, tuple[int, ...]]:
    """Read a way's goodput until the two highest readings agree; the higher, and its answer.

    Both ways at once are one reading of two numbers, and the higher is that with the higher sum. A
    processor taken away for a moment lowers a reading; only the bucket that fills meanwhile can
    raise one, beyond what the rate carries, and such a reading does not count. Where no two agree
    the highest stands.
    """
    most = expected_goodput_bps(rate_bps) * (1 + _AGREEMENT)
    allowed = _AGREEMENT_BOTH if way == "both" else _AGREEMENT
    readings: list[tuple[tuple[int, ...], Json]] = []
    while len(readings) < _MOST_READINGS:
        answer = ask({"do": way, "seconds": seconds})
        halves = [answer["down"], answer["up"]] if way == "both" else [answer]
        found = tuple(steady_goodput_bps(half["samples"]) for half in halves)
        readings.append((found, answer))
        readings.sort(key=lambda reading: (max(reading[0]) > most, -sum(reading[0])))
        if len(readings) >= _LEAST_READINGS:
            pairs = zip(readings[0][0], readings[1][0], strict=True)
            if all(abs(a - b) <= allowed * a for a, b in pairs):
                break
    return readings[0][1], readings[0][0]


def _measure_share(live: LiveNetwork, server: str, log: Callable[[str], None]) -> ShareMeasured:
    workers = [worker.name for worker in live.spec.workers]
    paths = {worker: path_between(live.spec, server, worker) for worker in workers}
    expected = {w: expected_goodput_bps(r) for w, r in max_min_bps(paths).items()}
    slowest = min(expected.values())
    seconds = max(_duration_s(p, len(live.spec.servers)) for p in paths.values())
    seconds = max(seconds, _LEAST_FRAMES * 8 * FRAME_BYTES / slowest)
    log(f"measuring how {len(workers)} workers share {server}")
    answers = ask_at_once(live, server, workers, {"do": "down", "seconds": seconds})
    samples = {worker: answer["samples"] for worker, answer in answers.items()}
    for worker, found in samples.items():
        if len(found) < 2:
            raise NetworkError(f"{server} to {worker}: nothing arrived in {seconds:.1f} s")
    begin = max(s[0][0] for s in samples.values()) + round(seconds * 1e9 * _START_UP)
    end = max(min(s[-1][0] for s in samples.values()), begin + 1)
    shares = {worker: bytes_between(s, begin, end) for worker, s in samples.items()}
    links = {link.name: link for path in paths.values() for link in path}.values()
    return ShareMeasured(
        server=server,
        fair=all(link.link.model == "fair" for link in links),
        loss=max(_loss(path) for path in paths.values()),
        bytes_by_worker=shares,
        expected_bps=expected,
        total_bps=round(sum(shares.values()) * 8e9 / (end - begin)),
        jain=jain_index([shares[w] / expected[w] for w in workers])
        if any(shares.values())
        else 0.0,
        jitter_ns=max(_jitter_ns(path) for path in paths.values()),
    )


def _duration_s(path: Sequence[NetLink], count: int) -> float:
    """Brief, but enough frames for a slow link and enough round trips for a long one."""
    frames_s = _LEAST_FRAMES * 8 * FRAME_BYTES / bottleneck_bps(tuple(path))
    trips_s = 40 * round_trip_ns(tuple(path)) / 1e9
    return max(_ONE_PATH_S / count, _LEAST_S, frames_s / (1 - _START_UP), trips_s)


def _loss(path: Sequence[NetLink]) -> float:
    kept = 1.0
    for link in path:
        kept *= 1 - link.link.loss
    return 1 - kept


def _jitter_ns(path: Sequence[NetLink]) -> int:
    return max(link.link.jitter for link in path)


def _bytes_at(samples: Samples, time_ns: int) -> float:
    for (t0, b0), (t1, b1) in pairwise(samples):
        if t0 <= time_ns <= t1:
            return b0 + (b1 - b0) * (time_ns - t0) / (t1 - t0)
    return float(samples[0][1] if time_ns < samples[0][0] else samples[-1][1])


def _processor_time() -> list[int]:
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()
    return [int(field) for field in fields[1 : _STEAL + 2]]


def _time_shares(before: Sequence[int], after: Sequence[int]) -> dict[str, float]:
    spent = [late - early for early, late in zip(before, after, strict=True)]
    total = sum(spent) or 1
    return {"steal": spent[_STEAL] / total, "idle": spent[_IDLE] / total}
