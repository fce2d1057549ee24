"""Identification of a subject from the results folder of the identify scenario."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from emu.capture import ConnectionReport, analyse_capture
from emu.identify.bursts import find_bursts
from emu.identify.credit import judge_credit
from emu.identify.discipline import Evidence, judge_replayed, replay_all
from emu.identify.subject import OTHER_TRANSPORTS, RECEIVER_TRANSPORTS, SENDER_TRANSPORTS, name_of
from netcosim.results.folder import ResultsFolder
from netcosim.results.json_files import to_json
from netcosim.results.run_record import RunRecord
from netcosim.results.streams.identification import (
    IDENTIFICATION,
    CellEvidence,
    CreditVerdict,
    DisciplineVerdict,
    Identification,
    SettingVerdict,
)
from netcosim.scenario import Scenario

_TENSOR: Final = re.compile(r"/netcosim\.Tensors/b\d+/t(\d+)")
SLACK_BYTES: Final = 65_536
"""Margin of the sampled unacknowledged bytes, whose largest value may be missed by so much."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seen:
    """One connection in a cell's capture, with the evidence of its bursts."""

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
    seen = read_cells(folder)
    sends = [each for each in seen if each.transport in SENDER_TRANSPORTS]
    receives = [each for each in seen if each.transport in RECEIVER_TRANSPORTS]
    discipline, by_cell = _disciplines(sends)
    credit = judge_credit([(each.connection, True) for each in receives])
    subject = name_of(scenario, "unknown" if run is None else run.versions.get("grpcio", "unknown"))
    settings = []
    for name in OTHER_TRANSPORTS:
        if both := _of(seen, name):
            verdict, cells = _disciplines(both)
            pairs = [(each.connection, True) for each in both]
            settings.append(
                SettingVerdict(setting=name, discipline=verdict, credit=judge_credit(pairs))
            )
            by_cell += cells
    found = {each.cell for each in seen}
    wanted = [f"{w.name}/{t.name}" for w in scenario.workload for t in scenario.transport]
    result = Identification(
        subject=subject,
        statement=_statement(subject, discipline, credit, settings),
        discipline=discipline,
        credit=credit,
        settings=tuple(settings),
        cells=(*by_cell, *map(_by_credit, receives)),
        missing=tuple(cell for cell in wanted if cell not in found),
    )
    folder.write(IDENTIFICATION, to_json(result).encode())
    return result


def read_cells(folder: ResultsFolder) -> list[Seen]:
    """Analyse every capture of a finished run."""
    scenario, run = folder.read_scenario(), folder.read_run()
    return [] if run is None else [*_read(folder.path, scenario, run)]


def _of(seen: Sequence[Seen], transport: str) -> list[Seen]:
    return [each for each in seen if each.transport == transport]


def _disciplines(seen: Sequence[Seen]) -> tuple[DisciplineVerdict, list[CellEvidence]]:
    """Verdict on the discipline from all these cells together, and the evidence of each."""
    replayed = replay_all([e for each in seen for e in each.evidence])
    cells = []
    for each in seen:
        own = [r for r in replayed if any(r.evidence is e for e in each.evidence)]
        verdict = judge_replayed(own)
        cells.append(
            CellEvidence(
                cell=each.cell,
                capture=each.capture,
                shows="discipline",
                verdict=verdict.statement,
                evidence=verdict.evidence,
            )
        )
    return judge_replayed(replayed), cells


def _statement(
    subject: str,
    discipline: DisciplineVerdict,
    credit: CreditVerdict,
    settings: Sequence[SettingVerdict],
) -> str:
    """State in one sentence the subject's rules, and its discipline with its own settings."""
    parts = [
        f"{subject} sends by {_short(discipline.discipline, discipline)}"
        f" and gives credit by {_short(credit.rule, credit)}"
    ]
    words = {"default": "with its default settings", "off": "with flow control off"}
    for each in settings:
        verdict = each.discipline
        text = f"{words[each.setting]} its streams are served by "
        parts.append(text + _short(verdict.discipline, verdict))
    return "; ".join(parts) + "."


def _short(name: str | None, verdict: DisciplineVerdict | CreditVerdict) -> str:
    if name is not None:
        return name
    if verdict.alike:
        return f"one of {', '.join(verdict.alike)} (not told apart)"
    if not verdict.statement.startswith("none of"):
        return "a rule that these cells do not tell"
    nearest = verdict.candidates[0] if isinstance(verdict, DisciplineVerdict) else None
    if nearest is None:
        return "no rule that is known"
    off = f"the nearest, {nearest.name}, is off by {100 * nearest.misplaced:.1f} %"
    return f"no rule that is known ({off})"


def _by_credit(seen: Seen) -> CellEvidence:
    verdict = judge_credit([(seen.connection, True)])
    return CellEvidence(
        cell=seen.cell,
        capture=seen.capture,
        shows="credit",
        verdict=verdict.statement,
        evidence=verdict.evidence,
    )


def _read(path: Path, scenario: Scenario, run: RunRecord) -> Iterator[Seen]:
    priorities = {
        w.name: {i: t.priority for i, t in enumerate(w.tensors)} for w in scenario.workload
    }
    for key, capture in sorted(run.captures.items()):
        cell = _cell_of(key, scenario)
        if cell is not None:
            workload, transport = cell
            yield from look(
                path / capture,
                capture,
                cell=f"{workload}/{transport}",
                transport=transport,
                priorities=priorities[workload],
                ahead=_most_ahead(run, f"{workload}/{transport}"),
            )


def look(
    path: Path,
    name: str,
    *,
    cell: str,
    transport: str,
    priorities: Mapping[int, int],
    ahead: int | None,
) -> Iterator[Seen]:
    """Analyse one capture of a cell.

    Parameters
    ----------
    path, name
        Where it is, and what it is called in the results.
    cell, transport
        The cell and its transport, by name.
    priorities
        The priorities given to the sender, by the tensor's index.
    ahead
        The most bytes that its kernel was seen to hold; None if not measured.
    """
    for connection in analyse_capture(path, gap_ns=None).connections:
        if connection.streams:
            yield Seen(
                cell=cell,
                transport=transport,
                capture=name,
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
    """Most bytes that the sender's kernel was seen to hold in this cell; None if not measured."""
    held = [
        v.past_scheduler_bytes
        for v in run.validity
        if v.cell == cell and v.past_scheduler_bytes is not None
    ]
    return max(held) if held else None


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
            most_ahead_bytes=None if ahead is None else ahead + SLACK_BYTES,
        )
        for burst in find_bursts(connection, to_client=True).kept
    )
