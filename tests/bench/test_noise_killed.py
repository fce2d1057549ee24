"""`bench noise` killed in its midst: run and load end with it, and that run is done again."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.fidelity.listing import read_listing
from bench.noise import run_records
from netcosim.scenario import dump_scenario
from tests.bench.test_fidelity_killed import LISTING, marked, wait_until

pytestmark = pytest.mark.root
ROOT = Path(__file__).parents[2]
BENCH = """
import sys
from pathlib import Path
from bench.noise.running import Place, run_missing
folder = Path(sys.argv[1])
command = (sys.executable, "-P", "-m", "emu.run", "--scenario", str(folder / "small.toml"))
place = Place(command=command, kept=folder / "noise.jsonl", folders=folder / "folders")
say = lambda line: print(line, flush=True)
run_missing([10], 1, budget_s=1e9, say=say, place=place)
"""


def bench(folder: Path, mark: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", BENCH, str(folder)],
        cwd=ROOT,
        env={**os.environ, "NETCOSIM_TEST_MARK": mark},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_killed_bench_leaves_nothing_running_and_does_that_run_again(tmp_path: Path) -> None:
    (tmp_path / "cells.toml").write_text(LISTING)
    (cell,) = read_listing(tmp_path / "cells.toml")
    (tmp_path / "small.toml").write_text(dump_scenario(cell.scenario))
    mark = str(tmp_path)
    first = bench(tmp_path, mark)
    begun = tmp_path / "folders" / "10-0" / "scenario.toml"
    wait_until("the run began", 60, begun.exists)
    assert any("bench.noise.load" in line for line in marked(mark))
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=240)
    wait_until("run and load ended with their bench", 20, lambda: marked(mark) == [])
    assert run_records.read(tmp_path / "noise.jsonl") == []
    second = bench(tmp_path, mark)
    told, _ = second.communicate(timeout=150)
    assert second.returncode == 0
    assert told.startswith("run 0 at 10 %: exit code 0, ")
    (run,) = run_records.read(tmp_path / "noise.jsonl")
    (found,) = run.cells
    assert (run.load, run.number, found.cell, found.right) == (10, 0, "mixed8/h2-fifo", "fifo")
    assert len(found.bursts) >= 1
    # The load works for the whole run; what else the machine does can't take it away.
    assert 0.03 < run.occupied < 0.17
    assert marked(mark) == []
    third = bench(tmp_path, mark)
    assert third.communicate(timeout=240)[0] == ""
