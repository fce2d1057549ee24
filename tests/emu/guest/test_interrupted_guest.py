"""An interruption while a guest is waited for: passed on to it, and never forgotten."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from emu.guest.boot import Guest, GuestError
from emu.guest.side_by_side import SideBySide, Wanted

Json = dict[str, Any]
NAME = "small/h2"


class Waiting(Guest):
    """A guest that never boots; it can be interrupted or not."""

    def __init__(self, can_be: bool) -> None:
        self.can_be, self.interrupted = can_be, False

    def interrupt(self) -> bool:
        self.interrupted = self.can_be
        return self.can_be

    def kill(self) -> None:
        return


class Guests(SideBySide):
    """Guests that end as `end` says, some time after the test was interrupted."""

    end: Callable[[], Json]
    guest: Waiting

    def _boot(self, wanted: Wanted) -> Json:
        self._running[wanted.name] = self.guest
        time.sleep(0.4)
        del self._running[wanted.name]
        return self.end()


@pytest.fixture(autouse=True)
def interrupted_soon() -> Iterator[None]:
    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt("SIGTERM")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.15)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def answered(scratch: Path, end: Callable[[], Json], *, can_be: bool = True) -> tuple[Guests, Any]:
    guests = Guests(scratch=scratch, say=print)
    guests.end, guests.guest = end, Waiting(can_be)
    with guests.running([Wanted(name=NAME, build=_never)]):
        return guests, guests.answer_of_interrupted(NAME)


def _never(folder: Path) -> Guest:
    raise AssertionError(folder)


def test_the_answer_of_a_guest_that_was_about_to_end_comes_with_the_interruption(tmp_path) -> None:
    guests, (answer, interruption) = answered(tmp_path, lambda: {"round": 1})
    assert answer == {"round": 1}
    assert str(interruption) == "SIGTERM"
    assert guests.guest.interrupted


def test_a_guest_that_can_not_be_interrupted_may_end_all_the_same(tmp_path: Path) -> None:
    _, (answer, interruption) = answered(tmp_path, lambda: {"round": 1}, can_be=False)
    assert answer == {"round": 1}
    assert str(interruption) == "SIGTERM"


def test_of_a_guest_that_dies_of_it_the_interruption_is_left(tmp_path: Path) -> None:
    def die() -> Json:
        raise GuestError("what a guest ran ended with 130")

    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        answered(tmp_path, die)
