"""Disciplines (stream schedulers of a sender), one file each; the registry is the folder.

A discipline is a module with `ABOUT` (a few words), `OPTIONS` (names, defaults, order of its
integer parameters), `TRAITS` (what is true of it) and the functions `start`, `enqueued`,
`credited`, `select`, `sent`, `cancelled` over `h2model.state.State`. It may have, too:

- `prepare(state, now_ns)`, called before the kernel is asked for room: gather the next write, as a
  discipline does whose trait is `gathers`;
- `visits(options)`: in how many visits it serves a message if credit returns at once, the first of
  at most a window, each to its end and in turn; 0 where that can't be said;
- `suggested(observed)`: the options that an observed burst suggests, best first;
- `describe(options)`: its options in words, behind `ABOUT`;
- `IN_WORDS`: by option, what one that is not at its default is called in a list of such.

Other names of a file begin with an underscore: `load` refuses what nobody would read.
"""

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol, cast

from h2model.file_check import check_file
from h2model.observed import Observed
from h2model.state import State
from netcosim.formatting import shown
from netcosim.nearest import unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """Properties of a discipline, whatever its options.

    Attributes
    ----------
    work_conserving : it always chooses something while a stream has bytes and credit
    preempts : a stream may go before what is left of another
    cyclic : no stream's turn passes over one that has waited for longer and was given less
    by_arrival : no visit passes over a stream that was handed over before and can be served
    to_the_end : a visit ends only with its stream's data or credit, or where a stream may preempt
    turn_option : the option that bounds a turn while another stream waits, if one does
    write_option : the option that is the least size of a write, if only writes cut turns
    in_turns : the rule that it equals where a turn is one DATA frame, if there is one
    timed : its turns depend on how fast the kernel takes them, which no capture shows
    gathers : its writes are gathered by `h2model.grpc_write`, and in the registers of that
    without_windows : the rule that it is where no window binds, if that is another one
    without_priorities : the rule that it is where all priorities are alike, if it looks at them
    """

    work_conserving: bool = False
    preempts: bool = False
    cyclic: bool = False
    by_arrival: bool = False
    to_the_end: bool = False
    turn_option: str | None = None
    write_option: str | None = None
    in_turns: str | None = None
    timed: bool = False
    gathers: bool = False
    without_windows: str | None = None
    without_priorities: str | None = None

    @property
    def by_priority(self) -> bool:
        """True if it looks at priorities."""
        return self.without_priorities is not None


class Discipline(Protocol):
    """Interface of a discipline's module."""

    ABOUT: str
    OPTIONS: dict[str, int]
    TRAITS: Traits

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


_MOST: Final = 2**53
_OPTIONAL: Final = ("IN_WORDS", "describe", "prepare", "suggested", "visits")


@cache
def names() -> tuple[str, ...]:
    """The names of all disciplines, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__)))


@cache
def load(name: str) -> Discipline:
    """The discipline of this name.

    Raises
    ------
    ValueError
        There is none; the message lists those that exist. Or its file lacks a name, or has one
        that no discipline has.
    """
    if name not in names():
        raise ValueError(unknown(name, names(), f'unknown discipline "{name}"'))
    module = importlib.import_module(f"{__name__}.{name}")
    check_file(module, Discipline, _OPTIONAL)
    return cast("Discipline", module)


def traits(name: str) -> Traits:
    """The properties of the discipline of this name."""
    return load(name).TRAITS


def without_windows(name: str) -> str:
    """Name of the rule that it equals where no window binds."""
    return traits(name).without_windows or name


def without_priorities(name: str) -> str:
    """Name of the rule that it equals where all streams have the same priority."""
    return traits(name).without_priorities or name


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


def changed_options(name: str, options: Sequence[int]) -> list[str]:
    """The parameters that are not at their defaults, in the discipline's order and words."""
    rule = load(name)
    words: Mapping[str, str] = getattr(rule, "IN_WORDS", {})
    return [
        words.get(key, f"{key} {value}")
        for (key, default), value in zip(rule.OPTIONS.items(), options, strict=True)
        if value != default
    ]


def resolve_options(name: str, options: Mapping[str, int | bool | str]) -> list[int]:
    """The discipline's parameters in its order, defaults filled in.

    Raises
    ------
    ValueError
        An unknown option, or a value that is not a whole number from 0 to 2**53.
    """
    defaults = load(name).OPTIONS
    for key, value in options.items():
        if key not in defaults:
            raise ValueError(unknown(key, defaults, f'{name} has no option "{key}"'))
        if isinstance(value, str) or not 0 <= int(value) <= _MOST:
            allowed = f"must be a whole number, 0 to {_MOST}"
            raise ValueError(f'option "{key}" of {name}: {shown(value)}: {allowed}')
        if int(value) == 0 and defaults[key] > 0:
            raise ValueError(f'option "{key}" of {name}: {value}: must be > 0')
    return [int(options.get(key, default)) for key, default in defaults.items()]
