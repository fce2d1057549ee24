"""A guest whose clock stood still is run once more; one that does so again ends the run."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from emu.guest import stillness
from emu.guest.boot import Guest, GuestError, StoodStillError
from emu.guest.side_by_side import SideBySide, Wanted
from emu.guest.stillness import Stillness

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


@pytest.fixture
def never_waiting() -> "Iterator[subprocess.Popen[bytes]]":
    """A process that takes all the processor time that it gets, in a group of its own."""
    spins = "print(flush=True)\nwhile True: pass"
    command = [sys.executable, "-c", spins]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def _reason(watch: Stillness) -> str:
    """Ask with the same beats again and again; the reason to give it up."""
    while not (said := watch.reason(1)):
        time.sleep(0.02)
    return said


def test_a_guest_that_the_machine_hardly_runs_is_given_its_processor_time(
    never_waiting: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stillness, "_LOOK_S", 0.02)
    monkeypatch.setattr(stillness, "STUCK_S", 0.5)
    watch = Stillness(never_waiting.pid)
    for _ in range(15):  # three times as long as it may run, and hardly run
        os.kill(never_waiting.pid, signal.SIGSTOP)
        time.sleep(0.1)
        assert watch.reason(1) == ""
        os.kill(never_waiting.pid, signal.SIGCONT)
        time.sleep(0.005)
    # On a machine at work it had taken some before the first look, which lets it take more now.
    told = (
        r"a guest's clock stood still for [\d.]+ s of processor time: a program in it never waits"
    )
    assert re.fullmatch(told, _reason(watch))


def test_a_guest_that_stopped_is_found_by_that_nothing_in_it_runs(
    never_waiting: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stillness, "IDLE_S", 0.2)
    os.kill(never_waiting.pid, signal.SIGSTOP)
    said = _reason(Stillness(never_waiting.pid))
    assert said == "a guest's clock stood still for 0.2 s: nothing in it runs any more"
