"""Execute an endpoint's program with no more rights than it needs.

A stand-alone script that a bare interpreter runs as root in the endpoint's host; it replaces itself
by the endpoint::

    confine.py TEMPORARY CAPABILITIES PROGRAM ARGUMENT...

All file systems become read-only, but for TEMPORARY and ``/dev/shm``: empty ones in memory that
nobody else sees. The user becomes nobody, and no program can give it more rights again. Of the
capabilities those stay whose numbers are in CAPABILITIES (``12,21``, or ``-``), and where something
that the endpoint is started from can't be reached by nobody, the one to read and search everything.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

TYPE_CHECKING = False  # typing's, without waiting for typing
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import NoReturn

NOBODY = 65534
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a private one
TEMPORARY_BYTES = 64 * 2**20
DAC_READ_SEARCH = 2
_LAST_CAPABILITY = 63

_AT_FDCWD, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY, _SYS_MOUNT_SETATTR = -100, 0x8000, 1, 442
_CLONE_NEWNS, _MS_NOSUID, _MS_NODEV, _MS_REC, _MS_PRIVATE = 0x00020000, 2, 4, 0x4000, 1 << 18
_PR_SET_KEEPCAPS, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 8, 24, 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 47, 2
_CAPABILITY_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def main(temporary: str, capabilities: str, command: Sequence[str]) -> NoReturn:
    """Give up rights and become the command."""
    kept = {int(number) for number in capabilities.split(",") if number != "-"}
    started_from = _started_from(command)
    _seal([temporary, SHARED_MEMORY])
    _drop_bounding({*kept, DAC_READ_SEARCH})
    _become_nobody()
    if not all(os.access(path, os.R_OK) for path in started_from):
        kept.add(DAC_READ_SEARCH)
    _keep(kept)
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new rights")
    environment = {**os.environ, "TMPDIR": temporary}
    try:
        os.execvpe(command[0], list(command), environment)  # noqa: S606 - what we were given
    except OSError as problem:
        sys.exit(f"{command[0]}: can't be started: {problem.strerror}")


def _started_from(command: Sequence[str]) -> list[str]:
    """Files that the command needs: programs, scripts, and the libraries beside an interpreter."""
    paths = [word for word in command if word.startswith("/") and os.path.exists(word)]  # noqa: PTH110
    real = [os.path.realpath(path) for path in paths]
    beside = [os.path.join(os.path.dirname(path), "..", "lib") for path in paths[:1] + real[:1]]  # noqa: PTH118, PTH120
    return [*paths, *real, *(path for path in beside if os.path.isdir(path))]  # noqa: PTH112


def _seal(writable: Iterable[str]) -> None:
    """Make every mount read-only, in a mount namespace of its own; cover some by empty ones."""
    _checked(_libc.unshare(_CLONE_NEWNS), "a mount namespace")
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE, None)
    attributes = struct.pack("QQQQ", _MOUNT_ATTR_RDONLY, 0, 0, 0)
    _checked(
        _libc.syscall(
            _SYS_MOUNT_SETATTR, _AT_FDCWD, b"/", _AT_RECURSIVE, attributes, len(attributes)
        ),
        "read-only file systems",
    )
    for path in writable:
        if os.path.isdir(path):  # noqa: PTH112
            size = f"size={TEMPORARY_BYTES},mode=1777"
            _mount("netcosim", path, "tmpfs", _MS_NOSUID | _MS_NODEV, size)


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None) -> None:
    words = [word and word.encode() for word in (source, target, kind, data)]
    _checked(_libc.mount(*words[:3], flags, words[3]), f"mount {target}")


def _drop_bounding(kept: set[int]) -> None:
    for number in range(_LAST_CAPABILITY + 1):
        if number not in kept and _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
            return  # the kernel has no more of them


def _become_nobody() -> None:
    """Switch to the user nobody; capabilities stay permitted for `_keep`, none is in effect."""
    _checked(_libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0), "keeping capabilities")
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def _keep(capabilities: set[int]) -> None:
    """Give up all other capabilities; these outlive the exec, as ambient ones."""
    low, high = (sum(1 << n - base for n in capabilities if 0 <= n - base < 32) for base in (0, 32))
    header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
    _checked(_libc.capset(header, struct.pack("6I", *[low] * 3, *[high] * 3)), "capabilities")
    for number in capabilities:
        done = _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, number, 0, 0)
        _checked(done, "capabilities for the endpoint")


def _checked(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2], sys.argv[3:])
    except OSError as problem:
        sys.exit(f"can't be started with fewer rights: {problem.strerror or problem}")
