"""End of a run: its report, what is told where that is missing, and a refused run's folder."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from netcosim.cli.session import noted
from netcosim.errors import (
    EnvironmentRefusedError,
    InterruptedRunError,
    NetcosimError,
    ScenarioError,
)
from netcosim.failure import NO_MEMORY
from netcosim.results.folder import ResultsFolder


def draw(folder: ResultsFolder, console: Console) -> Path:
    """Draw a run's report; return the path of its page.

    Raises
    ------
    NetcosimError
        It can't be drawn or written; the line says how to draw it later.
    """
    try:
        with console.status("drawing the report"):
            from netcosim.report.write import draw_report  # only here: it takes a while to load

            return draw_report(folder)
    except NetcosimError as problem:
        raise noted(type(problem)(f"{problem}; {_missing(folder.path)}"), problem) from None
    except MemoryError:
        raise EnvironmentRefusedError(f"{NO_MEMORY}; {_missing(folder.path)}") from None


@contextmanager
def telling_where(path: Path) -> Iterator[None]:
    """Name the folder, and how its report is drawn, if an interruption ends the block."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        ended = f"interrupted; what was finished is in {path}; {_missing(path)}"
        raise noted(InterruptedRunError(ended), interruption) from None


def withdraw_if_refused(
    folder: ResultsFolder, failure: BaseException | None, *, finished: bool
) -> None:
    """Take back the folder of a run that was refused before it had finished anything.

    Raises
    ------
    ScenarioError, EnvironmentRefusedError
        The refusal.
    """
    if isinstance(failure, ScenarioError | EnvironmentRefusedError) and not finished:
        folder.withdraw()
        raise failure


def _missing(path: Path) -> str:
    again = f"python -m netcosim.report {shlex.quote(str(path))}"
    return f"the report is missing or not complete: {again} draws it"
