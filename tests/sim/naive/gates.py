"""Gates once more, written from docs/background/schedules.md, for comparison.

Each is asked which of the messages that wait goes next. What the page leaves open: of messages that
came at one time, `fifo` takes the one that was handed over first.
"""

from dataclasses import dataclass, field

from netcosim.training.plan import Gate
from sim.plan import Sending

SECOND_NS = 10**9


@dataclass
class NaiveGate:
    """One connection's gate; messages are numbered by urgency, 0 first."""

    size_bytes: tuple[int, ...]
    generated_ns: tuple[int, ...]
    options: tuple[int, ...]
    bytes_a_second: int
    waiting: list[int] = field(default_factory=list)  # in the order of hand-over
    unacknowledged: list[int] = field(default_factory=list)
    step_began_ns: int = 0

    def __post_init__(self) -> None:
        self.to_come = set(range(len(self.size_bytes)))

    def enqueue(self, message: int, now: int) -> None:
        if not self.to_come:
            self.to_come = set(range(len(self.size_bytes)))
        self.to_come.remove(message)
        self.waiting.append(message)
        self.step_began_ns = now - self.generated_ns[message]
        self.arrived(now)

    def next(self, now: int) -> int | None:
        chosen = self.choose(now) if self.waiting else None
        if chosen is not None:
            self.before_sending(now)
            self.waiting.remove(chosen)
            self.unacknowledged.append(chosen)
        return chosen

    def acknowledge(self, message: int, now: int) -> None:
        self.unacknowledged.remove(message)
        self.acknowledged(message, now)

    @property
    def on_its_way(self) -> int:
        return sum(self.size_bytes[m] for m in self.unacknowledged)

    # What schedules differ in.

    def choose(self, now: int) -> int | None:
        raise NotImplementedError

    def arrived(self, now: int) -> None:
        pass

    def before_sending(self, now: int) -> None:
        pass

    def acknowledged(self, message: int, now: int) -> None:
        pass


class Fifo(NaiveGate):
    def choose(self, now: int) -> int | None:
        return self.waiting[0]


class P3(NaiveGate):
    def choose(self, now: int) -> int | None:
        return None if self.unacknowledged else min(self.waiting)


class ByteScheduler(NaiveGate):
    def choose(self, now: int) -> int | None:
        _, credit_bytes = self.options
        most_urgent = min(self.waiting)
        fits = self.on_its_way + self.size_bytes[most_urgent] <= credit_bytes
        return most_urgent if fits or not self.unacknowledged else None


class Prophet(NaiveGate):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.last_ns = 0  # up to when busy time is counted
        self.measured_from_ns = 0
        self.busy_ns = 0
        self.carried_bytes = 0

    def choose(self, now: int) -> int | None:
        most_urgent = min(self.waiting)
        more_urgent = [m for m in self.to_come if m < most_urgent]
        if not more_urgent:
            return most_urgent
        due_ns = max(0, self.step_began_ns + min(self.generated_ns[m] for m in more_urgent))
        ahead_bytes = self.on_its_way + self.size_bytes[most_urgent]
        through_ns = now + ahead_bytes * SECOND_NS // self.bytes_a_second
        return most_urgent if through_ns <= due_ns else None

    def before_sending(self, now: int) -> None:
        self.count_busy_time(now)

    def acknowledged(self, message: int, now: int) -> None:
        self.unacknowledged.append(message)
        self.count_busy_time(now)
        self.unacknowledged.remove(message)
        self.carried_bytes += self.size_bytes[message]
        if now - self.measured_from_ns >= self.options[1]:
            if self.busy_ns > 0:
                measured = int(self.carried_bytes * 1e9 / self.busy_ns)
                self.bytes_a_second = max(1, measured)
            self.busy_ns = self.carried_bytes = 0
            self.measured_from_ns = now

    def count_busy_time(self, now: int) -> None:
        if self.unacknowledged:
            self.busy_ns += now - self.last_ns
        self.last_ns = now


class ProphetPrinted(NaiveGate):
    used_ns = 0

    def arrived(self, now: int) -> None:
        self.used_ns = 0

    def choose(self, now: int) -> int | None:
        most_urgent = min(self.waiting)
        if most_urgent == 0 or not self.to_come:
            return most_urgent
        own = self.generated_ns[most_urgent]
        interval_ns = min(abs(own - c) for c in self.generated_ns[:most_urgent])
        takes_ns = self.size_bytes[most_urgent] * SECOND_NS // self.bytes_a_second
        if takes_ns > interval_ns - self.used_ns:
            return None
        self.used_ns += takes_ns
        return most_urgent


_GATES = {
    "fifo": Fifo,
    "p3": P3,
    "bytescheduler": ByteScheduler,
    "prophet": Prophet,
    "prophet_printed": ProphetPrinted,
}


def twin_gate(gate: Gate, sending: Sending, rate_bps: int) -> NaiveGate:
    """The gate of a plan before one worker's connection, whose slower port has this rate."""
    assert sending.schedule is not None
    kind = _GATES[sending.schedule]
    options = sending.schedule_options
    return kind(gate.size_bytes, gate.generated_ns, options, max(1, rate_bps // 8))
