"""A guest whose clock stood still is run once more; one that does so again ends the run."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emu.clocks import virtual
from emu.guest.boot import GuestError, StoodStillError

Json = dict[str, Any]
STILL = StoodStillError("a guest's clock stood still for 300 s: a program in it never waits")
ANSWER = {"round": 1}


class Guests(virtual._Guests):
    """Guests that end as listed."""

    ends: Iterator[Json | GuestError]

    def _boot(self, cell: Any) -> Json:
        self.folder(cell).mkdir()
        end = next(self.ends)
        if isinstance(end, GuestError):
            raise end
        return end


class Made:
    def __init__(self, scratch: Path, *ends: Json | GuestError) -> None:
        transport = SimpleNamespace(sender_release="1.54.3", receiver_release=None)
        self.cell: Any = SimpleNamespace(name="mixed8/old", transport=transport)
        self.said: list[str] = []
        task: Any = SimpleNamespace(
            scratch=scratch,
            plan=SimpleNamespace(cells=[self.cell]),
            progress=SimpleNamespace(say=self.said.append),
        )
        kernel: Any = None
        self.guests = Guests(task=task, kernel=kernel, seconds={}, stood_still=[])
        self.guests.ends = iter(ends)

    def run(self) -> Json:
        return self.guests._run(self.cell)


def test_a_guest_that_stood_still_is_run_once_more(tmp_path: Path) -> None:
    made = Made(tmp_path, STILL, ANSWER)
    assert made.run() == ANSWER
    assert made.said == [f"mixed8/old: {STILL}; once more"]
    assert made.guests.stood_still == ["mixed8/old"]


def test_the_second_time_the_cell_and_its_release_are_told(tmp_path: Path) -> None:
    made = Made(tmp_path, STILL, STILL)
    with pytest.raises(StoodStillError) as caught:
        made.run()
    assert str(caught.value) == (
        "mixed8/old (sender: grpcio 1.54.3): twice a guest's clock stood still for 300 s: "
        "a program in it never waits"
    )


def test_a_guest_that_died_is_not_run_again(tmp_path: Path) -> None:
    made = Made(tmp_path, GuestError("a guest was killed by SIGKILL"), ANSWER)
    with pytest.raises(GuestError, match="killed by SIGKILL"):
        made.run()
    assert made.guests.stood_still == []
