"""The optimizer of Yan et al. (KDD 2015, section 5).

An epoch's time is a sum over layers and over boundaries between two layers. Machines are alike: at
a boundary it only counts which cells share a worker, and boundaries are independent of each other.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import numpy as np

from netcosim.errors import ScenarioError
from sim.analytic.yan.model import (
    Cells,
    Configuration,
    Problem,
    Split,
    Terms,
    cells,
    computing,
    left,
    message_s,
    read_s,
    reads,
    terms,
)
from sim.analytic.yan.network import Numbers, links

Mapping: TypeAlias = Literal["best", "greedy"]
Pairs: TypeAlias = dict[int, int]
"""The cell below that shares a worker with a cell, where one does."""

Point: TypeAlias = tuple[float, float]
"""Largest A of the cells, and largest E of the cells below."""

Resources: TypeAlias = tuple[int, int, int]
"""N_ps, N_mr, N_wr."""

Path: TypeAlias = list[tuple[int, int, int]]
"""Of each layer its shape, its threads less 1, and the point at the boundary below it."""

_MOST_VALUES: Final = 50_000_000
_EQUAL: Final = 1e-9
"""Of the largest counts: those that are nearer are the same but for rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A configuration and its epoch."""

    configuration: Configuration
    terms: Terms


def resources(machines: int) -> list[Resources]:
    """All N_ps, N_mr, N_wr that so many machines allow (C1); one alone has no server."""
    if machines == 1:
        return [(0, 1, 1)]
    return [
        (servers, replicas, workers)
        for servers in range(1, machines)
        for replicas in range(1, machines - servers + 1)
        for workers in range(1, (machines - servers) // replicas + 1)
    ]


def optimize(
    problem: Problem,
    *,
    mapping: Mapping = "best",
    most: int = 1,
    given: Sequence[Resources] | None = None,
) -> tuple[Found, ...]:
    """The fastest configuration, and of other resources the next ones: each triple's best.

    Dynamic programming over layers. Boundaries are first taken for a bound that is less or equal,
    and those on the best path made exact until the best path is.

    Parameters
    ----------
    mapping : of cells to workers at a boundary: the best way, or the paper's greedy one
    most : how many are wanted
    given : the resources to choose from; None: all that the machines allow

    Raises
    ------
    ScenarioError
        The reading's layers have no recurrence, or the network has more than it can have.
    """
    if problem.reading.slowest != "term":
        allowed = "the recurrence needs slowest=term"
        raise ScenarioError.at("reading", f"slowest={problem.reading.slowest}", allowed)
    every = resources(problem.machine.count) if given is None else given
    tables = Tables(problem, mapping, max(each[2] for each in every))
    queue = [(tables.path(each)[0], each[0] + each[1] * each[2], each) for each in every]
    heapq.heapify(queue)
    found: list[Found] = []
    while queue and len(found) < most:
        _, machines, each = heapq.heappop(queue)
        seconds, path = tables.path(each)
        if (queue and seconds > queue[0][0]) or tables.refine(path):
            heapq.heappush(queue, (tables.path(each)[0], machines, each))
            continue
        best = tables.configuration(each, path)
        found.append(Found(configuration=best, terms=terms(problem, best)))
    return tuple(found)


def placed(problem: Problem, splits: Sequence[Split], workers: int) -> tuple[tuple[int, ...], ...]:
    """Workers of each layer's cells, mapped greedily from layer to layer."""
    maps = [tuple(range(splits[0].parts * splits[0].copies))]
    for upper in range(1, len(splits)):
        between = cells(problem, upper, splits[upper - 1], splits[upper])
        maps.append(_seated(greedy(between), maps[-1], len(between.activations), workers))
    return tuple(maps)


def greedy(between: Cells) -> Pairs:
    """The paper's mapping: each cell in turn takes the free worker with most of its connections.

    Of several the one where fewer activations and error terms are remote, then the first.
    """
    pairs: Pairs = {}
    free = list(range(len(between.errors)))
    spared = between.activations_spared + between.errors_spared
    for cell, row in enumerate(between.connections_spared):
        if not free:
            break
        chosen = max(free, key=lambda below: (row[below], spared[cell, below]))
        free.remove(chosen)
        pairs[cell] = chosen
    return pairs


def point(between: Cells, pairs: Pairs) -> Point:
    """Largest A and largest E of a mapping."""
    spared = np.zeros(len(between.activations)), np.zeros(len(between.errors))
    for cell, below in pairs.items():
        spared[0][cell] = between.activations_spared[cell, below]
        spared[1][below] = between.errors_spared[cell, below]
    received, returned = left(between.activations, spared[0]), left(between.errors, spared[1])
    return float(received.max()), float(returned.max())


def front(between: Cells) -> list[tuple[Point, Pairs]]:
    """All mappings of a boundary that no other one beats: their largest A and E, the A rising.

    A pair of thresholds can be met if the cells that must share a worker, as they receive too much
    without, can be matched, and those below as well: then one matching covers both (Mendelsohn and
    Dulmage, 1958).
    """
    received = between.activations[:, None] - between.activations_spared
    returned = between.errors[None, :] - between.errors_spared
    most_in = np.unique(np.append(received, between.activations))
    most_out = np.unique(np.append(returned, between.errors))
    slack = _EQUAL * (1 + most_in[-1] + most_out[-1])
    found: list[tuple[Point, Pairs]] = []
    out = len(most_out) - 1
    for limit_in in most_in:
        best = None
        while out >= 0:
            limit_out = most_out[out]
            pairs = _matching(
                (received <= limit_in + slack) & (returned <= limit_out + slack),
                between.activations > limit_in + slack,
                between.errors > limit_out + slack,
            )
            if pairs is None:
                break
            best, out = pairs, out - 1
        if best is not None:
            found.append((point(between, best), best))
    return found


def _matching(allowed: np.ndarray, needy: np.ndarray, needy_below: np.ndarray) -> Pairs | None:
    """A matching that covers all needy cells, above and below; None if there is none."""
    choices = [np.flatnonzero(row).tolist() for row in allowed]
    above, below = dict[int, int](), dict[int, int]()
    for cell in np.flatnonzero(needy).tolist():
        if not _augment(cell, choices, above, below, set(), None):
            return None
    needed = set(np.flatnonzero(needy_below).tolist())
    back = [np.flatnonzero(column).tolist() for column in allowed.T]
    for cell in sorted(needed):
        if cell not in below and not _augment(cell, back, below, above, set(), needed):
            return None
    return above


def _augment(
    cell: int,
    choices: Sequence[Sequence[int]],
    mine: Pairs,
    theirs: Pairs,
    tried: set[int],
    needed: set[int] | None,
) -> bool:
    """Match a cell along an alternating path; who is not `needed` may lose its partner."""
    for other in choices[cell]:
        if other in tried:
            continue
        tried.add(other)
        holder = theirs.get(other)
        if holder is not None and needed is not None and holder not in needed:
            del mine[holder]
            holder = None
        if holder is None or _augment(holder, choices, mine, theirs, tried, needed):
            mine[cell], theirs[other] = other, cell
            return True
    return False


def _seated(pairs: Pairs, below: Sequence[int], count: int, workers: int) -> tuple[int, ...]:
    """Workers of cells: their partner's, and for the others idle ones."""
    taken = {below[b] for b in pairs.values()}
    idle = iter([w for w in range(workers) if w not in taken])
    return tuple(below[pairs[c]] if c in pairs else next(idle) for c in range(count))


class Tables:
    """Costs of layers and boundaries for one sample and one replica, by parts and copies.

    Axes: `shape` is parts and copies of a layer, H its threads less 1; a boundary has (shape below,
    shape, points of its front).
    """

    def __init__(self, problem: Problem, mapping: Mapping, most: int) -> None:
        self._problem, self._mapping = problem, mapping
        machine, layers = problem.machine, problem.network.layers
        self._threads = np.arange(1, len(machine.interference) + 1)
        self.shapes = [
            [
                (p, r)
                for p in range(1, most_parts(problem, n, most) + 1)
                for r in range(1, most + 1)
                if p * r <= most
            ]
            for n in range(len(layers))
        ]
        values = len(self._threads) * sum(len(a) * len(b) for a, b in pairwise(self.shapes))
        if values > _MOST_VALUES:
            allowed = f"{values} values to keep for its boundaries: must be at most {_MOST_VALUES}"
            raise ScenarioError.at("machines.count", machine.count, allowed)
        self._nodes = [node_costs(problem, n, each) for n, each in enumerate(self.shapes)]
        self._bits = [read_bits(problem, n, each) for n, each in enumerate(self.shapes)]
        self._exact: list[set[tuple[int, int]]] = [set() for _ in layers]
        self._fronts: list[dict[tuple[int, int], list[Pairs]]] = [{} for _ in layers]
        self._paths: dict[tuple[int, float], tuple[int, tuple[float, Path]]] = {}
        self._version = 0
        self._returned: list[Numbers] = []
        self._received: list[Numbers] = []
        for upper in range(1, len(layers)):
            least = self.least(upper)
            self._returned.append(self._cost(upper - 1, least[1], axis=0))
            self._received.append(self._cost(upper, least[0], axis=1))

    def least(self, upper: int) -> Numbers:
        """Bounds of A and E of each boundary: (2, shapes below, shapes, 1).

        Each cell has the partner that it likes best, as far as there are enough of them.
        """
        found = np.zeros((2, len(self.shapes[upper - 1]), len(self.shapes[upper]), 1))
        liked: dict[tuple[int, int], tuple[_Liked, _Liked]] = {}
        for i, (parts_below, copies_below) in enumerate(self.shapes[upper - 1]):
            for j, (parts, copies) in enumerate(self.shapes[upper]):
                both = liked.get((parts_below, parts))
                if both is None:
                    both = _liked(self._problem, upper, parts_below, parts)
                    liked[parts_below, parts] = both
                common = math.gcd(copies_below, copies)
                more = parts * copies - parts_below * copies_below
                found[0, i, j] = both[0].at_least(common / copies_below, copies, more)
                found[1, i, j] = both[1].at_least(common / copies, copies_below, -more)
        return found

    def _cost(self, number: int, amounts: Numbers, *, axis: int) -> Numbers:
        """Messages of a layer for one sample: (shapes below, shapes, points, threads)."""
        copies = np.array([r for _, r in self.shapes[number]], dtype=np.float64)
        wide = copies[:, None, None, None] if axis == 0 else copies[None, :, None, None]
        seconds = message_s(self._problem, amounts[..., None], self._threads)
        return np.asarray(seconds / (self._threads * wide))

    def path(self, each: Resources) -> tuple[float, Path]:
        """Epoch and best path with these resources; a bound where boundaries are not exact."""
        problem = self._problem
        servers, replicas, workers = each
        fixed_s, bit_s = (
            read_s(problem, bits, servers, replicas, workers)[problem.job.read == "worst"]
            for bits in (0.0, 1.0)
        )
        count = reads(problem, servers, replicas)
        samples = problem.job.samples / replicas
        a_bit_s = float(f"{count * (bit_s - fixed_s) / samples:.13g}")
        version, found = self._paths.get((workers, a_bit_s), (-1, None))
        if found is None or version < self._version:
            found = self._least_sum(workers, a_bit_s)
            self._paths[workers, a_bit_s] = self._version, found
        return samples * found[0] + count * fixed_s, found[1]

    def _least_sum(self, workers: int, a_bit_s: float) -> tuple[float, Path]:
        """The recurrence: least seconds for one sample and one replica, and the path to it."""
        allowed = [
            np.array([i for i, (p, r) in enumerate(shapes) if p * r <= workers])
            for shapes in self.shapes
        ]
        own = [
            nodes[kept] + a_bit_s * bits[kept, None]
            for nodes, bits, kept in zip(self._nodes, self._bits, allowed, strict=True)
        ]
        sums, steps = own[0], []
        for upper in range(1, len(own)):
            square = np.ix_(allowed[upper - 1], allowed[upper])
            below = sums[:, None, None, :] + self._returned[upper - 1][square]
            both = below.min(axis=3)[..., None] + self._received[upper - 1][square]
            steps.append((below, both))
            sums = own[upper] + both.min(axis=(0, 2))
        j, h = (int(part) for part in np.unravel_index(int(np.argmin(sums)), sums.shape))
        least = float(sums[j, h])
        found = []
        for upper in range(len(own) - 1, 0, -1):
            below, both = steps[upper - 1]
            column = both[:, j, :, h]
            i, f = (int(p) for p in np.unravel_index(int(np.argmin(column)), column.shape))
            found.append((int(allowed[upper][j]), h, f))
            j, h = i, int(np.argmin(below[i, j, f]))
        found.append((int(allowed[0][j]), h, 0))
        return least, found[::-1]

    def refine(self, path: Path) -> bool:
        """Make the boundaries of a path exact; False if they were."""
        changed = False
        for upper in range(1, len(path)):
            i, j = path[upper - 1][0], path[upper][0]
            if (i, j) not in self._exact[upper]:
                self._make_exact(upper, i, j)
                changed = True
        self._version += changed
        return changed

    def _make_exact(self, upper: int, i: int, j: int) -> None:
        between = cells(self._problem, upper, self._split(upper - 1, i), self._split(upper, j))
        if self._mapping == "best":
            points = front(between)
        else:
            pairs = greedy(between)
            points = [(point(between, pairs), pairs)]
        self._exact[upper].add((i, j))
        self._fronts[upper][i, j] = [pairs for _, pairs in points]
        amounts = np.array([found for found, _ in points]).T  # (2, points)
        for table, number, shape, values in (
            (self._returned, upper - 1, i, amounts[1]),
            (self._received, upper, j, amounts[0]),
        ):
            missing = len(points) - table[upper - 1].shape[2]
            if missing > 0:
                rest = ((0, 0), (0, 0), (0, missing), (0, 0))
                table[upper - 1] = np.pad(table[upper - 1], rest, constant_values=np.inf)
            copies = self.shapes[number][shape][1]
            seconds = message_s(self._problem, values[:, None], self._threads)
            table[upper - 1][i, j, : len(points)] = seconds / (self._threads * copies)

    def _split(self, number: int, shape: int, threads: int = 1) -> Split:
        parts, copies = self.shapes[number][shape]
        return Split(parts=parts, threads=threads, copies=copies)

    def configuration(self, each: Resources, path: Path) -> Configuration:
        """The configuration of an exact path, with the workers of all cells."""
        splits = tuple(self._split(n, s, h + 1) for n, (s, h, _) in enumerate(path))
        maps = [tuple(range(splits[0].parts * splits[0].copies))]
        for upper in range(1, len(path)):
            pairs = self._fronts[upper][path[upper - 1][0], path[upper][0]][path[upper][2]]
            count = splits[upper].parts * splits[upper].copies
            maps.append(_seated(pairs, maps[-1], count, each[2]))
        return Configuration(
            servers=each[0], replicas=each[1], workers=each[2], splits=splits, maps=tuple(maps)
        )


def most_parts(problem: Problem, number: int, workers: int) -> int:
    """Most stripes that a layer may have in a replica of so many workers."""
    most = workers if problem.most_parts is None else min(workers, problem.most_parts)
    return min(most, problem.network.layers[number].rows)


@dataclass(frozen=True, slots=True)
class _Liked:
    """Values that stripes receive without a partner, and those that the best partner spares."""

    received: Numbers
    spared: Numbers
    rising: list[float]

    def at_least(self, share: float, copies: int, more: int) -> float:
        """The least that the largest of all cells receives.

        `more` is by how many they are more than their partners: so many of them have none.
        """
        least = float(left(self.received, share * self.spared).max())
        return max(least, self.rising[(more - 1) // copies]) if more > 0 else least


def _liked(problem: Problem, upper: int, parts_below: int, parts: int) -> tuple[_Liked, _Liked]:
    """Of the stripes of a layer, and of those below."""
    layers = problem.network.layers
    found = links(layers[upper - 1], layers[upper], parts_below, parts)
    distinct = problem.reading.acts == "distinct"
    both = []
    for shared in (
        found.activations if distinct else found.connections,
        (found.errors if distinct else found.connections).T,
    ):
        received = shared.sum(axis=1)
        both.append(_Liked(received, shared.max(axis=1), np.sort(received).tolist()))
    return both[0], both[1]


def node_costs(problem: Problem, number: int, shapes: Sequence[tuple[int, int]]) -> Numbers:
    """(shapes, threads) seconds of computing and updates for one sample and one replica."""
    interference = np.array(problem.machine.interference)
    each_thread = interference / np.arange(1, len(interference) + 1)
    found = []
    for parts, copies in shapes:
        own = computing(problem, number, parts)
        seconds = own.forward_s.max() + own.backward_s.max() + own.update_s.max()
        found.append(seconds * each_thread / copies)
    return np.array(found)


def read_bits(problem: Problem, number: int, shapes: Sequence[tuple[int, int]]) -> Numbers:
    """(shapes,) bits of a layer that a replica reads at a time."""
    every = problem.reading.copies == "R"
    bits = [computing(problem, number, p).read_bits * (r if every else 1) for p, r in shapes]
    return np.array(bits)
