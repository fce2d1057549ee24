"""Records of the cross-check's cells that are kept: whole, and known by their seals."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.crosscheck.attempts import kept
from bench.crosscheck.records import RECORD, RECORDS, RUN
from netcosim.errors import StorageError
from netcosim.results.folder import SEAL
from netcosim.results.training.seal import load_seal
from ray_sweeps.crosscheck.training.check import check_run
from sim.sealing.record import read_record

pytestmark = pytest.mark.soak

CELLS = sorted(path.name for path in RECORDS.iterdir())
SMALLEST = "alexnet-fifo-bsp-1-w2_4-parsing-random"


def test_each_belongs_to_an_attempt():
    ended = {attempt.cell for attempt in kept() if not attempt.failed}
    assert CELLS
    assert set(CELLS) <= ended


@pytest.mark.parametrize("name", CELLS)
def test_the_seal_is_of_the_record(name):
    path = RECORDS / name / RUN / SEAL
    seal, record = load_seal(path.read_bytes(), path), read_record(RECORDS / name / RECORD)
    assert dict(record.sha256) == seal.record_sha256


def test_a_run_is_checked_as_when_it_was_measured():
    """What was measured and sealed is compared again, from the kept files."""
    asked = [a for a in kept() if a.cell == SMALLEST and a.checked and not a.predicted_again]
    (attempt,), (found,) = asked, check_run(RECORDS / SMALLEST / RUN, [])
    again = json.loads(found.check.model_dump_json())
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
def test_a_run_that_is_not_the_one_that_was_predicted_is_refused(tmp_path, file, old, new, said):
    run = shutil.copytree(RECORDS / SMALLEST / RUN, tmp_path / "run")
    text = (run / file).read_text()
    assert old in text
    (run / file).write_text(text.replace(old, new, 1))
    with pytest.raises(StorageError, match=said):
        check_run(run, [])


def test_streams_that_are_not_there_are_not_compared(tmp_path):
    """No figure, where it had been an error of 0."""
    run = shutil.copytree(RECORDS / SMALLEST / RUN, tmp_path / "run")
    (run / "operations.parquet").unlink()
    (found,) = check_run(run, [])
    assert all(point.streams is None for point in found.check.points)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("workers", 4, "workers: 4: must be 1"),
        ("run", 3, "run: 3: must be 0"),
        ("worker", -7, "worker: -7: must be 0"),
        ("size_bytes", -5, "size_bytes: -5: must be"),
        ("step", 10**7, "step: 10000000: must be 0 to"),
        ("operation", "x" * 300_000, "x{60}: is not in the job"),
    ],
)
def test_operations_that_are_not_those_of_the_job_are_refused(tmp_path, column, value, said):
    record = shutil.copytree(RECORDS / SMALLEST / RECORD, tmp_path / "record")
    table = pq.read_table(record / "operations.parquet")
    field = table.schema.get_field_index(column)
    values = [value, *table.column(column).to_pylist()[1:]]
    kind = table.schema.field(column).type
    changed = pa.array(values, type=pa.string() if isinstance(value, str) else kind).cast(kind)
    table = table.set_column(field, table.schema.field(column), changed)
    pq.write_table(table, record / "operations.parquet")
    with pytest.raises(StorageError, match=said):
        read_record(record)
