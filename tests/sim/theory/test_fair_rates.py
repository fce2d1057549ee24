"""Max-min fair rates: lexicographic linear programs, and a full port that each flow is first at."""

from fractions import Fraction

import numpy as np
import pytest

from netcosim.training.plan import DOWN, UP, Channel, StepPlan
from sim.plan import Network
from tests.sim.engines import make_engine
from tests.sim.naive.plans import Op, make_network, make_plan
from tests.sim.theory.simplex import maximum

ONE, NONE = Fraction(1), Fraction(0)
Flow = tuple[int, int]  # server, worker


def test_the_simplex_finds_known_maxima() -> None:
    # Dantzig's example: 3x + 5y with x <= 4, 2y <= 12, 3x + 2y <= 18 is 36 at (2, 6).
    rows = [[1, 0], [0, 2], [3, 2]]
    found = maximum(
        [Fraction(3), Fraction(5)],
        [[Fraction(a) for a in row] for row in rows],
        [Fraction(4), Fraction(12), Fraction(18)],
    )
    assert found == 36
    # One at which the rule without Bland's order goes round for ever (Beale, 1955).
    goal = [Fraction(3, 4), Fraction(-150), Fraction(1, 50), Fraction(-6)]
    cycling = [
        [Fraction(1, 4), Fraction(-60), Fraction(-1, 25), Fraction(9)],
        [Fraction(1, 2), Fraction(-90), Fraction(-1, 50), Fraction(3)],
        [NONE, NONE, ONE, NONE],
    ]
    assert maximum(goal, cycling, [NONE, NONE, ONE]) == Fraction(1, 20)


def lexicographic(flows: list[Flow], server: list[int], worker: list[int]) -> list[Fraction]:
    """The largest least rate; then the same for those who can have more; and so on.

    All who are not settled have `t + x`: whoever can't have any x > 0 with the largest t is
    settled with it.
    """
    settled: dict[int, Fraction] = {}
    while len(settled) < len(flows):
        free = [f for f in range(len(flows)) if f not in settled]
        ports, left = _left(flows, settled, server, worker)
        # Variables: t, then an x of each free flow.
        least = maximum(
            [ONE, *[NONE] * len(free)],
            [[_many(flows, free, port), *_users(flows, free, port)] for port in ports],
            left,
        )
        room = [
            limit - _many(flows, free, port) * least
            for port, limit in zip(ports, left, strict=True)
        ]
        for i, f in enumerate(free):
            goal = [ONE if k == i else NONE for k in range(len(free))]
            if maximum(goal, [_users(flows, free, port) for port in ports], room) == 0:
                settled[f] = least
    return [settled[f] for f in range(len(flows))]


Port = tuple[int, int]  # 0 for servers and 1 for workers, number


def _left(
    flows: list[Flow], settled: dict[int, Fraction], server: list[int], worker: list[int]
) -> tuple[list[Port], list[Fraction]]:
    ports = [(kind, n) for kind, rates in ((0, server), (1, worker)) for n in range(len(rates))]
    used = [
        sum((rate for f, rate in settled.items() if flows[f][kind] == n), NONE) for kind, n in ports
    ]
    rates = [*server, *worker]
    return ports, [Fraction(rate) - u for rate, u in zip(rates, used, strict=True)]


def _users(flows: list[Flow], free: list[int], port: Port) -> list[Fraction]:
    return [ONE if flows[f][port[0]] == port[1] else NONE for f in free]


def _many(flows: list[Flow], free: list[int], port: Port) -> Fraction:
    return sum(_users(flows, free, port), NONE)


def one_way(direction: int, servers: list[int], names: list[str]) -> list[Op]:
    """A transfer to or from each of these servers, by a connection of each name."""
    return [
        Op(
            name=f"{direction}-{server}-{name}",
            at=Channel(server=server, direction=direction, connection=name),
            size_bytes=10**6,
        )
        for server in servers
        for name in names
    ]


def rates_of(plan: StepPlan, network: Network, workers: int) -> dict[int, list[tuple[Flow, float]]]:
    """By direction, every connection and its rate at the start, bytes a nanosecond."""
    engine = make_engine(plan, workers=workers, network=network)
    engine.run(0.0)
    found: dict[int, list[tuple[Flow, float]]] = {DOWN: [], UP: []}
    for connection in range(workers * len(plan.channels)):
        worker, c = divmod(connection, len(plan.channels))
        channel = plan.channels[c]
        assert engine._run.chunk_bytes[connection] > 0
        rate = float(engine._run.rate[connection])
        found[channel.direction].append(((channel.server, worker), rate))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_rates_are_the_lexicographic_largest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    servers, workers = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    names = ["data", "second"][: int(rng.integers(1, 3))]
    used = sorted({0, *(int(s) for s in rng.integers(0, servers, 2))})
    plan = make_plan(
        [*one_way(DOWN, list(range(servers)), names), *one_way(UP, used, names)], servers=servers
    )
    scale = 8 * 10**9
    server = [int(r) for r in rng.integers(1, 9, servers)]
    worker = [int(r) for r in rng.integers(1, 9, workers)]
    network = make_network(
        share="max_min",
        servers=servers,
        workers=workers,
        server_bps=[r * scale for r in server],
        worker_bps=[r * scale for r in worker],
    )
    for flows in rates_of(plan, network, workers).values():
        exact = lexicographic([flow for flow, _ in flows], server, worker)
        assert [rate for _, rate in flows] == pytest.approx([float(r) for r in exact], rel=1e-12)
        assert_bottlenecks(flows, server, worker)


def assert_bottlenecks(
    flows: list[tuple[Flow, float]], server: list[int], worker: list[int]
) -> None:
    """Max-min fair is who has a full port at which nobody has more, and only who does.

    Bertsekas and Gallager, Data Networks, section 6.5.2.
    """
    for flow, rate in flows:
        full = False
        for kind, limits in ((0, server), (1, worker)):
            here = [r for other, r in flows if other[kind] == flow[kind]]
            assert sum(here) <= limits[flow[kind]] * (1 + 1e-9)
            is_full = sum(here) == pytest.approx(limits[flow[kind]], rel=1e-9)
            full = full or (is_full and rate >= max(here) * (1 - 1e-9))
        assert full, (flow, rate)


def test_an_equal_split_is_not_max_min_fair_where_a_worker_is_slow() -> None:
    """The two checks above can fail: a half each is neither's idea of fair here."""
    flows, server, worker = [(0, 0), (0, 1)], [8], [1, 8]
    assert lexicographic(flows, server, worker) == [1, 7]
    with pytest.raises(AssertionError):
        assert_bottlenecks([((0, 0), 1.0), ((0, 1), 4.0)], server, worker)
