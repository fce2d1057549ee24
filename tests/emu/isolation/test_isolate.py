"""Namespaces that nothing outlives, whichever process of a run is killed at whatever moment."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from emu.isolation import isolate, namespace_init
from netcosim.errors import EnvironmentRefusedError
from tests.inside import ROOT, command, inside
from tests.processes import ended

pytestmark = [pytest.mark.root, pytest.mark.emulation]
VICTIM = [sys.executable, "-m", "tests.emu.isolation.victim"]
KINDS_OF_NAMESPACES = ("net", "mnt", "pid")
KINDS = ("sudo", "outer", "init", "run", "host shell", "switch shell", "ping", "tcpdump")


@dataclass
class Run:
    """A run started by a stand-in for sudo: a shell whose program file has that name."""

    process: subprocess.Popen[str]
    token: str
    folder: Path

    def members(self) -> dict[int, str]:
        """Every living process of the run, with its command line."""
        found = {}
        for path in Path("/proc").iterdir():
            if not path.name.isdigit():
                continue
            try:
                if self.token.encode() in (path / "environ").read_bytes():
                    words = (path / "cmdline").read_bytes().split(b"\0")
                    found[int(path.name)] = " ".join(os.fsdecode(word) for word in words)
            except OSError:
                continue
        return found

    def wait_gone(self) -> dict[int, str]:
        deadline = time.monotonic() + 600
        while (left := self.members()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return left


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    sudo = tmp_path / "bin" / "sudo"
    sudo.parent.mkdir()
    shutil.copy(shutil.which("bash") or "/bin/bash", sudo)
    folder = tmp_path / "files"
    folder.mkdir()
    token = f"netcosim-test-{uuid.uuid4()}"
    environ = {
        **os.environ,
        "NETCOSIM_TEST_TOKEN": token,
        "TMPDIR": str(folder),
        "SUDO_COMMAND": "python -m emu.run",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    process = subprocess.Popen(
        # The second command keeps the shell from replacing itself by the first.
        [str(sudo), "-c", '"$@"; exit $?', "sudo", *VICTIM],
        cwd=ROOT,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=_usual_signals,  # noqa: PLW1509 - no threads here
        start_new_session=True,
    )
    started = Run(process=process, token=token, folder=folder)
    yield started
    for pid in started.members():
        os.kill(pid, signal.SIGKILL)
    process.communicate()


def _usual_signals() -> None:
    """A suite started in the background has SIGINT ignored; what it starts must not."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def kind_of(line: str, members: dict[int, str], pid: int) -> str:
    if "mininet:w0" in line or "mininet:s0" in line:
        return "host shell"
    if "mininet:b0" in line:
        return "switch shell"
    for name in ("ping", "tcpdump"):
        if line.startswith(name):
            return name
    if "/bin/sudo" in line.split(" ", maxsplit=1)[0]:
        return "sudo"
    if "namespace_init.py" in line:
        same = [other for other, text in members.items() if text == line]
        return "outer" if pid == min(same) else "init"
    if " ".join(VICTIM[1:]) in line:
        forked = [other for other, text in members.items() if text == line]
        return "run" if pid == min(forked) else "helper"
    return "helper"


def wait_ready(run: Run) -> None:
    assert run.process.stdout is not None
    assert run.process.stdout.readline() == "ready\n"


def all_kinds(run: Run) -> tuple[dict[int, str], dict[int, str]]:
    """Members and what each is, once what starts in hosts has become itself."""
    deadline = time.monotonic() + 600
    while True:
        members = run.members()
        kinds = {pid: kind_of(line, members, pid) for pid, line in members.items()}
        if set(kinds.values()) == set(KINDS):
            return members, kinds
        assert time.monotonic() < deadline, kinds
        time.sleep(0.02)


def namespaces_of(pids: dict[int, str]) -> set[str]:
    found: set[str] = set()
    for pid in pids:
        for kind in KINDS_OF_NAMESPACES:
            try:
                found.add(str(Path(f"/proc/{pid}/ns/{kind}").readlink()))
            except OSError:
                continue
    return found


@contextmanager
def held(pids: Iterable[int]) -> Iterator[None]:
    """The namespaces of these processes kept, so that the kernel gives no other one their names."""
    with ExitStack() as stack:
        for path in (f"/proc/{pid}/ns/{kind}" for pid in pids for kind in KINDS_OF_NAMESPACES):
            with suppress(OSError):  # it has ended
                stack.callback(os.close, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        yield


def wait_unused(namespaces: set[str]) -> None:
    """A process that is exiting has no environment any more, but still its namespaces."""
    deadline = time.monotonic() + 600
    while True:
        everybody = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()]
        left = {pid for pid in everybody if namespaces & namespaces_of({pid: ""})}
        if not left:
            return
        assert time.monotonic() < deadline, [command_of(pid) for pid in left]
        time.sleep(0.02)


def command_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return f"process {pid}, which has ended"


def surroundings(folder: Path) -> dict[str, object]:
    return {
        "interfaces": sorted(path.name for path in Path("/sys/class/net").iterdir()),
        "cgroups": sorted(str(path) for path in Path("/sys/fs/cgroup").glob("*/*/")),
        "files": sorted(path.name for path in folder.iterdir()),
        "named namespaces": sorted(p.name for p in Path("/run/netns").glob("*")),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_kill_9_of_any_process_leaves_nothing(run: Run, kind: str) -> None:
    before = surroundings(run.folder)
    wait_ready(run)
    members, kinds = all_kinds(run)
    private = namespaces_of(members) - namespaces_of({os.getpid(): ""})
    with held(members):
        os.kill(next(pid for pid, name in kinds.items() if name == kind), signal.SIGKILL)
        assert run.wait_gone() == {}
        assert run.process.wait(timeout=240) != 0
        wait_unused(private)
    assert surroundings(run.folder) == before


@pytest.mark.parametrize("seed", random.Random(os.environ["KILL_SEED"]).sample(range(10**6), 8))
def test_kill_9_at_a_random_moment_leaves_nothing(run: Run, seed: int) -> None:
    before = surroundings(run.folder)
    draw = random.Random(seed)
    delay_s = draw.uniform(0.0, 1.5)
    print(f"seed {seed}: kill after {delay_s:.3f} s")
    time.sleep(delay_s)
    kill_one(run, draw)
    assert run.wait_gone() == {}
    assert surroundings(run.folder) == before


def kill_one(run: Run, draw: random.Random) -> None:
    """Kill a process without which the run can't go on; a library's helpers on the way to it."""
    while members := run.members():
        chosen = draw.choice(sorted(members))
        with suppress(ProcessLookupError):  # a helper that has done its work
            os.kill(chosen, signal.SIGKILL)
            print(f"killed: {members[chosen]}")
            if kind_of(members[chosen], members, chosen) != "helper":
                return


def test_ctrl_c_interrupts_once_and_in_order(run: Run) -> None:
    wait_ready(run)
    os.killpg(run.process.pid, signal.SIGINT)  # as a terminal does: to all at once
    assert run.process.stdout is not None
    assert run.process.stdout.readline() == "interrupted\n"
    assert run.wait_gone() == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_outermost_process_is_passed_on(run: Run, number: signal.Signals) -> None:
    wait_ready(run)
    members = run.members()
    outer = next(p for p, line in members.items() if kind_of(line, members, p) == "outer")
    os.kill(outer, number)
    assert run.process.stdout is not None
    assert run.process.stdout.readline() == "interrupted\n"
    assert run.process.wait(timeout=240) == 130
    assert run.wait_gone() == {}


PROGRAM = """\
import os, signal, sys, time
from emu.isolation import isolate
from netcosim.cli import interruption, run_main

def main(site):
    isolate.ensure_isolated([sys.executable, "-c", os.environ["PROGRAM"]])
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)
    except KeyboardInterrupt as problem:
        print(interruption(problem))
    return 0

sys.exit(run_main(main, "isolated"))
"""


def test_a_command_s_own_way_to_end_stays() -> None:
    """It knows what interrupted, and what to do when a terminal has closed."""
    environ = {**os.environ, "PROGRAM": PROGRAM}
    done = ended([sys.executable, "-c", PROGRAM], cwd=ROOT, env=environ, timeout=60)
    assert (done.returncode, done.stdout) == (0, "SIGTERM\n"), done.stderr


def test_a_run_whose_sudo_was_killed_before_it_could_look_does_not_start() -> None:
    environ = {**os.environ, "SUDO_COMMAND": "python -m emu.run"}
    done = ended(command("tests.emu.isolation.cases:where"), cwd=ROOT, env=environ)
    assert done.returncode == 137
    assert done.stdout == ""
    assert "sudo that started this was killed" in done.stderr


@pytest.mark.parametrize(
    "between",
    [
        # The second command keeps the shell from replacing itself by the first.
        ["bash", "-c", '"$@"; exit $?', "server"],
        ["setsid", "--fork"],
    ],
    ids=["a server such as tmux", "a session of its own"],
)
def test_what_a_sudo_that_ended_in_order_left_running_may_start_a_run(between: list[str]) -> None:
    done = ended(
        [*between, *command("tests.emu.isolation.cases:where")],
        cwd=ROOT,
        env={**os.environ, "SUDO_COMMAND": "/usr/bin/tmux new -d 'python -m emu.run'"},
    )
    assert done.returncode == 0
    assert '"isolated": true' in done.stdout, done.stderr


def test_inside_is_a_world_of_its_own() -> None:
    found = inside("tests.emu.isolation.cases:where")
    assert found["isolated"]
    assert found["interfaces"] == ["lo"]
    assert "UP" in found["up"][-1]
    assert found["files"] == ["file"]
    assert found["processes"] == 2
    assert not (isolate.SCRATCH / "file").exists()
    assert found["shared memory"] == ["netcosim-test"]
    assert not Path("/dev/shm/netcosim-test").exists()


def test_exit_code_and_streams_pass_through() -> None:
    argv = [str(ROOT), str(isolate.SCRATCH), "sh", "-c", "cat; echo err >&2; exit 23"]
    done = ended([sys.executable, "-I", "-S", namespace_init.__file__, *argv], input="typed")
    assert (done.returncode, done.stdout, done.stderr) == (23, "typed", "err\n")


def test_a_death_by_signal_is_reported_as_a_shell_does() -> None:
    argv = [str(ROOT), str(isolate.SCRATCH), "sh", "-c", "kill -9 $$"]
    done = subprocess.run([sys.executable, "-I", "-S", namespace_init.__file__, *argv], check=False)
    assert done.returncode == 128 + signal.SIGKILL


def test_the_dev_script_s_shell_belongs_to_the_run(tmp_path: Path) -> None:
    (tmp_path / "dev").write_text('"$@"\nexit $?\n')
    child = [sys.executable, "-I", "-S", namespace_init.__file__, str(tmp_path)]
    token = f"sleep-{uuid.uuid4()}"
    sleeper = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)", token]
    shell = subprocess.Popen(
        ["bash", "dev", *child, str(isolate.SCRATCH), *sleeper],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    with shell:
        assert shell.stdout is not None
        assert shell.stdout.readline() == "up\n"
        shell.kill()
        assert shell.stdout.read() == ""  # ends when the last holder of the pipe is gone


def test_without_root_it_is_refused() -> None:
    done = ended(
        [
            *(sys.executable, "-c"),
            "import os, sys; sys.path.insert(0, sys.argv[1])\n"
            "from emu.isolation import isolate\n"
            "from netcosim.errors import NetcosimError\n"
            # Not before: nobody may be unable to read the checkout.
            "os.setgroups([]); os.setuid(65534)\n"
            "try:\n    isolate.ensure_isolated(['true'])\n"
            "except NetcosimError as problem:\n    print(problem, problem.exit_code)",
            str(ROOT),
        ]
    )
    assert done.stdout == "the emulation needs root: start it with sudo 3\n", done.stderr


def test_a_container_that_forbids_namespaces_is_refused_with_the_reason() -> None:
    drop = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
    done = ended([*drop, *command("tests.emu.isolation.cases:where")], cwd=ROOT)
    assert done.returncode == 1
    assert done.stdout == ""
    last = done.stderr.strip().splitlines()[-1]
    assert "private namespaces: Operation not permitted" in last


def test_scratch_outside_is_refused() -> None:
    with pytest.raises(EnvironmentRefusedError, match="only inside"):
        isolate.scratch_dir()
