"""A job over models of its connections: what a simulation leaves out, and what such models do."""

from collections.abc import Mapping
from dataclasses import dataclass

from h2model.standstill import StandstillError
from h2model.training_job import JobOverModels, Key
from sim.sealing.assumed import Assumed


@dataclass(frozen=True, slots=True, kw_only=True)
class OverModels:
    """A job's run by its executors over models of its connections.

    Attributes
    ----------
    examples_per_s : behind the warm-up, over all workers
    delivered_ns : of each transfer
    """

    examples_per_s: float
    delivered_ns: Mapping[Key, float]


def run_over_models(assumed: Assumed, workers: int) -> OverModels | None:
    """Run a job of so many workers; None where its connections have no models, or come to rest.

    Models that no credit reaches any more, while messages wait, predict nothing.
    """
    job = assumed.as_recorded.first(workers)
    models = assumed.models_of(job)
    if models is None:
        return None
    run = JobOverModels(job, models)
    try:
        run.run()
    except StandstillError:
        return None
    counted = job.steps - assumed.warmup
    rate = sum(
        counted / (run.requested_ns[worker, job.steps] - run.requested_ns[worker, assumed.warmup])
        for worker in range(workers)
    )
    return OverModels(
        examples_per_s=1e9 * rate * assumed.batch, delivered_ns=dict(run.delivered_ns)
    )
