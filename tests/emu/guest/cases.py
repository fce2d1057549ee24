"""Guests of the tests; called inside private namespaces."""

import contextlib
import hashlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from emu.guest import stillness
from emu.guest.boot import Guest, GuestError, Order
from emu.guest.kernel import Kernel
from emu.isolation import isolate

Json = dict[str, Any]


@contextmanager
def booted(*commands: Sequence[str], seed: int = 1) -> Iterator[Guest]:
    folder = isolate.scratch_dir() / "guest"
    folder.mkdir()
    orders = [Order(command=command) for command in commands]
    chance = hashlib.sha256(str(seed).encode()).digest()
    guest = Guest(Kernel.find(), folder, orders, seed=chance)
    try:
        guest.start()
        yield guest
    finally:
        guest.kill()


def output(command: list[str]) -> str:
    with booted(command) as guest:
        done = guest.wait()[0]
    return done.out.decode() + done.err.decode()


def clock(sleep_s: float) -> Json:
    asked = f"import time; t = time.time(); time.sleep({sleep_s}); print(time.time() - t)"
    begin = time.monotonic()
    return {
        "virtual_s": float(output([sys.executable, "-c", asked])),
        "real_s": time.monotonic() - begin,
    }


def random(seed: int) -> list[str]:
    """Random numbers, a hash seed and a port, in this order."""
    asked = (
        "import os, socket; s = socket.socket(); s.bind(('127.0.0.1', 0));"
        "print(os.urandom(8).hex(), hash('x'), s.getsockname()[1])"
    )
    with booted([sys.executable, "-c", asked], seed=seed) as guest:
        return guest.wait()[0].out.decode().split()


def writes(paths: list[str]) -> dict[str, str]:
    asked = """
import sys
for folder in sys.argv[1:]:
    try:
        open(folder + "/netcosim-test", "x").close()
        print("written")
    except OSError as problem:
        print(problem.strerror)
"""
    said = output([sys.executable, "-c", asked, *paths])
    return dict(zip(paths, said.splitlines(), strict=True))


def interrupted() -> int:
    with booted(["sleep", "1000000"]) as guest:
        _await_beat(guest)
        guest.interrupt()
        return guest.wait()[0].code


def killed() -> Json:
    with booted(["sleep", "1000000"]) as guest:
        _await_beat(guest)
        os.kill(guest.pid, signal.SIGKILL)
        return _failure(guest)


def lost() -> Json:
    """Failure of a guest one of whose processes the machine kills."""
    with booted(["sh", "-c", "sleep 1000000 & sleep 1000000"]) as guest:
        _await_beat(guest)
        os.kill(max(_children(guest.pid)), signal.SIGKILL)
        return _failure(guest)


def lost_at_the_start() -> Json:
    """Failure of a guest that loses its first process before its first program runs."""
    stillness.IDLE_S = 3.0  # type: ignore[misc]
    with booted(["sleep", "1000000"]) as guest:
        while not (children := _children(guest.pid)):
            time.sleep(0.001)
        os.kill(min(children), signal.SIGKILL)
        return _failure(guest)


def _children(parent: int) -> list[int]:
    """Processes of a guest's programs; its kernel has others for moments, to try what it can."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            line = path.read_text()
            name, fields = (
                line.partition("(")[2].rpartition(")")[0],
                line.rpartition(")")[2].split(),
            )
            if int(fields[1]) == parent and name == "uml-userspace":
                found.append(int(path.parent.name))
    return found


def not_up(place: str) -> Json:
    """Failure of a guest whose kernel ends at its start."""
    folder = isolate.scratch_dir() / "guest"
    folder.mkdir()
    program = Path(place, "linux")
    program.write_text("#!/bin/sh\necho no ptrace here\nexit 1\n")
    program.chmod(0o755)
    kernel = replace(Kernel.find(), path=program, hash="broken")
    guest = Guest(kernel, folder, [Order(command=["true"])], seed=bytes(32))
    guest.start()
    try:
        guest.wait()
    except GuestError as problem:
        return {"said": str(problem), "code": problem.exit_code}
    return {}


def stuck() -> Json:
    stillness.STUCK_S = 3.0  # type: ignore[misc]
    with booted([sys.executable, "-c", "while True: pass"]) as guest:
        return _failure(guest)


def stopped() -> Json:
    """Failure of a guest whose kernel does not go on."""
    stillness.IDLE_S = 3.0  # type: ignore[misc]
    with booted(["sleep", "1000000"]) as guest:
        _await_beat(guest)
        os.kill(guest.pid, signal.SIGSTOP)
        return _failure(guest)


def _failure(guest: Guest) -> Json:
    try:
        guest.wait()
    except GuestError as problem:
        return {"said": str(problem), "left": _processes()}
    return {"said": "", "left": _processes()}


def _processes() -> list[str]:
    """Kernels and their processes that are still in these namespaces."""
    time.sleep(0.2)
    lines = (
        (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        for path in Path("/proc").iterdir()
        if path.name.isdigit() and path.name not in {"1", str(os.getpid())}
    )
    return [line for line in lines if line]


def _await_beat(guest: Guest) -> None:
    """Wait until time goes on in it: what it was to start has started, and waits."""
    beats = guest.exchange / "alive"
    while not beats.exists() or beats.stat().st_size == 0:
        time.sleep(0.05)
