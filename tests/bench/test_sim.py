"""The simulator's benchmark: who is measured when, what a figure says, who is not timed."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.common.record import Figure
from bench.peers.agree import PEERS, Agreement
from bench.sim import __main__ as sim
from bench.sim import peers
from bench.sim.default_scenario import everyday_figures
from bench.sim.engines import flatness
from bench.sim.peers import fast_difference, judge_agreements, peer_figures
from bench.sim.reference_job import Job, loop_s
from bench.sim.timing import QUICK, Competitor, Timing, alternate, ratio_figure, us_figure

ROOT = Path(__file__).parents[2]


def timing(name: str, *seconds: float, units: int = 10) -> Timing:
    return Timing(name=name, units=units, seconds=list(seconds))


def agreement(peer: int, difference: float) -> Agreement:
    job = {"release": "1", "operations": 9, "rate_bps": 10**9, "workers": 1}
    return Agreement(peer=PEERS[peer], difference=difference, **job)


def test_every_round_measures_everybody_and_every_other_one_goes_backwards():
    measured: list[str] = []

    def competitor(name: str) -> Competitor:
        def measure() -> float:
            measured.append(name)
            return float(len(measured))

        return Competitor(name=name, units=5, measure=measure)

    timings = alternate([competitor(name) for name in "abc"], 3)
    assert "".join(measured) == "abccbaabc"
    assert [t.seconds for t in timings] == [[1, 6, 7], [2, 5, 8], [3, 4, 9]]


class TestFigures:
    """Targets are held against the median; the best round is told beside it."""

    def test_microseconds(self):
        figure = us_figure("f", timing("a", 1e-4, 4e-4, 3e-4), 25)
        assert figure.value == pytest.approx(30)
        assert (figure.met, figure.target) == (False, "<= 25")
        assert figure.note == "best 10; 3 rounds"

    def test_a_ratio_is_of_units_and_pairs_the_rounds(self):
        slow = timing("slow", 40, 20, 100, units=10)
        fast = timing("fast", 1, 2, 1, units=100)
        figure = ratio_figure("f", slow, fast, least=500)
        assert figure.value == pytest.approx(400)
        assert figure.met is False
        assert "of the bests 200;" in figure.note

    def test_flatness_is_the_dearest_number_of_workers_against_the_cheapest(self):
        found = {1: timing("a", 3, 2, 2), 4: timing("a", 1, 1, 5), 16: timing("a", 3, 3, 3)}
        figure = flatness("here", found)
        assert figure.value == pytest.approx(3)
        assert figure.met is False


class TestAgreement:
    """A competitor that does not simulate the same is not timed."""

    def test_a_peers_worst_agreement_counts(self):
        limit = PEERS[0].limit
        first, second = judge_agreements(
            [agreement(0, 0.0), agreement(0, 2 * limit), agreement(1, 0.0)]
        )
        assert not first.agrees
        assert first.figure().met is False
        assert "not timed" in first.figure().note
        assert second.agrees
        assert second.figure().note == ""

    @pytest.mark.soak
    def test_only_those_who_agree_are_timed(self, monkeypatch, tmp_path):
        timed: list[str] = []

        def competitor(peer: peers.Peer, build: Path, job: Path, units: int) -> Competitor:
            timed.append(peer.name)
            return Competitor(name=peer.name, units=units, measure=lambda: 1.0)

        monkeypatch.setattr(peers, "_competitor", competitor)
        judged = judge_agreements([agreement(0, 1.0), agreement(1, 0.0)])
        effort = replace(QUICK, rounds=1, least_s=1e-9, peer_steps=1)
        figures = list(peer_figures(judged, effort, tmp_path, []))
        assert set(timed) == {PEERS[1].name}
        assert all(PEERS[1].name in figure.name for figure in figures)

    @pytest.mark.soak
    def test_nothing_is_timed_if_our_own_engines_part(self, monkeypatch):
        bad = Figure(name="bad", value=1, unit="", target="<= 0", met=False)
        monkeypatch.setattr(sim, "own_agreement", lambda _: (bad, bad))
        monkeypatch.setattr(sim, "PEERS", ())
        assert list(sim._figures(QUICK, [])) == [bad, bad]

    def test_the_fast_path_agrees_with_the_generic_engine(self):
        assert 0.0 <= fast_difference() <= peers.FAST_LIMIT


@pytest.mark.parametrize("collapsed", [False, True])
def test_a_run_that_is_timed_has_done_all_steps(collapsed):
    job = Job(rate_bps=10**10, workers=2, staleness=0, collapsed=collapsed)
    draws = job.draws(5)
    assert loop_s(job.fast, draws) > 0
    engine = job.fast(draws)
    engine.run(1.0)
    monkey = np.full((2, 6), 0, dtype=np.int64)
    with pytest.raises(RuntimeError, match="not done all steps"):
        loop_s(lambda _: engine, replace(draws, step=monkey))


@pytest.mark.soak
def test_a_fresh_process_tells_its_peak():
    command = [sys.executable, "-m", "bench.sim.fresh_process", "memory", "3", "5", str(10**9)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["steps"] == 15
    assert 10e6 < found["loaded"] <= found["ran"] <= found["listed"] < 2e9


@pytest.mark.soak
def test_everyday_jobs_are_done_by_both_engines():
    figures = list(everyday_figures(replace(QUICK, rounds=1, least_s=1e-9), []))
    about = [f"resnet50/{name}, 1 Gbit/s" for name in ("grpc", "whole-messages")]
    about += [f"resnet50/grpc, 2 servers, share {share}" for share in ("max_min", "two_servers")]
    assert all(any(figure.name.startswith(a) for figure in figures) for a in about)
    assert all(figure.value > 0 for figure in figures)
