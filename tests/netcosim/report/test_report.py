"""The report, from the folder alone: what it says, what it never does, how it looks in numbers."""

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from netcosim.report import write_report
from netcosim.report.streams import timeline
from netcosim.report.streams.data import ReportData
from netcosim.report.streams.panels import panels_png
from netcosim.report.streams.timeline import plain, timeline_png
from netcosim.results.folder import ResultsFolder
from netcosim.results.streams.summary import NotRun
from tests.netcosim.report.pages import HOSTILE, PNG, kept_text, report
from tests.netcosim.results.synthetic import (
    Case,
    measured_rows,
    predicted_rows,
    run_record,
    scenario,
    sizes_like,
    summary,
    window_rows,
    write_folder,
)
from tests.processes import ended
from tests.snapshots import assert_kept

SMALL = Case(sizes=(400_000, 3_000_000, 300_000, 2_500_000), bursts=2)


def all_that_there_is(path: Path) -> None:
    """Calibrated receivers, announced windows, shared links, more levels, a cell that is left."""
    cases = (replace(SMALL, workload="alexnet", transport="grpc-on", truth="fifo", invalid=(1,)),)
    write_folder(path, cases)
    line = {"alpha_ns_per_byte": 1.25, "beta_ns": 300_000.0}
    calibration = {
        "overhead": {"first": line, "later": {**line, "alpha_ns_per_byte": 0.5}, "stretch": 1.7},
        "samples": [{"size_bytes": 4096}] * 30,
        "reasons": ["the capture lost 75 packets"],
        **{f"residual_{kind}_ns": 1000 * i for i, kind in enumerate(("median", "p95", "max"), 1)},
    }
    windows = [4194304, 65535, 65536, 65537, 65538]
    ends = {
        "sender": {"release": "1.<b>39.0", "settings": {}},
        "receiver": {"release": None, "settings": {"initial_window_size": windows}},
    }
    links = [{"path": f"s0 to w{i}", **{f"f{k}_bps": 1e6 * k for k in range(3)}} for i in range(9)]
    left = NotRun(cell="w/old", workload="w", transport="old", reason="no <b>Python</b> 3.7")
    made = summary(cases, not_run=(left,))
    (cell,) = made.cells
    models = tuple(m.model_copy(update={"share": m.order}) for m in cell.models)
    ratios = {"window_to_message": 0.26, "bdp_to_window": None}
    changes = {
        "counted": False,
        "ratios": cell.ratios.model_copy(update=ratios),
        "models": (*models, models[0].model_copy(update={"level": "ORACLE"})),
    }
    told = {"overheads": {"grpc <1>": calibration}, "peers": {"w/t connection 0": ends}}
    with ResultsFolder.open(path) as folder:
        folder.write_run(run_record(cases).model_copy(update={**told, "links": links}))
        folder.write_summary(made.model_copy(update={"cells": (cell.model_copy(update=changes),)}))


def without_rows(path: Path) -> None:
    with ResultsFolder.create(path, scenario()) as folder:
        folder.write_summary(summary((replace(SMALL, invalid=(0, 1)),)))
        folder.write_run(run_record())


def before_its_summary(path: Path) -> None:
    with ResultsFolder.create(path, scenario()) as folder:
        folder.write_trace(measured_rows(SMALL))


def paused(path: Path) -> None:
    write_folder(path, (replace(SMALL, bursts=3, shown=(1,), pause=(90_000_000, 20_000_000)),))


def unjudged(path: Path) -> None:
    """No valid burst, and none that is judged, beside others."""
    invalid = replace(SMALL, workload="alexnet", invalid=(0, 1))
    write_folder(path, (SMALL, invalid, replace(SMALL, transport="paused", shown=(0, 1))))


def untrusted(path: Path) -> None:
    why = ("the link lost 3 packets",)
    write_folder(path, (SMALL,), trusted=False, complete=False, reasons=why)


FOLDERS: dict[str, Callable[[Path], None]] = {
    "all": all_that_there_is,
    "paused": paused,
    "unjudged": unjudged,
    "untrusted": untrusted,
    "begun": lambda path: ResultsFolder.create(path, scenario()).close(),
    "killed": before_its_summary,
    "no-rows": without_rows,
}


@pytest.mark.parametrize("name", FOLDERS)
def test_the_page_says_what_the_folder_has(
    tmp_path: Path, name: str, drawing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pictures are drawn of the folder that has all; of the others their names count."""
    if name != "all":
        monkeypatch.setattr(timeline.style, "png", lambda _: PNG)
    FOLDERS[name](tmp_path / "run")
    kept = Path(__file__).parent / f"snapshots/streams-{name}.txt"
    assert_kept(kept, kept_text(tmp_path / "run"))


def test_pictures_and_errors_stand_on_the_clock_of_link_work(tmp_path: Path) -> None:
    paused = replace(SMALL, pause=(90_000_000, 20_000_000))
    write_folder(tmp_path / "run", (paused,))
    with ResultsFolder.open(tmp_path / "run") as folder:
        cell = ReportData.read(folder).cells[0]
    ends = {row.stream: row.wire_end_ns for row in cell.shown_burst()}
    calm = {row.stream: row.wire_end_ns for row in measured_rows(SMALL) if row.burst == 0}
    assert ends == calm
    assert cell.cut_ns == {0: 20_000_000, 1: 20_000_000}
    assert cell.windows == tuple(window_rows(SMALL, measured_rows(SMALL)))


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (SMALL, ""),
        (replace(SMALL, invalid=(0, 1)), "NOT VALID"),
        (replace(SMALL, shown=(0, 1)), "NOT JUDGED"),
    ],
)
def test_the_timeline_says_what_its_burst_is_worth(tmp_path, case, said, figures) -> None:
    write_folder(tmp_path / "run", (case,))
    with ResultsFolder.open(tmp_path / "run") as folder:
        data = ReportData.read(folder)
    timeline_png(data.cells[0], dict.fromkeys(data.models, "red"))
    title = figures[0].axes[0].get_title(loc="left")
    assert title.partition("burst 0")[2] == (f", {said}" if said else "")


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    with ResultsFolder.create(tmp_path / "run", scenario(description=HOSTILE)) as folder:
        texts = {"tensor": HOSTILE, "source": HOSTILE}
        rows = measured_rows(SMALL)
        outside = [replace(row, cell="../../x@h2") for row in rows]
        folder.write_trace([replace(row, **texts) for row in (*rows, *outside)])
        folder.write_predictions(predicted_rows(SMALL))
        made = summary((SMALL,), trusted=False, reasons=(HOSTILE,))
        cell = made.cells[0].model_copy(update={"verdict": HOSTILE})
        other = cell.model_copy(update={"cell": "../../x@h2"})
        folder.write_summary(made.model_copy(update={"cells": (cell, other)}))
        record = run_record((SMALL,))
        links = [{"path": HOSTILE, HOSTILE: {"a": [HOSTILE, 1, None, True]}}]
        folder.write_run(record.model_copy(update={"links": links, "host": {HOSTILE: HOSTILE}}))
    page = report(tmp_path / "run")
    assert {"script"} & {tag for tag, _ in page.tags} == set()
    assert all((a.get("src") or "data:").startswith("data:") for tag, a in page.tags)
    assert page.text.count(HOSTILE) >= 5
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    names = {path.name for path in (tmp_path / "run/pictures").iterdir()}
    assert names >= {"mixed8@h2-on.timeline.png", "x-h2@-399c8225aec1.timeline.png"}


@pytest.mark.oracle
def test_the_same_folder_makes_the_same_bytes(tmp_path: Path) -> None:
    write_folder(tmp_path / "run", (SMALL,))
    first = write_report(tmp_path / "run").read_bytes()
    assert write_report(tmp_path / "run").read_bytes() == first


@pytest.mark.parametrize("streams", [1, 8, 16, 40, 41, 160])
def test_labels_of_the_timeline_never_overlap(tmp_path, streams, figures) -> None:
    case = Case(sizes=sizes_like(streams, 8_000_000), truth="fifo", bursts=1, connections=1)
    write_folder(tmp_path / "run", (case,))
    with ResultsFolder.open(tmp_path / "run") as folder:
        data = ReportData.read(folder)
    assert timeline_png(data.cells[0], dict.fromkeys(data.models, "red")) is not None
    axes = figures[0].axes[0]
    boxes = sorted(
        (label.get_window_extent() for label in axes.get_yticklabels()), key=lambda box: box.y0
    )
    assert len(boxes) == min(streams, -(-streams // -(-streams // timeline.MAX_LABELS)))
    for lower, upper in itertools.pairwise(boxes):
        assert lower.y1 <= upper.y0
    assert all(box.x0 >= 0 for box in boxes)


def test_the_shown_burst_is_the_first_valid_one(tmp_path: Path) -> None:
    write_folder(tmp_path / "run", (replace(SMALL, bursts=3, invalid=(0,)),))
    with ResultsFolder.open(tmp_path / "run") as folder:
        cell = ReportData.read(folder).cells[0]
    assert {row.burst for row in cell.shown_burst()} == {1}
    assert len(cell.errors("fifo")) == 2
    assert panels_png(cell, dict.fromkeys(cell.models, "red")) is not None


def test_names_can_not_turn_into_formulas_or_missing_glyphs() -> None:
    assert plain("a$b_{1}$ \u2603\n") == r"a\$b_{1}\$ ??"


def run_report(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return ended(
        [sys.executable, "-m", "netcosim.report", *map(str, arguments)],
        env={**{k: v for k, v in os.environ.items() if k != "MPLCONFIGDIR"}, **variables},
    )


@pytest.mark.oracle
def test_the_command_draws_the_report_again_and_leaves_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    write_folder(tmp_path / "run", (SMALL,))
    done = run_report(tmp_path / "run", HOME=str(tmp_path / "home"), TMPDIR=str(tmp_path / "home"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{tmp_path}/run/report.html\n"
    assert list((tmp_path / "home").iterdir()) == []
    assert list((tmp_path / "run").glob(".*")) == []


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        ((), 2, r"give one results folder: FOLDER"),
        (("a", "b"), 2, r"give one results folder: FOLDER"),
        (("/nowhere/at/all",), 6, r"/nowhere/at/all: can't be opened: No such file or directory"),
        (("/",), 6, r"/: is not a results folder: it has no scenario\.toml"),
    ],
)
def test_the_command_fails_in_one_line(arguments: tuple[str, ...], code: int, line: str) -> None:
    done = run_report(*arguments)
    assert done.returncode == code
    assert re.fullmatch(f"netcosim\\.report: {line}\n", done.stderr)
    assert done.stdout == ""
