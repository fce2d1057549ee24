"""Sweeps of points that all cost the same, with the time at which each run ended, and where."""

import os
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from ray_sweeps.evaluation import Resolved, Values
from ray_sweeps.simulated import Simulated
from ray_sweeps.space import space_of
from ray_sweeps.sweep_file import parse_sweep

ENDED_S, PROCESS = "ended_s", "process"

KINDS: Final = {"cheap": (1, 40), "middle": (8, 1300), "dear": (16, 12_000)}
"""Workers, and steps of each: runs of some 10 ms, 0.5 s and 10 s, by the machine."""

_SWEEP: Final = """
name = "equal-costs"
scenario = "default"
replications = 1
[fixed]
workers = {workers}
transport = "grpc"
"training.steps" = {steps}
"training.warmup" = {warmup}
[factors]
rate = {{ from = "1000mbit", to = "100000mbit", step = "1mbit" }}
"""


def points_of(kind: str) -> Simulated:
    """Points of a kind, which differ by the rate of their links alone."""
    workers, steps = KINDS[kind]
    text = _SWEEP.format(workers=workers, steps=steps, warmup=steps // 10)
    sweep = parse_sweep(text, Path("equal-costs.toml"))
    return Simulated(space_of(sweep), sweep.base)


@dataclass(frozen=True)
class Timed:
    """An evaluator whose rows also say when, by the system's monotonic clock, and where."""

    simulated: Simulated
    shuffle: int = 7919
    """Rates are visited in steps of this many, so that none of a run's first ones differ much."""

    def schema(self) -> Any:
        """Columns of the simulated, and two more."""
        return self._schema

    @cached_property
    def _schema(self) -> Any:
        import pyarrow as pa

        more = pa.schema([pa.field(ENDED_S, pa.float64()), pa.field(PROCESS, pa.int64())])
        return pa.unify_schemas([self.simulated.schema(), more])

    def __len__(self) -> int:
        return len(self.simulated.space)

    def _number(self, number: int) -> int:
        return number * self.shuffle % len(self)

    def resolve(self, number: int) -> Resolved | None:
        """Resolve a point as the simulated evaluator does."""
        return self.simulated.resolve(self._number(number))

    def evaluate(self, number: int, run: int, key: str) -> Values:
        """Evaluate a point as the simulated evaluator does, and note when and where."""
        row = self.simulated.evaluate(self._number(number), run, key)
        return {**row, ENDED_S: time.monotonic(), PROCESS: os.getpid()}
