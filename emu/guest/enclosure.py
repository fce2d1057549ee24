"""Start a guest's kernel so that it can change nothing of the machine but one folder.

A stand-alone script that replaces itself by the kernel::

    enclosure.py EXCHANGE PLACE COMMAND...

In a mount namespace of its own all file systems become read-only, but for the folder EXCHANGE,
which appears at PLACE, and an empty ``/dev/shm`` for the guest's memory. All capabilities go but
that to read and search everything and those that ptrace asks for; no program can give it more.
Standard library only.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

TYPE_CHECKING = False  # typing's, without waiting for typing
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a private one
_KEPT = (1, 2)  # CAP_DAC_OVERRIDE, as the folder may be another user's; CAP_DAC_READ_SEARCH
_LAST_CAPABILITY = 63
_AT_FDCWD, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY, _SYS_MOUNT_SETATTR = -100, 0x8000, 1, 442
_CLONE_NEWNS, _MS_NOSUID, _MS_NODEV, _MS_REC, _MS_PRIVATE = 0x00020000, 2, 4, 0x4000, 1 << 18
_MS_BIND = 0x1000
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 24, 38
_SIGKILL = 9
_CAPABILITY_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def main(exchange: str, place: str, command: Sequence[str]) -> NoReturn:
    """Give up rights and become the command."""
    _checked(_libc.unshare(_CLONE_NEWNS), "a mount namespace")
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    _mount(exchange, exchange, None, _MS_BIND)
    attributes = struct.pack("QQQQ", _MOUNT_ATTR_RDONLY, 0, 0, 0)
    sealed = _libc.syscall(
        _SYS_MOUNT_SETATTR, _AT_FDCWD, b"/", _AT_RECURSIVE, attributes, len(attributes)
    )
    _checked(sealed, "read-only file systems")
    writable = struct.pack("QQQQ", 0, _MOUNT_ATTR_RDONLY, 0, 0)
    opened = _libc.syscall(
        _SYS_MOUNT_SETATTR, _AT_FDCWD, exchange.encode(), 0, writable, len(writable)
    )
    _checked(opened, f"writing to {exchange}")
    _mount("netcosim", SHARED_MEMORY, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=1777,size=100%")
    _mount(exchange, place, None, _MS_BIND)
    _drop_capabilities()
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new rights")
    _libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    try:
        os.execv(command[0], list(command))  # noqa: S606 - what we were given
    except OSError as problem:
        sys.exit(f"{command[0]}: can't be started: {problem.strerror}")


def _drop_capabilities() -> None:
    for number in range(_LAST_CAPABILITY + 1):
        if number not in _KEPT and _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
            break  # the kernel has no more of them
    low = sum(1 << number for number in _KEPT)
    header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
    _checked(_libc.capset(header, struct.pack("6I", low, low, low, 0, 0, 0)), "capabilities")


def _mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    words = [word.encode() if word else None for word in (source, target, kind, data)]
    _checked(_libc.mount(*words[:3], flags, words[3]), f"mount {target}")


def _checked(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2], sys.argv[3:])
    except OSError as problem:
        sys.exit(f"a guest can't be enclosed: {problem.strerror or problem}")
