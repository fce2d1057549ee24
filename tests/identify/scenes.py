"""Captures of a sender that keeps to a discipline and a receiver that keeps to a credit rule.

A small world of its own: a link of one rate, a socket buffer, a receiver that takes a moment. The
capture is made at the receiver; HEADERS go out at once (as our own sender does it) or with the
stream's first DATA (as gRPC does it).
"""

import heapq
import struct
from dataclasses import dataclass, field

from h2model.credit import load
from h2model.machine import BLOCKED, Machine
from tests.capture import wire

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

    def play(self):
        """Run to the end; (time, who, bytes) in the order of the capture."""
        window = LARGEST if self.credit is None else self.window
        self.machine = Machine(
            self.discipline,
            options=self.options,
            initial_window=window,
            connection_window=LARGEST,
        )
        self.rule = None if self.credit is None else load(self.credit)
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
            self.said.append((there + self.handling_ns, who, update(stream, more)))
            self.later(there + self.handling_ns + self.delay_ns, "credit", stream, more)


def capture(path, world):
    """Write what the receiver's capture of this world would be."""
    talk = wire.Talk(start_ns=10**18 - 10 * MS).handshake(2 * world.delay_ns)
    for time_ns, who, content in world.play():
        talk.now = 10**18 + time_ns - 1000
        talk.say(who, content, (1 << 16,))
    return wire.write(path, talk.close().packets)
