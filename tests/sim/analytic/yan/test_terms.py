"""An epoch's terms: worked by hand, and against a twin that goes neuron by neuron.

By hand: a multiply-add is 1 s, an activation 10 s, an error term 100 s, the latency 1000 s, a value
one bit and a link 1 bit/s. An epoch has 6 samples, with a read after 3 and a write after 2.
"""

import math
from collections import Counter
from random import Random

import pytest

from bench.peers.yan_brute import random_problem
from netcosim.errors import ScenarioError
from sim.analytic.yan.model import Job, Problem, cells, computing, read_as, received, terms
from sim.analytic.yan.network import Layer, Network, stripes
from tests.sim.analytic.yan.made import full, machine, network, shape

JOB = Job(samples=6, read_every=3, write_every=2)
TWO_LAYERS = network(10, 1, full(4, name="hidden"), full(2, name="output"))


def by_hand(net: Network = TWO_LAYERS, *options: str, **changes: object) -> Problem:
    made = {"muladd_s": 1, "act_s": 10, "err_s": 100, "value_bits": 1, "rate_bps": 1}
    constants = machine(**(made | {"latency_s": (1000.0,), "update_s": 1.0} | changes))
    return Problem(network=net, machine=constants, job=JOB, reading=read_as(options))


def test_by_hand_one_worker_and_one_server():
    found = terms(by_hand(), shape(1, 1, 1, (1, 1, 1), (1, 1, 1)))
    hidden, output = found.layers
    # 4 neurons with 10 connections each, and 8 connections to the output above.
    assert (hidden.forward_s, hidden.backward_s, hidden.update_s) == (40 + 40, 8 + 400, 40)
    # 2 neurons with 4 connections each, and nothing above.
    assert (output.forward_s, output.backward_s, output.update_s) == (8 + 20, 200, 8)
    assert (hidden.total_s, output.total_s, found.messages_s) == (528, 236, 0)
    # 48 weights at 1 bit/s, twice an epoch.
    assert (found.read_best_s, found.read_worst_s, found.reads_s) == (48, 48, 96)
    assert found.epoch_s == 6 * (528 + 236) + 96
    # Three writes of 48 bits by a server's link, or 48 updates of 1 s: less than the epoch takes.
    assert (found.server_link_s, found.server_update_s, found.worker_link_s) == (144, 144, 144)
    assert (found.bounded_s, found.binding) == (found.epoch_s, "compute")


def test_by_hand_two_stripes_send_activations_and_error_terms():
    found = terms(by_hand(), shape(1, 1, 2, (2, 1, 1), (2, 1, 1)))
    hidden, output = found.layers
    # Half of the layer is elsewhere: 2 of 4 activations, 1 of 2 error terms.
    assert (output.activations, hidden.errors) == (2, 1)
    assert (output.forward_messages_s, hidden.backward_messages_s) == (1002, 1001)
    assert (hidden.forward_messages_s, output.backward_messages_s) == (0, 0)
    # 2 neurons: 20 connections below, 2 x 2 above.
    assert (hidden.forward_s, hidden.backward_s, hidden.update_s) == (20 + 20, 4 + 200, 20)
    assert found.messages_s == 6 * 2003
    assert found.binding == "worker_link"
    # Each connection, of 2 rows and the 2 remote ones; each bit with its latency.
    split = shape(1, 1, 2, (2, 1, 1), (2, 1, 1))
    each = terms(by_hand(TWO_LAYERS, "acts=connections"), split)
    assert (each.layers[1].activations, each.layers[0].errors) == (2, 2)
    bits = terms(by_hand(TWO_LAYERS, "latency=per_bit"), split)
    assert bits.messages_s == 6 * (2 + 1) * 1001


def test_by_hand_the_halo_of_a_convolution():
    conv = {"rows": 6, "window": 3, "padding": 1}
    net = network(
        6,
        2,
        Layer(name="first", depth=1, weights=6, **conv),
        Layer(name="second", depth=1, weights=3, **conv),
        Layer(name="pool", rows=3, depth=1, window=2, stride=2, weights=0),
    )
    found = terms(by_hand(net), shape(1, 1, 3, *[(3, 1, 1)] * 3))
    first, second, pool = found.layers
    # An inner stripe of two rows sees 3 + 3 rows of 2 neurons, an outer one 2 + 3.
    assert (first.connections, second.connections, pool.connections) == (12, 6, 2)
    # One row from above and one from below; pooling windows end where stripes do.
    assert (second.activations, first.errors, pool.activations, second.errors) == (2, 2, 0, 0)
    assert (second.backward_messages_s, pool.forward_messages_s) == (0, 0)
    # U_b of the second layer has the connections of pooling, U_w of pooling has none.
    assert (second.backward_s, pool.update_s) == (2 + 200, 0)
    # Each of three stripes reads the whole kernels; or as many weights as it has connections:
    # 10 + 12 + 10, 5 + 6 + 5 and 3 x 2.
    assert found.read_bits == 3 * (6 + 3)
    counted = terms(by_hand(net, "stored=connections"), shape(1, 1, 3, *[(3, 1, 1)] * 3))
    assert counted.read_bits == 32 + 16 + 6


def test_by_hand_the_output_is_copied():
    split = shape(1, 1, 2, (2, 1, 1), (1, 1, 2))
    found = terms(by_hand(), split)
    hidden, output = found.layers
    # Each copy needs both stripes; a stripe's errors are elsewhere for every other sample: (0+2)/2.
    assert (output.activations, hidden.errors) == (2, 1)
    assert (output.concurrency, output.forward_s) == (2, 28)
    assert found.update_s == 6 * (20 + 8 / 2)
    # Both copies read their 8 weights; or one does for both.
    assert found.read_bits == 40 + 2 * 8
    assert terms(by_hand(TWO_LAYERS, "copies=once"), split).read_bits == 48


def test_by_hand_threads_replicas_and_servers_share():
    slow = by_hand(interference=(1.0, 1.5), latency_s=(1000.0, 1500.0))
    copied = (1, 2, 2)
    home = terms(slow, shape(3, 2, 2, copied, copied))
    # A sample is at the same copy of both layers: at one worker all is local, latency with it.
    assert home.messages_s == 0
    assert home.layers[0].forward_s == 1.5 * 80
    assert home.layers[0].concurrency == 2 * 2 * 2
    away = terms(slow, shape(3, 2, 2, copied, copied, maps=[(0, 1), (1, 0)]))
    # Four activations, two error terms; two threads share the link.
    assert away.layers[1].forward_messages_s == 1500 + 4 * 2
    assert away.layers[0].backward_messages_s == 1500 + 2 * 2
    # 2 x 48 bits over min(2 workers, 3 servers) links, or after the other replica at one server.
    assert (away.read_best_s, away.read_worst_s) == (48, 192)
    # Two reads of a replica's 3 samples in 6 samples of both: one each; or by all samples two.
    assert away.reads_s == 48
    total = by_hand(TWO_LAYERS, "reads=total", interference=(1.0, 1.5), latency_s=(1e3, 1.5e3))
    assert terms(total, shape(3, 2, 2, copied, copied)).reads_s == 96


def test_the_twin_that_goes_neuron_by_neuron_counts_the_same():
    random = Random(3)
    for _ in range(40):
        problem = random_problem(random, machines=7, reading=read_as(()))
        number = random.randrange(1, len(problem.network.layers))
        below, layer = problem.network.layers[number - 1 : number + 1]
        workers = 6
        splits, maps = [], []
        for each in (below, layer):
            parts = random.randint(1, min(each.rows, workers))
            copies = random.randint(1, workers // parts)
            splits.append(shape(1, 1, workers, (parts, 1, copies)).splits[0])
            maps.append(tuple(random.sample(range(workers), parts * copies)))
        for option in ("acts=distinct", "acts=connections"):
            read = Problem(
                network=problem.network,
                machine=problem.machine,
                job=problem.job,
                reading=read_as([option]),
            )
            between = cells(read, number, *splits)
            found = received(between, maps[1], maps[0])
            wanted = neuron_by_neuron(below, layer, splits, maps, option == "acts=distinct")
            for one, other in zip(found, wanted, strict=True):
                assert one.tolist() == pytest.approx(other, abs=1e-9)
        own = computing(problem, number, splits[1].parts).connections
        where = stripe_of(layer.rows, splits[1].parts)
        counted = Counter(where[row] for (row, _), _ in connections(below, layer))
        assert own.tolist() == [counted[p] for p in range(splits[1].parts)]


def connections(below: Layer, layer: Layer) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Each connection's neuron and the one below, as row and place."""
    fan = below.depth if layer.fan is None else layer.fan
    found = []
    for row in range(layer.rows):
        begin = 0 if layer.window is None else row * layer.stride - layer.padding
        end = below.rows if layer.window is None else begin + layer.window
        for place in range(layer.depth):
            for under in range(max(begin, 0), min(end, below.rows)):
                starts = range(place * fan, place * fan + fan)
                found += [((row, place), (under, at % below.depth)) for at in starts]
    return found


def stripe_of(rows: int, parts: int) -> list[int]:
    bounds = [p * rows // parts for p in range(parts + 1)]
    assert bounds == stripes(rows, parts).tolist()
    return [p for p in range(parts) for _ in range(bounds[p + 1] - bounds[p])]


def neuron_by_neuron(below, layer, splits, maps, distinct):
    """A of the cells and E of the cells below: averages over samples, one after the other."""
    stripe_below = stripe_of(below.rows, splits[0].parts)
    stripe = stripe_of(layer.rows, splits[1].parts)
    period = math.lcm(splits[0].copies, splits[1].copies)
    sums = [Counter(), Counter()]
    for sample in range(period):
        remote: list[set] = [set(), set()]
        for count, (neuron, under) in enumerate(connections(below, layer)):
            lower = sample % splits[0].copies * splits[0].parts + stripe_below[under[0]]
            upper = sample % splits[1].copies * splits[1].parts + stripe[neuron[0]]
            if maps[0][lower] != maps[1][upper]:
                remote[0].add((upper, under if distinct else count))
                remote[1].add((lower, neuron if distinct else count))
        for total, each in zip(sums, remote, strict=True):
            total.update(cell for cell, _ in each)
    shares = (splits[1].copies / period, splits[0].copies / period)
    return [
        [total[c] * share for c in range(len(placed))]
        for total, share, placed in zip(sums, shares, (maps[1], maps[0]), strict=True)
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (shape(1, 1, 5, (5, 1, 1), (2, 1, 1)), "layer hidden: parts: 5: 1 to 4, its rows"),
        (shape(1, 1, 1, (1, 2, 1), (1, 1, 1)), "threads: 2: 1 to 1, a machine's cores"),
        (shape(0, 2, 1, (1, 1, 1), (1, 1, 1)), "servers: 0: at least 1, as 2 replicas share them"),
        (shape(1, 1, 3, (2, 1, 2), (1, 1, 1)), "2 x 2 segments: at most 3, a replica's workers"),
        (shape(2, 5, 4, (1, 1, 1), (1, 1, 1)), "2 + 5 x 4 machines: at most 20"),
        (shape(1, 1, 2, (1, 1, 1)), "configuration: layers: 1: one for each of 2 layers"),
        (shape(1, 1, 2, (2, 1, 1), (1, 1, 1), maps=[(1, 1), (0,)]), "map: [1, 1]: 2 workers"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused_by_its_field(given, said):
    with pytest.raises(ScenarioError) as refused:
        terms(by_hand(), given)
    assert said.split('"')[0] in str(refused.value).replace('"', "")


def test_readings_that_contradict_or_do_not_exist_are_refused():
    assert read_as(["reads=total", "reads=total"]).reads == "total"
    for options, said in (
        (["reads=total", "reads=per_replica"], "contradicts reads=total"),
        (["reads=all"], "unknown"),
        (["read=total"], "did you mean reads?"),
    ):
        with pytest.raises(ScenarioError, match=said.replace("?", r"\?")):
            read_as(options)
