"""A discipline and a kind of endpoint that the project does not have: a file each, nothing else."""

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("netcosim", "h2model", "topo", "sim", "emu")

LARGEST = "s.left[i] > s.left[best]"
"""The comparison by which `largest_first` chooses."""

FILES = {
    "h2model/disciplines/largest_first.py": f'''\
"""Largest first: of the streams that may send, the one with the most bytes left, turn by turn."""

from collections.abc import Mapping, Sequence
from typing import Final

from h2model.disciplines import Traits
from h2model.observed import Observed
from h2model.state import HEAD, NONE, OUT, STALLED, State, allowed, push_tail, take, unlink

ABOUT = "a turn of the stream with the most bytes left"
OPTIONS: dict[str, int] = {{"turn": 16384}}
TRAITS: Final = Traits(work_conserving=True, preempts=True)

_TURN: Final = 0


def start(s: State) -> None:
    """Nothing to prepare."""


def enqueued(s: State, i: int, now: int) -> None:
    """A new message is one more to choose from."""
    push_tail(s, i)


def credited(s: State, i: int, now: int) -> None:
    """So is one whose credit has come."""
    push_tail(s, i)


def select(s: State, budget: int, now: int) -> tuple[int, int]:
    """The first of those with the most bytes left."""
    best = NONE
    i = s.shared[HEAD]
    while i != NONE:
        following = s.after[i]
        if s.credit[i] <= 0:
            unlink(s, i, STALLED)
        elif best == NONE or {LARGEST}:
            best = i
        i = following
    if best == NONE:
        return NONE, 0
    size = allowed(s, best, min(budget, s.option[_TURN]))
    if size > 0:
        take(s, best, size)
        if s.left[best] == 0:
            unlink(s, best, OUT)
        return best, size
    return NONE, 0


def sent(s: State, i: int, size: int, now: int) -> None:
    """Nothing depends on when the kernel took the bytes."""


def cancelled(s: State, i: int, now: int) -> None:
    """Nothing kept beyond the ready list."""


def visits(options: Sequence[int]) -> int:
    """As many as others have more left meanwhile."""
    return 0


def suggested(observed: Observed) -> list[dict[str, int]]:
    """Turns of the largest frame."""
    return [{{"turn": observed.frame_bytes}}]


def describe(options: Mapping[str, int]) -> str:
    """Its turn in words."""
    return f", {{options['turn']}} bytes a turn"
''',
    # Our own sender by another name, whose frames are as long as they are.
    "h2model/transports/plain.py": """\
from h2model.transports.h2 import GRPC_FRAMING, KEEPS_WINDOWS, BOUNDS_UNACKNOWLEDGED, RECEIVER_HAS
from h2model.transports.h2 import STUDIED, WRITES_EACH, check

SENDER_HAS = frozenset({"discipline", "options"})
INSTEAD = {"whole_messages": "a plain sender knows no messages"}
""",
    "emu/endpoints/transports/plain.py": """\
from emu.endpoints.transports.h2 import CAPABILITIES, check, command, environment, missing, settings
""",
}


def copy_with_added_files(folder: Path) -> Path:
    """The packages below `folder`, as if installed there, with the files added."""
    copy = folder / "copy"
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name, text in FILES.items():
        assert not (copy / name).exists()
        (copy / name).write_text(text)
    return copy
