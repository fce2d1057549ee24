"""`steps.parquet`: begin and end of each step of each worker of a simulation."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import ArrayLike

from netcosim.results.storage.column_table import ColumnTable, Ints, Words, whole_ns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepColumns:
    """Steps of any number of runs; times count from the run's beginning.

    Attributes
    ----------
    cell : workload/transport
    workers : how many workers took part in the run
    run : number among the runs of the cell with so many workers, from 0
    worker : number within the run, from 0
    step : number of the worker's step, from 0
    start_ns : it begins
    end_ns : its last operation has ended
    """

    cell: Words
    workers: Ints
    run: Ints
    worker: Ints
    step: Ints
    start_ns: Ints
    end_ns: Ints

    @classmethod
    def of_run(
        cls,
        *,
        cell: str,
        workers: int,
        run: int,
        worker: Ints,
        step: Ints,
        start_ns: ArrayLike,
        end_ns: ArrayLike,
    ) -> Self:
        """One run's rows; times are rounded to whole nanoseconds."""
        count = len(worker)
        return cls(
            cell=Words.repeated(cell, count),
            workers=np.full(count, workers, dtype=np.int64),
            run=np.full(count, run, dtype=np.int64),
            worker=np.asarray(worker, dtype=np.int64),
            step=np.asarray(step, dtype=np.int64),
            start_ns=whole_ns(start_ns),
            end_ns=whole_ns(end_ns),
        )

    def __len__(self) -> int:
        return len(self.worker)


TABLE: Final = ColumnTable(record=StepColumns, name="netcosim-steps")
