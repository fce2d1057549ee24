"""Events of Chrome's trace event format, which ui.perfetto.dev reads.

Source: "Trace Event Format", Chromium project.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

Event = dict[str, Any]


def metadata_event(kind: str, pid: int, tid: int, **args: Any) -> Event:
    """Name or place of a process or of a track."""
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args}


def complete_event(
    name: str, pid: int, tid: int, start_ns: int, end_ns: int, args: Mapping[str, Any]
) -> Event:
    """A slice of a track."""
    return {
        "ph": "X",
        "cat": "netcosim",
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": start_ns / 1000,
        "dur": (end_ns - start_ns) / 1000,
        "args": args,
    }


def trace_json(events: Sequence[Event], notes: Mapping[str, Any]) -> str:
    """The events as JSON text; the viewer does not show the notes."""
    document = {"displayTimeUnit": "ms", "otherData": notes, "traceEvents": events}
    return json.dumps(document, separators=(",", ":"), sort_keys=True) + "\n"
