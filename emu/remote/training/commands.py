"""Commands of the emulator to a node: JSON lines on its standard input.

``job`` (with the text of the job's file) comes first, then ``listen``, ``connect``, ``start`` (with
`start_ns`) and ``stop``. A node tells its log as steps end, and when it stops the rest, and how
long it has run on processors.
"""

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from emu.remote.endpoint_common import EndpointFailureError, emit, give_up
from netcosim.training.job import TrainingJob
from netcosim.training.job_file import load_job

STDIN: Final = 0

Json = dict[str, Any]


class ProcessorTime:
    """Time that this process has run on processors since a job began."""

    def __init__(self) -> None:
        self._begin_ns = 0

    def begin(self) -> None:
        """The job begins."""
        self._begin_ns = time.process_time_ns()

    @property
    def spent_ns(self) -> int:
        """All of its threads' time since then."""
        return time.process_time_ns() - self._begin_ns


class Commands:
    """Commands, line by line; without the emulator the process ends."""

    def __init__(self) -> None:
        self._buffer = b""
        self._whole: list[Json] = []

    def read(self) -> None:
        """Read what has come; leave at once when standard input is closed."""
        data = os.read(STDIN, 1 << 20)
        if not data:
            os._exit(0)
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        self._whole += [json.loads(line) for line in lines if line.strip()]

    def taken(self) -> list[Json]:
        """Take the commands that are whole."""
        taken, self._whole = self._whole, []
        return taken

    def next(self) -> Json:
        """Wait for the next command."""
        while not self._whole:
            self.read()
        return self._whole.pop(0)

    def stand_still(self) -> None:
        """Do nothing until the emulator is gone: a peer that has not stopped yet sees no end."""
        while True:
            self.next()


def serve(run: Callable[[Json, TrainingJob, Commands], None]) -> None:
    """Take configuration and job, and run a node to its end."""
    gc.disable()  # nothing is collected while the job runs
    try:
        config = json.loads(sys.argv[1])
        commands = Commands()
        text: str = commands.next()["job"]
        job = load_job(text.encode(), "job").first(config["workers"])
        emit("loaded")
        run(config, job, commands)
    except EndpointFailureError as problem:
        give_up(problem)
