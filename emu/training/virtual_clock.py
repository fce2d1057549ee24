"""Training jobs by the virtual clock: a guest for each cell and number of workers, side by side."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from emu.capture.tcpdump import CaptureCounts
from emu.guest.boot import MEMORY_MIB, START_NS, Guest
from emu.guest.kernel import Kernel
from emu.guest.places import order_for
from emu.guest.side_by_side import SideBySide, Wanted, record_of
from emu.measurement.round_record import load_failure
from emu.network.punctuality import VIRTUAL, Punctuality
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
    punctuality: Punctuality = VIRTUAL

    @classmethod
    def of(cls, tcp: TcpSpec, guests: SideBySide) -> Self:
        """With the kernel that was built.

        Raises
        ------
        EnvironmentRefusedError
            No kernel was built for guests.
        """
        kernel = Kernel.find()
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
            if "failure" in answer:
                raise load_failure(answer["failure"])
            folder = self.guests.exchange(run.name)
            for host, counts in answer["captures"].items():
                found.captures[host] = folder / f"{host}.pcap", CaptureCounts(**counts)
        except (NetcosimError, KeyboardInterrupt) as failure:
            found.failure = failure
        _read_rows(self.guests.exchange(run.name) / ROWS, found)
        return found

    def so_far(self, run: Run) -> Outcome | None:
        """What a guest has told that is not waited for any more."""
        path = self.guests.exchange(run.name) / ROWS
        if not path.exists():
            return None
        found = Outcome(failure=KeyboardInterrupt())
        _read_rows(path, found)
        return found

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

        progress = run.progress(self.guests.say)
        return Wanted(
            name=run.name,
            build=build,
            watch=lambda exchange: FileProgress(progress, exchange / ROWS).look,
        )

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
        }


def _read_rows(path: Path, found: Outcome) -> None:
    """Read the lines that a guest has written; the last one of one that died may be torn."""
    if not path.exists():
        return
    for line in path.read_bytes().splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        told = json.loads(line)
        found.keep(told["host"], [tuple(row) for row in told["rows"]])
