"""A guest whose clock stood still is run once more; one that does so again ends the run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from emu.guest.boot import Guest, GuestError, StoodStillError
from emu.guest.side_by_side import SideBySide, Wanted

Json = dict[str, Any]
STILL = StoodStillError("a guest's clock stood still for 300 s of processor time")
ANSWER = {"round": 1}
NAME, ABOUT = "mixed8/old", " (sender: grpcio 1.54.3)"


class Guests(SideBySide):
    """Guests that end as listed."""

    ends: Iterator[Json | GuestError]

    def _boot(self, wanted: Wanted) -> Json:
        self._folder(wanted.name).mkdir()
        end = next(self.ends)
        if isinstance(end, GuestError):
            raise end
        return end


class Made:
    def __init__(self, scratch: Path, *ends: Json | GuestError) -> None:
        self.said: list[str] = []
        self.guests = Guests(scratch=scratch, say=self.said.append)
        self.guests.ends = iter(ends)

    def run(self) -> Json:
        with self.guests.running([Wanted(name=NAME, build=_never, about=ABOUT)]):
            return self.guests.answer(NAME)


def _never(folder: Path) -> Guest:
    raise AssertionError(folder)


def test_a_guest_that_stood_still_is_run_once_more(tmp_path: Path) -> None:
    made = Made(tmp_path, STILL, ANSWER)
    assert made.run() == ANSWER
    assert made.said == [f"mixed8/old: {STILL}; once more"]
    assert made.guests.stood_still == ["mixed8/old"]


def test_the_second_time_the_cell_and_its_release_are_told(tmp_path: Path) -> None:
    made = Made(tmp_path, STILL, STILL)
    with pytest.raises(StoodStillError) as caught:
        made.run()
    assert str(caught.value) == (f"mixed8/old (sender: grpcio 1.54.3): twice {STILL}")


def test_a_guest_that_died_is_not_run_again(tmp_path: Path) -> None:
    made = Made(tmp_path, GuestError("a guest was killed by SIGKILL"), ANSWER)
    with pytest.raises(GuestError, match="killed by SIGKILL"):
        made.run()
    assert made.guests.stood_still == []
