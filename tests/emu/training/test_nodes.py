"""Nodes of a job that failed: what they wrote is kept, and nothing begins any more."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from emu.endpoints.pairing import EndPlan
from emu.endpoints.process import EndpointProcess
from emu.remote.training.roles import Row
from emu.training.nodes import _Nodes
from netcosim.training.coordination import JobCoordination

ROWS = [[0, 0, 3, -1, 5]]
TOLD = (
    {"event": "ended", "worker": 0, "at_ns": 5, "rows": ROWS},
    {"event": "usage", "processor_ns": 7},
)
PROGRAM = f"print({chr(10).join(map(json.dumps, TOLD))!r}, flush=True)"


def popen(host: str, argv: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(argv, **options)


@pytest.fixture
def ended() -> Iterator[EndpointProcess]:
    """A node that has told the end of a step, and died."""
    plan = EndPlan(name="worker", host="w0", argv=(sys.executable, "-c", PROGRAM), environment={})
    process = EndpointProcess(popen, plan)
    process._process.wait(600)
    yield process
    process.kill()


def test_what_a_dead_node_wrote_is_kept_and_no_step_begins(ended: EndpointProcess) -> None:
    kept: list[tuple[str, list[Row]]] = []
    nodes = _Nodes(keep=lambda host, rows: kept.append((host, list(rows))))
    nodes.processes = [ended]
    nodes.coordination = JobCoordination.__new__(JobCoordination)  # asked for a step it would fail
    nodes.keep_all()
    assert kept == [("w0", [tuple(row) for row in ROWS])]
    assert nodes.processor_ns == {"w0": 7}
