"""Calls in threads of their own, which an interruption of the main thread can't lock up.

`threading` holds locks in Python code while it starts a thread or waits for an event. A signal
handler that raises there leaves one held, and whoever needs it next waits for ever. Here every
lock is taken and given up within one operation of the interpreter.
"""

import contextlib
import math
import time
from _thread import start_new_thread
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from queue import Empty, SimpleQueue
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_LOOK_AGAIN_S: Final = 1.0
"""An interruption may take the wake-up with it: who waits looks by itself now and then."""

_CANCELLED: Final = object()


class _Event:
    """Event as that of `threading`, but for handlers of signals that raise."""

    def __init__(self) -> None:
        self.is_set = False
        self._woken: SimpleQueue[None] = SimpleQueue()

    def set(self) -> None:
        """Wake who waits."""
        self.is_set = True
        self._woken.put(None)

    def wait(self, seconds: float = math.inf) -> bool:
        """Wait until it is set; return False if it is not in time."""
        deadline = time.monotonic() + seconds
        while not self.is_set and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(Empty):
                self._woken.get(timeout=min(left, _LOOK_AGAIN_S))
        return self.is_set


class Call(Generic[T]):
    """A call that a thread makes, or has made."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._claims: dict[None, object] = {}
        self._over = _Event()
        self._returned: list[T] = []
        self._raised: BaseException = CancelledError()

    @property
    def is_done(self) -> bool:
        """True if it returned or raised something, or was cancelled."""
        return self._over.is_set

    @property
    def is_cancelled(self) -> bool:
        """True if it never began, and never will."""
        return self._claims.get(None) is _CANCELLED

    def make(self) -> None:
        """Make the call, unless another thread does or it was cancelled."""
        if not self._claim(object()):
            return
        try:
            self._returned.append(self._function())
        except BaseException as failure:  # noqa: BLE001 - raised by who asks for the result
            self._raised = failure
        self._over.set()

    def cancel(self) -> None:
        """See to it that it is not made, if it has not begun; may be called again."""
        if self._claim(_CANCELLED):
            self._over.set()

    def _claim(self, claim: object) -> bool:
        """True if this claim is the first, or was."""
        return self._claims.setdefault(None, claim) is claim

    def wait(self, seconds: float = math.inf) -> bool:
        """Wait until it is done; return False if it is not in time."""
        return self._over.wait(seconds)

    def result(self, seconds: float = math.inf) -> T:
        """Wait for what it returns.

        Raises
        ------
        TimeoutError
            It has not ended in so many seconds.
        CancelledError
            It was cancelled before it began.
        BaseException
            What it raised.
        """
        if not self.wait(seconds):
            raise TimeoutError
        if not self._returned:
            raise self._raised
        return self._returned[0]


@contextlib.contextmanager
def in_threads(functions: Sequence[Callable[[], T]], threads: int) -> Iterator[list[Call[T]]]:
    """Call these functions in their order, so many at once; yield the calls.

    At the end of the block those that have not begun are cancelled, and the others waited for;
    another interruption ends the waiting.
    """
    calls = [Call(function) for function in functions]
    try:
        for _ in range(min(threads, len(calls))):
            start_new_thread(_make_all, (calls,))
        yield calls
    finally:
        for call in calls:
            call.cancel()
        for call in calls:
            call.wait()


def in_thread(function: Callable[[], T]) -> T:
    """Call a function in a thread of its own; wait for what it returns, or raises."""
    with in_threads([function], 1) as calls:
        return calls[0].result()


def begin(function: Callable[[], T]) -> Call[T]:
    """Begin a call in a thread of its own, which dies with the program."""
    call = Call(function)
    start_new_thread(call.make, ())
    return call


def _make_all(calls: Sequence[Call[T]]) -> None:
    for call in calls:
        call.make()
