"""Disciplines (stream schedulers of a sender), one file each; the registry is the folder.

A discipline is a module with `ABOUT` (a few words), `OPTIONS` (names, defaults, order of its
integer parameters) and the functions `start`, `enqueued`, `credited`, `select`, `sent`,
`cancelled` over `h2model.state.State`. It may have, too:

- `prepare(state, now_ns)`, called before a write is gathered: a discipline that gathers has one;
- `CONSERVING = True`: it always chooses something while a stream has bytes and credit;
- `PREEMPTS = True`: a stream may go before what is left of another;
- `GOES_ROUND = True`: no stream's turn passes over one that has waited for longer;
- `PACED = True`: its turns depend on how fast the kernel takes them, which no capture shows;
- `WITHOUT_WINDOWS`: the name of the rule that it is where no window binds;
- `WITHOUT_PRIORITIES`: it looks at priorities; the name of the rule that it is where all are alike;
- `visits(options)`: in how many visits it serves a message if credit returns at once, the first of
  at most a window, each to its end and in turn; 0 where that can't be said;
- `suggested(observed)`: the options that an observed burst suggests, best first;
- `describe(options)`: its options in words, behind `ABOUT`.
"""

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Protocol, cast

from h2model.observed import Observed
from h2model.state import State


class Discipline(Protocol):
    """Interface of a discipline's module."""

    ABOUT: str
    OPTIONS: dict[str, int]

    @staticmethod
    def start(s: State) -> None: ...
    @staticmethod
    def enqueued(s: State, i: int, now: int) -> None: ...
    @staticmethod
    def credited(s: State, i: int, now: int) -> None: ...
    @staticmethod
    def select(s: State, budget: int, now: int) -> tuple[int, int]: ...
    @staticmethod
    def sent(s: State, i: int, size: int, now: int) -> None: ...
    @staticmethod
    def cancelled(s: State, i: int, now: int) -> None: ...


@cache
def names() -> tuple[str, ...]:
    """The names of all disciplines, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__)))


def load(name: str) -> Discipline:
    """The discipline of this name.

    Raises
    ------
    ValueError
        There is none; the message lists those that exist.
    """
    if name not in names():
        raise ValueError(f'unknown discipline "{name}"; allowed: {", ".join(names())}')
    return cast("Discipline", importlib.import_module(f"{__name__}.{name}"))


def conserves(name: str) -> bool:
    """True if the discipline never rests while a stream has bytes and credit (work-conserving)."""
    return bool(getattr(load(name), "CONSERVING", False))


def preempts(name: str) -> bool:
    """True if it may put a stream before what is left of another."""
    return bool(getattr(load(name), "PREEMPTS", False))


def by_priority(name: str) -> bool:
    """True if it looks at priorities."""
    return hasattr(load(name), "WITHOUT_PRIORITIES")


def goes_round(name: str) -> bool:
    """True if no stream's turn passes over one that has waited for longer."""
    return bool(getattr(load(name), "GOES_ROUND", False))


def paced(name: str) -> bool:
    """True if its turns depend on how fast the kernel takes them."""
    return bool(getattr(load(name), "PACED", False))


def gathers(name: str) -> bool:
    """True if it gathers writes, which are prepared before."""
    return hasattr(load(name), "prepare")


def without_windows(name: str) -> str:
    """Name of the rule that it equals where no window binds."""
    return str(getattr(load(name), "WITHOUT_WINDOWS", name))


def without_priorities(name: str) -> str:
    """Name of the rule that it equals where all streams have the same priority."""
    return str(getattr(load(name), "WITHOUT_PRIORITIES", name))


def visits(name: str, options: Sequence[int]) -> int:
    """Number of visits in which it serves a message if credit returns at once; 0 if unknown."""
    rule = getattr(load(name), "visits", None)
    return 0 if rule is None else int(rule(options))


def suggested(name: str, observed: Observed) -> list[dict[str, int]]:
    """The options that an observed burst suggests; the defaults, where it says nothing."""
    suggest = getattr(load(name), "suggested", None)
    return [{}] if suggest is None else list(suggest(observed))


def describe(name: str, options: Mapping[str, int]) -> str:
    """A discipline in a few words, with its options."""
    rule = load(name)
    more = getattr(rule, "describe", None)
    return f"{name} ({rule.ABOUT})" + ("" if more is None else str(more(options)))


def resolve_options(name: str, options: Mapping[str, int | bool | str]) -> list[int]:
    """The discipline's parameters in its order, defaults filled in.

    Raises
    ------
    ValueError
        An unknown option, or a value that is not a whole number >= 0.
    """
    defaults = load(name).OPTIONS
    for key, value in options.items():
        if key not in defaults:
            allowed = ", ".join(defaults) or "none"
            raise ValueError(f'{name} has no option "{key}"; allowed: {allowed}')
        if isinstance(value, str) or int(value) < 0:
            shown = f'"{value}"' if isinstance(value, str) else value
            raise ValueError(f'option "{key}" of {name}: {shown}: must be a whole number >= 0')
        if int(value) == 0 and defaults[key] > 0:
            raise ValueError(f'option "{key}" of {name}: {value}: must be > 0')
    return [int(options.get(key, default)) for key, default in defaults.items()]
