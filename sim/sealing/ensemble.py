"""Ensembles of perturbed simulations: how far chance alone moves a job's throughput."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from netcosim.intervals import t_95
from netcosim.results.training.seal import Spread
from netcosim.training.job import TrainingJob
from netcosim.training.plan import Floats
from sim.plan import Network
from topo.spec import PAYLOAD_BYTES

RUNS: Final = 20
PERTURBATION: Final = 1e-3
"""Standard deviation of the factor of each step's computations in a perturbed simulation."""

LARGE_SD: Final = 0.005
"""Of throughput, over its mean: beyond it a single simulation says little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uneven:
    """Operations that take longer in one step than in another, each step's by one factor.

    Attributes
    ----------
    operations : the first of them; all behind it are, too
    spread : standard deviation of the factor, whose mean is 1
    """

    operations: int
    spread: float


def spread_of(
    job: TrainingJob,
    network: Network,
    seed: int,
    rate_of: Callable[[TrainingJob, Network], float],
    uneven: Uneven | None = None,
) -> Spread:
    """Simulate a job again and again, each time with a little of everybody's time changed.

    Computations vary by `PERTURBATION`, and each worker's path is longer by up to the time in which
    a server's port carries a frame of every worker: so long a segment may wait for its turn, of
    which a simulation knows nothing. Small as they are, they decide which of workers that begin
    together comes first, and where nobody waits for others, what follows from it grows. Where a
    schedule waits for word of messages, a path counts as often as there are messages, and is longer
    by so much less: else a step would be slower by it, not by chance. What is `uneven` varies with
    the recorded step.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(job.workers,)))
    most_ns = _turn_ns(network, job.workers) / _messages(job)
    return spread_of_rates(
        np.array(
            [
                rate_of(perturbed(job, rng, uneven), _later(network, job.workers, most_ns, rng))
                for _ in range(RUNS)
            ]
        )
    )


def spread_of_rates(rates: Floats) -> Spread:
    """Spread of the throughput of perturbed runs."""
    found = np.sort(rates)
    mean, sd = float(found.mean()), float(found.std(ddof=1))
    # Of one more run like these, not of their mean.
    half = t_95(len(found) - 1) * sd * (1 + 1 / len(found)) ** 0.5
    return Spread(
        runs=len(found),
        perturbation=PERTURBATION,
        sd=sd / mean,
        low=mean - half,
        high=mean + half,
        bimodal=sd > LARGE_SD * mean and _in_two_groups(found),
    )


def _turn_ns(network: Network, workers: int) -> float:
    """Time in which the slowest server's port carries one frame of every worker."""
    return workers * PAYLOAD_BYTES * 8e9 / float(network.server_bps.min())


def _messages(job: TrainingJob) -> int:
    """Messages of a step that one gate lets through; 1 without gates."""
    return max((len(gate.operations) for gate in job.plan.gates), default=1)


def perturbed(
    job: TrainingJob, rng: np.random.Generator, uneven: Uneven | None = None
) -> TrainingJob:
    """The job with each step's computations changed by `PERTURBATION`, and what is uneven, too."""
    factor = np.broadcast_to(job.draws.factor, job.draws.step.shape)
    factor = factor * rng.normal(1.0, PERTURBATION, factor.shape)
    job = replace(job, draws=replace(job.draws, factor=factor))
    if uneven is None:
        return job
    duration_ns = job.plan.duration_ns.copy()
    sigma = np.sqrt(np.log1p(uneven.spread**2))
    each = rng.lognormal(-(sigma**2) / 2, sigma, (len(duration_ns), 1))
    duration_ns[:, uneven.operations :] *= each
    return replace(job, plan=replace(job.plan, duration_ns=duration_ns))


def _later(network: Network, workers: int, most_ns: float, rng: np.random.Generator) -> Network:
    more_ns = rng.uniform(0.0, most_ns, workers)
    return replace(network, delay_ns=network.delay_ns + np.round(more_ns).astype(np.int64))


def _in_two_groups(rising: Floats) -> bool:
    """True if one gap is half of the range or more, with three values or more on each side."""
    gaps = np.diff(rising)
    largest = int(np.argmax(gaps))
    each_side = min(largest + 1, len(rising) - largest - 1)
    return each_side >= 3 and float(gaps[largest]) >= 0.5 * float(rising[-1] - rising[0])
