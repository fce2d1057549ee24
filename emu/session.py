"""A whole run inside its namespaces: network, calibration, cells, predictions, results."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from emu.calibration.call_acceptance import is_needed, measure_acceptance
from emu.calibration.links import link_model
from emu.calibration.overhead import calibrate
from emu.calibration.trial_bursts import Stage, UncapturedError
from emu.measurement.cell_runner import CellOutcome, CellRunner
from emu.measurement.validity import BOUNDS
from emu.network.live import LiveNetwork, open_network
from emu.network.measure import Measured
from emu.network.tcp import default_send_buffer
from emu.network.verify import measure_and_verify
from emu.pauses.pauses import PERIOD_NS, PauseRecorders, recording
from emu.pauses.recorder import LATE_NS, PAUSES
from emu.plan import Plan, PlannedConnection, distinct_receivers, link_key
from emu.prediction.parallel import predict_cells
from emu.prediction.run_inputs import Calibrated, CellRows, inputs_of
from emu.prediction.summary_facts import parameters_used
from emu.progress import Progress
from emu.summary import EARLY, summarise_run
from h2model.connection import LinkModel
from netcosim.cli import finishing
from netcosim.cli.session import failure_line, timed_phase
from netcosim.job import Cell
from netcosim.results.folder import NOT_ENDED, ResultsFolder
from netcosim.results.host import EMULATION, describe_host, versions
from netcosim.results.json_files import as_stored
from netcosim.results.run_record import RunRecord
from netcosim.results.streams.summary import Summary
from netcosim.scenario import TcpSpec
from netcosim.trace import StreamRow
from topo.paths import bottleneck_bps, path_between, round_trip_ns


@dataclass(slots=True, kw_only=True)
class Session:
    """One run of a plan; its state is what has been finished so far."""

    plan: Plan
    folder: ResultsFolder
    scratch: Path
    progress: Progress
    command: tuple[str, ...]
    started: datetime
    phases_s: dict[str, float] = field(default_factory=dict)
    network: dict[str, Any] = field(default_factory=dict)
    measured: Measured | None = None
    outcomes: list[CellOutcome] = field(default_factory=list)
    predicted: dict[str, list[StreamRow]] = field(default_factory=dict)
    models: dict[str, Any] = field(default_factory=dict)
    overheads: dict[str, Any] = field(default_factory=dict)
    acceptances: dict[str, Any] = field(default_factory=dict)
    recorder: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    failure: BaseException | None = None

    def run(self) -> Summary:
        """Run everything; if something ends the run early, write what is finished.

        The failure itself is in `Session.failure`.
        """
        self.folder.write_summary(self._summary(NOT_ENDED))
        try:
            self._measure_all()
        except (Exception, KeyboardInterrupt) as failure:  # noqa: BLE001 - kept, raised by the command
            self.failure = failure
        try:
            with timed_phase(self.phases_s, "predictions"):
                self._predict()
        except (Exception, KeyboardInterrupt) as failure:  # noqa: BLE001 - kept, raised by the command
            self.failure = self.failure or failure
        with timed_phase(self.phases_s, "results"), finishing(self.failure) as late:
            summary = self._write()
        self.failure = self.failure or late.interruption
        return summary

    def _measure_all(self) -> None:
        tcp = resolved_tcp(self.plan)
        with contextlib.ExitStack() as stack:
            recorders = stack.enter_context(recording(self.scratch))
            self.recorder = {
                "period_ns": PERIOD_NS,
                "late_ns": LATE_NS[PAUSES],
                "scheduling": {str(p): kind for p, kind in recorders.scheduling.items()},
            }
            self._measure_on_network(tcp, recorders)

    def _measure_on_network(self, tcp: TcpSpec, recorders: PauseRecorders) -> None:
        with timed_phase(self.phases_s, "network up"):
            context = open_network(self.plan.net, tcp=tcp, log=self.progress.say)
            live = context.__enter__()
        try:
            with timed_phase(self.phases_s, "links measured"):
                self.network = live.record()
                self.measured, _ = measure_and_verify(live, tcp, log=self.progress.say)
            with timed_phase(self.phases_s, "receivers calibrated"):
                self._calibrate(live, tcp)
            self._cells(live, self.measured, tcp, recorders)
        except Exception:
            live.check_alive()  # a host whose shell died is why whatever else failed
            raise
        finally:
            with timed_phase(self.phases_s, "network down"):
                context.__exit__(None, None, None)

    def _calibrate(self, live: LiveNetwork, tcp: TcpSpec) -> None:
        receivers = distinct_receivers(self.plan.cells)
        listening = distinct_receivers(filter(is_needed, self.plan.cells))
        self.progress.say(f"calibrating {len(receivers)} receivers")
        # As with links, predictions use the values as stored.
        for key, cell in receivers.items():
            stage = Stage(live=live, plan=self.plan, cell=cell, tcp=tcp, scratch=self.scratch)
            with self._as_problem("delivered ends are not predicted"):
                self.overheads[key] = as_stored(calibrate(stage).record())
        for key, cell in listening.items():
            stage = Stage(live=live, plan=self.plan, cell=cell, tcp=tcp, scratch=self.scratch)
            with self._as_problem("its pushed calls count as read at once"):
                self.acceptances[key] = as_stored(measure_acceptance(stage).record())

    @contextmanager
    def _as_problem(self, consequence: str) -> Iterator[None]:
        """Record a calibration that was not captured as a problem, without ending the run."""
        try:
            yield
        except UncapturedError as problem:
            self.problems.append(f"{problem}; {consequence}")

    def _cells(
        self, live: LiveNetwork, measured: Measured, tcp: TcpSpec, recorders: PauseRecorders
    ) -> None:
        def link_of(cell: Cell, planned: PlannedConnection) -> LinkModel:
            path = path_between(self.plan.net, planned.source, planned.destination)
            slowest = min(path, key=lambda link: link.link.rate)
            link = link_model(
                measured,
                cell,
                planned,
                self.plan.connections(cell),
                self.plan.net,
                tcp,
                bucket_bytes=live.bucket_bytes(slowest.name),
            )
            # Predictions use the values as stored, so that the same can be predicted again.
            stored = as_stored(asdict(link))
            self.models[link_key(cell.name, planned.index)] = stored
            return LinkModel(**stored)

        runner = CellRunner(
            live=live,
            plan=self.plan,
            folder=self.folder,
            scratch=self.scratch,
            tcp=tcp,
            links=link_of,
            pauses=recorders.read,
            on_burst=self.progress.burst_done,
        )
        with self.progress.cells(self.plan):
            for cell in self.plan.cells:
                with timed_phase(self.phases_s, cell.name):
                    outcome = runner.run(cell)
                self.outcomes.append(outcome)
                if outcome.failure is not None:
                    raise outcome.failure
                with timed_phase(self.phases_s, "results"):
                    self._checkpoint()
        recorders.read()  # raises if one died after the last reading

    def _predict(self) -> None:
        finished = [outcome for outcome in self.outcomes if outcome.validity]
        self.progress.say(f"predicting {len(finished)} cells")
        inputs = [inputs_of(self.plan, _rows(o), self._calibrated()) for o in finished]
        for outcome, predicted in zip(finished, predict_cells(inputs), strict=True):
            self.predicted[outcome.cell.name] = predicted

    def _calibrated(self) -> Calibrated:
        return Calibrated(
            models=self.models,
            overheads=self.overheads,
            acceptances=self.acceptances,
            links=[] if self.measured is None else self.measured.paths,
        )

    def _checkpoint(self) -> None:
        """Write what is finished so far, as the process may not live to do it later.

        The record comes after the rows that it describes, so that at every moment what is there can
        be predicted again.
        """
        self._write_measured()
        self.folder.write_run(self._record(None))
        self.folder.write_summary(self._summary(NOT_ENDED))

    def _write_measured(self) -> None:
        self.folder.write_trace(row for o in self.outcomes for row in o.measured)
        self.folder.write_windows(row for o in self.outcomes for row in o.windows)
        self.folder.write_grants(row for o in self.outcomes for row in o.grants)
        self.folder.write_lost(row for o in self.outcomes for row in o.lost)

    def _write(self) -> Summary:
        folder = self.folder
        self._write_measured()
        digest = folder.write_predictions(row for rows in self.predicted.values() for row in rows)
        folder.write_run(self._record(digest))
        ended = () if self.failure is None else (f"{EARLY}: {failure_line(self.failure)}",)
        summary = self._summary(*ended)
        under_way = {"complete": False, "trusted": False, "reasons": (NOT_ENDED, *summary.reasons)}
        folder.write_summary(summary.model_copy(update=under_way))
        folder.write_perfetto()  # which looks into the summary
        folder.write_summary(summary)  # last: until then it says that something is missing
        return summary

    def _summary(self, *ended: str) -> Summary:
        """Summarise what is finished; `ended` has the reasons if that is not all."""
        return summarise_run(
            self.plan,
            [(_rows(o), self.predicted.get(o.cell.name, [])) for o in self.outcomes if o.validity],
            self.models,
            ended=ended,
            complete=not ended,
            not_run=self.plan.not_run,
        )

    def _record(self, predictions_sha256: str | None) -> RunRecord:
        now = datetime.now(UTC)
        return RunRecord(
            command=self.command,
            started=self.started.isoformat(timespec="seconds"),
            finished=now.isoformat(timespec="seconds"),
            duration_s=round((now - self.started).total_seconds(), 3),
            phases_s={name: round(s, 3) for name, s in self.phases_s.items()},
            host=describe_host(),
            versions=versions(EMULATION),
            network=self.network,
            links=[] if self.measured is None else [asdict(p) for p in self.measured.paths],
            shares=[] if self.measured is None else [asdict(s) for s in self.measured.shares],
            models=self.models,
            overheads=self.overheads,
            acceptances=self.acceptances,
            recorder=self.recorder,
            parameters=parameters_used(self.plan.cells),
            predictions_sha256=predictions_sha256,
            bounds={key: float(value) for key, value in asdict(BOUNDS).items()},
            validity=tuple(v for o in self.outcomes for v in o.validity),
            peers={key: each for o in self.outcomes for key, each in o.peers.items()},
            captures={key: name for o in self.outcomes for key, name in o.captures.items()},
            problems=(*self.problems, *(p for o in self.outcomes for p in o.problems)),
        )


def _rows(outcome: CellOutcome) -> CellRows:
    return CellRows(
        cell=outcome.cell,
        validity=outcome.validity,
        measured=outcome.measured,
        grants=outcome.grants,
        lost=outcome.lost,
    )


def resolved_tcp(plan: Plan) -> TcpSpec:
    """TCP settings of a plan, with a send buffer for its paths where none was given."""
    tcp = plan.scenario.cluster.tcp
    if tcp.send_buffer is not None:
        return tcp
    paths = [
        path_between(plan.net, server.name, worker.name)
        for server in plan.net.servers
        for worker in plan.net.workers
    ]
    buffer = max(default_send_buffer(bottleneck_bps(p), round_trip_ns(p)) for p in paths)
    return tcp.model_copy(update={"send_buffer": buffer})
