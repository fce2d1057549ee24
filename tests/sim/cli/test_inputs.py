"""A person's inputs are simulated, and found again in the results."""

import json
from pathlib import Path

import pytest

from netcosim.results.folder import ResultsFolder
from tests.netcosim.workload.test_pipedream import SILENT, TELLING
from tests.sim.cli.started import FAST, assert_refused

JOB = FAST.replace("steps = 20", "steps = 4").replace("warmup = 5", "warmup = 1")
ASKED = ("--scenario", "./job.toml", "--workload", "some.graph.txt", "--out", "out")

BURST = JOB.replace(
    'profile = "alexnet"',
    'direction = "both"\ntensors = ['
    '{ name = "weight", size = "80KiB" }, { name = "bias", size = "2KiB" }]',
)


@pytest.fixture
def job(here: Path) -> Path:
    (here / "job.toml").write_text(JOB)
    return here


def test_a_file_without_a_batch_is_given_that_of_the_scenario(inside, job):
    (job / "some.graph.txt").write_text(SILENT)
    assert_refused(inside.run(*ASKED), "batch: the sizes of activations do not tell it")
    inside.do(*ASKED, "--batch", "16", interpreted=True)
    [series] = json.loads((job / "out/summary.json").read_text())["series"]
    assert (series["profile"], series["batch"]) == ("some-b16", 16)
    [point, _] = series["points"]
    assert point["examples_per_s"]["mean"] == pytest.approx(16 * point["steps_per_s"]["mean"])


def test_a_file_that_tells_is_scaled_to_the_batch_of_the_scenario(inside, job):
    (job / "some.graph.txt").write_text(TELLING)
    planned = inside.run(*ASKED, "--batch", "16", "--plan")
    assert "cell        some.graph.txt/whole: some-b8, batch 16" in planned.out


def test_a_trace_names_tensors_as_the_scenario_does(inside, job):
    """So that a burst that was simulated can be held against what was measured of it."""
    (job / "job.toml").write_text(BURST)
    inside.do("--scenario", "./job.toml", "--out", "out", interpreted=True)
    with ResultsFolder.open(Path("out")) as folder:
        transfers, operations = folder.read_trace(), folder.read_operations()
    assert {(row.source, row.tensor, row.size_bytes) for row in transfers} == {
        (source, tensor, size)
        for source in ("s0", "w0", "w1")
        for tensor, size in (("weight", 80 * 1024), ("bias", 2 * 1024))
    }
    assert set(operations.operation.texts()) == {
        f"{tensor}/{name}" for tensor in ("weight", "bias") for name in ("pull", "pull-back")
    }
