"""Each kind of straggler: what it draws, what it reads, how speeds multiply."""

import importlib
import json
import math
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.errors import ScenarioError
from netcosim.scenario import StragglerSpec
from netcosim.training.stragglers import Use, conditions, kind_names, named_stragglers, use_texts
from netcosim.training.stragglers.kinds.process import process_names
from netcosim.training.stragglers.speeds import Speeds
from netcosim.training.stragglers.trace_file import read_trace
from sim.engine.engine import Engine
from tests.netcosim.training.stragglers.test_conditions import S, entry, found
from tests.sim.naive.plans import Op, at_worker, make_network, make_plan, make_sending, same_draws
from tests.snapshots import refusal

DRAWS = 40_000


def within(hits: float, chance: float, draws: int = DRAWS) -> bool:
    """True if so many of the draws is no further from the chance than five standard errors."""
    return abs(hits / draws - chance) <= 5 * math.sqrt(chance * (1 - chance) / draws)


class TestJitter:
    @staticmethod
    def draw(**options) -> np.ndarray:
        return found(entry("jitter", **options), workers=4, steps=DRAWS // 4).factor.ravel()

    @pytest.mark.parametrize("spread", [0.05, 0.2, 0.9])
    def test_lognormal(self, spread):
        logs = np.log(self.draw(model="lognormal", spread=spread))
        assert abs(logs.mean()) <= 5 * spread / math.sqrt(DRAWS)
        assert abs(logs.std() - spread) <= 5 * spread / math.sqrt(2 * DRAWS)
        for z, chance in ((-1.0, 0.158655), (0.0, 0.5), (2.0, 0.977250)):
            assert within((logs <= z * spread).sum(), chance)

    @pytest.mark.parametrize("spread", [0.1, 0.25, 0.9])
    def test_pareto(self, spread):
        """P(X > x) = (m/x)^(1/spread), with m such that the median is 1."""
        factors = self.draw(model="pareto", spread=spread)
        least = 0.5**spread
        assert factors.min() >= least * (1 - 1e-12)
        for chance in (0.9, 0.5, 0.1, 0.01):
            assert within((factors > least * chance**-spread).sum(), chance)

    def test_empirical(self):
        factors = self.draw(model="empirical", factors=[1, 2, 2, 8.5])
        assert set(factors.tolist()) == {1.0, 2.0, 8.5}
        for factor, chance in ((1.0, 0.25), (2.0, 0.5), (8.5, 0.25)):
            assert within((factors == factor).sum(), chance)

    def test_deterministic(self):
        assert set(self.draw(model="deterministic").tolist()) == {1.0}

    def test_steps_and_workers_are_independent(self):
        logs = np.log(found(entry("jitter", spread=0.2), workers=4, steps=DRAWS // 4).factor)
        pairs = [(logs[:, 1:], logs[:, :-1]), (logs[0], logs[1]), (logs[2], logs[3])]
        for a, b in pairs:
            correlation = np.corrcoef(a.ravel(), b.ravel())[0, 1]
            assert abs(correlation) <= 5 / math.sqrt(a.size)


class TestTransient:
    @staticmethod
    def durations(*, horizon_s=20_000, **options):
        """(off, on) of all workers, but for the last of each, which the horizon may have cut."""
        given_options = {"every": "3s", "lasting": "1s", "factor": 4.0, **options}
        got = found(entry("transient", **given_options), workers=8, horizon_ns=horizon_s * 1.0 * S)
        spans = [np.diff(trace.time_ns[:-1]) for trace in got.speeds]
        even = [span[: len(span) // 2 * 2 - 2].reshape(-1, 2) for span in spans]
        return np.concatenate(even).T / S

    def test_is_exponential(self):
        off, on = self.durations()
        assert len(off) > 30_000
        for drawn, mean in ((off, 3.0), (on, 1.0)):
            assert abs(drawn.mean() - mean) <= 5 * mean / math.sqrt(len(drawn))
            for chance in (0.9, 0.5, 0.05):
                beyond = (drawn > -mean * math.log(chance)).sum()
                assert within(beyond, chance, len(drawn))
        assert abs(np.corrcoef(off, on)[0, 1]) <= 5 / math.sqrt(len(off))

    def test_is_fixed(self):
        off, on = self.durations(law="fixed", horizon_s=100)
        assert set(off.tolist()) == {3.0}
        assert set(on.tolist()) == {1.0}

    def test_is_slow_while_it_lasts_and_never_behind_the_horizon(self):
        got = found(
            entry("transient", every="3s", lasting="2s", factor=4, law="fixed"),
            workers=1,
            horizon_ns=9.0 * S,
        )
        (trace,) = got.speeds
        assert (trace.time_ns[:-1] / S).tolist() == [0, 3, 5, 8, 10]
        speeds = np.diff(trace.work_ns) / np.diff(trace.time_ns)
        assert speeds.tolist() == [1, 0.25, 1, 0.25, 1]
        assert got.drawn_until_ns == 9.0 * S

    def test_a_later_horizon_draws_on(self):
        def trace(horizon_s):
            (one,) = found(
                entry("transient", every="3s", lasting="1s", factor=2.0),
                workers=1,
                horizon_ns=horizon_s * 1.0 * S,
            ).speeds
            return one.time_ns[:-1].tolist()

        short, long = trace(50), trace(5000)
        assert 0 < len(short) < len(long)
        assert long[: len(short)] == short
        assert long[len(short)] >= 50 * S
        assert trace(0) == [0.0]


class TestSpeeds:
    pieces = st.lists(
        st.tuples(st.integers(1, 20), st.sampled_from([0.25, 0.5, 1.0, 2.0, 3.0])),
        min_size=1,
        max_size=6,
    )

    @staticmethod
    def made(pieces) -> Speeds:
        ends = np.cumsum([length for length, _ in pieces])
        return Speeds(
            time_ns=np.concatenate([[0.0], ends[:-1].astype(float)]),
            speed=np.array([speed for _, speed in pieces]),
        )

    @staticmethod
    def each_ns(pieces, last: int) -> list[float]:
        """The speed in every nanosecond, by writing it down."""
        speeds = [speed for length, speed in pieces for _ in range(length)]
        return (speeds + [pieces[-1][1]] * last)[:last]

    @given(a=pieces, b=pieces, c=pieces)
    def test_the_work_of_a_product_is_its_integral(self, a, b, c):
        last = 200
        whole = self.made(a).times(self.made(b)).times(self.made(c)).trace()
        lists = [self.each_ns(pieces, last) for pieces in (a, b, c)]
        rates = [x * y * z for x, y, z in zip(*lists, strict=True)]
        integral = np.concatenate([[0.0], np.cumsum(rates)])
        work = np.interp(np.arange(last + 1), whole.time_ns, whole.work_ns)
        assert work.tolist() == pytest.approx(integral.tolist(), rel=1e-12)
        assert whole.time_ns[0] == whole.work_ns[0] == 0
        assert (np.diff(whole.time_ns) > 0).all() and (np.diff(whole.work_ns) > 0).all()

    @given(a=pieces, b=pieces, work=st.integers(1, 400))
    def test_the_engine_computes_at_the_product(self, a, b, work):
        """A step of one computation ends when the speeds of both have done its work."""
        trace = self.made(a).times(self.made(b)).trace()
        plan = make_plan([Op(name="c", at=at_worker(), duration_ns=float(work))])
        engine = Engine(
            plan, make_network(), make_sending(), same_draws(), speeds=[trace], compiled=False
        )
        engine.run()
        lists = [self.each_ns(pieces, 7000) for pieces in (a, b)]
        done = np.concatenate([[0.0], np.cumsum(np.prod(lists, axis=0))])
        (end,) = engine.steps().end_ns
        assert end == pytest.approx(np.interp(work, done, np.arange(len(done))), rel=1e-9)


def test_speeds_that_can_t_be_added_up_are_refused():
    speeds = Speeds(time_ns=np.array([0.0, 2.0**52, 2.0**52 + 1]), speed=np.array([1e6, 1e-6, 1]))
    assert refusal(speeds.trace) == (
        'straggler: speeds: "1e-06 to 1e+06": differ by more than numbers can be added up exactly'
    )


def test_slow_downs_and_a_trace_multiply(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("time_ns,speed\n0,1\n4000000000,0.5\n")
    fixed = entry("transient", every="3s", lasting="2s", factor=4.0, law="fixed")
    (trace,) = found(fixed, entry("trace", file=str(path)), workers=1, horizon_ns=4.0 * S).speeds
    assert (trace.time_ns[:-1] / S).tolist() == [0, 3, 4, 5]
    speeds = np.diff(trace.work_ns) / np.diff(trace.time_ns)
    assert speeds.tolist() == pytest.approx([1, 0.25, 0.125, 0.5])


class TestTraceFile:
    CSV = "time_ns,cpu,speed,memory_bytes\n0,0.25,1,1e9\n1000,1,0.5,2000000000\n"

    def test_both_formats_say_the_same(self, tmp_path):
        (tmp_path / "t.csv").write_text(self.CSV)
        columns = {
            "time_ns": [0, 1000],
            "speed": [1, 0.5],
            "cpu": [0.25, 1],
            "memory_bytes": [1e9, 2e9],
        }
        (tmp_path / "t.json").write_text(json.dumps(columns))
        for name in ("t.csv", "t.json"):
            speeds, use = read_trace(tmp_path / name)
            assert (speeds.time_ns.tolist(), speeds.speed.tolist()) == ([0, 1000], [1, 0.5])
            assert use.time_ns.tolist() == [0, 1000]
            assert use.cpu.tolist() == [0.25, 1]
            assert use.memory_bytes.tolist() == [1e9, 2e9]

    def test_without_what_the_machine_was_used_for(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("time_ns,speed\n0,2\n")
        got = found(entry("trace", workers=[1], file=str(path)))
        assert got.use == (None, None, None)
        assert got.speeds[0] is None
        assert np.diff(got.speeds[1].work_ns) / np.diff(got.speeds[1].time_ns) == [2]
        path.write_text("time_ns,speed,cpu\n0,2,0.5\n")
        (use,) = found(entry("trace", file=str(path)), workers=1).use
        assert (use.cpu.tolist(), use.memory_bytes) == ([0.5], None)

    def test_the_machine_s_memory_is_for_what_it_has_in_use(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text(self.CSV)
        (use,) = found(entry("trace", file=str(path), memory="64GB"), workers=1).use
        assert use.machine_bytes == 64e9
        path.write_text("time_ns,speed\n0,2\n")
        with pytest.raises(ScenarioError, match=r'options.memory: "64GB": has no effect without'):
            found(entry("trace", file=str(path), memory="64GB"), workers=1)

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("", "is empty; the first line names the columns"),
            ("time_ns,speed\n", "columns must be of one length, 1 to 1000000"),
            ("time_ns\n0\n", "column speed: is missing; allowed: time_ns, speed, cpu, memory_"),
            ("time_ns,speed,ram\n0,1,2\n", 'column "ram": unknown; allowed: time_ns, speed, cpu'),
            ("time_ns,speed,speed\n0,1,1\n", "names a column twice"),
            ("time_ns,speed\n0\n", "row 1: has 1 values; must have 2"),
            ("time_ns,speed\n5,1\n", "row 1: time_ns: 5: must be 0"),
            ("time_ns,speed\n0,1\n7,1\n7,1\n", "row 3: time_ns: 7: must be later than the row"),
            ("time_ns,speed\n0,1\n1,0\n", 'row 2: speed: "0": must be a speed, 1e-6 to 1e6'),
            ("time_ns,speed\n0,nan\n", 'row 1: speed: "nan": must be a speed, 1e-6 to 1e6'),
            ("time_ns,speed\n0,fast\n", 'row 1: speed: "fast": must be a speed, 1e-6 to 1e6'),
            ("time_ns,speed,cpu\n0,1,50\n", 'row 1: cpu: "50": must be a part of the processors'),
            ('{"time_ns": [0], "speed": 1}', "speed: must be a list of numbers"),
            ('{"time_ns": [0], "speed": [1, 2]}', "columns must be of one length"),
            ('{"time_ns": [0], "speed": [true]}', 'row 1: speed: "True": must be a speed'),
            ('{"time_ns": [0], "speed": [NaN]}', "not JSON: "),
            ('{"time_ns": [0], "speed"', "not JSON: "),
            ('time_ns,speed\n0,"1\n', "not CSV: "),
        ],
    )
    def test_what_is_wrong_is_named_in_one_line(self, tmp_path, text, line):
        path = tmp_path / "t"
        path.write_text(text)
        assert refusal(read_trace, path).startswith(f"{path}: {line}")

    def test_one_that_is_not_there(self, tmp_path):
        with pytest.raises(ScenarioError, match="can't be read: No such file or directory"):
            found(entry("trace", file=str(tmp_path / "none.csv")))

    @given(
        text=st.one_of(st.text(), st.text().map(lambda t: "{" + t), st.sampled_from([CSV])),
        at=st.integers(0, 99),
        more=st.text(max_size=3),
    )
    def test_no_text_ends_in_anything_but_a_line(self, tmp_path_factory, text, at, more):
        path = tmp_path_factory.getbasetemp() / "any-text"
        path.write_text(text[:at] + more + text[at + len(more) :], "utf-8", "replace")
        try:
            read_trace(path)
        except ScenarioError as refused:
            assert str(refused).isprintable()


def use(times_s: list[int], cpu: list[float] | None, memory_gb: list[float] | None) -> Use:
    return Use(
        time_ns=np.array(times_s) * 1e9,
        cpu=None if cpu is None else np.array(cpu),
        memory_bytes=None if memory_gb is None else np.array(memory_gb) * 1e9,
    )


def test_means_are_over_time_up_to_the_last_row() -> None:
    both = use([0, 30, 40], [0.2, 0.6, 0.9], [1.0, 3.0, 2.0])
    assert use_texts([None, both]) == [
        "w1: processors 30 % on average, 90 % at most; memory 1.50 GB on average, 3.00 GB at most"
    ]


def test_a_single_row_holds_all_the_time() -> None:
    assert use_texts([use([0], None, [2.5])]) == ["w0: memory 2.50 GB on average, 2.50 GB at most"]


def test_a_trace_of_several_workers_is_told_once() -> None:
    one, other = use([0], [0.5], None), use([0], [0.25], None)
    assert use_texts([one, other, one, None, one, one, one, one]) == [
        "w0, w2, w4, w5 and 2 more: processors 50 % on average, 50 % at most",
        "w1: processors 25 % on average, 25 % at most",
    ]
    assert use_texts([None, None]) == []


PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "scenario.md").read_text("utf-8")
SECTION = PAGE[PAGE.index("## `[[straggler]]`") :]
KINDS = SECTION[: SECTION.index("### By name")]


def test_every_kind_stands_there_with_its_options():
    rows = dict(re.findall(r"^\| `([a-z]+)` \| (.*) \|$", KINDS, re.M))
    for name in kind_names():
        options = importlib.import_module(f"netcosim.training.stragglers.kinds.{name}").Options
        for option in options.model_fields:
            assert f"`{option}`" in rows[name], (name, option)


def test_every_name_stands_there_as_the_program_says_it():
    for name, text in named_stragglers().items():
        assert f"| `{name}` | {text} |" in SECTION


def test_the_trace_can_be_read(tmp_path):
    (text,) = re.findall(r"```\n(time_ns,.*?)```", SECTION, re.S)
    path = tmp_path / "t.csv"
    path.write_text(text)
    speeds, use = read_trace(path)
    assert speeds.speed.tolist() == [1, 0.4, 1]
    assert use is not None and use.cpu is not None and use.memory_bytes is not None


ANNOUNCED = ("announced", "wandering", "daily", "bursts")


def series(name: str, rows: int = 4000, seed: int = 1):
    draw = import_module(f"netcosim.training.speed_processes.{name}").draw
    return draw(rows, np.random.default_rng(seed))


@pytest.mark.parametrize("name", process_names())
def test_speeds_are_above_zero_and_use_is_a_part(name):
    found = series(name)
    assert found.speed.min() > 0
    assert found.speed.max() <= 1.3
    assert np.ptp(found.speed) > 0.3
    for use in (found.processor, found.memory):
        assert 0 <= use.min() <= use.max() <= 1
    again = series(name)
    assert np.array_equal(found.speed, again.speed)
    assert not np.array_equal(found.speed, series(name, seed=2).speed)


def test_there_are_five_and_use_shows_nothing_of_one_of_them():
    assert len(process_names()) == 5
    for name in process_names():
        found = series(name)
        shown = max(
            abs(np.corrcoef(found.speed, use)[0, 1]) for use in (found.processor, found.memory)
        )
        assert (shown > 0.8) == (name in ANNOUNCED), (name, shown)


def of(name: str, horizon_ns: float, workers: int = 2):
    spec = StragglerSpec(kind="process", workers="all", options={"name": name})
    ports = np.full(workers, 10**9, dtype=np.int64)
    return conditions(
        [spec],
        10,
        ports,
        np.zeros(workers, dtype=np.int64),
        np.random.SeedSequence(3),
        horizon_ns=horizon_ns,
    )


def test_a_later_horizon_and_more_workers_leave_what_was_drawn():
    short, long = of("announced", 1e9), of("announced", 9e12, workers=3)
    for worker in range(2):
        one, two = short.speeds[worker], long.speeds[worker]
        assert one is not None
        assert two is not None
        rows = len(one.time_ns) - 1
        assert np.allclose(one.work_ns[:rows], two.work_ns[:rows])
    assert short.drawn_until_ns >= 1e9
    assert long.drawn_until_ns >= 9e12


def test_an_unknown_process_is_refused_by_name():
    with pytest.raises(ScenarioError, match=r"announced, bursts, daily, hidden, wandering"):
        of("nothing", 1e9)
