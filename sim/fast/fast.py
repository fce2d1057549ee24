"""The fast path as an engine: the same questions and answers as `sim.engine.engine.Engine`."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sim.compiled import compile_kernel
from sim.engine import layout as generic
from sim.engine.answers import Answers
from sim.engine.build import make_net
from sim.engine.engine import Stop
from sim.engine.layout import Floats, Ints
from sim.engine.tree import seed, width
from sim.fast import loop
from sim.fast.layout import LOG_FULL, Q, Race, Shape
from sim.fast.shape import fast_shape
from sim.plan import Draws, Network, Sending, StepPlan

_ROWS = 1 << 14
_LOG = 1 << 10


@functools.cache
def compile_fast() -> Callable[..., int]:
    """`sim.fast.loop.advance`, compiled."""
    return compile_kernel(loop.advance, "fast", {}, {})


class FastEngine(Answers):
    """The fast path; for parameters see `sim.engine.engine.Engine`.

    `shape` is what `fast_shape` made of the same plan, network and sending, where that is known.

    Raises
    ------
    NotOfThisShapeError
        The job needs the generic engine.
    """

    def __init__(
        self,
        plan: StepPlan,
        network: Network,
        sending: Sending,
        draws: Draws,
        *,
        lead: int | None = None,
        stop_at_steps: bool = False,
        stop_at_last: bool = False,
        count_from: int = 0,
        compiled: bool = True,
        shape: Shape | None = None,
    ) -> None:
        workers, steps = draws.step.shape
        shape = shape or fast_shape(plan, network, sending)
        sizes = shape.sizes.copy()
        sizes[0] = workers
        self._shape = shape._replace(sizes=sizes)
        self._net = make_net(
            network,
            sending,
            draws,
            lead=lead,
            speeds=[None] * workers,
            keep_rows=False,
            keep_chunks=False,
            stop_at_steps=stop_at_steps,
            stop_at_last=stop_at_last,
            count_from=count_from,
        )
        self._run = make_race(self._shape, workers, steps)
        self._advance = compile_fast() if compiled else loop.advance
        self._steps: list[tuple[Ints, Floats]] = []
        self._run.presence[:] = generic.PRESENT
        self._run.scalar[generic.AT_SLOWEST] = workers
        self.begin(range(workers))

    def run(self, until_ns: float = math.inf) -> Stop:
        """Go on up to and including this time, a boundary, or until nothing happens any more."""
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


def make_race(shape: Shape, workers: int, limit: int) -> Race:
    """The state before anything has happened."""
    servers, processors = len(shape.up_start) - 1, int(shape.sizes[Q])
    links = 2 * servers
    top, wide = width(links + workers * (servers + 1)), width(workers)
    tree, flow_tree = np.zeros(2 * top, dtype=np.int64), np.zeros(2 * wide * links, dtype=np.int64)
    seed(tree, 0, top)
    for link in range(links):
        seed(flow_tree, link * wide, wide)

    def ints(*size: int) -> Ints:
        return np.zeros(size, dtype=np.int64)

    def floats(*size: int) -> Floats:
        return np.zeros(size)

    sized: dict[str, Any] = {
        "base_v": floats(links, workers),
        "joined": ints(links, workers),
        "log_t": floats(links, _LOG),
        "log_v": floats(links, _LOG),
        "log_n": floats(links, _LOG),
        "next_up": ints(workers, servers),
        "busy_from": ints(workers, servers),
        "free_at": floats(workers, processors),
        "spent": floats(workers, generic.MODES),
        "arrival": floats(workers, shape.down.shape[1]),
        "ring": ints(2 * len(shape.up_size) + 1),
        "step_row": ints(_ROWS, 2),
        "step_time": floats(_ROWS, 2),
        "limit": np.full(workers, limit, dtype=np.int64),
        "clock": floats(2),
        "scalar": ints(generic.SCALARS),
        "key": np.full(top, np.inf),
        "tree": tree,
        "flow_key": np.full(wide * links, np.inf),
        "flow_tree": flow_tree,
    }
    per_link = {name: ints(links) for name in ("active", "logged", "oldest")}
    per_link_floats = {name: floats(links) for name in ("clock_v", "clock_t")}
    rest = set(Race._fields) - set(sized) - set(per_link) - set(per_link_floats)
    whole = {
        name: ints(workers) if Race.__annotations__[name] == Ints else floats(workers)
        for name in rest
    }
    return Race(**{**sized, **per_link, **per_link_floats, **whole})


def with_longer_log(race: Race) -> Race:
    """The same state with room for twice as many entries in every log."""
    entries = race.log_t.shape[1]
    longer = {}
    for name in ("log_t", "log_v", "log_n"):
        old = getattr(race, name)
        new = np.zeros((len(old), 2 * entries))
        for link, last in enumerate(race.logged):
            kept = np.arange(max(0, last - entries), last)
            new[link, kept & (2 * entries - 1)] = old[link, kept & (entries - 1)]
        longer[name] = new
    return race._replace(**longer)
