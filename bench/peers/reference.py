"""The reference job of the simulator's benchmark: one TensorFlow training step of Inception-v3.

196 tensors of 103.54 MiB and 3672 operations, as counted by Hashemi et al. (*TicTac*, MLSys 2019,
table 1). Durations are made up, of the size that a worker without a GPU has; they are whole
nanoseconds, so that sums of them are exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from netcosim.tensors import tensor_set
from netcosim.training.plan import (
    DOWN,
    SERVER,
    UP,
    WORKER,
    Channel,
    Draws,
    Floats,
    Ints,
    Processor,
    StepPlan,
)
from sim.plan import Network, Sending

COMPUTATIONS = 3084
"""At the worker: 3672 operations, without a pull, a push and an update for each of 196 tensors."""

SPREAD_OF_MEANS = 1.0
SPREAD_OF_STEPS = 0.3
WINDOW_BYTES = 4 * 2**20

_AUXILIARY = (
    ("AuxLogits.conv0.conv.weight", 4 * 768 * 128),
    ("AuxLogits.conv0.bn.bias", 4 * 128),
    ("AuxLogits.conv1.conv.weight", 4 * 128 * 768 * 5 * 5),
    ("AuxLogits.conv1.bn.bias", 4 * 768),
    ("AuxLogits.fc.weight", 4 * 768 * 1000),
    ("AuxLogits.fc.bias", 4 * 1000),
)
_DOWNLINK, _UPLINK, _AT_WORKER, _AT_SERVER = range(4)


def reference_tensors() -> tuple[tuple[str, int], ...]:
    """Names and sizes in bytes of TensorFlow's Inception-v3, in forward order.

    Its batch normalization has no scale, and training it needs the auxiliary head.
    """
    listed = [
        (name, size)
        for name, size in tensor_set("inception_v3").tensors
        if not name.endswith("bn.weight")
    ]
    head = next(i for i, (name, _) in enumerate(listed) if name.startswith("Mixed_7a"))
    return (*listed[:head], *_AUXILIARY, *listed[head:])


@dataclass(slots=True)
class _Dag:
    """The DAG of a step while it is built; what an operation waits for was added before."""

    names: list[str] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    size_bytes: list[int] = field(default_factory=list)
    before: list[list[int]] = field(default_factory=list)
    members: list[tuple[int, ...]] = field(default_factory=list)

    def add(
        self,
        name: str,
        place: int,
        *,
        after: Sequence[int] = (),
        size_bytes: int = 0,
        members: tuple[int, ...] | None = None,
    ) -> int:
        """Add an operation; return its number. It stands for itself unless `members` says more."""
        number = len(self.names)
        self.names.append(name)
        self.place.append(place)
        self.size_bytes.append(size_bytes)
        self.before.append(list(after))
        self.members.append((number,) if members is None else members)
        return number

    def after(self) -> list[list[int]]:
        """Successors of each operation: those that wait for it."""
        found: list[list[int]] = [[] for _ in self.names]
        for number, before in enumerate(self.before):
            for other in before:
                found[other].append(number)
        return found


def reference_plan(
    *,
    recorded: int = 100,
    collapsed: bool = False,
    seed: int = 1,
    forward_ns: float = 0.3e9,
    backward_ns: float = 0.7e9,
    updates_ns: float = 20e6,
) -> StepPlan:
    """The plan of the reference step.

    Parameters
    ----------
    recorded
        Number of recorded steps.
    collapsed
        Whether chains of computations that nothing else joins or leaves are fused into one.
    forward_ns, backward_ns, updates_ns
        What these computations take in a mean step; the loss is part of the backward pass.
    """
    dag, forward, backward = _step(reference_tensors())
    updates = [i for i, place in enumerate(dag.place) if place == _AT_SERVER]
    duration_ns = np.zeros((recorded, len(dag.names)))
    rng = np.random.default_rng(seed)
    totals_ns = ((forward, forward_ns), (backward, backward_ns), (updates, updates_ns))
    for operations, total_ns in totals_ns:
        duration_ns[:, operations] = _durations(rng, recorded, len(operations), total_ns)
    if collapsed:
        dag = _collapse(dag)
        sums = [duration_ns[:, list(members)].sum(axis=1) for members in dag.members]
        duration_ns = np.stack(sums, axis=1)
    return _plan(dag, duration_ns)


def _step(tensors: Sequence[tuple[str, int]]) -> tuple[_Dag, list[int], list[int]]:
    """The step, its forward computations, and those of the loss and the backward pass.

    The worker's computations are one chain, divided evenly among the tensors.
    """
    dag = _Dag()
    count = len(tensors)
    forwards = COMPUTATIONS // 2
    backwards = COMPUTATIONS - forwards - 1
    pulls = [dag.add(f"pull/{name}", _DOWNLINK, size_bytes=size) for name, size in tensors]
    chain: list[int] = []
    seen = -1
    for j in range(forwards):
        tensor = j * count // forwards
        needs = [*chain[-1:], *([pulls[tensor]] if tensor > seen else [])]
        chain.append(dag.add(f"forward/{j}", _AT_WORKER, after=needs))
        seen = tensor
    chain.append(dag.add("loss", _AT_WORKER, after=chain[-1:]))
    last: dict[int, int] = {}
    for j in range(backwards):
        chain.append(dag.add(f"backward/{j}", _AT_WORKER, after=chain[-1:]))
        last[count - 1 - j * count // backwards] = chain[-1]
    for tensor, operation in last.items():
        name, size = tensors[tensor]
        push = dag.add(f"push/{name}", _UPLINK, after=[operation], size_bytes=size)
        dag.add(f"update/{name}", _AT_SERVER, after=[push])
    return dag, chain[:forwards], chain[forwards:]


def _durations(rng: np.random.Generator, recorded: int, count: int, total_ns: float) -> Floats:
    """Lognormal durations around means that come to the total."""
    means = rng.lognormal(0.0, SPREAD_OF_MEANS, count)
    means *= total_ns / means.sum()
    varied = rng.lognormal(-(SPREAD_OF_STEPS**2) / 2, SPREAD_OF_STEPS, (recorded, count))
    whole: Floats = np.maximum(1.0, np.rint(means * varied))
    return whole


def _collapse(dag: _Dag) -> _Dag:
    """Merge each computation at the worker with its only successor, if that waits for it alone."""
    after = dag.after()

    def goes_on(a: int, b: int) -> bool:
        computing = dag.place[a] == dag.place[b] == _AT_WORKER
        return computing and after[a] == [b] and dag.before[b] == [a]

    found = _Dag()
    new: dict[int, int] = {}
    for i, before in enumerate(dag.before):
        if i in new:
            continue
        run = [i]
        while len(after[run[-1]]) == 1 and goes_on(run[-1], after[run[-1]][0]):
            run.append(after[run[-1]][0])
        number = found.add(
            dag.names[i],
            dag.place[i],
            after=[new[b] for b in before],
            size_bytes=dag.size_bytes[i],
            members=tuple(run),
        )
        new.update(dict.fromkeys(run, number))
    return found


def _plan(dag: _Dag, duration_ns: Floats) -> StepPlan:
    after = dag.after()
    pulls = [i for i, place in enumerate(dag.place) if place == _DOWNLINK]
    return StepPlan(
        servers=1,
        names=tuple(dag.names),
        channels=(
            Channel(server=0, direction=DOWN, connection="data"),
            Channel(server=0, direction=UP, connection="data"),
        ),
        processors=(
            Processor(node=WORKER, server=-1, resource="worker", capacity=1),
            Processor(node=SERVER, server=0, resource="ps", capacity=1),
        ),
        place=_ints(dag.place),
        size_bytes=_ints(dag.size_bytes),
        priority=np.zeros(len(dag.names), dtype=np.int64),
        duration_ns=duration_ns,
        waits=_ints([len(before) for before in dag.before]),
        after=_ints([follower for followers in after for follower in followers]),
        after_start=_ints(np.cumsum([0, *(len(followers) for followers in after)])),
        sources=np.tile(_ints(pulls), (len(duration_ns), 1)),
        members=tuple(dag.members),
    )


def _ints(values: Sequence[int] | Ints) -> Ints:
    return np.asarray(values, dtype=np.int64)


def reference_network(workers: int, rate_bps: int) -> Network:
    """One server's port, equally shared, without propagation delay."""
    return Network(
        share="equal",
        server_bps=_ints([rate_bps]),
        worker_bps=np.full(workers, rate_bps, dtype=np.int64),
        delay_ns=np.zeros(workers, dtype=np.int64),
    )


def reference_sending() -> Sending:
    """Two-visit as gRPC does it, with windows of 4 MiB."""
    return Sending(discipline="two_visit", options=(0, 0, 0, 16384), window_bytes=WINDOW_BYTES)


def reference_draws(workers: int, steps: int, seed: int, recorded: int = 100) -> Draws:
    """Random draws of the recorded steps that each worker repeats; all are equally fast."""
    rng = np.random.default_rng(seed)
    return Draws(
        step=rng.integers(0, recorded, (workers, steps)).astype(np.int32),
        factor=np.ones((workers, 1)),
    )
