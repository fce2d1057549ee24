"""Boot a guest, wait for its end, interrupt or end it; its results.

The kernel's command line is the same for every guest but for its memory, for the kernel's random
numbers depend on it: what differs between machines and runs is in files of the folder that guest
and machine share.
"""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from emu.guest import enclosure, first_program
from emu.guest.kernel import Kernel
from emu.guest.stillness import Stillness
from netcosim.errors import EnvironmentRefusedError, NetworkError

START_NS: Final = 1_767_225_600_000_000_000
"""A guest's wall clock at its start: 2026-01-01 00:00 UTC."""

EXCHANGE: Final = "/boot"
"""Where a guest sees the folder that it shares with the machine; nobody needs the machine's."""

MEMORY_MIB: Final = 2048
"""Memory of a guest; what it does not use is not taken."""

_OUTSIDE: Final = "/proc/driver"
_NAME: Final = "guest"
_BYTECODE: Final = shutil.ignore_patterns("__pycache__")
_POLL_S: Final = 0.1
_MCONSOLE: Final = struct.Struct("<III512s")
_MCONSOLE_MAGIC, _MCONSOLE_VERSION = 0xCAFEBABE, 2


class GuestError(NetworkError):
    """A guest did not come to its end."""


class StoodStillError(GuestError):
    """A guest's clock stood still, and it was ended."""


class NotUpError(GuestError):
    """A guest's kernel ended by itself before its first program ran: this machine can't boot it."""

    exit_code = EnvironmentRefusedError.exit_code


def hide_bytecode() -> None:
    """Have the programs that this one starts compile what they import.

    How their first nanoseconds go, and with them gRPC's draws, then does not hang on whether the
    machine has bytecode of its libraries.
    """
    os.environ["PYTHONPYCACHEPREFIX"] = "/nonexistent"


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """A command for a guest, the folder it runs in, and variables of its environment.

    `places` are folders of the machine that also appear elsewhere, `copies` folders of which a copy
    without bytecode does: both in `EXCHANGE`, by the place there.
    """

    command: Sequence[str]
    folder: str = "/"
    environment: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """An order that was carried out: exit code, what it wrote."""

    code: int
    out: bytes
    err: bytes


class Guest:
    """A guest: booted by `start`, gone after `wait` or `kill`.

    Parameters
    ----------
    kernel
        The kernel that it boots.
    folder
        An empty folder of its own, in memory; `exchange` in it is what the guest can write to.
    orders
        What it shall do, one after the other.
    files
        Files that it finds in `EXCHANGE`, by name.
    seed
        Of its random numbers: 32 bytes.
    memory_mib
        Its memory.
    options
        Words to add to the kernel's command line.
    """

    def __init__(
        self,
        kernel: Kernel,
        folder: Path,
        orders: Sequence[Order],
        *,
        seed: bytes,
        files: Mapping[str, bytes] = MappingProxyType({}),
        memory_mib: int = MEMORY_MIB,
        options: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.exchange = folder / "exchange"
        self._kernel = kernel
        self._orders = orders
        self._seed = seed
        self._files = files
        self._words = (f"mem={memory_mib}M", *options)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Boot it.

        Raises
        ------
        OSError
            The folder can't be written to.
        """
        self.exchange.mkdir()
        for name, content in self._files.items():
            (self.exchange / name).write_bytes(content)
        for order in self._orders:
            self._furnish(order)
        orders = [
            {
                "command": list(order.command),
                "folder": order.folder,
                "environment": dict(order.environment),
                "places": dict(order.places),
            }
            for order in self._orders
        ]
        (self.exchange / "orders.json").write_text(
            json.dumps({"seed": self._seed.hex(), "orders": orders})
        )
        # The kernel's command line is split at blanks, and shall not differ: a file has what may.
        script = first_program.__file__
        words = [sys.executable, "-I", "-S", script, _OUTSIDE, EXCHANGE]
        init = self.exchange / "init"
        init.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
        init.chmod(0o755)
        with (self.folder / "console").open("wb") as console:
            self._process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                env={"PATH": os.environ.get("PATH", ""), "TMPDIR": enclosure.SHARED_MEMORY},
                start_new_session=True,  # a Ctrl-C of the terminal would end the kernel at once
            )

    def _furnish(self, order: Order) -> None:
        """Make what an order wants to find in `EXCHANGE`."""
        for place in order.places:
            self._inside(place).mkdir(parents=True, exist_ok=True)
        for place, folder in order.copies.items():
            shutil.copytree(folder, self._inside(place), ignore=_BYTECODE, dirs_exist_ok=True)

    def _inside(self, place: str) -> Path:
        return self.exchange / Path(place).relative_to(EXCHANGE)

    def command(self) -> list[str]:
        """The command that boots it."""
        enclosed = [sys.executable, "-I", "-S", enclosure.__file__, str(self.exchange), _OUTSIDE]
        return [
            *enclosed,
            str(self._kernel.path),
            *self._words,
            *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"),
            *(f"init={_OUTSIDE}/init", f"uml_dir={_OUTSIDE}/", f"umid={_NAME}"),
            *("con=null", "con0=null,fd:1", "ssl=null", "quiet"),
            *("time-travel=inf-cpu", f"time-travel-start={START_NS}"),
            *("norandmaps", "host-entropy=off", "random.trust_cpu=0"),
            *(("seccomp=on",) if self._kernel.seccomp else ()),
        ]

    @property
    def pid(self) -> int:
        """Process id of its kernel."""
        assert self._process is not None
        return self._process.pid

    def wait(self, watch: Callable[[], None] = lambda: None) -> list[Done]:
        """Wait for its end; `watch` is called several times a second. Results of all orders.

        Raises
        ------
        StoodStillError
            Its clock stood still; see `emu.guest.stillness`.
        NotUpError
            Its kernel can't be booted here.
        GuestError
            It ended before all orders were carried out.
        """
        assert self._process is not None
        stillness = Stillness(self.pid)
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_POLL_S)
                break
            watch()
            if why := stillness.reason(self._beats()):
                self.kill()
                raise StoodStillError(why)
        watch()
        done = self.results()
        if len(done) < len(self._orders):
            if self._process.returncode > 0 and not self._is_up():
                name = self._kernel.hash
                raise NotUpError(f"a guest did not come up; its kernel, {name}, {self._end()}")
            raise GuestError(f"a guest {self._end()}")
        return done

    def interrupt(self) -> bool:
        """Have the command that it is at interrupted, as by Ctrl-C; it ends in its own way.

        False for a guest that is not up yet, or not any more: nothing is done to it.
        """
        path = str(self.exchange / _NAME / "mconsole")
        message = b"cad"
        request = _MCONSOLE.pack(_MCONSOLE_MAGIC, _MCONSOLE_VERSION, len(message), message)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as console:
            try:
                console.bind("")  # it answers
                console.sendto(request, path)
            except OSError:
                return False
        return True

    def kill(self) -> None:
        """End it at once; nothing is left of it."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def results(self) -> list[Done]:
        """Orders that it has carried out so far."""
        file = self.exchange / "results.json"
        if not file.exists():
            return []
        return [
            Done(
                code=result["code"],
                out=(self.exchange / f"out-{number}").read_bytes(),
                err=(self.exchange / f"err-{number}").read_bytes(),
            )
            for number, result in enumerate(json.loads(file.read_text()))
        ]

    def _is_up(self) -> bool:
        """True if its first program ran, or has run."""
        return (self.exchange / "alive").exists()

    def _beats(self) -> int:
        try:
            return (self.exchange / "alive").stat().st_size
        except FileNotFoundError:
            return 0

    def _end(self) -> str:
        """Exit code or signal of its kernel, with its panic or the last line of its console."""
        assert self._process is not None
        code = self._process.returncode
        how = (
            f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        )
        text = (self.folder / "console").read_text(errors="replace").strip()
        panic = re.search(r"Kernel panic - not syncing: (.*)", text)
        last = panic[1].strip() if panic else text.rpartition("\n")[2].strip()
        return f"{how}: {last}" if last else how
