"""Agreement of other simulators and the C++ twin with our engines, and the simulators' speed."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from bench.common.record import Figure
from bench.peers import fast_twin
from bench.peers.agree import PEERS, Agreement, Peer, agreements, largest_difference
from bench.peers.job import write_job
from bench.peers.reference import reference_sending
from bench.sim.engines import Rows
from bench.sim.reference_job import FAST, GENERIC, RATES_BPS, TWIN, Job, engine_competitor, loop_s
from bench.sim.timing import Competitor, Effort, Timing, alternate, enough, judged, ratio_figure
from netcosim.training.plan import Draws, Floats
from sim.engine.engine import Engine
from sim.fast.engine import FastEngine

WORKERS: Final = 4
TWIN_LIMIT: Final = 1e-12
FAST_LIMIT: Final = 1e-9
LEAST: Final = {
    ("SimGrid", False): 500.0,
    ("SimGrid", True): 50.0,
    ("SimPy", False): 2000.0,
    ("SimPy", True): 2000.0,
}
"""Least ratio of each one's time to the fast path's, by whether computations are fused."""

_TWIN_STEPS = (10, 1000)
_TWIN_WORKERS = (1, 4, 16)


def ends_ns(engine: FastEngine | Engine, draws: Draws) -> Floats:
    """(workers, steps) times at which each step ends, ns."""
    engine.run()
    steps = engine.steps()
    found = np.full(draws.step.shape, np.nan)
    found[steps.worker, steps.step] = steps.end_ns
    return found


def apart(expected: Floats, found: Floats) -> float:
    """Largest relative difference of times; infinite if some are missing."""
    difference = float(np.abs(found / expected - 1.0).max())
    return difference if np.isfinite(difference) else float("inf")


def twin_difference(build: Path) -> float:
    """Largest relative difference of the C++ twin's ends of steps from the fast path's."""
    worst = 0.0
    with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as scratch:
        dump = Path(scratch) / "job.bin"
        for job in _agreement_jobs(_TWIN_WORKERS):
            for steps in _TWIN_STEPS:
                draws = job.draws(steps)
                job.write_dump(dump, draws)
                run = fast_twin.run(build, dump, ends=True)
                worst = max(worst, largest_difference(ends_ns(job.fast(draws), draws), run))
    return worst


def fast_difference() -> float:
    """Largest relative difference of the fast path's ends of 10 steps from the generic engine's."""
    worst = 0.0
    for job in _agreement_jobs((1, 2, 4)):
        draws = job.draws(_TWIN_STEPS[0])
        worst = max(
            worst, apart(ends_ns(job.generic(draws), draws), ends_ns(job.fast(draws), draws))
        )
    return worst


def _agreement_jobs(workers: Sequence[int]) -> Iterator[Job]:
    for rate_bps in RATES_BPS:
        for staleness in (None, 0):
            for w in workers:
                yield Job(rate_bps=rate_bps, workers=w, staleness=staleness)


def own_agreement(build: Path) -> tuple[Figure, Figure]:
    """Agreement of the fast path with the generic engine, and of the twin with the fast path."""
    fast, twin = fast_difference(), twin_difference(build)
    note = "bit for bit" if twin == 0.0 else ""
    steps = " and ".join(map(str, _TWIN_STEPS))
    return (
        judged(f"{FAST} against {GENERIC}, ends of 10 steps", fast, "", most=FAST_LIMIT),
        judged(
            f"{TWIN} against {FAST}, ends of {steps} steps", twin, "", most=TWIN_LIMIT, note=note
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Agreement of a peer with the generic engine, on 10 steps of all jobs tried."""

    peer: Peer
    release: str
    difference: float

    @property
    def agrees(self) -> bool:
        """True if the peer agrees, and so may be timed."""
        return self.difference <= self.peer.limit

    def figure(self) -> Figure:
        """The largest difference against the peer's limit."""
        name = f"{self.peer.name} {self.release} against {GENERIC}, ends of 10 steps"
        note = "" if self.agrees else "not timed: it simulates something else"
        return judged(name, self.difference, "", most=self.peer.limit, note=note)


def verdicts(build: Path) -> list[Verdict]:
    """Compare every peer with the generic engine; build what is missing."""
    return judge_agreements(list(agreements(build)))


def judge_agreements(found: Sequence[Agreement]) -> list[Verdict]:
    """The worst of each peer's agreements."""
    return [
        Verdict(
            peer=peer,
            release=next(a.release for a in found if a.peer is peer),
            difference=max(a.difference for a in found if a.peer is peer),
        )
        for peer in PEERS
        if any(a.peer is peer for a in found)
    ]


def peer_figures(
    agreed: Sequence[Verdict], effort: Effort, build: Path, rows: Rows
) -> Iterator[Figure]:
    """Ratios of the agreeing peers' times to ours, on the same draws of the same job."""
    peers = [verdict.peer for verdict in agreed if verdict.agrees]
    for rate_bps in RATES_BPS:
        for collapsed in (False, True):
            job = Job(rate_bps=rate_bps, workers=WORKERS, collapsed=collapsed)
            timings = _time_peers(job, peers, effort, build)
            about = f"{job.title}, {'collapsed' if collapsed else 'raw'}"
            rows += [timing.row(job=about) for timing in timings.values()]
            for peer in peers:
                yield from _ratios(about, timings, peer, LEAST.get((peer.name, collapsed)))


def _ratios(
    about: str, timings: dict[str, Timing], peer: Peer, least: float | None
) -> Iterator[Figure]:
    slow = timings[peer.name]
    for ours in (FAST, GENERIC):
        name = f"{about}: {peer.name} against {ours}"
        target = least if ours == FAST else None
        yield ratio_figure(name, slow, timings[ours], least=target)


def _time_peers(job: Job, peers: Sequence[Peer], effort: Effort, build: Path) -> dict[str, Timing]:
    draws = job.draws(effort.peer_steps)
    competitors = [
        engine_competitor(name, make, draws, times=_times(make, draws, effort.least_s))
        for name, make in ((FAST, job.fast), (GENERIC, job.generic))
    ]
    with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as scratch:
        file = Path(scratch) / "job.txt"
        write_job(file, job.plan, job.network, reference_sending(), draws)
        competitors += [_competitor(peer, build, file, draws.step.size) for peer in peers]
        return {t.name: t for t in alternate(competitors, effort.rounds)}


def _times(make: Callable[[Draws], FastEngine | Engine], draws: Draws, least_s: float) -> int:
    """Number of times that an engine has to do a short job until that takes long enough."""
    return enough(lambda times: sum(loop_s(make, draws) for _ in range(times)), least_s, begin=1)


def _competitor(peer: Peer, build: Path, job: Path, units: int) -> Competitor:
    def measure() -> float:
        run = peer.run(build, job)
        if run.steps != units:
            raise RuntimeError(f"{peer.name} has not done all steps")
        return run.wall_s

    return Competitor(name=peer.name, units=units, measure=measure)
