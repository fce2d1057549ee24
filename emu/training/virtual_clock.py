"""Training jobs by the virtual clock: a guest for each cell and number of workers, side by side."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from emu.capture.tcpdump import CaptureCounts
from emu.guest.boot import MEMORY_MIB, START_NS, Guest
from emu.guest.kernel import Kernel
from emu.guest.places import order_for
from emu.guest.side_by_side import SideBySide, Wanted, record_of
from emu.measurement.round_record import load_failure
from emu.training import guest_program
from emu.training.guest_program import JOB, ROWS, TASK
from emu.training.progress import FileProgress
from emu.training.runs import Outcome, Run
from netcosim.errors import NetcosimError
from netcosim.scenario import TcpSpec, dump_scenario

_NODE_MIB: Final = 160


@dataclass(slots=True, kw_only=True)
class VirtualClock:
    """Clock of guests whose time passes only while all of their processes wait."""

    kernel: Kernel
    tcp: TcpSpec
    guests: SideBySide
    record: dict[str, Any]
    network: dict[str, Any] = field(default_factory=dict)
    recorder: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, tcp: TcpSpec, guests: SideBySide) -> Self:
        """With the kernel that was built.

        Raises
        ------
        EnvironmentRefusedError
            No kernel was built for guests.
        """
        kernel = Kernel.find()
        kernel.say_if_outdated(guests.say)
        record = {"name": "virtual", "kernel": kernel.record(), "start_ns": START_NS}
        return cls(kernel=kernel, tcp=tcp, guests=guests, record={**record, **record_of(guests)})

    @contextmanager
    def running(self, runs: Sequence[Run]) -> Iterator[None]:
        """Boot a guest for each, as many side by side as there are processors."""
        with self.guests.running([self._wanted(run) for run in runs]):
            yield

    def outcome(self, run: Run) -> Outcome:
        """Wait for a guest's answer; of one that died, what it had told."""
        found = Outcome()
        try:
            answer = self.guests.answer(run.name)
            folder = self.guests.exchange(run.name)
            for host, counts in answer["captures"].items():
                found.captures[host] = folder / f"{host}.pcap", CaptureCounts(**counts)
            if "failure" in answer:
                raise load_failure(answer["failure"])
        except (NetcosimError, KeyboardInterrupt) as failure:
            found.failure = failure
        _read_rows(self.guests.exchange(run.name) / ROWS, found)
        return found

    def so_far(self, run: Run, ended: BaseException) -> Outcome | None:
        """Outcome of a guest that is not waited for any more; of one that runs, what it has told.

        None for one that has told nothing.
        """
        if self.guests.has_answered(run.name):
            return self.outcome(run)
        found = Outcome(failure=ended)
        _read_rows(self.guests.exchange(run.name) / ROWS, found)
        return found if found.rows else None

    def forget(self, run: Run) -> None:
        """Remove the folder of a guest whose outcome was taken."""
        self.guests.forget(run.name)

    def _wanted(self, run: Run) -> Wanted:
        def build(folder: Path) -> Guest:
            scenario = run.cell.scenario
            return Guest(
                self.kernel,
                folder,
                [order_for(guest_program.__file__)],
                seed=hashlib.sha256(f"{scenario.seed} {run.name}".encode()).digest(),
                files={TASK: json.dumps(self._task(run)).encode(), JOB: run.data},
                memory_mib=MEMORY_MIB + _NODE_MIB * (run.workers + scenario.cluster.servers),
            )

        def watch(exchange: Path) -> Callable[[], None]:
            return FileProgress(run.progress(self.guests.say), exchange / ROWS).look

        return Wanted(name=run.name, build=build, watch=watch)

    def _task(self, run: Run) -> dict[str, Any]:
        job = run.job
        return {
            "scenario": dump_scenario(run.cell.scenario),
            "workers": run.workers,
            "transport": run.cell.transport.name,
            "tcp": self.tcp.model_dump(mode="json"),
            "link_bps": job.link_bps,
            "more_delay_ns": job.more_delay_ns,
            "pushed": job.pushed,
            "batch": None if run.profiling else run.cell.batch,
        }


def _read_rows(path: Path, found: Outcome) -> None:
    """Read the lines that a guest has written; the last one of one that died may be torn."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    for line in data.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        told = json.loads(line)
        found.keep(told["host"], [tuple(row) for row in told["rows"]])
