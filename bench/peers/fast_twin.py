"""C++ twin of the fast path, `bench/peers/fast_twin.cpp`: its build, its input and its runs.

A dump is a row of arrays, each its length and then its elements, all words of eight bytes in the
machine's order: integers, or floats where named so.

    head        1, workers W, steps N, factors a worker F (1 or N), staleness,
                servers, forward operations, processors, whether every recorded step has its pulls
    (floats)    ns a byte of each link, downlinks first
    draws       W * N recorded steps
    (floats)    W * F factors
    the fields of `sim.fast.arrays.Shape` named in FIELDS; those that end in _ns or _sum are floats

It knows neither branches nor disciplines that are asked for every chunk.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.peers.building import build_program, install_packages
from bench.peers.job import PeerRun, run_peer
from netcosim.training.plan import Draws, Floats, Ints, StepPlan
from sim.engine.net_arrays import NOBODY_WAITS
from sim.fast.arrays import BY_DISCIPLINE, F, K, Q, Shape
from sim.fast.shape import fast_shape
from sim.fast.step_roles import NotOfThisShapeError
from sim.plan import Network, Sending

SOURCE = Path(__file__).parent / "fast_twin.cpp"
FIELDS = (
    "down_start",
    "down",
    "down_cum",
    "need_start",
    "need",
    "forward_ns",
    "forward_sum",
    "backward_sum",
    "up_start",
    "up_size",
    "up_cum",
    "offset_ns",
    "update",
    "update_ns",
    "replay",
    "largest",
)
OPTIONS = ("-ffp-contract=off",)
"""No fused multiply-add: products are rounded before they are added up, as in the engine."""


def install(folder: Path) -> Path:
    """Build the twin below `folder`; return the program.

    Raises
    ------
    EnvironmentRefusedError
        It can't be built, or there is no compiler and this is not root.
    """
    if shutil.which("g++") is None:
        install_packages(["g++"])
    return build_program(SOURCE, folder / "fast_twin", options=OPTIONS)


def run(folder: Path, dump: Path, *, ends: bool = False) -> PeerRun:
    """Simulate a dump; `install` is called first. Its wall time is the loop's alone."""
    return run_peer([install(folder)], dump, ends=ends)


def write_dump(
    path: Path,
    plan: StepPlan,
    network: Network,
    sending: Sending,
    draws: Draws,
    *,
    staleness: int | None = None,
    shape: Shape | None = None,
) -> None:
    """Write a job for the twin.

    Raises
    ------
    NotOfThisShapeError
        The fast path can't do it.
    """
    shape = shape or fast_shape(plan, network, sending)
    if not shape.chain[0] or BY_DISCIPLINE in shape.replay:
        raise NotOfThisShapeError("the C++ twin does not know this")
    with path.open("wb") as file:
        for array in _arrays(
            shape, network, draws, NOBODY_WAITS if staleness is None else staleness
        ):
            file.write(np.int64(array.size).tobytes())
            file.write(np.ascontiguousarray(array).tobytes())


def _arrays(
    shape: Shape, network: Network, draws: Draws, staleness: int
) -> Iterator[Ints | Floats]:
    workers, steps = draws.step.shape
    own_order = int(len(shape.down) > 1)
    head = [1, workers, steps, draws.factor.shape[1], staleness]
    head += [*(int(shape.sizes[i]) for i in (K, F, Q)), own_order]
    yield np.array(head, dtype=np.int64)
    yield np.tile(8e9 / network.server_bps.astype(np.float64), 2)
    yield draws.step.astype(np.int64)
    yield draws.factor
    yield from (getattr(shape, name) for name in FIELDS)
