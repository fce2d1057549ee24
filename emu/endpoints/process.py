"""One endpoint process: send it commands, collect its events, explain its death."""

import json
import os
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import IO, Any, Protocol

from emu.endpoints.pairing import EndPlan
from emu.endpoints.probe_log import ProbeLog
from emu.isolation.isolate import SCRATCH
from emu.remote import confine
from netcosim.errors import EndpointError

Event = dict[str, Any]

EXIT_S = 3.0
_CHUNK_BYTES = 1 << 20
_KEPT_BYTES = 1 << 16


class Popen(Protocol):
    """Starts a process inside a host's namespaces; `kw` are those of `subprocess.Popen`."""

    def __call__(self, host: str, argv: list[str], **kw: Any) -> subprocess.Popen[bytes]:
        """Start `argv` in `host`."""


class EndpointProcess:
    """One end of one connection, running.

    Its pipes are read when `collect` is called, without blocking; no thread is involved.

    Raises
    ------
    EndpointError
        It can't be started.
    """

    def __init__(self, popen: Popen, plan: EndPlan) -> None:
        self.plan = plan
        self.events: deque[Event] = deque()
        self.failure: str | None = None
        self._lines = b""
        self._errors = b""
        self._probe_log = ProbeLog()
        try:
            self._process = popen(
                plan.host,
                confined(plan),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=plan.environment,
            )
        except OSError as problem:
            raise EndpointError(f"{self}: can't be started: {problem.strerror}") from None
        for stream in (self.stdout, self.stderr):
            os.set_blocking(stream.fileno(), False)

    def __str__(self) -> str:
        return f"{self.plan.name} in {self.plan.host}"

    @property
    def pid(self) -> int:
        """Its process id, as seen from here."""
        return self._process.pid

    @property
    def ping_delays_ms(self) -> tuple[int, ...]:
        """The delays between its PINGs that it has logged, each when it changed."""
        return tuple(self._probe_log.delays_ms)

    @property
    def stdout(self) -> IO[bytes]:
        """The pipe of its events; for a selector."""
        return _pipe(self._process.stdout)

    @property
    def stderr(self) -> IO[bytes]:
        """The pipe of its error messages; for a selector."""
        return _pipe(self._process.stderr)

    def command(self, cmd: str, **fields: object) -> None:
        """Send one command.

        Raises
        ------
        EndpointError
            The process is gone.
        """
        line = json.dumps({"cmd": cmd, **fields}, separators=(",", ":")) + "\n"
        stdin = _pipe(self._process.stdin)
        try:
            stdin.write(line.encode())
            stdin.flush()
        except (BrokenPipeError, ValueError):
            self.collect()
            raise EndpointError(self.failure or f"{self}: takes no commands any more") from None

    def collect(self) -> None:
        """Take in what it has written; sets `failure` when it has failed or died."""
        self.collect_errors()
        data, ended = _drain(self.stdout)
        *lines, self._lines = (self._lines + data).split(b"\n")
        for line in lines:
            self._take(line)
        if ended and self.failure is None:
            self.failure = f"{self}: {self._obituary()}"

    def collect_errors(self) -> bool:
        """Keep the end of its stderr output; True when it has closed stderr."""
        data, ended = _drain(self.stderr)
        self._errors = (self._errors + self._probe_log.take(data))[-_KEPT_BYTES:]
        return ended

    def _take(self, line: bytes) -> None:
        try:
            event: Event = json.loads(line)
            name = event["event"]
        except (ValueError, TypeError, KeyError):
            self.failure = f"{self}: wrote an invalid event: {line[:80]!r}"
            return
        if name == "error":
            self.failure = f"{self}: {event['message']}"
        else:
            self.events.append(event)

    def _obituary(self) -> str:
        try:
            code = self._process.wait(EXIT_S)
        except subprocess.TimeoutExpired:
            return "closed its output"
        self.collect_errors()
        last = (
            (self._errors + self._probe_log.rest)
            .decode(errors="replace")
            .strip()
            .rpartition("\n")[2]
        )
        said = f": {last}" if last else ""
        if code < 0:
            return f"killed by {signal.Signals(-code).name}{said}"
        return f"died with exit code {code}{said}"

    def finish(self) -> None:
        """Ask it to end, insist after a while; never raises."""
        try:
            self.command("stop")
        except EndpointError:
            pass
        finally:
            self.kill(EXIT_S)

    def kill(self, after_s: float = 0.0) -> None:
        """Wait `after_s` for it to end by itself, then end it; release its pipes."""
        try:
            self._process.wait(after_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue


def confined(plan: EndPlan) -> list[str]:
    """Build the command that starts an end with no more rights than it needs."""
    capabilities = ",".join(map(str, plan.capabilities)) or "-"
    script = str(Path(confine.__file__))
    return [sys.executable, "-I", "-S", script, str(SCRATCH), capabilities, *plan.argv]


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise EndpointError("an endpoint was started without its pipes")
    return stream


def _drain(stream: IO[bytes]) -> tuple[bytes, bool]:
    """Read what is there; the flag says that nothing more will come."""
    data = b""
    if stream.closed:
        return data, True
    while True:
        try:
            chunk = os.read(stream.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return data, False
        if not chunk:
            return data, True
        data += chunk
