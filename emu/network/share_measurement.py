"""Measurement of how workers share a server, while all pull from it at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from emu.network.contention import Busy
from emu.network.expected import expected_goodput_bps, jitter_ns_of, loss_of, reading_s
from emu.network.live import LiveNetwork
from emu.network.measured_paths import ShareMeasured
from emu.network.probe_processes import Json, ask_at_once
from emu.network.punctuality import Punctuality
from emu.network.rate_readings import GRACE_NS, START_UP, Reading, best_loss, lost_shares
from emu.network.spacing import Samples, bytes_at, measure_spacing, together, window_ns
from emu.pauses.processor_time import ProcessorClock
from netcosim.errors import NetworkError
from netcosim.metrics import jain_index
from topo.paths import path_between, round_trip_ns
from topo.share import max_min_bps
from topo.spec import NetLink

MOST_READINGS: Final = 3
_STEADY_UNEXPLAINED: Final = 0.01
_BUSY: Final = 0.02
"""Share of their rate that the links may leave unused in a slice of time that counts."""

_LEAST_TOGETHER: Final = 0.2
"""Least share of a reading's time in which all workers receive."""

_ROUNDS_OF_A_SLICE: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pull:
    """All workers pulling from one server: their paths, and each one's max-min fair goodput."""

    server: str
    paths: Mapping[str, tuple[NetLink, ...]]
    expected_bps: Mapping[str, int]
    punctuality: Punctuality

    @classmethod
    def of(cls, live: LiveNetwork, server: str) -> Self:
        """Plan the pull from a server of the network."""
        workers = [worker.name for worker in live.spec.workers]
        paths = {worker: path_between(live.spec, server, worker) for worker in workers}
        expected = {w: expected_goodput_bps(r) for w, r in max_min_bps(paths).items()}
        return cls(server=server, paths=paths, expected_bps=expected, punctuality=live.punctuality)

    @property
    def total_bps(self) -> int:
        """Goodput of all workers together."""
        return sum(self.expected_bps.values())

    @property
    def seconds(self) -> float:
        """Seconds of a reading in which the slowest worker gets enough frames.

        As by the machine's clock: workers begin one after the other, and TCP shares out slowly.
        """
        slowest_bps = min(self.expected_bps.values())
        return max(reading_s(path, slowest_bps) for path in self.paths.values())

    @property
    def slice_ns(self) -> int:
        """Length of the slices of time in which shares are compared."""
        slowest_bps = min(self.expected_bps.values())
        rounds_ns = _ROUNDS_OF_A_SLICE * window_ns(slowest_bps, self.punctuality) // 16
        return max(window_ns(self.total_bps, self.punctuality), rounds_ns)

    @property
    def is_steady(self) -> bool:
        """True if no link loses or jitters: TCP can fill them."""
        return not any(
            link.link.loss or link.link.jitter for path in self.paths.values() for link in path
        )


def measure_share(live: LiveNetwork, server: str, busy: Busy) -> ShareMeasured:
    """Measure a server's links while all workers pull; again if time was lost without a reason.

    A reading in which a worker received nothing, or nothing while the others did, is taken again
    too: where the machine pauses that long, it tells nothing of the links.

    Raises
    ------
    NetworkError
        A probe failed, or there was no reading in which all workers received.
    """
    clock = ProcessorClock.read()
    pull = _Pull.of(live, server)
    request = {"do": "down", "seconds": pull.seconds}
    found: list[ShareMeasured] = []
    silent = ""
    for number in range(1, MOST_READINGS + 1):
        answers = ask_at_once(live, server, list(pull.paths), request)
        silent = _silent(pull, answers)
        if silent:
            continue
        found.append(_measured(pull, answers, busy, number, clock))
        if found[-1].unexplained <= _STEADY_UNEXPLAINED:
            break
    if not found:
        raise NetworkError(
            f"{server} to {silent} in any of {MOST_READINGS} readings of {pull.seconds:.1f} s"
        )
    return min(found, key=lambda each: each.unexplained)


def _silent(pull: _Pull, answers: Mapping[str, Json]) -> str:
    """Who received nothing, or nothing while the others did; empty if all received together.

    Where links lose or jitter, TCP itself may wait for long.
    """
    samples: dict[str, Samples] = {worker: answer["samples"] for worker, answer in answers.items()}
    for worker, each in samples.items():
        if len(each) < 2:
            return f"{worker}: nothing arrived"
    begin, end = _common_window(samples, pull.seconds)
    long_enough = end - begin >= _LEAST_TOGETHER * pull.seconds * 1e9
    return "" if long_enough or not pull.is_steady else "all workers: never together"


def _measured(
    pull: _Pull, answers: Mapping[str, Json], busy: Busy, number: int, clock: ProcessorClock
) -> ShareMeasured:
    """Evaluate a reading's answers in the time in which every worker received."""
    samples: dict[str, Samples] = {worker: answer["samples"] for worker, answer in answers.items()}
    window = begin, end = _common_window(samples, pull.seconds)
    all_together = together(samples.values(), begin, end)
    spacing = measure_spacing([all_together], pull.total_bps, punctuality=pull.punctuality)
    found_bps = spacing.rate_bps or pull.total_bps
    lost, unexplained = _loss(pull, answers, all_together, found_bps, busy)
    shares = typical_shares(samples, window, pull.slice_ns, found_bps)
    paths, expected = pull.paths.values(), pull.expected_bps
    relative = [shares[worker] / expected[worker] for worker in pull.paths]
    return ShareMeasured(
        server=pull.server,
        fair=all(link.link.model == "fair" for path in paths for link in path),
        loss=max(loss_of(path) for path in paths),
        bytes_by_worker={w: bytes_between(s, begin, end) for w, s in samples.items()},
        expected_bps=dict(expected),
        total_bps=found_bps if pull.is_steady else _goodput_bps(samples, begin, end),
        jain=jain_index(relative) if any(shares.values()) else 0,
        jitter_ns=max(jitter_ns_of(path) for path in paths),
        agreeing=spacing.share,
        lost=lost,
        unexplained=unexplained,
        steal=ProcessorClock.read().since(clock).steal,
        readings=number,
    )


def _common_window(samples: Mapping[str, Samples], seconds: float) -> tuple[int, int]:
    """Begin and end of the time in which all workers received, the start-up left out."""
    begin = max(s[0][0] for s in samples.values()) + round(seconds * 1e9 * START_UP)
    return begin, max(min(s[-1][0] for s in samples.values()), begin + 1)


def _loss(
    pull: _Pull, answers: Mapping[str, Json], samples: Samples, rate_bps: float, busy: Busy
) -> tuple[float, float]:
    """Share of time that the links stood still, and that of time with free processors."""
    halves = [half for answer in answers.values() for half in (answer, answer["sender"])]
    waits = tuple((start, end) for half in halves for start, end in half["waits"])
    reading = Reading(samples=samples, waits=waits)
    grace_ns = GRACE_NS + max(round_trip_ns(path) for path in pull.paths.values())
    return best_loss([lost_shares(reading, rate_bps, busy(), grace_ns)])


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
