"""The report of a simulation: what the page says, and what it never does."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from netcosim.report import write_report
from netcosim.report.heading import heading, lead
from netcosim.report.training.data import TrainingData
from netcosim.results.folder import ResultsFolder
from netcosim.results.storage.column_table import Words
from netcosim.scenario import TransportSpec, dump_scenario
from tests.netcosim.report.pages import HOSTILE, kept_text, report
from tests.netcosim.results.synthetic import run_record
from tests.netcosim.results.synthetic_training import (
    Job,
    operation_columns,
    recommendation,
    training_scenario,
    training_summary,
    write_training_folder,
)
from tests.snapshots import assert_kept

JOB = Job(counts=(1, 4, 6, 8), steps=20, traced_steps=2)
OTHER = Job(transport="grpc-on", counts=(1, 4), steps=20, traced_steps=2, slow=2.0, servers=2)
POINT = Job(counts=(1,), runs=1, steps=3, traced_steps=1)


def advised(path: Path) -> None:
    write_training_folder(path, (JOB,))
    made = training_summary((JOB,))
    first = made.series[0].model_copy(update={"recommendation": recommendation()})
    with ResultsFolder.open(path) as folder:
        folder.write_run(run_record())
        folder.write_summary(made.model_copy(update={"series": (first,)}))


def compared(path: Path) -> None:
    small = replace(JOB, runs=1, traced_steps=1)
    write_training_folder(path, (small, replace(POINT, transport="grpc-on", slow=2.0)))


def straggling(path: Path) -> None:
    """A worker that is slow, in step, and a sender that finishes messages first."""
    job = replace(OTHER, counts=(1, 2), lead=0, stragglers=("worker 0: slow factor 2.0",))
    write_training_folder(path, (job,))
    whole = TransportSpec(
        name="grpc-on", sender="grpc", receiver="grpc", flow_control=False, whole_messages=True
    )
    changed = training_scenario().model_copy(update={"transport": (whole,)})
    (path / "scenario.toml").write_text(dump_scenario(changed))


def before_its_summary(path: Path) -> None:
    with ResultsFolder.create(path, training_scenario(), world="sim") as folder:
        folder.write_operations([operation_columns(POINT, 2)])


def without_points(path: Path) -> None:
    made = training_summary((POINT,), complete=False)
    empty = made.series[0].model_copy(update={"points": ()})
    with ResultsFolder.create(path, training_scenario(), world="sim") as folder:
        folder.write_summary(made.model_copy(update={"series": (empty,)}))


def untrusted(path: Path) -> None:
    write_training_folder(path, (POINT,), trusted=False, complete=False, reasons=("it rained",))


FOLDERS: dict[str, Callable[[Path], None]] = {
    "advised": advised,
    "compared": compared,
    "straggling": straggling,
    "untrusted": untrusted,
    "begun": lambda path: ResultsFolder.create(path, training_scenario(), world="sim").close(),
    "killed": before_its_summary,
    "no-points": without_points,
}


@pytest.mark.parametrize("name", FOLDERS)
def test_the_page_says_what_the_folder_has(tmp_path: Path, name: str) -> None:
    FOLDERS[name](tmp_path / "run")
    kept = Path(__file__).parent / f"snapshots/training-{name}.txt"
    assert_kept(kept, kept_text(tmp_path / "run"))


@pytest.mark.oracle
def test_the_same_folder_makes_the_same_bytes(tmp_path: Path) -> None:
    write_training_folder(tmp_path / "run", (POINT,))
    first = write_report(tmp_path / "run").read_bytes()
    assert write_report(tmp_path / "run").read_bytes() == first


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    with ResultsFolder.create(tmp_path / "run", training_scenario(), world="sim") as folder:
        made = training_summary((POINT,), trusted=False, reasons=(HOSTILE,))
        one = made.series[0]
        texts = {"profile": HOSTILE, "discipline": HOSTILE, "stragglers": (HOSTILE, "$a_{1}$")}
        texts |= {"cell": "../../x@h2", "workload": "../$c_{3}$"}
        names = {HOSTILE: 1.0, "$b_{2}$": 2.0}
        point = one.points[0].model_copy(update={"baselines": names})
        hostile = one.model_copy(update={**texts, "points": (point,), "limits_steps_per_s": names})
        other = hostile.model_copy(update={"cell": "..", "transport": "other"})
        both = {"series": (hostile, other), "engine": HOSTILE}
        folder.write_summary(made.model_copy(update=both))
        ops = operation_columns(POINT, 1)
        place = Words.repeated(HOSTILE, len(ops))
        folder.write_operations([replace(ops, operation=place, place=place)])
    page = report(tmp_path / "run")
    assert {"script"} & {tag for tag, _ in page.tags} == set()
    assert all((a.get("src") or "data:").startswith("data:") for _, a in page.tags)
    assert page.text.count(HOSTILE) == 10
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert sorted(path.name for path in (tmp_path / "run/pictures").iterdir()) == [
        "alexnet@h2-on.lanes.png",
        "c_-3--@-f5d70ae74c53.throughput.png",
        "name@-5ec1f7e700f3.scaling.png",
        "x-h2@-399c8225aec1.scaling.png",
    ]


def read(folder: Path) -> TrainingData:
    with ResultsFolder.open(folder) as opened:
        return TrainingData.read(opened)


def test_the_shown_run_is_where_saturation_begins(tmp_path: Path) -> None:
    write_training_folder(tmp_path / "run", (JOB, OTHER))
    shown, other = read(tmp_path / "run").cells
    assert (shown.workers, other.workers) == (6, 4)
    for cell in (shown, other):
        assert set(cell.operations.workers.tolist()) == {cell.workers}
        assert set(cell.operations.worker.tolist()) == {0, 1, 2}
        assert set(cell.operations.cell.texts()) == {cell.name}


def texts_of(figure: Figure) -> list[list[str]]:
    """Labels of the bars of each panel, and what stands beside them."""
    return [[t.get_text() for t in (*axes.get_yticklabels(), *axes.texts)] for axes in figure.axes]


def test_the_heading_is_of_what_was_run_whatever_the_description_says(tmp_path: Path) -> None:
    description = "ResNet-50 on one server; changed by options: --workload vgg11 --servers 4"
    one = training_scenario()
    workload = one.workload[0].model_copy(update={"name": "vgg11"})
    training = one.training.model_copy(update={"workers": (16, 1, 4)})
    link = one.cluster.link.model_copy(update={"rate": 10**10})
    cluster = one.cluster.model_copy(update={"servers": 4, "links": {"s0": link}})
    scenario = one.model_copy(
        update={
            **{"description": description, "workload": (workload,)},
            **{"training": training, "cluster": cluster},
        }
    )
    assert heading(scenario) == "vgg11 on 4 servers at 100 Mbit/s to 10 Gbit/s, 1 to 16 workers"
    assert lead(scenario) == (
        "Scenario synthetic, changed by options: --workload vgg11 --servers 4"
    )
    write_training_folder(tmp_path / "run", (POINT,))
    (tmp_path / "run/scenario.toml").write_text(dump_scenario(scenario))
    text = report(tmp_path / "run").text
    assert heading(scenario) in text and "ResNet-50" not in text
    assert lead(one) == one.description and heading(one).endswith("100 Mbit/s, 1 worker")
