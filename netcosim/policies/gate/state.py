"""The flat state that every schedule works on, and the moves on it.

Everything is an integer in an indexable sequence: Python lists when interpreted, int64 arrays when
compiled. Functions here and in `netcosim.policies.schedule` keep to what numba can compile, so that
one source serves the simulator and real senders.

A message is known by its number, which is its priority: 0 is what the next step needs first. Its
stage goes from `TO_COME` over `WAITING` and `IN_FLIGHT` to `DONE`, in each step anew.
"""

from typing import Final, NamedTuple

Ints = list[int]

NONE: Final = -1

# Values of GateState.stage.
TO_COME: Final = 0
"""Not handed over yet in this step."""
WAITING: Final = 1
IN_FLIGHT: Final = 2
"""Handed to the connection, and not acknowledged."""
DONE: Final = 3

# Indices into GateState.register.
MESSAGES: Final = 0
LEFT: Final = 1
"""Messages of this step that are to come."""
FIRST: Final = 2
"""No message before this one waits."""
FLIGHT_BYTES: Final = 3
LINE_HEAD: Final = 4
LINE_COUNT: Final = 5
BEGAN_NS: Final = 6
"""When the step would have begun, by the message that was handed over last and `generated_ns`."""
OWN: Final = 7
"""First of the registers that a schedule may use as it likes."""
REGISTERS: Final = 16


class GateState(NamedTuple):
    """State of the gate before one connection.

    Attributes
    ----------
    size_bytes : (messages,)
    generated_ns : (messages,) expected time from a step's begin until it is handed over
    stage : (messages,)
    line : (messages,) ring of the messages in the order of hand-over
    register : (REGISTERS,) see the indices above
    option : the schedule's parameters in its declared order
    rate : (1,) bytes a second that the connection is expected to carry
    """

    size_bytes: Ints
    generated_ns: Ints
    stage: Ints
    line: Ints
    register: Ints
    option: Ints
    rate: Ints


def reset(g: GateState, messages: int) -> None:
    """Empty a gate of so many messages; all are to come."""
    for i in range(messages):
        g.stage[i] = TO_COME
    for k in range(REGISTERS):
        g.register[k] = 0
    g.register[MESSAGES] = messages
    g.register[LEFT] = messages
    g.register[FIRST] = messages


def arrive(g: GateState, i: int, now: int) -> None:
    """Note that a message is handed over; the first one behind a step's last begins a new step."""
    messages = g.register[MESSAGES]
    if g.register[LEFT] == 0:
        for j in range(messages):
            if g.stage[j] == DONE:
                g.stage[j] = TO_COME
        g.register[LEFT] = messages
    g.register[LEFT] -= 1
    g.stage[i] = WAITING
    g.register[FIRST] = min(g.register[FIRST], i)
    g.register[BEGAN_NS] = now - g.generated_ns[i]
    g.line[(g.register[LINE_HEAD] + g.register[LINE_COUNT]) % messages] = i
    g.register[LINE_COUNT] += 1


def first_waiting(g: GateState) -> int:
    """The waiting message of highest priority; NONE if none waits."""
    i = g.register[FIRST]
    while i < g.register[MESSAGES] and g.stage[i] != WAITING:
        i += 1
    g.register[FIRST] = i
    return i if i < g.register[MESSAGES] else NONE


def oldest_waiting(g: GateState) -> int:
    """The waiting message that was handed over first; NONE if none waits."""
    while g.register[LINE_COUNT] > 0:
        i = g.line[g.register[LINE_HEAD]]
        if g.stage[i] == WAITING:
            return i
        _drop_head(g)
    return NONE


def submit(g: GateState, i: int) -> None:
    """Note that a waiting message goes to the connection."""
    g.stage[i] = IN_FLIGHT
    g.register[FLIGHT_BYTES] += g.size_bytes[i]
    while g.register[LINE_COUNT] > 0 and g.stage[g.line[g.register[LINE_HEAD]]] != WAITING:
        _drop_head(g)


def acknowledge(g: GateState, i: int) -> None:
    """Note that a message has arrived, and that its sender knows."""
    g.register[FLIGHT_BYTES] -= g.size_bytes[i]
    if g.stage[i] == IN_FLIGHT:
        g.stage[i] = DONE


def _drop_head(g: GateState) -> None:
    g.register[LINE_HEAD] = (g.register[LINE_HEAD] + 1) % g.register[MESSAGES]
    g.register[LINE_COUNT] -= 1
