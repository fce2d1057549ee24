"""A whole connection once more, byte by byte: one tick is the time of one byte on the wire."""

from collections import deque
from dataclasses import dataclass, field

HEADER = 9
TICK_NS = 8000
"""A byte at 1 Mbit/s."""


@dataclass
class ByteConnection:
    """Everything in ticks. `sender` is a discipline's twin, `grant` the stream's credit rule.

    A decision falls in a tick when the bytes sent and not acknowledged leave room for one frame of
    full size, or nothing is unacknowledged. A byte is at the receiver `delay` after its tick ends,
    and acknowledged another `delay` later.
    """

    sender: object
    grant: object
    window: int
    connection_window: int
    frame: int
    delay: int
    latency: int
    past: int
    ends: dict = field(default_factory=dict)
    order: list = field(default_factory=list)

    def play(self, messages, limit=100_000):
        """`messages`: stream -> (size, ready tick, priority). Returns False if it gets stuck."""
        self.received = dict.fromkeys(messages, 0)
        self.granted = dict.fromkeys(messages, self.window)
        self.pending = 0
        self.messages = messages
        self.wire = deque()  # (stream, is it the frame's last byte, payload of the frame)
        self.acks = deque()  # ticks at which bytes are acknowledged
        self.credits = {}
        for tick in range(limit):
            for stream, (size, ready, priority) in messages.items():
                if ready == tick:
                    self.sender.enqueue(stream, size, tick * TICK_NS, priority)
            for stream, size in self.credits.pop(tick, []):
                self.sender.credit(stream, size, tick * TICK_NS)
            while self.acks and self.acks[0] <= tick:
                self.acks.popleft()
            self.decide(tick)
            self.transmit(tick)
            if len(self.ends) == len(messages):
                return True
        return False

    def decide(self, tick):
        now = tick * TICK_NS
        while not (unacked := len(self.wire) + len(self.acks)) or (
            unacked + self.frame + HEADER <= self.past
        ):
            stream, size = self.sender.next(self.frame, now)
            if not size:
                return
            self.sender.sent(stream, size, now)
            self.order.append((stream, size))
            self.wire.extend((stream, False, 0) for _ in range(size + HEADER - 1))
            self.wire.append((stream, True, size))

    def transmit(self, tick):
        if not self.wire:
            return
        stream, last, size = self.wire.popleft()
        self.acks.append(tick + 1 + 2 * self.delay)
        if last:
            self.arrive(stream, size, tick + 1 + self.delay)

    def arrive(self, stream, size, tick):
        message = self.messages[stream][0]
        due = self.credits.setdefault(tick + self.latency, [])
        self.received[stream] += size
        if self.received[stream] == message:
            self.ends[stream] = tick * TICK_NS
        if self.connection_window is not None:
            self.pending += size
            if self.pending >= self.connection_window / 2:
                due.append((0, self.pending))
                self.pending = 0
        if self.grant is not None and self.received[stream] < message:
            more = self.grant(self.received[stream], self.granted[stream], self.window, message)
            if more > 0:
                self.granted[stream] += more
                due.append((stream, more))
