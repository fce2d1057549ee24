"""A job over models of its connections: what a simulation leaves out, and what such models do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from h2model.standstill import StandstillError
from h2model.training_job import JobOverModels, Key
from netcosim.training.job import TrainingJob
from netcosim.training.plan import Floats, Ints
from netcosim.training.throughput import ends_of_updates, steps_per_s
from sim.sealing.assumed import Assumed


@dataclass(frozen=True, slots=True, kw_only=True)
class OverModels:
    """A job's run by its executors over models of its connections.

    Attributes
    ----------
    examples_per_s : behind the warm-up, over all workers
    lengths_ns : (workers * counted steps,) times from one end of a worker's step to the next; from
        update to update where these count some workers only
    by_packet : True if it went through TCP packet by packet
    drops : True if queues may drop packets
    probed : True if its receivers sent PINGs, of which a simulation knows nothing
    delivered_ns : of each transfer
    batches : (workers, steps) examples of each step, under a coordinator
    """

    examples_per_s: float
    lengths_ns: Floats
    by_packet: bool
    drops: bool
    probed: bool
    delivered_ns: Mapping[Key, float]
    batches: Ints | None = None

    @property
    def tells_streams(self) -> bool:
        """True if it knows of ends of streams what no simulation does: of packets, or PINGs."""
        return self.by_packet or self.probed


def run_over_models(
    assumed: Assumed, workers: int, begins: Sequence[int] = ()
) -> OverModels | None:
    """Run a job of so many workers; None where its connections have no models, or come to rest.

    Models that no credit reaches any more, while messages wait, predict nothing. Workers that begin
    at one moment do so in the order `begins`, or by their numbers.
    """
    job = assumed.as_recorded.first(workers)
    models = assumed.models_of(job)
    if models is None:
        return None
    run = JobOverModels(job, models, assumed.coordination(workers), begins)
    try:
        run.run()
    except StandstillError:
        return None
    ends_ns = _ends_ns(run, job)
    batches = None if run.coordination is None else run.coordination.batches
    parts = None if batches is None else batches / assumed.batch
    return OverModels(
        examples_per_s=steps_per_s(job, ends_ns, assumed.warmup, parts) * assumed.batch,
        lengths_ns=np.diff(ends_ns[:, assumed.warmup :], axis=1).ravel(),
        by_packet=models.packets is not None,
        drops=models.drops,
        probed=models.probed,
        delivered_ns=dict(run.delivered_ns),
        batches=batches,
    )


def _ends_ns(run: JobOverModels, job: TrainingJob) -> Floats:
    """Begin and ends of each worker's steps, or of updates where these count some workers only."""
    if job.counts_some:
        made = [row for row in run.computed if row[0] == job.workers]
        step, operation = (
            np.array(values, dtype=np.int64)
            for values in zip(*((step, ended.what) for _, step, ended in made), strict=True)
        )
        end_ns = np.array([ended.end_ns for *_, ended in made])
        return ends_of_updates(job, step, operation, end_ns)
    return np.array(
        [[run.requested_ns[w, step] for step in range(job.steps + 1)] for w in range(job.workers)]
    )
