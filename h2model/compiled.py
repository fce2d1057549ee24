"""Disciplines compiled with numba: the same source, as machine code over int64 arrays.

Every function that a discipline reaches is copied once, with its calls bound to compiled copies;
the source stays in `h2model.state` and `h2model.disciplines`. The compiled functions may be called
from other compiled code, with a `State` of int64 arrays whose fields `h2model.state` describes.

numba is imported when the first discipline is compiled, not before.
"""

import dis
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, cast

import numpy as np

from h2model import state
from h2model.disciplines import Discipline, load
from h2model.machine import Machine
from h2model.state import State, empty_state


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledDiscipline:
    """A discipline's functions as numba dispatchers, arguments as in its module.

    Attributes
    ----------
    start : start(state)
    enqueued, credited, cancelled : rule(state, slot, now_ns)
    select : select(state, budget_bytes, now_ns) -> (slot, bytes); slot NONE when blocked
    sent : sent(state, slot, size_bytes, now_ns)
    prepare : prepare(state, now_ns), of rules that gather writes
    """

    start: Callable[[State], None]
    enqueued: Callable[[State, int, int], None]
    credited: Callable[[State, int, int], None]
    select: Callable[[State, int, int], tuple[int, int]]
    sent: Callable[[State, int, int, int], None]
    cancelled: Callable[[State, int, int], None]
    prepare: Callable[[State, int], None] | None


@functools.cache
def compile_discipline(name: str) -> CompiledDiscipline:
    """The compiled functions of the discipline of this name; numba compiles each at its first call.

    Raises
    ------
    ValueError
        There is no such discipline.
    """
    rule = load(name)
    prepare = getattr(rule, "prepare", None)
    return CompiledDiscipline(
        start=_compiled(rule.start),
        enqueued=_compiled(rule.enqueued),
        credited=_compiled(rule.credited),
        select=_compiled(rule.select),
        sent=_compiled(rule.sent),
        cancelled=_compiled(rule.cancelled),
        prepare=None if prepare is None else _compiled(prepare),
    )


def compile_move(name: str) -> Callable[..., Any]:
    """The compiled copy of a function of `h2model.state`, such as ``unlink``.

    Raises
    ------
    ValueError
        There is no such function.
    """
    function = getattr(state, name, None)
    if not isinstance(function, FunctionType):
        raise ValueError(f'h2model.state has no function "{name}"')
    return _compiled(function)


def array_state(capacity: int, options: list[int]) -> State:
    """State of a connection without streams, as int64 arrays for the compiled functions."""
    lists = empty_state(capacity, options)
    arrays = [np.array(values, dtype=np.int64) for values in lists]
    return State(*cast("list[list[int]]", arrays))


class CompiledMachine(Machine):
    """A `Machine` whose rule is compiled; it decides as the interpreted one does."""

    _grows = False  # arrays keep their size

    @staticmethod
    def _load_rule(discipline: str) -> Discipline:
        return cast("Discipline", compile_discipline(discipline))

    @staticmethod
    def _new_state(capacity: int, options: list[int]) -> State:
        return array_state(capacity, options)


Wrap = Callable[[FunctionType], Callable[..., Any]]

_LIBRARY: dict[object, Callable[..., Any]] = {}
"""Compiled copies without replacements, shared by all disciplines."""


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a copy of `function` in which every function that it calls is compiled, too."""
    from numba import njit

    return bind_copy(cast("FunctionType", function), {}, {}, _LIBRARY, njit)


def bind_copy(
    source: FunctionType,
    replaced: Mapping[object, object],
    constants: Mapping[str, int],
    made: dict[object, Callable[..., Any]],
    wrap: Wrap,
) -> Callable[..., Any]:
    """A copy of a function in which every function that it calls is such a copy, too.

    Parameters
    ----------
    replaced : functions that stand for others
    constants : values of names in the source
    made : copies made so far with the same replacements; new ones are added
    wrap : what is done to each copy, such as compiling it
    """
    if source in made:
        return made[source]
    names = dict(source.__globals__)
    for used in _globals_read(source):
        value = names.get(used)
        if isinstance(value, FunctionType):
            other = replaced.get(value, value)
            if isinstance(other, FunctionType):
                other = bind_copy(other, replaced, constants, made, wrap)
            names[used] = other
        elif used in constants:
            names[used] = constants[used]
    copy = FunctionType(source.__code__, names, source.__name__, source.__defaults__)
    copy.__qualname__ = source.__qualname__
    copy.__module__ = source.__module__
    made[source] = wrap(copy)
    return made[source]


def _globals_read(function: FunctionType) -> set[str]:
    """The global names that a function reads; attributes may have the same names."""
    instructions = dis.get_instructions(function)
    return {str(i.argval) for i in instructions if i.opname == "LOAD_GLOBAL"}
