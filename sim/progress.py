"""Progress display of a simulation: a live bar on a terminal, plain lines elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from netcosim.formatting import escaped
from netcosim.results.training.summary import Point


class Progress:
    """Progress reports on `console`, which is standard error so that results stay apart."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Bar | None = None

    def say(self, message: str) -> None:
        """Report the present activity in one line; on a terminal, as the bar's text."""
        if self._bar is None:
            self._console.print(escaped(message), style="dim", highlight=False, markup=False)
        else:
            self._bar.update(self._bar.task_ids[0], description=message)

    @contextmanager
    def runs(self, total: int) -> Iterator[None]:
        """Show runs as they are done."""
        if not self._console.is_terminal:
            yield
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Bar(*columns, TimeElapsedColumn(), console=self._console, transient=True) as bar:
            self._bar = bar
            bar.add_task("runs", total=total)
            try:
                yield
            finally:
                self._bar = None

    def runs_of(self, what: str) -> None:
        """Set the bar's text for the next runs."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=what)

    def run_done(self) -> None:
        """Advance the bar by one run."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], advance=1)

    def point(self, cell: str, point: Point) -> None:
        """Report a number of workers whose runs are all done, where there is no bar."""
        if self._bar is None:
            rate = point.examples_per_s.mean
            who = "1 worker" if point.workers == 1 else f"{point.workers} workers"
            self.say(f"{cell}: {who}: {rate:.4g} examples/s")
