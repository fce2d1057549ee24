"""Run calibration bursts before the cells, on a connection of their own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Generic, TypeVar

from emu.measurement.evidence import captured_connections, facts_of
from emu.measurement.round import Round, run_round
from emu.measurement.trace_rows import (
    CapturedBurst,
    find_burst,
)
from emu.measurement.validity import BOUNDS, judge
from emu.network.live import LiveNetwork
from emu.plan import Plan, PlannedConnection, receiver_key
from netcosim.errors import CaptureError
from netcosim.job import Cell, Message
from netcosim.scenario import TcpSpec, TransportSpec
from topo.paths import bottleneck_bps, path_between, round_trip_ns
from topo.spec import GOODPUT_SHARE

Found = TypeVar("Found")


class UncapturedError(CaptureError):
    """Calibration bursts ran, but none of the attempts was captured whole."""


CONNECTION: Final = 9_999
"""Number of the calibration connection; no cell has as many, so its port is its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Setting of a cell's calibration: the live network and the path of its first connection."""

    live: LiveNetwork
    plan: Plan
    cell: Cell
    tcp: TcpSpec
    scratch: Path

    @property
    def planned(self) -> PlannedConnection:
        """The connection, without messages of its own yet."""
        return replace(self.plan.connections(self.cell)[0], index=CONNECTION)

    @property
    def rate_bps(self) -> float:
        """Expected goodput of the path, in bits per second."""
        path = path_between(self.plan.net, self.planned.source, self.planned.destination)
        return bottleneck_bps(path) * GOODPUT_SHARE

    @property
    def round_trip_ns(self) -> int:
        """Round-trip time of the idle path."""
        path = path_between(self.plan.net, self.planned.source, self.planned.destination)
        return round_trip_ns(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult(Generic[Found]):
    """Result of calibration bursts, the number of attempts, and the bounds the last one broke."""

    found: Found
    attempts: int
    reasons: tuple[str, ...]


def run_trial(
    stage: Stage,
    transport: TransportSpec,
    messages: tuple[Message, ...],
    bursts: int,
    evaluate: Callable[[Cell, Sequence[CapturedBurst]], Found],
) -> TrialResult[Found]:
    """Run bursts of these messages over this transport and evaluate their captures.

    Bursts outside the bounds of a valid one are repeated; the last attempt's stand as they are,
    with the reasons.

    Raises
    ------
    EndpointError
        An end failed.
    CaptureError
        tcpdump failed.
    UncapturedError
        The bursts were never captured whole, or there was nothing in them to evaluate.
    """
    planned = replace(stage.planned, messages=messages)
    test = replace(
        stage.cell,
        name="calibration",
        transport=transport,
        messages=(messages,),
        window_bytes=transport.window,
    )
    kept: TrialResult[Found] | None = None
    reasons: tuple[str, ...] = ()
    for attempt in range(BOUNDS.attempts):
        done = _run(stage, test, planned, bursts)
        try:
            seen = _seen(stage, done)
            found = evaluate(test, seen)
        except CaptureError as problem:
            reasons = (str(problem),)
            continue
        finally:
            for capture in done.captures.values():
                capture.unlink(missing_ok=True)
        reasons = _reasons(test, done, seen, attempt, lossy=stage.plan.lossy)
        kept = TrialResult(found=found, attempts=attempt + 1, reasons=reasons)
        if not reasons:
            break
    if kept is None:
        raise UncapturedError(f"calibration of {receiver_key(stage.cell)}: {reasons[0]}")
    return kept


def _run(stage: Stage, cell: Cell, planned: PlannedConnection, bursts: int) -> Round:
    """Run the bursts to their end."""
    size_bytes = sum(m.size_bytes for m in planned.messages)
    done = run_round(
        stage.live,
        cell,
        [planned],
        stage.tcp,
        stage.scratch,
        bursts=range(bursts),
        expected_s=size_bytes * 8 / stage.rate_bps + planned.messages[-1].ready_ns / 1e9,
        on_burst=lambda _: None,
    )
    if done.failure is not None:
        raise done.failure
    return done


def _seen(stage: Stage, done: Round) -> list[CapturedBurst]:
    (connection,), _ = captured_connections(done, stage.plan.net, stage.tcp)
    return [find_burst(connection, burst) for burst in sorted(done.facts)]


def _reasons(
    cell: Cell, done: Round, seen: Sequence[CapturedBurst], attempt: int, *, lossy: bool
) -> tuple[str, ...]:
    """Reasons why the bursts are invalid: the bounds that they broke."""
    verdicts = [
        judge(
            facts_of(done, [each], each.burst),
            cell=cell.name,
            burst=each.burst,
            attempt=attempt,
            lossy=lossy,
        )
        for each in seen
    ]
    return tuple(reason for verdict in verdicts for reason in verdict.reasons)
