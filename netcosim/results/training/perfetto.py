"""`perfetto.json` of a simulation: the workers' operations, in Chrome's trace event format.

A process for each worker of a run, a track for each place in it: downlinks, the worker, uplinks,
servers' processors. Operations of a place that overlap are put on as many tracks as that takes.
"""

import heapq
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from netcosim.results.storage.column_table import Ints
from netcosim.results.trace_events import Event, complete_event, metadata_event, trace_json
from netcosim.results.training.operations import TABLE, WORKER, OperationColumns

MAX_OPERATIONS: Final = 200_000
"""Most operations in a file: about 30 MB of text, which the viewer opens in a few seconds."""

_ORDER: Final = {"down": 0, WORKER: 1, "send": 2, "up": 3, "ps": 4}


def operations_json(operations: OperationColumns, limit: int = MAX_OPERATIONS) -> str:
    """The operations as JSON text.

    Above `limit` rows those of later steps are left out; ``otherData`` says so.
    """
    shown = _earliest(operations, limit)
    return trace_json(list(_events(shown)), _notes(operations, shown))


def place_order(place: str) -> tuple[int, int]:
    """Sort key of a place among a worker's tracks: downlinks, worker, sending, uplinks, servers."""
    words = place.split()
    server = int(words[1]) if len(words) == 3 and words[1].isdecimal() else 0
    return _ORDER.get(words[-1] if words else "", len(_ORDER)), server


def lanes(start_ns: Ints, end_ns: Ints) -> Ints:
    """A lane for each interval, so that those of one lane do not overlap; as few as possible."""
    lane = np.zeros(len(start_ns), dtype=np.int64)
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    for row in np.lexsort((end_ns, start_ns)).tolist():
        while busy and busy[0][0] <= start_ns[row]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        lane[row] = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (int(end_ns[row]), int(lane[row])))
    return lane


def _earliest(operations: OperationColumns, limit: int) -> OperationColumns:
    """At most `limit` rows: the first steps of all workers, of the last step the first workers."""
    if len(operations) <= limit:
        return operations
    keys = (operations.worker, operations.run, operations.workers, operations.cell.codes)
    order = np.lexsort((*keys, operations.step))
    return TABLE.where(operations, np.sort(order[:limit]))


def _notes(whole: OperationColumns, shown: OperationColumns) -> dict[str, Any]:
    notes: dict[str, Any] = {"format": "netcosim-perfetto", "operations": len(whole)}
    if len(shown) < len(whole):
        notes["shown"] = len(shown)
        notes["note"] = "only the first steps are shown"
    return notes


def _events(operations: OperationColumns) -> Iterator[Event]:
    """Metadata and slices, worker by worker."""
    keys = (operations.worker, operations.run, operations.workers, operations.cell.codes)
    order = np.lexsort((operations.start_ns, operations.place.codes, *keys))
    edges = np.flatnonzero(np.any([np.diff(key[order]) != 0 for key in keys], axis=0)) + 1
    number = 0
    groups = np.split(order, edges) if len(order) else []
    for place, rows in enumerate(groups):
        number += 1
        pid, first = number, rows[0]
        worker, workers = operations.worker[first], operations.workers[first]
        name = (
            f"{operations.cell.values[operations.cell.codes[first]]},"
            f" {workers} workers, run {operations.run[first]},"
            f" {f'worker {worker}' if worker < workers else 'updates for all'}"
        )
        yield metadata_event("process_name", pid, 0, name=name)
        yield metadata_event("process_sort_index", pid, 0, sort_index=place)
        codes = operations.place.codes[rows]
        for code in sorted(set(codes.tolist()), key=lambda c: _key(operations, c)):
            tracks = list(_place_events(operations, rows[codes == code], code, pid, number))
            number = max([number, *(event["tid"] for event in tracks)])
            yield from tracks


def _key(operations: OperationColumns, code: int) -> tuple[tuple[int, int], str]:
    place = operations.place.values[code]
    return place_order(place), place


def _place_events(
    operations: OperationColumns, rows: Ints, code: int, pid: int, last: int
) -> Iterator[Event]:
    """The tracks of one place and their slices; tracks are numbered from ``last + 1`` on."""
    starts, ends = operations.start_ns[rows], operations.end_ns[rows]
    lane = lanes(starts, ends)
    name = operations.place.values[code]
    for number in range(int(lane.max()) + 1):
        tid = last + 1 + number
        yield metadata_event(
            "thread_name", pid, tid, name=name if number == 0 else f"{name}, {number + 1}"
        )
        yield metadata_event("thread_sort_index", pid, tid, sort_index=tid)
    columns = (operations.step, operations.size_bytes, operations.ready_ns)
    step, size, ready = (column[rows].tolist() for column in columns)
    names = operations.operation
    codes = names.codes[rows].tolist()
    for i, (start, end, own) in enumerate(
        zip(starts.tolist(), ends.tolist(), lane.tolist(), strict=True)
    ):
        args: Event = {"step": step[i], "ready_us": ready[i] / 1000}
        if size[i]:
            args["bytes"] = size[i]
        yield complete_event(names.values[codes[i]], pid, last + 1 + own, start, end, args)
