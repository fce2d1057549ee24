"""Parallel map over processes that leaves nothing behind when everything is killed.

The processes of `concurrent.futures` and `multiprocessing.Pool` share queues, whose locks are
semaphores with names below ``/dev/shm``: after a kill -9 they are still there. Here each process
has a pipe of its own, and needs no lock.
"""

import multiprocessing
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from operator import length_hint
from typing import Any, Final, TypeVar

from netcosim.processors import usable_processors

Item = TypeVar("Item")
Result = TypeVar("Result")
_Pipe = Connection  # Python 3.13 gave it parameters; what goes through is anything

_GONE: Final = (EOFError, OSError, pickle.UnpicklingError)
"""Exceptions of a pipe whose other end was killed, perhaps in the midst of an answer."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """Result of an item, or the exception that it raised; neither if the process was killed."""

    item: Any = None
    result: Any = None
    failure: Exception | None = None
    killed: bool = False


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the result of `work` for each item, in their order, computed on all processors.

    Processes are spawned, so the work, the items and the results must be picklable. An item is
    taken when a process is free for it. One whose process was killed is computed here. What `work`
    raises is raised here.
    """
    processes = min(usable_processors(), length_hint(items, usable_processors()))
    if processes < 2:
        yield from map(work, items)
        return
    with ExitStack() as running:
        pipes = [_start(work, running) for _ in range(processes)]
        for answer in _in_order(pipes, iter(items)):
            if answer.failure is not None:
                raise answer.failure
            yield work(answer.item) if answer.killed else answer.result


def _start(work: Callable[[Item], Result], running: ExitStack) -> _Pipe:
    """Start a process that serves until `running` ends; return its pipe."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    running.callback(ours.close)
    with theirs:
        process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        with _interruptions_held():
            process.start()
    running.callback(process.join)
    running.callback(process.kill)
    return ours


@contextmanager
def _interruptions_held() -> Iterator[None]:
    """Hold Ctrl-C back until the end of the block; a process that starts in it has it held.

    Else one that comes while a process imports its modules ends it with a traceback.
    """
    resource_tracker.ensure_running()  # whose start would let SIGINT through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _in_order(pipes: Sequence[_Pipe], items: Iterator[Any]) -> Iterator[_Answer]:
    """Give each process the next item as it answers; yield the answers in the items' order."""
    free, todo = list(pipes), enumerate(items)
    busy: dict[_Pipe, tuple[int, Any]] = {}
    answers: dict[int, _Answer] = {}
    for wanted in count():
        while wanted not in answers:
            while free and (taken := next(todo, None)):
                pipe = free.pop()
                busy[pipe] = taken
                _ask(pipe, taken[1])
            if not busy:
                taken = next(todo, None)  # there is one only if all were killed
                if taken is None:
                    return
                answers[taken[0]] = _Answer(item=taken[1], killed=True)
                continue
            ready = wait(list(busy))
            for pipe in [each for each in busy if each in ready]:
                number, item = busy.pop(pipe)
                answers[number] = replace(_answer(pipe), item=item)
                if not answers[number].killed:
                    free.append(pipe)
        yield answers.pop(wanted)


def _ask(pipe: _Pipe, item: object) -> None:
    """Send an item; a process that is gone is no error here: its answer will be missing."""
    try:
        pipe.send(item)
    except _GONE:
        return


def _answer(pipe: _Pipe) -> _Answer:
    try:
        answer: _Answer = pipe.recv()
    except _GONE:
        return _Answer(killed=True)
    return answer


def _serve(pipe: _Pipe, work: Callable[[Any], Any]) -> None:
    """Answer items until the pipe is closed; Ctrl-C is left to the parent process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    while True:
        try:
            item = pipe.recv()
        except EOFError:
            return
        try:
            answer = _Answer(result=work(item))
        except Exception as problem:  # noqa: BLE001 - raised by the parent process
            answer = _Answer(failure=problem)
        try:
            _reply(pipe, answer)
        except OSError:
            return


def _reply(pipe: _Pipe, answer: _Answer) -> None:
    """Send an answer; that it can't be pickled is a failure of its work.

    Raises
    ------
    OSError
        Nobody takes it.
    """
    try:
        pipe.send(answer)
    except OSError:
        raise
    except Exception as problem:  # noqa: BLE001 - whatever a result's own pickling raises
        pipe.send(_Answer(failure=TypeError(f"a result can't be sent: {problem}")))
