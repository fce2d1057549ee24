"""`operations.parquet`: the operations of a simulation's workers, one row each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from netcosim.results.storage.column_table import ColumnTable, Ints, Words, whole_ns
from netcosim.training import plan as plans
from netcosim.training.plan import DOWN, StepPlan

Kind = Literal["compute", "transfer"]
Direction = Literal["down", "up"]

WORKER: Final = "worker"
"""The place of a worker's computations; the others are named by the two functions below."""


def link_place(server: int, direction: Direction) -> str:
    """The place of transfers: ``server 0 down`` is from the server to the workers."""
    return f"server {server} {direction}"


def server_place(server: int) -> str:
    """The place of a server's computations."""
    return f"server {server} ps"


def sender_place(server: int) -> str:
    """The place of a worker's work for the messages that it sends to a server."""
    return f"server {server} send"


def places_of(plan: StepPlan) -> list[str]:
    """Place of each operation of a step, as tables and pictures name it."""
    links = [link_place(c.server, "down" if c.direction == DOWN else "up") for c in plan.channels]
    of_node = {
        plans.WORKER: lambda _: WORKER,
        plans.SERVER: server_place,
        plans.SENDING: sender_place,
    }
    processors = [of_node[p.node](p.server) for p in plan.processors]
    return [[*links, *processors][place] for place in plan.place]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OperationColumns:
    """Operations of any number of runs; times count from the run's beginning.

    Attributes
    ----------
    cell : workload/transport
    workers : how many workers took part in the run
    run : number among the runs of the cell with so many workers, from 0
    worker : number within the run, from 0; behind all workers, as many as there are: what servers
        do once for all of them
    step : number of the worker's step, from 0
    operation : its name in the profile; of fused operations the first one's
    kind : compute or transfer
    place : ``server 0 down``, ``worker``, ``server 0 send``, ``server 0 up``, ``server 0 ps``
    size_bytes : of a transfer; 0 for computations
    ready_ns : all that it waits for has ended; a message of a schedule may wait at its gate then
    start_ns : its first byte is sent, or its computation begins
    end_ns : it has ended
    """

    cell: Words
    workers: Ints
    run: Ints
    worker: Ints
    step: Ints
    operation: Words
    kind: Words
    place: Words
    size_bytes: Ints
    ready_ns: Ints
    start_ns: Ints
    end_ns: Ints

    @classmethod
    def of_run(
        cls,
        *,
        cell: str,
        workers: int,
        run: int,
        names: Sequence[str],
        places: Sequence[str],
        sizes: ArrayLike,
        worker: Ints,
        step: Ints,
        operation: Ints,
        ready_ns: ArrayLike,
        start_ns: ArrayLike,
        end_ns: ArrayLike,
    ) -> Self:
        """One run's rows.

        Parameters
        ----------
        cell, workers, run
            Which run.
        names, places, sizes
            For each operation of a step its name, its place and its bytes, 0 for computations.
        worker, step, operation
            For each row the worker, its step, and the operation's number among `names`.
        ready_ns, start_ns, end_ns
            For each row; rounded to whole nanoseconds.
        """
        count = len(operation)
        kinds: list[Kind] = ["transfer" if _is_link(place) else "compute" for place in places]
        return cls(
            cell=Words.repeated(cell, count),
            workers=np.full(count, workers, dtype=np.int64),
            run=np.full(count, run, dtype=np.int64),
            worker=np.asarray(worker, dtype=np.int64),
            step=np.asarray(step, dtype=np.int64),
            operation=Words.chosen(names, operation),
            kind=Words.chosen(kinds, operation),
            place=Words.chosen(places, operation),
            size_bytes=np.asarray(sizes, dtype=np.int64)[operation],
            ready_ns=whole_ns(ready_ns),
            start_ns=whole_ns(start_ns),
            end_ns=whole_ns(end_ns),
        )

    def __len__(self) -> int:
        return len(self.worker)


def _is_link(place: str) -> bool:
    return place.endswith((" down", " up"))


TABLE: Final = ColumnTable(record=OperationColumns, name="netcosim-operations")
