"""What an earlier run has finished is taken over only where it can stand beside what comes."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from emu.training.finished import Finished
from emu.training.job_cells import JobCell, job_cells
from netcosim.errors import ScenarioError, StorageError
from netcosim.results.folder import ResultsFolder
from netcosim.results.host import EMULATION, describe_host, versions
from netcosim.results.run_record import RunRecord
from netcosim.results.training.job_summary import UnfinishedPoint

KEPT = Path(__file__).parents[3] / "bench/results/crosscheck/googlenet-two_visit-bsp-0.5-w1_4/run"
CLOCK = {"name": "virtual", "kernel": {"hash": "1"}, "guests_s": {}}
CELL = "googlenet/two_visit"


SCENARIO_SHA256 = hashlib.sha256((KEPT / "scenario.toml").read_bytes()).hexdigest()


def record(**changed: object) -> RunRecord:
    values: dict[str, Any] = {
        "scenario_sha256": SCENARIO_SHA256,
        "command": ("emu.run",),
        "started": "2026-11-27T00:00:00+00:00",
        "finished": None,
        "duration_s": 1.0,
        "phases_s": {},
        "clock": CLOCK | {"guests_s": {"an": 1.5}},
        "host": describe_host(),
        "versions": versions(EMULATION),
        "network": {f"{CELL}, 1 worker": {"a": 1}, f"{CELL}, 2 workers": {"b": 2}},
        "recorder": {},
        "links": [],
        "shares": [],
        "models": {},
        "predictions_sha256": None,
        "bounds": {},
        "validity": (),
        "captures": {
            f"{CELL}, 4 workers, s0": "captures/a",
            f"{CELL}, 2 workers, s0": "captures/b",
        },
        "problems": ("captures/a: 1 packets are missing", "captures/b: 2 packets are missing"),
    }
    return RunRecord.model_validate(values | changed)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[ResultsFolder]:
    """A run with 1 and 4 workers that was interrupted behind them."""
    copy = Path(shutil.copytree(KEPT, tmp_path / "run"))
    with ResultsFolder.open(copy) as opened:
        summary = opened.read_job_summary()
        assert summary is not None
        opened.write_summary(summary.model_copy(update={"complete": False, "trusted": False}))
        opened.write_run(record())
        yield opened


@pytest.fixture
def cells(folder: ResultsFolder) -> tuple[JobCell, ...]:
    return job_cells(folder.read_scenario())


def test_what_came_to_its_end_is_taken_with_its_rows(folder, cells) -> None:
    found = Finished.of(folder, cells, CLOCK)
    assert list(found.points) == [(CELL, 1), (CELL, 4)]
    assert [point.workers for point in found.points_of(CELL)] == [1, 4]
    assert found.points_of("other/cell") == ()
    assert {key: len(steps) for key, steps in found.steps.items()} == {(CELL, 1): 24, (CELL, 4): 96}
    assert found.captures == {f"{CELL}, 4 workers, s0": "captures/a"}
    assert found.network == {f"{CELL}, 1 worker": {"a": 1}}
    assert found.problems == ["captures/a: 1 packets are missing"]
    before = (folder.path / "steps.parquet").read_bytes()
    found.write_tables(folder, [(CELL, 1), (CELL, 2), (CELL, 4)])
    assert (folder.path / "steps.parquet").read_bytes() == before


def other_discipline(folder: ResultsFolder) -> None:
    path = folder.path / "scenario.toml"
    text = path.read_text()
    assert "two_visit" in text
    path.write_text(text.replace('discipline = "two_visit"', 'discipline = "fifo"'))


def in_summary(change: Callable[[dict[str, Any]], None]) -> Callable[[ResultsFolder], None]:
    def changed(folder: ResultsFolder) -> None:
        path = folder.path / "summary.json"
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data))

    return changed


CHANGES: dict[str, tuple[Callable[[ResultsFolder], object], str]] = {
    "release": (
        lambda run: run.write_run(record(versions=versions(EMULATION) | {"sources": "0"})),
        "was begun by another release",
    ),
    "kernel": (
        lambda run: run.write_run(record(clock=CLOCK | {"kernel": {"hash": "2"}})),
        "was begun by another release",
    ),
    "python": (
        lambda run: run.write_run(record(host=describe_host() | {"python": "3.0"})),
        "was begun by another release",
    ),
    "rows": (
        lambda run: (run.path / "steps.parquet").unlink(),
        r"steps\.parquet: .*must have 24 steps of each worker",
    ),
    "record": (lambda run: (run.path / "run.json").unlink(), r"has no run\.json"),
    "workers": (
        in_summary(lambda data: data["series"][0]["points"][0].update(workers=3)),
        "workers: 3: must be of 1, 4",
    ),
    "discipline": (other_discipline, r"scenario\.toml is not what it was begun with"),
    "job": (
        in_summary(lambda data: data["series"][0].update(job_sha256="0")),
        "is of other jobs than its scenario draws",
    ),
    "complete": (
        in_summary(lambda data: data.update(complete=True)),
        "is complete: nothing is left to do",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_can_not_stand_beside_the_rest_is_refused(folder, cells, name) -> None:
    change, said = CHANGES[name]
    change(folder)
    with pytest.raises((ScenarioError, StorageError), match=said):
        Finished.of(folder, cells, CLOCK)


def test_another_machine_matters_to_its_own_clock_alone(folder, cells) -> None:
    other = describe_host() | {"processor": "another one"}
    folder.write_run(record(host=other))
    assert Finished.of(folder, cells, CLOCK).points
    folder.write_run(record(host=other, clock={"name": "real"}))
    with pytest.raises(ScenarioError, match="on another machine"):
        Finished.of(folder, cells, {"name": "real"})


def test_what_ended_early_stays_until_it_has_been_run_again(folder, cells) -> None:
    summary = folder.read_job_summary()
    assert summary is not None
    (series,) = summary.series
    ended = UnfinishedPoint(workers=4, finished_steps=(24,) * 4, reason="killed")
    series = series.model_copy(update={"points": series.points[:1], "unfinished": (ended,)})
    folder.write_summary(summary.model_copy(update={"series": (series,)}))
    before = (folder.path / "steps.parquet").read_bytes()
    found = Finished.of(folder, cells, CLOCK)
    assert list(found.points) == [(CELL, 1)]
    assert found.unfinished == {(CELL, 4): ended}
    found.write_tables(folder, [(CELL, 1), (CELL, 4)])
    assert (folder.path / "steps.parquet").read_bytes() == before
