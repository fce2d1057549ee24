"""Pictures of a simulation: what is drawn where, with labels that can be read."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from netcosim.report import style, write_report
from netcosim.report.training import gantt
from netcosim.report.training.axes import apart, spaced, workers_axis
from netcosim.report.training.gantt import lanes_png
from netcosim.report.training.pictures import comparison_png, scaling_png
from netcosim.results.folder import ResultsFolder
from netcosim.results.training import operations
from netcosim.results.training.findings import interval
from netcosim.results.training.summary import Series
from tests.netcosim.report.test_training_report import JOB, OTHER, POINT, read, texts_of
from tests.netcosim.results.synthetic_training import (
    Job,
    columns_of,
    series,
    training_scenario,
    write_training_folder,
)


@pytest.mark.oracle
@pytest.mark.parametrize("lead", [None, 0])
def test_straggling_is_shown_where_workers_go_in_rounds(tmp_path, lead, figures) -> None:
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


def test_throughput_is_drawn_with_all_it_can_be_compared_with(figures: list[Figure]) -> None:
    made = series(JOB)
    assert scaling_png(made) is not None
    throughput, time, _, use = figures[0].axes
    texts = {text.get_text() for text in throughput.texts}
    assert texts == {
        *("simulated", "ideal scaling", "limit: server 0's downlink", "saturated from 6 on"),
        *("cynthia", "lin", "no_overlap", "perfect_overlap"),
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


@pytest.mark.oracle
def test_of_many_links_the_fullest_are_drawn(figures: list[Figure]) -> None:
    made = series(replace(JOB, counts=(16,), servers=5))
    assert scaling_png(made) is not None
    use = figures[0].axes[3]
    assert "the 8 fullest of 10;" in use.get_title(loc="left")
    widths = [patch.get_width() for patch in use.patches]
    assert len(widths) == 9 and widths[:8] == sorted(widths[:8], reverse=True)


@pytest.mark.parametrize("counts", [(1,), (16,), (1, 4, 6, 8)])
def test_text_of_the_panels_does_not_overlap(counts, figures) -> None:
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


def test_transports_with_one_number_of_workers_are_compared_in_bars(figures: list[Figure]) -> None:
    one, other = (series(replace(job, counts=(4,))) for job in (JOB, OTHER))
    assert comparison_png("alexnet", [one, other]) is not None
    (axes,) = figures[0].axes
    assert axes.get_title(loc="left") == "alexnet, 4 workers: throughput, examples/s"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["h2-on", "grpc-on"]
    means = [one.points[0].examples_per_s.mean, other.points[0].examples_per_s.mean]
    assert [patch.get_width() for patch in axes.patches] == pytest.approx(means)


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


def test_operations_are_drawn_where_and_when_they_were(tmp_path, figures, monkeypatch) -> None:
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
    of_one = ["worker 0   downlink", "computing", "uplink", "server"]
    assert names[:5] == [*of_one, "worker 1   downlink"]


def test_what_is_too_short_to_be_seen_is_joined(tmp_path: Path, figures: list[Figure]) -> None:
    rows = [(0, i // 10_000, 0, i * 1000, i * 1000, i * 1000 + 900) for i in range(20_000)]
    ops = columns_of(rows, names=["op"], places=["worker"], sizes=[0])
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
def test_ticks_have_room_and_the_last_one_is_there(counts, most, logarithmic) -> None:
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
