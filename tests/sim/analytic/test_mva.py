"""Mean-value analysis against closed forms, the convolution algorithm and the Markov chain."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.errors import ScenarioError
from sim.analytic.mva import Solution, Station, solve

demands = st.floats(0.01, 100)
networks = st.lists(
    st.builds(
        Station, name=st.just("s"), kind=st.sampled_from(["queueing", "delay"]), demand=demands
    ),
    min_size=1,
    max_size=5,
)


def queues(*times: float) -> list[Station]:
    return [Station(name=f"q{i}", kind="queueing", demand=t) for i, t in enumerate(times)]


def delays(*times: float) -> list[Station]:
    return [Station(name=f"d{i}", kind="delay", demand=t) for i, t in enumerate(times)]


def convolution(stations: list[Station], population: int) -> list[float]:
    """Buzen's normalising constants G(0..N): throughput is G(N - 1) / G(N)."""
    g = [1.0] + [0.0] * population
    for s in stations:
        if s.kind == "queueing":
            weights = [s.demand**n for n in range(population + 1)]
        else:
            weights = [s.demand**n / math.factorial(n) for n in range(population + 1)]
        g = [sum(g[n - k] * weights[k] for k in range(n + 1)) for n in range(population + 1)]
    return g


def markov_chain(stations: list[Station], population: int) -> tuple[float, list[float]]:
    """Throughput and mean customers from the global balance of a cycle with exponential times."""
    size = len(stations)
    states = [
        s for s in itertools.product(range(population + 1), repeat=size) if sum(s) == population
    ]
    index = {s: i for i, s in enumerate(states)}
    generator = np.zeros((len(states), len(states)))
    rates = np.zeros((len(states), size))
    for state, k in itertools.product(states, range(size)):
        if state[k]:
            busy = state[k] if stations[k].kind == "delay" else 1
            after = list(state)
            after[k] -= 1
            after[(k + 1) % size] += 1
            rates[index[state], k] = busy / stations[k].demand
            generator[index[state], index[tuple(after)]] += rates[index[state], k]
    generator -= np.diag(generator.sum(axis=1))
    balance = np.vstack([generator.T, np.ones(len(states))])
    wanted = np.append(np.zeros(len(states)), 1.0)
    share = np.linalg.lstsq(balance, wanted, rcond=None)[0]
    return float(share @ rates[:, 0]), [float(x) for x in share @ np.array(states)]


@pytest.mark.parametrize(("stations", "population"), [(1, 7), (3, 5), (4, 20)])
def test_a_balanced_network_has_its_closed_form(stations, population):
    found = solve(queues(*[2.0] * stations), population)
    assert found.throughput == pytest.approx(population / (2.0 * (population + stations - 1)))
    assert found.customers == pytest.approx([population / stations] * stations)


@pytest.mark.parametrize("machines", [1, 2, 5, 30])
@pytest.mark.parametrize(("think", "service"), [(10.0, 1.0), (1.0, 1.0), (0.5, 3.0)])
def test_the_machine_repairman_has_its_closed_form(machines, think, service):
    ratio = service / think
    idle = 1 / sum(
        math.factorial(machines) / math.factorial(machines - n) * ratio**n
        for n in range(machines + 1)
    )
    found = solve([*delays(think), *queues(service)], machines)
    assert found.throughput == pytest.approx((1 - idle) / service, rel=1e-12)
    assert found.utilisation[1] == pytest.approx(1 - idle, rel=1e-12)


@given(networks, st.integers(1, 12))
def test_it_agrees_with_the_convolution_algorithm(stations, population):
    g = convolution(stations, population)
    found = solve(stations, population)
    assert found.throughput == pytest.approx(g[-2] / g[-1], rel=1e-9)
    for station, customers in zip(stations, found.customers, strict=True):
        if station.kind == "queueing":
            expected = sum(
                station.demand**k * g[population - k] / g[-1] for k in range(1, population + 1)
            )
            assert customers == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("population", [1, 2, 4])
def test_it_agrees_with_the_markov_chain(population):
    stations = [*queues(0.7), *delays(2.0), *queues(1.3), *delays(0.2)]
    throughput, customers = markov_chain(stations, population)
    found = solve(stations, population)
    assert found.throughput == pytest.approx(throughput, rel=1e-9)
    assert found.customers == pytest.approx(customers, rel=1e-9)


@given(networks, st.integers(1, 40))
def test_throughput_is_within_the_asymptotic_and_balanced_bounds(stations, population):
    queueing = [s.demand for s in stations if s.kind == "queueing"]
    ports, think = sum(queueing), sum(s.demand for s in stations if s.kind == "delay")
    most = min(population / (ports + think), 1 / max(queueing, default=1e-300))
    least = population / (population * ports + think)
    assert least * (1 - 1e-9) <= solve(stations, population).throughput <= most * (1 + 1e-9)


@given(networks, st.integers(1, 20))
def test_littles_law_holds_and_nobody_is_lost(stations, population):
    found = solve(stations, population)
    assert sum(found.customers) == pytest.approx(population)
    assert sum(found.residence) == pytest.approx(population / found.throughput)
    for s, utilisation, customers in zip(stations, found.utilisation, found.customers, strict=True):
        assert utilisation <= customers * (1 + 1e-12)
        if s.kind == "delay":
            assert utilisation == pytest.approx(customers)
        else:
            assert utilisation <= 1 + 1e-12


@given(networks, st.integers(1, 20))
def test_another_customer_never_lowers_throughput(stations, population):
    fewer, more = (solve(stations, n).throughput for n in (population, population + 1))
    assert more >= fewer * (1 - 1e-12)


@given(networks)
def test_one_customer_never_waits(stations):
    found = solve(stations, 1)
    assert found.residence == tuple(s.demand for s in stations)
    assert found.throughput == pytest.approx(1 / sum(s.demand for s in stations))


def test_an_empty_network_does_nothing():
    nothing = Solution(throughput=0, residence=(3.0,), customers=(0.0,), utilisation=(0.0,))
    assert solve(queues(3.0), 0) == nothing


@pytest.mark.parametrize(
    ("stations", "population", "message"),
    [
        (queues(1.0), -1, "population: -1: at least 0"),
        (queues(-2.0), 1, "station q0: demand: -2.0: finite, at least 0"),
        (queues(math.inf), 1, "station q0: demand: inf: finite, at least 0"),
        (delays(0.0), 1, "stations: 1: one must have a demand above 0"),
        ([], 3, "stations: 0: one must have a demand above 0"),
        (
            [Station(name="x", kind="fifo", demand=1.0)],
            1,
            'station x: kind: "fifo": queueing or delay',
        ),
    ],
)
def test_bad_input_is_named(stations, population, message):
    with pytest.raises(ScenarioError) as caught:
        solve(stations, population)
    assert str(caught.value) == message
