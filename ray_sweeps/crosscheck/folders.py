"""Results folders and collections of the emulator, read into units of work."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, ValidationError

from netcosim import user_files
from netcosim.errors import NetcosimError, ScenarioError, StorageError
from netcosim.job import resolve_cells
from netcosim.results.collection import RUNS, SEPARATOR, Collection, open_run
from netcosim.results.folder import LOST, RUN, SCENARIO, TRACE, ResultsFolder
from netcosim.results.json_files import from_json
from netcosim.results.run_record import RunRecord
from netcosim.results.storage.directory import storage_errors
from netcosim.results.storage.parquet import parquet_bytes, read_parquet
from netcosim.results.streams.summary import Summary
from netcosim.trace import PREDICT
from ray_sweeps.crosscheck.unit import StoredScore, Unit

Scores = Mapping[str, StoredScore]
"""Stored scores by a run's name within its collection, or its folder's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRun:
    """One run: its units, and what is wrong with it, a line each."""

    run: str
    units: tuple[Unit, ...] = ()
    lines: tuple[str, ...] = ()


def run_names(folder: Path) -> tuple[str, ...]:
    """Names of the runs of a collection as COLLECTION#RUN; of all else the path itself.

    Raises
    ------
    StorageError
        The collection can't be read.
    """
    if folder.is_dir() and (folder / RUNS).exists():
        return tuple(f"{folder}{SEPARATOR}{name}" for name in Collection(path=folder).names())
    return (str(folder),)


def read_runs(names: Sequence[str], scores: Scores) -> Iterator[ReadRun]:
    """Read runs one by one; what can't be read is told in a line, and has no units."""
    for name in names:
        where = name
        try:
            with open_run(Path(name)) as folder:
                where = str(folder.path)
                yield _read(name, folder, scores)
        except (NetcosimError, ValueError) as problem:
            # A run of a collection is read from a temporary folder, which says nothing.
            text = str(problem).splitlines()[0].replace(where, name)
            yield ReadRun(run=name, lines=(text if name in text else f"{name}: {text}",))


def read_scores(path: Path) -> dict[str, StoredScore]:
    """Scores of runs as ``./dev bench fidelity`` writes them, by the run's name.

    Raises
    ------
    StorageError
        The file can't be read, or holds no such scores.
    """
    with storage_errors(path, "can't be read"), user_files.open_regular(path) as file:
        text = user_files.read_all(file, user_files.RECORD)
    try:
        rows = _Scores.model_validate_json(text).rows
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise StorageError(
            f"{path}: {place}: {first['msg']}: needs scores as ./dev bench fidelity writes them"
        ) from None
    return {row.key: row.score(path.name) for row in rows if PREDICT in row.levels}


class _Open(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Errors(_Open):
    streams: int
    mean: float
    max: float


class _Level(_Open):
    order: _Errors
    wire: _Errors


class _Row(_Open):
    """Scores of one run, of the model that is right for its sender."""

    key: str
    right: str | None = None
    levels: dict[str, _Level] = {}

    def score(self, source: str) -> StoredScore:
        level = self.levels[PREDICT]
        return _stored(self.right or "", source, level.order, level.wire)


class _Scores(_Open):
    rows: tuple[_Row, ...]


def _read(name: str, folder: ResultsFolder, scores: Scores) -> ReadRun:
    if folder.world() != "emu":
        allowed = "only bursts that were emulated can be compared"
        raise StorageError(f"{name}: is of a simulation or a training job: {allowed}")
    scenario = folder.read_scenario()
    if folder.read_run() is None:
        raise StorageError(f"{name}: has no {RUN}: the run ended before it was written")
    if not folder.has(TRACE):
        raise StorageError(f"{name}: has no {TRACE}: the run finished no burst")
    folder.read_trace()  # what is no trace is refused here, with its file's name
    folder.read_lost()
    summary = folder.read_summary()
    trace = read_parquet(folder.read(TRACE))
    planned = [cell.name for cell in resolve_cells(scenario)]
    there = list(dict.fromkeys(trace["cell"].to_pylist()))
    strange = [cell for cell in there if cell not in planned]
    if strange:
        raise ScenarioError.at(f"{name}: {TRACE}: cell", strange[0], "is not in scenario.toml")
    not_run = {} if summary is None else {each.cell: each.reason for each in summary.not_run}
    lines = _remarks(name, summary, [c for c in planned if c not in there and c not in not_run])
    lines += [f"{name}: {cell} was not run: {reason}" for cell, reason in not_run.items()]
    lost = read_parquet(folder.read(LOST)) if folder.has(LOST) else None
    text, record = folder.read(SCENARIO, user_files.SCENARIO), folder.read(RUN, user_files.RECORD)
    from_json(RunRecord, record, f"{name}: {RUN}")
    units = [
        Unit(
            run=name,
            cell=cell,
            scenario=text.decode(),
            record=record,
            trace=_of_cell(trace, cell),
            lost=None if lost is None else _of_cell(lost, cell),
            stored=_stored_scores(name, cell, summary, scores),
        )
        for cell in there
    ]
    return ReadRun(run=name, units=tuple(units), lines=tuple(lines))


def _remarks(name: str, summary: Summary | None, missing: Sequence[str]) -> list[str]:
    """Remarks on what is missing of a run whose finished cells are compared all the same."""
    lines = []
    if (summary is not None and not summary.complete) or missing:
        lacks = f": no burst of {', '.join(missing)}" if missing else ""
        reasons = "" if summary is None else "; ".join(summary.reasons)
        why = f" ({reasons})" if reasons else ""
        lines.append(f"{name}: the run is incomplete{why}{lacks}; what it finished is compared")
    elif summary is not None and not summary.trusted:
        lines.append(f"{name}: the emulator does not trust the run: {'; '.join(summary.reasons)}")
    return lines


def _of_cell(table: Any, cell: str) -> bytes:
    return parquet_bytes(table.filter(pc.equal(table["cell"], cell)))


def _stored_scores(
    name: str, cell: str, summary: Summary | None, scores: Scores
) -> tuple[StoredScore, ...]:
    """Scores at PREDICT in the run's own summary, best first; without one those of the file."""
    if summary is None:
        key = name.rpartition(SEPARATOR)[2] if SEPARATOR in name else Path(name).name
        return (scores[key],) if key in scores else ()
    ranked = [m for one in summary.cells if one.cell == cell for m in one.models]
    return tuple(
        _stored(m.model, "summary.json", m.order, m.wire) for m in ranked if m.level == PREDICT
    )


def _stored(model: str, source: str, order: Any, time: Any) -> StoredScore:
    return StoredScore(
        model=model,
        source=source,
        streams=order.streams,
        order=order.mean,
        order_max=order.max,
        time=time.mean,
        time_max=time.max,
    )
