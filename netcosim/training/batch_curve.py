"""Time of a worker's computations by the examples of its batch: piecewise linear, from points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class BatchCurve:
    """A worker's time by batch, between the smallest and the largest one that are known.

    Parameters
    ----------
    batches : increasing
    time_ns : of each; must not decrease
    """

    batches: tuple[float, ...]
    time_ns: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the points.

        Raises
        ------
        ValueError
            There are fewer than two, or they do not increase.
        """
        if len(self.batches) != len(self.time_ns) or len(self.batches) < 2:
            raise ValueError("curve: must be two points or more")
        if np.any(np.diff(self.batches) <= 0) or np.any(np.diff(self.time_ns) < 0):
            raise ValueError("curve: batches must increase, and times must not decrease")
        if self.batches[0] < 0 or self.time_ns[0] < 0 or self.time_ns[-1] <= 0:
            raise ValueError("curve: batches and times must be >= 0, and the last time above")

    @property
    def least(self) -> int:
        """The smallest batch whose time is known."""
        return math.ceil(self.batches[0])

    @property
    def most(self) -> int:
        """The largest batch whose time is known."""
        return int(self.batches[-1])

    def up_to(self, most: int) -> "BatchCurve":
        """The same curve, known up to this batch only."""
        known = [i for i, batch in enumerate(self.batches) if batch < most]
        batches = (*(self.batches[i] for i in known), float(most))
        return BatchCurve(batches, (*(self.time_ns[i] for i in known), self.of(most)))

    def of(self, batch: int) -> float:
        """Time of a batch, in ns.

        Raises
        ------
        ValueError
            It is smaller or larger than all that are known.
        """
        if not self.batches[0] <= batch <= self.batches[-1]:
            known = f"{self.batches[0]:g} to {self.batches[-1]:g}"
            raise ValueError(f"batch: {batch}: times are known of {known} examples")
        return float(np.interp(batch, self.batches, self.time_ns))


def proportional(example_ns: float, most: int) -> BatchCurve:
    """Curve of a processor: each example takes its time (Chen et al., SoCC 2020, Fig. 1)."""
    return BatchCurve((0.0, float(most)), (0.0, example_ns * most))


def saturating(least_ns: float, saturated: int, example_ns: float, most: int) -> BatchCurve:
    """Curve of a GPU: up to a batch that fills it all take as long (ibid., Fig. 4).

    Parameters
    ----------
    least_ns : time of batches up to `saturated`
    example_ns : of each example beyond
    """
    ends = (0.0, float(saturated), float(most))
    return BatchCurve(ends, (least_ns, least_ns, least_ns + example_ns * (most - saturated)))


def measured(points: Sequence[tuple[float, float]]) -> BatchCurve:
    """Curve through measured points: batch, and its time in ns."""
    batches, time_ns = zip(*sorted(points), strict=True)
    return BatchCurve(tuple(map(float, batches)), tuple(map(float, time_ns)))
