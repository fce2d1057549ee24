"""Runs the system's network tools in a given network namespace, and reports their errors."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from netcosim.errors import EnvironmentRefusedError, NetworkError
from netcosim.threads import in_thread

_CLONE_NEWNET: Final = 0x40000000
_TIMEOUT_S: Final = 60
# Each tool with the Debian package that brings it.
_TOOLS: Final = {
    "tc": "iproute2",
    "ip": "iproute2",
    "tcpdump": "tcpdump",
    "ethtool": "ethtool",
    "mnexec": "mininet",
    "ifconfig": "net-tools",
    "brctl": "bridge-utils",
}
_libc = ctypes.CDLL(None, use_errno=True)
T = TypeVar("T")


def check_tools() -> None:
    """Refuse if a tool that the emulation calls is missing.

    Raises
    ------
    EnvironmentRefusedError
        Names the tool and its package.
    """
    for tool, package in _TOOLS.items():
        if shutil.which(tool) is None:
            raise EnvironmentRefusedError(f"{tool} is missing: install the package {package}")


def missing_packages() -> tuple[str, ...]:
    """Debian packages of the tools that are not here."""
    found = (package for tool, package in _TOOLS.items() if shutil.which(tool) is None)
    return tuple(dict.fromkeys(found))


def within(pid: int | None, call: Callable[[], T]) -> T:
    """Call a function in the network namespace of a process; None makes a fresh one for the call.

    A namespace belongs to a thread, so a thread of its own enters it and ends. What the
    function starts inherits the namespace.
    """

    def entered() -> T:
        if pid is None:
            _checked(_libc.unshare(_CLONE_NEWNET), "unshare")
        else:
            with open(f"/proc/{pid}/ns/net", "rb") as namespace:  # noqa: PTH123 - only its number
                _checked(_libc.setns(namespace.fileno(), _CLONE_NEWNET), "setns")
        return call()

    return in_thread(entered)


def run(argv: Sequence[str], stdin: str = "") -> str:
    """Run a command to its end, and return what it printed.

    Raises
    ------
    NetworkError
        It failed, or did not end: names the command and its last line of complaint.
    """
    done = _ended(argv, stdin)
    if done.returncode != 0:
        raise NetworkError(f"{' '.join(argv)}: {_complaint(done.stderr, done.returncode)}")
    return done.stdout


def run_batch(tool: str, commands: Sequence[Sequence[str]]) -> None:
    """Run many ``ip`` or ``tc`` commands in one process; stops at the first that fails.

    Raises
    ------
    NetworkError
        Names the command that failed.
    """
    if not commands:
        return
    text = "".join(f"{' '.join(command)}\n" for command in commands)
    done = _ended([tool, "-batch", "-"], text)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        number = lines[-1].rpartition(":")[2] if lines else ""
        failed = commands[int(number) - 1] if number.isdigit() else commands[0]
        reason = _complaint("\n".join(lines[:-1]), done.returncode)
        raise NetworkError(f"{tool} {' '.join(failed)}: {reason}")


def _ended(argv: Sequence[str], stdin: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            list(argv), input=stdin, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise NetworkError(f"{' '.join(argv)}: no end after {_TIMEOUT_S} s") from None


def _complaint(stderr: str, code: int) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    useful = [line for line in lines if not line.startswith("We have an error talking")]
    return useful[-1] if useful else f"ended with code {code}"


def _checked(result: int, name: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise EnvironmentRefusedError(f"{name} of a network namespace: {os.strerror(number)}")
