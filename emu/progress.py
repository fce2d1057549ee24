"""Progress display of a run: a live bar on a terminal, plain lines elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from emu.plan import Plan
from netcosim.formatting import escaped
from netcosim.job import Cell


class Progress:
    """Reporter of a run's progress on `console`: standard error, so that results stay apart."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Bar | None = None

    def say(self, message: str) -> None:
        """Print one line about the current step."""
        self._console.print(escaped(message), style="dim", highlight=False, markup=False)

    @contextmanager
    def cells(self, plan: Plan) -> Iterator[None]:
        """Show the bursts of all cells as they are done."""
        total = len(plan.cells) * plan.scenario.repetitions
        if not self._console.is_terminal:
            yield
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Bar(*columns, TimeElapsedColumn(), console=self._console, transient=True) as bar:
            self._bar = bar
            bar.add_task("bursts", total=total)
            yield
        self._bar = None

    def burst_done(self, cell: Cell, burst: int) -> None:
        """Report a burst as done; whether it counts is judged at the end of its round."""
        if self._bar is None:
            self.say(f"{cell.name}: burst {burst} done")
        else:
            self._bar.update(self._bar.task_ids[0], advance=1, description=cell.name)
