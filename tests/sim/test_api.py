"""`sim.simulate`, as a notebook uses it."""

import os
import re
import subprocess
import sys
import tomllib
from typing import Any

import pytest

import sim
from netcosim.errors import ScenarioError
from netcosim.results.json_files import to_json
from netcosim.scenario import build_scenario
from netcosim.user_files import FileContent
from netcosim.workload.catalogue import load_profile
from netcosim.workload.profile_file import dump_profile
from sim import api
from sim.compiling import Kernel
from sim.experiment.kept_plans import Plans
from tests.inside import ROOT
from tests.sim.cli.started import FAST, Inside

JOB: dict[str, Any] = tomllib.loads(FAST)


def test_a_file_a_mapping_and_an_object_are_the_same_scenario(tmp_path):
    (tmp_path / "job.toml").write_text(FAST)
    given = (tmp_path / "job.toml", str(tmp_path / "job.toml"), JOB, build_scenario(JOB))
    first, *others = (sim.simulate(each).summary for each in given)
    assert all(other == first for other in others)


def test_tables_are_those_of_the_command(tmp_path, capsys, monkeypatch):
    """The same figures, steps, operations and transfers, with any number of threads."""
    (tmp_path / "job.toml").write_text(FAST)
    command = Inside(capsys=capsys, patch=monkeypatch)
    job = ("--scenario", str(tmp_path / "job.toml"), "--trace", "2", "--rate", "2gbit")
    assert command.run(*job, "--out", str(tmp_path / "out")).code == 0
    result = sim.simulate(JOB, {"cluster.link.rate": "2gbit"}, trace=[2], threads=2)
    assert (tmp_path / "out/summary.json").read_text() == to_json(result.summary)
    for name in ("steps", "operations", "transfers"):
        assert getattr(result, name).num_rows > 0
    steps = result.steps.to_pylist()
    assert [row["step"] for row in steps if row["workers"] == 1] == list(range(20))
    assert {row["workers"] for row in result.operations.to_pylist()} == {2}


COLD = """
import sys, tomllib
import sim

job = tomllib.loads(sys.stdin.read())
for _ in range(2):
    print(len(sim.simulate(job).points), "points", file=sys.stderr)
"""


@pytest.mark.oracle
def test_compiling_is_told_before_and_once(tmp_path):
    done = subprocess.run(
        [sys.executable, "-P", "-c", COLD],
        input=FAST,
        env={**os.environ, "NETCOSIM_KERNELS": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
    before, one, both, *after = done.stderr.splitlines()
    assert re.fullmatch(r"compiling 2 kernels, once(, 2 at a time)?: about \d+ s", before)
    assert re.fullmatch(r"compiled 1 of 2 kernels; about \d+ s more", one)
    assert [both, *after] == ["compiled 2 of 2 kernels", "2 points", "2 points"]


def test_nothing_is_said_where_kernels_are_kept_or_to_nobody(capfd, monkeypatch):
    sim.simulate(JOB)
    capfd.readouterr()
    monkeypatch.setattr(api, "_LOOKED_FOR", set())
    sim.simulate(JOB)
    assert {Kernel(None), Kernel("fifo", "equal")} == api._LOOKED_FOR
    monkeypatch.setattr(api, "_LOOKED_FOR", set())
    monkeypatch.setattr(Kernel, "is_kept", lambda _: False)
    sim.simulate(JOB, listener=sim.Nobody())
    assert capfd.readouterr() == ("", "")


def test_several_rates_are_cells_of_their_own():
    both = sim.simulate(JOB, {"training.rates": ["1gbit", "10gbit"]}).summary
    found = [(series.cell, series.rate_bps) for series in both.series]
    assert found == [("alexnet/whole@1gbit", 10**9), ("alexnet/whole@10gbit", 10**10)]
    for series, rate in zip(both.series, ("1gbit", "10gbit"), strict=True):
        (alone,) = sim.simulate(JOB, {"cluster.link.rate": rate}).summary.series
        assert series.points == alone.points


def test_plans_are_kept_for_all_that_shares_them():
    plans = Plans()
    for change in (
        {},
        {"cluster.link.rate": "10gbit"},
        {"training.workers": [3]},
        {"training.synchronisation": "bsp"},
        {"transport.whole.flow_control": True},
    ):
        sim.simulate(JOB, change, plans=plans)
        assert len(plans) == 1
    sim.simulate(JOB, {"training.batch": 7}, plans=plans)
    assert len(plans) == 2


def test_kept_plans_change_nothing():
    plans = Plans()
    for rate in ("1gbit", "3gbit", "1gbit"):
        change = {"cluster.link.rate": rate}
        kept, fresh = (sim.simulate(JOB, change, plans=each) for each in (plans, Plans()))
        assert kept.summary == fresh.summary


def test_beyond_their_bound_the_least_recently_used_plans_go():
    plans = Plans(most_bytes=1)
    for batch in (1, 2):
        sim.simulate(JOB, {"training.batch": batch}, plans=plans)
        assert len(plans) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scenario": "nosuch"}, 'scenario: "nosuch": must be a file or one of: default'),
        ({"scenario": {"name": "x"}}, "scenario: cluster: is required"),
        ({"scenario": JOB, "trace": [7]}, "trace: 7: must be among the numbers of workers: 1, 2"),
        ({"scenario": JOB, "threads": 0}, "threads: 0: must be a whole number >= 1"),
        ({"scenario": JOB, "changes": {"training.share": "all"}}, 'training.share: "all": unknown'),
    ],
)
def test_what_can_not_be_simulated_is_told(given, message):
    with pytest.raises(ScenarioError) as refused:
        sim.simulate(**given)
    assert message in str(refused.value)


def test_runs_are_what_points_are_made_of():
    """A run chosen by its number, alone and not compared, is the same as among others."""
    change = {"repetitions": 3, "training.workers": [1, 3]}
    result = sim.simulate(JOB, change)
    rows = {(row["workers"], row["run"]): row for row in result.runs.to_pylist()}
    assert list(rows) == [(workers, run) for workers in (1, 3) for run in range(3)]
    for point in result.summary.series[0].points:
        each = [rows[point.workers, run]["steps_per_s"] for run in range(3)]
        assert list(point.steps_per_s.values) == each
    assert len({row["steps_per_s"] for row in rows.values()}) == len(rows)
    (chosen,) = sim.simulate(
        JOB, {**change, "training.workers": [3]}, runs=[2], compared=False
    ).runs.to_pylist()
    assert chosen == rows[3, 2]


def test_without_a_comparison_there_are_no_points():
    result = sim.simulate(JOB, compared=False)
    with pytest.raises(ScenarioError, match=r"^compared: False: points and the summary compare"):
        _ = result.points


@pytest.mark.parametrize("runs", [[], [0, 0], [-1], [True], ["0"], 3])
def test_strange_numbers_of_runs_are_refused(runs):
    with pytest.raises(ScenarioError, match=r"^runs: .*different whole numbers, from 0"):
        sim.simulate(JOB, runs=runs)


def test_files_that_are_elsewhere_are_given_as_their_contents(tmp_path):
    """A profile and a speed trace: the same results as from the files, whatever is there now."""
    profile = tmp_path / "own.json"
    profile.write_text(dump_profile(load_profile("alexnet")))
    speed = tmp_path / "speed.csv"
    speed.write_text("time_ns,speed\n0,1\n1000000000,0.25\n")
    slow = {"kind": "trace", "workers": [0], "options": {"file": str(speed)}}
    own = {"name": "own", "profile": str(profile)}
    change = {"workload": [own], "straggler": [slow], "training.workers": [2]}
    wanted = sim.simulate(JOB, change, compared=False).runs
    files = {str(path): FileContent(data=path.read_bytes()) for path in (profile, speed)}
    profile.unlink()
    speed.write_text("time_ns,speed\n0,1\n")
    assert sim.simulate(JOB, change, compared=False, files=files).runs == wanted
    with pytest.raises(ScenarioError, match=r"own\.json: can't be read: No such file"):
        sim.simulate(JOB, change)
    profile.write_bytes(files[str(profile)].data)
    assert sim.simulate(JOB, change, compared=False).runs != wanted
