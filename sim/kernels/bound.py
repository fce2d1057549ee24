"""Placeholders for functions of disciplines, shares and schedules, bound when they are compiled.

Here they only give the signatures.
"""

from typing import TypeVar

from h2model.state import State
from netcosim.policies.gate.state import GateState
from sim.kernels.arrays import Net, Run, Step

Fields = TypeVar("Fields")

CLOCKED = 1
"""1 if the share is 1/n, so that a virtual clock per link does."""

EXTENDED = 0
"""1 if gradients may be joined, processors shared and chunks chosen ahead; else no code for it."""

GATED = 0
"""1 if connections have gates; without, the engine has no code for them."""

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


def gate_enqueued(g: GateState, i: int, now: int) -> None:
    """`enqueued` of the schedule; see `netcosim.policies.schedule`."""
    raise NotImplementedError


def gate_select(g: GateState, now: int) -> int:
    """`select` of the schedule; see `netcosim.policies.schedule`."""
    raise NotImplementedError


def gate_ended(g: GateState, i: int, now: int) -> None:
    """`ended` of the schedule; see `netcosim.policies.schedule`."""
    raise NotImplementedError


def gate_start(g: GateState) -> None:
    """`start` of the schedule; see `netcosim.policies.schedule`."""
    raise NotImplementedError


def rates(step: Step, net: Net, run: Run, direction: int) -> None:
    """Set `run.rate`, bytes a nanosecond, of every connection of a direction that has a chunk."""
    raise NotImplementedError
