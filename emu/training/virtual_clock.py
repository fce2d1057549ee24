"""Guests of a training job: one for each cell and number of workers, side by side."""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from emu.guest.boot import MEMORY_MIB, Guest, GuestError
from emu.guest.kernel import Kernel
from emu.guest.places import order_for
from emu.measurement.round_record import load_failure
from emu.remote.training.roles import Row
from emu.training import guest_program
from emu.training.guest_program import ANSWER, JOB, TASK
from emu.training.job_cells import JobCell
from netcosim.scenario import TcpSpec, dump_scenario
from netcosim.training.job import TrainingJob
from netcosim.training.job_file import dump_job

_NODE_MIB: Final = 160

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """A cell's job with so many workers, or of one worker that does every recorded step once."""

    cell: JobCell
    workers: int
    profiling: bool = False

    @property
    def name(self) -> str:
        """Name for people."""
        return f"{self.cell.name}, {self.workers} worker{'s' * (self.workers > 1)}"

    @property
    def job(self) -> TrainingJob:
        """What the workers do."""
        job = self.cell.job
        return job.profiling() if self.profiling else job.first(self.workers)

    @property
    def data(self) -> bytes:
        """The job's file for its nodes."""
        return dump_job(self.job) if self.profiling else self.cell.data


@dataclass(slots=True, kw_only=True)
class Guests:
    """Guests of these runs; use `running`.

    Attributes
    ----------
    seconds : of the machine's time, by run
    """

    kernel: Kernel
    runs: Sequence[Run]
    tcp: TcpSpec
    scratch: Path
    seconds: dict[str, float] = field(default_factory=dict)
    _booted: list[Guest] = field(default_factory=list)

    @contextlib.contextmanager
    def running(self) -> Iterator[list[tuple[Run, Future[Json]]]]:
        """Start them, as many side by side as there are processors; none is left at the end."""
        side_by_side = min(len(self.runs), os.cpu_count() or 1)
        with ThreadPoolExecutor(side_by_side) as pool:
            try:
                yield [(run, pool.submit(self._boot, n, run)) for n, run in enumerate(self.runs)]
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                for guest in list(self._booted):
                    guest.kill()

    def _boot(self, number: int, run: Run) -> Json:
        started = time.monotonic()
        folder = self.scratch / f"guest-{number}"
        folder.mkdir()
        scenario, job = run.cell.scenario, run.job
        task = {
            "scenario": dump_scenario(scenario),
            "workers": run.workers,
            "transport": run.cell.transport.name,
            "tcp": self.tcp.model_dump(mode="json"),
            "link_bps": job.link_bps,
            "more_delay_ns": job.more_delay_ns,
            "pushed": job.pushed,
        }
        guest = Guest(
            self.kernel,
            folder,
            [order_for(guest_program.__file__)],
            seed=hashlib.sha256(f"{scenario.seed} {run.name}".encode()).digest(),
            files={TASK: json.dumps(task).encode(), JOB: run.data},
            memory_mib=MEMORY_MIB + _NODE_MIB * (run.workers + scenario.cluster.servers),
        )
        self._booted.append(guest)
        try:
            guest.start()
            (done,) = guest.wait()
            path = guest.exchange / ANSWER
            if done.code != 0 or not path.exists():
                last = done.err.decode(errors="replace").strip().rpartition("\n")[2]
                raise GuestError(f"{run.name}: what a guest ran ended with {done.code}: {last}")
            answer: Json = json.loads(path.read_text())
        finally:
            guest.kill()
            self._booted.remove(guest)
            self.seconds[run.name] = round(time.monotonic() - started, 3)
        return answer


def rows_of(answer: Json) -> dict[str, list[Row]]:
    """Rows of an answer, by host.

    Raises
    ------
    NetcosimError, KeyboardInterrupt
        What ended the run.
    """
    if "failure" in answer:
        raise load_failure(answer["failure"])
    return {host: [tuple(row) for row in rows] for host, rows in answer["rows"].items()}
