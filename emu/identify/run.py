"""From the results folder of the identify scenario to one statement, with its evidence."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from emu.capture import ConnectionReport, analyse_capture
from emu.identify.bursts import find_bursts
from emu.identify.credit import judge_credit
from emu.identify.discipline import Evidence, judge_discipline
from emu.identify.subject import BOTH_CELLS, RECEIVER_CELLS, SENDER_CELLS, name_of
from netcosim.results.folder import ResultsFolder
from netcosim.results.identification import (
    IDENTIFICATION,
    CellEvidence,
    CreditVerdict,
    DisciplineVerdict,
    Identification,
    SettingVerdict,
)
from netcosim.results.records import to_json
from netcosim.results.run_record import RunRecord
from netcosim.scenario import Scenario

_TENSOR: Final = re.compile(r"/netcosim\.Tensors/b\d+/t(\d+)")
SLACK_BYTES: Final = 65_536
"""The bytes past the scheduler are sampled: their largest value may be missed by so much."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Seen:
    """One capture of a cell."""

    cell: str
    transport: str
    capture: str
    connection: ConnectionReport
    evidence: tuple[Evidence, ...]


def identify(folder: ResultsFolder) -> Identification:
    """Identify the subject of a finished run, and write `identify.json` beside its results.

    Raises
    ------
    StorageError, CaptureError
        The folder or a capture in it can't be read.
    """
    scenario, run = folder.read_scenario(), folder.read_run()
    seen = [] if run is None else [*_read(folder.path, scenario, run)]
    sends = [each for each in seen if each.transport in SENDER_CELLS]
    receives = [each for each in seen if each.transport in RECEIVER_CELLS]
    discipline = judge_discipline([e for each in sends for e in each.evidence])
    credit = judge_credit([(each.connection, True) for each in receives])
    subject = name_of(scenario, "unknown" if run is None else run.versions.get("grpcio", "unknown"))
    settings = tuple(_setting(name, seen) for name in BOTH_CELLS if _of(seen, name))
    found = {each.cell for each in seen}
    wanted = [f"{w.name}/{t.name}" for w in scenario.workload for t in scenario.transport]
    result = Identification(
        subject=subject,
        statement=_statement(subject, discipline, credit, settings),
        discipline=discipline,
        credit=credit,
        settings=settings,
        cells=(
            *map(_by_discipline, sends),
            *map(_by_credit, receives),
            *(_by_discipline(each) for name in BOTH_CELLS for each in _of(seen, name)),
        ),
        missing=tuple(cell for cell in wanted if cell not in found),
    )
    folder.write(IDENTIFICATION, to_json(result).encode())
    return result


def _of(seen: Sequence[_Seen], transport: str) -> list[_Seen]:
    return [each for each in seen if each.transport == transport]


def _setting(name: str, seen: Sequence[_Seen]) -> SettingVerdict:
    cells = _of(seen, name)
    return SettingVerdict(
        setting=name,
        discipline=judge_discipline([e for each in cells for e in each.evidence]),
        credit=judge_credit([(each.connection, True) for each in cells]),
    )


def _statement(
    subject: str,
    discipline: DisciplineVerdict,
    credit: CreditVerdict,
    settings: Sequence[SettingVerdict],
) -> str:
    """One clear statement: what it is, and what its own settings make of it."""
    parts = [
        f"{subject} sends by {_short(discipline.discipline, discipline.alike)}"
        f" and gives credit by {_short(credit.rule, credit.alike)}"
    ]
    words = {"default": "with its default settings", "off": "with flow control off"}
    for each in settings:
        verdict = each.discipline
        text = f"{words[each.setting]} its streams are served by "
        parts.append(text + _short(verdict.discipline, verdict.alike))
    return "; ".join(parts) + "."


def _short(name: str | None, alike: Sequence[str]) -> str:
    if name is not None:
        return name
    if alike:
        return f"one of {', '.join(alike)} (not told apart)"
    return "no rule that is known"


def _by_discipline(seen: _Seen) -> CellEvidence:
    verdict = judge_discipline(seen.evidence)
    return CellEvidence(
        cell=seen.cell,
        capture=seen.capture,
        shows="discipline",
        verdict=verdict.statement,
        evidence=verdict.evidence,
    )


def _by_credit(seen: _Seen) -> CellEvidence:
    verdict = judge_credit([(seen.connection, True)])
    return CellEvidence(
        cell=seen.cell,
        capture=seen.capture,
        shows="credit",
        verdict=verdict.statement,
        evidence=verdict.evidence,
    )


def _read(path: Path, scenario: Scenario, run: RunRecord) -> Iterator[_Seen]:
    for key, capture in sorted(run.captures.items()):
        cell = _cell_of(key, scenario)
        if cell is None:
            continue
        workload, transport = cell
        name = f"{workload}/{transport}"
        report = analyse_capture(path / capture, gap_ns=None)
        ahead = _most_ahead(run, name)
        priorities = next(
            {i: t.priority for i, t in enumerate(w.tensors)}
            for w in scenario.workload
            if w.name == workload
        )
        for connection in report.connections:
            if connection.streams:
                yield _Seen(
                    cell=name,
                    transport=transport,
                    capture=capture,
                    connection=connection,
                    evidence=_evidence(connection, priorities, ahead),
                )


def _cell_of(key: str, scenario: Scenario) -> tuple[str, str] | None:
    """Workload and transport of a capture's key, such as ``together/windowed.r1 connection 0``."""
    cell = key.partition(" connection ")[0]
    for workload in scenario.workload:
        for transport in scenario.transport:
            name = f"{workload.name}/{transport.name}"
            if cell == name or cell.startswith(f"{name}.r"):
                return workload.name, transport.name
    return None


def _most_ahead(run: RunRecord, cell: str) -> int | None:
    """The most that the sender's kernel was seen to hold in this cell."""
    held = [
        v.past_scheduler_bytes
        for v in run.validity
        if v.cell == cell and v.past_scheduler_bytes is not None
    ]
    return max(held) + SLACK_BYTES if held else None


def _evidence(
    connection: ConnectionReport, priorities: Mapping[int, int], ahead: int | None
) -> tuple[Evidence, ...]:
    by_stream = {}
    for stream in connection.streams:
        match = _TENSOR.fullmatch(stream.path or "")
        if match is not None:
            by_stream[stream.stream] = priorities.get(int(match[1]), 0)
    return tuple(
        Evidence(
            burst=burst,
            credit=connection.to_client.credit,
            priorities=by_stream,
            most_ahead_bytes=ahead,
        )
        for burst in find_bursts(connection, to_client=True).kept
    )
