"""``python -m ray_sweeps.runner.ray_child DESCRIPTOR``: the process in which Ray lives.

Ray's C++ may crash, or end its process, when a cluster fails. Here it takes nobody with it: the
driver has rows, folder and terminal, and sees that its pipe to this process has closed.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Final

from netcosim.errors import NetcosimError
from netcosim.formatting import one_line
from ray_sweeps.evaluation import Evaluator
from ray_sweeps.runner.head import HeadGoneError, RayGoneError
from ray_sweeps.runner.ray_messages import Asked, Raised, Ready, Said, Start, Told, Wait, Waited

_Pipe = Connection  # Python 3.13 gave it parameters; what goes through is anything
_SET_PARENT_DEATH_SIGNAL: Final = 1
_MOST_SAID: Final = 300


def main(descriptor: int) -> None:
    """Serve the driver at the other end of a pipe, until it closes that."""
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    os.set_inheritable(descriptor, False)  # Ray's processes must not hold it open
    with Connection(descriptor) as pipe, _telling(pipe):
        start = _next(pipe)
        if isinstance(start, Start):
            with start.place.connected(lambda line: _tell(pipe, Said(line))), _telling(pipe):
                _serve(pipe, start.evaluator)


def _serve(pipe: _Pipe, evaluator: Evaluator) -> None:
    from ray_sweeps.runner.on_ray import OnRay

    executor = OnRay(evaluator)
    _tell(pipe, Ready(executor.head, executor.processors))
    while (asked := _next(pipe)) is not None:
        match asked:
            case Wait(within_s):
                ended = executor.ended(within_s)
                _tell(pipe, Waited(ended, executor.processors))
            case Start():
                raise AssertionError("started twice")
            case task:
                executor.submit(task)


@contextmanager
def _telling(pipe: _Pipe) -> Iterator[None]:
    """Tell the driver of an exception, and go on behind the block."""
    try:
        yield
    except Exception as problem:  # noqa: BLE001 - raised by the driver
        _tell(pipe, Raised.by(_expected(problem)))
        if isinstance(problem, HeadGoneError):
            os._exit(0)  # Ray's own end waits for a head, and may crash


def _expected(problem: Exception) -> Exception:
    """Turn what Ray raises by itself into the expected failure that Ray is gone.

    Ray does so from wherever it is asked, and not only by its own classes: its start ends with a
    bare `Exception`. What a task raised is a bug of the program, as is any other exception.
    """
    from ray.exceptions import RayError, RayTaskError

    if isinstance(problem, NetcosimError | RayTaskError):
        return problem
    if isinstance(problem, RayError | OSError) or type(problem) in (Exception, RuntimeError):
        said = one_line(str(problem)).partition(". ")[0][:_MOST_SAID]  # advice is on its own files
        return RayGoneError(f"Ray ended by itself: {type(problem).__name__}: {said}")
    return problem


def _next(pipe: _Pipe) -> Asked | None:
    """The driver's next request; None if it has ended, or has what it wanted."""
    with suppress(EOFError, OSError):
        found: Asked = pipe.recv()
        return found
    return None


def _tell(pipe: _Pipe, message: Told) -> None:
    with suppress(OSError):  # the driver has ended: the next one from it will not come
        pipe.send(message)


if __name__ == "__main__":
    main(int(sys.argv[1]))
    os._exit(0)  # nothing is left to be done, least of all by Ray
