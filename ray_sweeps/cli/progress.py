"""Progress of a sweep: a live line on a terminal, a line now and then elsewhere."""

import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.status import Status

from netcosim.formatting import escaped, short_time
from ray_sweeps.runner.drive import State

_LIVE_S: Final = 0.25
_LINE_S: Final = 15.0


class Progress:
    """Tells how far a sweep has come, on standard error."""

    def __init__(self, console: Console, runs: int) -> None:
        self._console = console
        self._runs = runs
        self._status: Status | None = None
        self._told_s = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status = self._console.status("starting")
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def say(self, message: str) -> None:
        """Tell what has happened, in a line."""
        self._console.print(escaped(message), style="dim", markup=False, soft_wrap=True)

    def show(self, message: str) -> None:
        """Show what is being done now, on a terminal."""
        if self._status is not None:
            self._status.update(escaped(message))

    def progressed(self, state: State) -> None:
        """Tell how far the runs have come."""
        now = time.monotonic()
        if now - self._told_s < (_LIVE_S if self._status is not None else _LINE_S):
            return
        self._told_s = now
        line = progress_line(state, self._runs)
        if self._status is None:
            self.say(line)
        else:
            self._status.update(line)


def progress_line(state: State, runs: int) -> str:
    """Progress of a sweep in a line."""
    work = state.work
    done = state.made + work.known
    total = work.wanted if work.all_resolved else max(runs, work.wanted)
    line = f"{done:,} of {total:,} runs"
    if state.elapsed_s > 0 and state.made:
        line += f", {_rate(state.made / state.elapsed_s)}"
    left_s = work.left_s(state.processors)
    if left_s is not None:
        left = short_time(left_s)
        line += f", {left if left.startswith('under') else f'about {left}'} left"
    if state.errors:
        line += f", {state.errors:,} failed"
    if state.again:
        line += f", {state.again} lost and made again"
    who = "1 processor" if state.processors == 1 else f"{state.processors} processors"
    return f"{line} ({who})"


def _rate(per_s: float) -> str:
    return f"{per_s:.3g} a second" if per_s >= 1 else f"{per_s * 60:.3g} a minute"
