"""Release orders, placements, schedules and synchronisations, one file each, the registry."""

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Protocol, cast

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from netcosim.policies import order, placement, schedule, synchronisation
from netcosim.policies.gate.state import GateState
from netcosim.scenario import PolicySpec


class Arrange(Protocol):
    """A release order. `given` are the tensors' priorities, for the order of that name."""

    def __call__(
        self,
        sizes_bytes: Sequence[int],
        rng: np.random.Generator,
        given: Sequence[int | None] = ...,
    ) -> list[int]:
        """Return the tensors' indices in their order of release."""


class Place(Protocol):
    """A placement. `given` are the tensors' servers, for the placement of that name."""

    def __call__(
        self, sizes_bytes: Sequence[int], servers: int, given: Sequence[int | None] = ...
    ) -> list[int]:
        """Return the server of each tensor."""


class StalenessBound(Protocol):
    """A synchronisation policy."""

    def __call__(self, gap: int) -> int | None:
        """Return the steps that a worker may be ahead of the slowest; None: any number."""


class Schedule(Protocol):
    """A schedule's module; see `netcosim.policies.schedule`."""

    ABOUT: str
    OPTIONS: dict[str, int]

    @staticmethod
    def start(g: GateState) -> None: ...
    @staticmethod
    def enqueued(g: GateState, i: int, now: int) -> None: ...
    @staticmethod
    def select(g: GateState, now: int) -> int: ...
    @staticmethod
    def ended(g: GateState, i: int, now: int) -> None: ...


def order_names() -> tuple[str, ...]:
    """The names of all release orders, sorted."""
    return _names(order)


def placement_names() -> tuple[str, ...]:
    """The names of all placements, sorted."""
    return _names(placement)


def synchronisation_names() -> tuple[str, ...]:
    """The names of all synchronisations, sorted."""
    return _names(synchronisation)


def schedule_names() -> tuple[str, ...]:
    """The names of all schedules, sorted."""
    return _names(schedule)


def load_schedule(name: str) -> Schedule:
    """The schedule of this name.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    return cast("Schedule", _load(schedule, "policy.schedule", name))


def schedule_options(name: str, given: Mapping[str, int]) -> tuple[int, ...]:
    """A schedule's parameters in its order, defaults filled in.

    Raises
    ------
    ScenarioError
        No such schedule, an unknown option, or a value that is not above 0; `partition_bytes` may
        be 0.
    """
    defaults = load_schedule(name).OPTIONS
    for key, value in given.items():
        field = f"policy.schedule_options.{key}"
        if key not in defaults:
            raise ScenarioError.at(
                field, value, unknown(key, defaults, f"{name} has no such option")
            )
        if not int(key != PARTITION) <= value <= _MOST:
            least = int(key != PARTITION)
            raise ScenarioError.at(field, value, f"must be a whole number, {least} to {_MOST}")
    return tuple(int(given.get(key, default)) for key, default in defaults.items())


def load_order(name: str) -> Arrange:
    """``arrange(sizes_bytes, rng, given=()) -> permutation`` of the order of this name.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    return cast("Arrange", _load(order, "policy.order", name).arrange)


def order_is_drawn(name: str) -> bool:
    """True if the order of this name is drawn anew for each call: its file says ``DRAWN``.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    return bool(getattr(_load(order, "policy.order", name), "DRAWN", False))


def load_placement(name: str) -> Place:
    """``place(sizes_bytes, servers, given=()) -> server of each`` of the placement of this name.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    return cast("Place", _load(placement, "policy.placement", name).place)


def load_synchronisation(name: str) -> StalenessBound:
    """``staleness(gap) -> steps, or None for no bound`` of the synchronisation of this name.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    found = _load(synchronisation, "training.synchronisation", name)
    return cast("StalenessBound", found.staleness)


def synchronisation_joins(name: str) -> bool:
    """True if servers join workers' gradients under the synchronisation of this name.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    found = _load(synchronisation, "training.synchronisation", name)
    return bool(getattr(found, "JOINS", False))


def release_order(
    policy: PolicySpec, names: Sequence[str], sizes_bytes: Sequence[int], rng: np.random.Generator
) -> list[int]:
    """The tensors' indices in the policy's order of release.

    Raises
    ------
    ScenarioError
        An unknown order, or a priority for a tensor that is not there.
    """
    given = _by_tensor("policy.priorities", policy.priorities, names)
    return load_order(policy.order)(sizes_bytes, rng, given)


def server_of_each(
    policy: PolicySpec, names: Sequence[str], sizes_bytes: Sequence[int], servers: int
) -> list[int]:
    """The server of each tensor by the policy's placement.

    Raises
    ------
    ScenarioError
        An unknown placement; a tensor, named for one, or a server that is not there.
    """
    given = _by_tensor("policy.servers", policy.servers, names)
    return load_placement(policy.placement)(sizes_bytes, servers, given)


def _by_tensor(
    field: str, table: Mapping[str, int], names: Sequence[str]
) -> tuple[int | None, ...]:
    """The table's number of each tensor; None: it is not named."""
    known = set(names)
    unknown = [name for name in table if name not in known]
    if unknown:
        some = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        raise ScenarioError.at(field, unknown[0], f"no such tensor; there are {some}")
    return tuple(table.get(name) for name in names)


_SHOWN = 5
_MOST = 2**53

PARTITION = "partition_bytes"
"""Option of schedules that cut gradients: the bytes of a slice; 0: none is cut."""


@cache
def _names(folder: ModuleType) -> tuple[str, ...]:
    return tuple(sorted(m.name for m in pkgutil.iter_modules(folder.__path__)))


def _load(folder: ModuleType, field: str, name: str) -> ModuleType:
    known = _names(folder)
    if name not in known:
        raise ScenarioError.at(field, name, unknown(name, known))
    return importlib.import_module(f"{folder.__name__}.{name}")
