"""Open vSwitch in a guest, on a machine whose own kernel need not have it."""

from pathlib import Path

import pytest

from netcosim.results.folder import ResultsFolder
from tests.emu.run.running import WORK, run_to_end, scenario
from tests.emu.run.world import World

pytestmark = [pytest.mark.root, pytest.mark.guest]
MOST_APART_NS = 20_000
"""A sixth of a packet's time on the link."""


def test_an_open_vswitch_forwards_as_a_bridge_does_and_equally_twice(world: World) -> None:
    given = Path(scenario("openvswitch")).read_text(encoding="utf-8")
    bridge = given.replace('switch = "openvswitch"', 'switch = "linuxbridge"')
    assert bridge != given
    world.at(f"{WORK}/bridge.toml").write_text(bridge)
    for out, which in (("out", scenario("openvswitch")), ("bridge", "bridge.toml")):
        done = run_to_end(world, "--scenario", which, "--out", out)
        assert done.code == 0, done.err
    assert run_to_end(world, "--scenario", scenario("openvswitch"), "--out", "again").code == 0
    kinds, ends = zip(*(found(world.at(f"{WORK}/{out}")) for out in ("out", "bridge")), strict=True)
    assert kinds == ({"openvswitch"}, {"linuxbridge"})
    assert ends[0].keys() == ends[1].keys()
    assert {destination for _, destination, _ in ends[0]} == {"w0", "w1"}
    apart_ns = [abs(ends[0][stream] - ends[1][stream]) for stream in ends[0]]
    assert max(apart_ns) <= MOST_APART_NS
    one, two = (world.at(f"{WORK}/{out}/trace.parquet").read_bytes() for out in ("out", "again"))
    assert one == two


def found(path: Path) -> tuple[set[str], dict[tuple[int, str, int], int]]:
    """Kinds of switches, and the end of each stream by burst and worker; whole and trusted."""
    with ResultsFolder.open(path) as folder:
        summary, record, trace = folder.read_summary(), folder.read_run(), folder.read_trace()
    assert summary is not None
    assert record is not None
    assert summary.trusted
    kinds = set(record.network["switches"].values())
    return kinds, {(row.burst, row.destination, row.stream): row.wire_end_ns for row in trace}
