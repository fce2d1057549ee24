"""Packet capture: runs tcpdump on one interface, and drains its kernel buffer at the end.

tcpdump keeps packets in a kernel buffer that it empties when a block is full or a second old, so
that a capture stopped too early lacks its end. Asked by SIGUSR1, it reports how many packets its
filter let pass and how many of those it has taken; when the two agree, nothing is left behind.
(On loopback they never do: the kernel counts both ways there. Then quiet for longer than a
second has to do.)
"""

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from netcosim.errors import CaptureError, EnvironmentRefusedError

_Counts = tuple[int, int, int]
Popen = Callable[..., "subprocess.Popen[Any]"]

DEFAULT_BUFFER_KIB = 65_536
PATIENCE_S = 60.0  # of each answer: on a slow machine a second's work takes many
QUIET_S = 1.5  # the kernel hands over a block after a second at the latest
_POLL_S = 0.02

_COUNTS = re.compile(
    rb"(\d+) packets? captured[,\s]+(\d+) packets? received by filter"
    rb"[,\s]+(\d+) packets? dropped by kernel(?:[,\s]+(\d+) packets? dropped by interface)?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureCounts:
    """Packet counts that tcpdump reports.

    `dropped` never reached the file: a capture with drops must not be trusted. `drained`
    is False if packets may have been left in the kernel's buffer at the end.
    """

    captured: int
    received: int
    dropped: int
    drained: bool


def command(
    interface: str, ports: Sequence[int], buffer_kib: int, *, immediate: bool = False
) -> list[str]:
    """Build tcpdump's command line: whole packets, nanoseconds, no names, to standard output.

    It may give up root once it listens, as Debian's does; telling it not to (``-Z root``) crashes
    tcpdump 4.99.4 of Ubuntu 24.04 when it writes to a file (Launchpad bug 2071891).
    """
    argv = [
        "tcpdump", "-i", interface, "-n", "-s", "0", "-B", str(buffer_kib),
        "--time-stamp-precision=nano", "-w", "-",
    ]  # fmt: skip
    if immediate:
        argv.append("--immediate-mode")
    either = " or ".join(f"port {port}" for port in ports)
    return [*argv, f"tcp and ({either})" if ports else "tcp"]


class Capture:
    """A running tcpdump; a context manager that stops it.

    Parameters
    ----------
    path
        Where the capture goes. It is opened here, so that it belongs to this process's user.
    interface
        What to listen on, in the namespace in which `popen` starts processes.
    ports
        TCP ports to keep; none for all of TCP.
    popen
        Starts a process inside the host, as `subprocess.Popen` does.
    buffer_kib
        The kernel's buffer; what does not fit is dropped, and counted.
    immediate
        Take each packet as it comes: stops up to a second sooner, but costs more processor
        time a packet, and the buffer holds fewer of them.

    Raises
    ------
    EnvironmentRefusedError
        There is no tcpdump.
    CaptureError
        It did not begin to listen; the message quotes tcpdump.
    """

    def __init__(
        self,
        path: Path,
        *,
        interface: str,
        ports: Sequence[int] = (),
        popen: Popen = subprocess.Popen,
        buffer_kib: int = DEFAULT_BUFFER_KIB,
        immediate: bool = False,
    ) -> None:
        self.path = path
        self._name = f"tcpdump on {interface}"
        self._counts: CaptureCounts | None = None
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop
        try:
            with path.open("wb") as file:
                self._process = popen(
                    command(interface, ports, buffer_kib, immediate=immediate),
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=self._log,
                )
        except FileNotFoundError:
            self._log.close()
            raise EnvironmentRefusedError(
                "tcpdump: not found; install the package tcpdump"
            ) from None
        try:
            self._await(lambda: b"listening on" in self._said(), "did not listen")
        except BaseException:
            self._kill()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.stop()
        elif self._counts is None:
            self._kill()

    @property
    def process(self) -> "subprocess.Popen[Any]":
        """The tcpdump process."""
        return self._process

    def check_alive(self) -> None:
        """Raise an error if tcpdump no longer runs.

        Raises
        ------
        CaptureError
            tcpdump has died; the message quotes it, or has how it ended.
        """
        code = self._process.poll()
        if code is None:
            return
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"died with code {code}"
        raise CaptureError(f"{self._name}: {self._words() or how}")

    def dropped(self) -> int:
        """Packets that never reached the file, so far.

        Raises
        ------
        CaptureError
            tcpdump has died, or does not answer.
        """
        return self._ask()[2]

    def stop(self) -> CaptureCounts:
        """Wait until the kernel's buffer is empty, end tcpdump, return its counts.

        Called again it returns the same.

        Raises
        ------
        CaptureError
            tcpdump has died, or does not end.
        """
        if self._counts is not None:
            return self._counts
        try:
            self._counts = self._finish()
        finally:
            self._kill()
        return self._counts

    def _finish(self) -> CaptureCounts:
        drained = self._drain()
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise CaptureError(f"{self._name}: does not end") from None
        counts = _last_counts(self._said())
        if self._process.returncode != 0 or counts is None:
            raise CaptureError(
                f"{self._name}: ended with {self._process.returncode}: {self._words()}"
            )
        return CaptureCounts(
            captured=counts[0],
            received=counts[1],
            dropped=counts[2],
            drained=drained or _is_drained(counts),
        )

    def _drain(self) -> bool:
        """Poll until the kernel's buffer is empty; return False if it is not in time."""
        deadline = time.monotonic() + PATIENCE_S
        previous, since = None, time.monotonic()
        while time.monotonic() < deadline:
            counts = self._ask()
            if counts != previous:
                previous, since = counts, time.monotonic()
            if _is_drained(counts) or time.monotonic() - since > QUIET_S:
                return True
            time.sleep(_POLL_S)
        return False

    def _ask(self) -> _Counts:
        """Request tcpdump's counts, and wait for them."""
        known = len(self._said())
        self._process.send_signal(signal.SIGUSR1)
        answers: list[_Counts] = []

        def answered() -> bool:
            counts = _last_counts(self._said()[known:])
            answers.extend([counts] if counts else [])
            return bool(answers)

        self._await(answered, "reported no packet counts")
        return answers[-1]

    def _await(self, done: Callable[[], object], else_: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not done():
            self.check_alive()
            if time.monotonic() > deadline:
                raise CaptureError(
                    f"{self._name}: {else_} within {PATIENCE_S:g} s: {self._words()}"
                )
            time.sleep(_POLL_S / 4)

    def _said(self) -> bytes:
        # pread: the child writes at the same file offset that a seek here would move.
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0)

    def _words(self) -> str:
        """Error messages of tcpdump, in one line."""
        lines = self._said().decode("utf-8", "replace").splitlines()
        words = (line.removeprefix("tcpdump: ").strip() for line in lines)
        return "; ".join(w for w in words if w and " packet" not in w and "listening on" not in w)

    def _kill(self) -> None:
        """Kill tcpdump and close its log, whatever came before."""
        self._process.kill()  # does nothing to one that has ended
        self._process.wait()
        self._log.close()


def _last_counts(said: bytes) -> _Counts | None:
    """Last counts printed: captured, received by the filter, dropped (by kernel and interface)."""
    printed = _COUNTS.findall(said)
    if not printed:
        return None
    captured, received, kernel, interface = printed[-1]
    return int(captured), int(received), int(kernel) + int(interface or 0)


def _is_drained(counts: _Counts) -> bool:
    captured, received, dropped = counts
    return captured >= received - dropped
