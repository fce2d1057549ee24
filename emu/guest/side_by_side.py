"""Guests of a run, side by side: each is booted once more if its clock stood still."""

import contextlib
import functools
import json
import math
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from emu.guest.boot import Guest, GuestError, StoodStillError
from netcosim.processors import usable_processors
from netcosim.threads import Call, in_threads

ANSWER: Final = "answer.json"
"""File that a guest's program leaves in the folder that guest and machine share."""

_ENDING_S: Final = 2.0

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A guest to run.

    Attributes
    ----------
    name : for people; no two are the same
    build : makes it in an empty folder
    watch : given the folder that it shares, makes what is called several times a second
    about : what errors say behind its name
    """

    name: str
    build: Callable[[Path], Guest]
    watch: Callable[[Path], Callable[[], None]] = lambda _: lambda: None
    about: str = ""


@dataclass(slots=True, kw_only=True)
class SideBySide:
    """Guests, started in the order of their list, as many at once as there are processors.

    Attributes
    ----------
    scratch : folder in memory, for a folder of each
    say : told of a guest that is booted once more
    seconds : of the machine's time, by guest
    stood_still : guests whose clock stood still once
    """

    scratch: Path
    say: Callable[[str], None]
    seconds: dict[str, float] = field(default_factory=dict)
    stood_still: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)
    _calls: dict[str, Call[Json]] = field(default_factory=dict)
    _running: dict[str, Guest] = field(default_factory=dict)
    _over: bool = False

    @contextlib.contextmanager
    def running(self, wanted: Sequence[Wanted]) -> Iterator[None]:
        """Run these; none is left at the end of the block."""
        self._numbers.update({each.name: number for number, each in enumerate(wanted)})
        runs = [functools.partial(self._run, each) for each in wanted]
        with in_threads(runs, usable_processors()) as calls:
            self._calls.update({each.name: call for each, call in zip(wanted, calls, strict=True)})
            try:
                yield
            finally:
                self._over = True  # a guest that is about to boot sees it when it has
                for call in calls:
                    call.cancel()
                for guest in list(self._running.values()):
                    guest.kill()

    def exchange(self, name: str) -> Path:
        """The folder that a guest shares with the machine, while it runs and afterwards."""
        return self._folder(name) / "exchange"

    def has_answered(self, name: str) -> bool:
        """True if a guest's answer is there, or the guest has died."""
        call = self._calls[name]
        return call.is_done and not call.is_cancelled

    def forget(self, name: str) -> None:
        """Remove the folder of a guest that is over."""
        shutil.rmtree(self._folder(name), ignore_errors=True)

    def answer(self, name: str) -> Json:
        """Wait for a guest's answer.

        Raises
        ------
        GuestError
            The guest died.
        """
        return self._calls[name].result()

    def answer_of_interrupted(self, name: str) -> tuple[Json, KeyboardInterrupt | None]:
        """Wait for a guest's answer; an interruption is passed on to the guest, and returned.

        A guest that was about to end anyway answers as if there had been none.

        Raises
        ------
        GuestError
            The guest died.
        KeyboardInterrupt
            It could not be passed on.
        """
        try:
            return self.answer(name), None
        except KeyboardInterrupt as interruption:
            guest = self._running.get(name)
            taken = guest is not None and guest.interrupt()
            try:  # one that can't take it may be about to end
                return self._calls[name].result(math.inf if taken else _ENDING_S), interruption
            except (GuestError, CancelledError, TimeoutError):  # it had hardly booted
                raise interruption from None

    def end_early(self, names: Collection[str], interrupt: bool) -> set[str]:
        """Begin no more guests; of these, those whose answers are there or will be soon.

        Those that run will answer only if they are to be interrupted, and can be.
        """
        for call in self._calls.values():
            call.cancel()
        running = dict(self._running) if interrupt else {}
        taken = {name for name, guest in running.items() if name in names and guest.interrupt()}
        return taken | {name for name in names if self.has_answered(name)}

    def _folder(self, name: str) -> Path:
        """A path without the guest's name, which may be long."""
        return self.scratch / f"guest-{self._numbers[name]}"

    def _run(self, wanted: Wanted) -> Json:
        """Run a guest, once more if its clock stood still: the second one measures the same.

        Raises
        ------
        GuestError
            It died, or the clock of the second stood still as well.
        """
        name = wanted.name
        try:
            return self._boot(wanted)
        except StoodStillError as problem:
            self.stood_still.append(name)
            self.say(f"{name}: {problem}; once more")
            shutil.rmtree(self._folder(name))
        try:
            return self._boot(wanted)
        except StoodStillError as problem:
            raise StoodStillError(f"{name}{wanted.about}: twice {problem}") from None

    def _boot(self, wanted: Wanted) -> Json:
        started = time.monotonic()
        name, folder = wanted.name, self._folder(wanted.name)
        try:
            folder.mkdir()
            guest = wanted.build(folder)
        except OSError as problem:
            raise GuestError(f"{name}: {folder}: {problem.strerror}") from None
        self._running[name] = guest
        try:
            self._start(guest, name)
            done = guest.wait(wanted.watch(guest.exchange))[0]
        finally:
            guest.kill()
            del self._running[name]
            self.seconds[name] = round(time.monotonic() - started, 3)
        path = guest.exchange / ANSWER
        if done.code != 0 or not path.exists():
            last = done.err.decode(errors="replace").strip().rpartition("\n")[2]
            raise GuestError(f"{name}: what a guest ran ended with {done.code}: {last}")
        answer: Json = json.loads(path.read_text())
        return answer

    def _start(self, guest: Guest, name: str) -> None:
        try:
            guest.start()
        except OSError as problem:
            raise GuestError(f"{name}: {guest.folder}: {problem.strerror}") from None
        if self._over:
            raise GuestError(f"{name}: ended before it had booted")


def record_of(guests: SideBySide) -> Mapping[str, Any]:
    """Record of the guests for `run.json`, which fills as they run."""
    return {"guests_s": guests.seconds, "stood_still": guests.stood_still}
