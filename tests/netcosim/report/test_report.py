"""The report, from the folder alone: what it says, what it never does, how it looks in numbers."""

import itertools
import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from netcosim.formatting import percent
from netcosim.report import write_report
from netcosim.report.streams import timeline
from netcosim.report.streams.data import ReportData
from netcosim.report.streams.panels import panels_png
from netcosim.report.streams.timeline import plain, timeline_png
from netcosim.results.folder import ResultsFolder
from netcosim.results.streams.summary import NotRun
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

SMALL = Case(sizes=(400_000, 3_000_000, 300_000, 2_500_000), bursts=2)
PNG = b"\x89PNG\r\n\x1a\n"


class Page(HTMLParser):
    """Tags, their attributes and the text of a page; complains about tags left open."""

    VOID = ("meta", "img", "link", "br", "hr", "input")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data

    def of_class(self, name: str) -> int:
        return sum(name in (a.get("class") or "").split() for _, a in self.tags)


def report(path: Path) -> Page:
    return Page(write_report(path).read_text("utf-8"))


def test_the_page_shows_each_calibrated_receiver(tmp_path: Path) -> None:
    write_folder(tmp_path / "run", (SMALL,))
    line = {"alpha_ns_per_byte": 1.25, "beta_ns": 300_000.0}
    calibration = {
        "overhead": {"first": line, "later": {**line, "alpha_ns_per_byte": 0.5}, "stretch": 1.7},
        "samples": [{"size_bytes": 4096}] * 30,
        "reasons": ["the capture lost 75 packets"],
        **{
            f"residual_{kind}_ns": 1000 * (i + 1) for i, kind in enumerate(("median", "p95", "max"))
        },
    }
    with ResultsFolder.open(tmp_path / "run") as folder:
        record = run_record((SMALL,))
        folder.write_run(record.model_copy(update={"overheads": {"grpc <1>": calibration}}))
    text = report(tmp_path / "run").text
    for word in (
        "grpc <1>",
        "1.250 ms/MB + 0.3 ms",
        "0.500 ms/MB",
        "1.7",
        "0.003 ms",
        "disturbed: the capture lost 75 packets",
    ):
        assert word in text


def test_the_page_says_what_was_found(tmp_path: Path) -> None:
    other = replace(SMALL, workload="alexnet", transport="grpc-on", truth="fifo", invalid=(1,))
    write_folder(tmp_path / "run", (SMALL, other))
    page = report(tmp_path / "run")
    for case, model in ((SMALL, "two_visit"), (other, "fifo")):
        assert page.text.count(f"h2 with flow control on (window 1MiB) follows {model} (") == 2
        assert case.cell in page.text
    assert page.of_class("banner") == 0
    assert "errors by model and level" in page.text
    assert "invalid: the capture lost 73 packets" in page.text
    assert "1 of 4 bursts were invalid, in 0 a pause delayed an input of the models" in page.text
    assert "server1 to worker1" in page.text and "93.7" in page.text  # the link as measured
    images = [a["src"] or "" for tag, a in page.tags if tag == "img"]
    assert len(images) == 4
    pictures = sorted((tmp_path / "run" / "pictures").iterdir())
    assert [p.name for p in pictures] == [
        "alexnet@grpc-on.panels.png",
        "alexnet@grpc-on.timeline.png",
        "mixed8@h2-on.panels.png",
        "mixed8@h2-on.timeline.png",
    ]
    assert all(p.read_bytes().startswith(PNG) for p in pictures)


def test_the_best_model_of_each_cell_is_marked_once_a_table(tmp_path: Path) -> None:
    write_folder(tmp_path / "run", (SMALL,))
    page = report(tmp_path / "run")
    tables = sum(a.get("class") == "errors" for tag, a in page.tags if tag == "table")
    assert page.of_class("best") == tables == 6


def test_the_page_names_levels_and_what_is_not_counted(tmp_path: Path) -> None:
    write_folder(tmp_path / "run", (SMALL,))
    with ResultsFolder.open(tmp_path / "run") as folder:
        summary = folder.read_summary()
        assert summary is not None
        (cell,) = summary.cells
        ratios = cell.ratios.model_copy(update={"window_to_message": 0.26, "bdp_to_window": None})
        oracle = cell.models[0].model_copy(update={"level": "ORACLE"})
        changes = {"counted": False, "ratios": ratios, "models": (*cell.models, oracle)}
        folder.write_summary(
            summary.model_copy(update={"cells": (cell.model_copy(update=changes),)})
        )
    page = report(tmp_path / "run")
    assert "window / the largest message: 0.26" in page.text
    assert "bandwidth-delay product / the window" not in page.text
    assert "the window stalled no stream: not counted" in page.text
    assert page.text.count("two_visit (ORACLE)") == page.of_class("best") == 6


def test_the_page_says_what_the_machine_took_and_what_was_cut_out(tmp_path: Path) -> None:
    case = replace(SMALL, bursts=3, shown=(1,), pause=(90_000_000, 20_000_000))
    write_folder(tmp_path / "run", (case,))
    page = report(tmp_path / "run")
    assert "2 bursts judged, 1 shown only: a pause delayed an input" in page.text
    assert "not judged: a grant came 7.3 ms of link work late" in page.text
    assert "0 of 3 bursts were invalid, in 1 a pause delayed an input of the models" in page.text
    lost = 21 / (max(row.wire_end_ns for row in predicted_rows(case)) / 1e6 + 20)
    assert f"the link lost {percent(lost)} of the time" in page.text
    assert page.text.count("21.020.0") == 3  # lost and cut, in ms


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


def test_shares_of_links_have_a_table_where_links_are_shared(tmp_path: Path) -> None:
    write_folder(tmp_path / "run", (SMALL,))
    assert "Shares of links" not in report(tmp_path / "run").text
    with ResultsFolder.open(tmp_path / "run") as folder:
        summary = folder.read_summary()
        assert summary is not None
        (cell,) = summary.cells
        shared = tuple(m.model_copy(update={"share": m.order}) for m in cell.models)
        folder.write_summary(
            summary.model_copy(update={"cells": (cell.model_copy(update={"models": shared}),)})
        )
    page = report(tmp_path / "run")
    assert "Shares of links: errors by model and level" in page.text
    assert page.of_class("best") == 7


def test_the_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    write_folder(tmp_path / "run", (SMALL,))
    page = report(tmp_path / "run")
    for tag, attributes in page.tags:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base", "form")
        for name in ("src", "href"):
            target = attributes.get(name) or "#"
            assert target.startswith(("#", "data:image/png;base64,")), target
        assert not any(name.startswith("on") for name in attributes)
    text = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "url(" not in text and "@import" not in text and "http://" not in text


def test_the_page_shows_what_the_ends_announced(tmp_path: Path) -> None:
    write_folder(tmp_path / "run", (SMALL,))
    windows = [4194304, 65535, 65536, 65537, 65538]
    ends = {
        "sender": {"release": "1.<b>39.0", "settings": {}},
        "receiver": {"release": None, "settings": {"initial_window_size": windows}},
    }
    with ResultsFolder.open(tmp_path / "run") as folder:
        record = run_record((SMALL,))
        folder.write_run(record.model_copy(update={"peers": {"w/t connection 0": ends}}))
    text = report(tmp_path / "run").text
    assert "1.<b>39.0" in text
    assert "4MiB, then 65535B, then 64KiB, then 65537B, then ..." in text


def test_what_was_not_run_is_found_on_the_page_with_its_reason(tmp_path: Path) -> None:
    write_folder(tmp_path / "run", (SMALL,))
    left = NotRun(cell="w/old", workload="w", transport="old", reason="no <b>Python</b> 3.7")
    with ResultsFolder.open(tmp_path / "run") as folder:
        folder.write_summary(summary((SMALL,), not_run=(left,)))
    page = report(tmp_path / "run")
    assert "w/old" in page.text and "not run: no <b>Python</b> 3.7" in page.text
    assert page.of_class("banner") == 0


def test_an_untrusted_run_says_so_first_and_says_why(tmp_path: Path) -> None:
    write_folder(tmp_path / "run", (SMALL,), trusted=False, reasons=("the link lost 3 packets",))
    page = report(tmp_path / "run")
    assert (page.of_class("untrusted"), page.of_class("incomplete")) == (1, 0)
    assert page.text.index("Do not trust") < page.text.index("What was found")
    assert page.text.index("the link lost 3 packets") < page.text.index("What was found")


def test_an_incomplete_run_shows_what_it_has(tmp_path: Path) -> None:
    write_folder(tmp_path / "run", (SMALL,), complete=False, reasons=("interrupted",))
    page = report(tmp_path / "run")
    assert (page.of_class("untrusted"), page.of_class("incomplete")) == (0, 1)
    assert "follows two_visit" in page.text


def test_a_run_interrupted_before_its_first_burst_has_a_page(tmp_path: Path) -> None:
    ResultsFolder.create(tmp_path / "run", scenario()).close()
    page = report(tmp_path / "run")
    assert page.of_class("incomplete") == 1
    assert "No burst was finished" in page.text
    assert not (tmp_path / "run" / "pictures").exists()


def test_a_run_killed_before_its_summary_shows_what_was_measured(tmp_path: Path) -> None:
    with ResultsFolder.create(tmp_path / "run", scenario()) as folder:
        folder.write_trace(measured_rows(SMALL))
    page = report(tmp_path / "run")
    assert page.of_class("incomplete") == 1
    assert "measured, but the run ended before it was judged" in page.text
    assert len([tag for tag, _ in page.tags if tag == "img"]) == 2


def test_a_cell_with_no_valid_burst_shows_an_invalid_one_as_such(tmp_path: Path) -> None:
    write_folder(tmp_path / "run", (replace(SMALL, invalid=(0, 1)),))
    page = report(tmp_path / "run")
    assert "no burst was valid" in page.text
    assert (page.of_class("errors"), page.of_class("unjudged")) == (0, 1)
    assert "No burst was valid. What is shown below counts for nothing." in page.text


def test_a_cell_without_a_judged_burst_is_shown_as_such_beside_others(tmp_path: Path) -> None:
    invalid = replace(SMALL, workload="alexnet", invalid=(0, 1))
    shown = replace(SMALL, transport="paused", shown=(0, 1))
    write_folder(tmp_path / "run", (SMALL, invalid, shown))
    page = report(tmp_path / "run")
    tables = page.of_class("errors")
    assert page.of_class("best") == tables == 6  # of the cell that is judged alone
    assert page.of_class("unjudged") == 2 * tables + 2
    assert page.text.count("No burst was valid") == tables + 1
    delayed = "No burst was judged: in each a pause delayed an input of the models"
    assert page.text.count(delayed) == tables + 1


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (SMALL, ""),
        (replace(SMALL, invalid=(0, 1)), "NOT VALID"),
        (replace(SMALL, shown=(0, 1)), "NOT JUDGED"),
    ],
)
def test_the_timeline_says_what_its_burst_is_worth(
    tmp_path: Path, case: Case, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(timeline.style, "png", lambda figure: figures.append(figure) or PNG)
    write_folder(tmp_path / "run", (case,))
    with ResultsFolder.open(tmp_path / "run") as folder:
        data = ReportData.read(folder)
    timeline_png(data.cells[0], dict.fromkeys(data.models, "red"))
    title = figures[0].axes[0].get_title(loc="left")
    assert title.partition("burst 0")[2] == (f", {said}" if said else "")


def test_links_stand_side_by_side_and_not_one_beside_all_fields(tmp_path: Path) -> None:
    write_folder(tmp_path / "run", (SMALL,))
    with ResultsFolder.open(tmp_path / "run") as folder:
        record = run_record((SMALL,))
        links = [
            {"path": f"s0 to w{i}", **{f"f{k}_bps": 1e6 * k for k in range(20)}} for i in range(9)
        ]
        folder.write_run(record.model_copy(update={"links": links}))
    text = (write_report(tmp_path / "run")).read_text("utf-8")
    rows = re.findall(r'<tr><th scope="row">path</th>(.*?)</tr>', text)
    assert [row.count("<td>") for row in rows] == [4, 4, 1]
    assert '<th scope="row">f7, Mbit/s</th><td>7</td><td>7</td>' in text


def test_a_cell_without_any_row_says_so(tmp_path: Path) -> None:
    with ResultsFolder.create(tmp_path / "run", scenario()) as folder:
        made = summary((replace(SMALL, invalid=(0, 1)),))
        folder.write_summary(made)
        folder.write_run(run_record())
    page = report(tmp_path / "run")
    assert "No burst of this cell was finished" in page.text


HOSTILE = '<script>alert("x")</script><img src=x onerror=y>&\'"'


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


def test_the_same_folder_makes_the_same_bytes(tmp_path: Path) -> None:
    write_folder(tmp_path / "run", (SMALL,))
    first = write_report(tmp_path / "run").read_bytes()
    assert write_report(tmp_path / "run").read_bytes() == first


@pytest.mark.parametrize("streams", [1, 8, 16, 40, 41, 160])
def test_labels_of_the_timeline_never_overlap(
    tmp_path: Path, streams: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Figure] = []
    real = timeline.style.png

    def keep(figure: Figure) -> bytes:
        figures.append(figure)
        return real(figure)

    monkeypatch.setattr(timeline.style, "png", keep)
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
    return subprocess.run(
        [sys.executable, "-m", "netcosim.report", *map(str, arguments)],
        env={**{k: v for k, v in os.environ.items() if k != "MPLCONFIGDIR"}, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


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
