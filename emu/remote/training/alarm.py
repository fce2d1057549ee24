"""A timer to the nanosecond, as a file descriptor.

Time-outs of select() and epoll count from their call, in microseconds or milliseconds: when they
end would depend on what else a node was woken by.
"""

import ctypes
import math
import os
from typing import Final

_CLOCK_REALTIME: Final = 0
_ABSOLUTE: Final = 1
_NONBLOCKING: Final = os.O_NONBLOCK | os.O_CLOEXEC
_S: Final = 1_000_000_000


class _TimeSpec(ctypes.Structure):
    _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long))


class _TimerSpec(ctypes.Structure):
    _fields_ = (("interval", _TimeSpec), ("value", _TimeSpec))


class Alarm:
    """One time to wait for; `fd` can be read from then on.

    Raises
    ------
    OSError
        The system has no such timers left.
    """

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self._checked(self._libc.timerfd_create(_CLOCK_REALTIME, _NONBLOCKING))

    def set(self, start_ns: int, after_ns: float) -> None:
        """Wait until so long after a time since the epoch, and for no other; infinity: for none."""
        never = math.isinf(after_ns)  # all zeros is none
        s, ns = (0, 0) if never else divmod(start_ns + math.ceil(after_ns), _S)
        wanted = _TimerSpec(_TimeSpec(0, 0), _TimeSpec(s, ns))
        self._checked(self._libc.timerfd_settime(self.fd, _ABSOLUTE, ctypes.byref(wanted), None))

    def take(self) -> None:
        """Make it unreadable until the next time that is set."""
        try:
            os.read(self.fd, 8)
        except BlockingIOError:
            return

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.fd)

    def _checked(self, result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), "timerfd")
        return result
