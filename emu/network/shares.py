"""Measurement of how workers share a server, while all pull from it at once."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from emu.clock.processor_time import ProcessorClock
from emu.network.contention import Busy
from emu.network.figures import expected_goodput_bps, jitter_ns_of, loss_of, reading_s
from emu.network.live import LiveNetwork
from emu.network.probing import ask_at_once
from emu.network.reading import GRACE_NS, START_UP, Reading, best_loss, lost_shares
from emu.network.records import ShareMeasured
from emu.network.spacing import Samples, bytes_at, measure_spacing, together, window_ns
from netcosim.errors import NetworkError
from netcosim.metrics import jain_index
from topo.paths import path_between, round_trip_ns
from topo.share import max_min_bps
from topo.spec import NetLink

MOST_READINGS: Final = 3
_STEADY_UNEXPLAINED: Final = 0.01
_BUSY: Final = 0.02
"""Share of their rate that the links may leave unused in a slice of time that counts."""

_ROUNDS_OF_A_SLICE: Final = 20


def measure_share(live: LiveNetwork, server: str, busy: Busy) -> ShareMeasured:
    """Measure a server's links while all workers pull; again if time was lost without a reason.

    Raises
    ------
    NetworkError
        A probe failed, or nothing arrived.
    """
    clock = ProcessorClock.read()
    found: list[ShareMeasured] = []
    while len(found) < MOST_READINGS:
        found.append(_one_reading(live, server, busy, len(found) + 1, clock))
        if found[-1].unexplained <= _STEADY_UNEXPLAINED:
            break
    return min(found, key=lambda each: each.unexplained)


def _one_reading(
    live: LiveNetwork, server: str, busy: Busy, number: int, clock: ProcessorClock
) -> ShareMeasured:
    workers = [worker.name for worker in live.spec.workers]
    paths = {worker: path_between(live.spec, server, worker) for worker in workers}
    expected = {w: expected_goodput_bps(r) for w, r in max_min_bps(paths).items()}
    slowest_bps = min(expected.values())
    seconds = max(reading_s(path, slowest_bps) for path in paths.values())
    answers = ask_at_once(live, server, workers, {"do": "down", "seconds": seconds})
    samples = {worker: answer["samples"] for worker, answer in answers.items()}
    for worker, received in samples.items():
        if len(received) < 2:
            raise NetworkError(f"{server} to {worker}: nothing arrived in {seconds:.1f} s")
    begin = max(s[0][0] for s in samples.values()) + round(seconds * 1e9 * START_UP)
    end = max(min(s[-1][0] for s in samples.values()), begin + 1)
    total_bps = sum(expected.values())
    all_together = together(samples.values(), begin, end)
    spacing = measure_spacing([all_together], total_bps)
    found_bps = spacing.rate_bps or total_bps
    halves = [half for answer in answers.values() for half in (answer, answer["sender"])]
    waits = tuple((start, end) for half in halves for start, end in half["waits"])
    reading = Reading(samples=all_together, waits=waits)
    grace_ns = GRACE_NS + max(round_trip_ns(path) for path in paths.values())
    lost, unexplained = best_loss([lost_shares(reading, found_bps, busy(), grace_ns)])
    slice_ns = max(window_ns(total_bps), _ROUNDS_OF_A_SLICE * window_ns(slowest_bps) // 16)
    shares = typical_shares(samples, (begin, end), slice_ns, found_bps)
    return ShareMeasured(
        server=server,
        fair=all(link.link.model == "fair" for path in paths.values() for link in path),
        loss=max(loss_of(path) for path in paths.values()),
        bytes_by_worker={w: bytes_between(s, begin, end) for w, s in samples.items()},
        expected_bps=expected,
        total_bps=found_bps if _is_steady(paths) else _goodput_bps(samples, begin, end),
        jain=jain_index([shares[w] / expected[w] for w in workers]) if any(shares.values()) else 0,
        jitter_ns=max(jitter_ns_of(path) for path in paths.values()),
        agreeing=spacing.share,
        lost=lost,
        unexplained=unexplained,
        steal=ProcessorClock.read().since(clock).steal,
        readings=number,
    )


def bytes_between(samples: Samples, begin_ns: int, end_ns: int) -> int:
    """Bytes that arrived in a window, interpolated between samples."""
    arrived = np.diff(bytes_at(samples, np.array([begin_ns, end_ns])))
    return round(float(arrived[0]))


def typical_shares(
    samples: Mapping[str, Samples], window: tuple[int, int], slice_ns: int, busy_bps: float
) -> dict[str, float]:
    """Median bytes of each worker in the slices of time in which the links were busy.

    Slices in which less came than the links carry are left out, for a pause takes from whom it
    hits; if no slice is busy, all of them count.

    Parameters
    ----------
    samples
        Of each worker: time in ns, bytes so far.
    window
        Begin and end of the time that is sliced, in ns.
    slice_ns
        Many times longer than a round in which every worker gets a frame.
    busy_bps
        What all workers together get while the links are busy.
    """
    begin, end = window
    count = max(1, (end - begin) // slice_ns)
    edges = np.linspace(begin, end, count + 1).astype(np.int64)
    got = np.stack([np.diff(bytes_at(s, edges)) for s in samples.values()])
    rates = got.sum(axis=0) * 8e9 / ((end - begin) / count)
    busy = rates >= (1 - _BUSY) * busy_bps
    medians = np.median(got[:, busy] if busy.any() else got, axis=1)
    return dict(zip(samples, medians.tolist(), strict=True))


def _goodput_bps(samples: Mapping[str, Samples], begin: int, end: int) -> int:
    return round(sum(bytes_between(s, begin, end) for s in samples.values()) * 8e9 / (end - begin))


def _is_steady(paths: Mapping[str, Sequence[NetLink]]) -> bool:
    return not any(link.link.loss or link.link.jitter for path in paths.values() for link in path)
