"""Records of the cross-check's cells that are kept: whole, and known by their seals."""

import json
import shutil
from pathlib import Path

import pytest

from bench.crosscheck.attempts import keep, kept
from bench.crosscheck.records import RECORD, RECORDS, RUN
from netcosim.errors import StorageError
from netcosim.results.folder import SEAL
from netcosim.results.training.seal import load_seal
from ray_sweeps.crosscheck.training.check import check_run
from sim.sealing.record import read_record

CELLS = sorted(path.name for path in RECORDS.iterdir())


def test_each_belongs_to_an_attempt() -> None:
    ended = {attempt.cell for attempt in kept() if not attempt.failed}
    assert CELLS
    assert set(CELLS) <= ended


@pytest.mark.parametrize("name", CELLS)
def test_the_seal_is_of_the_record(name: str) -> None:
    path = RECORDS / name / RUN / SEAL
    seal, record = load_seal(path.read_bytes(), path), read_record(RECORDS / name / RECORD)
    assert dict(record.sha256) == seal.record_sha256


def test_a_run_is_checked_as_when_it_was_measured() -> None:
    """The smallest job: what was measured and sealed is compared again, from the kept files."""
    name = "alexnet-fifo-bsp-1-w2_4-parsing-random"
    (attempt,) = [a for a in kept() if a.cell == name and a.checked and not a.predicted_again]
    ((found),) = check_run(RECORDS / name / RUN, [])
    again = json.loads(found.check.model_dump_json())
    assert attempt.checked is not None
    for one, other in zip(again["points"], attempt.checked["points"], strict=True):
        for key in ("workers", "measured", "predicted", "error", "step_median_error"):
            assert one[key] == pytest.approx(other[key])


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("scenario.toml", 'rate = "100mbit"', 'rate = "200mbit"', "is not the scenario that was"),
        ("summary.json", '"workers": 4', '"workers": 3', "3 workers were not predicted"),
        ("summary.json", '"job_sha256": "', '"job_sha256": "0', "is not the job that was"),
        ("summary.json", '"profiling": false', '"profiling": true', "is a record of one worker"),
    ],
)
def test_a_run_that_is_not_the_one_that_was_predicted_is_refused(
    tmp_path: Path, file: str, old: str, new: str, said: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(RECORDS / "alexnet-fifo-bsp-1-w2_4-parsing-random" / RUN, run)
    text = (run / file).read_text()
    assert old in text
    (run / file).write_text(text.replace(old, new, 1))
    with pytest.raises(StorageError, match=said):
        check_run(run, [])


def test_streams_that_are_not_there_are_not_compared(tmp_path: Path) -> None:
    """No figure, where it had been an error of 0."""
    run = tmp_path / "run"
    shutil.copytree(RECORDS / "alexnet-fifo-bsp-1-w2_4-parsing-random" / RUN, run)
    (run / "operations.parquet").unlink()
    (found,) = check_run(run, [])
    assert all(point.streams is None for point in found.check.points)


def test_an_attempt_behind_a_line_that_was_cut_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    first, second = kept()[:2]
    keep(first, path)
    path.write_bytes(path.read_bytes() + b'{"cell": "cut')
    keep(second, path)
    assert kept(path) == [first, second]
