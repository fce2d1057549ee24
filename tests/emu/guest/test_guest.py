"""Guests: virtual time, equal chance, no way out, and an end in any case."""

import hashlib
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from emu.guest import kernel as kernel_module
from emu.guest.kernel import VARIABLE, Kernel
from netcosim.errors import EnvironmentRefusedError
from tests import inside
from tests.processes import ended

pytestmark = [pytest.mark.root, pytest.mark.guest]
CASES = "tests.emu.guest.cases"
COUNTER = Path(__file__).with_name("time_stamp_counter.c")


def call(name: str, **given: Any) -> Any:
    return inside.inside(f"{CASES}:{name}", **given)


def test_waiting_takes_virtual_time_alone() -> None:
    seen = call("clock", sleep_s=1000)
    assert seen["virtual_s"] == pytest.approx(1000, abs=0.01)
    assert seen["real_s"] < 60


def test_the_time_stamp_counter_shows_the_guests_clock(tmp_path: Path) -> None:
    program = tmp_path / "counter"
    subprocess.run(["gcc", "-o", str(program), str(COUNTER)], check=True)
    passed_ns, behind_ns, processor = json.loads(call("output", command=[str(program)]))
    assert passed_ns == pytest.approx(1e9, abs=1e5)
    assert 0 <= behind_ns < 1000
    assert processor == 0


def test_the_counters_frequency_is_told(tmp_path: Path) -> None:
    program = tmp_path / "counter"
    subprocess.run(["gcc", "-o", str(program), str(COUNTER)], check=True)
    said = f"cat /sys/devices/system/cpu/cpu0/tsc_freq_khz; {program}"
    told_khz, counted = call("output", command=["sh", "-c", said]).splitlines()
    assert json.loads(counted)[0] == pytest.approx(1e3 * int(told_khz), rel=1e-4)


def test_chance_is_of_the_seed() -> None:
    first, again, other = (call("random", seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert other != first
    assert len(set(first)) == len(first)


def test_nothing_but_its_folder_can_be_written() -> None:
    machine = ["/etc", "/var/tmp", str(inside.ROOT)]
    seen = call("writes", paths=[*machine, "/boot"])
    assert seen == {**dict.fromkeys(machine, "Read-only file system"), "/boot": "written"}


def test_remounting_opens_no_way_out() -> None:
    said = call("output", command=["sh", "-c", "mount -o remount,rw / && touch /etc/netcosim 2>&1"])
    assert "Read-only file system" in said
    assert not Path("/etc/netcosim").exists()


def test_it_has_no_interface_of_the_machine() -> None:
    assert set(call("output", command=["ls", "/sys/class/net"]).split()) == {"lo", "ifb0", "ifb1"}


def test_an_interruption_reaches_the_command() -> None:
    assert call("interrupted") == -signal.SIGINT


def test_a_guest_that_is_killed_is_told_and_leaves_nothing() -> None:
    seen = call("killed")
    assert seen["said"].startswith("a guest was killed by SIGKILL")
    assert seen["left"] == []


def test_a_guest_that_loses_a_process_ends() -> None:
    seen = call("lost")
    assert seen["said"].startswith("a guest ")
    assert "a process of the guest was killed from outside" in seen["said"]
    assert seen["left"] == []


def test_a_guest_that_loses_its_first_process_ends_soon() -> None:
    seen = call("lost_at_the_start")
    assert seen["said"].startswith("a guest")
    assert seen["left"] == []


def test_a_clock_that_stands_still_ends_the_guest() -> None:
    seen = call("stuck")
    told = (
        r"a guest's clock stood still for [\d.]+ s of processor time: a program in it never waits"
    )
    assert re.fullmatch(told, seen["said"])
    assert seen["left"] == []


def test_a_guest_that_stopped_is_told_from_one_that_works() -> None:
    seen = call("stopped")
    assert seen["said"] == "a guest's clock stood still for 3 s: nothing in it runs any more"
    assert seen["left"] == []


def test_without_a_kernel_what_builds_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentRefusedError, match=r"needs a kernel.*virtual-kernel builds it"):
        Kernel.find(tmp_path)


@pytest.mark.parametrize("record", ["", "{}", "[]", '{"hash": 1}'])
def test_a_broken_record_of_a_kernel_is_refused(tmp_path: Path, record: str) -> None:
    (tmp_path / "current").write_text("x")
    (tmp_path / "x").mkdir()
    (tmp_path / "x/kernel.json").write_text(record)
    with pytest.raises(EnvironmentRefusedError, match=r"can't be read.*builds it"):
        Kernel.find(tmp_path)


def test_one_kernel_of_several_can_be_named(tmp_path: Path) -> None:
    for name in ("new", "old"):
        _built(tmp_path / name)
    (tmp_path / "current").write_text("new\n")
    assert Kernel.find(tmp_path).hash == "new"
    assert Kernel.find(tmp_path / "old").hash == "old"


def test_every_kernel_is_found_the_current_one_first(tmp_path, monkeypatch) -> None:
    for name in ("a", "b", "c"):
        _built(tmp_path / name)
    (tmp_path / "build.x").mkdir()
    (tmp_path / "current").write_text("b")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert [kernel.hash for kernel in Kernel.every()] == ["b", "a", "c"]
    monkeypatch.setenv(VARIABLE, str(tmp_path / "c"))
    assert [kernel.hash for kernel in Kernel.every()] == ["c", "a", "b"]


def test_a_kernel_of_other_patches_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "old"))
    _built(tmp_path / "old")
    kernel, said = Kernel.find(tmp_path / "old"), list[str]()
    kernel.say_if_outdated(said.append)
    assert "old, has other patches than this checkout: ./dev virtual-kernel" in said[0]
    inputs = inside.ROOT / "emu/guest/kernel_build"
    files = [inputs / "config", *sorted((inputs / "patches/6.12").glob("*.patch"))]
    content = "a0\n" + "".join(file.read_text(encoding="utf-8") for file in files)
    _built(tmp_path / hashlib.sha256(content.encode()).hexdigest()[:16])
    newest = next(each for each in Kernel.every() if each.hash != "old")
    newest.say_if_outdated(said.append)
    assert len(said) == 1


def test_a_kernel_is_taken_where_its_inputs_were_not_installed(tmp_path, monkeypatch) -> None:
    _built(tmp_path / "old")
    monkeypatch.setattr(kernel_module, "_INPUTS", tmp_path / "none")
    said = list[str]()
    Kernel.find(tmp_path / "old").say_if_outdated(said.append)
    assert said == []


def test_a_kernel_that_does_not_start_is_told_from_a_guest_that_died(tmp_path: Path) -> None:
    assert call("not_up", place=str(tmp_path)) == {
        "said": "a guest did not come up; its kernel, broken, ended with code 1: no ptrace here",
        "code": EnvironmentRefusedError.exit_code,
    }


def _built(folder: Path) -> None:
    folder.mkdir()
    record = {"hash": folder.name, "release": "1", "seccomp": True}
    record |= {"source": "linux-source-6.12 6.12.9-1", "source_sha256": "a0"}
    (folder / "kernel.json").write_text(json.dumps(record))
    (folder / "linux").touch(0o755)


def test_refused_before_anything_is_begun(tmp_path: Path) -> None:
    done = ended(
        [sys.executable, "-m", "emu.run", "--clock", "virtual", "--out", str(tmp_path / "out")],
        cwd=inside.ROOT,
        env={"PATH": "/usr/bin:/bin", "NETCOSIM_VIRTUAL_KERNEL": str(tmp_path)},
    )
    assert done.returncode == 3
    assert done.stderr == (
        f"emu.run: the virtual clock needs a kernel of its own, and {tmp_path} has none: "
        "./dev virtual-kernel builds it\n"
    )
    assert not (tmp_path / "out").exists()
