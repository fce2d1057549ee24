"""Copies of functions that call other functions than their originals.

A discipline's source stays in `h2model`; every function that a kernel reaches is copied once, with
its calls bound to such copies.
"""

import dis
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

Wrap = Callable[[FunctionType, FunctionType], Callable[..., Any]]
"""Gets a function and its copy."""


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
    made[source] = wrap(source, copy)
    return made[source]


def called_functions(
    source: FunctionType, replaced: Mapping[object, object]
) -> Iterator[FunctionType]:
    """The functions that a copy of a function calls, once for each place where it does."""
    for used in _globals_read(source):
        value = source.__globals__.get(used)
        other = replaced.get(value, value) if isinstance(value, FunctionType) else None
        if isinstance(other, FunctionType):
            yield other


def _globals_read(function: FunctionType) -> list[str]:
    """The global names that a function reads; attributes may have the same names."""
    instructions = dis.get_instructions(function)
    return [str(i.argval) for i in instructions if i.opname == "LOAD_GLOBAL"]
