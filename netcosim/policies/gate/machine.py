"""A gate as an object: messages by name, for senders that are driven from Python."""

from collections.abc import Hashable, Sequence

from netcosim.policies import Schedule
from netcosim.policies.gate.state import (
    NONE,
    REGISTERS,
    GateState,
    acknowledge,
    arrive,
    reset,
    submit,
)


class Gate:
    """Gate before one connection.

    Parameters
    ----------
    schedule : its module; see `netcosim.policies.load_schedule`
    messages : their names, the most urgent one first
    size_bytes : of each
    generated_ns : expected time of each from a step's begin until it is handed over
    options : the schedule's parameters in its declared order
    rate_bps : that the connection is expected to carry, at least 8
    """

    def __init__(
        self,
        schedule: Schedule,
        messages: Sequence[Hashable],
        size_bytes: Sequence[int],
        generated_ns: Sequence[int],
        options: Sequence[int],
        rate_bps: int,
    ) -> None:
        count = len(messages)
        self._schedule = schedule
        self._messages = list(messages)
        self._number = {name: i for i, name in enumerate(messages)}
        self._state = GateState(
            size_bytes=list(size_bytes),
            generated_ns=list(generated_ns),
            stage=[0] * count,
            line=[0] * count,
            register=[0] * REGISTERS,
            option=list(options),
            rate=[rate_bps // 8],
        )
        reset(self._state, count)
        schedule.start(self._state)

    def enqueue(self, message: Hashable, now_ns: int) -> None:
        """Hand a message over; `next` says when it may go."""
        i = self._number[message]
        arrive(self._state, i, now_ns)
        self._schedule.enqueued(self._state, i, now_ns)

    def next(self, now_ns: int) -> Hashable | None:
        """The message to hand to the connection now; None if none is to go before anything else."""
        i = self._schedule.select(self._state, now_ns)
        if i == NONE:
            return None
        submit(self._state, i)
        return self._messages[i]

    def ended(self, message: Hashable, now_ns: int) -> None:
        """Note that a message was acknowledged."""
        i = self._number[message]
        acknowledge(self._state, i)
        self._schedule.ended(self._state, i, now_ns)
