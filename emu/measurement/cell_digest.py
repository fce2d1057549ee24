"""Rows, verdicts and captures of a cell, from its rounds."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from emu.measurement.burst_clock import (
    LinkShape,
    Paths,
    connection_clocks,
    link_positions,
)
from emu.measurement.delayed_inputs import delayed_inputs
from emu.measurement.endpoint_info import peers
from emu.measurement.evidence import captured_connections, facts_of
from emu.measurement.grant_rows import grant_rows
from emu.measurement.round import Round
from emu.measurement.trace_rows import (
    CapturedBurst,
    common_zero,
    find_burst,
    measured_rows,
    window_rows,
)
from emu.measurement.validity import judge, unreadable
from emu.pauses.pauses import Pauses
from emu.plan import Plan, PlannedConnection
from h2model.connection import LinkModel
from netcosim.cli.session import first_of
from netcosim.errors import CaptureError
from netcosim.job import Cell
from netcosim.results.folder import ResultsFolder
from netcosim.results.run_record import Validity
from netcosim.results.streams.grants import GrantRow
from netcosim.results.streams.lost import LostRow
from netcosim.results.streams.windows import WindowRow
from netcosim.scenario import TcpSpec
from netcosim.trace import StreamRow


@dataclass(slots=True, kw_only=True)
class CellOutcome:
    """Rows, verdicts, captures and problems of a cell so far."""

    cell: Cell
    measured: list[StreamRow] = field(default_factory=list)
    windows: list[WindowRow] = field(default_factory=list)
    grants: list[GrantRow] = field(default_factory=list)
    lost: list[LostRow] = field(default_factory=list)
    validity: list[Validity] = field(default_factory=list)
    peers: dict[str, Any] = field(default_factory=dict)
    captures: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    failure: BaseException | None = None

    @property
    def valid_bursts(self) -> int:
        """The number of bursts that are whole evidence, judged or not."""
        return sum(v.valid for v in self.validity)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellDigest:
    """Turns finished rounds into rows and verdicts, and keeps their captures.

    `links` gives the models of the calibrated paths, `bucket_bytes` the token bucket of a link.
    """

    plan: Plan
    folder: ResultsFolder
    tcp: TcpSpec
    links: Callable[[Cell, PlannedConnection], LinkModel]
    bucket_bytes: Callable[[str], int]

    def take(
        self, outcome: CellOutcome, done: Round, attempt: int, pauses: Callable[[], Pauses]
    ) -> None:
        """Add a round to a cell's outcome; what fails is kept in `CellOutcome.failure`.

        `pauses` reads the pauses of the machine's processors recorded so far.
        """
        outcome.failure = done.failure
        _guarded(outcome, lambda: self._digest(outcome, done, attempt, pauses))
        _guarded(outcome, lambda: self._store(outcome, done, attempt))

    def _digest(
        self, outcome: CellOutcome, done: Round, attempt: int, pauses: Callable[[], Pauses]
    ) -> None:
        carried, problems = captured_connections(done, self.plan.net, self.tcp)
        outcome.problems += [f"{outcome.cell.name}, {problem}" for problem in problems]
        opened = {c.index: each for c, each in zip(done.planned, done.opened, strict=False)}
        for each in carried:
            name = self._round_name(outcome.cell, attempt, each.planned.index)
            outcome.peers[name] = peers(each.planned, opened[each.planned.index], each.report)
        recorded = pauses()
        ended: Mapping[int, int] = {}
        for burst in sorted(done.facts):
            try:
                together = [find_burst(each, burst) for each in carried]
                self._measured(outcome, done, attempt, together, ended, recorded)
            except CaptureError as problem:
                if burst not in done.lost:
                    break  # the capture ended before the burst did
                outcome.validity.append(
                    unreadable(str(problem), cell=outcome.cell.name, burst=burst, attempt=attempt)
                )
                continue
            ended = {each.carried.planned.index: each.last_ns for each in together}

    def _measured(
        self,
        outcome: CellOutcome,
        done: Round,
        attempt: int,
        together: Sequence[CapturedBurst],
        ended: Mapping[int, int],
        pauses: Pauses,
    ) -> None:
        """Judge one burst and add its rows; `ended`: when each connection's last one was over."""
        cell, burst = outcome.cell, together[0].burst
        zero_ns = common_zero(together)
        clocks = connection_clocks(together, self._paths(cell), pauses, zero_ns)
        positions = link_positions(clocks)
        verdict = judge(
            facts_of(done, together, burst, clocks, delayed_inputs(clocks, pauses)),
            cell=cell.name,
            burst=burst,
            attempt=attempt,
            lossy=self.plan.lossy,
        )
        rows = [
            measured_rows(cell, each, zero_ns, valid=verdict.judged, link_positions=positions)
            for each in together
        ]
        windows = [window_rows(cell, each, zero_ns) for each in together]
        grants = [
            grant_rows(cell, each, zero_ns, ended.get(each.carried.planned.index))
            for each in together
        ]
        outcome.validity.append(verdict)
        outcome.measured += itertools.chain.from_iterable(rows)
        outcome.windows += itertools.chain.from_iterable(windows)
        outcome.grants += itertools.chain.from_iterable(grants)
        outcome.lost += [row for clock in clocks for row in clock.rows(cell.name, zero_ns)]

    def _paths(self, cell: Cell) -> Paths:
        return Paths(
            routes={c.index: self.plan.route(c) for c in self.plan.connections(cell)},
            bottlenecks=self.plan.bottlenecks(cell),
            lags_ns={
                c.index: self._lag_ns(self.links(cell, c)) for c in self.plan.connections(cell)
            },
            links={
                link.name: LinkShape(
                    rate_bps=link.link.rate, bucket_bytes=self.bucket_bytes(link.name)
                )
                for link in self.plan.net.links
            },
        )

    @staticmethod
    def _lag_ns(link: LinkModel) -> int:
        return round(8e9 * (link.past_bytes or 0) / link.rate_bps)

    def _store(self, outcome: CellOutcome, done: Round, attempt: int) -> None:
        for host, path in done.captures.items():
            if not path.exists():
                continue
            connections = [c.index for c in done.planned if c.destination == host]
            name = self.folder.add_capture(outcome.cell.name, connections[0], path, _run(attempt))
            for index in connections:
                outcome.captures[self._round_name(outcome.cell, attempt, index)] = name
            path.unlink()

    def _round_name(self, cell: Cell, attempt: int, connection: int) -> str:
        return f"{self.folder.run_name(cell.name, _run(attempt))} connection {connection}"


def _run(attempt: int) -> str:
    return f"r{attempt}" if attempt else ""


def _guarded(outcome: CellOutcome, step: Callable[[], None]) -> None:
    """Do one step; keep its failure, to be raised later.

    A failure that ended the round early takes precedence.
    """
    try:
        step()
    except (Exception, KeyboardInterrupt) as problem:  # noqa: BLE001 - kept, raised later
        outcome.failure = first_of(outcome.failure, problem)
