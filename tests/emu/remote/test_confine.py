"""An endpoint's rights: whatever root could do and it need not, is refused by the kernel."""

import os
import sys
from pathlib import Path

import pytest

from emu.endpoints.pairing import EndPlan
from emu.endpoints.process import confined
from emu.isolation.isolate import SCRATCH
from tests.processes import ended

pytestmark = pytest.mark.root
NET_ADMIN, DAC_READ_SEARCH = 1 << 12, 1 << 2


def shell(script: str, *, program: str = "/bin/sh", capabilities: tuple[int, ...] = ()) -> str:
    """Output of a script in an endpoint's place."""
    plan = EndPlan(
        name="end",
        host="h",
        argv=(program, "-c", script),
        environment={},
        capabilities=capabilities,
    )
    done = ended(confined(plan))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def status(**how: object) -> dict[str, str]:
    lines = shell("cat /proc/self/status", **how).splitlines()  # type: ignore[arg-type]
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def test_it_is_nobody_without_a_capability() -> None:
    found = status()
    assert {*found["Uid"].split(), *found["Gid"].split(), *found["Groups"].split()} == {"65534"}
    assert [int(found[f"Cap{kind}"], 16) for kind in ("Inh", "Prm", "Eff", "Amb")] == [0] * 4
    assert found["NoNewPrivs"] == "1"


def test_it_keeps_those_that_it_was_given() -> None:
    found = status(capabilities=(12,))
    assert [int(found[f"Cap{kind}"], 16) for kind in ("Prm", "Eff", "Amb")] == [NET_ADMIN] * 3


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_a_program_that_nobody_can_reach_may_read_everything(tmp_path: Path, mode: int) -> None:
    """As a Python below root's home; nothing more can be written by that."""
    for folder in tmp_path.parents[:-2]:  # all below /tmp
        folder.chmod(0o755)
    program = tmp_path / "folder" / "sh"
    program.parent.mkdir()
    program.symlink_to("/bin/sh")
    program.parent.chmod(mode)
    tmp_path.chmod(0o755)
    found = status(program=str(program))
    assert int(found["CapEff"], 16) == (DAC_READ_SEARCH if mode == 0o700 else 0)
    assert shell(f"echo x 2>/dev/null >{tmp_path}/x || echo refused", program=str(program)) == (
        "refused\n"
    )


@pytest.mark.parametrize(
    "attempt",
    [
        "echo x >/tmp/netcosim-test",
        "echo x >/netcosim-test",
        "echo 1 >/proc/sys/net/ipv4/ip_forward",
        "mount -o remount,rw /",
        "ip link add netcosim0 type dummy",
        "kill -0 1",
        pytest.param(f"kill -0 {os.getpid()}", id="kill -0 of who started it"),
        "chroot / true",
        "cat /etc/shadow",
    ],
)
def test_what_is_refused(attempt: str) -> None:
    assert shell(f"( {attempt} ) >/dev/null 2>&1 || echo refused") == "refused\n"


def test_temporary_files_are_its_own() -> None:
    outside = set(os.listdir("/dev/shm")) | set(os.listdir(SCRATCH))  # noqa: PTH208
    script = 'for f in "$TMPDIR" /dev/shm; do echo text >"$f/netcosim-test"; ls "$f"; done'
    assert shell(script) == "netcosim-test\n" * 2
    assert set(os.listdir("/dev/shm")) | set(os.listdir(SCRATCH)) == outside  # noqa: PTH208


def test_what_can_not_be_started_is_one_line(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    plan = EndPlan(name="end", host="h", argv=(str(program),), environment={})
    done = ended(confined(plan))
    line = f"{program}: can't be started: No such file or directory\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", line)


def test_a_container_without_the_right_to_do_so_says_so() -> None:
    plan = EndPlan(name="end", host="h", argv=(sys.executable, "-V"), environment={})
    drop = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
    done = ended([*drop, *confined(plan)])
    line = "can't be started with fewer rights: a mount namespace: Operation not permitted\n"
    assert (done.returncode, done.stderr) == (1, line)
