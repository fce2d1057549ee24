"""Machines for tests: network, process and mount namespaces of their own, joined by a bridge.

A machine is a process that ends when its standard input closes, and the kernel then ends
all that runs in it; its shared memory and what is mounted over a folder go with it.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.inside import ROOT


@dataclass(frozen=True)
class Machine:
    """A machine; its shared memory is its folder for temporary files, too."""

    address: str
    holder: subprocess.Popen[bytes]
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def process(self) -> int:
        """The first process in it."""
        (child,) = (
            Path(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children").read_text().split()
        )
        return int(child)

    def entered(self, command: Sequence[object], folder: Path = ROOT) -> list[str]:
        enter = ["nsenter", f"--target={self.process}", "--net", "--mount", "--pid"]
        return [*enter, f"--wd={folder}", *map(str, command)]

    def run(self, *command: object) -> str:
        done = subprocess.run(self.entered(command), check=True, capture_output=True, text=True)
        return done.stdout

    def start(
        self, *command: object, folder: Path = ROOT, **environment: object
    ) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self.entered(command, folder),
            env={**os.environ, **{name: str(value) for name, value in environment.items()}},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def close(self) -> None:
        """End it, and all that runs in it."""
        self.holder.communicate(timeout=240)
        for process in self.started:
            process.wait(600)
            for stream in (process.stdout, process.stderr):
                stream.close()

    def stop(self, started: subprocess.Popen[str]) -> None:
        """End what was started in it, as Ctrl-C or a service manager does."""
        inner = Path(f"/proc/{entered(started)}/status").read_text()
        number = next(line for line in inner.splitlines() if line.startswith("NSpid:")).split()[-1]
        self.run("kill", "-TERM", number)

    def processes(self) -> list[str]:
        """Command names of what runs in it beside its first process and this question."""
        lines = self.run("ps", "-eo", "stat,comm", "--no-headers").splitlines()
        names = [line.split(maxsplit=1)[1] for line in lines if not line.startswith("Z")]
        return [name for name in names if name not in ("cat", "ps")]

    def listening(self) -> set[tuple[str, int]]:
        """Addresses and ports at which something in it listens."""
        found = set()
        for line in self.run("ss", "-Hltun").splitlines():
            address, _, port = line.split()[4].rpartition(":")
            found.add((address.strip("[]").removeprefix("::ffff:"), int(port)))
        return found


def entered(started: subprocess.Popen[str]) -> int:
    """Number, outside, of what was started in a machine."""
    (child,) = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
    return int(child)


@contextmanager
def joined_machines(count: int) -> Iterator[list[Machine]]:
    """So many machines at 10.99.0.1 and on; they are gone with the context."""
    assert os.geteuid() == 0, "needs root"
    with ExitStack() as stack:
        bridge = _machine("", stack)
        bridge.run(*["ip", "link", "add", "name", "br0", "type", "bridge"])
        bridge.run(*["ip", "link", "set", "br0", "up"])
        found = [_machine(f"10.99.0.{number}", stack) for number in range(1, count + 1)]
        for number, each in enumerate(found):
            # In the network's namespace alone: in that of processes they have other numbers.
            inside = ["nsenter", f"--target={bridge.process}", "--net"]
            pair = f"ip link add v{number} type veth peer name eth0 netns {each.process}"
            subprocess.run([*inside, *pair.split()], check=True)
            bridge.run(*f"ip link set v{number} master br0 up".split())
            each.run(*f"ip addr add {each.address}/24 dev eth0".split())
            each.run(*["ip", "link", "set", "eth0", "up"])
        yield found


def _machine(address: str, stack: ExitStack) -> Machine:
    prepared = "mount -t tmpfs tmpfs /dev/shm && ip link set lo up && echo up && exec cat"
    apart = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    holder = subprocess.Popen(
        [*apart, "sh", "-c", prepared], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    machine = Machine(address, holder)
    stack.callback(machine.close)
    assert holder.stdout.readline() == b"up\n"
    return machine
