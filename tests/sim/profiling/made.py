"""A recorder without PyTorch: a model whose times are made up, on a clock that is told to move."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sim.profiling.records import RecordedLayer, RecordedTensor, Span, StepRecord, Structure


def layer(name: str, reads: Sequence[int] = (), **tensors: int) -> RecordedLayer:
    held = tuple(RecordedTensor(name=f"{name}.{t}", size_bytes=b) for t, b in tensors.items())
    return RecordedLayer(name=name, kind="Linear", reads=tuple(reads), tensors=held)


TWO_WAYS = (
    layer("first", weight=400, bias=40),
    layer("left", [0], weight=1000),
    layer("right", [0]),
    layer("last", [1, 2], weight=60),
)
"""Two branches between a first and a last layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Times of one step, in nanoseconds; per layer (between, itself), forward and backward."""

    forward: Sequence[tuple[int, int]]
    tail: int
    loss: int
    watching: int
    head: int
    backward: Sequence[tuple[int, int]]
    optimizer: int

    @property
    def total(self) -> int:
        passes = sum(sum(pair) for pair in (*self.forward, *self.backward))
        return passes + self.tail + self.loss + self.head + self.optimizer


@dataclass(slots=True)
class MadeRecorder:
    """Hands over steps of these times, one after the other, again and again."""

    layers: tuple[RecordedLayer, ...]
    times: Sequence[Times]
    plain_ns: int = 5_000
    tensors_behind: tuple[RecordedTensor, ...] = ()
    log: list[str] = field(default_factory=list)
    now: int = 7

    def record(self) -> StepRecord:
        times = self.times[self.log.count("record") % len(self.times)]
        self.log.append("record")
        begin = self.now
        forward = [self._span(i, *pair) for i, pair in enumerate(times.forward)]
        forward_end = self._go(times.tail)
        loss_end = self._go(times.loss)
        backward_begin = self._go(times.watching)
        self._go(times.head)
        backward, ready = [], {}
        for i, (between, own) in reversed(list(enumerate(times.backward))):
            span = self._span(i, 0, own)
            backward.append(span)
            ready |= {tensor.name: span.end_ns for tensor in self.layers[i].tensors}
            self._go(between)
        backward_end = self.now
        return StepRecord(
            begin_ns=begin,
            forward=tuple(forward),
            forward_end_ns=forward_end,
            loss_end_ns=loss_end,
            backward_begin_ns=backward_begin,
            backward=tuple(backward),
            backward_end_ns=backward_end,
            end_ns=self._go(times.optimizer),
            ready_ns=ready,
        )

    def plain(self) -> int:
        self.log.append("plain")
        return self.plain_ns

    def structure(self) -> Structure:
        return Structure(
            layers=self.layers, tensors_behind=self.tensors_behind, remarks=("made up",)
        )

    def about(self) -> str:
        return "nothing at all"

    def _go(self, ns: int) -> int:
        self.now += ns
        return self.now

    def _span(self, number: int, between: int, own: int) -> Span:
        start = self._go(between)
        return Span(layer=number, start_ns=start, end_ns=self._go(own))


def times(scale: int = 1, between: int = 0) -> Times:
    """A step of `TWO_WAYS`: 1000, 2000... forward, twice that backward."""
    return Times(
        forward=[(between, 1000 * scale * (i + 1)) for i in range(4)],
        tail=10,
        loss=30,
        watching=500_000,
        head=5,
        backward=[(between, 2000 * scale * (i + 1)) for i in range(4)],
        optimizer=1501,
    )
