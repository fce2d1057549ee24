"""Every kind of straggler, and each with a name, from the command line to the traces."""

import json
from pathlib import Path

import pytest

from netcosim.results.folder import ResultsFolder
from netcosim.results.training.operations import OperationColumns
from netcosim.results.training.steps import StepColumns
from netcosim.training.stragglers import kind_names, named_stragglers
from tests.sim.cli.started import FAST, Inside, summary_of

JOB = FAST.replace("steps = 20", "steps = 12").replace("workers = [1, 2]", "workers = [2]")

OF_A_KIND = {
    "delay": 'delay = "1ms"',
    "jitter": "spread = 0.3",
    "join": 'at = "50us"',
    "leave": 'at = "50us", back = "300us"',
    "link": "part = 0.5",
    "slow": "factor = 2.0",
    "trace": 'file = "speed.csv"',
    "process": 'name = "bursts"',
    "transient": 'every = "20us", lasting = "10us", factor = 3.0',
}


def with_one(kind: str) -> str:
    options = f"options = {{ {OF_A_KIND[kind]} }}"
    return f'{JOB}\n[[straggler]]\nkind = "{kind}"\nworkers = [1]\n{options}\n'


@pytest.fixture
def job(here: Path) -> Path:
    """A scenario of few operations, in the folder that the test is in."""
    (here / "speed.csv").write_text("time_ns,speed,cpu\n0,1,0.25\n100000,0.4,0.75\n")
    path = Path("job.toml")
    path.write_text(JOB)
    return path


def assert_traced(inside: Inside, job: Path, *more: str) -> None:
    arguments = ("--scenario", f"./{job}", "--workload", "mine.json", "--out", "out")
    inside.do(*arguments, "--share", "max_min", *more, interpreted=True)
    with ResultsFolder.open(Path("out")) as folder:
        summary, operations = folder.read_training_summary(), folder.read_operations()
    assert (summary.complete, [len(s.points) for s in summary.series]) == (True, [1])
    assert {0, 1, 2} <= set(operations.step)


@pytest.mark.parametrize("name", named_stragglers())
def test_each_name_is_simulated_and_traced(inside: Inside, job: Path, name: str) -> None:
    assert_traced(inside, job, "--straggler", name)


@pytest.mark.parametrize("kind", kind_names())
def test_each_kind_is_simulated_and_traced(inside: Inside, job: Path, kind: str) -> None:
    job.write_text(with_one(kind))
    assert_traced(inside, job)


def test_a_trace_has_the_factors_of_its_run(inside: Inside, job: Path) -> None:
    """More steps in a run leave its first ones as they are: so do those that are traced."""
    assert_traced(inside, job, "--straggler", "jittery")
    with ResultsFolder.open(Path("out")) as folder:
        steps, operations = folder.read_steps(), folder.read_operations()
    assert [ended(steps, w) for w in (0, 1)] == pytest.approx(
        [ended(operations, w) for w in (0, 1)], abs=1
    )


def ended(table: StepColumns | OperationColumns, worker: int) -> int:
    """Time at which the last of the worker's third step had ended."""
    return int(table.end_ns[(table.worker == worker) & (table.step == 2)].max())


@pytest.mark.parametrize("kind", sorted(set(kind_names()) - {"link"}))
def test_the_plan_tells_the_engine_that_the_run_takes(inside: Inside, job: Path, kind: str) -> None:
    """A slow port needs a share that the generic engine alone has, whoever is slow."""
    job.write_text(with_one(kind))
    arguments = ("--scenario", f"./{job}", "--workload", "mine.json")
    planned = inside.run(*arguments, "--plan")
    (line,) = [found for found in planned.out.splitlines() if found.startswith("  engine")]
    inside.do(*arguments, "--out", "out", interpreted=True)
    (point,) = summary_of().series[0].points
    assert line.split()[1].rstrip(",") == point.engine
    problems = json.loads(Path("out/run.json").read_text())["problems"]
    assert any("generic engine, as" in told for told in problems) == (point.engine == "generic")
