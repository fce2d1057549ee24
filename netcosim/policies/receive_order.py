"""What TicTac's orders have in common: properties of receives, and the greedy choice among them.

Source: Hashemi, Jyothi and Campbell, *TicTac* (MLSys 2019), section 4, Algorithms 1 to 3. A receive
is a tensor that is pulled, in however many slices: an operation that needs one of them counts as
waiting for the tensor. See docs/background/tictac.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from netcosim.step_graph import StepGraph, pulled_tensors, pulls_before

NEVER: Final = float("inf")

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receive:
    """Properties of an outstanding receive; times are whole, in ns or in receives.

    Attributes
    ----------
    own : time of its transfer (M)
    load : of all operations that wait for this receive alone of those outstanding (P)
    impending : the least time of outstanding receives that some operation waits for which waits for
        this and others (M+); infinite if there is none
    """

    own: float
    load: float
    impending: float


Before = Callable[[Receive, Receive], bool]
"""Whether the first is to be received before the second, strictly."""


def in_order_of(step: StepGraph, time: Sequence[float], tensors: int, before: Before) -> list[int]:
    """All tensors in the order of Algorithm 3: again and again the first one of those outstanding.

    The first one is found by a scan of the receives as listed, in which another one replaces the
    best so far only where it is strictly before it. Tensors that are not pulled come behind, as
    listed.

    Parameters
    ----------
    time : (operations,) as the order counts them; whole numbers, so that sums are exact
    tensors : in the workload's list
    before : the comparator
    """
    open_receives = _Outstanding.of(step, time)
    chosen = []
    while len(open_receives):
        found = open_receives.properties()
        best = 0
        for i in range(1, len(found)):
            if before(found[i], found[best]):
                best = i
        chosen.append(open_receives.tensors[best])
        open_receives.remove(best)
    return behind(chosen, tensors)


def by_impending(step: StepGraph, time: Sequence[float], tensors: int) -> list[int]:
    """All tensors by M+ with every receive outstanding (Algorithm 2); ties as listed."""
    open_receives = _Outstanding.of(step, time)
    found = open_receives.properties()
    chosen = sorted(range(len(found)), key=lambda i: found[i].impending)
    return behind([open_receives.tensors[i] for i in chosen], tensors)


def behind(chosen: Sequence[int], tensors: int) -> list[int]:
    """The chosen tensors, then all others as listed."""
    named = set(chosen)
    return [*chosen, *(t for t in range(tensors) if t not in named)]


@dataclass(slots=True)
class _Outstanding:
    """Outstanding receives, and the sets of them that operations wait for (Algorithm 1).

    Operations that wait for the same receives are one set. Rows and columns are dropped as soon as
    they no longer matter; times of a set are kept up to date, exactly, as they are whole.

    Attributes
    ----------
    tensors : (receives,) as listed
    own, load : (receives,) M and P
    member : (receives, sets) whether the set has the receive; of sets of two or more
    count : (sets,) receives in it
    needed : (sets,) time of these receives
    work : (sets,) time of the operations that wait for them
    """

    tensors: list[int]
    own: Floats
    load: Floats
    member: Bools
    count: NDArray[np.int64]
    needed: Floats
    work: Floats

    @classmethod
    def of(cls, step: StepGraph, time: Sequence[float]) -> "_Outstanding":
        """All receives of a step."""
        tensors = pulled_tensors(step)
        own: dict[int, float] = dict.fromkeys(tensors, 0.0)
        work: dict[int, float] = {}
        for op, waited in enumerate(pulls_before(step)):
            if step.kind[op] == "pull":
                own[step.tensor[op]] += time[op]
            elif waited:
                work[waited] = work.get(waited, 0.0) + time[op]
        times = np.array([own[t] for t in tensors], dtype=np.float64)
        member = _bits(list(work), tensors)
        made = cls(
            tensors=tensors,
            own=times,
            load=np.zeros(len(tensors)),
            member=member,
            count=member.sum(axis=0, dtype=np.int64),
            needed=np.array([times[column].sum() for column in member.T], dtype=np.float64),
            work=np.array(list(work.values()), dtype=np.float64),
        )
        made._settle()
        return made

    def __len__(self) -> int:
        return len(self.tensors)

    def properties(self) -> list[Receive]:
        """Properties of each receive, as listed."""
        impending = np.full(len(self.tensors), NEVER)
        if len(self.needed):
            sooner = np.argsort(self.needed, kind="stable")
            first = self.member[:, sooner].argmax(axis=1)
            there = self.member.any(axis=1)
            impending[there] = self.needed[sooner][first[there]]
        columns = (self.own.tolist(), self.load.tolist(), impending.tolist())
        return [Receive(own=m, load=p, impending=plus) for m, p, plus in zip(*columns, strict=True)]

    def remove(self, i: int) -> None:
        """Receive number i has ended."""
        affected = self.member[i]
        self.needed[affected] -= self.own[i]
        self.count[affected] -= 1
        del self.tensors[i]
        self.own, self.load = np.delete(self.own, i), np.delete(self.load, i)
        self.member = np.delete(self.member, i, axis=0)
        self._settle()

    def _settle(self) -> None:
        """Sets of a single receive become its load."""
        alone = self.count == 1
        if alone.any():
            owner = self.member[:, alone].argmax(axis=0)
            np.add.at(self.load, owner, self.work[alone])
            kept = ~alone
            self.member = self.member[:, kept]
            self.count, self.needed = self.count[kept], self.needed[kept]
            self.work = self.work[kept]


def _bits(sets: Sequence[int], tensors: Sequence[int]) -> Bools:
    """(tensors, sets) whether the set has the tensor's bit."""
    if not tensors or not sets:
        return np.zeros((len(tensors), len(sets)), dtype=bool)
    size = max(tensors) // 8 + 1
    raw = b"".join(each.to_bytes(size, "little") for each in sets)
    packed = np.frombuffer(raw, dtype=np.uint8).reshape(len(sets), size)
    found: Bools = np.unpackbits(packed, axis=1, bitorder="little")[:, tensors].T.astype(bool)
    return found
