"""Records of the runs: one line of JSON each, written when the run has ended, however it ended."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, Final

from bench.common.kept_lines import add_line, read_lines
from bench.common.outcomes import Outcome, outcome_of
from bench.common.record import RESULTS
from h2model.candidates import followed
from netcosim.job import resolve_cells
from netcosim.results.folder import ResultsFolder
from netcosim.results.run_record import Validity, first_bursts
from netcosim.results.streams.summary import CellSummary, Errors, ModelResult
from netcosim.scenario import Scenario
from netcosim.trace import PREDICT

KEPT: Final = RESULTS / "noise.jsonl"
_DIGITS: Final = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """A burst of a cell, and the errors of the right model in it.

    Attributes
    ----------
    burst : counts from 0 within the cell
    first : whether it was the first on its connections
    valid, judged : the judgement
    length_ns, lost_ns, cut_ns : on the wall clock; what the bottleneck lost; what a pause explains
    retransmissions, loss_probes, timeouts, reorderings : of the senders' TCP
    order_mean, order_max, time_mean, time_max : the right model's errors; None: not judged
    exact : whether the order of service was exactly predicted; None: not judged
    """

    burst: int
    first: bool
    valid: bool
    judged: bool
    length_ns: int
    lost_ns: int
    cut_ns: int
    retransmissions: int
    loss_probes: int
    timeouts: int
    reorderings: int
    order_mean: float | None = None
    order_max: float | None = None
    time_mean: float | None = None
    time_max: float | None = None
    exact: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of a run: its answer, and its bursts.

    Attributes
    ----------
    cell : workload/transport
    sender : implementation of the data's sender
    right : the rule that the sender is known or configured to follow
    kind, model : the answer
    outcome : of the answer, by `right`
    verdict : the sentence, unless the answer is right
    grade, streams : as in the summary
    wall_mean, wall_max : the right model's errors of wire ends on the wall clock, judged bursts
    bursts : all that were run
    """

    cell: str
    sender: str
    right: str | None
    kind: str
    model: str | None
    outcome: Outcome
    verdict: str
    grade: str | None
    streams: int
    wall_mean: float | None
    wall_max: float | None
    bursts: tuple[Burst, ...]

    @property
    def judged(self) -> tuple[Burst, ...]:
        """The bursts whose errors count."""
        return tuple(burst for burst in self.bursts if burst.judged)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run under the load generator.

    Attributes
    ----------
    load : share of the time that the generator takes of each processor, in %
    number : counts from 0 for each load
    commit : of the checkout
    exit_code : of the run
    said : its last line, if that is not 0
    wall_s : from the command to its end
    steal : processor time that the hypervisor took meanwhile, share of all
    load_average : of the last minute, at the end
    occupied : processor time that the generator took, share of all
    cells : those that have an answer, in the order of the summary
    """

    load: int
    number: int
    commit: str
    exit_code: int
    said: str
    wall_s: float
    steal: float
    load_average: float
    occupied: float
    cells: tuple[Cell, ...]

    @property
    def flawless(self) -> bool:
        """True if the exit code is 0 and all answers are right."""
        return self.exit_code == 0 and all(cell.outcome == "right" for cell in self.cells)


def read(path: Path = KEPT) -> list[Run]:
    """All runs that have ended; a line that a kill cut short is none."""
    return [_run(line) for line in read_lines(path)]


def keep(run: Run, path: Path = KEPT) -> None:
    """Append a run; it is on the disk when this returns."""
    line = asdict(run)
    for cell, known in zip(line["cells"], run.cells, strict=True):
        cell["bursts"] = [astuple(burst) for burst in known.bursts]  # without names: much shorter
    add_line(path, line)


def _run(line: Mapping[str, Any]) -> Run:
    cells = tuple(
        Cell(**{**cell, "bursts": tuple(_burst(values) for values in cell["bursts"])})
        for cell in line["cells"]
    )
    return Run(**{**line, "cells": cells})


def _burst(values: Sequence[Any]) -> Burst:
    return Burst(**dict(zip(Burst.__slots__, values, strict=True)))


def cells_of(folder: ResultsFolder) -> tuple[Cell, ...]:
    """Answers and bursts of a run's cells; none if it did not come to a summary.

    Raises
    ------
    StorageError
        A file can't be read.
    """
    summary, record = folder.read_summary(), folder.read_run()
    if summary is None or record is None:
        return ()
    rules = right_rules(folder.read_scenario())
    return tuple(
        _cell(each, rules[each.cell], [v for v in record.validity if v.cell == each.cell])
        for each in summary.cells
    )


def right_rules(scenario: Scenario) -> dict[str, str | None]:
    """Discipline that each cell's sender is configured or known to follow; None: unknown."""
    return {cell.name: followed(cell.transport) for cell in resolve_cells(scenario)}


def _cell(cell: CellSummary, right: str | None, validity: Iterable[Validity]) -> Cell:
    found = [m for m in cell.models if m.model == right and m.level == PREDICT]
    outcome = outcome_of(cell.answer, right)
    # Where no burst is judged, a summary's errors are of those that are only shown.
    wall = found[0].wall if found and cell.judged_bursts else None
    return Cell(
        cell=cell.cell,
        sender=cell.sender,
        right=right,
        kind=cell.answer.kind,
        model=cell.answer.model,
        outcome=outcome,
        verdict="" if outcome == "right" else cell.verdict,
        grade=cell.grade,
        streams=cell.streams,
        wall_mean=_of(wall, "mean"),
        wall_max=_of(wall, "max"),
        bursts=tuple(_bursts(list(validity), found[0] if found else None)),
    )


def _of(errors: Errors | None, key: str) -> float | None:
    return None if errors is None else round(float(getattr(errors, key)), _DIGITS)


def _bursts(validity: Sequence[Validity], model: ModelResult | None) -> Iterable[Burst]:
    errors = {} if model is None else {each.burst: each for each in model.by_burst}
    first = first_bursts(validity)
    for v in validity:
        judged = v.valid and v.judged
        off = errors.get(v.burst) if judged else None
        known: dict[str, Any] = {}
        if off is not None:
            names = ("order_mean", "order_max", "time_mean", "time_max")
            known = {name: round(getattr(off, name), _DIGITS) for name in names}
            known["exact"] = off.order_equal
        yield Burst(
            burst=v.burst,
            first=v.burst in first,
            valid=v.valid,
            judged=judged,
            length_ns=v.length_ns,
            lost_ns=v.lost_ns or 0,
            cut_ns=v.cut_ns,
            retransmissions=v.retransmissions,
            loss_probes=v.loss_probes,
            timeouts=v.timeouts,
            reorderings=v.reorderings,
            **known,
        )
