"""The end of a Ray, and the head of a cluster: whether it still answers.

Ray itself waits a minute for a head that is gone, within whatever was asked of it, and then ends
the process. A head that is looked at first is found missing in time to say so.
"""

import socket
import time
from dataclasses import dataclass, field
from typing import Final

from netcosim.errors import EnvironmentRefusedError

_EVERY_S: Final = 1.0
_WAIT_S: Final = 2.0
_GONE_S: Final = 6.0
_DYING_S: Final = 2.0


class RayGoneError(EnvironmentRefusedError):
    """A Ray can't be asked for anything any more."""


class HeadGoneError(RayGoneError):
    """The head of a cluster does not answer any more."""


@dataclass(slots=True)
class Head:
    """A head by its address; `answers` may be called as often as one likes."""

    address: str
    _looked_s: float = field(default_factory=time.monotonic)
    _missing_since_s: float | None = None

    def answers(self) -> bool:
        """Look whether it answers, once a second at most; False also if it is not yet time to.

        Raises
        ------
        HeadGoneError
            It has not answered for some seconds.
        """
        now_s = time.monotonic()
        if now_s - self._looked_s < _EVERY_S:
            return False
        self._looked_s = now_s
        try:
            self._connect()
        except OSError as problem:
            self._missing_since_s = self._missing_since_s or now_s
            if now_s - self._missing_since_s > _GONE_S:
                raise self._gone(problem) from None
            return False
        self._missing_since_s = None
        return True

    def check(self) -> None:
        """Look for two seconds: one that is just dying may still answer.

        Raises
        ------
        HeadGoneError
            It does not answer.
        """
        until_s = time.monotonic() + _DYING_S
        while time.monotonic() < until_s:
            try:
                self._connect()
            except OSError as problem:
                raise self._gone(problem) from None
            time.sleep(_DYING_S / 10)

    def _connect(self) -> None:
        host, _, port = self.address.rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), _WAIT_S).close()

    def _gone(self, problem: OSError) -> HeadGoneError:
        reason = problem.strerror or problem
        return HeadGoneError(f"the Ray head at {self.address} is gone: {reason}")
