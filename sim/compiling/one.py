"""``python -m sim.compiling.one KERNEL``: compile one kernel by running a tiny job on it."""

import sys
import time
from dataclasses import replace
from typing import Final

import numpy as np

from h2model import disciplines
from netcosim.policies import schedule_options
from netcosim.training.plan import (
    DOWN,
    SERVER,
    UP,
    WORKER,
    Channel,
    Draws,
    Gate,
    Processor,
    StepPlan,
)
from sim.compiling.kernel import Kernel
from sim.engine.engine import Engine
from sim.fast.engine import NOT_ASKED, SHARE, FastEngine
from sim.plan import Network, Sending

_BOUND_BYTES: Final = 1 << 20


def warm(what: Kernel) -> float:
    """Compile one kernel by running a tiny job; return the seconds that it took."""
    begun = time.monotonic()
    discipline = what.discipline or NOT_ASKED
    network = Network(
        share=what.share or SHARE,
        server_bps=np.array([10**9]),
        worker_bps=np.array([10**9]),
        delay_ns=np.zeros(1, dtype=np.int64),
    )
    options = tuple(disciplines.load(discipline).OPTIONS.values())
    asked = what.share is None and what.discipline is not None  # of a bounded connection it is
    sending = Sending(
        discipline=discipline,
        options=options,
        window_bytes=None,
        connection_window_bytes=_BOUND_BYTES if asked else None,
    )
    draws = Draws(step=np.zeros((1, 1), dtype=np.int64), factor=np.ones((1, 1)))
    plan = tiny_plan(shared=what.extended)
    if what.schedule is not None:
        options = schedule_options(what.schedule, {})
        sending = replace(sending, schedule=what.schedule, schedule_options=options)
        gate = Gate(
            channel=1, operations=(2,), ended_by=(2,), size_bytes=(1000,), generated_ns=(0,)
        )
        plan = replace(plan, gates=(gate,))
    kind = FastEngine if what.share is None else Engine
    kind(plan, network, sending, draws).run()
    return time.monotonic() - begun


def tiny_plan(*, shared: bool = False) -> StepPlan:
    """Plan of one pull, one computation, one push and one update; its processor may be shared."""
    return StepPlan(
        servers=1,
        names=("pull", "compute", "push", "update"),
        channels=(
            Channel(server=0, direction=DOWN, connection="data"),
            Channel(server=0, direction=UP, connection="data"),
        ),
        processors=(
            Processor(node=WORKER, server=0, resource="worker", capacity=1),
            Processor(node=SERVER, server=0, resource="ps", capacity=1, shared=shared),
        ),
        place=np.array([0, 2, 1, 3]),
        size_bytes=np.array([1000, 0, 1000, 0]),
        priority=np.zeros(4, dtype=np.int64),
        duration_ns=np.array([[0.0, 1000.0, 0.0, 1000.0]]),
        waits=np.array([0, 1, 1, 1]),
        after=np.array([1, 2, 3]),
        after_start=np.array([0, 1, 2, 3, 3]),
        sources=np.array([[0]]),
        members=((0,), (1,), (2,), (3,)),
    )


if __name__ == "__main__":
    warm(Kernel.named(sys.argv[1]))
