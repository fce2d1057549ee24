"""The same seed, the same files; and nobody's random numbers depend on who else there is."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcosim.scenario import build_scenario, parse_scenario
from netcosim.training.workload_plan import DRAWS
from sim.experiment.cell import training_cells
from sim.experiment.run import conditions_of, draw_steps
from tests.sim.cli.started import COMPUTED, FAST, run


def summary(folder: Path) -> Any:
    return json.loads((folder / "summary.json").read_text())


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one and two workers."""
    folder = tmp_path_factory.mktemp("first")
    (folder / "job.toml").write_text(FAST)
    done = run(
        "--scenario", "job.toml", "--out", "out", cwd=folder, environ={"PYTHONHASHSEED": "1"}
    )
    assert done.code == 0, done.err
    return folder


@pytest.mark.oracle
def test_two_processes_leave_the_same_bytes(first, tmp_path):
    """Other hashes, another order of sets, one processor for all runs instead of several."""
    (tmp_path / "job.toml").write_text(FAST)
    done = run(
        *("--scenario", "job.toml", "--out", "out"),
        cwd=tmp_path,
        environ={"PYTHONHASHSEED": "2"},
        prefix=("taskset", "-c", "0"),
    )
    assert done.code == 0, done.err
    for name in COMPUTED:
        assert (tmp_path / "out" / name).read_bytes() == (first / "out" / name).read_bytes(), name


def test_what_else_is_simulated_changes_no_figure(first, tmp_path, inside):
    """Two workers alone, on the second of two transports, give what they gave beside one worker."""
    more = FAST.replace('name = "whole"', 'name = "other"') + FAST[FAST.index("[[transport]]") :]
    job, out = tmp_path / "job.toml", tmp_path / "out"
    job.write_text(more)
    inside.do("--scenario", str(job), "--workers", "2", "--out", str(out))
    [alone] = summary(first / "out")["series"]
    other, same = summary(out)["series"]
    assert [p["workers"] for p in same["points"]] == [2]
    assert same["points"][0] == alone["points"][1]
    assert other["points"] == same["points"]  # the same job by another name: the same draws


def test_another_seed_gives_other_figures(first, tmp_path, inside):
    job, out = tmp_path / "job.toml", tmp_path / "out"
    job.write_text(FAST)
    inside.do("--scenario", str(job), "--seed", "2", "--out", str(out))
    points = [summary(folder)["series"][0]["points"] for folder in (first / "out", out)]
    for one, other in zip(*points, strict=True):
        assert one["steps_per_s"]["mean"] != other["steps_per_s"]["mean"]


def test_a_workers_draws_are_its_own():
    [cell] = training_cells(parse_scenario(FAST, "job"))
    few, many = (draw_steps(cell, workers, 0, 50) for workers in (2, 9))
    np.testing.assert_array_equal(few, many[:2])
    assert len(np.unique(many, axis=0)) == len(many)
    assert (draw_steps(cell, 2, 1, 50) != few).any()


def test_what_slows_workers_down_leaves_their_steps_alone():
    """Stragglers have a stream of random numbers of their own, and each run its own."""
    scenario = parse_scenario(FAST, "job")
    data = scenario.model_dump(mode="json", exclude_none=True)
    jittery = build_scenario(
        {**data, "straggler": [{"kind": "jitter", "workers": "all", "options": {"spread": 0.3}}]},
        "job",
    )
    [plain], [cell] = training_cells(scenario), training_cells(jittery)
    np.testing.assert_array_equal(draw_steps(plain, 3, 0, 50), draw_steps(cell, 3, 0, 50))
    np.testing.assert_array_equal(plain.plans(0).plan.duration_ns, cell.plans(0).plan.duration_ns)
    factors = [conditions_of(cell, 3, run, 1e9).factor for run in (0, 0, 1)]
    np.testing.assert_array_equal(factors[0], factors[1])
    assert (factors[0] != factors[2]).any()
    assert len(np.unique(factors[0])) > 3


def test_runs_and_purposes_have_streams_of_their_own():
    [cell] = training_cells(parse_scenario(FAST, "job"))
    drawn = {
        tuple(cell.stream(run, purpose).generate_state(4))
        for run in range(5)
        for purpose in range(4)
    }
    assert len(drawn) == 20
    assert tuple(cell.stream(0, DRAWS).generate_state(4)) in drawn
