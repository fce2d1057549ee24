"""Release orders, placements, schedules and synchronisations, one file each, the registry.

An order has a function `arrange`, and may say of itself: `DRAWN`, it draws; `NEEDS_STEP`, it looks
at the step of a worker; `NEEDS_RATE`, also at how long that step's transfers take.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, cast

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from netcosim.policies import order, placement, schedule, synchronisation
from netcosim.policies.files import first_lines, load_file, names_in
from netcosim.policies.gate.state import GateState
from netcosim.policies.order_input import OrderInput
from netcosim.scenario import PolicySpec
from netcosim.step_graph import StepGraph


class Arrange(Protocol):
    """A release order."""

    def __call__(self, tensors: OrderInput, rng: np.random.Generator) -> list[int]:
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
    return names_in(order)


def placement_names() -> tuple[str, ...]:
    """The names of all placements, sorted."""
    return names_in(placement)


def synchronisation_names() -> tuple[str, ...]:
    """The names of all synchronisations, sorted."""
    return names_in(synchronisation)


def schedule_names() -> tuple[str, ...]:
    """The names of all schedules, sorted."""
    return names_in(schedule)


def load_schedule(name: str) -> Schedule:
    """The schedule of this name.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    return cast("Schedule", load_file(schedule, "policy.schedule", name))


def one_at_a_time(name: str) -> bool:
    """True if a schedule lets a message go when the one before it has been acknowledged.

    Raises
    ------
    ScenarioError
        There is no such schedule.
    """
    return bool(getattr(load_schedule(name), "ONE_AT_A_TIME", False))


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
    """``arrange(tensors, rng) -> permutation`` of the order of this name.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    return cast("Arrange", load_file(order, "policy.order", name).arrange)


def order_is_drawn(name: str) -> bool:
    """True if the order of this name is drawn anew for each call: its file says ``DRAWN``.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    return _says(name, "DRAWN")


def order_needs_step(name: str) -> bool:
    """True if the order of this name looks at a worker's step: its file says ``NEEDS_STEP``.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    return _says(name, "NEEDS_STEP")


def order_needs_rate(name: str) -> bool:
    """True if the order of this name looks at times of transfers: its file says ``NEEDS_RATE``.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    return _says(name, "NEEDS_RATE")


def order_sentences() -> dict[str, str]:
    """By name of an order, what it does: the first line of its file."""
    return first_lines(order)


def placement_sentences() -> dict[str, str]:
    """By name of a placement, what it does: the first line of its file."""
    return first_lines(placement)


def schedule_sentences() -> dict[str, str]:
    """By name of a schedule, what it does: the first line of its file."""
    return first_lines(schedule)


def synchronisation_sentences() -> dict[str, str]:
    """By name of a synchronisation, what it does: the first line of its file."""
    return first_lines(synchronisation)


def load_placement(name: str) -> Place:
    """``place(sizes_bytes, servers, given=()) -> server of each`` of the placement of this name.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    return cast("Place", load_file(placement, "policy.placement", name).place)


def load_synchronisation(name: str) -> StalenessBound:
    """``staleness(gap) -> steps, or None for no bound`` of the synchronisation of this name.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    found = load_file(synchronisation, "training.synchronisation", name)
    return cast("StalenessBound", found.staleness)


def synchronisation_joins(name: str) -> bool:
    """True if servers join workers' gradients under the synchronisation of this name.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    found = load_file(synchronisation, "training.synchronisation", name)
    return bool(getattr(found, "JOINS", False))


def release_order(
    policy: PolicySpec,
    names: Sequence[str],
    sizes_bytes: Sequence[int],
    rng: np.random.Generator,
    step: StepGraph | None = None,
) -> list[int]:
    """The tensors' indices in the policy's order of release.

    Parameters
    ----------
    names, sizes_bytes : (tensors,) as listed
    rng : draws the order, if it is drawn
    step : of a worker, with tensors by their place in `names`; None of a burst

    Raises
    ------
    ScenarioError
        As `check_order`.
    """
    check_order(policy, names, has_step=step is not None)
    given = _by_tensor("policy.priorities", policy.priorities, names)
    return load_order(policy.order)(
        OrderInput(sizes_bytes=sizes_bytes, given=given, step=step), rng
    )


def check_order(policy: PolicySpec, names: Sequence[str], *, has_step: bool) -> None:
    """Refuse an order of release that these tensors can't have.

    Raises
    ------
    ScenarioError
        An unknown order, a priority for a tensor that is not there, or an order that looks at a
        worker's step where there is none.
    """
    if order_needs_step(policy.order) and not has_step:
        others = ", ".join(name for name in order_names() if not order_needs_step(name))
        allowed = f"looks at the step of a training job, which a burst has not; take {others}"
        raise ScenarioError.at("policy.order", policy.order, allowed)
    _by_tensor("policy.priorities", policy.priorities, names)


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


def _says(name: str, constant: str) -> bool:
    """Whether the file of an order says this of itself."""
    return bool(getattr(load_file(order, "policy.order", name), constant, False))


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
