"""Random plans of the fast path's shape, and of almost that shape."""

import numpy as np

from sim.plan import StepPlan
from tests.sim.naive.plans import Op, at_server, at_worker, down, make_plan, up


def shaped_plan(rng: np.random.Generator, *, tensors: int = 7, servers: int = 1) -> StepPlan:
    """Pulls, a chain that they hold up, pushes behind its second part, updates of most of them."""
    return make_plan(shaped_operations(rng, tensors, servers), servers=servers, recorded=3)


def shaped_operations(rng: np.random.Generator, tensors: int, servers: int) -> list[Op]:
    at = [t % servers if t < servers else int(rng.integers(servers)) for t in range(tensors)]
    size = [1 + int(rng.exponential(40_000)) for _ in at]
    ops = [
        Op(name=f"pull{t}", at=down(at[t]), size_bytes=size[t]) for t in rng.permutation(tensors)
    ]
    chain: list[Op] = []

    def compute(*after: str) -> None:
        before = (chain[-1].name,) if chain else ()
        chain.append(
            Op(
                name=f"compute{len(chain)}",
                at=at_worker(),
                duration_ns=list(rng.exponential(20_000, 3)),
                after=before + after,
            )
        )

    for t in range(tensors):
        for _ in range(int(rng.integers(0, 3))):
            compute()
        compute(f"pull{t}")
    pushed: list[tuple[int, str]] = []
    waiting = list(rng.permutation(tensors))
    while waiting:
        compute()
        count = min(len(waiting), int(rng.integers(0, 3)))
        pushed += [(int(waiting.pop()), chain[-1].name) for _ in range(count)]
    for t, behind in pushed:
        push = Op(name=f"push{t}", at=up(at[t]), size_bytes=size[t], after=(behind,))
        chain.append(push)
        if rng.random() < 0.8:
            duration = list(rng.exponential(15_000, 3))
            update = Op(
                name=f"update{t}", at=at_server(at[t]), duration_ns=duration, after=(push.name,)
            )
            chain.append(update)
    return ops + chain
