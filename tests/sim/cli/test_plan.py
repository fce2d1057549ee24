"""Lines of ``--plan`` that no figure hangs on."""

import json
from pathlib import Path

import pytest

from tests.netcosim.workload.profiles import plain
from tests.sim.cli.started import FAST, ROOT, Inside

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


@pytest.mark.parametrize("schedule", ["fifo", "p3", "bytescheduler", "prophet"])
def test_a_schedule_of_the_command_line_goes_without_the_options_of_the_files(inside, schedule):
    """As docs/how-to/choose-a-schedule.md has it."""
    scenario = str(ROOT / "examples/schedules.toml")
    done = inside.run("--scenario", scenario, "--schedule", schedule, "--plan")
    assert (done.code, done.err) == (0, "")
    assert any(line.startswith(f"schedule    {schedule}") for line in done.out.splitlines())
    note = "credit_bytes 6000000 is left out: it is not of policy.schedule"
    assert (note in done.out) == (schedule != "bytescheduler")


@pytest.mark.parametrize(
    ("transport", "said"),
    [
        ("flow_control = false", "none: flow control is off; the profile was recorded with 64KiB"),
        ('window = "1MiB"', "stream 1MiB, connection none; the profile was recorded with 64KiB"),
        ('window = "64KiB"', "stream 64KiB, connection none"),
    ],
)
def test_another_window_than_while_recording(inside, job, transport, said):
    job.write_text(FAST.replace("flow_control = false", transport))
    assert f"  windows   {said}" in planned(inside, "--workload", "mine.json")


def test_a_join_of_more_workers_than_there_are_is_noted(inside, job):
    joined = 'steps = 20\nsynchronisation = "join"\nfirst = {}'
    for first, noted in ((9, True), (1, False)):
        job.write_text(FAST.replace("steps = 20", joined.format(first)))
        lines = planned(inside, "--workload", "mine.json", "--workers", "1-2")
        note = f"note        training.first {first} has no effect with 2 workers at most"
        assert (note in lines) == noted


def test_what_does_nothing_is_noted(inside, job):
    job.write_text(FAST.replace("steps = 20", "steps = 20\ngap = 7"))
    noted = [
        "note        training.gap 7 has no effect with synchronisation asp; it is of ssp",
        "note        --placement greedy has no effect with one server",
    ]
    assert planned(inside, "--placement", "greedy")[-3:-1] == noted
    assert not [line for line in planned(inside, "--synchronisation", "ssp") if "gap" in line]
    assert not [line for line in planned(inside, "--servers", "2") if "no effect with one" in line]


def test_a_recording_whose_window_is_not_known_says_nothing(inside, job):
    assert "  windows   none: flow control is off" in planned(inside)


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (
            'sender = "grpc"\nreceiver = "grpc"',
            [
                "  sender    write_cycle (frame 4194304, head_first 87, head 12, "
                "tail_first 39, tail 25)",
                "  release   none is named: grpcio 1.85.1, the newest studied",
            ],
        ),
        (
            'sender = "grpc"\nsender_release = "1.62.3"\nreceiver = "h2"',
            [
                "  sender    two_visit (write 131072, write_max 16777216)",
                "  release   grpcio 1.62.3 is not studied: nearest is grpcio 1.59.5; its rule is"
                " assumed, not measured",
            ],
        ),
        (
            'sender = "grpc"\nsender_release = "1.39.0"\nreceiver = "h2"',
            ["  sender    two_visit (write 1048576)"],
        ),
    ],
)
def test_whose_rule_a_grpc_sender_has(inside, job, ends, said):
    """Only that of a studied release is known; without a release it is the newest of these."""
    plain_ends = 'sender = "h2"\nreceiver = "h2"\ndiscipline = "fifo"\nflow_control = false'
    job.write_text(FAST.replace(plain_ends, ends))
    lines = [line for line in planned(inside) if line.startswith(("  sender", "  release"))]
    assert lines == said


def test_what_a_speed_trace_says_of_its_machine(inside, job):
    """For the largest run; the mean is over the time up to the last row."""
    job.write_text(FAST + TRACE)
    Path("speed.csv").write_text("time_ns,speed,cpu\n0,1,0.3\n30000,0.4,0.9\n40000,1,0.1\n")
    assert [line for line in planned(inside, "--workers", "1,3") if line.startswith("use")] == [
        "use         w0, w2: processors 45 % on average, 90 % at most"
    ]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            'kind = "bsp"\n[[coordination.curve]]\nworkers = "all"\nsaturated = 4',
            "coordination.curve has no effect with bsp, which moves no batches",
        ),
        (
            'kind = "redundant"\noptions = { first = 9 }',
            "coordination.options.first 9 has no effect with 2 workers at most",
        ),
        ('kind = "lb_bsp"\n[[coordination.curve]]\nworkers = "all"\nsaturated = 4', None),
        ('kind = "redundant"\noptions = { first = 1 }', None),
    ],
)
def test_what_of_a_coordination_does_nothing_is_noted(inside, job, table, said):
    job.write_text(f"{FAST}\n[coordination]\n{table}\n")
    lines = planned(inside, "--workload", "mine.json", "--workers", "1-2")
    notes = [line for line in lines if line.startswith("note  ")]
    assert notes == ([] if said is None else [f"note        {said}"])
