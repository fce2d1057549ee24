"""`perfetto.json`: traces for ui.perfetto.dev, in Chrome's trace event format.

A process for each connection of a cell, measured and as the best model predicted it side by side; a
track for each stream, a parallel one for its stalls, counters for credit. Every cell begins at
zero, its bursts one after another.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from netcosim.results.streams.coarsen import merge_close, resolution_for
from netcosim.results.streams.windows import WindowRow
from netcosim.results.trace_events import Event, complete_event, metadata_event, trace_json
from netcosim.trace import PREDICT, StreamRow

MAX_INTERVALS: Final = 200_000
"""Most intervals in a file: about 30 MB of text, which the viewer opens in a few seconds."""

_PAUSE_NS: Final = 5_000_000

_WORLDS: Final = {"emu": "measured", "sim": "simulated"}

Offsets = dict[tuple[str, int], int]


def perfetto_json(
    measured: Sequence[StreamRow],
    predicted: Sequence[StreamRow],
    windows: Sequence[WindowRow],
    best: Mapping[str, str | None],
    limit: int = MAX_INTERVALS,
) -> str:
    """The trace as JSON text; `best` names the model to show for each cell.

    Intervals of a stream that are close together are joined until at most `limit` are left;
    ``otherData`` says how close.
    """
    chosen = [row for row in predicted if row.level == PREDICT and row.model == best.get(row.cell)]
    rows = [*measured, *chosen]
    resolution_ns = resolution_for(rows, limit)
    offsets = _offsets(rows)
    tracks = _Tracks()
    events: list[Event] = []
    for row in rows:
        events.extend(_stream_events(row, offsets, tracks, resolution_ns))
    events.extend(_burst_events(measured, offsets, tracks))
    events.extend(
        _counter(window, offsets, tracks)
        for window in windows[:: max(1, -(-len(windows) // limit))]
        if (window.cell, window.burst) in offsets
    )
    notes = _notes(rows, resolution_ns, windows, limit)
    return trace_json([*tracks.metadata(), *events], notes)


@dataclass(frozen=True, slots=True)
class _Process:
    """A connection in the viewer; `kind` is 0 for measured, 1 for predicted: their order there."""

    cell: str
    connection: int
    kind: int


class _Tracks:
    """Numbers for processes and tracks, unique over both, in order of appearance."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._processes: dict[_Process, tuple[int, str]] = {}
        self._threads: dict[tuple[int, str], tuple[int, int]] = {}

    def process(self, key: _Process, name: str) -> int:
        if key not in self._processes:
            self._processes[key] = (next(self._numbers), name)
        return self._processes[key][0]

    def thread(self, process: int, name: str, order: int) -> int:
        if (process, name) not in self._threads:
            self._threads[process, name] = (next(self._numbers), order)
        return self._threads[process, name][0]

    def metadata(self) -> Iterator[Event]:
        cells = list(dict.fromkeys(key.cell for key in self._processes))
        ordered = sorted(
            self._processes, key=lambda key: (cells.index(key.cell), key.connection, key.kind)
        )
        for place, key in enumerate(ordered):
            pid, name = self._processes[key]
            yield metadata_event("process_name", pid, 0, name=name)
            yield metadata_event("process_sort_index", pid, 0, sort_index=place)
        for (pid, name), (tid, order) in self._threads.items():
            yield metadata_event("thread_name", pid, tid, name=name)
            yield metadata_event("thread_sort_index", pid, tid, sort_index=order)


def _offsets(rows: Iterable[StreamRow]) -> Offsets:
    """Start of each burst, in ns, when a cell's bursts follow each other."""
    lengths: Offsets = {}
    for row in rows:
        key = (row.cell, row.burst)
        lengths[key] = max(lengths.get(key, 0), row.wire_end_ns, row.delivered_ns or 0)
    offsets: Offsets = {}
    next_start: dict[str, int] = {}
    for cell, burst in sorted(lengths):
        start = next_start.get(cell, 0)
        offsets[cell, burst] = start
        next_start[cell] = start + lengths[cell, burst] + _PAUSE_NS
    return offsets


def _process_of(row: StreamRow, tracks: _Tracks) -> int:
    predicted = row.world == "predict"
    who = f"predicted by {row.model}" if predicted else _WORLDS[row.world]
    path = f"connection {row.connection} {row.source} to {row.destination}"
    return tracks.process(
        _Process(row.cell, row.connection, int(predicted)), f"{row.cell}, {path}, {who}"
    )


def _stream_events(
    row: StreamRow, offsets: Offsets, tracks: _Tracks, resolution_ns: int
) -> Iterator[Event]:
    offset_ns = offsets[row.cell, row.burst]
    pid = _process_of(row, tracks)
    track = f"stream {row.stream} {row.tensor}"
    tid = tracks.thread(pid, track, 2 * row.stream)
    for number, service in enumerate(merge_close(row.services, resolution_ns)):
        args = {"bytes": service.size_bytes, "visit": number, "burst": row.burst}
        start_ns, end_ns = offset_ns + service.start_ns, offset_ns + service.end_ns
        yield complete_event(row.tensor, pid, tid, start_ns, end_ns, args)
    if row.stalls:
        stall_tid = tracks.thread(pid, f"{track}, no credit", 2 * row.stream + 1)
        for stall in row.stalls:
            start_ns, end_ns = offset_ns + stall.start_ns, offset_ns + stall.end_ns
            args = {"burst": row.burst}
            yield complete_event("no credit", pid, stall_tid, start_ns, end_ns, args)


def _burst_events(
    measured: Iterable[StreamRow], offsets: Offsets, tracks: _Tracks
) -> Iterator[Event]:
    ends: dict[tuple[int, str, int, bool], int] = {}
    for row in measured:
        key = (_process_of(row, tracks), row.cell, row.burst, row.valid)
        ends[key] = max(ends.get(key, 0), row.wire_end_ns)
    for (pid, cell, burst, valid), end in ends.items():
        tid = tracks.thread(pid, "bursts", 0)
        name = f"burst {burst}" if valid else f"burst {burst} (invalid)"
        start_ns = offsets[cell, burst]
        yield complete_event(name, pid, tid, start_ns, start_ns + end, {"valid": valid})


def _counter(window: WindowRow, offsets: Offsets, tracks: _Tracks) -> Event:
    key = _Process(window.cell, window.connection, 0)
    pid = tracks.process(key, f"{window.cell}, connection {window.connection}, measured")
    what = "connection credit" if window.stream == 0 else f"stream {window.stream} credit"
    return {
        "ph": "C",
        "name": what,
        "pid": pid,
        "tid": 0,
        "ts": (offsets[window.cell, window.burst] + window.time_ns) / 1000,
        "args": {"bytes": window.credit_bytes},
    }


def _notes(
    rows: Sequence[StreamRow], resolution_ns: int, windows: Sequence[WindowRow], limit: int
) -> dict[str, Any]:
    notes: dict[str, Any] = {
        "format": "netcosim-perfetto",
        "intervals": sum(len(row.services) for row in rows),
        "joined_within_us": resolution_ns / 1000,
    }
    if resolution_ns:
        notes["note"] = "intervals of a stream no further apart than joined_within_us are one"
    if len(windows) > limit:
        notes["windows_note"] = f"one in {-(-len(windows) // limit)} credit points is shown"
    return notes
