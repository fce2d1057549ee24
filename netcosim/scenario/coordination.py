"""Model of a scenario's coordination: who begins its next step when, and with which batch."""

import math
from itertools import pairwise
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from netcosim.scenario.fields import DurationNs, Fraction, Name, Record, Whole, durations
from netcosim.scenario.training import WorkerNumbers

_MOST_DECISION_NS = 60 * 10**9
_MOST_BATCH = 10**9


def _numbers(value: Any) -> Any:
    fits = isinstance(value, list | tuple) and len(value) == 2
    if not fits or not all(isinstance(n, int | float) and not isinstance(n, bool) for n in value):
        raise ValueError("must be a batch and its time, such as [64, 1.7]")
    if not all(map(math.isfinite, value)):
        raise ValueError("must be finite")
    return tuple(map(float, value))


CurvePoint = Annotated[tuple[float, float], BeforeValidator(_numbers)]
Batch = Annotated[Whole, Field(ge=1, le=_MOST_BATCH)]


class CurveSpec(Record):
    """Time of some workers' computations by the examples of their batch.

    In proportion to the batch by default, and with `saturated` the same for all batches up to that
    one; or through `points`, each a batch and its time in any unit, straight between them.

    Attributes
    ----------
    workers : their numbers, or "all"
    most : the largest batch that a worker has memory for; None: any, or the last point's
    """

    workers: WorkerNumbers = "all"
    saturated: Batch | None = None
    points: Annotated[tuple[CurvePoint, ...], Field(min_length=2)] | None = None
    most: Batch | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.saturated is not None and self.points is not None:
            raise ValueError("give 'saturated' or 'points', not both")
        if self.points is not None:
            rising = sorted(self.points)
            batches, times = zip(*rising, strict=True)
            ordered = all(a < b for a, b in pairwise(batches))
            if not ordered or list(times) != sorted(times) or batches[0] < 0 or times[0] < 0:
                raise ValueError("'points' must have batches that rise, and times that don't fall")
            if times[-1] <= 0:
                raise ValueError("'points' must end with a time above 0")
            if self.most is not None and not batches[0] < self.most <= batches[-1]:
                raise ValueError(
                    "'most' must be above the first batch of 'points' and not beyond the last"
                )
        return self


class CoordinationSpec(Record):
    """Coordination of a training job's workers.

    Attributes
    ----------
    kind : name of a coordinator in `netcosim.policies.coordination`
    options : of it
    predictor : name of a predictor in `netcosim.policies.prediction`; None: "average"
    predictor_options : of it
    decision : what a decision takes, where workers wait for it
    curve : time by batch; the last entry that has a worker is its own, without one it is in
        proportion
    """

    kind: Name
    options: dict[Name, Annotated[Fraction, Field(ge=0)]] = {}
    predictor: Name | None = None
    predictor_options: dict[Name, Annotated[Fraction, Field(ge=0)]] = {}
    decision: Annotated[DurationNs, durations(0, _MOST_DECISION_NS)] = 0
    curve: tuple[CurveSpec, ...] = ()
