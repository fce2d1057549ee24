"""Runs in virtual time of the tests, in this process; called inside private namespaces."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from emu.guest.side_by_side import SideBySide
from emu.isolation import isolate
from emu.plan import Plan, make_plan
from emu.session import Session
from emu.training.guest_program import ROWS
from emu.training.job_cells import job_cells
from emu.training.runs import Outcome, Run
from emu.training.session import JobSession
from emu.training.task import whole
from emu.training.virtual_clock import VirtualClock
from netcosim.job import Cell
from netcosim.results.folder import ResultsFolder
from netcosim.scenario import parse_scenario

Json = dict[str, Any]


class InterruptedBetween:
    """Reporter that is interrupted as soon as a burst was told, while no guest is waited for."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self._one = threading.Event()

    def say(self, message: str) -> None:
        """Nothing hangs on it."""

    @contextmanager
    def cells(self, plan: Plan) -> Iterator[None]:
        assert self._one.wait(120)
        raise KeyboardInterrupt("SIGTERM")
        yield

    def burst_done(self, cell: Cell, burst: int) -> None:
        self.told.append(f"{cell.name} {burst}")
        self._one.set()


def interrupted_between(scenario: str, out: str) -> Json:
    reporter = InterruptedBetween()
    plan = make_plan(parse_scenario(scenario, "the test"))
    with ResultsFolder.create(Path(out), plan.scenario, None) as folder:
        session = Session(
            plan=plan,
            folder=folder,
            scratch=isolate.scratch_dir(),
            progress=reporter,
            command=("emu.run",),
            started=datetime.now(UTC),
        )
        summary = session.run()
    return {
        "told": reporter.told,
        "kept": [f"{v.cell} {v.burst}" for o in session.found.outcomes for v in o.validity],
        "failure": repr(session.failure),
        "reasons": list(summary.reasons),
    }


def jobs_interrupted_between(scenario: str, out: str) -> Json:
    """The same of training jobs, as soon as each of them has told rows."""
    read = parse_scenario(scenario, "the test")
    with ResultsFolder.create(Path(out), read, None, world="job") as folder:
        session = JobSession(
            scenario=read,
            cells=job_cells(read),
            task=whole(read),
            folder=folder,
            scratch=isolate.scratch_dir(),
            say=lambda _: None,
            command=("emu.run",),
            started=datetime.now(UTC),
        )
        session.clock = InterruptedClock(session)
        session.run()
    return {
        "failure": repr(session.failure),
        "kept": [rows.worker.size for rows in session.finished.steps.values()],
    }


class InterruptedClock:
    """The virtual clock, whose first outcome is interrupted once every guest has told rows."""

    def __init__(self, session: JobSession) -> None:
        self._of = VirtualClock.of(session._tcp(), SideBySide(scratch=session.scratch, say=print))
        self._runs: list[Run] = []

    @contextmanager
    def running(self, runs: list[Run]) -> Iterator[None]:
        self._runs = runs
        with self._of.running(runs):
            yield

    def outcome(self, run: Run) -> Outcome:
        paths = [self._of.guests.exchange(each.name) / ROWS for each in self._runs]
        end_s = time.monotonic() + 600
        while not all(path.exists() and path.stat().st_size > 25_000 for path in paths):
            assert time.monotonic() < end_s
            time.sleep(0.05)
        raise KeyboardInterrupt("SIGTERM")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)
