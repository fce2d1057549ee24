"""``python -m sim.precompile``: compile the engines that scenarios commonly need."""

import signal
import sys
import time
from collections.abc import Sequence
from multiprocessing import get_context
from typing import Final, cast

import numpy as np

from h2model import disciplines
from h2model.parameters import Parameters, followed, parameters
from netcosim.cli import Parser, run_main
from netcosim.errors import ScenarioError
from sim.engine.engine import Engine
from sim.fast.engine import NOT_ASKED, SHARE, FastEngine
from sim.kernels.compiled import kernel_folder
from sim.plan import DOWN, SERVER, UP, WORKER, Channel, Draws, Network, Processor, Sending, StepPlan
from sim.shares import share_names

PROG: Final = "sim.precompile"
FAST: Final = "fast"


def usual() -> tuple[str, ...]:
    """Engines that set-up compiles: fast paths, all disciplines on equal, gRPC's on max_min."""
    newest = cast("Parameters", parameters("grpc")).sends("default").discipline
    asked = [f"{FAST}/{name}" for name in reversed(followed()) if name != NOT_ASKED]
    engines = (f"{name}/equal" for name in disciplines.names())
    return (*asked, FAST, *engines, f"{newest}/max_min")


def warm(what: str) -> float:
    """Compile one engine by running a tiny job; return the seconds that it took."""
    begun = time.monotonic()
    first, _, second = what.partition("/")
    fast = first == FAST
    discipline, share = (second or NOT_ASKED, SHARE) if fast else (first, second)
    network = Network(
        share=share,
        server_bps=np.array([10**9]),
        worker_bps=np.array([10**9]),
        delay_ns=np.zeros(1, dtype=np.int64),
    )
    options = tuple(disciplines.load(discipline).OPTIONS.values())
    sending = Sending(discipline=discipline, options=options, window_bytes=None)
    draws = Draws(step=np.zeros((1, 1), dtype=np.int64), factor=np.ones((1, 1)))
    kind = FastEngine if fast else Engine
    kind(tiny_plan(), network, sending, draws).run()
    return time.monotonic() - begun


def tiny_plan() -> StepPlan:
    """Plan of one pull, one computation, one push and one update."""
    return StepPlan(
        servers=1,
        names=("pull", "compute", "push", "update"),
        channels=(
            Channel(server=0, direction=DOWN, connection="data"),
            Channel(server=0, direction=UP, connection="data"),
        ),
        processors=(
            Processor(node=WORKER, server=0, resource="worker", capacity=1),
            Processor(node=SERVER, server=0, resource="ps", capacity=1),
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile what is missing; return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return run_main(lambda _: _main(given), PROG)


def _main(arguments: Sequence[str]) -> int:
    parser = Parser(prog=PROG, description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "engine", nargs="*", help=f"such as {FAST}, {FAST}/write_cycle, write_cycle/equal"
    )
    wanted = parser.parse_args(arguments).engine or list(usual())
    for what in wanted:
        check(what)
    # Two at a time, as each takes much memory; Ctrl-C is for this process alone.
    quiet = (signal.SIGINT, signal.SIG_IGN)
    with get_context("spawn").Pool(2, signal.signal, quiet, maxtasksperchild=1) as pool:
        for what, seconds in zip(wanted, pool.imap(warm, wanted), strict=True):
            print(f"{what}: {seconds:.1f} s", flush=True)  # noqa: T201
    folder = kernel_folder()
    print("not kept: the cache folder can't be written" if folder is None else f"kept in {folder}")  # noqa: T201
    return 0


def check(what: str) -> None:
    """Refuse the name of an engine that there is none of.

    Raises
    ------
    ScenarioError
        One line that says what is allowed.
    """
    first, separator, second = what.partition("/")
    if first == FAST:
        sound = not separator or second in disciplines.names()
    else:
        sound = first in disciplines.names() and second in share_names()
    if not sound:
        allowed = (
            f"must be {FAST}, {FAST}/DISCIPLINE or DISCIPLINE/SHARE;"
            f" disciplines: {', '.join(disciplines.names())}; shares: {', '.join(share_names())}"
        )
        raise ScenarioError.at("engine", what, allowed)


if __name__ == "__main__":
    sys.exit(main())
