"""Start runs in a world, watch their processes, and see what they left."""

import functools
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from netcosim.results.folder import ResultsFolder
from tests.emu.run.terminal import Terminal
from tests.emu.run.world import HOME, ROOT, World

T = TypeVar("T")
SCENARIOS = Path(__file__).parent / "scenarios"
DIRECT = ("env", "PYTHONDONTWRITEBYTECODE=1", sys.executable, "-m", "emu.run")
IN_LITTLE_MEMORY = ("prlimit", f"--as={3_000_000 * 1024}", "--", *DIRECT)
"""As under ``ulimit -v 3000000``."""

WORK = "/home/u/work"
PATIENCE_S = 2300
"""A run that hangs is found by this; one beside others, on a machine at work, must not be."""

KINDS = ("net", "pid", "ipc", "uts", "mnt")


def scenario(name: str) -> str:
    return str(SCENARIOS / f"{name}.toml")


def through_sudo(mark: str) -> tuple[str, ...]:
    """As a person types it, with the variables of this suite carried across sudo."""
    carried = [f"NETCOSIM_TEST_MARK={mark}", f"HOME={HOME}"]
    carried += [f"{key}={os.environ[key]}" for key in ("NETCOSIM_VENV",) if key in os.environ]
    return ("sudo", *carried, str(ROOT / "dev"), "run")


@dataclass
class Run:
    """A run under way, or over. Members are its processes, wherever they are.

    `namespaces` are those that its members were seen in and that nobody else is in, each with a
    descriptor that holds it: the number of one that is gone may be given to another.
    """

    world: World
    process: "subprocess.Popen[bytes]"
    mark: str
    namespaces: dict[str, int] = field(default_factory=dict)

    def members(self) -> dict[int, str]:
        """Process numbers and command lines; also notes their private namespaces."""
        found: dict[int, str] = {}
        noted = -1
        # Numbers begin anew behind the largest one: a process may come before whose namespace it is
        # in, and is no member until that was noted.
        while noted != len(self.namespaces):
            noted = len(self.namespaces)
            for path in Path("/proc").iterdir():
                if path.name.isdigit() and (line := self._member(path)) is not None:
                    found[int(path.name)] = line
        return found

    def _member(self, path: Path) -> str | None:
        """The command line of a process of this run.

        It has the mark, or shares a namespace with one that has: endpoints get few variables.
        """
        try:
            marked = f"NETCOSIM_TEST_MARK={self.mark}".encode() in (path / "environ").read_bytes()
            if marked:
                self._note_namespaces(path)
            elif not _namespaces_of(path) & self.namespaces.keys():
                return None
            line = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return None
        return line.strip() or path.name

    def _note_namespaces(self, path: Path) -> None:
        for kind in KINDS:
            held = os.open(path / "ns" / kind, os.O_RDONLY | os.O_CLOEXEC)
            name = str(Path(f"/proc/self/fd/{held}").readlink())
            if name in self.namespaces or name in _everybodys(self.world):
                os.close(held)
            else:
                self.namespaces[name] = held

    def seen_namespaces(self) -> set[str]:
        """The private namespaces that members are in, or were."""
        self.members()
        return set(self.namespaces)

    def wait_gone(self, seconds: float = 600) -> dict[int, str]:
        """Members that are still there when the time is up."""
        deadline = time.monotonic() + seconds
        while (left := self.members()) and time.monotonic() < deadline:
            self.process.poll()  # one that has ended is no member once it was waited for
            time.sleep(0.05)
        return left

    def end(self) -> None:
        _come_in_turn()
        for pid in self.members():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait(timeout=240)
        for held in self.namespaces.values():
            os.close(held)
        self.namespaces.clear()


def _namespaces_of(path: Path) -> set[str]:
    return {str((path / "ns" / kind).readlink()) for kind in KINDS}


def _everybodys(world: World) -> set[str]:
    ours = {str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in KINDS}
    return ours | {world.mount_namespace()}


@contextmanager
def running(
    world: World,
    *arguments: str,
    sudo: bool = False,
    command: Sequence[str] | None = None,
    environ: Mapping[str, str] | None = None,
    terminal: Terminal | None = None,
) -> Iterator[Run]:
    """A run with these arguments; whatever is left of it at the end is killed.

    Its standard output and error are pipes, and its input is empty. With a terminal, all three
    lead there, but for the error stream: progress is then told line by line.
    """
    mark = str(uuid.uuid4())
    chain = command or (through_sudo(mark) if sudo else DIRECT)
    process = world.popen(
        [*chain, *arguments],
        environ={"PYTHONPATH": str(ROOT), **(environ or {}), "NETCOSIM_TEST_MARK": mark},
        stdin=terminal.side if terminal else subprocess.DEVNULL,
        stdout=terminal.side if terminal else subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=functools.partial(_as_a_shell_would, terminal),
    )
    run = Run(world=world, process=process, mark=mark)
    try:
        yield run
    finally:
        run.end()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _as_a_shell_would(terminal: Terminal | None) -> None:
    """A suite started in the background has SIGINT ignored; what it starts must not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if terminal is not None:
        terminal.take_control()


@dataclass(frozen=True, kw_only=True)
class Done:
    """Exit code and output of a run."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        """The last line on standard error: where a failure is told."""
        lines = self.err.strip().splitlines()
        return lines[-1] if lines else ""


def _come_first() -> None:
    """Schedule this thread before all others, where that is granted; not what it starts."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def _come_in_turn() -> None:
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def finish(run: Run, seconds: float = PATIENCE_S) -> Done:
    """Wait for the end of a run."""
    _come_in_turn()
    try:
        out, err = run.process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as late:
        told = (late.stderr or b"").decode(errors="replace").splitlines()[-5:]
        pytest.fail(f"after {seconds:.0f} s it had not ended; its last lines: {told}")
    return Done(code=run.process.returncode, out=(out or b"").decode(), err=err.decode())


def run_to_end(
    world: World,
    *arguments: str,
    sudo: bool = False,
    command: Sequence[str] | None = None,
    environ: Mapping[str, str] | None = None,
    seconds: float = PATIENCE_S,
) -> Done:
    """Run it, wait for its end; nothing of it may be left, and nobody saw a traceback."""
    with running(world, *arguments, sudo=sudo, command=command, environ=environ) as run:
        done = finish(run, seconds)
        assert run.wait_gone() == {}
    assert "Traceback" not in done.err + done.out
    return done


def results(world: World, folder: str = f"{WORK}/out") -> ResultsFolder:
    """The results folder of a run; close it."""
    return ResultsFolder.open(world.at(folder))


def wait_for(what: str, look: Callable[[], T], seconds: float = 600) -> T:
    """Look until there is something to be seen; that."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"{what} did not come in {seconds} s"
        time.sleep(0.01)
    return found


def wait_for_line(run: Run, text: str) -> str:
    """Read what the run tells of its progress up to the line with this; that line.

    From then on the test comes before everything else on the machine, until it waits for the run's
    end: under load it would be too late for what it is about to do.
    """
    assert run.process.stderr is not None
    _come_first()
    said = []
    for line in run.process.stderr:
        said.append(line.decode())
        if text in said[-1]:
            return said[-1]
    raise AssertionError(f"the run ended before it said: {text}; it said:\n{''.join(said)}")
