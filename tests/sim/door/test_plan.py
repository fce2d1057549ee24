"""What ``--plan`` says of things that no figure hangs on."""

import json
from pathlib import Path

import pytest

from tests.sim.door.door import FAST, Inside
from tests.workload.profiles import plain

TRACE = """
[[straggler]]
kind = "trace"
workers = [0, 2]
options = { file = "speed.csv" }
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("mine.json").write_text(json.dumps(plain()))
    path = Path("job.toml")
    path.write_text(FAST)
    return path


def planned(inside: Inside, *more: str) -> list[str]:
    done = inside.run("--scenario", "./job.toml", "--plan", *more)
    assert (done.code, done.err) == (0, "")
    return done.out.splitlines()


@pytest.mark.parametrize(
    ("transport", "said"),
    [
        (
            "flow_control = false",
            "none: flow control is off; the profile was recorded with 64KiB",
        ),
        (
            'window = "1MiB"',
            "stream 1MiB, connection none; the profile was recorded with 64KiB",
        ),
        ('window = "64KiB"', "stream 64KiB, connection none"),
    ],
)
def test_another_window_than_while_recording(
    inside: Inside, job: Path, transport: str, said: str
) -> None:
    job.write_text(FAST.replace("flow_control = false", transport))
    assert f"  windows   {said}" in planned(inside, "--workload", "mine.json")


def test_a_recording_whose_window_is_not_known_says_nothing(inside: Inside, job: Path) -> None:
    assert "  windows   none: flow control is off" in planned(inside)


def test_what_a_speed_trace_says_of_its_machine(inside: Inside, job: Path) -> None:
    """For the largest run; the mean is over the time up to the last row."""
    job.write_text(FAST + TRACE)
    Path("speed.csv").write_text("time_ns,speed,cpu\n0,1,0.3\n30000,0.4,0.9\n40000,1,0.1\n")
    assert [line for line in planned(inside, "--workers", "1,3") if line.startswith("use")] == [
        "use         w0, w2: processors 45 % on average, 90 % at most"
    ]
