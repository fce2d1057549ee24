"""The report of a simulation: what it says, what it draws, what it never does."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from netcosim.report import style, write_report
from netcosim.report.heading import heading, lead
from netcosim.report.training import gantt
from netcosim.report.training.axes import apart, spaced, workers_axis
from netcosim.report.training.data import TrainingData
from netcosim.report.training.gantt import lanes_png
from netcosim.report.training.pictures import comparison_png, scaling_png
from netcosim.results.folder import ResultsFolder
from netcosim.results.storage.column_table import Words
from netcosim.results.training import operations
from netcosim.results.training.findings import findings, interval, recommended
from netcosim.results.training.operations import OperationColumns
from netcosim.results.training.summary import Series
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


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Every figure that is drawn."""
    kept: list[Figure] = []
    real = style.png

    def keep(figure: Figure) -> bytes:
        kept.append(figure)
        return real(figure)

    monkeypatch.setattr(style, "png", keep)
    return kept


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


@pytest.mark.parametrize("lead", [None, 0])
def test_straggling_is_shown_where_workers_go_in_rounds(
    tmp_path: Path, lead: int | None, figures: list[Figure]
) -> None:
    job = replace(JOB, lead=lead)
    write_training_folder(tmp_path / "run", (job,))
    text = write_report(tmp_path / "run").read_text("utf-8")
    late = series(job).points[-1].straggler_ns
    assert (late is None) == (lead is None)
    assert ("Straggling: how long" in text) == (lead == 0)
    assert ("straggling" in text) == (lead == 0)
    assert late is None or f'<td class="n">{late / 1e6:.4g}</td>' in text
    labels = {line.get_label() for line in figures[0].axes[2].lines}
    assert ("a round's first waits for its last" in labels) == (lead == 0)


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
        names = {HOSTILE: 1.0, "$b_{2}$": 2.0}
        point = one.points[0].model_copy(update={"baselines": names})
        hostile = one.model_copy(update={**texts, "points": (point,), "limits_steps_per_s": names})
        folder.write_summary(made.model_copy(update={"series": (hostile,), "engine": HOSTILE}))
        ops = operation_columns(POINT, 1)
        place = Words.repeated(HOSTILE, len(ops))
        folder.write_operations([replace(ops, operation=place, place=place)])
    page = report(tmp_path / "run")
    assert {"script"} & {tag for tag, _ in page.tags} == set()
    assert all((a.get("src") or "data:").startswith("data:") for _, a in page.tags)
    assert page.text.count(HOSTILE) == 6


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


def test_throughput_is_drawn_with_all_it_can_be_compared_with(figures: list[Figure]) -> None:
    made = series(JOB)
    assert scaling_png(made) is not None
    throughput, time, _, use = figures[0].axes
    texts = {text.get_text() for text in throughput.texts}
    assert texts == {
        "simulated",
        "ideal scaling",
        "limit: server 0's downlink",
        "cynthia",
        "lin",
        "no_overlap",
        "perfect_overlap",
        "saturated from 6 on",
    }
    curves = [line.get_ydata() for line in throughput.lines]
    means = [p.examples_per_s.mean for p in made.points]
    assert any(np.array_equal(np.asarray(y), means) for y in curves)
    tops = [sum(bar.get_height() for bar in bars) for bars in zip(*time.containers, strict=True)]
    assert tops == pytest.approx([100] * len(made.points), abs=1)
    assert max(np.max(line.get_ydata()) for line in use.lines) <= 104


def test_ideal_scaling_is_of_a_worker_that_is_no_straggler(figures: list[Figure]) -> None:
    made = series(replace(JOB, slow=3.0, stragglers=("worker 0: slow factor 3.0",)))
    assert made.points[0].steps_per_s.mean < 0.5 * made.alone.mean
    assert scaling_png(made) is not None
    [ideal] = [line for line in figures[0].axes[0].lines if line.get_linestyle() == ":"]
    assert np.asarray(ideal.get_ydata())[-1] == pytest.approx(8 * made.alone.mean * made.batch)


@pytest.mark.parametrize("job", [JOB, OTHER])
def test_labels_beside_the_curves_do_not_overlap(job: Job, figures: list[Figure]) -> None:
    assert scaling_png(series(job)) is not None
    throughput = figures[0].axes[0]
    boxes = sorted(
        (t.get_window_extent() for t in throughput.texts if "saturated" not in t.get_text()),
        key=lambda box: box.y0,
    )
    assert len(boxes) >= 5
    for lower, upper in itertools.pairwise(boxes):
        assert lower.y1 <= upper.y0 + 0.5
    assert all(box.x1 < figures[0].bbox.x1 for box in boxes)


def texts_of(figure: Figure) -> list[list[str]]:
    """Labels of the bars of each panel, and what stands beside them."""
    return [[t.get_text() for t in (*axes.get_yticklabels(), *axes.texts)] for axes in figure.axes]


def test_one_number_of_workers_has_bars_with_their_values(figures: list[Figure]) -> None:
    made = series(replace(JOB, counts=(16,), servers=2, lead=0))
    assert scaling_png(made) is not None
    (point,) = made.points
    throughput, time, steps, use = texts_of(figures[0])
    mean = point.examples_per_s.mean
    assert throughput[:2] == ["simulated", "cynthia"] and "ideal scaling" in throughput
    assert interval(point.examples_per_s).replace("+-", "\N{PLUS-MINUS SIGN}") in throughput
    assert figures[0].axes[0].get_title(loc="left") == "throughput with 16 workers, examples/s"
    widths = [patch.get_width() for patch in figures[0].axes[0].patches]
    assert widths[0] == pytest.approx(mean)
    assert widths[1] == pytest.approx((point.baselines["cynthia"] or 0) * made.batch)
    shares = [patch.get_width() for patch in figures[0].axes[1].patches]
    assert sum(shares) == pytest.approx(1, abs=0.03) and "only sends" in time
    assert steps[:5] == [
        *("median", "95 % are shorter", "99 % are shorter", "longest"),
        "a round's first waits",
    ]
    assert {"server 0 downlink", "server 1 uplink", "workers compute"} <= set(use)


def test_of_many_links_the_fullest_are_drawn(figures: list[Figure]) -> None:
    made = series(replace(JOB, counts=(16,), servers=5))
    assert scaling_png(made) is not None
    use = figures[0].axes[3]
    assert "the 8 fullest of 10;" in use.get_title(loc="left")
    widths = [patch.get_width() for patch in use.patches]
    assert len(widths) == 9 and widths[:8] == sorted(widths[:8], reverse=True)


@pytest.mark.parametrize("counts", [(1,), (16,), (1, 4, 6, 8)])
def test_text_of_the_panels_does_not_overlap(
    counts: tuple[int, ...], figures: list[Figure]
) -> None:
    assert scaling_png(series(replace(JOB, counts=counts, servers=2))) is not None
    boxes = [
        text.get_window_extent()
        for axes in figures[0].axes
        for text in (*axes.get_yticklabels(), *axes.get_xticklabels(), *axes.texts)
        if text.get_text() and text.get_visible()
    ]
    for one, other in itertools.combinations(boxes, 2):
        apart = one.x1 <= other.x0 + 1 or other.x1 <= one.x0 + 1
        assert apart or one.y1 <= other.y0 + 1 or other.y1 <= one.y0 + 1
    assert all(box.x0 >= 0 and box.x1 <= figures[0].bbox.x1 for box in boxes)


def test_transports_with_one_number_of_workers_are_compared_in_bars(
    figures: list[Figure],
) -> None:
    one, other = (series(replace(job, counts=(4,))) for job in (JOB, OTHER))
    assert comparison_png("alexnet", [one, other]) is not None
    (axes,) = figures[0].axes
    assert axes.get_title(loc="left") == "alexnet, 4 workers: throughput, examples/s"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["h2-on", "grpc-on"]
    means = [one.points[0].examples_per_s.mean, other.points[0].examples_per_s.mean]
    assert [patch.get_width() for patch in axes.patches] == pytest.approx(means)


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
    assert page.text.count("within the runs' intervals") == 2


def test_many_workers_are_drawn_on_logarithmic_axes(figures: list[Figure]) -> None:
    made = series(replace(POINT, counts=(1, 2, 4, 8, 16)))
    wide = tuple(p.model_copy(update={"workers": p.workers**2}) for p in made.points)
    assert scaling_png(made) is not None
    assert scaling_png(made.model_copy(update={"points": wide, "saturation": None})) is not None
    assert [figure.axes[0].get_xscale() for figure in figures] == ["linear", "log"]


def test_a_comparison_needs_two(figures: list[Figure]) -> None:
    one, two = series(JOB), series(OTHER)
    assert comparison_png("alexnet", [one]) is None
    assert comparison_png("alexnet", [one, two.model_copy(update={"points": ()})]) is None
    assert comparison_png("alexnet", [one, two]) is not None
    assert [t.get_text() for t in figures[0].axes[0].texts] == ["h2-on", "grpc-on"]


def test_without_points_nothing_is_drawn() -> None:
    empty: Series = series(POINT).model_copy(update={"points": ()})
    assert scaling_png(empty) is None


def boxes_of(figure: Figure) -> list[tuple[float, float, float, float]]:
    """(left, right, bottom, top) of each operation that was drawn."""
    found = []
    for collection in figure.axes[0].collections:
        for path in collection.get_paths():
            (left, bottom), (right, top) = path.get_extents().get_points()
            found.append((left, right, bottom, top))
    return found


def test_operations_are_drawn_where_and_when_they_were(
    tmp_path: Path, figures: list[Figure], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gantt, "_PIXELS", 10**9)
    write_training_folder(tmp_path / "run", (JOB,))
    (cell,) = read(tmp_path / "run").cells
    assert lanes_png(cell) is not None
    factor = 1e9 if cell.operations.end_ns.max() >= 2e9 else 1e6
    ops = cell.operations
    spans = sorted(zip(ops.start_ns / factor, ops.end_ns / factor, strict=True))
    drawn = sorted((left, right) for left, right, _, _ in boxes_of(figures[0]))
    assert len(drawn) == len(spans)
    assert np.allclose(drawn, spans)
    names = [label.get_text() for label in figures[0].axes[0].get_yticklabels()]
    assert names[:5] == [
        "worker 0   downlink",
        "computing",
        "uplink",
        "server",
        "worker 1   downlink",
    ]


def test_what_is_too_short_to_be_seen_is_joined(tmp_path: Path, figures: list[Figure]) -> None:
    count = 20_000
    start = np.arange(count) * 1000
    ops = OperationColumns.of_run(
        cell="a/b",
        workers=1,
        run=0,
        names=["op"],
        places=["worker"],
        sizes=[0],
        worker=np.zeros(count, dtype=np.int64),
        step=np.arange(count) // (count // 2),
        operation=np.zeros(count, dtype=np.int64),
        ready_ns=start,
        start_ns=start,
        end_ns=start + 900,
    )
    with ResultsFolder.create(tmp_path / "run", training_scenario(), world="sim") as folder:
        folder.write_operations([ops])
    (cell,) = read(tmp_path / "run").cells
    assert lanes_png(cell) is not None
    drawn = boxes_of(figures[0])
    assert len(drawn) == 2
    assert drawn[0][1] - drawn[0][0] == pytest.approx(10.0, rel=1e-3)


def test_without_operations_there_is_no_timeline(tmp_path: Path) -> None:
    write_training_folder(tmp_path / "run", (POINT,))
    (cell,) = read(tmp_path / "run").cells
    empty = replace(cell, operations=operations.TABLE.empty())
    assert lanes_png(empty) is None


@given(st.lists(st.floats(-1, 2), max_size=12), st.floats(0.001, 0.3))
def test_labels_are_kept_apart_in_their_order(wanted: list[float], gap: float) -> None:
    placed = apart(wanted, gap)
    real = min(gap, 1 / max(1, len(wanted) - 1))
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in placed)
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    for one, other in itertools.pairwise(order):
        assert placed[other] - placed[one] >= real - 1e-9
    inside = all(0 <= place <= 1 for place in wanted)
    if inside and all(wanted[b] - wanted[a] >= gap for a, b in itertools.pairwise(order)):
        assert placed == pytest.approx(wanted)


@given(st.sets(st.integers(1, 4096), min_size=1), st.integers(2, 20), st.booleans())
def test_ticks_have_room_and_the_last_one_is_there(
    counts: set[int], most: int, logarithmic: bool
) -> None:
    ordered = sorted(counts)
    kept = spaced(ordered, most, logarithmic=logarithmic)
    assert kept[-1] == ordered[-1] and set(kept) <= counts and kept == sorted(kept)
    assert len(kept) <= most + 1


@pytest.mark.parametrize("counts", [range(1, 65), [2**i for i in range(17)], [1, 65536]])
def test_labels_of_workers_never_overlap(counts: Sequence[int], figures: list[Figure]) -> None:
    made = series(POINT)
    points = tuple(made.points[0].model_copy(update={"workers": n}) for n in counts)
    assert scaling_png(made.model_copy(update={"points": points})) is not None
    for axes in figures[0].axes:
        boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
        boxes.sort(key=lambda box: box.x0)
        assert len(boxes) >= 2
        for one, other in itertools.pairwise(boxes):
            assert one.x1 <= other.x0


def test_the_axis_of_a_single_point() -> None:
    figure = style.new_figure(4, 3)
    axes = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    assert not workers_axis(axes, series(POINT).points)
    assert axes.get_xlim()[0] < 1 < axes.get_xlim()[1]


def test_the_page_is_well_formed(tmp_path: Path) -> None:
    write_training_folder(tmp_path / "run", (POINT, OTHER))
    Page(write_report(tmp_path / "run").read_text("utf-8"))
