"""Captures of a sender that keeps to a discipline and a receiver that keeps to a credit rule.

A small world of its own: a link of one rate, a socket buffer, a receiver that takes a moment. The
capture is made at the receiver; HEADERS go out at once (as our own sender does it) or with the
stream's first DATA (as gRPC does it).
"""

import heapq
import random
import struct
from dataclasses import dataclass, field

from h2model.credit import load
from h2model.machine import BLOCKED, Machine
from tests.emu.capture import wire

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
LARGEST = 2**31 - 1
MS = 1_000_000


def frame(kind, flags, stream, payload=b""):
    length = struct.pack("!I", len(payload))[1:]
    return length + struct.pack("!BBI", kind, flags, stream) + payload


def update(stream, amount):
    return frame(8, 0, stream, struct.pack("!I", amount))


@dataclass
class Message:
    size: int
    at_ns: int = 0
    priority: int = 0


class Stranger:
    """A sender by a rule that no known discipline has: `choose` says who is next, and how much.

    It is asked with the unfinished streams in the order of hand-over, and what is left of each.
    """

    def __init__(self, choose, window=LARGEST):
        self.choose, self.window = choose, window
        self.left, self.credits = {}, {}
        self.turn, self.turn_bytes = None, 0

    @property
    def idle(self):
        return not self.left

    def enqueue(self, stream, size_bytes, now_ns, *, priority=0):
        self.left[stream] = size_bytes
        self.credits.setdefault(stream, self.window)

    def credit(self, stream, size_bytes, now_ns):
        self.credits[stream] = self.credits.get(stream, self.window) + size_bytes

    def next(self, budget_bytes, now_ns):
        able = {s: left for s, left in self.left.items() if self.credits[s] > 0}
        if not able:
            return BLOCKED, 0
        if self.turn not in able or self.turn_bytes <= 0:
            self.turn, self.turn_bytes = self.choose(able)
        size = min(budget_bytes, able[self.turn], self.credits[self.turn], self.turn_bytes)
        return self.turn, size

    def sent(self, stream, size_bytes, now_ns):
        self.turn_bytes -= size_bytes
        self.left[stream] -= size_bytes
        self.credits[stream] -= size_bytes
        if self.left[stream] == 0:
            del self.left[stream]


def at_random(least, most, seed=1):
    """Any stream at any time, for any number of bytes between two bounds."""
    rng = random.Random(seed)
    return lambda able: (rng.choice(list(able)), rng.randint(least, most))


def weighted(weights, quantum):
    """Turns in proportion to a weight of each stream, larger than any that others get."""
    served = {}

    def choose(able):
        least = min(able, key=lambda s: (served.get(s, 0.0), s))
        weight = weights[least // 2 % len(weights)]
        floor = min(served.get(s, 0.0) for s in able)
        for stream in able:
            served[stream] = max(served.get(stream, floor), floor)
        served[least] += 1.0
        return least, quantum * weight

    return choose


def oldest_first(quantum):
    """The stream that came first takes eight turns in a row, all others one (as nginx serves)."""
    count = 0

    def choose(able):
        nonlocal count
        count += 1
        first, *others = able
        turn = count % (8 + len(others))
        return (first if turn < 8 else others[turn - 8]), quantum

    return choose


def latest_first(able):
    """The stream that came last, to its end if no later one comes."""
    return list(able)[-1], 16384


@dataclass
class World:
    discipline: str
    messages: list[Message]
    options: dict = field(default_factory=dict)
    credit: str | None = None  # None: windows that never bind
    window: int = LARGEST
    early_headers: bool = True
    push: bool = False  # the client sends, and nobody asks
    rate_bps: float = 100e6
    delay_ns: int = 200_000
    handling_ns: int = 300_000
    buffer_bytes: int = 120_000
    frame_bytes: int = 16384
    pauses: tuple = ()  # when the receiver does nothing: (from, to), from the first request
    stranger: "Stranger | None" = None  # serves instead of the discipline

    def play(self):
        """Run to the end; (time, who, bytes) in the order of the capture."""
        window = LARGEST if self.credit is None else self.window
        self.machine = self.stranger or Machine(
            self.discipline,
            options=self.options,
            initial_window=window,
            connection_window=LARGEST,
        )
        self.rule = None if self.credit is None else load(self.credit).grant
        self.received, self.granted = {}, {}
        self.sizes = {2 * i + 1: m.size for i, m in enumerate(self.messages)}
        self.opened, self.left = set(), dict(self.sizes)
        settings = frame(4, 0, 0, struct.pack("!HI", 4, window)) + update(0, LARGEST - 65535)
        # Time, who, bytes at the receiver.
        if self.push:
            self.said = [(0, "server", settings), (0, "client", PREFACE + frame(4, 0, 0))]
        else:
            self.said = [(0, "client", PREFACE + settings), (0, "server", frame(4, 0, 0))]
        self.queue = []
        count = 0
        start = 10 * MS
        for index, message in enumerate(self.messages):
            stream, asked = 2 * index + 1, start + message.at_ns
            if not self.push:
                self.said.append((asked, "client", frame(1, 5, stream, b"\x84")))
            count += 1
            heapq.heappush(
                self.queue, (asked + self.delay_ns, count, "asked", stream, message.priority)
            )
        self.count = count
        self.free_ns = float(start)
        while self.queue:
            now = self.queue[0][0]
            while self.queue and self.queue[0][0] == now:
                _, _, what, stream, value = heapq.heappop(self.queue)
                if what == "asked":
                    if self.early_headers:
                        self.put(stream, now, frame(1, 4, stream, b"\x88"))
                    self.machine.enqueue(stream, self.sizes[stream], int(now), priority=value)
                elif what == "credit":
                    self.machine.credit(stream, value, int(now))
            self.pump(now)
        assert not any(self.left.values()), "the scene does not finish"
        return sorted(self.said, key=lambda row: row[0])

    def later(self, time_ns, what, stream=0, value=0):
        self.count += 1
        heapq.heappush(self.queue, (time_ns, self.count, what, stream, value))

    def put(self, stream, now, content):
        """Hand bytes to the kernel; they pass the receiver when the link has taken them."""
        for at in range(0, len(content), 1448):
            part = content[at : at + 1448]
            self.free_ns = max(self.free_ns, now) + (len(part) + 66) * 8e9 / self.rate_bps
            who = "client" if self.push else "server"
            self.said.append((round(self.free_ns) + self.delay_ns, who, part))
        return round(self.free_ns) + self.delay_ns

    def pump(self, now):
        while not self.machine.idle:
            backlog = max(0.0, self.free_ns - now) * self.rate_bps / 8e9
            excess = backlog + self.frame_bytes - self.buffer_bytes
            if excess > 0:
                self.later(now + max(1000, round(excess * 8e9 / self.rate_bps)), "wake")
                return
            stream, size = self.machine.next(self.frame_bytes, int(now))
            if stream == BLOCKED:
                return
            self.machine.sent(stream, size, int(now))
            self.left[stream] -= size
            head = b""
            if stream not in self.opened and not self.early_headers:
                head = frame(1, 4, stream, b"\x88")
            self.opened.add(stream)
            last = self.left[stream] == 0
            there = self.put(stream, now, head + frame(0, int(last), stream, bytes(size)))
            self.consume(stream, size, there)

    def consume(self, stream, size, there):
        if self.rule is None:
            return
        received = self.received[stream] = self.received.get(stream, 0) + size
        granted = self.granted.setdefault(stream, self.window)
        if received >= self.sizes[stream]:
            return
        more = self.rule(received, granted, self.window, self.sizes[stream])
        if more > 0:
            self.granted[stream] += more
            who = "server" if self.push else "client"
            there = self.awake(there + self.handling_ns)
            self.said.append((there, who, update(stream, more)))
            self.later(there + self.delay_ns, "credit", stream, more)

    def awake(self, now):
        """Time at which the receiver gets to do what is due now."""
        for begin, end in self.pauses:
            if 10 * MS + begin <= now < 10 * MS + end:
                return 10 * MS + end
        return now


def capture(path, world):
    """Write what the receiver's capture of this world would be."""
    talk = wire.Talk(start_ns=10**18 - 10 * MS).handshake(2 * world.delay_ns)
    for time_ns, who, content in world.play():
        talk.now = 10**18 + time_ns - 1000
        talk.say(who, content, (1 << 16,))
    return wire.write(path, talk.close().packets)
