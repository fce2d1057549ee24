"""Evaluators, which make a sweep's runs: from a point's number to its key, and to a run's row.

A driver hands out numbers and gets tables; it knows no scenario. So an evaluator is sent once to
each process that makes runs, and a driver costs little for each.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ray_sweeps.key_set import Keys, keys_of, texts_of

KEY, RUN, ERROR, ENGINE_HASH = "key", "run", "error", "engine_hash"
"""Columns that rows of every evaluator have."""

FACTOR = "factor_"
"""Beginning of the names of columns that are values of factors."""

Values = dict[str, Any]


class Evaluator(Protocol):
    """Evaluator of one sweep; has to pickle."""

    def schema(self) -> Any:
        """Columns of the rows, a `pyarrow.Schema`; begins with the columns named above."""

    def resolve(self, number: int) -> "Resolved | None":
        """Find the key of a point, and what a run of it costs; None if there is no such point."""

    def evaluate(self, number: int, run: int, key: str) -> Values:
        """Make a run of a point, whose key was found before; return its row.

        A scenario that can't be simulated is a row with an error; other exceptions are, too.
        """


@dataclass(frozen=True, slots=True)
class Resolved:
    """A point's key, and its work: what a run costs, in any unit that is the same for all."""

    key: str
    work: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Points of a sequence of numbers, those left out that are not in the space; (n,) each."""

    numbers: NDArray[np.int64]
    keys: tuple[str, ...]
    work: NDArray[np.float64]
    seconds: float


@dataclass(frozen=True, slots=True)
class Items:
    """Runs to be made: numbers and keys of points, numbers of runs, work of each; (n,) each."""

    numbers: NDArray[np.int64]
    keys: Keys
    runs: NDArray[np.int64]
    work: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.numbers)

    def part(self, begin: int, end: int | None = None) -> "Items":
        """Items from one place to before another."""
        return self.chosen(slice(begin, end))

    def chosen(self, which: slice | NDArray[np.bool_]) -> "Items":
        """Items at some places, or where a mask is true."""
        return Items(self.numbers[which], self.keys[which], self.runs[which], self.work[which])


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of runs that were to be made, as many as were.

    Attributes
    ----------
    table : a row a run, in their order, of the first so many
    seconds : that they took
    errors : how many of the rows have one
    """

    table: Any
    seconds: float
    errors: int

    def __len__(self) -> int:
        return int(self.table.num_rows)


def resolve(evaluator: Evaluator, numbers: range) -> Points:
    """Resolve points, in the order of their numbers."""
    begun = time.perf_counter()
    found = [(n, point) for n in numbers if (point := evaluator.resolve(n)) is not None]
    return Points(
        numbers=np.array([n for n, _ in found], dtype=np.int64),
        keys=tuple(point.key for _, point in found),
        work=np.array([point.work for _, point in found], dtype=np.float64),
        seconds=time.perf_counter() - begun,
    )


def evaluate(evaluator: Evaluator, items: Items, within_s: float) -> Rows:
    """Make runs one after the other, at least one, and begin none when `within_s` have passed."""
    import pyarrow as pa

    begun = time.perf_counter()
    rows: list[Values] = []
    keys = texts_of(items.keys)
    for number, run, key in zip(items.numbers.tolist(), items.runs.tolist(), keys, strict=True):
        rows.append(evaluator.evaluate(number, run, key))
        if time.perf_counter() - begun >= within_s:
            break
    table = pa.Table.from_pylist(rows, schema=evaluator.schema())
    errors = sum(row[ERROR] is not None for row in rows)
    return Rows(table=table, seconds=time.perf_counter() - begun, errors=errors)


NO_ITEMS: Final = Items(np.empty(0, np.int64), keys_of([]), np.empty(0, np.int64), np.empty(0))


def joined(parts: Sequence[Items]) -> Items:
    """All items of the parts, one after the other."""
    if not parts:
        return NO_ITEMS
    return Items(
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.runs for part in parts]),
        np.concatenate([part.work for part in parts]),
    )
