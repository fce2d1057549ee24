"""A record by the machine's clock says what a message takes, and predictions count it."""

from pathlib import Path

import pytest

from netcosim.results.training.job_summary import JobSummary, MessageTimes
from netcosim.results.training.seal import Seal, load_seal
from sim.run import main as simulate
from tests.emu.run.running import WORK, results, run_to_end, scenario
from tests.emu.run.world import World

# A network by the machine's clock is refused where other tests keep the processors from it.
pytestmark = [pytest.mark.root, pytest.mark.emulation, pytest.mark.alone]


def sealed(record: Path, path: Path) -> Seal:
    assert simulate(["--from", str(record), "--seal", str(path)]) == 0
    return load_seal(path.read_bytes(), path.name)


SLOW = MessageTimes(asking_ns=0, parameter_ns=20_000_000, gradient_ns=20_000_000, spread=0)
"""Sixteen parameters of them take longer than all else of a step."""


def with_times(record: Path, messages: MessageTimes | None) -> None:
    """Change what a record says of messages."""
    path = record / "summary.json"
    summary = JobSummary.model_validate_json(path.read_bytes())
    series = tuple(each.model_copy(update={"messages": messages}) for each in summary.series)
    path.write_text(summary.model_copy(update={"series": series}).model_dump_json())


def test_a_record_says_what_messages_take(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # What a message takes at its ends is told where it is clearly longer than on the link.
    given = Path(scenario("real-jobs")).read_text(encoding="utf-8")
    faster = given.replace('rate = "20mbit"', 'rate = "100mbit"')
    assert faster != given
    world.at(f"{WORK}/faster.toml").write_text(faster)
    done = run_to_end(world, "--scenario", "faster.toml", "--only", "1", "--out", "record")
    assert done.code == 0, done.err
    record = world.at(WORK) / "record"
    with results(world, f"{WORK}/record") as folder:
        summary = folder.read_job_summary()
    assert summary is not None
    for series in summary.series:
        times = series.messages
        assert times is not None
        # A machine that does other work may take calls so late that parameters wait for nothing.
        assert 1_000 < times.asking_ns + times.parameter_ns < 100_000_000
        assert min(times.asking_ns, times.parameter_ns) >= 0
        assert times.gradient_ns > 0
    counted = sealed(record, tmp_path / "counted.json")
    told = capsys.readouterr().out
    assert told.count("counting ") == 2
    assert "us a parameter" in told
    with_times(record, None)
    left_out = sealed(record, tmp_path / "left-out.json")
    with_times(record, SLOW)
    slow = sealed(record, tmp_path / "slow.json")
    for one, other, slowest in zip(counted.cells, left_out.cells, slow.cells, strict=True):
        # Times as short as those here may make an order that happens to be better.
        assert one.points[0].examples_per_s != other.points[0].examples_per_s
        assert slowest.points[0].examples_per_s < other.points[0].examples_per_s
