"""Progress of a job, in words, by the steps that all of its workers have finished."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from emu.remote.training.roles import REQUESTED, Row

_PARTS: Final = 4


@dataclass(slots=True, kw_only=True)
class FinishedSteps:
    """Steps that workers have told to be finished."""

    workers: int
    _finished: dict[int, int] = field(default_factory=dict)

    def take(self, rows: Sequence[Row]) -> None:
        """Take in what a node has told."""
        for kind, worker, step, _, _ in rows:
            if kind == REQUESTED:
                self._finished[worker] = step

    @property
    def by_all(self) -> int:
        """Number of steps that all workers have finished."""
        return min(self._finished.values()) if len(self._finished) == self.workers else 0


@dataclass(slots=True, kw_only=True)
class StepProgress:
    """Says when another quarter of a job's steps is finished.

    Attributes
    ----------
    steps : of each worker
    """

    name: str
    steps: int
    say: Callable[[str], None]
    finished: FinishedSteps
    _said: int = 0

    def take(self, rows: Sequence[Row]) -> None:
        """Take in what a node has told."""
        self.finished.take(rows)
        slowest = self.finished.by_all
        part = _PARTS * slowest // self.steps
        if self._said < part < _PARTS:
            self.say(f"{self.name}: {slowest} of {self.steps} steps")
            self._said = part


@dataclass(slots=True)
class FileProgress:
    """Progress of steps from a file of rows that is being written; a torn last line waits."""

    progress: StepProgress
    path: Path
    seen: int = 0

    def look(self) -> None:
        """Take in what is new."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self.seen)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self.seen += len(whole)
        for line in whole.splitlines():
            self.progress.take(json.loads(line)["rows"])
