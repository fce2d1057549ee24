"""Progress display of a simulation: a live bar on a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as Bar
from rich.text import Text

from netcosim.formatting import escaped, short_time
from netcosim.results.training.summary import Point

_WORTH_SAYING_S: Final = 20.0


@dataclass(slots=True)
class Pace:
    """Time left of runs of unequal length, from what was expected of them and what they took.

    The first run is not counted: kernels may be compiled in it. Times are in seconds since the
    runs began.

    Attributes
    ----------
    expected_s : of all runs
    done_s, at_s : expected of the runs that are done; when the last of them was
    first_done_s, first_at_s : the same after the first run
    """

    expected_s: float
    done_s: float = 0.0
    at_s: float = 0.0
    first_done_s: float = 0.0
    first_at_s: float | None = None

    def done(self, expected_s: float, now_s: float) -> None:
        """Count a run of which so much was expected."""
        self.done_s += expected_s
        self.at_s = now_s
        if self.first_at_s is None:
            self.first_done_s, self.first_at_s = self.done_s, now_s

    def left_s(self, now_s: float) -> float:
        """Time left, at the speed of the runs so far."""
        counted_s = self.done_s - self.first_done_s
        took_s = self.at_s - (self.first_at_s or 0.0)
        slower = took_s / counted_s if counted_s > 0 else 1.0
        return max(0.0, (self.expected_s - self.done_s) * slower - (now_s - self.at_s))


class Progress:
    """Progress reports on `console`, which is standard error so that results stay apart.

    `run_s` has the seconds that one run is expected to take, by cell, change of it and number of
    workers, and `repetitions` is how many there are of each.
    """

    def __init__(
        self,
        console: Console,
        run_s: Mapping[tuple[str, str, int], float] = MappingProxyType({}),
        repetitions: int = 1,
    ) -> None:
        self._console = console
        self._bar: Bar | None = None
        self._run_s = run_s
        self._repetitions = repetitions
        self._pace = Pace(repetitions * sum(run_s.values()))
        self._began_s = time.monotonic()
        self._this_s = 0.0

    def say(self, message: str) -> None:
        """Report the present activity in one line; on a terminal, as the bar's text."""
        if self._bar is None:
            self._console.print(escaped(message), style="dim", highlight=False, markup=False)
        else:
            self._bar.update(self._bar.task_ids[0], description=message)

    @contextmanager
    def runs(self, total: int) -> Iterator[None]:
        """Show runs as they are done, and about how long the others will take."""
        self._began_s = time.monotonic()
        if not self._console.is_terminal:
            yield
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        times = (TimeElapsedColumn(), _Left(self))
        with Bar(*columns, *times, console=self._console, transient=True) as bar:
            self._bar = bar
            bar.add_task("runs", total=total)
            try:
                yield
            finally:
                self._bar = None

    def taken(self, cell: str) -> None:
        """Expect no time for the runs of a cell that an earlier simulation has finished."""
        those_s = sum(run_s for key, run_s in self._run_s.items() if key[0] == cell)
        self._pace.expected_s -= self._repetitions * those_s

    def runs_of(self, cell: str, workers: int, change: str) -> None:
        """Say which runs are next; on a terminal, as the bar's text.

        A changed cell is expected with the most workers, and may run with fewer.
        """
        same = [s for (name, what, _), s in self._run_s.items() if (name, what) == (cell, change)]
        self._this_s = self._run_s.get((cell, change, workers), max(same, default=0.0))
        self.show(f"{cell}{change and f' with {change}'}, {workers} workers")

    def show(self, message: str) -> None:
        """Set the bar's text; without a bar, nothing."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=message)

    def run_done(self) -> None:
        """Advance the bar by one run."""
        self._pace.done(self._this_s, time.monotonic() - self._began_s)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], advance=1)

    def point(self, cell: str, point: Point) -> None:
        """Report a number of workers whose runs are all done, where there is no bar."""
        if self._bar is None:
            rate = point.examples_per_s.mean
            who = "1 worker" if point.workers == 1 else f"{point.workers} workers"
            left = self.left_text()
            self.say(f"{cell}: {who}: {rate:.4g} examples/s{left and f' ({left})'}")

    def left_text(self) -> str:
        """Such as ``about 3 min left``; empty if it is not known, or not worth saying."""
        left_s = self._pace.left_s(time.monotonic() - self._began_s)
        return f"about {short_time(left_s)} left" if left_s >= _WORTH_SAYING_S else ""


class _Left(ProgressColumn):
    """Column of a bar with the time left."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress

    def render(self, task: Task) -> Text:
        return Text(self._progress.left_text())
