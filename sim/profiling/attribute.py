"""Attribute a step's time to layers, the gaps between them, the loss and the optimizer.

Every nanosecond is given to exactly one of them, so that they come to the step's time.
"""

from dataclasses import dataclass

from sim.profiling.records import StepRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributed:
    """Time of one step by layer, gap, loss and optimizer, in nanoseconds.

    Attributes
    ----------
    forward_ns, backward_ns : (layers,) in the layers
    before_ns : (layers,) between the layer that ran before and this one, forward
    behind_ns : (layers,) between this layer's backward pass and the next one's
    tail_ns : forward, after the last layer
    loss_ns : the loss, and its backward pass up to the first layer's
    optimizer_ns : the optimizer
    """

    forward_ns: tuple[int, ...]
    backward_ns: tuple[int, ...]
    before_ns: tuple[int, ...]
    behind_ns: tuple[int, ...]
    tail_ns: int
    loss_ns: int
    optimizer_ns: int

    @property
    def forward_other_ns(self) -> int:
        """Time of the forward pass that is in no layer."""
        return sum(self.before_ns) + self.tail_ns

    @property
    def forward_total_ns(self) -> int:
        """Time of the forward pass."""
        return sum(self.forward_ns) + self.forward_other_ns

    @property
    def backward_total_ns(self) -> int:
        """Time of the backward pass from the first layer on."""
        return sum(self.backward_ns) + sum(self.behind_ns)

    @property
    def step_ns(self) -> int:
        """Time of the whole step."""
        passes = self.forward_total_ns + self.backward_total_ns
        return passes + self.loss_ns + self.optimizer_ns


def attribute(step: StepRecord, layers: int) -> Attributed:
    """Attribute a step's time; where spans overlap, the earlier one has it."""
    forward, before, tail_ns = _forward(step, layers)
    backward, behind, head_ns = _backward(step, layers)
    return Attributed(
        forward_ns=tuple(forward),
        backward_ns=tuple(backward),
        before_ns=tuple(before),
        behind_ns=tuple(behind),
        tail_ns=tail_ns,
        loss_ns=step.loss_end_ns - step.forward_end_ns + head_ns,
        optimizer_ns=step.end_ns - step.backward_end_ns,
    )


def _forward(step: StepRecord, layers: int) -> tuple[list[int], list[int], int]:
    own, gaps = [0] * layers, [0] * layers
    at = step.begin_ns
    for span in step.forward:
        start, end = _within(at, span.start_ns), _within(at, span.end_ns)
        gaps[span.layer] += start - at
        own[span.layer] += end - start
        at = end
    return own, gaps, step.forward_end_ns - at


def _backward(step: StepRecord, layers: int) -> tuple[list[int], list[int], int]:
    """Time in layers, behind them, and before the first."""
    own, gaps = [0] * layers, [0] * layers
    at, head_ns = step.backward_begin_ns, 0
    last: int | None = None
    for span in sorted(step.backward, key=lambda span: span.start_ns):
        start, end = _within(at, span.start_ns), _within(at, span.end_ns)
        if last is None:
            head_ns = start - at
        elif last == span.layer:  # between two parts of one layer
            own[last] += start - at
        else:
            gaps[last] += start - at
        own[span.layer] += end - start
        at, last = end, span.layer
    if last is None:
        return own, gaps, step.backward_end_ns - at
    gaps[last] += step.backward_end_ns - at
    return own, gaps, head_ns


def _within(at: int, moment: int) -> int:
    return max(at, moment)
