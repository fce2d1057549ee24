"""Settings for the simulator alone: refused by the emulator, or told not to be used."""

import pytest

from emu import run
from emu.cli.describe import describe
from emu.plan import make_plan
from netcosim.scenario import parse_scenario
from tests.snapshots import refusal

GOOD = """\
name = "x"
[cluster]
topology = "star"
workers = 2
[cluster.link]
rate = "100mbit"
[[workload]]
name = "w"
set = "resnet50"
[[transport]]
name = "t"
sender = "h2"
receiver = "h2"
discipline = "fifo"
"""
MOST = "65: must be <= 64 to be emulated; the simulator takes more"


@pytest.mark.parametrize(
    ("was", "becomes", "line"),
    [
        ("workers = 2", "workers = 65", f"cluster.workers: {MOST}"),
        ("workers = 2", "servers = 65", f"cluster.servers: {MOST}"),
        (
            "[[workload]]",
            '[[straggler]]\nkind = "slow"\ncount = 1\n[[workload]]',
            'straggler: "slow": stragglers are for the simulator; here give a worker a link of its'
            " own in [cluster.links]",
        ),
    ],
)
def test_refused_in_one_line(tmp_path, capsys, was, becomes, line):
    text = GOOD.replace(was, becomes, 1)
    assert refusal(make_plan, parse_scenario(text)) == line
    path = tmp_path / "x.toml"
    path.write_text(text)
    assert run.main(["--scenario", str(path), "--plan"]) == 2
    assert capsys.readouterr().err == f"emu.run: {path}: {line}\n"


def test_training_is_told_not_to_be_used():
    said = "training    not used: it is for the simulator; here bursts are measured"
    assert said in describe(make_plan(parse_scenario(GOOD + "[training]\nsteps = 100\n")))
    assert said not in describe(make_plan(parse_scenario(GOOD)))
