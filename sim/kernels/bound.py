"""Placeholders for the functions of a discipline and a share, bound when an engine is compiled.

Here they only give the signatures.
"""

from typing import TypeVar

from h2model.state import State
from sim.kernels.arrays import Net, Run, Step

Fields = TypeVar("Fields")

CLOCKED = 1
"""1 if the share is 1/n, so that a virtual clock per link does."""

EXTENDED = 0
"""1 if gradients may be joined and processors shared; without, the engine has no code for it."""

ASKED = 0
"""1 if the fast path asks the discipline for every chunk, as the generic engine does."""


def borrow(fields: Fields) -> Fields:
    """Hand a named tuple on by reference; see `sim.kernels.borrowed`."""
    return fields


def start(s: State) -> None:
    """`start` of the discipline; see `h2model.disciplines`."""
    raise NotImplementedError


def enqueued(s: State, i: int, now: int) -> None:
    """`enqueued` of the discipline; see `h2model.disciplines`."""
    raise NotImplementedError


def credited(s: State, i: int, now: int) -> None:
    """`credited` of the discipline; see `h2model.disciplines`."""
    raise NotImplementedError


def select(s: State, budget: int, now: int) -> tuple[int, int]:
    """`select` of the discipline; see `h2model.disciplines`."""
    raise NotImplementedError


def sent(s: State, i: int, size: int, now: int) -> None:
    """`sent` of the discipline; see `h2model.disciplines`."""
    raise NotImplementedError


def cancelled(s: State, i: int, now: int) -> None:
    """`cancelled` of the discipline; see `h2model.disciplines`."""
    raise NotImplementedError


def rates(step: Step, net: Net, run: Run, direction: int) -> None:
    """Set `run.rate`, bytes a nanosecond, of every connection of a direction that has a chunk."""
    raise NotImplementedError
