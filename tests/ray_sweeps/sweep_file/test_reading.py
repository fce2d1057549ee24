"""A sweep file read: its scenario, what is fixed, paths in it, prices."""

from pathlib import Path

import pytest

from netcosim.errors import ScenarioError
from ray_sweeps.space import space_of
from ray_sweeps.sweep_file import parse_sweep, read_sweep
from tests.ray_sweeps.sweeps import ALONE, sweep_of

JOB = """
name = "job"
cluster = { topology = "star", link = { rate = "1gbit" } }
workload = [{ name = "w", profile = "alexnet" }]
transport = [{ name = "grpc", sender = "grpc", receiver = "grpc" }]
"""

INLINE = ", ".join(JOB.strip().splitlines())
TWO_SERVERS = 'name = "test"\n[factors]\nservers = [1, 2]\n'


def test_what_a_file_says() -> None:
    sweep = sweep_of(
        f"""
description = "a line"
seed = 9
replications = 4
{ALONE}
servers = 2
[[prices]]
name = "on demand"
worker = 1.0
server = 0.5
unit = "USD/h"
"""
    )
    assert (sweep.name, sweep.description, sweep.seed, sweep.replications) == (
        "test",
        "a line",
        9,
        4,
    )
    assert sweep.base.name == "default"
    assert (sweep.base.training.workers, sweep.base.cluster.servers) == ((4,), 2)
    assert [(p.name, p.worker, p.server, p.unit) for p in sweep.prices] == [
        ("on demand", 1.0, 0.5, "USD/h")
    ]


def test_replications_are_the_scenarios_repetitions_unless_given() -> None:
    assert sweep_of(ALONE).replications == sweep_of(ALONE).base.repetitions == 5


@pytest.mark.parametrize("scenario", ['scenario = "./job.toml"', f"scenario = {{{INLINE}}}"])
def test_a_scenario_is_a_file_or_a_table(tmp_path: Path, scenario: str) -> None:
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "sweep.toml").write_text(f"{scenario}\n{TWO_SERVERS}")
    sweep = read_sweep(tmp_path / "sweep.toml")
    assert sweep.base.name == "job"
    assert len(space_of(sweep)) == 2


PATHS = """
name = "test"
[scenario]
name = "job"
cluster = { topology = "star", link = { rate = "1gbit" } }
workload = [{ name = "w", profile = "./w.json" }, { name = "v", profile = "alexnet" }]
transport = [{ name = "grpc", sender = "grpc", receiver = "grpc" }]
straggler = [{ kind = "trace", count = 1, options = { file = "one.csv" } }]
[fixed]
"workload.v.profile" = "vgg11"
[factors]
"workload.w.profile" = ["./a.json", "resnet50"]
trace = { path = "straggler.0.options.file", values = ["two.csv"] }
"""


def test_paths_count_from_the_sweep_file_wherever_its_text_is_kept() -> None:
    sweep = parse_sweep(PATHS, Path("/data/sweeps/x.toml"))
    workload = {w.name: w.profile for w in sweep.base.workload}
    assert workload == {"w": "/data/sweeps/w.json", "v": "vgg11"}
    assert sweep.base.straggler[0].options["file"] == "/data/sweeps/one.csv"
    values = [group.factors[0].values for group in sweep.groups]
    assert values == [("/data/sweeps/a.json", "resnet50"), ("/data/sweeps/two.csv",)]
    copy, folder = Path("/elsewhere/sweep.toml"), Path("/data/sweeps")
    elsewhere = parse_sweep(sweep.text, copy, folder=folder)
    assert (elsewhere.base, elsewhere.groups) == (sweep.base, sweep.groups)
    other = sweep.base.model_copy(update={"seed": 7})
    assert parse_sweep(sweep.text, copy, folder=folder, base=other).base == other


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    for name, reason in (("gone.toml", "No such file"), ("", "directory")):
        with pytest.raises(ScenarioError, match=f"can't be read: .*{reason}"):
            read_sweep(tmp_path / name)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ScenarioError, match="is not UTF-8"):
        read_sweep(tmp_path / "binary.toml")
