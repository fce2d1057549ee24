"""The report of a simulation: what the page says, and what it never does."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from netcosim.report import write_report
from netcosim.report.heading import heading, lead
from netcosim.report.training.data import TrainingData
from netcosim.results.folder import ResultsFolder
from netcosim.results.storage.column_table import Words
from netcosim.results.training.findings import findings, recommended
from netcosim.scenario import TransportSpec, dump_scenario
from tests.netcosim.report.test_report import HOSTILE, PNG, Page, report
from tests.netcosim.results.synthetic import run_record
from tests.netcosim.results.synthetic_training import (
    Job,
    operation_columns,
    recommendation,
    series,
    training_scenario,
    training_summary,
    write_training_folder,
)

JOB = Job(counts=(1, 4, 6, 8), steps=20, traced_steps=2)
OTHER = Job(transport="grpc-on", counts=(1, 4), steps=20, traced_steps=2, slow=2.0, servers=2)
POINT = Job(counts=(1,), runs=1, steps=3, traced_steps=1)


def test_the_page_says_what_was_found(tmp_path: Path) -> None:
    write_training_folder(tmp_path / "run", (JOB, OTHER))
    with ResultsFolder.open(tmp_path / "run") as folder:
        folder.write_run(run_record())
    page = report(tmp_path / "run")
    text = " ".join(page.text.split())
    made = training_summary((JOB, OTHER))
    for one in made.series:
        for sentence in findings(one):
            assert sentence.replace(" +- ", " ± ") in text
    assert "alexnet, 4 workers: h2-on is fastest with " in text
    assert page.of_class("banner") == 0
    assert page.of_class("best") == 3  # where the link fills up, in all tables
    assert "Marked: saturated from here on." in text
    assert "0123456789abcdef" in text and "90.2 s" in text
    images = [a for tag, a in page.tags if tag == "img"]
    assert len(images) == 5
    assert sorted(p.name for p in (tmp_path / "run" / "pictures").iterdir()) == [
        "alexnet.throughput.png",
        "alexnet@grpc-on.lanes.png",
        "alexnet@grpc-on.scaling.png",
        "alexnet@h2-on.lanes.png",
        "alexnet@h2-on.scaling.png",
    ]
    assert all(p.read_bytes().startswith(PNG) for p in (tmp_path / "run" / "pictures").iterdir())
    assert "operations.parquet" in text and "captures" not in text


def test_the_page_says_which_sender_finishes_messages_first(tmp_path: Path) -> None:
    write_training_folder(tmp_path / "run", (OTHER,))
    assert "finishing messages first" not in report(tmp_path / "run").text
    whole = TransportSpec(
        name="grpc-on", sender="grpc", receiver="grpc", flow_control=False, whole_messages=True
    )
    changed = training_scenario().model_copy(update={"transport": (whole,)})
    (tmp_path / "run/scenario.toml").write_text(dump_scenario(changed))
    text = " ".join(report(tmp_path / "run").text.split())
    assert f"connections: {series(OTHER).discipline}, finishing messages first, flow" in text


def test_the_tables_have_every_point(tmp_path: Path) -> None:
    write_training_folder(tmp_path / "run", (JOB,))
    text = write_report(tmp_path / "run").read_text("utf-8")
    rows = re.findall(r'<tr[^>]*><td class="n">(\d+)</td>', text)
    assert rows == ["1", "4", "6", "8"] * 3
    last = series(JOB).points[-1]
    off = 100 * (last.baselines["cynthia"] or 0) / last.steps_per_s.mean - 100
    assert f'<td class="n">{off:.0f} %</td>' in text
    assert '<td class="n">server 0 down</td>' in text


@pytest.mark.parametrize("stragglers", [(), ("worker 0: slow factor 2.0",)])
def test_the_page_says_what_figures_compare_with(
    tmp_path: Path, stragglers: tuple[str, ...]
) -> None:
    write_training_folder(tmp_path / "run", (replace(JOB, stragglers=stragglers),))
    text = " ".join(report(tmp_path / "run").text.split())
    assert ("Speed-up: over one worker without stragglers." in text) == bool(stragglers)
    assert ("Speed-up: over one worker." in text) != bool(stragglers)
    assert ("Formulas know nothing of stragglers" in text) == bool(stragglers)


def test_the_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    write_training_folder(tmp_path / "run", (POINT,))
    page = report(tmp_path / "run")
    for tag, attributes in page.tags:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base", "form")
        for name in ("src", "href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:image/png;base64,"))
    assert "A single run has no interval." in page.text
    text = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "url(" not in text and "@import" not in text and "http://" not in text


def test_the_same_folder_makes_the_same_bytes(tmp_path: Path) -> None:
    write_training_folder(tmp_path / "run", (POINT,))
    first = write_report(tmp_path / "run").read_bytes()
    assert write_report(tmp_path / "run").read_bytes() == first


def test_an_untrusted_simulation_says_so_first_and_says_why(tmp_path: Path) -> None:
    write_training_folder(
        tmp_path / "run", (POINT,), trusted=False, complete=False, reasons=("it rained",)
    )
    page = report(tmp_path / "run")
    assert (page.of_class("untrusted"), page.of_class("incomplete")) == (1, 1)
    assert page.text.index("it rained") < page.text.index("What was found")


def test_a_simulation_interrupted_before_its_first_run_has_a_page(tmp_path: Path) -> None:
    ResultsFolder.create(tmp_path / "run", training_scenario(), world="sim").close()
    page = report(tmp_path / "run")
    assert page.of_class("incomplete") == 1
    assert "No run was finished" in page.text
    assert not (tmp_path / "run" / "pictures").exists()


def test_a_simulation_killed_before_its_summary_shows_its_first_steps(tmp_path: Path) -> None:
    with ResultsFolder.create(tmp_path / "run", training_scenario(), world="sim") as folder:
        folder.write_operations([operation_columns(POINT, 2)])
    page = report(tmp_path / "run")
    assert "simulated, but the run ended before its summary" in page.text
    assert "No figures of this cell were finished" in page.text
    assert [p.name for p in (tmp_path / "run" / "pictures").iterdir()] == [
        "alexnet@h2-on.lanes.png"
    ]


def test_a_cell_without_points_says_so(tmp_path: Path) -> None:
    with ResultsFolder.create(tmp_path / "run", training_scenario(), world="sim") as folder:
        made = training_summary((POINT,), complete=False)
        empty = made.series[0].model_copy(update={"points": ()})
        folder.write_summary(made.model_copy(update={"series": (empty,)}))
    page = report(tmp_path / "run")
    assert "No run was finished." in page.text
    assert [tag for tag, _ in page.tags if tag == "img"] == []


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


def test_the_recommendation_comes_first_on_the_page(tmp_path: Path) -> None:
    write_training_folder(tmp_path / "run", (JOB, OTHER))
    with ResultsFolder.open(tmp_path / "run") as folder:
        made = training_summary((JOB, OTHER))
        advised = made.series[0].model_copy(update={"recommendation": recommendation()})
        folder.write_summary(made.model_copy(update={"series": (advised, made.series[1])}))
    page = report(tmp_path / "run")
    text = " ".join(page.text.split())
    sentences = [s.replace(" +- ", " ± ").replace("->", "→") for s in recommended(advised)]
    places = [text.index(sentence) for sentence in sentences]
    assert places == sorted(places)
    rows = ["rate 1 Gbit/s → 2 Gbit/s19.00", "servers 1 → 214.20", "batch 32 → 6410.00"]
    found = ["".join(row.split(" ± ")[0].split()) for row in rows]
    flat = "".join(page.text.split())
    order = [flat.index("".join(sentences[-1].split())), *(flat.index(row) for row in found)]
    assert order == sorted(order)
    assert order[-1] < flat.index("8workers:") < flat.index("h2-onisfastest")
    assert page.text.count("within the intervals") == 2


def test_the_page_is_well_formed(tmp_path: Path) -> None:
    write_training_folder(tmp_path / "run", (POINT, OTHER))
    Page(write_report(tmp_path / "run").read_text("utf-8"))
