"""Perfetto documents as tests look at them."""

import itertools
from typing import Any


def of_kind(document: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in document["traceEvents"] if event["ph"] == kind]


def names(document: dict[str, Any], kind: str) -> dict[tuple[int, int], str]:
    return {
        (e["pid"], e["tid"]): e["args"]["name"] for e in of_kind(document, "M") if e["name"] == kind
    }


def assert_well_formed(document: dict[str, Any]) -> None:
    """Valid trace events on named tracks of named processes; those of a track never overlap."""
    assert document["traceEvents"]
    processes, tracks = names(document, "process_name"), names(document, "thread_name")
    spans: dict[int, list[tuple[float, float]]] = {}
    for event in document["traceEvents"]:
        assert event["ph"] in "XMC"
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        assert event["ph"] == "M" or event["ts"] >= 0
        if event["ph"] == "C":
            assert list(event["args"]) == ["bytes"]
        if event["ph"] == "X":
            assert event["dur"] >= 0
            assert (event["pid"], event["tid"]) in tracks
            assert event["pid"] in {pid for pid, _ in processes}
            spans.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    numbers = [tid for _, tid in tracks] + [pid for pid, _ in processes]
    assert len(set(numbers)) == len(numbers)
    for of_track in spans.values():
        for (_, end), (start, _) in itertools.pairwise(sorted(of_track)):
            assert start >= end - 1e-3
