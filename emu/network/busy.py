"""When the run's processors had no time for a process, while its links are measured."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from emu import isolate
from emu.network.spacing import Spans, united
from emu.remote import processor_watch
from netcosim.errors import NetworkError

_SETTLE_S: Final = 0.002


class ProcessorWatch:
    """One recording process on each processor that the run may use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[int, subprocess.Popen[str]] = {}

    def start(self) -> None:
        """Start them, and wait until all run.

        Raises
        ------
        NetworkError
            One did not start.
        """
        for processor in sorted(os.sched_getaffinity(0)):
            script = str(processor_watch.__file__)
            self._processes[processor] = subprocess.Popen(
                [sys.executable, "-I", "-S", script, str(processor), str(self._file(processor))],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        for processor, process in self._processes.items():
            assert process.stdout is not None
            if not process.stdout.readline():
                _, said = process.communicate()
                last = said.strip().splitlines()[-1:] or ["it died"]
                raise NetworkError(f"watch of processor {processor}: {last[0]}")

    def stop(self) -> None:
        """End them."""
        for process in self._processes.values():
            process.kill()
            process.communicate()

    def busy(self) -> Spans:
        """When some processor had no time for a process so far: disjoint, in order of time.

        Raises
        ------
        NetworkError
            A watch has died.
        """
        time.sleep(_SETTLE_S)
        spans: Spans = []
        for processor, process in self._processes.items():
            if process.poll() is not None:
                raise NetworkError(f"watch of processor {processor}: it died")
            data = self._file(processor).read_bytes()
            whole = len(data) - len(data) % processor_watch.RECORD.size
            spans += processor_watch.RECORD.iter_unpack(data[:whole])
        return united(spans)

    def _file(self, processor: int) -> Path:
        return self._folder / str(processor)


@contextlib.contextmanager
def watching_processors() -> Iterator[ProcessorWatch]:
    """Have the processors watched for a while.

    Raises
    ------
    NetworkError
        A watch did not start.
    """
    with tempfile.TemporaryDirectory(dir=isolate.scratch_dir()) as folder:
        watch = ProcessorWatch(Path(folder))
        try:
            watch.start()
            yield watch
        finally:
            watch.stop()
