"""A connection's scheduler for the naive simulator: the disciplines' own naive twins."""

from typing import Any, Protocol, cast

from h2model.disciplines import load
from h2model.machine import Machine
from sim.plan import Sending
from tests.h2model.discipline_twins import TWINS

WITHOUT_FLOW_CONTROL = 2**62


class Scheduler(Protocol):
    """Interface that `h2model.machine.Machine` and the twins have in common."""

    def enqueue(self, stream: int, size: int, now: int, *, priority: int = 0) -> None: ...
    def credit(self, stream: int, size: int, now: int) -> None: ...
    def next(self, budget: int, now: int) -> tuple[int, int]: ...
    def sent(self, stream: int, size: int, now: int) -> None: ...


def _window(window_bytes: int | None) -> int:
    return WITHOUT_FLOW_CONTROL if window_bytes is None else int(window_bytes)


def _options(sending: Sending) -> dict[str, int]:
    names = load(sending.discipline).OPTIONS
    return {name: int(value) for name, value in zip(names, sending.options, strict=True)}


def twin_scheduler(sending: Sending) -> Scheduler:
    """A connection's scheduler, by the readable classes of tests/h2model."""
    make: Any = TWINS[sending.discipline]
    windows = _window(sending.window_bytes), _window(sending.connection_window_bytes)
    return cast("Scheduler", make(*windows, **_options(sending)))


def machine_scheduler(sending: Sending) -> Scheduler:
    """The same by the state machine that predictions and the emulation use."""
    machine = Machine(
        sending.discipline,
        options=_options(sending),
        initial_window=_window(sending.window_bytes),
        connection_window=_window(sending.connection_window_bytes),
        capacity=4096,
    )
    return cast("Scheduler", machine)
