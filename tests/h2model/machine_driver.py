"""Operations on a machine as data, how Hypothesis draws them, and what carries them out."""

from collections import deque
from dataclasses import dataclass, field

from hypothesis import strategies as st

from h2model.disciplines import load, names
from h2model.machine import BLOCKED

STREAMS = (1, 3, 5, 7, 9)

# Options small enough for the small messages drawn here, where a discipline has any.
SMALL = {
    "processor_sharing": {"grain": st.integers(1, 40)},
    "round_robin": {"quantum": st.integers(1, 12) | st.integers(1, 60)},
    "two_visit": {
        "requeue_at_completion": st.integers(0, 1),
        "write": st.just(0) | st.integers(20, 300),
        "write_max": st.just(0) | st.integers(100, 600),
        "frame": st.integers(5, 60),
    },
    "write_cycle": {
        "target": st.integers(20, 300),
        "target_min": st.integers(10, 40),
        "target_max": st.integers(100, 600),
        "fast_ns": st.integers(1, 50),
        "slow_ns": st.integers(50, 200),
        "frame": st.integers(5, 60),
        "finish_first": st.integers(0, 1),
        "head_first": st.integers(0, 30),
        "head": st.integers(0, 30),
        "tail_first": st.integers(0, 30),
        "tail": st.integers(0, 30),
    },
}

_stream = st.sampled_from(STREAMS)
_operation = st.one_of(
    st.tuples(st.just("enqueue"), _stream, st.integers(1, 200), st.integers(-2, 2)),
    st.tuples(st.just("next"), st.integers(1, 8)),
    st.tuples(st.just("next"), st.integers(1, 100)),
    st.tuples(st.just("next"), st.just(10_000)),
    st.tuples(st.just("sent"), st.booleans()),
    st.tuples(st.just("credit"), st.sampled_from((0, *STREAMS)), st.integers(1, 200)),
    st.tuples(st.just("credit"), _stream, st.integers(-150, -1)),
    st.tuples(st.just("resize"), st.integers(0, 200)),
    st.tuples(st.just("cancel"), _stream),
    st.tuples(st.just("wait"), st.integers(0, 150)),
)
operations = st.lists(_operation, max_size=120)


@st.composite
def setups(draw, name=None):
    """A discipline with options, the streams' window and the connection's."""
    name = draw(st.sampled_from(names())) if name is None else name
    options = draw(st.fixed_dictionaries({}, optional=SMALL.get(name, {})))
    return (
        name,
        {**load(name).OPTIONS, **options},
        draw(st.integers(0, 150)),
        draw(st.integers(0, 600)),
    )


@dataclass
class Driver:
    """Carries out operations as a sender does: no number comes twice, what was decided is sent.

    `log` holds every decision; `watch` is told what happened, before and after it.
    """

    machine: object
    now: int = 0
    decided: deque = field(default_factory=deque)
    log: list = field(default_factory=list)
    unsent: dict = field(default_factory=dict)
    over: set = field(default_factory=set)
    watch: object = None

    def play(self, operation):
        kind, *values = operation
        getattr(self, kind)(*values)

    def enqueue(self, stream, size, priority):
        if stream in self.over:
            return
        self.tell("enqueue", stream, size)
        self.unsent[stream] = self.unsent.get(stream, 0) + size
        self.machine.enqueue(stream, size, self.now, priority=priority)

    def credit(self, stream, size):
        self.tell("credit", stream, size)
        self.machine.credit(stream, size, self.now)

    def resize(self, window):
        self.tell("resize", window)
        self.machine.resize_windows(window, self.now)

    def cancel(self, stream):
        if stream in self.unsent:
            self.over.add(stream)
        self.tell("cancel", stream)
        self.machine.cancel(stream, self.now)

    def wait(self, duration):
        self.now += duration

    def next(self, budget):
        stream, size = self.machine.next(budget, self.now)
        self.log.append((stream, size))
        if stream == BLOCKED:
            self.tell("blocked", bool(self.decided))
            return False
        self.tell("decided", stream, size, budget)
        self.decided.append((stream, size))
        return True

    def sent(self, whole):
        """The kernel took the oldest decision, or half of it."""
        if not self.decided:
            return
        stream, size = self.decided.popleft()
        part = size if whole or size == 1 else size // 2
        if part < size:
            self.decided.appendleft((stream, size - part))
        self.unsent[stream] -= part
        if self.unsent[stream] == 0:
            self.over.add(stream)
        self.tell("sent", stream, part)
        self.machine.sent(stream, part, self.now)

    def drain(self, steps=20_000):
        """Lift all windows and send what there is."""
        self.credit(0, 10**6)
        for stream in STREAMS:
            if stream in self.unsent:
                self.credit(stream, 10**6)
        for _ in range(steps):
            while self.decided:
                self.now += 7
                self.sent(whole=True)
            if not self.next(64):
                return
        raise AssertionError("does not come to an end")

    def tell(self, *event):
        if self.watch is not None:
            self.watch.see(*event)
