"""Combined conditions of several stragglers, worker by worker."""

import itertools
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.scenario import StragglerSpec, build_scenario, dump_scenario, parse_scenario
from netcosim.training.stragglers import (
    Change,
    Conditions,
    check_stragglers,
    conditions,
    kind_names,
    named,
    named_stragglers,
)
from tests.snapshots import assert_kept, refusal, refusals

S = 10**9
MBIT = 10**6


def entry(kind, *, workers="all", **options) -> StragglerSpec:
    return StragglerSpec(kind=kind, workers=workers, options=options)


def found(*specs, workers=3, steps=5, seed=1, horizon_ns=1000 * S, spawn_key=()) -> Conditions:
    return conditions(
        specs,
        steps,
        np.full(workers, 100 * MBIT),
        np.zeros(workers, dtype=np.int64),
        np.random.SeedSequence(seed, spawn_key=spawn_key),
        horizon_ns=horizon_ns,
    )


def test_nobody_is_slow():
    same = found()
    assert same.factor.tolist() == [[1.0]] * 3
    assert same.speeds == same.use == (None,) * 3
    assert same.worker_bps.tolist() == [100 * MBIT] * 3
    assert same.delay_ns.tolist() == [0] * 3
    assert (same.absent, same.presence, same.drawn_until_ns) == ((), (), math.inf)


class TestCombine:
    def test_constant_factors_multiply(self):
        both = found(entry("slow", factor=2), entry("slow", workers=[1], factor=1.5))
        assert both.factor.tolist() == [[2.0], [3.0], [2.0]]

    def test_a_constant_factor_is_on_top_of_a_varying_one(self):
        jitter = entry("jitter", workers=[0, 1], spread=0.3)
        alone = found(jitter).factor
        both = found(jitter, entry("slow", workers=[1, 2], factor=4.0)).factor
        assert alone.shape == both.shape == (3, 5)
        assert alone[2].tolist() == [1.0] * 5
        assert both.tolist() == (alone * [[1.0], [4.0], [4.0]]).tolist()

    def test_rates_take_the_lowest_delays_add(self):
        both = found(
            entry("link", workers=[0, 1], rate="30mbit"),
            entry("link", workers=[1, 2], part=0.2),
            entry("link", workers=[2], rate="1gbit"),
            entry("delay", delay="1ms"),
            entry("delay", workers=[2], delay="500us"),
        )
        assert both.worker_bps.tolist() == [30 * MBIT, 20 * MBIT, 20 * MBIT]
        assert both.delay_ns.tolist() == [1_000_000, 1_000_000, 1_500_000]

    def test_what_the_network_has_comes_first(self):
        worker_bps, delay_ns = np.full(2, 50 * MBIT), np.array([7, 9])
        specs = [entry("link", rate="60mbit"), entry("delay", delay="1us")]
        seed = np.random.SeedSequence(1)
        got = conditions(specs, 1, worker_bps, delay_ns, seed, horizon_ns=1.0)
        assert got.worker_bps.tolist() == [50 * MBIT] * 2
        assert got.delay_ns.tolist() == [1007, 1009]
        assert delay_ns.tolist() == [7, 9]


spans = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 20), st.one_of(st.none(), st.integers(1, 9))),
    max_size=6,
)


@given(spans=spans)
def test_a_worker_is_away_whenever_an_entry_says_so(spans):
    """Held to counting, at every half nanosecond."""
    specs = [
        entry("join", workers=[w], at=f"{length}ns")
        if begin == 0 and length is not None
        else entry(
            "leave",
            workers=[w],
            at=f"{begin}ns",
            **({} if length is None else {"back": f"{begin + length}ns"}),
        )
        for w, begin, length in spans
    ]
    got = found(*specs)
    assert list(got.presence) == sorted(got.presence)
    for worker in range(3):
        mine = [change for change in got.presence if change.worker == worker]
        assert all(a.time_ns < b.time_ns for a, b in itertools.pairwise(mine))
        for time in np.arange(0.5, 40):
            away = any(
                w == worker and begin <= time and (length is None or time < begin + length)
                for w, begin, length in spans
            )
            last = [change.joins for change in mine if change.time_ns <= time]
            assert (last[-1] if last else worker not in got.absent) is not away


def test_who_joins_and_leaves():
    got = found(
        entry("leave", workers=[2, 1], at="5s", back="9s"), entry("join", workers=[0], at="5s")
    )
    assert got.absent == (0,)
    assert got.presence == (
        Change(5 * S, 0, True),
        Change(5 * S, 1, False),
        Change(5 * S, 2, False),
        Change(9 * S, 1, True),
        Change(9 * S, 2, True),
    )


RANDOM = (
    entry("jitter", spread=0.3),
    entry("jitter", model="pareto", spread=0.3),
    entry("jitter", model="empirical", factors=[1, 2, 5]),
    entry("transient", every="3s", lasting="1s", factor=2.0),
)


class TestChance:
    """Every worker and every entry has its own; the rest of the run makes no difference to it."""

    @staticmethod
    def same(a: Conditions, b: Conditions, workers: int, steps: int) -> bool:
        if a.factor[:workers, :steps].tolist() != b.factor[:workers, :steps].tolist():
            return False
        return all(
            x is not None and y is not None and x.work_ns.tolist() == y.work_ns.tolist()
            for x, y in zip(a.speeds[:workers], b.speeds[:workers], strict=True)
        )

    def test_hangs_on_the_seed(self):
        assert self.same(found(*RANDOM), found(*RANDOM), 3, 5)
        assert not self.same(found(*RANDOM), found(*RANDOM, seed=2), 1, 5)
        assert not self.same(found(*RANDOM), found(*RANDOM, spawn_key=(1,)), 1, 5)

    @pytest.mark.parametrize("workers", [1, 2, 40])
    def test_does_not_hang_on_the_number_of_workers(self, workers):
        assert self.same(found(*RANDOM), found(*RANDOM, workers=workers), min(3, workers), 5)

    def test_does_not_hang_on_the_number_of_steps(self):
        assert self.same(found(*RANDOM), found(*RANDOM, steps=5000), 3, 5)

    def test_asking_twice_with_one_seed_gives_the_same(self):
        seed, ports = np.random.SeedSequence(3), (np.full(2, MBIT), np.zeros(2, dtype=np.int64))
        first, second = (conditions(RANDOM, 4, *ports, seed, horizon_ns=S * 1.0) for _ in range(2))
        assert self.same(first, second, 2, 4)

    def test_workers_and_entries_differ(self):
        got = found(RANDOM[0], workers=3, steps=4).factor
        assert len(set(got.ravel().tolist())) == 12
        other = found(entry("slow", factor=1), RANDOM[0], workers=3, steps=4).factor
        assert not set(got.ravel().tolist()) & set(other.ravel().tolist())


class TestNamed:
    @pytest.mark.parametrize("name", named_stragglers())
    @pytest.mark.parametrize("workers", [1, 8])
    def test_each_does_something(self, name, workers):
        specs = named([name])
        check_stragglers(specs, workers)
        got, plain = found(*specs, workers=workers), found(workers=workers)
        differs = [
            (got.factor != plain.factor).any(),
            got.speeds != plain.speeds,
            (got.worker_bps != plain.worker_bps).any(),
            (got.delay_ns != plain.delay_ns).any(),
            got.presence != plain.presence,
        ]
        assert any(differs)

    def test_names_combine(self):
        assert named(["jittery", "one-slow"]) == named(["jittery"]) + named(["one-slow"])
        assert named([]) == ()

    def test_an_unknown_one(self):
        assert refusal(named, ["one-slow", "bad"]) == (
            '--straggler: "bad": unknown; allowed: one-slow, one-slow-link, one-far, jittery,'
            " heavy-tailed, transient, mixed, leaves"
        )

    def test_they_can_be_written_to_a_scenario(self):
        data = {
            "name": "x",
            "cluster": {"link": {"rate": "1gbit"}},
            "workload": [{"name": "w", "profile": "resnet50"}],
            "transport": [{"name": "t", "sender": "grpc", "receiver": "grpc"}],
        }
        scenario = build_scenario(data).model_copy(update={"straggler": named(named_stragglers())})
        assert parse_scenario(dump_scenario(scenario)) == scenario

    def test_every_fourth_of_a_mixed_cluster_is_slow(self):
        (slow, *_) = named(["mixed"])
        assert slow.chosen(9) == (0, 4, 8)


def test_kinds():
    assert kind_names() == (
        *("delay", "jitter", "join", "leave", "link", "process", "slow", "trace", "transient"),
    )


REFUSED = {
    "an unknown kind": {"kind": "tired"},
    "an unknown option": {"kind": "slow", "options": {"factr": 2}},
    "a missing option": {"kind": "slow"},
    "a factor of nothing": {"kind": "slow", "options": {"factor": 0}},
    "a factor as text": {"kind": "slow", "options": {"factor": "2"}},
    "a rate without a unit": {"kind": "link", "options": {"rate": 5}},
    "no rate": {"kind": "link"},
    "a delay without a unit": {"kind": "delay", "options": {"delay": 1.5}},
    "no spread": {"kind": "jitter"},
    "a spread too many": {"kind": "jitter", "options": {"model": "deterministic", "spread": 0.1}},
    "no factors": {"kind": "jitter", "options": {"model": "empirical"}},
    "a bad factor among them": {
        "kind": "jitter",
        "options": {"model": "empirical", "factors": [1, -1]},
    },
    "an unknown model": {"kind": "jitter", "options": {"model": "normal"}},
    "back before it left": {"kind": "leave", "options": {"at": "5s", "back": "5s"}},
    "a worker that is not there": {"kind": "slow", "workers": [0, 4], "options": {"factor": 2}},
    "more workers than there are": {
        "kind": "slow",
        "workers": None,
        "count": 5,
        "options": {"factor": 2},
    },
}


def test_refused_in_one_line():
    def check(data):
        spec = StragglerSpec.model_validate({"workers": "all"} | data)
        check_stragglers([entry("slow", factor=1), spec], 4)

    calls = {name: partial(check, data) for name, data in REFUSED.items()}
    assert_kept(Path(__file__).parent / "snapshots/stragglers.txt", refusals(calls))


class TestRefusedForARun:
    def test_more_slow_downs_than_anyone_needs(self):
        spec = entry("transient", every="1us", lasting="1us", factor=2.0)
        assert refusal(found, spec, horizon_ns=1000 * S) == (
            'straggler[0].options.every: "1us": comes to 500000000 slow-downs in the run; must be'
            " so long that there are at most 1000000"
        )

    def test_two_tables_of_one_machine_s_use(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("time_ns,speed,cpu\n0,1,0.5\n")
        spec = entry("trace", file=str(path))
        assert refusal(found, spec, spec) == (
            "straggler[1]: w0: has two traces that tell of its machine's use"
        )
