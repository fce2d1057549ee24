"""Brute force over the configurations of Yan et al.: the referee of the optimizer."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Final

import numpy as np

from sim.analytic.yan.model import (
    Job,
    Machine,
    Problem,
    Reading,
    Split,
    cells,
    left,
    message_s,
    read_as,
    read_s,
    reads,
)
from sim.analytic.yan.network import Layer, Network, Numbers
from sim.analytic.yan.search import Resources, most_parts, node_costs, read_bits, resources

MOST_CELLS: Final = 8
"""Of a layer in a replica: all their orders are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brute:
    """Result of brute force: the least epoch, where, and the number of configurations."""

    epoch_s: float
    resources: Resources
    splits: tuple[Split, ...]
    size: int


def brute(problem: Problem, given: Sequence[Resources] | None = None) -> Brute:
    """Evaluate every configuration, at each boundary with every mapping: the optimizer's referee.

    It shares the equations with the optimizer, and neither recurrence, bounds nor matchings. For
    replicas of at most 8 workers: mappings are tried one by one.
    """
    best: tuple[float, Resources, tuple[Split, ...]] | None = None
    size = 0
    every = resources(problem.machine.count) if given is None else given
    for each in every:
        seconds, states = _all_epochs(problem, each)
        size += seconds.size
        place = int(np.argmin(seconds))
        if best is None or seconds.ravel()[place] < best[0]:
            chosen = np.unravel_index(place, seconds.shape)
            splits = tuple(listed[int(i)] for listed, i in zip(states, chosen, strict=True))
            best = float(seconds.ravel()[place]), each, splits
    assert best is not None
    return Brute(epoch_s=best[0], resources=best[1], splits=best[2], size=size)


def _all_epochs(problem: Problem, each: Resources) -> tuple[Numbers, list[list[Split]]]:
    """Epochs of all configurations with these resources, an axis for each layer's splits."""
    servers, replicas, workers = each
    cores = len(problem.machine.interference)
    states = [
        [
            Split(parts=p, threads=h, copies=r)
            for p in range(1, most_parts(problem, number, workers) + 1)
            for r in range(1, workers // p + 1)
            for h in range(1, cores + 1)
        ]
        for number in range(len(problem.network.layers))
    ]
    per_sample: Numbers = np.zeros(())
    bits: Numbers = np.zeros(())
    for number, listed in enumerate(states):
        shapes = [(s.parts, s.copies) for s in listed]
        threads = np.array([s.threads for s in listed])
        costs = node_costs(problem, number, shapes)[np.arange(len(listed)), threads - 1]
        if number:
            costs = costs + _boundary_costs(problem, number, states[number - 1], listed)
        per_sample = per_sample[..., None] + costs
        bits = bits[..., None] + read_bits(problem, number, shapes)
    fixed_s, bit_s = (
        read_s(problem, b, servers, replicas, workers)[problem.job.read == "worst"]
        for b in (0.0, 1.0)
    )
    waits = reads(problem, servers, replicas) * (fixed_s + (bit_s - fixed_s) * bits)
    return problem.job.samples / replicas * per_sample + waits, states


def _boundary_costs(
    problem: Problem, upper: int, below: Sequence[Split], listed: Sequence[Split]
) -> Numbers:
    """(states below, states) least seconds of the messages between two layers for one sample."""
    costs = np.empty((len(below), len(listed)))
    for i, lower in enumerate(below):
        for j, split in enumerate(listed):
            received, returned = _every_mapping(
                problem, upper, lower.parts, lower.copies, split.parts, split.copies
            )
            up_s = message_s(problem, received, split.threads) / (split.threads * split.copies)
            down_s = message_s(problem, returned, lower.threads) / (lower.threads * lower.copies)
            costs[i, j] = (up_s + down_s).min()
    return costs


@lru_cache(maxsize=20_000)
def _every_mapping(
    problem: Problem, upper: int, parts_below: int, copies_below: int, parts: int, copies: int
) -> tuple[Numbers, Numbers]:
    """Largest A and E of every mapping of as many cells as can share a worker; equal ones once."""
    below = Split(parts=parts_below, threads=1, copies=copies_below)
    between = cells(problem, upper, below, Split(parts=parts, threads=1, copies=copies))
    count, count_below = between.activations_spared.shape
    most = max(count, count_below)
    assert most <= MOST_CELLS
    square = np.zeros((2, most, most))
    square[0, :count, :count_below] = between.activations_spared
    square[1, :count, :count_below] = between.errors_spared
    orders = np.array(list(itertools.permutations(range(most))))
    rows = np.arange(most)
    spared = square[0][rows, orders][:, :count]
    received = left(between.activations, spared).max(axis=1)
    back = np.empty((len(orders), most))
    np.put_along_axis(back, orders, square[1][rows, orders], axis=1)
    returned = left(between.errors, back[:, :count_below]).max(axis=1)
    both = np.stack([received, returned], axis=1)
    _, kept = np.unique(np.round(both, 6), axis=0, return_index=True)
    return received[kept], returned[kept]


def random_problem(random: Random, *, machines: int, reading: Reading | None = None) -> Problem:
    """A random network of two to four layers on so many machines; without `reading` of any."""
    below = Layer(name="input", rows=random.randint(3, 12), depth=random.randint(1, 4))
    layers: list[Layer] = []
    for number in range(random.randint(2, 4)):
        under = layers[-1] if layers else below
        layers.append(_random_layer(random, f"layer{number}", under))
    cores = random.randint(1, 3)
    options = [f"reads={random.choice(('per_replica', 'total'))}"]
    options += random.sample(_OTHERS, random.randint(0, 2))
    return Problem(
        network=Network(input=below, layers=tuple(layers)),
        machine=Machine(
            count=machines,
            muladd_s=10 ** random.uniform(-9, -7),
            act_s=10 ** random.uniform(-8, -6),
            err_s=10 ** random.uniform(-8, -6),
            value_bits=32,
            rate_bps=round(10 ** random.uniform(5.5, 9.5)),
            latency_s=tuple(10 ** random.uniform(-7, -5) for _ in range(cores)),
            interference=tuple(1 + random.random() * h for h in range(cores)),
            cache=random.choice((1.0, 1.15)),
        ),
        job=Job(
            samples=1000,
            read_every=random.choice((1, random.randint(1, 100))),
            write_every=random.randint(1, 100),
            read=random.choice(("best", "worst")),
        ),
        reading=read_as(options) if reading is None else reading,
        most_parts=random.choice((None, 2)),
    )


def random_resources(random: Random, machines: int) -> list[Resources]:
    """All resources, or those with many workers a replica, whose layers have to be mapped."""
    least = random.choice((1, min(3, machines - 1)))
    return [each for each in resources(machines) if each[2] >= least]


_OTHERS: Final = (
    "copies=once",
    "stored=connections",
    "worst=all_servers",
    "update=above",
    "latency=per_bit",
    "acts=connections",
    "read_latency=yes",
)


def _random_layer(random: Random, name: str, below: Layer) -> Layer:
    """A layer that some network may have above another one."""
    depth = random.randint(1, 4)
    if below.rows < 3 or random.random() < 0.5:
        return Layer(name=name, rows=random.randint(1, 9), depth=depth)
    window, stride = random.randint(1, 3), random.randint(1, 2)
    padding = random.randint(0, window - 1)
    rows = (below.rows + 2 * padding - window) // stride + 1
    fan = random.randint(-(-below.depth // depth), below.depth)
    weights = random.choice((None, 0, window * fan * depth))
    return Layer(
        name=name,
        rows=rows,
        depth=depth,
        window=window,
        stride=stride,
        padding=padding,
        fan=fan,
        weights=weights,
    )
