"""Random plans of the fast path's shape, and of almost that shape."""

import numpy as np

from netcosim.training.plan import Channel, StepPlan
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


def joined_plan(
    rng: np.random.Generator, *, tensors: int = 7, servers: int = 1, cores: int = 1
) -> StepPlan:
    """The plan of `shaped_plan`, and behind each push an update that is done once for all.

    What was an update is work of the push's own, before that.
    """
    ops = shaped_operations(rng, tensors, servers)
    names = {op.name for op in ops}
    joint = []
    for push in [op for op in ops if op.name.startswith("push")]:
        t = push.name.removeprefix("push")
        own = f"update{t}" if f"update{t}" in names else push.name
        assert isinstance(push.at, Channel)
        at = at_server(push.at.server, cores, "joint", shared=True)
        duration = list(rng.exponential(30_000, 3))
        joint.append(Op(name=f"join{t}", at=at, duration_ns=duration, after=(own,)))
    once = {op.name: [f"pull{op.name.removeprefix('join')}"] for op in joint}
    return make_plan([*ops, *joint], servers=servers, recorded=3, once=once)


def branching_plan(
    rng: np.random.Generator, *, tensors: int = 7, servers: int = 1, ties: bool = False
) -> StepPlan:
    """Pulls, branches that they hold up, a loss that waits for all, branches behind it, pushes.

    With ties, many pulls and computations end at one time.
    """

    def duration() -> list[float]:
        if ties:
            return [1000.0 * n for n in rng.integers(0, 3, 3)]
        return list(rng.exponential(20_000, 3))

    at = [t % servers if t < servers else int(rng.integers(servers)) for t in range(tensors)]
    size = [1000 if ties else 1 + int(rng.exponential(40_000)) for _ in at]
    ops = [
        Op(name=f"pull{t}", at=down(at[t]), size_bytes=size[t], priority=int(rng.integers(0, 3)))
        for t in rng.permutation(tensors)
    ]
    forward: list[Op] = []
    for i in range(tensors + int(rng.integers(0, 4))):
        some = _some(rng, [op.name for op in forward], 2)
        pulls = (f"pull{i}",) if i < tensors else ()
        forward.append(
            Op(name=f"f{i}", at=at_worker(), duration_ns=duration(), after=(*some, *pulls))
        )
    waited_for = {name for op in forward for name in op.after}
    ends = tuple(op.name for op in forward if op.name not in waited_for)
    loss = Op(name="loss", at=at_worker(), duration_ns=duration(), after=ends)
    behind = [loss]
    for i in range(tensors):
        some = _some(rng, [op.name for op in behind], 2) or ("loss",)
        behind.append(Op(name=f"b{i}", at=at_worker(), duration_ns=duration(), after=some))
    rest = []
    for t in rng.permutation(tensors):
        some = _some(rng, [op.name for op in behind], 2) or ("loss",)
        push = Op(
            name=f"push{t}",
            at=up(at[t]),
            size_bytes=size[t],
            after=some,
            priority=int(rng.integers(0, 3)),
        )
        rest.append(push)
        if rng.random() < 0.8:
            update = Op(
                name=f"update{t}", at=at_server(at[t]), duration_ns=duration(), after=(push.name,)
            )
            rest.append(update)
    plan = make_plan([*ops, *forward, *behind, *rest], servers=servers, recorded=3)
    for op in range(plan.operations):  # the order of hand-over is nobody else's
        rng.shuffle(plan.after[plan.after_start[op] : plan.after_start[op + 1]])
    return plan


def _some(rng: np.random.Generator, names: list[str], most: int) -> tuple[str, ...]:
    count = min(len(names), int(rng.integers(0, most + 1)))
    return tuple(names[i] for i in rng.permutation(len(names))[:count])
