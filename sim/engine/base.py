"""Base class of both engines: the tables and the state that they have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.kernels import arrays
from sim.kernels.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Steps in the order in which they ended.

    Attributes
    ----------
    worker, step : (steps,)
    start_ns, end_ns : (steps,)
    weight : (steps,) part of the updates that counted a step's gradients; 1 where none is joined
    """

    worker: Ints
    step: Ints
    start_ns: Floats
    end_ns: Floats
    weight: Floats


class BaseEngine:
    """Interface of both engines; `_run` is the state, `_steps` are the tables of steps so far."""

    _run: Any
    _steps: list[tuple[Ints, Floats]]

    def begin(self, workers: Sequence[int]) -> None:
        """Let idle workers begin their next step, as far as `staleness` allows it."""
        self._run.start_requested[list(workers)] = 1
        self._run.scalar[arrays.START_REQUESTS] = len(workers)

    @property
    def now_ns(self) -> float:
        """Time of the last event, or the time up to which a generic engine was run."""
        return float(self._run.clock[0])

    @property
    def events(self) -> int:
        """Number of events so far."""
        return int(self._run.scalar[arrays.EVENTS])

    @property
    def done(self) -> Ints:
        """(workers,) number of the step, from 0, that each is in the midst of or does next."""
        done: Ints = self._run.done
        return done

    @property
    def ended(self) -> int:
        """The worker that ended a step last."""
        return int(self._run.scalar[arrays.ENDED])

    @property
    def last_step(self) -> tuple[int, int, float, float]:
        """The step that ended last, once there is one: its worker, number, begin and end in ns."""
        row, time = self._steps[-1]
        return int(row[-1, 0]), int(row[-1, 1]), float(time[-1, 0]), float(time[-1, 1])

    @property
    def spent_ns(self) -> Floats:
        """(workers, MODES) time in each mode; see `sim.kernels.arrays`."""
        spent: Floats = self._run.spent
        return spent

    def steps(self) -> Steps:
        """The steps ended so far."""
        row, time = joined_parts(self._steps, self._run.step_row.shape[1], 2)
        return Steps(
            worker=row[:, 0],
            step=row[:, 1],
            start_ns=time[:, 0],
            end_ns=time[:, 1],
            weight=self._weight(row),
        )

    def _weight(self, row: Ints) -> Floats:
        """Part of the updates that counted the steps of these rows."""
        return np.ones(len(row))


def joined_parts(parts: list[tuple[Ints, Floats]], ints: int, floats: int) -> tuple[Ints, Floats]:
    """Join the parts of a table in place; return its rows and times.

    Parts are given up one by one, as both together may not fit into memory.
    """
    length = sum(len(row) for row, _ in parts)
    kind = parts[0][0].dtype if parts else np.int32
    rows, times = np.empty((length, ints), dtype=kind), np.empty((length, floats))
    while parts:
        row, time = parts.pop()
        rows[length - len(row) : length], times[length - len(row) : length] = row, time
        length -= len(row)
    parts.append((rows, times))
    return rows, times
