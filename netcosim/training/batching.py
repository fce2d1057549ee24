"""Batches of a job's workers, and by how much longer computations take with others."""

from collections.abc import Sequence
from dataclasses import dataclass

from netcosim.errors import ScenarioError
from netcosim.scenario import CoordinationSpec, CurveSpec
from netcosim.training.batch_curve import BatchCurve, measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """Batches that a job begins with, and what they take.

    Attributes
    ----------
    batches : by worker, those of the profile, to which its durations belong
    curves : by worker, time of its computations by batch
    """

    batches: tuple[int, ...]
    curves: tuple[BatchCurve, ...]

    def factor(self, worker: int, batch: int) -> float:
        """By how much longer a worker's computations take than with the profile's batch.

        Raises
        ------
        ScenarioError
            The curve does not know the batch.
        """
        curve = self.curves[worker]
        try:
            return curve.of(batch) / curve.of(self.batches[worker])
        except ValueError as problem:
            raise ScenarioError(f"coordination.curve: worker {worker}: {problem}") from None


def batching_of(spec: CoordinationSpec, batch: int, workers: int) -> Batching:
    """Batches and curves of so many workers, which all begin with this batch."""
    return Batching(
        batches=(batch,) * workers,
        curves=tuple(_curve(_spec_of(spec.curve, w), batch, workers) for w in range(workers)),
    )


def _spec_of(specs: Sequence[CurveSpec], worker: int) -> CurveSpec:
    """The last entry that has a worker."""
    mine = [s for s in specs if s.workers == "all" or worker in s.workers]
    return mine[-1] if mine else CurveSpec()


def _curve(spec: CurveSpec, batch: int, workers: int) -> BatchCurve:
    most = spec.most or batch * workers
    if spec.points is not None:
        found = measured(spec.points)
        return found if spec.most is None else found.up_to(spec.most)
    if spec.saturated is None:
        return BatchCurve((0.0, float(most)), (0.0, float(most)))
    flat = float(spec.saturated)
    if flat >= most:
        return BatchCurve((0.0, float(most)), (flat, flat))
    return BatchCurve((0.0, flat, float(most)), (flat, flat, float(most)))
