"""Strict priority: of the streams that may send, the one of highest priority, then the earliest.

Source: sender-side enforcement as TicTac (MLSys 2019, section 5) has it, carried down into the
connection; RFC 9218 urgency levels without incremental sharing.

A more urgent stream preempts at the next decision.
"""

from typing import Final

from h2model.disciplines import Traits
from h2model.disciplines.fifo import cancelled, credited, select, sent, start
from h2model.state import State, push_sorted

__all__ = ["OPTIONS", "cancelled", "credited", "enqueued", "select", "sent", "start"]

ABOUT = "the most urgent stream first; a more urgent one preempts"
OPTIONS: dict[str, int] = {}
TRAITS: Final = Traits(work_conserving=True, preempts=True, without_priorities="fifo")


def enqueued(s: State, i: int, now: int) -> None:
    """A new message goes before the less urgent ones."""
    push_sorted(s, i)
