"""Accounts of a connection kept beside the machine, from the operations alone."""

from dataclasses import dataclass, field


@dataclass
class Ledger:
    """Refuses every decision that a sender must not take.

    `gathers` tells of a discipline that uses up credit when it gathers a write: what it emits then
    is held against the most that was ever granted, and while the kernel hasn't taken all of a write
    it may rest.
    """

    window: int
    connection: int
    gathers: bool
    granted: dict = field(default_factory=dict)
    most: dict = field(default_factory=dict)
    early: dict = field(default_factory=dict)
    enqueued: dict = field(default_factory=dict)
    emitted: dict = field(default_factory=dict)
    cancelled: set = field(default_factory=set)

    def see(self, kind, *values):
        getattr(self, kind)(*values)

    def enqueue(self, stream, size):
        if stream not in self.enqueued:
            self.enqueued[stream] = self.emitted[stream] = 0
            self.granted[stream] = self.most[stream] = 0
            self.grant(stream, self.window + self.early.pop(stream, 0))
        self.enqueued[stream] += size

    def grant(self, stream, size):
        self.granted[stream] += size
        self.most[stream] = max(self.most[stream], self.granted[stream])

    def credit(self, stream, size):
        if stream == 0:
            self.connection += size
        elif stream in self.enqueued:
            self.grant(stream, size)
        else:
            self.early[stream] = self.early.get(stream, 0) + size

    def resize(self, window):
        for stream in self.enqueued:
            self.grant(stream, window - self.window)
        self.window = window

    def cancel(self, stream):
        self.early.pop(stream, None)
        if stream in self.enqueued:
            self.cancelled.add(stream)

    def decided(self, stream, size, budget):
        assert 0 < size <= budget
        assert stream not in self.cancelled
        self.emitted[stream] += size
        assert self.emitted[stream] <= self.enqueued[stream]
        limit = self.most if self.gathers else self.granted
        assert self.emitted[stream] <= limit[stream]
        self.connection -= size
        assert self.connection >= 0

    def blocked(self, kernel_has_more_to_take):
        if self.gathers and kernel_has_more_to_take:
            return
        able = [
            stream
            for stream, size in self.enqueued.items()
            if stream not in self.cancelled
            and self.emitted[stream] < size
            and self.emitted[stream] < self.granted[stream]
        ]
        assert not able or self.connection <= 0, f"idle, though {able} may send"

    def sent(self, stream, size):
        pass
