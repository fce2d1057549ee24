"""`bench fidelity` killed in its midst: nothing runs on, nothing half is kept, it goes on."""

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from bench.fidelity.listing import read_listing
from bench.fidelity.store import Store

pytestmark = pytest.mark.root
ROOT = Path(__file__).parents[2]
LISTING = """
repetitions = 1
total = "1MB"
[transport.h2-fifo]
family = "h2"
sender = "h2"
receiver = "h2"
discipline = "fifo"
flow_control = false
[[group]]
workload = "mixed8"
direction = "pull"
rate = "200mbit"
link = "fair"
transports = ["h2-fifo"]
"""
BENCH = """
import sys
from pathlib import Path
from bench.fidelity.listing import read_listing
from bench.fidelity.running import run_missing
from bench.fidelity.store import Store
cells, store = read_listing(Path(sys.argv[1])), Store(path=Path(sys.argv[2]))
run_missing(cells, store, budget_s=1e9, say=lambda line: print(line, flush=True))
"""


def bench(listing: Path, store: Store, mark: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", BENCH, str(listing), str(store.path)],
        cwd=ROOT,
        env={**os.environ, "NETCOSIM_TEST_MARK": mark},
        stdout=subprocess.PIPE,
        text=True,
    )


def marked(mark: str) -> list[str]:
    """Command lines of what still has this variable."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdigit() and mark.encode() in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def wait_until(what: str, seconds: float, true: object) -> None:
    assert callable(true)
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_a_killed_bench_leaves_nothing_behind_and_goes_on(tmp_path: Path) -> None:
    listing = tmp_path / "cells.toml"
    listing.write_text(LISTING)
    (cell,) = read_listing(listing)
    store = Store(path=tmp_path / "observations")
    mark = str(uuid.uuid4())
    first = bench(listing, store, mark)
    out = store.path / ".running" / "out" / "scenario.toml"
    wait_until("the run began", 40, out.exists)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=240)
    wait_until("the run ended with its bench", 20, lambda: marked(mark) == [])
    assert not store.has(cell)
    second = bench(listing, store, mark)
    told, _ = second.communicate(timeout=90)
    assert second.returncode == 0
    assert "h2-fifo: kept" in told
    assert store.has(cell)
    assert sorted(p.name for p in store.path.iterdir()) == ["h2", "not-run.json"]
    third = bench(listing, store, mark)
    assert third.communicate(timeout=240)[0] == ""
