"""Calls in threads: results, failures, cancelling, and an interruption at any moment."""

import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from types import FrameType

import pytest

from netcosim.threads import begin, in_thread, in_threads
from tests.inside import ROOT
from tests.processes import ended

INTERRUPTIONS = 3000
LONGEST_S = 4e-3
PATIENCE_S = 240


def test_results_come_in_order_of_the_calls() -> None:
    def slowly(number: int) -> int:
        time.sleep(0.02 if number % 2 else 0.05)
        return number

    with in_threads([partial(slowly, number) for number in range(9)], 3) as calls:
        assert [call.result() for call in calls] == list(range(9))
        assert all(call.is_done and not call.is_cancelled for call in calls)


def test_no_more_at_once_than_asked_for_and_none_twice() -> None:
    at_once, most, made = [0], [0], [0]
    lock = threading.Lock()

    def count() -> None:
        with lock:
            made[0] += 1
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        time.sleep(0.01)
        with lock:
            at_once[0] -= 1

    with in_threads([count] * 20, 3) as calls:
        for call in calls:
            call.result()
    assert (made, most) == ([20], [3])


def test_what_a_call_raises_is_raised_by_its_result_alone() -> None:
    def refuse() -> int:
        raise ValueError("three")

    with in_threads([refuse, lambda: 4], 1) as calls:
        with pytest.raises(ValueError, match="three"):
            calls[0].result()
        assert calls[1].result() == 4
    with pytest.raises(ValueError, match="three"):
        in_thread(refuse)


def test_at_the_end_what_began_is_waited_for_and_the_rest_never_begins() -> None:
    entered, may_end = threading.Event(), threading.Event()
    made = []

    def wait() -> str:
        entered.set()
        may_end.wait(60)
        made.append("waited")
        return "waited"

    with in_threads([wait, lambda: made.append("never")], 1) as calls:
        entered.wait(60)
        with pytest.raises(TimeoutError):
            calls[0].result(0.05)
        threading.Timer(0.2, may_end.set).start()
    assert made == ["waited"]
    assert calls[0].result() == "waited"
    assert [call.is_cancelled for call in calls] == [False, True]
    with pytest.raises(CancelledError):
        calls[1].result()


def test_what_is_begun_goes_on_beside() -> None:
    may_end = threading.Event()
    call = begin(lambda: may_end.wait(60))
    assert not call.is_done
    may_end.set()
    assert call.result()


@pytest.mark.oracle
def test_an_interruption_at_any_moment_locks_nothing_up() -> None:
    """With `concurrent.futures` one of some hundreds left a lock held, and all waited for ever."""
    done = ended([sys.executable, "-m", __name__], cwd=ROOT, timeout=PATIENCE_S)
    assert done.stdout.split() == [f"{INTERRUPTIONS}"], done.stderr


def _interrupted() -> None:
    with suppress(KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, random.uniform(2e-5, LONGEST_S))
        while True:
            assert in_thread(lambda: subprocess.run(["true"], check=True)).returncode == 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _interrupt)
    for _ in range(INTERRUPTIONS):
        with suppress(KeyboardInterrupt):  # raised between two blocks
            _interrupted()
    print(INTERRUPTIONS)
