"""Seal of a record: predictions of all its cells, for all numbers of workers of its scenario."""

from collections.abc import Callable

from netcosim.results.training.job_summary import JobSeries
from netcosim.results.training.seal import Seal, SealedCell, SealedPoint, sealed
from sim.kernels.compiled import engine_hash
from sim.sealing.assumed import Assumed
from sim.sealing.predict import predict
from sim.sealing.record import Record


def seal_of(record: Record, begins: Callable[[str], None] = lambda _: None) -> Seal:
    """Predict what a record's scenario will measure; `begins` is told of what is predicted."""
    cells = [_predicted(record, series, assumed, begins) for series, assumed in record.cells]
    return sealed(
        scenario=record.text,
        record_sha256=dict(record.sha256),
        simulator=engine_hash(),
        cells=tuple(cells),
    )


def _predicted(
    record: Record, series: JobSeries, assumed: Assumed, begins: Callable[[str], None]
) -> SealedCell:
    def point(workers: int) -> SealedPoint:
        name = f"{series.cell}, {workers} worker{'s' * (workers > 1)}"
        begins(name)
        return predict(assumed, workers, lambda what: begins(f"{name}: {what}"))

    return SealedCell(
        cell=series.cell,
        job_sha256=series.job_sha256,
        discipline=assumed.sending.discipline,
        order=record.scenario.policy.order,
        batch=series.batch,
        recorded_steps=assumed.job.plan.steps,
        recorded_examples_per_s=series.points[0].examples_per_s,
        messages=None if assumed.uneven is None else series.messages,
        points=tuple(point(count) for count in record.counts),
    )
