"""Somebody's own endpoint in a real run: it does its work, and can do no harm."""

from pathlib import Path

import pytest

from tests.emu.run.running import WORK, results, run_to_end, scenario
from tests.emu.run.world import World

pytestmark = [pytest.mark.root, pytest.mark.emulation]
HARMFUL = Path(__file__).with_name("harmful_endpoint.py")
OWN = f"""
[[transport]]
name = "to-grpc"
sender = "script"
sender_script = "{HARMFUL}"
receiver = "grpc"

[[transport]]
name = "from-grpc"
sender = "grpc"
receiver = "script"
receiver_script = "{HARMFUL}"
"""


def test_an_own_endpoint_can_do_no_harm(world: World) -> None:
    text = Path(scenario("one")).read_text().partition("[[transport]]")[0]
    world.at(f"{WORK}/own.toml").write_text(text + OWN)
    world.forget_changes()
    done = run_to_end(world, "--scenario", "own.toml", "--out", "out")
    assert done.code in (0, 1), done.err
    with results(world) as folder:
        assert {row.cell for row in folder.read_trace()} == {"three/to-grpc", "three/from-grpc"}
    assert world.changes(below=f"{WORK}/out") == set()
