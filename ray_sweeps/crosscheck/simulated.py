"""Measured bursts simulated as steps, as rows with the names of the measured ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from netcosim.job import Cell
from netcosim.scenario import Scenario, TransportSpec
from netcosim.trace import PREDICT, StreamRow, trace_rows
from ray_sweeps.crosscheck.feed import (
    MOST_STEPS,
    Rates,
    hand_overs,
    simulated_scenario,
    tensor_name,
    workload_name,
)
from sim import Nobody, Result, simulate
from sim.experiment.kept_plans import Plans
from sim.settings import sender_text, sending_of

Rows = Sequence[StreamRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """Simulated rows of bursts, with the connections and streams of the measured ones."""

    discipline: str
    window_bytes: int | None
    buffer_bytes: int | None
    rows: Mapping[int, Rows]


def simulate_bursts(
    scenario: Scenario,
    cell: Cell,
    transport: TransportSpec,
    rates: Rates,
    bursts: Mapping[int, Rows],
    places: Mapping[int, int],
    buffer_bytes: int | None,
) -> Simulated:
    """Simulate bursts as steps, those of one place on their connections together.

    Parameters
    ----------
    scenario, cell : of the run
    transport, rates : fed to the simulator
    bursts : measured rows of each, on the clock of link work
    places : how many bursts came before each one on its connections
    buffer_bytes : of each connection; None: none

    Raises
    ------
    ScenarioError
        The simulator refuses the scenario.
    """
    by_steps: dict[int, list[int]] = {}
    for burst in bursts:
        by_steps.setdefault(min(places[burst] + 1, MOST_STEPS), []).append(burst)
    sending = sending_of(transport)
    rows: dict[int, Rows] = {}
    for steps, some in by_steps.items():
        ready_ns = {burst: hand_overs(bursts[burst])[0] for burst in some}
        asked = simulated_scenario(scenario, cell, transport, rates, ready_ns, steps, buffer_bytes)
        last = _last_steps(
            simulate(asked, trace=[asked.cluster.workers], listener=Nobody(), plans=Plans())
        )
        rows |= {b: _as_measured(last[workload_name(b)], cell, bursts[b]) for b in some}
    return Simulated(
        discipline=sender_text(sending),
        window_bytes=sending.window_bytes,
        buffer_bytes=buffer_bytes,
        rows=rows,
    )


def _last_steps(result: Result) -> Mapping[str, Rows]:
    """Transfers of the last step of each workload, on a clock that begins with that step."""
    last = result.scenario.training.steps - 1
    starts_ns: dict[str, int] = {}
    for row in result.steps.to_pylist():
        if row["step"] == last and row["workers"] == result.scenario.cluster.workers:
            starts_ns[row["cell"]] = min(row["start_ns"], starts_ns.get(row["cell"], 2**63))
    found: dict[str, list[StreamRow]] = {}
    for row in trace_rows(result.transfers):
        if row.burst == last:
            found.setdefault(row.cell.split("/")[0], []).append(_moved(row, -starts_ns[row.cell]))
    return found


def _as_measured(simulated: Rows, cell: Cell, measured: Rows) -> Rows:
    """Simulated rows with the names of the measured ones, at the receiver, in order of service."""
    tensors = {tensor_name(m): m.tensor for server in cell.messages for m in server}
    by_place = {(r.source, r.destination, tensors[r.tensor]): r for r in simulated}
    rows = []
    for theirs in measured:
        ours = by_place[theirs.source, theirs.destination, theirs.tensor]
        end_ns = ours.wire_end_ns if ours.delivered_ns is None else ours.delivered_ns
        rows.append(
            replace(
                _moved(ours, end_ns - ours.wire_end_ns),
                level=PREDICT,
                cell=theirs.cell,
                burst=theirs.burst,
                connection=theirs.connection,
                stream=theirs.stream,
                tensor=theirs.tensor,
                delivered_ns=None,
            )
        )
    return _in_order(rows)


def _moved(row: StreamRow, by_ns: int) -> StreamRow:
    """A simulated row with its times on the wire moved."""
    return replace(
        row,
        ready_ns=row.ready_ns + by_ns,
        start_ns=row.start_ns + by_ns,
        wire_end_ns=row.wire_end_ns + by_ns,
        delivered_ns=None if row.delivered_ns is None else row.delivered_ns + by_ns,
        services=tuple(
            replace(s, start_ns=s.start_ns + by_ns, end_ns=s.end_ns + by_ns) for s in row.services
        ),
    )


def _in_order(rows: Rows) -> Rows:
    """The rows with the place of each service in its connection's order."""
    counts: dict[int, int] = {}
    places: dict[tuple[int, int, int], int] = {}
    served = sorted((s.start_ns, r.connection, r.stream) for r in rows for s in r.services)
    for start_ns, connection, stream in served:
        place = counts[connection] = counts.get(connection, -1) + 1
        places[connection, stream, start_ns] = place
    return [
        replace(
            row,
            services=tuple(
                replace(s, position=places[row.connection, row.stream, s.start_ns])
                for s in row.services
            ),
        )
        for row in rows
    ]
