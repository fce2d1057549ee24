"""Messages between a driver and the process in which Ray lives."""

import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, Self

from netcosim.errors import NetcosimError
from netcosim.formatting import one_line
from ray_sweeps.evaluation import Evaluator
from ray_sweeps.runner.executor import Ended, Task

Say = Callable[[str], None]


class RayPlace(Protocol):
    """A Ray that a process can connect to; has to pickle."""

    def connected(self, say: Say) -> AbstractContextManager[None]:
        """Connect to it with the context; `say` is told of what a person should know."""


@dataclass(frozen=True, slots=True)
class Start:
    """First message of a driver: where its tasks are executed, and by what."""

    place: RayPlace
    evaluator: Evaluator


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for a task to end, so long at most."""

    within_s: float


Asked = Start | Task | Wait


@dataclass(frozen=True, slots=True)
class Said:
    """A line for the listener."""

    line: str


@dataclass(frozen=True, slots=True)
class Ready:
    """Tasks are taken from now on; address of Ray's head, processors there."""

    head: str
    processors: int


@dataclass(frozen=True, slots=True)
class Waited:
    """Answer to `Wait`."""

    ended: Ended | None
    processors: int


@dataclass(frozen=True, slots=True)
class Raised:
    """Exception that ended the process: an expected failure, or a bug with its traceback."""

    problem: Exception
    trace: str = ""

    @classmethod
    def by(cls, problem: Exception) -> Self:
        """Take an exception as it is, if it is known to pickle, else its text."""
        if isinstance(problem, NetcosimError):
            return cls(problem)
        said = f"{type(problem).__name__}: {one_line(str(problem))}"
        return cls(RuntimeError(said), "".join(traceback.format_exception(problem)))

    def again(self) -> Exception:
        """The exception, to be raised here."""
        if self.trace:
            self.problem.add_note(self.trace)
        return self.problem


Told = Said | Ready | Waited | Raised
