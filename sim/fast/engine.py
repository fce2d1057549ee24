"""The fast path as an engine, with `run` and results as in `sim.engine.engine.Engine`."""

import functools
import math
from collections.abc import Callable
from typing import Final

import numpy as np

from h2model import disciplines
from netcosim.training.plan import Draws, StepPlan
from netcosim.training.synchronisation import Join
from sim.engine.base import BaseEngine
from sim.engine.control import DEFAULT, Control
from sim.engine.engine import Stop
from sim.engine.net_arrays import make_net
from sim.fast import loop
from sim.fast.arrays import LOG_FULL, Shape
from sim.fast.build import make_fast_run, with_longer_log, with_workers
from sim.fast.replay import scheduler
from sim.fast.shape import asks_discipline, fast_shape
from sim.fast.step_roles import NotOfThisShapeError
from sim.kernels import arrays as generic
from sim.kernels.arrays import Floats, Ints
from sim.kernels.compiled import binding, compile_kernel, interpret
from sim.plan import Network, Sending

SHARE: Final = "equal"
"""Share that is bound: any with a virtual clock does, as the fast path asks it for no rates."""
NOT_ASKED: Final = "fifo"
"""Discipline that is bound where none is asked: compiling needs one, and which one is no matter."""


@functools.cache
def compile_fast(discipline: str | None = None) -> Callable[..., int]:
    """Compile `sim.fast.loop.advance`; with a discipline it asks that for every chunk."""
    name = "fast" if discipline is None else f"fast_{discipline}"
    asked = discipline is not None
    bound = binding(discipline or NOT_ASKED, SHARE, asked=asked)
    return compile_kernel(loop.advance, name, *bound)


def interpret_fast(discipline: str | None = None) -> Callable[..., int]:
    """`sim.fast.loop.advance` as plain Python; see `compile_fast`."""
    asked = discipline is not None
    return interpret(loop.advance, discipline or NOT_ASKED, SHARE, asked=asked)


class FastEngine(BaseEngine):
    """Fast path for jobs of the usual shape; for parameters see `sim.engine.engine.Engine`.

    `shape` is what `fast_shape` made of the same plan, network and sending, where that is known;
    then the plan itself may be None.

    Raises
    ------
    ValueError
        Neither a plan nor a shape.
    NotOfThisShapeError
        The job needs the generic engine: for its shape, or as servers do not join all gradients.
    """

    def __init__(
        self,
        plan: StepPlan | None,
        network: Network,
        sending: Sending,
        draws: Draws,
        control: Control = DEFAULT,
        *,
        compiled: bool = True,
        shape: Shape | None = None,
    ) -> None:
        workers, steps = draws.step.shape
        if shape is None:
            if plan is None:
                raise ValueError("a plan or its shape is needed")
            shape = fast_shape(plan, network, sending)
        _check_join(shape, control, workers)
        self._shape = with_workers(shape, workers)
        self._net = make_net(network, sending, draws, control, [None] * workers)
        self._run = make_fast_run(self._shape, self._net, sending, steps)
        asked = sending.discipline if asks_discipline(sending) else None
        self._advance = compile_fast(asked) if compiled else interpret_fast(asked)
        rule = disciplines.load(sending.discipline)
        for link, worker in np.ndindex(self._run.shared.shape[:2]):
            rule.start(scheduler(self._net, self._run, link, worker))
        self._steps: list[tuple[Ints, Floats]] = []
        self._run.presence[:] = generic.PRESENT
        self._run.scalar[generic.AT_SLOWEST] = workers
        self.begin(range(workers))

    def run(self, until_ns: float = math.inf) -> Stop:
        """Simulate until this time (inclusive), a stop condition, or the last event."""
        while True:
            why = self._advance(self._shape, self._net, self._run, float(until_ns))
            used = int(self._run.scalar[generic.STEPS])
            if used:
                row, time = self._run.step_row[:used], self._run.step_time[:used]
                self._steps.append((row.astype(np.int32), time.copy()))
                self._run.scalar[generic.STEPS] = 0
            if why == LOG_FULL:
                self._run = with_longer_log(self._run)
            elif why != generic.FULL:
                return Stop(why)


def waits_for_all(join: Join | None, workers: int) -> bool:
    """True if nothing is joined, or all gradients of all workers before anybody goes on."""
    return join is None or (join.by == "step" and join.first >= workers)


def _check_join(shape: Shape, control: Control, workers: int) -> None:
    if (control.join is None) != (len(shape.joint) == 0):
        raise ValueError("updates are done once for all if gradients are joined, and only then")
    if not waits_for_all(control.join, workers):
        raise NotOfThisShapeError("not all gradients of a step are joined at once")
