"""Attempts at cells: one line of JSON each, written when it has ended, however it ended."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bench.common.kept_lines import add_line, read_lines
from bench.common.record import RESULTS
from netcosim.results.storage.directory import storage_errors

KEPT: Final = RESULTS / "crosscheck.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at a cell.

    Attributes
    ----------
    cell : its name
    properties : of the cell
    sources : hash of the sources that predicted and that ran the nodes
    commit : of the checkout that measured
    predicted_again : commit of the checkout that predicted after it was measured, from the kept
        record; empty of an attempt whose prediction was sealed before
    seconds : wall time of record, prediction, runs
    failed : the command that failed and its last line; empty if none did
    checked : the cell's part of ``crosscheck.json``; None if it failed
    """

    cell: str
    properties: dict[str, Any]
    sources: str
    commit: str
    seconds: dict[str, float]
    failed: str = ""
    checked: dict[str, Any] | None = None
    predicted_again: str = ""


def keep(attempt: Attempt, path: Path = KEPT) -> None:
    """Add an attempt; none is ever taken away."""
    with storage_errors(path, "can't be written"):
        add_line(path, asdict(attempt))


def kept(path: Path = KEPT) -> list[Attempt]:
    """All attempts, the oldest first; a line that was cut by the end of a process is none."""
    return [Attempt(**line) for line in read_lines(path)]


def done_by(sources: str, path: Path = KEPT) -> set[str]:
    """Cells that these sources have run to the end; those that failed are to be run again."""
    ran = [a for a in kept(path) if a.sources == sources and not a.predicted_again]
    return {a.cell for a in ran if not a.failed}
