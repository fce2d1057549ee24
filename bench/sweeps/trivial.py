"""An evaluator that computes nothing: what is left is what a driver, Ray and a dataset cost."""

from dataclasses import dataclass
from typing import Any, Final

from ray_sweeps.evaluation import ENGINE_HASH, ERROR, KEY, RUN, Resolved, Values

_ODD: Final = 0x9E3779B97F4A7C15F39CC0605CEDC835


@dataclass(frozen=True)
class Trivial:
    """Points whose rows are as wide as those of simulations."""

    columns: int = 40

    def schema(self) -> Any:
        """A row's columns."""
        import pyarrow as pa

        fields = [(KEY, pa.string()), (RUN, pa.int64()), (ENGINE_HASH, pa.string())]
        fields.append((ERROR, pa.string()))
        return pa.schema([*fields, *((f"value_{i}", pa.float64()) for i in range(self.columns))])

    def resolve(self, number: int) -> Resolved:
        """A key; all points are the same work."""
        return Resolved(f"{number * _ODD % (1 << 128):032x}", 1.0)

    def evaluate(self, number: int, run: int, key: str) -> Values:
        """A row."""
        row: Values = {KEY: key, RUN: run, ENGINE_HASH: "-", ERROR: None}
        return {**row, **{f"value_{i}": number + i / 8 for i in range(self.columns)}}
