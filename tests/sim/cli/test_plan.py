"""What ``--plan`` says: of the usual scenario, and of others that differ in little from FAST."""

from pathlib import Path

import pytest

from tests.sim.cli.started import FAST, ROOT, Inside
from tests.snapshots import assert_kept, sections

H2 = 'sender = "h2"\nreceiver = "h2"\ndiscipline = "fifo"\nflow_control = false'
TRAINING, OFF = "steps = 20", "flow_control = false"
DESCRIBED = 'description = "Two at one Gbit/s."\n'
HOSTILE = r'description = "\u001b]0;title\u0007 \u202e"' + "\n"
STRAGGLER = '\n[[straggler]]\nkind = "{}"\n{}\noptions = {{ {} }}\n'
MINE = "--workload mine.json"
FEW = f"{MINE} --workers 1-2"
CURVE = '[[coordination.curve]]\nworkers = "all"\nsaturated = 4'


def but(old: str, new: str) -> str:
    """The usual scenario of these tests, with this for that."""
    assert FAST.count(old) == 1
    return FAST.replace(old, new)


def joined(first: int) -> str:
    return but(TRAINING, f'{TRAINING}\nsynchronisation = "join"\nfirst = {first}')


def slow(*who: str) -> str:
    return FAST + "".join(STRAGGLER.format("slow", each, "factor = 2") for each in who)


def coordinated(kind: str, more: str) -> str:
    return f'{FAST}\n[coordination]\nkind = "{kind}"\n{more}\n'


PLANS = {
    "plain": (FAST, ""),
    "a profile": (FAST, MINE),
    "a profile, another window": (but(OFF, 'window = "1MiB"'), MINE),
    "a profile, its window": (but(OFF, 'window = "64KiB"'), MINE),
    "grpc": (but(H2, 'sender = "grpc"\nreceiver = "grpc"'), ""),
    "grpc, not studied": (
        but(H2, 'sender = "grpc"\nsender_release = "1.62.3"\nreceiver = "h2"'), ""
    ),
    "grpc, studied": (but(H2, 'sender = "grpc"\nsender_release = "1.39.0"\nreceiver = "h2"'), ""),
    "join of too many": (joined(9), FEW),
    "join of one": (joined(1), FEW),
    "gap of asp, placement on one server": (
        but(TRAINING, f"{TRAINING}\ngap = 7"), "--placement greedy"
    ),
    "gap of ssp": (but(TRAINING, f"{TRAINING}\ngap = 7"), "--synchronisation ssp"),
    "placement on two servers": (FAST, "--servers 2 --placement greedy"),
    "speed traces": (
        FAST + STRAGGLER.format("trace", "workers = [0, 2]", 'file = "speed.csv"'), "--workers 1,3"
    ),
    "who straggles": (
        slow("workers = [0, 1]", 'workers = "all"', "count = 1", "count = 2", "share = 0.5"), ""
    ),
    "one straggles, and is compared with one who does not": (
        slow("workers = [0]"), f"{MINE} --workers 2"
    ),
    "curves of bsp": (coordinated("bsp", CURVE), FEW),
    "curves of lb_bsp": (coordinated("lb_bsp", CURVE), FEW),
    "redundant of too many": (coordinated("redundant", "options = { first = 9 }"), FEW),
    "redundant of one": (coordinated("redundant", "options = { first = 1 }"), FEW),
    "described": (DESCRIBED + FAST, "--seed 3 --rate 1000mbit --workers 1-2 --steps 20"),
    "described otherwise": (
        DESCRIBED + FAST,
        "--rate 2gbit --workers 1 --trace-steps 0 --straggler one-slow --order as_listed",
    ),
    "described quite otherwise": (
        DESCRIBED + FAST,
        "--workload resnet50 --batch 8 --servers 2 --steps 30 --warmup 4 --placement greedy"
        " --synchronisation ssp --gap 2 --order random --share max_min",
    ),
    "a hostile description": (HOSTILE + FAST, ""),
}  # fmt: skip
"""Scenarios and options."""


def planned(inside: Inside, *options: str) -> list[str]:
    """Lines of a plan, but for the last one: what it costs hangs on the machine."""
    done = inside.run(*options, "--plan")
    assert (done.code, done.err) == (0, "")
    *lines, cost = done.out.splitlines()
    assert cost.startswith("takes       about ")
    return lines


def test_plans_are_as_kept(inside, here):
    """Of all but the first two, what differs from the plain one."""
    Path("speed.csv").write_text("time_ns,speed,cpu\n0,1,0.3\n30000,0.4,0.9\n40000,1,0.1\n")
    found = {}
    for name, (text, options) in PLANS.items():
        Path("job.toml").write_text(text)
        found[name] = planned(inside, "--scenario", "./job.toml", *options.split())
    plain = set(found["plain"])
    texts = {
        name: "\n".join(line for line in lines if name == "plain" or line not in plain).replace(
            str(here), "HERE"
        )
        for name, lines in found.items()
    }
    usual = {"the usual scenario": "\n".join(planned(inside))}
    assert_kept(Path(__file__).parent / "snapshots/plans.txt", sections(usual | texts))


@pytest.mark.parametrize("schedule", ["fifo", "p3", "bytescheduler", "prophet"])
def test_a_schedule_of_the_command_line_goes_without_the_options_of_the_files(inside, schedule):
    """As docs/how-to/choose-a-schedule.md has it."""
    scenario = str(ROOT / "examples/schedules.toml")
    lines = planned(inside, "--scenario", scenario, "--schedule", schedule)
    assert any(line.startswith(f"schedule    {schedule}") for line in lines)
    note = "credit_bytes 6000000 is left out: it is not of policy.schedule"
    assert (note in "\n".join(lines)) == (schedule != "bytescheduler")
