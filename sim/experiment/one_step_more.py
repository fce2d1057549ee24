"""One step more of what limits a job: a faster network, a server, a larger batch, a setting."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

from netcosim.errors import ScenarioError
from netcosim.scenario import with_values
from netcosim.training.batching import check_curves
from netcosim.units import format_rate
from sim.experiment.axes import worker_counts
from sim.experiment.cell import TrainingCell, training_cells
from sim.experiment.checks import check_conditions
from sim.experiment.cost import run_s
from sim.experiment.link_share import right_share_of, with_share

_USUAL_MBIT: Final = (10, 25, 50, 100, 250, 500, 1000, 2500, 5000)
_USUAL_GBIT: Final = (10, 25, 40, 50, 100, 200, 400, 800)
USUAL_RATES_BPS: Final = (*(m * 10**6 for m in _USUAL_MBIT), *(g * 10**9 for g in _USUAL_GBIT))
"""Rates of links that can be bought, and some below."""

What = Literal["rate", "servers", "batch", "transport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneStepMore:
    """A cell with one thing changed, and what it is, for a person."""

    what: What
    before: str
    after: str
    cell: TrainingCell


_LONG_S: Final = 20.0


_KEPT: Final[WeakKeyDictionary[TrainingCell, dict[int, tuple[OneStepMore, ...]]]] = (
    WeakKeyDictionary()
)


def steps_more(cell: TrainingCell, workers: int) -> tuple[OneStepMore, ...]:
    """The cell with one step more of each thing that can be changed, all for so many workers.

    What takes more than twenty seconds of processor time a run is left out: with thousands of
    workers all, with some dozens a second server, which needs a slower engine. They are kept with
    the cell: each may have a plan of its own.
    """
    known = _KEPT.setdefault(cell, {})
    if workers not in known:
        known[workers] = tuple(_steps_more(cell, workers))
    return known[workers]


def _steps_more(cell: TrainingCell, workers: int) -> Iterator[OneStepMore]:
    for what, before, after, values in _changes(cell):
        changed = _changed(cell, values, workers)
        if changed is not None and run_s(changed, workers) <= _LONG_S:
            changed.change = f"{what} {after}"
            yield OneStepMore(what=what, before=before, after=after, cell=changed)


def _changes(cell: TrainingCell) -> Iterator[tuple[What, str, str, dict[str, object]]]:
    """What is changed, from what to what, and its values by place in the scenario."""
    scenario = cell.scenario
    rate_bps, servers = scenario.cluster.link.rate, scenario.cluster.servers
    faster = next((usual for usual in USUAL_RATES_BPS if usual >= 1.5 * rate_bps), None)
    if faster is not None:
        before, after = format_rate(rate_bps), format_rate(faster)
        yield "rate", before, after, {"cluster.link.rate": after}
    yield "servers", str(servers), str(servers + 1), {"cluster.servers": servers + 1}
    if cell.workload.profile is not None:
        twice = 2 * cell.batch
        yield "batch", str(cell.batch), str(twice), {"training.batch": twice}
    transport: dict[str, Any] = cell.transport.model_dump(mode="json", exclude_none=True)
    for before, after, settings in _settings(cell):
        yield "transport", before, after, {"transport": [{**transport, **settings}]}


def _settings(cell: TrainingCell) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Settings of the transport that can be changed by themselves."""
    transport = cell.transport
    if transport.flow_control and transport.window is None:
        yield "flow control on", "flow control off", {"flow_control": False}
    if transport.sender == "grpc" and not transport.whole_messages:
        yield "messages interleaved", "whole messages", {"whole_messages": True}


def _changed(cell: TrainingCell, values: dict[str, object], workers: int) -> TrainingCell | None:
    """The cell alone with these values; None where they can't be simulated."""
    share = cell.scenario.training.share
    alone: dict[str, object] = {
        "workload": [cell.workload.model_dump(mode="json", exclude_none=True)],
        "transport": [cell.transport.model_dump(mode="json", exclude_none=True)],
        "training.workers": [workers],
        "training.share": None if share == right_share_of(cell.scenario) else share,
    }
    try:
        changed = with_share(with_values(cell.scenario, {**alone, **values}))
        check_conditions(changed, workers)
        (found,) = training_cells(changed, cell.kept)
        if changed.coordination is not None:
            most = max(workers, *worker_counts(cell.scenario))
            check_curves(changed.coordination, found.batch, most)
    except ScenarioError:
        return None
    return found
