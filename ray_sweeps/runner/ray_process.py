"""Executor on a Ray that lives in a process of its own, so that it can crash without the driver."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Final

from ray_sweeps.evaluation import Evaluator
from ray_sweeps.runner.address import AUTO
from ray_sweeps.runner.executor import Ended, Task
from ray_sweeps.runner.head import Head, HeadGoneError, RayGoneError
from ray_sweeps.runner.own_module import started_module
from ray_sweeps.runner.ray_messages import (
    Asked,
    Raised,
    RayPlace,
    Ready,
    Said,
    Say,
    Start,
    Wait,
    Waited,
)

_Pipe = Connection  # Python 3.13 gave it parameters; what goes through is anything
_LOOK_S: Final = 1.0
_END_S: Final = 30.0


@contextmanager
def ray_process(
    place: RayPlace, evaluator: Evaluator, say: Say, address: str | None = None
) -> Iterator["RayProcess"]:
    """Start a process that connects to a Ray, and execute tasks there; it ends with the context.

    Parameters
    ----------
    place : that Ray
    evaluator : of all tasks
    say : told of what a person should know
    address : of the head, as given, if it is somebody else's and may get lost

    Raises
    ------
    NetcosimError
        What `place` raises, there.
    EnvironmentRefusedError
        That Ray, or the process, ended by itself.
    """
    ours, theirs = socket.socketpair()
    with Connection(ours.detach()) as pipe:
        with theirs:
            end = theirs.fileno()
            process = started_module("ray_sweeps.runner.ray_child", str(end), passed=[end])
        try:
            executor = RayProcess(process, pipe, say, address)
            executor.start(place, evaluator)
            yield executor
        finally:
            pipe.close()
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process whose pipe was closed; it may hang in Ray."""
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        process.kill()
        process.wait()


class RayProcess:
    """Executes tasks on the Ray that another process is connected to."""

    def __init__(
        self, process: subprocess.Popen[bytes], pipe: _Pipe, say: Say, address: str | None
    ) -> None:
        self._process, self._pipe, self._say = process, pipe, say
        self._joined = address is not None
        self._head = None if address in (None, AUTO) else Head(str(address))
        self._in_flight = 0
        self._processors = 1

    def start(self, place: RayPlace, evaluator: Evaluator) -> None:
        """Have it connect; to be called first, and once."""
        self._ask(Start(place, evaluator))
        ready = self._told()
        assert isinstance(ready, Ready)
        self._processors = ready.processors
        if self._joined:
            self._head = Head(ready.head)

    @property
    def processors(self) -> int:
        """Processors of that Ray, as it is now."""
        return self._processors

    @property
    def in_flight(self) -> int:
        """Tasks that it has."""
        return self._in_flight

    def submit(self, task: Task) -> None:
        """Hand a task over."""
        self._ask(task)
        self._in_flight += 1

    def ended(self, within_s: float) -> Ended | None:
        """Wait for a task to end, so long at most.

        Raises
        ------
        EnvironmentRefusedError
            The head is gone, or a machine can't make runs, or Ray ended by itself.
        """
        self._ask(Wait(within_s))
        waited = self._told()
        assert isinstance(waited, Waited)
        self._processors = waited.processors
        self._in_flight -= waited.ended is not None
        return waited.ended

    def _ask(self, message: Asked) -> None:
        try:
            self._pipe.send(message)
        except OSError:
            self._told()  # what it has said before it ended, which is raised
            raise

    def _told(self) -> Ready | Waited:
        """The next message that is not for the listener.

        Raises
        ------
        Exception
            One that was raised there; the process has ended.
        """
        while True:
            try:
                while not self._pipe.poll(_LOOK_S):
                    self._look()
                told = self._pipe.recv()
            except (EOFError, OSError):
                raise self._lost() from None
            match told:
                case Said(line):
                    self._say(line)
                case Raised():
                    problem = told.again()
                    if isinstance(problem, RayGoneError) and self._head is not None:
                        self._head.check()  # the better reason
                    raise problem
                case Ready() | Waited():
                    return told

    def _look(self) -> None:
        """Look whether the head is there, of a process that does not answer: Ray may hang."""
        try:
            if self._head is not None:
                self._head.answers()
        except HeadGoneError:
            self._process.kill()
            raise

    def _lost(self) -> RayGoneError:
        """Reason why the process has ended: by that of the head, or by itself."""
        try:
            code = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:  # it has closed the pipe and hangs
            self._process.kill()
            code = self._process.wait()
        if self._head is not None:
            self._head.check()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return RayGoneError(f"Ray ended by itself ({how})")
