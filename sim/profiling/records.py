"""Interface and records of a recorder: a model's layers, and the times of each step."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTensor:
    """A parameter that is trained; its gradient is of the same size."""

    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLayer:
    """One call of a module that calls no other.

    Attributes
    ----------
    name : unique; a module's second call in a step is `name#2`
    kind : the module's class
    reads : layers whose outputs it reads, by index; earlier ones only
    tensors : of the layer itself, each at the first that needs it
    tensors_before : of functions between the layer that ran before and this one
    """

    name: str
    kind: str
    reads: tuple[int, ...] = ()
    tensors: tuple[RecordedTensor, ...] = ()
    tensors_before: tuple[RecordedTensor, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """A model's layers in the order in which they run, and remarks for the user.

    `tensors_behind` are those of functions behind the last layer.
    """

    layers: tuple[RecordedLayer, ...]
    tensors_behind: tuple[RecordedTensor, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def tensors(self) -> tuple[RecordedTensor, ...]:
        """All tensors of the model, each once."""
        held = [(*layer.tensors_before, *layer.tensors) for layer in self.layers]
        return (*itertools.chain.from_iterable(held), *self.tensors_behind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Time span of a layer's work; `layer` is its index."""

    layer: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """Times of the phases and layers of one step, all on one clock.

    Between `loss_end_ns` and `backward_begin_ns` the recorder may do work of its own, which is no
    part of the step.

    Attributes
    ----------
    forward : one span a layer, in order
    backward : spans in any order; a layer may have several, or none
    ready_ns : when each tensor's gradient was there
    """

    begin_ns: int
    forward: tuple[Span, ...]
    forward_end_ns: int
    loss_end_ns: int
    backward_begin_ns: int
    backward: tuple[Span, ...]
    backward_end_ns: int
    end_ns: int
    ready_ns: Mapping[str, int]

    @property
    def step_ns(self) -> int:
        """Duration of the step."""
        return self.end_ns - self.backward_begin_ns + self.loss_end_ns - self.begin_ns


class Recorder(Protocol):
    """Interface that measures a model; each call of `record` and `plain` trains one step.

    `structure` is known once a step was recorded. `plain` does the same without watching, and
    returns how long it took, in nanoseconds.
    """

    def record(self) -> StepRecord: ...

    def plain(self) -> int: ...

    def structure(self) -> Structure: ...

    def about(self) -> str:
        """Description of the set-up: the library and its version, threads, device, optimizer."""
