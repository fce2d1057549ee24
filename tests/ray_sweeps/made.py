"""An evaluator without a simulator, for tests of what drives one."""

import time
from dataclasses import dataclass
from typing import Any

from ray_sweeps.evaluation import ENGINE_HASH, ERROR, KEY, RUN, Resolved, Values


@dataclass(frozen=True)
class Made:
    """Points of so many numbers: every `gap`-th is excluded, every `twin`-th is the one before.

    A run takes `seconds`; of every `failing`-th point it has an error.
    """

    gap: int = 0
    twin: int = 0
    failing: int = 0
    seconds: float = 0.0

    def schema(self) -> Any:
        import pyarrow as pa

        fields = [(KEY, pa.string()), (RUN, pa.int64()), (ENGINE_HASH, pa.string())]
        fields += [(ERROR, pa.string()), ("factor_number", pa.int64()), ("value", pa.float64())]
        return pa.schema(fields)

    def key(self, number: int) -> str:
        if self.twin and number % self.twin == self.twin - 1:
            number -= 1
        return f"{number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % (1 << 128):032x}"

    def resolve(self, number: int) -> Resolved | None:
        if self.gap and number % self.gap == 0:
            return None
        return Resolved(self.key(number), 1.0 + number % 7)

    def evaluate(self, number: int, run: int, key: str) -> Values:
        if self.seconds:
            time.sleep(self.seconds)
        row: Values = {KEY: key, RUN: run, ENGINE_HASH: "made", ERROR: None}
        row["factor_number"] = number
        if self.failing and number % self.failing == 0:
            return {**row, ERROR: "no such point"}
        return {**row, "value": number + run / 10}

    def wanted(self, numbers: int, runs: int) -> list[Values]:
        """Rows of all points, sorted by number and run; of twins the first."""
        seen: set[str] = set()
        rows = []
        for number in range(numbers):
            point = self.resolve(number)
            if point is None or point.key in seen:
                continue
            seen.add(point.key)
            rows += [
                {"value": None, **self.evaluate(number, run, point.key)} for run in range(runs)
            ]
        return rows
