"""Build the inputs of predictions from a run's rows and calibration, in a session or a rerun."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from emu.calibration.links import shared_links
from emu.network.measure import PathMeasured
from emu.plan import Plan, link_key, receiver_key
from emu.prediction.cell_inputs import CellCalibration, CellInputs, cell_inputs
from h2model.connection import LinkModel
from h2model.overhead import AT_ONCE, Acceptance, Linear, Overhead
from netcosim.errors import StorageError
from netcosim.job import Cell
from netcosim.results.folder import RUN
from netcosim.results.run_record import RunRecord, Validity
from netcosim.results.streams.grants import GrantRow
from netcosim.results.streams.lost import LostRow
from netcosim.trace import StreamRow

_LINES: Final = ("first", "later", "handover_first", "handover_later")


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """Calibration measured before the cells, as `run.json` keeps it.

    Attributes
    ----------
    models : by `link_key` the fields of the link that a connection's models are given
    overheads, acceptances : by `receiver_key` the records of their calibrations
    links : the measured paths
    """

    models: Mapping[str, Any]
    overheads: Mapping[str, Any]
    acceptances: Mapping[str, Any]
    links: Sequence[PathMeasured]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRows:
    """A cell, its bursts' verdicts, all its measured rows, and what is known of its ends."""

    cell: Cell
    validity: Sequence[Validity]
    measured: Sequence[StreamRow]
    grants: Sequence[GrantRow]
    lost: Sequence[LostRow]
    peers: Mapping[str, Any] = field(default_factory=dict)


def calibrated_of(record: RunRecord) -> Calibrated:
    """Calibration that a finished run measured before its cells.

    Raises
    ------
    StorageError
        The record has something else in place of a measured path.
    """
    try:
        links = [PathMeasured(**path) for path in record.links]
    except TypeError as problem:
        raise StorageError(f"{RUN}: links: {problem}: no measured path") from None
    return Calibrated(
        models=record.models,
        overheads=record.overheads,
        acceptances=record.acceptances,
        links=links,
    )


def inputs_of(plan: Plan, rows: CellRows, calibrated: Calibrated) -> CellInputs:
    """The inputs of a cell's predictions.

    Raises
    ------
    StorageError
        The record lacks something, or has something else in its place.
    """
    return cell_inputs(
        plan,
        rows.cell,
        _calibration(plan, rows.cell, calibrated, rows.peers),
        {v.burst: v.attempt for v in rows.validity},
        measured=rows.measured,
        grants=rows.grants,
        lost=rows.lost,
        zeros_ns={v.burst: v.zero_ns for v in rows.validity},
    )


def _calibration(
    plan: Plan, cell: Cell, calibrated: Calibrated, peers: Mapping[str, Any]
) -> CellCalibration:
    """Measurements of a cell's connections and receivers, as the models take them."""
    receiver = receiver_key(cell)
    return CellCalibration(
        links=dict(_links(plan, cell, calibrated)),
        shares=shared_links(calibrated.links, plan.connections(cell), plan.net),
        overhead=_overhead(calibrated, receiver),
        acceptance=_acceptance(calibrated, receiver) or AT_ONCE,
        ping_delays_ms=dict(_ping_delays(plan, cell, peers)),
    )


def _ping_delays(
    plan: Plan, cell: Cell, peers: Mapping[str, Any]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Delays between PINGs that each connection's receiver logged in its first round."""
    for planned in plan.connections(cell):
        known = peers.get(f"{cell.name} connection {planned.index}", {})
        delays = known.get("receiver", {}).get("ping_delays_ms", ())
        if all(isinstance(delay, int) for delay in delays):
            yield planned.index, tuple(delays)


def overhead_of(record: Mapping[str, Any]) -> Overhead:
    """The overhead in a `Calibration.record`.

    Raises
    ------
    KeyError, TypeError
        It is not one.
    """
    fields = record["overhead"]
    lines = {name: Linear(**fields[name]) for name in _LINES if name in fields}
    return Overhead(**lines, stretch=fields["stretch"])


def acceptance_of(record: dict[str, Any]) -> Acceptance:
    """The acceptance in an `AcceptanceFound.record`.

    Raises
    ------
    KeyError, TypeError
        It is not one.
    """
    return Acceptance(**record["acceptance"])


def _overhead(calibrated: Calibrated, receiver: str) -> Overhead | None:
    """Calibrated overhead of a receiver; None if the run has none, as those of older releases."""
    if receiver not in calibrated.overheads:
        return None
    try:
        return overhead_of(calibrated.overheads[receiver])
    except (KeyError, TypeError) as problem:
        raise StorageError(
            f'{RUN}: overheads: "{receiver}": {problem}: no valid overhead'
        ) from None


def _acceptance(calibrated: Calibrated, receiver: str) -> Acceptance | None:
    """Measured acceptance of a receiver; None if the run has none, as those of older releases."""
    if receiver not in calibrated.acceptances:
        return None
    try:
        return acceptance_of(calibrated.acceptances[receiver])
    except (KeyError, TypeError) as problem:
        raise StorageError(f'{RUN}: acceptances: "{receiver}": {problem}: no acceptance') from None


def _links(plan: Plan, cell: Cell, calibrated: Calibrated) -> Iterator[tuple[int, LinkModel]]:
    for planned in plan.connections(cell):
        key = link_key(cell.name, planned.index)
        try:
            yield planned.index, LinkModel(**calibrated.models[key])
        except (KeyError, TypeError) as problem:
            raise StorageError(f'{RUN}: models: "{key}": {problem}: no link of a model') from None
