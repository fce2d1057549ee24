"""Virtual time on machines whose programs did other things before: results are the same."""

import shutil
import site
from pathlib import Path

import pytest

from tests.emu.run.running import WORK, run_to_end, scenario
from tests.emu.run.world import World

pytestmark = [pytest.mark.root, pytest.mark.guest]
BUSY = "import time; [now() for now in [time.time_ns] * 2000]; [object() for _ in range(20000)]\n"


def test_results_do_not_hang_on_what_processes_did_before(world: World) -> None:
    for out, prepare in (("plain", lambda _: None), ("without", forget), ("busy", keep_busy)):
        prepare(world)
        done = run_to_end(world, "--scenario", scenario("history"), "--out", out)
        assert done.code == 0, done.err
    plain, without, busy = (world.at(f"{WORK}/{out}") for out in ("plain", "without", "busy"))
    names = [str(p.relative_to(plain)) for p in (*plain.glob("*.parquet"), *plain.glob("*/*.gz"))]
    assert {"trace.parquet", "captures/mixed@grpc.c0.pcap.gz"} <= set(names)
    for name in names:
        assert (plain / name).read_bytes() == (without / name).read_bytes(), name
    # A moment of its draws is another when gRPC's memory lies elsewhere: our own ends only.
    capture = "captures/mixed@h2.c0.pcap.gz"
    assert (plain / capture).read_bytes() == (busy / capture).read_bytes()


def forget(world: World) -> None:
    """Take away the bytecode of all libraries."""
    for folder in site.getsitepackages():
        for bytecode in sorted(Path(folder).rglob("__pycache__")):
            shutil.rmtree(world.at(str(bytecode)))


def keep_busy(world: World) -> None:
    """Have each Python read the clock and make objects before its program begins."""
    world.at(f"{site.getsitepackages()[0]}/busy.pth").write_text(BUSY)
