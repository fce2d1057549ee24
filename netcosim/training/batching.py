"""Batches of a job's workers, and by how much longer computations take with others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from netcosim.errors import ScenarioError
from netcosim.policies.coordinator.observed import Limits
from netcosim.scenario import CoordinationSpec, CurveSpec
from netcosim.training.batch_curve import BatchCurve, measured

_WIDE: Final = 1e6


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

    @property
    def limits(self) -> list[Limits]:
        """Smallest and largest batch of each worker, one example at least."""
        return [Limits(max(1, curve.least), curve.most) for curve in self.curves]

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
    """Batches and curves of so many workers, which all begin with this batch.

    Raises
    ------
    ScenarioError
        A curve does not have the batch, or says that it takes no time.
    """
    curves = []
    for worker in range(workers):
        number = _number_of(spec.curve, worker)
        mine = CurveSpec() if number is None else spec.curve[number]
        curve = _curve(mine, batch, workers)
        if not curve.least <= batch <= curve.most or curve.of(batch) <= 0:
            known = f"{curve.least} to {curve.most} examples"
            allowed = (
                f"has times of {known}; must have one above 0 of the {batch} that all begin with"
            )
            raise ScenarioError(f"coordination.curve[{number}]: {allowed}")
        if not all(t == 0 or 1 / _WIDE <= t / curve.of(batch) <= _WIDE for t in curve.time_ns):
            allowed = f"must have times of at most {_WIDE:g} times that of the {batch} examples"
            raise ScenarioError(
                f"coordination.curve[{number}]: {allowed} that all begin with, or as little"
            )
        curves.append(curve)
    return Batching(batches=(batch,) * workers, curves=tuple(curves))


def check_curves(spec: CoordinationSpec, batch: int, workers: int) -> None:
    """Refuse curves that are of no use to any of so many workers.

    Raises
    ------
    ScenarioError
        As `batching_of`, or a curve is of a worker that is not there.
    """
    for number, curve in enumerate(spec.curve):
        if curve.workers != "all" and max(curve.workers, default=0) >= workers:
            field = f"coordination.curve[{number}].workers"
            raise ScenarioError.at(
                field, max(curve.workers), f"must be below {workers}, the workers"
            )
    batching_of(spec, batch, workers)


def _number_of(specs: Sequence[CurveSpec], worker: int) -> int | None:
    """Number of the last entry that has a worker."""
    mine = [i for i, s in enumerate(specs) if s.workers == "all" or worker in s.workers]
    return mine[-1] if mine else None


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
