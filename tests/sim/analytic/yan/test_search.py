"""The optimizer against brute force, and against every mapping of small spaces."""

import itertools
from random import Random

import numpy as np
import pytest

from bench.peers.yan_brute import brute, random_problem, random_resources
from netcosim.errors import ScenarioError
from sim.analytic.yan.model import (
    Cells,
    Configuration,
    Problem,
    Split,
    cells,
    read_as,
    terms,
)
from sim.analytic.yan.search import Tables, front, greedy, optimize, point, resources
from tests.sim.analytic.yan.made import network


def test_the_recurrence_with_the_best_mapping_finds_what_brute_force_finds():
    random = Random(1)
    for _ in range(16):
        machines = random.randint(2, 5)
        problem = random_problem(random, machines=machines)
        given = random_resources(random, machines)
        wanted = brute(problem, given)
        (found,) = optimize(problem, given=given)
        (paper,) = optimize(problem, mapping="greedy", given=given)
        assert found.terms.epoch_s == pytest.approx(wanted.epoch_s, rel=1e-12)
        assert paper.terms.epoch_s >= found.terms.epoch_s * (1 - 1e-12)


def test_brute_force_finds_the_least_of_all_configurations_in_all_mappings():
    random = Random(2)
    for _ in range(4):
        problem = random_problem(random, machines=3, reading=read_as(["reads=total"]))
        problem = Problem(
            network=network(
                problem.network.input.rows,
                problem.network.input.depth,
                *problem.network.layers[:2],
            ),
            machine=problem.machine,
            job=problem.job,
            reading=problem.reading,
        )
        least = min(terms(problem, each).epoch_s for each in every_configuration(problem))
        assert brute(problem).epoch_s == pytest.approx(least, rel=1e-12)


def every_configuration(problem: Problem):
    cores = len(problem.machine.interference)
    for servers, replicas, workers in resources(problem.machine.count):
        options = [
            [
                (Split(parts=p, threads=h, copies=r), order)
                for p in range(1, min(workers, layer.rows) + 1)
                for r in range(1, workers // p + 1)
                for h in range(1, cores + 1)
                for order in itertools.permutations(range(workers), p * r)
            ]
            for layer in problem.network.layers
        ]
        for chosen in itertools.product(*options):
            yield Configuration(
                servers=servers,
                replicas=replicas,
                workers=workers,
                splits=tuple(split for split, _ in chosen),
                maps=tuple(order for _, order in chosen),
            )


def test_the_front_has_every_mapping_that_no_other_one_beats():
    random = np.random.default_rng(4)
    for _ in range(120):
        count, below = (int(n) for n in random.integers(1, 5, 2))
        copies = int(random.integers(1, 4))  # what copies spare of each other are fractions
        spared_in, spared_out = random.integers(0, 6, (2, count, below)) / copies
        between = Cells(
            activations=spared_in.max(axis=1) + random.integers(0, 4, count),
            errors=spared_out.max(axis=0) + random.integers(0, 4, below),
            activations_spared=spared_in,
            errors_spared=spared_out,
            connections_spared=spared_in,
        )
        points = {point(between, pairs) for pairs in mappings(count, below)}
        wanted = {p for p in points if not any(beats(other, p) for other in points)}
        found = front(between)
        assert all(any(near(p, other) for other, _ in found) for p in wanted)
        assert all(point(between, pairs) == p and p in points for p, pairs in found)


def beats(one, other):
    return max(a - b for a, b in zip(one, other, strict=True)) < 1e-9 and not near(one, other)


def near(one, other):
    return one == pytest.approx(other, abs=1e-9)


def test_bounds_of_boundaries_are_no_more_than_any_mapping_has():
    random = Random(6)
    equal = 0
    for _ in range(3):
        problem = random_problem(random, machines=8)
        tables = Tables(problem, "best", 7)
        bounds = tables.least(1)
        for i, below in enumerate(tables.shapes[0]):
            for j, shape in enumerate(tables.shapes[1]):
                splits = [Split(parts=p, threads=1, copies=r) for p, r in (below, shape)]
                found = [p for p, _ in front(cells(problem, 1, *splits))]
                least = [min(p[axis] for p in found) for axis in (0, 1)]
                assert np.all(bounds[:, i, j, 0] <= np.array(least) * (1 + 1e-12))
                equal += bounds[:, i, j, 0] == pytest.approx(least)
    assert equal > 100  # else they would say little


def mappings(count: int, below: int):
    """Pairs of cells that share a worker, in every way, also fewer than could."""
    for chosen in itertools.product([None, *range(below)], repeat=count):
        used = [b for b in chosen if b is not None]
        if len(used) == len(set(used)):
            yield {c: b for c, b in enumerate(chosen) if b is not None}


def test_greedy_takes_most_connections_cell_by_cell():
    spared = np.array([[3.0, 5.0], [1.0, 9.0], [4.0, 0.0]])
    between = Cells(
        activations=spared.sum(axis=1),
        errors=spared.sum(axis=0),
        activations_spared=spared,
        errors_spared=spared,
        connections_spared=spared,
    )
    assert greedy(between) == {0: 1, 1: 0}  # the second would have liked what the first has
    assert point(between, greedy(between)) == (9.0, 9.0)


def test_the_next_ones_are_of_other_resources_and_no_faster():
    problem = random_problem(Random(8), machines=6)
    found = optimize(problem, most=5)
    shapes = [one.configuration for one in found]
    assert len({(s.servers, s.replicas, s.workers) for s in shapes}) == 5
    epochs = [one.terms.epoch_s for one in found]
    assert epochs == sorted(epochs)
    each = [optimize(problem, given=[r])[0].terms.epoch_s for r in resources(6)]
    assert epochs == pytest.approx(sorted(each)[:5], rel=1e-12)


def test_one_machine_has_no_server_and_reads_nothing():
    problem = random_problem(Random(9), machines=1)
    (found,) = optimize(problem)
    assert (found.configuration.servers, found.terms.reads_s) == (0, 0)


def test_the_slowest_segment_as_a_whole_has_no_recurrence():
    problem = random_problem(Random(1), machines=3, reading=read_as(["slowest=segment"]))
    with pytest.raises(ScenarioError, match="the recurrence needs slowest=term"):
        optimize(problem)
