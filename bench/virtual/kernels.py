"""The same cells on every kernel that was built: how far traces differ, and what each takes.

Another kernel is another TCP and another scheduler, and it seeds its random numbers in its own way:
two kernels need not give the same bytes.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.common.record import Figure, at_least, at_most
from bench.virtual.running import Json, Ran, name_of, run, taking
from emu.guest.kernel import Kernel
from netcosim.results.folder import ResultsFolder
from netcosim.trace import StreamRow

ROUND_TRIPS_MS: Final = (0, 10)
MOST_DIFFERENCE: Final = 0.0005
_RATE: Final = "100mbit"
_H2: Final = {"sender": "h2", "receiver": "h2"}
_GRPC: Final = {"sender": "grpc", "receiver": "grpc"}
_TWO_VISIT: Final = {**_H2, "name": "h2", "discipline": "two_visit", "window": "1MiB"}
_FIFO: Final = {**_H2, "name": "fifo", "discipline": "fifo", "flow_control": False}
_PARTS: Final[tuple[tuple[str, Json, list[Json]], ...]] = (
    (
        "pair",
        {"topology": "pair"},
        [
            _TWO_VISIT,
            {**_GRPC, "name": "grpc"},
            {**_GRPC, "name": "grpc-whole", "whole_messages": True},
        ],
    ),
    ("two workers", {"topology": "star", "workers": 2}, [_FIFO]),
)

Streams = list[StreamRow]


@dataclass(frozen=True, slots=True)
class OnKernel:
    """A cell on one kernel: its streams, the machine's seconds of its guest, what went wrong."""

    streams: Streams
    seconds: float
    said: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference between a cell on one kernel and the same on another.

    `end` is the largest difference of a stream's end, as a share of its burst's length.
    """

    equal: bool
    order: bool
    end: float


def kernel_figures(rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    """Differences of every other kernel from the current one, and of another seed on that one.

    What another seed changes is chance's, not the kernel's.
    """
    first, *others = Kernel.every()
    trips = ROUND_TRIPS_MS[:1] if quick else ROUND_TRIPS_MS
    base = _cells(first, trips)
    yield from _against(
        f"{name_of(first)}, another seed,", base, _cells(first, trips, seed=2), rows
    )
    for other in others:
        name = f"{name_of(other)} against {name_of(first)}"
        found = _cells(other, trips)
        differences = yield from _against(name, base, found, rows)
        same = sum(each.order for each in differences)
        yield at_least(f"{name}: cells in the same order", same, "", len(differences))
        worst = 100 * max((each.end for each in differences if each.order), default=float("inf"))
        yield at_most(f"{name}: largest of these", worst, "%", 100 * MOST_DIFFERENCE)


def _against(
    name: str, base: Mapping[str, OnKernel], found: Mapping[str, OnKernel], rows: list[Json]
) -> Generator[Figure, None, list[Difference]]:
    """Figures of every cell; differences."""
    differences = []
    for cell, mine in base.items():
        theirs = found[cell]
        each = compare(mine.streams, theirs.streams)
        differences.append(each)
        rows.append(
            {"part": "kernels", "kernel": name, "cell": cell}
            | {"equal": each.equal, "order": each.order, "end": each.end}
            | {"seconds": [theirs.seconds, mine.seconds]}
        )
        yield _figure(f"{name} {cell}", each, mine, theirs)
    return differences


def compare(mine: Sequence[StreamRow], theirs: Sequence[StreamRow]) -> Difference:
    """Difference of two measurements of the same streams, in the same order."""
    if not mine or [_key(row) for row in mine] != [_key(row) for row in theirs]:
        return Difference(equal=False, order=False, end=float("inf"))
    lengths = {
        burst: max(row.wire_end_ns for row in mine if row.burst == burst)
        for burst in {row.burst for row in mine}
    }
    return Difference(
        equal=list(mine) == list(theirs),
        order=_order(mine) == _order(theirs),
        end=max(
            abs(one.wire_end_ns - other.wire_end_ns) / lengths[one.burst]
            for one, other in zip(mine, theirs, strict=True)
        ),
    )


def _key(row: StreamRow) -> tuple[int, int, str]:
    return row.burst, row.connection, row.tensor


def _order(streams: Sequence[StreamRow]) -> list[tuple[int, int, str]]:
    """Streams of each burst and connection in the order in which they end."""
    return [
        _key(row) for row in sorted(streams, key=lambda r: (r.burst, r.connection, r.wire_end_ns))
    ]


def _figure(name: str, difference: Difference, mine: OnKernel, theirs: OnKernel) -> Figure:
    what = (
        "traces equal"
        if difference.equal
        else f"traces differ, order {'the same' if difference.order else 'another'}"
    )
    said = f"; {mine.said}{theirs.said}" if mine.said or theirs.said else ""
    return Figure(
        name=name,
        value=100 * difference.end,
        unit="%",
        note=f"{what}; {theirs.seconds:.1f} s against {mine.seconds:.1f} s{said}",
    )


def _cells(kernel: Kernel, trips: Sequence[int], seed: int = 1) -> dict[str, OnKernel]:
    """Every cell on a kernel, by name."""
    found = {}
    with taking(kernel):
        for name, cluster, transports in _PARTS:
            for trip in trips:
                scenario = {**_scenario(cluster, transports, trip), "seed": seed}
                where = f"kernels-{kernel.hash}-{seed}-{cluster['topology']}-{trip}"
                ran = run(scenario, where)
                for transport in transports:
                    cell = f"mixed8/{transport['name']}"
                    found[f"{transport['name']}, {name}, {trip} ms"] = _cell(ran, cell)
    return found


def _cell(ran: Ran, cell: str) -> OnKernel:
    if ran.code != 0:
        return OnKernel(streams=[], seconds=ran.seconds, said=ran.said)
    folder = ResultsFolder.open(ran.folder)
    return OnKernel(
        streams=[row for row in folder.read_trace() if row.cell == cell],
        seconds=_seconds(folder, cell),
        said="",
    )


def _seconds(folder: ResultsFolder, cell: str) -> float:
    record = folder.read_run()
    assert record is not None
    return float(record.clock["guests_s"][cell])


def _scenario(cluster: Json, transports: list[Json], trip_ms: int) -> Json:
    delay = {"delay": f"{500 * trip_ms}us"} if trip_ms else {}
    return {
        "repetitions": 3,
        "cluster": {**cluster, "link": {"rate": _RATE, **delay}},
        "workload": [{"name": "mixed8", "set": "mixed8", "total": "6MB"}],
        "transport": transports,
    }
