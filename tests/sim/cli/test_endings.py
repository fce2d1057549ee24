"""Ends of a simulation whose report, output or folder fail: nothing finished is lost."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Never

import pytest

from netcosim.errors import EndpointError, ScenarioError, StorageError
from netcosim.results.folder import ResultsFolder
from tests.sim.cli.started import Done, start

SMALL = ("--scenario", "./job.toml", "--workload", "mine.json", "--out", "new/out")
AGAIN = "the report is missing or not complete: python -m netcosim.report new/out draws it"


def assert_all_but_the_report(here: Path, done: Done) -> None:
    assert "examples/s" in done.out
    assert json.loads((here / "new/out/summary.json").read_text())["complete"] is True
    assert not (here / "new/out/report.html").exists()


def test_a_second_signal_while_the_report_is_drawn(here, inside):
    """The first one waits; after the second one the last line says what is missing."""

    def draw(folder: ResultsFolder) -> Never:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.6)  # sooner it counts as the same
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(9)
        raise AssertionError("it was not interrupted")

    done = inside.run(*SMALL, interpreted=True, draw=draw)
    assert done.code == 130
    last = done.err.splitlines()[-1]
    assert last == f"sim.run: interrupted; what was finished is in new/out; {AGAIN}"
    assert_all_but_the_report(here, done)


def test_one_signal_while_the_report_is_drawn_waits_for_it(here, inside):
    def draw(folder: ResultsFolder) -> Path:
        os.kill(os.getpid(), signal.SIGINT)
        folder.write("report.html", b"drawn")
        return folder.path / "report.html"

    done = inside.run(*SMALL, interpreted=True, draw=draw)
    assert done.code == 130
    assert "report: new/out/report.html" in done.out
    assert done.err.splitlines()[-1] == "sim.run: interrupted; what was finished is in new/out"


def test_a_report_that_can_not_be_written(here, inside):
    def draw(folder: ResultsFolder) -> Never:
        raise StorageError("new/out/report.html: can't be written: No space left on device")

    done = inside.run(*SMALL, interpreted=True, draw=draw)
    assert done.code == 6
    last = done.err.splitlines()[-1]
    why = "new/out/report.html: can't be written: No space left on device"
    assert last == f"sim.run: {why}; {AGAIN}"
    assert_all_but_the_report(here, done)


def test_results_that_can_not_be_written_are_told_all_the_same(here, inside, monkeypatch):
    def full(self: ResultsFolder, *_: object) -> Never:
        raise StorageError("new/out/steps.parquet: can't be written: No space left on device")

    def draw(folder: ResultsFolder) -> Never:
        raise StorageError("new/out/report.html: can't be written: No space left on device")

    monkeypatch.setattr(ResultsFolder, "write_steps", full)
    done = inside.run(*SMALL, interpreted=True, draw=draw)
    assert done.code == 6
    assert "examples/s" in done.out
    assert "This run is incomplete" in done.out
    line = "sim.run: new/out/steps.parquet: can't be written: No space left on device"
    then = f"sim.run: then: new/out/report.html: can't be written: No space left on device; {AGAIN}"
    assert done.err.splitlines()[-2:] == [line, then]
    kept = json.loads((here / "new/out/summary.json").read_text())
    assert (kept["complete"], kept["reasons"]) == (False, [f"ended early: {line[9:]}"])


def test_the_first_failure_decides_and_what_fails_after_it_is_told_after_it(
    here, inside, monkeypatch
):
    """As where a table can't be read for the report for lack of memory."""

    def fail(problem: BaseException) -> Callable[..., Never]:
        def failing(*_: object) -> Never:
            raise problem

        return failing

    monkeypatch.setattr("sim.session.Session._simulate_cells", fail(EndpointError("no 'done'")))
    monkeypatch.setattr(ResultsFolder, "write_steps", fail(StorageError("out: is full")))
    done = inside.run(*SMALL, interpreted=True, draw=fail(MemoryError()))
    assert done.code == 5
    assert done.err.splitlines()[-3:] == [
        "sim.run: no 'done'",
        "sim.run: then: out: is full",
        f"sim.run: then: this machine has not enough memory for it; {AGAIN}",
    ]
    reasons = json.loads((here / "new/out/summary.json").read_text())["reasons"]
    assert reasons == ["ended early: no 'done'"]


def test_a_refusal_after_the_folder_was_made_takes_it_back(here, inside, monkeypatch):
    def refuse(*_: object) -> Never:
        raise ScenarioError("job.toml: too much of it")

    monkeypatch.setattr("sim.simulation.simulate", refuse)
    done = inside.run(*SMALL, interpreted=True)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[-1] == "sim.run: job.toml: too much of it"
    assert sorted(path.name for path in here.iterdir()) == ["job.toml", "mine.json"]


def test_a_folder_s_name_can_not_steer_the_terminal(here, inside):
    done = inside.do(*SMALL[:-1], "\x1b[2J\udcff", interpreted=True)
    assert r"report: \x1b[2J\udcff/none" in done.out
    record = json.loads((here / "\x1b[2J\udcff" / "run.json").read_text())
    assert "\x1b[2J\\udcff" in record["command"]


@pytest.mark.oracle
def test_progress_that_nobody_reads_ends_nothing(here):
    """As ``sim.run 2>&1 >/dev/null | head -n 1`` does."""
    with start("--scenario", "job.toml", "--out", "out", cwd=here) as process:
        assert process.stderr.readline()
        process.stderr.close()
        assert "report: out/report.html" in process.stdout.read()
    assert process.returncode == 0
    assert json.loads((here / "out/summary.json").read_text())["complete"] is True
