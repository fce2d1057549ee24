"""A whole run inside its namespaces: network, calibration, cells, predictions, results."""

from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from emu.clocks import real, virtual
from emu.clocks.measurements import Measurements, Task
from emu.measurement.cell_digest import CellOutcome
from emu.measurement.validity import BOUNDS
from emu.network.punctuality import MACHINE, VIRTUAL
from emu.network.tcp import with_send_buffer
from emu.plan import Plan
from emu.prediction.parallel import predict_cells
from emu.prediction.run_inputs import Calibrated, CellRows, inputs_of
from emu.prediction.summary_facts import parameters_used
from emu.progress import Progress
from emu.summary import EARLY, summarise_run
from netcosim.cli import finishing
from netcosim.cli.session import deciding, failure_lines, first_of, timed_phase
from netcosim.errors import StorageError
from netcosim.results.folder import NOT_ENDED, ResultsFolder
from netcosim.results.host import EMULATION, describe_host, versions
from netcosim.results.run_record import RunRecord
from netcosim.results.streams.summary import Summary
from netcosim.scenario import TcpSpec
from netcosim.trace import StreamRow

_MEASURE: Final = {real.NAME: real.measure, virtual.NAME: virtual.measure}


@dataclass(slots=True, kw_only=True)
class Session:
    """One run of a plan; its state is what has been finished so far."""

    plan: Plan
    folder: ResultsFolder
    scratch: Path
    progress: Progress
    command: tuple[str, ...]
    started: datetime
    found: Measurements = field(default_factory=Measurements)
    predicted: dict[str, list[StreamRow]] = field(default_factory=dict)
    failure: BaseException | None = None

    def run(self) -> Summary:
        """Run everything; if something ends the run early, write what is finished.

        The failure itself is in `Session.failure`.
        """
        self.folder.hold_room()
        self.folder.write_summary(self._summary(NOT_ENDED))
        try:
            self._measure_all()
        except (Exception, KeyboardInterrupt) as failure:  # noqa: BLE001 - kept, raised by the command
            self.failure = failure
        try:
            with timed_phase(self.found.phases_s, "predictions"):
                self._predict()
        except (Exception, KeyboardInterrupt) as failure:  # noqa: BLE001 - kept, raised by the command
            self.failure = first_of(self.failure, failure)
        with (
            timed_phase(self.found.phases_s, "results"),
            finishing(self.failure) as late,
            deciding(self.failure),
        ):
            self.folder.give_back()
            try:
                summary = self._write()
            except StorageError as problem:  # what was measured is still to be told
                self.failure = first_of(self.failure, problem)
                summary = self._summary(*self._early_end())
                with suppress(StorageError):
                    self.folder.write_end(summary.reasons[0])
        self.failure = self.failure or late.interruption
        return summary

    def _measure_all(self) -> None:
        task = Task(
            plan=self.plan,
            tcp=resolved_tcp(self.plan),
            folder=self.folder,
            scratch=self.scratch,
            progress=self.progress,
            checkpoint=self._checkpoint,
        )
        _MEASURE[self.plan.scenario.clock](task, self.found)

    def _predict(self) -> None:
        finished = [outcome for outcome in self.found.outcomes if outcome.measured]
        self.progress.say(f"predicting {len(finished)} cells")
        inputs = [inputs_of(self.plan, _rows(o), self._calibrated()) for o in finished]
        for outcome, predicted in zip(finished, predict_cells(inputs), strict=True):
            self.predicted[outcome.cell.name] = predicted

    def _calibrated(self) -> Calibrated:
        return Calibrated(
            models=self.found.models,
            overheads=self.found.overheads,
            acceptances=self.found.acceptances,
            links=[] if self.found.measured is None else self.found.measured.paths,
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
        self.folder.write_trace(row for o in self.found.outcomes for row in o.measured)
        self.folder.write_windows(row for o in self.found.outcomes for row in o.windows)
        self.folder.write_grants(row for o in self.found.outcomes for row in o.grants)
        self.folder.write_lost(row for o in self.found.outcomes for row in o.lost)

    def _write(self) -> Summary:
        folder = self.folder
        self._write_measured()
        digest = folder.write_predictions(row for rows in self.predicted.values() for row in rows)
        folder.write_run(self._record(digest))
        summary = self._summary(*self._early_end())
        under_way = {"complete": False, "trusted": False, "reasons": (NOT_ENDED, *summary.reasons)}
        folder.write_summary(summary.model_copy(update=under_way))
        folder.write_perfetto()  # which looks into the summary
        folder.write_summary(summary)  # last: until then it says that something is missing
        return summary

    def _early_end(self) -> tuple[str, ...]:
        """Reasons of an early end; none of a run that ended by itself."""
        lines = () if self.failure is None else failure_lines(self.failure)
        return tuple(f"{EARLY}: {line}" for line in lines)

    def _summary(self, *ended: str) -> Summary:
        """Summarise what is finished; `ended` has the reasons if that is not all."""
        found = self.found
        return summarise_run(
            self.plan,
            [(_rows(o), self.predicted.get(o.cell.name, [])) for o in found.outcomes if o.validity],
            found.models,
            ended=ended,
            complete=not ended,
            not_run=self.plan.not_run,
        )

    def _record(self, predictions_sha256: str | None) -> RunRecord:
        now, found = datetime.now(UTC), self.found
        return RunRecord(
            command=self.command,
            started=self.started.isoformat(timespec="seconds"),
            finished=now.isoformat(timespec="seconds"),
            duration_s=round((now - self.started).total_seconds(), 3),
            phases_s={name: round(s, 3) for name, s in found.phases_s.items()},
            clock=found.clock,
            host=describe_host(),
            versions=versions(EMULATION),
            network=found.network,
            links=[] if found.measured is None else [asdict(p) for p in found.measured.paths],
            shares=[] if found.measured is None else [asdict(s) for s in found.measured.shares],
            models=found.models,
            overheads=found.overheads,
            acceptances=found.acceptances,
            recorder=found.recorder,
            parameters=parameters_used(self.plan.cells),
            predictions_sha256=predictions_sha256,
            bounds={key: float(value) for key, value in asdict(BOUNDS).items()},
            validity=tuple(v for o in found.outcomes for v in o.validity),
            peers={key: each for o in found.outcomes for key, each in o.peers.items()},
            captures={key: name for o in found.outcomes for key, name in o.captures.items()},
            problems=(*found.problems, *(p for o in found.outcomes for p in o.problems)),
        )


def _rows(outcome: CellOutcome) -> CellRows:
    return CellRows(
        cell=outcome.cell,
        validity=outcome.validity,
        measured=outcome.measured,
        grants=outcome.grants,
        lost=outcome.lost,
        peers=outcome.peers,
    )


def resolved_tcp(plan: Plan) -> TcpSpec:
    """TCP settings of a plan, with a send buffer for its paths where none was given."""
    punctuality = VIRTUAL if plan.is_virtual else MACHINE
    return with_send_buffer(plan.scenario.cluster.tcp, plan.net, punctuality)
