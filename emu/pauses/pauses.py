"""Pause recorders, one process a processor, and the pauses that they recorded."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from emu.pauses import recorder
from netcosim.errors import CaptureError
from netcosim.spans import Spans, united, within

PERIOD_NS: Final = recorder.PERIOD_NS[recorder.PAUSES]
_START_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """The recorded pauses by processor, on CLOCK_REALTIME.

    A span reaches from the recorder's last run before the pause to its first after it, so it begins
    up to `PERIOD_NS` before the pause does.
    """

    by_processor: Mapping[int, Spans]

    @property
    def anywhere(self) -> Spans:
        """The times in which some processor was away."""
        return united(span for spans in self.by_processor.values() for span in spans)

    def between(self, start_ns: int, end_ns: int) -> "Pauses":
        """The pauses between two times."""
        return Pauses(
            by_processor={p: within(s, start_ns, end_ns) for p, s in self.by_processor.items()}
        )


class PauseRecorders:
    """Running recorders; `scheduling` has the class that each was granted."""

    def __init__(self, folder: Path, processes: Mapping[int, subprocess.Popen[bytes]]) -> None:
        self._folder = folder
        self._processes = processes
        self.scheduling: Mapping[int, str] = {p: _said(p, each) for p, each in processes.items()}

    def check_alive(self) -> None:
        """Raise an error if a recorder no longer runs.

        Raises
        ------
        CaptureError
            A recorder has died.
        """
        for processor, process in self._processes.items():
            if process.poll() is not None:
                raise CaptureError(f"{_name(processor)}: {_death(process)}")

    def read(self) -> Pauses:
        """All that was recorded so far, while every recorder runs.

        Raises
        ------
        CaptureError
            A recorder has died.
        """
        self.check_alive()
        return self.so_far()

    def so_far(self) -> Pauses:
        """All that was recorded so far, by recorders that have died since, too."""
        return Pauses(
            by_processor={
                processor: _spans(_file(self._folder, processor)) for processor in self._processes
            }
        )


@contextlib.contextmanager
def recording(folder: Path, what: str = recorder.PAUSES) -> Iterator[PauseRecorders]:
    """Record the pauses of every processor that this process may use, in files of this folder.

    `what` is ``pauses`` or ``contention``, as `emu.pauses.recorder` describes them.

    Raises
    ------
    CaptureError
        A recorder did not start.
    """
    processes: dict[int, subprocess.Popen[bytes]] = {}
    try:
        for processor in sorted(os.sched_getaffinity(0)):
            path = _file(folder, processor)
            path.touch()
            argv = [sys.executable, "-I", "-S", recorder.__file__, str(processor), str(path), what]
            processes[processor] = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # a terminal's Ctrl-C is for the run alone
            )
        yield PauseRecorders(folder, processes)
    finally:
        for processor, process in processes.items():
            process.kill()
            process.communicate()
            _file(folder, processor).unlink(missing_ok=True)


def _file(folder: Path, processor: int) -> Path:
    return folder / f"pauses-{processor}"


def _name(processor: int) -> str:
    return f"pause recorder of processor {processor}"


def _said(processor: int, process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        process.wait(_START_S)
        raise CaptureError(f"{_name(processor)}: {_death(process)}")
    return line.decode().strip()


def _death(process: subprocess.Popen[bytes]) -> str:
    code = process.returncode
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _spans(path: Path) -> Spans:
    data = path.read_bytes()
    whole = len(data) - len(data) % recorder.RECORD.size
    return united(recorder.RECORD.iter_unpack(data[:whole]))
