"""A terminal for a run: what is typed reaches the foreground, what is said is kept."""

import fcntl
import os
import pty
import termios
import threading


class Terminal:
    """A pseudo-terminal; `side` is what a program gets as its standard streams."""

    def __init__(self) -> None:
        self._ours, self.side = pty.openpty()
        self._said = bytearray()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def take_control(self) -> None:
        """Make it the controlling terminal of this process's session; called in the child."""
        fcntl.ioctl(self.side, termios.TIOCSCTTY, 0)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    @property
    def said(self) -> str:
        return self._said.decode(errors="replace")

    def close(self) -> None:
        """Call it when all that wrote to it have ended."""
        os.close(self.side)
        self._reader.join(timeout=240)
        os.close(self._ours)

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._ours, 65536)
            except OSError:  # nobody holds the other side any more
                return
            if not chunk:
                return
            self._said += chunk
