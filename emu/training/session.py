"""A training job's whole run: cells by their clock, what nodes logged, results."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from emu.calibration.links import REAL, guests_pace
from emu.endpoints.pairing import send_limit_bytes
from emu.guest.side_by_side import SideBySide
from emu.network.punctuality import MACHINE, VIRTUAL, Punctuality
from emu.network.tcp import payload_in, with_send_buffer
from emu.training.finished import Finished, Key
from emu.training.job_cells import JobCell, network_of
from emu.training.real_clock import RealClock
from emu.training.rows import Measured
from emu.training.runs import Clock, Outcome, Run, workers_text
from emu.training.task import Task
from emu.training.virtual_clock import VirtualClock
from h2model import transports
from netcosim.cli import finishing
from netcosim.cli.session import deciding, failure_line, failure_lines, first_of, timed_phase
from netcosim.errors import StorageError
from netcosim.results.folder import NOT_ENDED, SCENARIO, ResultsFolder
from netcosim.results.host import EMULATION, describe_host, versions
from netcosim.results.run_record import RunRecord
from netcosim.results.training.job_summary import (
    JobSeries,
    JobSummary,
    PathFacts,
    UnfinishedPoint,
)
from netcosim.scenario import Scenario, TcpSpec


@dataclass(slots=True, kw_only=True)
class JobSession:
    """One run of a training scenario.

    Attributes
    ----------
    finished : what has been run so far
    """

    scenario: Scenario
    cells: Sequence[JobCell]
    task: Task
    folder: ResultsFolder
    scratch: Path
    say: Callable[[str], None]
    command: tuple[str, ...]
    started: datetime
    clock: Clock | None = None
    finished: Finished = field(default_factory=Finished)
    phases_s: dict[str, float] = field(default_factory=dict)
    failure: BaseException | None = None

    def take_over(self) -> None:
        """Take over what the folder's earlier run has finished; nothing is written.

        Raises
        ------
        ScenarioError
            That run can't be gone on with.
        EnvironmentRefusedError
            There is no kernel for guests.
        """
        self.clock = self._clock()
        self.finished = Finished.of(self.folder, self.cells, self.clock.record)

    def run(self) -> JobSummary:
        """Run everything; if something ends the run early, write what is finished.

        The failure itself is in `failure`.
        """
        self.folder.hold_room()
        for cell in self.cells:
            self.folder.write_job(cell.name, cell.data)
        if self.task.seal is not None:
            self.folder.write_seal(self.task.seal)
        self.folder.write_summary(self._summary(NOT_ENDED))
        try:
            with timed_phase(self.phases_s, "jobs"):
                self._run_all()
        except (Exception, KeyboardInterrupt) as failure:  # noqa: BLE001 - kept, raised by the command
            self.failure = first_of(self.failure, failure)
        with (
            timed_phase(self.phases_s, "results"),
            finishing(self.failure) as late,
            deciding(self.failure),
        ):
            self.folder.give_back()
            try:
                self._write()
                self.folder.write_perfetto()
                summary = self._summary(*self._early_ends())
                self.folder.write_summary(summary)  # last: until then something is missing
            except StorageError as problem:  # what was finished is still to be told
                self.failure = first_of(self.failure, problem)
                summary = self._summary(*self._early_ends())
                with suppress(StorageError):
                    self.folder.write_end(f"ended early: {failure_line(self.failure)}")
        self.failure = self.failure or late.interruption
        return summary

    def _early_ends(self) -> list[str]:
        """Reasons why the run is incomplete: of runs that ended early, and of all of it."""
        ended = [
            (f"{cell}, {workers_text(workers)}", each.reason)
            for (cell, workers), each in self.finished.unfinished.items()
        ]
        lines = [f"{name}: ended early: {reason}" for name, reason in ended]
        if self.failure is not None:
            told = {reason for _, reason in ended}
            whole = [why for why in failure_lines(self.failure) if why not in told]
            lines += [f"ended early: {why}" for why in whole]
        return lines

    def _run_all(self) -> None:
        """Run what is not finished.

        One that fails is marked, the first failure is kept, the others go on.

        Raises
        ------
        KeyboardInterrupt
            At once; what runs that were under way have told is kept.
        """
        by_name = {cell.name: cell for cell in self.cells}
        waiting = [
            Run(by_name[cell], count, self.task.profiling)
            for cell, count in self._order
            if (cell, count) not in self.finished.points
        ]
        clock = self.clock = self.clock or self._clock()
        clock.network |= self.finished.network
        if not waiting:
            return
        taken = 0
        with clock.running(waiting):
            try:
                for run in waiting:
                    ended = self._take(run, clock.outcome(run))
                    taken += 1
                    clock.forget(run)
                    if ended is not None:
                        raise ended
            except KeyboardInterrupt as interruption:  # wherever it came
                for other in waiting[taken:]:
                    if (told := clock.so_far(other, interruption)) is not None:
                        self._take(other, told)
                raise

    @property
    def _order(self) -> list[Key]:
        """All that is to be run, in its order."""
        return [(cell.name, count) for cell in self.cells for count in self.task.counts]

    def _clock(self) -> Clock:
        if self.scenario.clock == "real":
            return RealClock(tcp=self._tcp(), scratch=self.scratch, say=self.say)
        return VirtualClock.of(self._tcp(), SideBySide(scratch=self.scratch, say=self.say))

    def _take(self, run: Run, outcome: Outcome) -> KeyboardInterrupt | None:
        """Keep a run's outcome and write what there is; the interruption that ends all of it."""
        with finishing(outcome.failure) as late, deciding(outcome.failure):
            failure = outcome.failure
            job, cell = run.job, run.cell.name
            measured = Measured.so_far(cell, job, outcome.rows)
            if failure is None:
                failure = measured.missing()
            if failure is None:
                told = self._take_point(run, measured, outcome)
            else:
                told = self._take_unfinished(run, measured, failure)
            kept_steps = job.steps if run.profiling else self.scenario.training.trace_steps
            key = cell, run.workers
            self.finished.steps[key] = measured.steps()
            self.finished.operations[key] = measured.operations(kept_steps)
            self._store_captures(run, outcome)
            self._write()
            self.folder.write_summary(self._summary(NOT_ENDED))
            self.say(f"{run.name}: {told}")  # as done, when it can't be lost any more
        if isinstance(failure, KeyboardInterrupt):
            return failure
        self.failure = self.failure or failure
        return late.interruption

    def _take_point(self, run: Run, measured: Measured, outcome: Outcome) -> str:
        warmup = min(self.scenario.training.warmup, run.job.steps - 1)
        point = measured.point(
            warmup,
            run.cell.batch,
            lost_share=outcome.lost_share,
            busy_share=outcome.busy_share,
        )
        if outcome.messages is not None:
            self.finished.messages[run.cell.name] = outcome.messages
        self.finished.points[run.cell.name, run.workers] = point
        self.finished.unfinished.pop((run.cell.name, run.workers), None)
        return f"{point.examples_per_s:.5g} examples/s"

    def _take_unfinished(self, run: Run, measured: Measured, failure: BaseException) -> str:
        ended = UnfinishedPoint(
            workers=run.workers,
            finished_steps=tuple(measured.finished.tolist()),
            reason=failure_line(failure),
        )
        self.finished.unfinished[run.cell.name, run.workers] = ended
        return f"ended early: {ended.reason}"

    def _store_captures(self, run: Run, outcome: Outcome) -> None:
        for number, (host, (path, counts)) in enumerate(outcome.captures.items()):
            name = self.folder.add_capture(run.cell.name, number, path, f"w{run.workers}")
            path.unlink()
            self.finished.captures[f"{run.name}, {host}"] = name
            if counts.dropped:
                self.finished.problems.append(f"{name}: {counts.dropped} packets are missing")
            if not counts.drained:
                self.finished.problems.append(f"{name}: its last packets may be missing")

    def _write(self) -> None:
        self.finished.write_tables(self.folder, self._order)
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
                    synchronisation=self.scenario.waiting_rule,
                    socket_buffer_bytes=self._buffered(cell),
                    path=self._path(cell),
                    messages=self.finished.messages.get(cell.name),
                    points=self.finished.points_of(cell.name),
                    unfinished=self.finished.unfinished_of(cell.name),
                )
                for cell in self.cells
            ),
        )

    @property
    def _punctuality(self) -> Punctuality:
        return MACHINE if self.scenario.clock == "real" else VIRTUAL

    def _tcp(self) -> TcpSpec:
        net = network_of(self.scenario, self.cells[0].job, max(self.task.counts))
        return with_send_buffer(self.scenario.cluster.tcp, net, self._punctuality)

    def _buffered(self, cell: JobCell) -> int:
        tcp = self._tcp()
        assert tcp.send_buffer is not None
        return self._limit_bytes(cell) or payload_in(
            tcp.send_buffer, self.scenario.cluster.link.rate, self._punctuality
        )

    def _limit_bytes(self, cell: JobCell) -> int:
        """Unacknowledged bytes that a cell's sender keeps to; 0: memory bounds them."""
        bounded = transports.load(cell.transport.sender).BOUNDS_UNACKNOWLEDGED
        return (send_limit_bytes(cell.transport, self._tcp()) or 0) if bounded else 0

    def _path(self, cell: JobCell) -> PathFacts:
        limit = self._limit_bytes(cell)
        net = network_of(self.scenario, cell.job, max(self.task.counts))
        pace = REAL if self.scenario.clock == "real" else guests_pace(net)
        return PathFacts(
            past_bytes=limit,
            send_memory_bytes=0 if limit else self._tcp().send_buffer or 0,
            bucket_bytes=self._punctuality.bucket_bytes(self.scenario.cluster.link.rate),
            segment_bytes=pace.segment_bytes,
            handling_ns=pace.handling_ns,
            poll_ns=pace.poll_ns,
            flight_segments=pace.flight_segments,
        )

    def _record(self) -> RunRecord:
        now = datetime.now(UTC)
        return RunRecord(
            command=self.command,
            started=self.started.isoformat(timespec="seconds"),
            finished=now.isoformat(timespec="seconds"),
            duration_s=round((now - self.started).total_seconds(), 3),
            phases_s={name: round(s, 3) for name, s in self.phases_s.items()},
            clock={} if self.clock is None else self.clock.record,
            host=describe_host(),
            versions=versions(EMULATION),
            network={} if self.clock is None else self.clock.network,
            recorder={} if self.clock is None else self.clock.recorder,
            links=[],
            shares=[],
            models={cell.name: {"profile": cell.profile.provenance} for cell in self.cells},
            predictions_sha256=None,
            bounds={},
            scenario_sha256=self.folder.hash_of(SCENARIO),
            validity=(),
            captures=self.finished.captures,
            problems=tuple(self.finished.problems),
        )
