"""A real run's small files: credit as it was given, and the same predictions again without root."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from netcosim.results.folder import ResultsFolder
from netcosim.results.streams.grants import GrantRow
from netcosim.trace import StreamRow
from tests.emu.run.running import IN_LITTLE_MEMORY, results, run_to_end, scenario
from tests.emu.run.world import ROOT, World
from tests.processes import ended

pytestmark = [pytest.mark.root, pytest.mark.emulation]
SMALL = ("scenario.toml", "trace.parquet", "grants.parquet", "lost.parquet", "run.json")
WINDOW = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class Ran:
    """Folder of a run, and a copy of it with the small files alone."""

    small: Path
    files: dict[str, bytes]
    measured: tuple[StreamRow, ...]
    predicted: tuple[StreamRow, ...]
    grants: tuple[GrantRow, ...]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    with World(tmp_path_factory.mktemp("world")) as world:
        done = run_to_end(
            world, "--scenario", scenario("levels"), "--out", "out", command=IN_LITTLE_MEMORY
        )
        assert done.code in (0, 1), done.err
        small = tmp_path_factory.mktemp("small")
        with results(world) as folder:
            for name in SMALL:
                (small / name).write_bytes(folder.read(name))
            yield Ran(
                small=small,
                files={n: folder.read(n) for n in ("predictions.parquet", "summary.json", *SMALL)},
                measured=folder.read_trace(),
                predicted=folder.read_predictions(),
                grants=folder.read_grants(),
            )


def predict(*arguments: object) -> "subprocess.CompletedProcess[str]":
    """Without any of root's rights; only its name is left, which owns this suite's Python."""
    nothing = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "--"]
    command = [*nothing, sys.executable, "-P", "-m", "emu.predict", *map(str, arguments)]
    return ended(
        command,
        cwd="/",
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
    )


def test_the_same_is_predicted_again_without_captures_and_without_root(ran: Ran) -> None:
    again = ran.small / "again"
    done = predict(ran.small, "--out", again)
    assert (done.returncode, done.stderr) == (0, "")
    assert "These predictions are the same as the run, byte for byte." in done.stdout
    for level in ("PREDICT", "EXPLAIN", "ORACLE"):
        assert level in done.stdout
    for name in (
        "predictions.parquet",
        "scenario.toml",
        "trace.parquet",
        "grants.parquet",
        "lost.parquet",
    ):
        assert (again / name).read_bytes() == ran.files[name], name
    # Whether it was complete is told by the summary itself; all else follows from the rows.
    assert (again / "summary.json").read_bytes() == ran.files["summary.json"]
    with ResultsFolder.open(again) as folder:
        assert folder.read_run() is not None


def test_a_fixed_windows_grants_are_whole_windows_of_streams_that_need_them(ran: Ran) -> None:
    sizes = {(r.burst, r.stream): r.wire_bytes for r in ran.measured if r.cell == "mix/stalling"}
    given: dict[tuple[int, int], list[int]] = {}
    for row in ran.grants:
        if (row.cell, row.kind) == ("mix/stalling", "window_update") and row.stream:
            given.setdefault((row.burst, row.stream), []).append(row.size_bytes)
            assert row.from_receiver
    assert {where for where, size in sizes.items() if size > WINDOW} == given.keys()
    for where, updates in given.items():
        assert set(updates) == {WINDOW}
        assert sum(updates) + WINDOW >= sizes[where] > sum(updates)


def test_windows_are_announced_before_the_first_burst(ran: Ran) -> None:
    for cell, least in (("mix/stalling", WINDOW), ("mix/grpc", 65535)):
        said = [r for r in ran.grants if (r.cell, r.kind) == (cell, "initial_window")]
        assert said[0].burst == min(r.burst for r in ran.measured if r.cell == cell)
        assert said[0].time_ns < 0
        assert said[0].size_bytes >= least


def test_grpcs_probes_are_seen_and_answered(ran: Ran) -> None:
    pings = [r for r in ran.grants if r.cell == "mix/grpc" and r.kind in ("ping", "ping_ack")]
    asked = [r for r in pings if r.from_receiver and r.kind == "ping"]
    answered = [r for r in pings if not r.from_receiver and r.kind == "ping_ack"]
    assert asked
    assert 0 <= len(asked) - len(answered) <= 1  # the last may be answered after the last byte


def test_every_level_predicts_every_burst(ran: Ran) -> None:
    measured = {(r.cell, r.burst, r.stream) for r in ran.measured}
    for level in ("PREDICT", "EXPLAIN", "ORACLE"):
        mine = [r for r in ran.predicted if r.level == level]
        assert {(r.cell, r.burst, r.stream) for r in mine} == measured
        assert all(sum(s.size_bytes for s in r.services) == r.wire_bytes for r in mine)
