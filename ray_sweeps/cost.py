"""Estimate of a sweep's time and disk before it is run, from a sample of its points."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from netcosim.errors import ScenarioError
from netcosim.user_files import supplied
from ray_sweeps.simulated import Simulated
from ray_sweeps.space import Point
from sim.compiling import Kernel, kernels_of
from sim.experiment.axes import worker_counts
from sim.experiment.checks import checked_cells
from sim.experiment.cost import run_s
from sim.experiment.kept_plans import Plans
from sim.experiment.link_share import with_share

_MOST_COUNTED: Final = 10_000
_MOST_SAMPLED: Final = 60
_SAMPLING_S: Final = 4.0

# Measured on two processors (docs/benchmarks.md): beside the run itself, of each run; of each row.
_EACH_RUN_S: Final = 0.008
_START_S: Final = 8.0
_ROW_BYTES: Final = 350
_FOLDER_BYTES: Final = 3_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Time and disk that a sweep will take.

    Attributes
    ----------
    points : in the space; `counted` if that is exact, else from a sample
    run_s : processor time of a run, mean over those sampled
    kernels : that these need
    failing : the first failure of a point sampled, if one fails
    """

    points: int
    counted: bool
    runs: int
    run_s: float
    kernels: tuple[Kernel, ...]
    sampled: int
    failing: str = ""

    def elapsed_s(self, processors: int) -> float:
        """Time on so many processors, once kernels are compiled."""
        return _START_S + self.runs * self.run_s / processors

    @property
    def disk_bytes(self) -> int:
        """Size of the results folder."""
        return _FOLDER_BYTES + self.runs * _ROW_BYTES


def estimate(evaluator: Simulated, replications: int) -> Estimate:
    """Estimate what a sweep will cost; takes some seconds at most."""
    points, counted = _count(evaluator)
    begun, costs, kernels, failing = time.monotonic(), list[float](), list[Kernel](), ""
    plans = Plans()
    for point in islice(_points(evaluator), _MOST_SAMPLED):
        try:
            with supplied(evaluator.files):
                scenario = with_share(evaluator.scenario(point))
                (cell,) = checked_cells(scenario, plans)
                (workers,) = worker_counts(scenario)
                costs.append(run_s(cell, workers))
                kernels += kernels_of(cell, (workers,), traced=False, compared=False)
        except (ScenarioError, ValueError) as problem:
            failing = failing or str(problem)
        if time.monotonic() - begun > _SAMPLING_S:
            break
    mean_s = sum(costs) / len(costs) if costs else 0.0
    return Estimate(
        points=points,
        counted=counted,
        runs=points * replications,
        run_s=mean_s + _EACH_RUN_S,
        kernels=tuple(dict.fromkeys(kernels)),
        sampled=len(costs),
        failing=failing,
    )


def _points(evaluator: Simulated) -> Iterator[Point]:
    """Points from all over the space; conditions may exclude most of its numbers."""
    for number in _spread(len(evaluator.space), _MOST_COUNTED):
        point = evaluator.space.point(number)
        if point is not None:
            yield point


def _count(evaluator: Simulated) -> tuple[int, bool]:
    space = evaluator.space
    exact = space.count()
    if exact is not None:
        return exact, True
    sample = _spread(len(space), _MOST_COUNTED)
    found = sum(space.point(n) is not None for n in sample)
    return round(len(space) * found / len(sample)), False


def _spread(numbers: int, most: int) -> Sequence[int]:
    """So many numbers at most, spread over all of them in an order that visits each part early."""
    count = min(numbers, most)
    golden = 0.6180339887498949
    return list(dict.fromkeys(int(numbers * ((i + 0.5) * golden % 1.0)) for i in range(count)))
