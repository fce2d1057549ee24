"""A network of its own for a program and all that it starts: nobody else sees what listens there.

Linux gives one to root, and to others where the system lets them make user namespaces.
"""

import ctypes
import fcntl
import os
import socket
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final

_NEW_USER: Final = 0x10000000
_NEW_NETWORK: Final = 0x40000000
_GET_FLAGS: Final = 0x8913
_SET_FLAGS: Final = 0x8914
_UP: Final = 0x1
_INTERFACE: Final = "16sh22x"


def enter_own_network() -> bool:
    """Move this process into a network with nothing but a loopback; False if that can't be had.

    Nothing has changed then. A process with threads gets one only from root.
    """
    if not _works():
        return False
    try:
        _enter()
    except OSError:  # it has threads
        return False
    return True


def _works() -> bool:
    """Try it in a process of its own, as half of it can't be undone."""
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            _enter()
            os._exit(0)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def _enter() -> None:
    user, group = os.geteuid(), os.getegid()
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(_NEW_NETWORK if user == 0 else _NEW_NETWORK | _NEW_USER):
        raise OSError(ctypes.get_errno(), "unshare")
    if user:
        own = Path("/proc/self")
        (own / "setgroups").write_text("deny", encoding="ascii")
        (own / "uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        (own / "gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack(_INTERFACE, b"lo", 0)
        _, flags = struct.unpack(_INTERFACE, fcntl.ioctl(any_socket, _GET_FLAGS, asked))
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack(_INTERFACE, b"lo", flags | _UP))
