"""Which functions of a kernel are inlined where they are called.

A call costs more than what most of these functions do. Inlining all of them wherever they are
called makes the extended engine nine times its text; without the few that are both long and called
in several places it is as fast, and is compiled in a third of the time.
"""

import dis
from collections import Counter
from collections.abc import Mapping
from types import FunctionType
from typing import Final

from sim.kernels.copies import called_functions

MOST_INSTRUCTIONS: Final = 2000
"""Of a function that is inlined in more than one place, with all that is inlined into it."""


def inlined(top: FunctionType, replaced: Mapping[object, object]) -> set[FunctionType]:
    """The functions under `top` that are called in one place, or are small."""
    calls = functions_under(top, replaced)
    places = Counter(called for found in calls.values() for called in found)
    chosen: set[FunctionType] = set()
    lengths: dict[FunctionType, int] = {}
    for function in calls:
        inside = sum(lengths[called] for called in calls[function] if called in chosen)
        lengths[function] = sum(1 for _ in dis.get_instructions(function)) + inside
        if places[function] == 1 or lengths[function] <= MOST_INSTRUCTIONS:
            chosen.add(function)
    return chosen


def functions_under(
    top: FunctionType, replaced: Mapping[object, object]
) -> dict[FunctionType, list[FunctionType]]:
    """All functions that a kernel consists of, each with those that it calls, which come first."""
    calls: dict[FunctionType, list[FunctionType]] = {}

    def follow(function: FunctionType) -> None:
        if function not in calls:
            found = list(called_functions(function, replaced))
            for called in found:
                follow(called)
            calls[function] = found

    follow(top)
    return calls
