"""Tensor sets, scaling, orders, placements, and the cells that they come to."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from netcosim.errors import ScenarioError
from netcosim.job import resolve_cells
from netcosim.policies import (
    load_order,
    load_placement,
    order_names,
    order_needs_step,
    placement_names,
)
from netcosim.policies.order_input import OrderInput
from netcosim.scenario import build_scenario
from netcosim.tensors import scale_sizes, set_names, tensor_set

MIB = 2**20


class TestSets:
    def test_names(self):
        assert " ".join(set_names()) == "alexnet googlenet inception_v3 mixed8 resnet50 vgg11"

    @pytest.mark.parametrize("name", set_names())
    def test_tensors_have_names_and_sizes(self, name):
        found = tensor_set(name)
        assert found.source
        assert len({tensor for tensor, _ in found.tensors}) == len(found.tensors)
        assert all(size > 0 for _, size in found.tensors)
        assert found.total_bytes == sum(size for _, size in found.tensors)

    def test_the_mixed_set(self):
        """Eight streams of 0.5 to 16 MB, 36.5 MB in all."""
        sizes = [size for _, size in tensor_set("mixed8").tensors]
        assert (len(sizes), sum(sizes)) == (8, 36_500_000)
        assert (min(sizes), max(sizes)) == (500_000, 16_000_000)

    @pytest.mark.parametrize(
        ("name", "tensors", "parameters"),
        [("alexnet", 16, 61_100_840), ("vgg11", 22, 132_863_336), ("resnet50", 161, 25_557_032)],
    )
    def test_published_parameter_counts(self, name, tensors, parameters):
        """Four bytes a parameter; the counts are those torchvision documents."""
        found = tensor_set(name)
        assert len(found.tensors) == tensors
        assert found.total_bytes == 4 * parameters


class TestScaling:
    @given(
        sizes=st.lists(st.integers(1, 10**9), min_size=1, max_size=60), total=st.integers(1, 10**9)
    )
    def test_total_is_exact_and_nothing_vanishes(self, sizes, total):
        assume(total >= len(sizes))
        scaled = scale_sizes(sizes, total)
        assert sum(scaled) == total
        assert min(scaled) >= 1
        factor = total / sum(sizes)
        raised = sum(1 for size in sizes if size * factor < 1)
        for before, after in zip(sizes, scaled, strict=True):
            assert after <= max(1, before * factor) + 1
            assert after >= before * factor - 1 - raised

    @given(sizes=st.lists(st.integers(1, 10**9), min_size=1, max_size=60))
    def test_no_total_changes_nothing(self, sizes):
        assert scale_sizes(sizes, None) == sizes
        assert scale_sizes(sizes, sum(sizes)) == sizes

    def test_many_halves_do_not_ruin_one(self):
        """Rounding each up would take 500 bytes from one tensor of two."""
        assert sorted(scale_sizes([3] * 1000, 1500)) == [1] * 500 + [2] * 500

    def test_order_of_sizes_is_kept(self):
        scaled = scale_sizes([size for _, size in tensor_set("alexnet").tensors], 20_000_000)
        sizes = [size for _, size in tensor_set("alexnet").tensors]
        assert sorted(range(16), key=sizes.__getitem__) == sorted(range(16), key=scaled.__getitem__)

    def test_more_tensors_than_bytes(self):
        with pytest.raises(ScenarioError, match="total: 2: must be >= 3, a byte a tensor"):
            scale_sizes([5, 5, 5], 2)


class TestOrders:
    @pytest.mark.parametrize("name", [n for n in order_names() if not order_needs_step(n)])
    @given(sizes=st.lists(st.integers(1, 99), max_size=30), seed=st.integers(0, 99))
    def test_each_is_a_permutation(self, name, sizes, seed):
        found = load_order(name)(OrderInput(sizes_bytes=sizes), np.random.default_rng(seed))
        assert sorted(found) == list(range(len(sizes)))
        assert all(type(i) is int for i in found)

    @pytest.mark.parametrize(
        ("name", "order"),
        [("as_listed", [0, 1, 2, 3]), ("reverse", [3, 2, 1, 0]), ("smallest_first", [1, 3, 0, 2])],
    )
    def test_examples(self, name, order):
        sizes = OrderInput(sizes_bytes=[5, 1, 9, 1])
        assert load_order(name)(sizes, np.random.default_rng(0)) == order

    def test_random_is_the_seed_s(self):
        draw = load_order("random")
        sizes = OrderInput(sizes_bytes=list(range(50)))
        first = draw(sizes, np.random.default_rng(7))
        assert first == draw(sizes, np.random.default_rng(7))
        assert first != draw(sizes, np.random.default_rng(8))


class TestPlacements:
    @pytest.mark.parametrize("name", placement_names())
    @given(sizes=st.lists(st.integers(1, 99), max_size=30), servers=st.integers(1, 9))
    def test_each_tensor_has_a_server(self, name, sizes, servers):
        found = load_placement(name)(sizes, servers, [i % servers for i in range(len(sizes))])
        assert len(found) == len(sizes)
        assert all(0 <= server < servers for server in found)

    def test_greedy_vgg11_on_two_servers(self):
        """Li et al. (ICPE 2020): VGG-11's largest tensor leaves two servers far from even."""
        sizes = [size for _, size in tensor_set("vgg11").tensors]
        servers = load_placement("greedy")(sizes, 2)
        held = [sum(n for n, s in zip(sizes, servers, strict=True) if s == k) for k in (0, 1)]
        assert [round(n / MIB, 1) for n in sorted(held, reverse=True)] == [406.6, 100.2]

    @given(sizes=st.lists(st.integers(1, 99), min_size=1, max_size=30), servers=st.integers(1, 9))
    def test_greedy_is_at_most_one_tensor_from_even(self, sizes, servers):
        found = load_placement("greedy")(sizes, servers)
        held = [0] * servers
        for size, server in zip(sizes, found, strict=True):
            assert held[server] == min(held)
            held[server] += size
        assert max(held) - min(held) <= max(sizes)

    def test_in_turn(self):
        assert load_placement("round_robin")([9, 9, 9, 9, 9], 3) == [0, 1, 2, 0, 1]


def job(*, order="as_listed", servers=1, seed=1, transports=1, **workload):
    return build_scenario(
        {
            "name": "job",
            "seed": seed,
            "cluster": {"link": {"rate": "100mbit"}, "servers": servers, "topology": "star"},
            "policy": {"order": order, "placement": "round_robin"},
            "workload": [{"name": "w", **workload}],
            "transport": [
                {"name": f"t{i}", "sender": "h2", "receiver": "h2", "window": "1MB"}
                for i in range(transports)
            ],
        }
    )


FOUR = [
    {"name": "a", "size": "100B"},
    {"name": "b", "size": "300B", "ready": "7ns"},
    {"name": "c", "size": "200B", "priority": 5},
    {"name": "d", "size": "400B"},
]


class TestCells:
    def test_messages_in_order_of_release_per_server(self):
        (cell,) = resolve_cells(job(tensors=FOUR, order="reverse", servers=2))
        assert cell.name == "w/t0"
        assert [[m.tensor for m in server] for server in cell.messages] == [["c", "a"], ["d", "b"]]
        assert [m.index for m in cell.messages[0]] == [2, 0]
        assert cell.messages[0][0].priority == 5
        assert cell.burst_bytes == 1000

    def test_spacing_counts_in_the_order_of_release(self):
        (cell,) = resolve_cells(job(tensors=FOUR, order="reverse", spacing="10ns"))
        ready_ns = {m.tensor: m.ready_ns for m in cell.messages[0]}
        assert list(ready_ns.items()) == [("d", 0), ("c", 10), ("b", 27), ("a", 30)]

    def test_scale_shrinks_tensors_and_window_together(self):
        (cell,) = resolve_cells(job(tensors=FOUR, total="500B", scale_window=True))
        assert [m.size_bytes for m in cell.messages[0]] == [50, 150, 100, 200]
        assert cell.window_bytes == 500_000
        (same,) = resolve_cells(job(tensors=FOUR, total="500B"))
        assert same.window_bytes == 1_000_000

    def test_a_window_scaled_away_is_refused(self):
        sizes = [{"name": "a", "size": "1GB"}]
        scenario = job(tensors=sizes, total="100B", scale_window=True)
        with pytest.raises(ScenarioError, match=r"transport\.window: 1000000: falls below one"):
            resolve_cells(scenario)

    def test_random_orders_are_the_same_for_every_transport_and_differ_by_seed(self):
        def orders(seed):
            cells = resolve_cells(job(set="resnet50", order="random", seed=seed, transports=2))
            return [[m.tensor for m in cell.messages[0]] for cell in cells]

        first, second = orders(1)
        assert first == second
        assert orders(1) == [first, second]
        assert orders(2)[0] != first
