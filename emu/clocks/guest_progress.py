"""Progress of guests: the lines that each writes while it runs, reported once they may count."""

import contextlib
import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emu.clocks.measurements import Reporter
from netcosim.job import Cell


@dataclass(slots=True, kw_only=True)
class GuestsProgress:
    """Progress lines of all guests of a run, by their names.

    Those of cells are held back until the links are known: without them no burst can be judged,
    and an interrupted run keeps none.

    Attributes
    ----------
    reporter : is told
    links_known : whether the guest of the links has answered
    """

    reporter: Reporter
    links_known: Callable[[], bool]
    _lines: dict[str, "_Lines"] = field(default_factory=dict)

    def watch(self, name: str, cell: Cell | None, path: Path) -> Callable[[], None]:
        """Reporter of a guest's file of lines, to be called several times a second.

        Without a cell it is the guest of the links.
        """
        self._lines[name] = _Lines(self.reporter, cell, path)
        return functools.partial(self.report, name)

    def report(self, name: str) -> None:
        """Report what is new of a guest; nothing of one that never started."""
        lines = self._lines.get(name)
        if lines is not None and (lines.cell is None or self.links_known()):
            lines.report()


@dataclass(slots=True)
class _Lines:
    """Lines that a guest has written since it was asked last."""

    reporter: Reporter
    cell: Cell | None
    path: Path
    seen: int = 0

    def report(self) -> None:
        """Report what is new."""
        with contextlib.suppress(FileNotFoundError):
            data = self.path.read_bytes()
            whole = data.rfind(b"\n") + 1
            for line in data[self.seen : whole].splitlines():
                self._one(json.loads(line))
            self.seen = whole

    def _one(self, step: Mapping[str, Any]) -> None:
        if "burst" in step and self.cell is not None:
            self.reporter.burst_done(self.cell, step["burst"])
        elif "say" in step and self.cell is None:
            self.reporter.say(step["say"])
