"""A training job's whole run: guests side by side, what they logged, results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from emu.endpoints.pairing import send_limit_bytes
from emu.guest.boot import START_NS
from emu.guest.kernel import Kernel
from emu.network.punctuality import HANDLING_NS, VIRTUAL, poll_ns
from emu.network.tcp import payload_in, with_send_buffer
from emu.training.guests import Guests, Run, rows_of
from emu.training.job_cells import JobCell, network_of
from emu.training.rows import Measured
from emu.training.task import Task
from h2model import transports
from netcosim.cli import finishing
from netcosim.cli.session import failure_line, timed_phase
from netcosim.results.folder import NOT_ENDED, ResultsFolder
from netcosim.results.host import EMULATION, describe_host, versions
from netcosim.results.run_record import RunRecord
from netcosim.results.training.job_summary import JobPoint, JobSeries, JobSummary, PathFacts
from netcosim.results.training.operations import OperationColumns
from netcosim.results.training.steps import StepColumns
from netcosim.scenario import Scenario, TcpSpec
from topo.spec import PAYLOAD_BYTES


@dataclass(slots=True, kw_only=True)
class JobSession:
    """One run of a training scenario; its state is what has been finished so far."""

    scenario: Scenario
    cells: Sequence[JobCell]
    task: Task
    folder: ResultsFolder
    scratch: Path
    say: Callable[[str], None]
    command: tuple[str, ...]
    started: datetime
    clock: dict[str, Any] = field(default_factory=dict)
    points: dict[str, list[JobPoint]] = field(default_factory=dict)
    steps: list[StepColumns] = field(default_factory=list)
    operations: list[OperationColumns] = field(default_factory=list)
    phases_s: dict[str, float] = field(default_factory=dict)
    failure: BaseException | None = None

    def run(self) -> JobSummary:
        """Run everything; if something ends the run early, write what is finished.

        The failure itself is in `failure`.
        """
        for cell in self.cells:
            self.folder.write_job(cell.name, cell.data)
        if self.task.seal is not None:
            self.folder.write_seal(self.task.seal)
        self.folder.write_summary(self._summary(NOT_ENDED))
        try:
            with timed_phase(self.phases_s, "jobs"):
                self._run_all()
        except (Exception, KeyboardInterrupt) as failure:  # noqa: BLE001 - kept, raised by the command
            self.failure = failure
        with timed_phase(self.phases_s, "results"), finishing(self.failure) as late:
            self._write()
            self.folder.write_perfetto()
            ended = () if self.failure is None else (f"ended early: {failure_line(self.failure)}",)
            summary = self._summary(*ended)
            self.folder.write_summary(summary)  # last: until then something is missing
        self.failure = self.failure or late.interruption
        return summary

    def _run_all(self) -> None:
        kernel = Kernel.find()
        self.clock = {"name": "virtual", "kernel": kernel.record(), "start_ns": START_NS}
        counts, profiling = self.task.counts, self.task.profiling
        guests = Guests(
            kernel=kernel,
            runs=[Run(cell, count, profiling) for cell in self.cells for count in counts],
            tcp=self._tcp(),
            scratch=self.scratch,
        )
        self.clock["guests_s"] = guests.seconds
        with guests.running() as running:
            for run, future in running:
                self._take(run, future.result())

    def _take(self, run: Run, answer: dict[str, Any]) -> None:
        training = self.scenario.training
        job = run.job
        measured = Measured.of(run.cell.name, job, rows_of(answer))
        point = measured.point(min(training.warmup, job.steps - 1), run.cell.batch)
        self.points.setdefault(run.cell.name, []).append(point)
        self.steps.append(measured.steps())
        self.operations.append(
            measured.operations(job.steps if run.profiling else training.trace_steps)
        )
        self.say(f"{run.name}: {point.examples_per_s:.5g} examples/s")
        self._write()
        self.folder.write_summary(self._summary(NOT_ENDED))

    def _write(self) -> None:
        self.folder.write_steps(self.steps)
        self.folder.write_operations(self.operations)
        self.folder.write_run(self._record())

    def _summary(self, *ended: str) -> JobSummary:
        cluster = self.scenario.cluster
        return JobSummary(
            scenario=self.scenario.name,
            seed=self.scenario.seed,
            complete=not ended,
            trusted=not ended,
            reasons=ended,
            profiling=self.task.profiling,
            sealed_sha256=self.task.sealed_sha256,
            series=tuple(
                JobSeries(
                    cell=cell.name,
                    job_sha256=cell.sha256,
                    profile=cell.profile.name,
                    batch=cell.batch,
                    servers=cluster.servers,
                    rate_bps=cluster.link.rate,
                    synchronisation=self.scenario.training.synchronisation,
                    socket_buffer_bytes=self._buffered(cell),
                    path=self._path(cell),
                    points=tuple(self.points.get(cell.name, ())),
                )
                for cell in self.cells
            ),
        )

    def _tcp(self) -> TcpSpec:
        net = network_of(self.scenario, self.cells[0].job, max(self.task.counts))
        return with_send_buffer(self.scenario.cluster.tcp, net, VIRTUAL)

    def _buffered(self, cell: JobCell) -> int:
        tcp = self._tcp()
        assert tcp.send_buffer is not None
        return self._limit_bytes(cell) or payload_in(
            tcp.send_buffer, self.scenario.cluster.link.rate, VIRTUAL
        )

    def _limit_bytes(self, cell: JobCell) -> int:
        """Unacknowledged bytes that a cell's sender keeps to; 0: memory bounds them."""
        bounded = transports.load(cell.transport.sender).BOUNDS_UNACKNOWLEDGED
        return (send_limit_bytes(cell.transport, self._tcp()) or 0) if bounded else 0

    def _path(self, cell: JobCell) -> PathFacts:
        limit = self._limit_bytes(cell)
        net = network_of(self.scenario, cell.job, max(self.task.counts))
        return PathFacts(
            past_bytes=limit,
            send_memory_bytes=0 if limit else self._tcp().send_buffer or 0,
            bucket_bytes=VIRTUAL.bucket_bytes(self.scenario.cluster.link.rate),
            segment_bytes=PAYLOAD_BYTES,
            handling_ns=HANDLING_NS,
            poll_ns=poll_ns(net),
            flight_segments=VIRTUAL.most_segments(net),
        )

    def _record(self) -> RunRecord:
        now = datetime.now(UTC)
        return RunRecord(
            command=self.command,
            started=self.started.isoformat(timespec="seconds"),
            finished=now.isoformat(timespec="seconds"),
            duration_s=round((now - self.started).total_seconds(), 3),
            phases_s={name: round(s, 3) for name, s in self.phases_s.items()},
            clock=self.clock,
            host=describe_host(),
            versions=versions(EMULATION),
            network={},
            links=[],
            shares=[],
            models={cell.name: {"profile": cell.profile.provenance} for cell in self.cells},
            predictions_sha256=None,
            bounds={},
            validity=(),
            captures={},
            problems=(),
        )
