"""`lost.parquet`: time that links lost in bursts, and whether it was cut out of their clocks."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from netcosim.results.storage.row_table import FlatTable
from netcosim.results.streams.grants import GrantRow
from netcosim.results.streams.windows import WindowRow
from netcosim.work_clock import Connection, WorkClock

PAUSE: Final = "pause"
UNEXPLAINED: Final = "unexplained"


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRow:
    """A span in which the bottleneck of a connection carried nothing, though something could go.

    Attributes
    ----------
    cell : workload/transport
    burst : counts from 0 within the cell
    connection : counts from 0 within the cell
    start_ns : on the burst's wall clock
    length_ns : how much of the link's time was lost for good
    cause : pause (recorded: cut out of the clock of link work) or unexplained (not cut)
    """

    cell: str
    burst: int
    connection: int
    start_ns: int
    length_ns: int
    cause: str


TABLE: Final = FlatTable(row=LostRow, name="netcosim-lost")


Moment = TypeVar("Moment", GrantRow, WindowRow)


def moments_on_work_clock(
    rows: Iterable[Moment], clocks: Mapping[Connection, WorkClock]
) -> Iterator[Moment]:
    """Map rows of one time each onto the clocks of link work of their connections."""
    for row in rows:
        clock = clocks.get((row.cell, row.burst, row.connection))
        yield row if clock is None else replace(row, time_ns=clock.at(row.time_ns))


def work_clocks(rows: Iterable[LostRow]) -> dict[Connection, WorkClock]:
    """The clock of link work of each connection in each burst that something was cut out of."""
    cuts: dict[Connection, list[tuple[int, int]]] = {}
    for row in rows:
        if row.cause == PAUSE:
            span = (row.start_ns, row.start_ns + row.length_ns)
            cuts.setdefault((row.cell, row.burst, row.connection), []).append(span)
    return {key: WorkClock.without(spans) for key, spans in cuts.items()}
