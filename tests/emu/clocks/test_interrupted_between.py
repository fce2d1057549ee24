"""An interruption in virtual time that comes while no guest is waited for."""

from pathlib import Path

import pytest

from tests.emu.run.running import scenario
from tests.inside import inside

pytestmark = [pytest.mark.root, pytest.mark.guest]


def test_what_was_told_to_be_done_is_kept(tmp_path: Path) -> None:
    """Bursts are told by threads, when the run may be at anything between two answers."""
    text = Path(scenario("slow")).read_text().replace("repetitions = 2", "repetitions = 30")
    found = inside(
        "tests.emu.clocks.cases:interrupted_between",
        scenario=f'clock = "virtual"\n{text}',
        out=str(tmp_path / "out"),
    )
    assert found["failure"] == "KeyboardInterrupt('SIGTERM')"
    assert found["told"]
    assert set(found["told"]) <= set(found["kept"])
    assert found["reasons"][0] == "ended early: interrupted by SIGTERM"


def test_steps_of_training_jobs_are_kept(tmp_path: Path) -> None:
    text = Path(scenario("training")).read_text()
    found = inside(
        "tests.emu.clocks.cases:jobs_interrupted_between", scenario=text, out=str(tmp_path / "out")
    )
    assert found["failure"] == "KeyboardInterrupt('SIGTERM')"
    assert len(found["kept"]) >= 2
    assert all(found["kept"])
