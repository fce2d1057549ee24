"""A simulation that was ended on its way goes on where it was; what was finished is kept."""

import json
import time
from pathlib import Path

import pytest

from tests.sim.cli.started import FAST, assert_refused, start, wait_for

SECOND = """
[[transport]]
name = "interleaved"
sender = "h2"
receiver = "h2"
discipline = "fifo"
"""
TABLES = ("steps.parquet", "operations.parquet", "trace.parquet", "perfetto.json")


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the test is in: it has a job of two cells."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.toml").write_text(FAST + SECOND)
    return tmp_path


def killed(job: Path, line: str) -> None:
    """Start the job, and kill it when it says this of its second cell."""
    with start("--scenario", "job.toml", "--out", "out", cwd=job) as process:
        wait_for(process, line)
        process.kill()
        process.communicate(timeout=600)


@pytest.mark.oracle
@pytest.mark.parametrize("line", ["interleaved: 1 worker", "interleaved: tracing", "whole: 1 w"])
def test_after_kill_9_it_gives_what_an_undisturbed_one_gives(inside, job, line):
    killed(job, line)
    done = inside.do("--resume", "out")
    assert ("alexnet/whole: 1 worker" in done.err) == (line == "whole: 1 w")
    assert "alexnet/interleaved: 1 worker" in done.err
    assert inside.run("--scenario", "job.toml", "--out", "whole").code == 0
    for name in ("summary.json", "scenario.toml", *TABLES):
        assert Path("out", name).read_bytes() == Path("whole", name).read_bytes(), name
    assert not Path("out/unfinished").exists()
    assert_refused(inside.run("--resume", "out"), '--resume: "out": is complete')


@pytest.mark.oracle
def test_what_would_change_the_simulation_is_refused(inside, job):
    killed(job, "interleaved: 1 worker")
    assert_refused(inside.run("--resume", "out", "--steps", "9"), '--steps: "9": has no meaning')
    assert_refused(inside.run("--resume", "none"), "none: can't be opened: No such file", code=6)
    assert_refused(inside.run("--resume", "out", "--trace", "1"), '--trace: "1": must be as before')
    scenario = Path("out/scenario.toml")
    before = scenario.read_text()
    scenario.write_text(before.replace("seed = 1", "seed = 2"))
    assert scenario.read_text() != before
    assert_refused(inside.run("--resume", "out"), "scenario.toml is not what it was begun with")
    scenario.write_text(before)
    kept = Path("out/unfinished/0.json")
    whole = json.loads(kept.read_text())
    older = whole | {"origin": whole["origin"] | {"engine": "0123456789abcdef"}}
    kept.write_text(json.dumps(older))
    assert_refused(inside.run("--resume", "out"), "was begun by another release of the simulator")


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["0.json", "0.steps.parquet"])
def test_what_was_damaged_is_named(inside, job, name):
    killed(job, "interleaved: 1 worker")
    path = Path("out/unfinished", name)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert_refused(inside.run("--resume", "out"), f"{path}: ", code=6)
    Path("out/unfinished/0.json").unlink()
    Path("out/summary.json").write_text("damaged")
    assert_refused(inside.run("--resume", "out"), "out/summary.json: ", code=6)
    Path("out/summary.json").unlink()
    assert inside.run("--resume", "out", "--yes").code == 0


@pytest.mark.oracle
def test_a_folder_that_is_being_written_is_left_alone(inside, job):
    with start("--scenario", "job.toml", "--steps", "100000", "--out", "out", cwd=job) as process:
        while not (job / "out/summary.json").exists():
            assert process.poll() is None
            time.sleep(0.05)
        done = inside.run("--resume", str(job / "out"))
        process.kill()
        process.communicate(timeout=600)
    assert (done.code, done.out) == (6, "")
    assert "is in use by another run" in done.err
