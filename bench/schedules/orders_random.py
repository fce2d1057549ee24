"""Orders of release against the best one, on small random networks of one worker alone.

A network is a chain of blocks: a layer, or two or three branches of one or two layers that are
joined behind. Each layer has a tensor, and one in four has a second computation behind (an
activation). The step is a forward pass, as in TicTac's analysis of graphs (Hashemi et al., MLSys
2019, section 6): with a backward pass, which no order of receives changes, gaps would be smaller.
Times of receives and computations are log-uniform over the same two decades.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from netcosim.policies import load_order
from netcosim.policies.makespan import makespan_ns
from netcosim.policies.optimum import MOST_RECEIVES, best_order
from netcosim.policies.order_input import OrderInput
from netcosim.step_graph import Kind, StepGraph

GRAPHS: Final = 3000
ORDERS: Final = ("tac", "tic", "tac_printed", "as_listed", "random")
TIMES_NS: Final = (1e3, 1e5)
"""Bounds of all times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """How much longer than the best an order's makespans are, as shares of the best."""

    mean: float
    p95: float
    worst: float


def gaps(
    graphs: int = GRAPHS,
    seed: int = 1,
    orders: Sequence[str] = ORDERS,
    *,
    shuffled: bool = True,
) -> dict[str, Gap]:
    """Gaps of orders to the best one, over random networks.

    Parameters
    ----------
    shuffled : whether tensors are listed in a random order; else as a framework lists them, layer
        by layer, which is a good order by itself and which orders break ties by
    """
    found: dict[str, list[float]] = {name: [] for name in orders}
    for stream in np.random.SeedSequence(seed).spawn(graphs):
        rng = np.random.default_rng(stream)
        step = random_network(rng, shuffled=shuffled)
        for name, gap in gaps_of(step, rng, orders).items():
            found[name].append(gap)
    return {name: _summary(each) for name, each in found.items()}


def gaps_of(
    step: StepGraph, rng: np.random.Generator, orders: Sequence[str] = ORDERS
) -> Mapping[str, float]:
    """Makespan of each order over the least one, minus 1, on one step whose tensors are pulled."""
    tensors = [
        size for size, kind in zip(step.size_bytes, step.kind, strict=True) if kind == "pull"
    ]
    told = OrderInput(sizes_bytes=tensors, step=step)
    least_ns = makespan_ns(step, best_order(step))
    return {name: makespan_ns(step, load_order(name)(told, rng)) / least_ns - 1 for name in orders}


def random_network(rng: np.random.Generator, *, shuffled: bool) -> StepGraph:
    """The forward pass of a random network of two to eight tensors."""
    tensors = int(rng.integers(2, MOST_RECEIVES + 1))
    listed = rng.permutation(tensors).tolist() if shuffled else list(range(tensors))
    before: list[tuple[int, ...]] = [()] * tensors
    pulled = 0
    ends: tuple[int, ...] = ()
    while pulled < tensors:
        branches = 1 if rng.random() < 0.5 else int(rng.integers(2, 4))
        tails = []
        for _ in range(branches):
            tail: tuple[int, ...] = ends
            for _ in range(1 if branches == 1 else int(rng.integers(1, 3))):
                if pulled < tensors:
                    before.append((pulled, *tail))
                    pulled += 1
                    tail = (len(before) - 1,)
                    if rng.random() < 0.25:
                        before.append(tail)
                        tail = (len(before) - 1,)
            tails += [op for op in tail if op not in ends]
        if len(tails) > 1:
            before.append(tuple(tails))
            tails = [len(before) - 1]
        ends = tuple(tails)
    low, high = np.log(TIMES_NS)
    times_ns = np.rint(np.exp(rng.uniform(low, high, len(before)))).tolist()
    return forward_pass(times_ns, before, listed)


def forward_pass(
    times_ns: Sequence[float], before: Sequence[Sequence[int]], listed: Sequence[int]
) -> StepGraph:
    """Pulls of these tensors, then computations on one processor; a byte is received each ns.

    Parameters
    ----------
    times_ns, before : (operations,) durations and predecessors
    listed : by pull, its tensor
    """
    pulls, operations = len(listed), len(times_ns)
    kinds: list[Kind] = ["pull" if op < pulls else "compute" for op in range(operations)]
    computes = operations - pulls
    return StepGraph(
        kind=tuple(kinds),
        tensor=(*listed, *[-1] * computes),
        size_bytes=(*map(int, times_ns[:pulls]), *[0] * computes),
        duration_ns=tuple(times_ns),
        predecessors=tuple(tuple(each) for each in before),
        processor=(*[-1] * pulls, *[0] * computes),
        capacity=(1,),
    )


def against_tic() -> StepGraph:
    """A network in which dependencies alone mislead, whatever the listing.

    Tensor 0 is received in 1 and lets 10 be computed, which the receives of tensors 1 and 2, 5
    each, overlap with. But two receives are enough for what needs 1 and 2, and three for what needs
    0 and others, so TIC takes 0 last and computes after all of them: 22 instead of 13.
    """
    return forward_pass(
        [1.0, 5.0, 5.0, 10.0, 1.0, 1.0], [(), (), (), (0,), (1, 2), (3, 4)], [0, 1, 2]
    )


def _summary(found: Sequence[float]) -> Gap:
    return Gap(
        mean=float(np.mean(found)), p95=float(np.percentile(found, 95)), worst=float(max(found))
    )


def main() -> None:
    """Print all gaps in per cent."""
    for shuffled in (True, False):
        print(f"listed {'at random' if shuffled else 'layer by layer'}: mean, p95, worst")
        for name, gap in gaps(shuffled=shuffled).items():
            shown = (f"{100 * each:8.2f} %" for each in (gap.mean, gap.p95, gap.worst))
            print(f"  {name:12}", *shown)
    step = against_tic()
    print(
        "TAC and TIC where TIC is misled:", gaps_of(step, np.random.default_rng(0), ("tac", "tic"))
    )


if __name__ == "__main__":
    main()
