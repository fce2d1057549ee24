"""`bench noise`: what is kept of a run, what its answers are worth, what the runs come to."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.common.outcomes import outcome_of
from bench.common.record import Figure
from bench.fidelity.listing import read_listing, scenario_of
from bench.noise import run_records
from bench.noise.figures import figures_of, wilson
from bench.noise.run_records import Burst, Cell, Run
from bench.noise.running import order_of
from netcosim.results.folder import ResultsFolder
from netcosim.results.streams.summary import Answer
from tests.emu.run.made import write_run

CELLS = ("mixed8/h2", "mixed8/grpc")


def burst(number: int = 0, **changes: object) -> Burst:
    plain = {
        **{"burst": number, "first": number == 0, "valid": True, "judged": True, "exact": True},
        **{"length_ns": 1_000_000_000, "lost_ns": 20_000_000, "cut_ns": 15_000_000},
        **dict.fromkeys(("retransmissions", "loss_probes", "timeouts", "reorderings"), 0),
        **{"order_mean": 0.0, "order_max": 0.0, "time_mean": 0.0005, "time_max": 0.002},
    }
    return Burst(**plain | changes)


UNSCORED = {
    "judged": False,
    **dict.fromkeys(("order_mean", "order_max", "time_mean", "time_max", "exact")),
}


def cell(name: str = "mixed8/h2", *bursts: Burst, **changes: object) -> Cell:
    plain = {
        **{"cell": name, "sender": name.partition("/")[2], "right": "two_visit"},
        **{"kind": "follows", "model": "two_visit", "outcome": "right", "verdict": ""},
        **{"grade": "B", "streams": 8, "wall_mean": 0.01, "wall_max": 0.03},
        "bursts": bursts or (burst(0), burst(1)),
    }
    return Cell(**plain | changes)


def run(load: int = 0, number: int = 0, *cells: Cell, **changes: object) -> Run:
    plain = {
        **{"load": load, "number": number, "commit": "abc", "exit_code": 0, "said": ""},
        **{"wall_s": 90.0, "steal": 0.01, "load_average": 2.0, "occupied": load / 100},
        "cells": cells or tuple(cell(name) for name in CELLS),
    }
    return Run(**plain | changes)


def by_name(runs: list[Run], wanted: int = 2) -> dict[str, Figure]:
    figures = figures_of(runs, wanted=wanted, cells=CELLS)
    assert len({figure.name for figure in figures}) == len(figures)
    return {figure.name: figure for figure in figures}


@given(st.lists(st.integers(0, 50), min_size=1, max_size=5, unique=True), st.integers(1, 12))
def test_every_prefix_has_as_many_runs_of_each_load_but_for_one(loads, runs):
    order = order_of(loads, runs)
    assert sorted(order) == sorted((load, n) for load in loads for n in range(runs))
    for end in range(len(order)):
        counts = [sum(load == each for load, _ in order[:end]) for each in loads]
        assert max(counts) - min(counts) <= 1


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_has_the_shares_that_a_score_test_does_not_reject(seen):
    hits, count = seen
    low, high = wilson(hits, count)
    share = hits / count
    assert -1e-12 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1 + 1e-12
    for bound, end in ((low, 0), (high, 1)):
        if share == end:
            assert bound == pytest.approx(end, abs=1e-9)
        else:
            score = abs(share - bound) / math.sqrt(bound * (1 - bound) / count)
            assert score == pytest.approx(1.959963984540054, rel=1e-6)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two cells that the models made."""
    group = [c for c in read_listing() if c.group == "mixed8-pull-100mbit-fair"]
    folder = tmp_path_factory.mktemp("run") / "out"
    write_run(folder, scenario_of([c for c in group if c.family == "h2"]), bursts=3)
    return folder


@pytest.mark.soak
def test_a_run_is_kept_with_its_judged_bursts_and_the_right_rule(made):
    with ResultsFolder.open(made) as folder:
        cells = run_records.cells_of(folder)
        summary = folder.read_summary()
    assert [c.cell for c in cells] == [c.cell for c in summary.cells]
    for found, theirs in zip(cells, summary.cells, strict=True):
        assert found.right == theirs.configured_discipline == found.model
        assert (found.outcome, found.verdict) == ("right", "")
        assert [b.valid for b in found.bursts] == [False, True, True]
        assert [b.exact for b in found.bursts] == [None, True, True]
        assert [b.order_max for b in found.judged] == [0.0, 0.0]
        own = next(m for m in theirs.models if m.model == found.right and m.level == "PREDICT")
        assert found.wall_max == round(own.wall.max, 7)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Answer(kind="follows", model="fifo", bursts=3), "right"),
        (Answer(kind="follows", model="priority", alike=("fifo",), bursts=3), "right"),
        (Answer(kind="follows", model="two_visit", rivals=(), bursts=3), "wrong"),
        (Answer(kind="undecided", model="fifo", rivals=("two_visit",), bursts=3), "undecided"),
        (Answer(kind="undecided", model="two_visit", rivals=("fifo",), bursts=3), "undecided"),
        (Answer(kind="undecided", model="two_visit", rivals=("round_robin",)), "wrong"),
        (Answer(kind="alike", model="two_visit", alike=("fifo",), bursts=3), "undecided"),
        (Answer(kind="fits none", model="fifo", bursts=3), "fits none"),
        (Answer(kind="contradiction", model="fifo", bursts=2), "missing"),
        (Answer(kind="no evidence"), "missing"),
    ],
)
def test_what_an_answer_is_worth(answer, outcome):
    assert outcome_of(answer, "fifo") == outcome


def test_figures_hold_runs_against_the_targets():
    figures = by_name([run(0, 0), run(10, 0)])
    assert all(figure.met is not False for figure in figures.values())
    assert figures["runs"].value == 2
    assert figures["10 % load: h2: time error, mean"].value == pytest.approx(0.05)
    assert figures["10 % load: h2: time error, max"].value == pytest.approx(0.2)
    assert figures["10 % load: h2: time error on the wall clock, max"].value == pytest.approx(3)
    assert figures["10 % load: h2: lost share"].value == pytest.approx(2)
    assert figures["10 % load: h2: unexplained part of it"].value == pytest.approx(0.5)
    assert figures["10 % load: processor time that the load took"].value == pytest.approx(10)
    for name, figure in figures.items():
        if "load:" in name:
            assert "steal 1 %" in figure.note, name
            assert "load average 2" in figure.note, name


def test_every_way_to_miss_is_a_missed_target():
    bad_h2 = cell(
        "mixed8/h2", burst(0, order_mean=0.001, order_max=0.01, time_mean=0.01, time_max=0.1)
    )
    grpc = cell("mixed8/grpc", outcome="undecided", verdict="undecided between ...")
    sent = cell("mixed8/grpc", burst(1, reorderings=1, retransmissions=3))
    runs = {
        "runs": [run(0)],
        "runs that ended with exit code 0": [run(0), run(10, exit_code=1)],
        "longest run": [run(0), run(10, wall_s=121.0)],
        "wrong verdicts": [run(0, 0, cell(outcome="wrong"), cell("mixed8/grpc"))],
        "verdicts that no rule fits": [run(0, 0, cell(outcome="fits none"), cell("mixed8/grpc"))],
        "cells without a verdict": [run(0), run(10, cells=(), exit_code=4)],
        "gRPC: verdicts undecided": [run(0), run(10, 0, cell(), grpc)],
        "10 % load: h2: order error, mean": [run(10, 0, bad_h2)],
        "10 % load: h2: order error, max": [run(10, 0, bad_h2)],
        "10 % load: h2: time error, mean": [run(10, 0, bad_h2)],
        "10 % load: h2: time error, max": [run(10, 0, bad_h2)],
        "10 % load: h2: bursts judged": [
            run(10, 0, cell("mixed8/h2", burst(0), burst(1, **UNSCORED)))
        ],
        "10 % load: reorderings": [run(10, 0, sent)],
        "10 % load: segments sent again without probe or timeout": [run(10, 0, sent)],
    }
    good = by_name([run(0), run(10)])
    for name, made in runs.items():
        assert good[name].met is True, name
        assert by_name(made)[name].met is False, name


def test_means_are_over_streams():
    cells = [
        cell("a/h2", burst(0, time_mean=0.0), streams=30),
        cell("b/h2", burst(0, time_mean=0.01), streams=10),
    ]
    found = by_name([run(0, 0, *cells)])["0 % load: h2: time error, mean"]
    assert found.value == pytest.approx(0.25)


def test_segments_after_a_probe_or_a_timeout_are_not_held_against_the_order():
    bursts = [burst(1, retransmissions=1, loss_probes=1), burst(2, retransmissions=7, timeouts=1)]
    figures = by_name([run(0, 0, cell("mixed8/grpc", *bursts))])
    assert figures["0 % load: segments sent again without probe or timeout"].value == 0
    assert figures["0 % load: segments sent again in all"].value == 8
    assert figures["0 % load: tail-loss probes"].value == 1
    assert figures["0 % load: timeouts"].value == 1
