"""Ensembles of perturbed runs: how far chance alone moves a job's throughput and steps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, Self

import numpy as np

from netcosim.intervals import t_95
from netcosim.results.training.seal import Range, Spread
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


class Run(Protocol):
    """One run of a job, simulated or over models of its connections."""

    @property
    def examples_per_s(self) -> float:
        """Throughput behind the warm-up, over all workers."""

    @property
    def lengths_ns(self) -> Floats:
        """Times from one end of a worker's step to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble:
    """Perturbed runs of a job.

    Attributes
    ----------
    examples_per_s : mean
    lengths_ns : of all runs, times from one end of a worker's step to the next
    spread : of the throughput and of the steps' median and p95
    """

    examples_per_s: float
    lengths_ns: Floats
    spread: Spread

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Self:
        """Ensemble of two runs or more."""
        rates = np.sort([run.examples_per_s for run in runs])
        mean, sd = float(rates.mean()), float(rates.std(ddof=1))
        low, high = _of_one_more(rates)
        return cls(
            examples_per_s=mean,
            lengths_ns=np.concatenate([run.lengths_ns for run in runs]),
            spread=Spread(
                runs=len(runs),
                perturbation=PERTURBATION,
                sd=sd / mean,
                low=low,
                high=high,
                bimodal=sd > LARGE_SD * mean and _in_two_groups(rates),
                step_median_ns=_range_of(runs, 0.5),
                step_p95_ns=_range_of(runs, 0.95),
            ),
        )

    @property
    def is_steady(self) -> bool:
        """True if a single run says what another one would."""
        return self.spread.sd <= LARGE_SD


def perturbed_runs(
    job: TrainingJob,
    network: Network,
    seed: int,
    run_of: Callable[[TrainingJob, Network], Run],
    uneven: Uneven | None = None,
) -> Ensemble:
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
    return Ensemble.of(
        [
            run_of(perturbed(job, rng, uneven), _later(network, job.workers, most_ns, rng))
            for _ in range(RUNS)
        ]
    )


def _range_of(runs: Sequence[Run], quantile: float) -> Range:
    """Range of a quantile of a run's steps."""
    low, high = _of_one_more(np.array([np.quantile(run.lengths_ns, quantile) for run in runs]))
    return Range(low=low, high=high)


def _of_one_more(found: Floats) -> tuple[float, float]:
    """95 % range of one more value like these, not of their mean."""
    mean, sd = float(found.mean()), float(found.std(ddof=1))
    half = t_95(len(found) - 1) * sd * (1 + 1 / len(found)) ** 0.5
    return mean - half, mean + half


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
