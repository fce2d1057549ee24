"""The cells of `bench fidelity`: what the list covers, what is kept of a run, what it comes to."""

import hashlib
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench.fidelity.delivered import delivered_section
from bench.fidelity.listing import CONNECTIONS, Listed, read_listing, scenario_of
from bench.fidelity.page import page
from bench.fidelity.scores import NATIVE, TARGET, Row, empty_row, score_cell
from bench.fidelity.store import Store
from bench.fidelity.totals import totals
from emu.plan import make_plan
from netcosim.results.folder import ResultsFolder, trace_file
from netcosim.results.streams.lost import PAUSE, UNEXPLAINED, LostRow
from tests.emu.run.made import write_run

Pair = tuple[list[Listed], Path]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cells() -> list[Listed]:
    return read_listing()


@pytest.fixture(scope="module")
def pair(
    cells: list[Listed], tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[Listed], Path]:
    """Two h2 cells of one group, and a run of both that was made by the models."""
    of_h2 = [c for c in cells if c.family == "h2" and c.group == "mixed8-pull-100mbit-fair"]
    folder = tmp_path_factory.mktemp("run") / "out"
    write_run(folder, scenario_of(of_h2), bursts=3)
    with ResultsFolder.open(folder) as run:
        run.write_lost([])
    return of_h2, folder


def test_every_cell_is_a_job_that_could_be_run(cells):
    names = set()
    for cell in cells:
        (one,) = make_plan(cell.scenario).cells
        assert 19_900_000 < one.burst_bytes < 20_100_000
        assert cell.scenario.repetitions >= 5
        names.add(cell.key)
    assert len(names) == len(cells) > 90


def test_cells_of_several_connections_are_jobs_of_several_connections(cells):
    several = read_listing(CONNECTIONS)
    for cell in several:
        plan = make_plan(cell.scenario)
        (one,) = plan.cells
        assert len(plan.connections(one)) > 1, cell.key
        assert 5 * plan.burst_seconds(one) < 30
    keys = [cell.key for cell in [*cells, *several]]
    assert len(set(keys)) == len(keys)
    assert {c.link for c in several} == {"fair", "fifo"}
    assert {c.direction for c in several} == {"pull", "both"}


@pytest.mark.soak
def test_a_cell_is_kept_on_its_own_and_predicted_again(pair, tmp_path):
    cells, path = pair
    store = Store(path=tmp_path / "kept")
    with ResultsFolder.open(path) as run:
        assert not any(store.has(cell) for cell in cells)
        assert all(store.keep(cell, run) for cell in cells)
        predicted, measured = run.read_predictions(), run.read_trace()
    assert all(store.has(cell) for cell in cells)
    for cell in cells:
        name = f"mixed8/{cell.transport}"
        with store.open(cell) as kept:
            assert set(kept.names()) == {
                *("scenario.toml", "trace.parquet", "grants.parquet", "lost.parquet", "run.json")
            }
            assert kept.read_trace() == tuple(r for r in measured if r.cell == name)
            record = kept.read_run()
            assert {r.cell for r in kept.read_grants()} == {name}
        assert {v.cell for v in record.validity} == {name}
        assert list(record.phases_s) == [name]
        mine = trace_file(r for r in predicted if r.cell == name)
        assert record.predictions_sha256 == hashlib.sha256(mine).hexdigest()
        done = subprocess.run(
            [sys.executable, "-m", "emu.predict", f"{store.collection(cell).path}#{cell.key}"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert "These predictions are the same as the run, byte for byte." in done.stdout


@pytest.fixture
def kept(pair: Pair, tmp_path: Path) -> tuple[Listed, Store]:
    """The first of the cells, and a store in which its run is kept."""
    (cell, *_), path = pair
    store = Store(path=tmp_path)
    with ResultsFolder.open(path) as run:
        store.keep(cell, run)
    return cell, store


def of_an_older_release(path: Path, where: Path) -> Path:
    """The run, as a release left it that did not record what links lose."""
    folder = where / "older-run"
    shutil.copytree(path, folder)
    (folder / "lost.parquet").unlink()
    return folder


def with_lost_time(path: Path, where: Path, cells: list[Listed], length_ns: int) -> Path:
    """The run, whose links have lost some time in the middle of each burst's first half."""
    folder = where / "run"
    shutil.copytree(path, folder)
    with ResultsFolder.open(folder) as run:
        record = run.read_run()
        run.write_lost(
            LostRow(
                cell=f"mixed8/{cell.transport}",
                burst=burst,
                connection=0,
                start_ns=start_ns,
                length_ns=length_ns,
                cause=cause,
            )
            for cell in cells
            for burst in range(3)
            for start_ns, cause in ((200_000_000, PAUSE), (300_000_000, UNEXPLAINED))
        )
        changes = {"lost_ns": 2 * length_ns, "cut_ns": length_ns, "length_ns": 100 * length_ns}
        judged = tuple(v.model_copy(update=changes) for v in record.validity)
        run.write_run(record.model_copy(update={"validity": judged}))
    return folder


@pytest.mark.soak
def test_what_links_lost_is_kept_with_its_cell_and_cut_from_its_times(pair, tmp_path):
    cells, path = pair
    (cell, *_) = cells
    store, older = Store(path=tmp_path / "kept"), Store(path=tmp_path / "older")
    with ResultsFolder.open(of_an_older_release(path, tmp_path)) as run:
        older.keep(cell, run)
    with ResultsFolder.open(with_lost_time(path, tmp_path, cells, 10_000_000)) as run:
        assert all(store.keep(each, run) for each in cells)
    assert (older.knows_lost_time(cell), store.knows_lost_time(cell)) == (False, True)
    with store.open(cell) as kept:
        assert {row.cell for row in kept.read_lost()} == {f"mixed8/{cell.transport}"}
        assert len(kept.read_lost()) == 6
    before, after = score_cell(cell, older), score_cell(cell, store)
    assert (before.grade, before.lost_share, before.unexplained_share) == (None, None, None)
    assert (after.grade, after.lost_share, after.unexplained_share) == ("B", 0.02, 0.01)
    # The streams came as predicted on the wall clock; the clock of link work has 10 ms less, and
    # hand-overs are on it too. Orders are on neither.
    wall, work = before.levels["PREDICT"], after.levels["PREDICT"]
    assert wall["wire"] == wall["wall"]
    assert work["wire"] != work["wall"]
    assert wall["order"] == work["order"]
    assert wall["order"]["max"] == 0
    assert "B, 2 % (1 % unexplained)" in page([after], "head")
    assert "Where no grade stands" in page([before], "head")
    assert "Where no grade stands" not in page([after], "head")


def test_a_cell_in_which_the_run_broke_off_is_not_kept(pair, tmp_path):
    (cell, *_), path = pair
    store = Store(path=tmp_path / "kept")
    broken = tmp_path / "broken"
    shutil.copytree(path, broken)
    with ResultsFolder.open(broken) as run:
        summary = run.read_summary()
        run.write_summary(summary.model_copy(update={"complete": False}))
        assert not store.keep(cell, run)
        # Two bursts are valid; where no more were wanted, the cell was over.
        assert store.keep(replace(cell, repetitions=2), run)
    assert store.valid_bursts(cell) == 2


@pytest.mark.soak
def test_scores_are_of_the_judged_bursts_and_of_the_right_model(kept):
    cell, store = kept
    row = score_cell(cell, store)
    assert (row.right, row.best) == ("two_visit", "two_visit")
    assert (row.judged_bursts, row.shown_bursts, row.invalid_bursts) == (2, 0, 1)
    assert row.levels.keys() == {"PREDICT", "EXPLAIN", "ORACLE"}
    for level in ("PREDICT", "EXPLAIN"):
        assert row.levels[level]["order"]["max"] == 0
        assert row.levels[level]["wire"]["max"] == 0
        assert row.levels[level]["orders_equal"] == row.levels[level]["bursts"] == 2
    assert row.wrong not in (None, "two_visit")
    assert row.wrong_mean is not None
    assert row.wrong_mean > 0.01
    assert row.separation >= 0.05
    assert row.missed == row.missed_in_time == row.missed_warm == []
    assert (row.best_in_time, row.clocks_agree, row.outcome) == ("two_visit", True, "right")
    # Bursts on one connection: the invalid one was the first, so all that are judged came later.
    assert row.warm == row.levels["PREDICT"]["order"]
    assert row.seconds == 3.0


@pytest.mark.soak
def test_targets_are_those_of_the_family(kept):
    cell, store = kept
    with store.open(cell) as folder:
        from emu.rerun import rerun

        (summary,) = rerun(folder).summary.cells
    right = next(m for m in summary.models if m.model == "two_visit")
    bad = right.order.model_copy(update={"mean": 0.004, "p99": 0.02, "max": 0.025})
    assert TARGET.missed(right.order) == []
    assert TARGET.missed(bad) == ["mean", "p99", "max"]
    assert NATIVE.missed(bad) == []
    assert TARGET.missed(None) == []
    assert TARGET.missed_in_time(right) == []
    late = right.wire_secondary.model_copy(update={"mean": 0.011, "max": 0.049})
    assert TARGET.missed_in_time(right.model_copy(update={"wire": bad})) == ["mean", "p99", "max"]
    assert TARGET.missed_in_time(right.model_copy(update={"wire_secondary": late})) == [
        "secondary mean"
    ]


@pytest.mark.soak
def test_the_page_and_the_totals_say_what_was_not_run(kept, cells):
    cell, store = kept
    absent = next(c for c in cells if c.family == "grpc 1.17.0")
    rows = [score_cell(cell, store), empty_row(absent, "Python 3.7 is missing")]
    text = page(rows, "head")
    assert "## h2\n" in text
    assert "not run: Python 3.7 is missing" in text
    for section in text.split("\n## "):
        lines = [line for line in section.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) <= 1
    figures = {f.name: f for f in totals(rows)}
    assert figures["h2: cells that meet the bounds of order"].met
    assert figures["cells without an observation"].value == 1
    assert figures["cells without an observation"].met is False
    assert figures["cells with fewer than 5 valid bursts"].value == 1
    assert figures["the longest cell"].value == 3.0


EMPTY = empty_row(read_listing()[0], None)


def row(workload: str, mean: float, p95: float, largest: float, streams: int = 10) -> Row:
    errors = {"streams": streams, "mean": mean, "p95": p95, "max": largest}
    twice = {key: value if key == "streams" else 2 * value for key, value in errors.items()}
    return replace(
        EMPTY, family="f", workload=workload, delivered=errors, delivered_secondary=twice
    )


def test_means_are_pooled_over_streams_and_the_worst_cell_gives_the_rest():
    rows = [
        row("alexnet", 0.01, 0.02, 0.05, streams=30),
        row("alexnet", 0.03, 0.04, 0.03, streams=10),
        row("mixed8", 0.002, 0.002, 0.002),
    ]
    text = "\n".join(delivered_section(rows))
    paper = "1.82 / 3.35 / 47.48 % | 2.89 / 9.71 / 45.44 %"
    assert f"| f | alexnet | 2 | 40 | 1.5 % / 4 % / 5 % | 3 % / 8 % / 10 % | {paper} |" in text
    assert "| f | mixed8 | 1 | 10 | 0.20 % / 0.20 % / 0.20 % |" in text
