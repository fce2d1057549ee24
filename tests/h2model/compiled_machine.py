"""Disciplines compiled with numba: the same source, as machine code over int64 arrays."""

from collections.abc import Callable
from functools import cache
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from numba import njit

from h2model import state
from h2model.disciplines import load, resolve_options
from h2model.machine import Machine
from h2model.state import CONNECTION_CREDIT, State, empty_state
from sim.kernels.copies import bind_copy

_CAPACITY = 1024
_made: dict[object, Callable[..., Any]] = {}
"""Compiled copies, shared by all disciplines."""


def compiled(function: Any) -> Callable[..., Any]:
    """A copy of `function`, compiled with every function that it calls."""
    return bind_copy(function, {}, {}, _made, lambda _, copy: njit(copy))


@cache
def compile_discipline(name: str) -> SimpleNamespace:
    """The functions of a discipline as numba dispatchers; each is compiled at its first call."""
    rule = load(name)
    functions = ("start", "enqueued", "credited", "select", "sent", "cancelled", "prepare")
    found = {each: getattr(rule, each) for each in functions if hasattr(rule, each)}
    return SimpleNamespace(**{each: compiled(function) for each, function in found.items()})


def compile_move(name: str) -> Callable[..., Any]:
    """The compiled copy of a function of `h2model.state`, such as ``unlink``."""
    function = getattr(state, name)
    assert isinstance(function, FunctionType)
    return compiled(function)


def array_state(capacity: int, options: list[int]) -> State:
    """State of a connection without streams, as int64 arrays for the compiled functions."""
    return State(*(np.array(each, dtype=np.int64) for each in empty_state(capacity, options)))


class CompiledMachine(Machine):
    """A `Machine` whose rule is compiled; it decides as the interpreted one does."""

    def __init__(self, discipline, *, options, initial_window, connection_window):
        super().__init__(
            discipline,
            options=options,
            initial_window=initial_window,
            connection_window=connection_window,
            capacity=_CAPACITY,  # arrays keep their size
        )
        self._rule = compile_discipline(discipline)
        self._prepare = getattr(self._rule, "prepare", None)
        self.state = array_state(_CAPACITY, resolve_options(discipline, options))
        self.state.shared[CONNECTION_CREDIT] = connection_window
        self._rule.start(self.state)
