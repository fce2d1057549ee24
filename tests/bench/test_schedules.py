"""What the orders are worth: where TIC is misled, and how far they are from the best."""

import itertools

import numpy as np
import pytest

from bench.schedules.orders_random import against_tic, forward_pass, gaps, random_network
from netcosim.policies import load_order
from netcosim.policies.makespan import makespan_ns
from netcosim.policies.order_input import OrderInput
from netcosim.step_graph import topological_order


@pytest.mark.parametrize("listed", list(itertools.permutations(range(3))))
def test_tac_beats_tic_by_a_fifth_where_dependencies_mislead(listed):
    drawn = against_tic()
    step = forward_pass(drawn.duration_ns, drawn.predecessors, listed)
    told = OrderInput(sizes_bytes=[1] * 3, step=step)
    tac, tic = (
        makespan_ns(step, load_order(name)(told, np.random.default_rng(0)))
        for name in ("tac", "tic")
    )
    assert (tac, tic) == (13.0, 22.0)
    assert tac <= 0.8 * tic


def test_random_networks_are_steps_and_no_order_is_better_than_the_best():
    for seed in range(50):
        step = random_network(np.random.default_rng(seed), shuffled=bool(seed % 2))
        pulls = step.kind.count("pull")
        assert 2 <= pulls <= 8
        assert sorted(step.tensor[:pulls]) == list(range(pulls))
        waited_for = {before for each in step.predecessors for before in each}
        assert set(range(pulls)) <= waited_for
        assert len(topological_order(step)) == len(step)
        assert min(gap.mean for gap in gaps(2, seed).values()) >= 0
