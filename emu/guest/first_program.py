"""First program of a guest: mounts what a run needs, seeds chance, works off orders, halts.

A stand-alone script, PID 1 of a kernel whose root is the machine's own, read-only::

    first_program.py EXCHANGE PLACE

EXCHANGE is a folder of the machine; here it appears at PLACE. There it finds ``orders.json``: the
seed of the kernel's random numbers, in hex, and commands with the folders they run in. It leaves
``results.json``, one result a command, whole at every moment; ``out-N`` and ``err-N`` are what
command N wrote; ``alive`` grows while time goes on. An interrupt from outside (Ctrl-Alt-Del of the
guest's console) is passed on to the command as SIGINT. Standard library only.
"""

import ctypes
import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TEMPORARY = "/dev/shm"  # noqa: S108 - the guest's own
BEAT_S = 0.1

_POWER_OFF, _NO_REBOOT_BY_KEYS = 0x4321FEDC, 0
_PR_SET_TIMERSLACK = 29
_MS_BIND = 0x1000
_RNDADDENTROPY, _RNDRESEEDCRNG = 0x40085203, 0x5207

libc = ctypes.CDLL(None, use_errno=True)
Json = dict[str, Any]


def main(exchange: str, place: str) -> None:
    """Work off the orders, then power off."""
    interruption = Interruption()
    os.environ.clear()
    os.environ.update(PATH=PATH, HOME="/", LANG="C.UTF-8", TMPDIR=TEMPORARY)
    try:
        mount_all()
        mount("hostfs", place, "none", exchange)
        folder = Path(place)
        asked = json.loads((folder / "orders.json").read_text())
        seed(bytes.fromhex(asked["seed"]))
        libc.reboot(_NO_REBOOT_BY_KEYS)
        libc.prctl(_PR_SET_TIMERSLACK, 1)  # children inherit it: no wait ends late
        # Children inherit this too: who wakes first runs first. The ordinary scheduler goes by how
        # long a process ran before, so by its imports, down to whether they found bytecode.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        results: list[Json] = []
        for number, order in enumerate(asked["orders"]):
            for there, source in order["places"].items():
                mount("none", there, source, flags=_MS_BIND)
            results.append({"code": carry_out(folder, number, order, interruption)})
            keep(folder, results)
    except OSError as problem:
        sys.stdout.write(f"guest: {problem.filename or ''} {problem.strerror or problem}\n")
        sys.stdout.flush()
    finally:
        os.sync()
        libc.reboot(_POWER_OFF)


def mount_all() -> None:
    """Mount process, device and network folders, and room for temporary files."""
    mount("proc", "/proc")
    mount("sysfs", "/sys")
    for kind, place in (("devpts", "/dev/pts"), ("tmpfs", TEMPORARY)):
        Path(place).mkdir(exist_ok=True)
        mount(kind, place)


def mount(kind: str, place: str, source: str = "none", data: str = "", flags: int = 0) -> None:
    """Mount a file system; raises OSError."""
    # Not mount(8): what it makes of hostfs's folder depends on its version and the kernel's.
    words = [word.encode() for word in (source, place, kind)]
    if libc.mount(*words, flags, data.encode() or None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mount {kind}: {os.strerror(number)}", place)


def seed(value: bytes) -> None:
    """Give the kernel its random numbers' seed; nothing of the machine is among them."""
    with open("/dev/urandom", "wb") as device:  # noqa: PTH123 - quick to start
        fcntl.ioctl(device, _RNDADDENTROPY, struct.pack("ii", 8 * len(value), len(value)) + value)
        fcntl.ioctl(device, _RNDRESEEDCRNG)


class Interruption:
    """Interrupts from outside: passed on to the command, also if they came before it started."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._waits = False
        signal.signal(signal.SIGINT, self._take)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self._child is None:
            self._waits = True
        else:
            self._child.send_signal(signal.SIGINT)

    def goes_to(self, child: "subprocess.Popen[bytes]") -> None:
        """Pass interrupts on to this command from now on."""
        self._child = child
        if self._waits:
            self._waits = False
            child.send_signal(signal.SIGINT)


def carry_out(folder: Path, number: int, order: Json, interruption: Interruption) -> int:
    """Run one command; its exit code, negative for a signal."""
    with (
        (folder / f"out-{number}").open("wb") as out,
        (folder / f"err-{number}").open("wb") as err,
        (folder / "alive").open("ab", buffering=0) as alive,
    ):
        child = subprocess.Popen(
            order["command"],
            cwd=order["folder"],
            env={**os.environ, **order["environment"]},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        interruption.goes_to(child)
        ended, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        while (code := child.poll()) is None:
            if not select.select([ended], [], [], BEAT_S)[0]:
                alive.write(b".")
            else:
                os.read(ended, 512)
        return code


def keep(folder: Path, results: list[Json]) -> None:
    """Write the results so far; the file is whole or not there."""
    fresh = folder / "results.new"
    fresh.write_text(json.dumps(results))
    fresh.rename(folder / "results.json")


if __name__ == "__main__":
    main(*sys.argv[1:])
