"""Records that were changed after they were made are refused, with file, field and value."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netcosim.errors import NetcosimError
from sim.run import main as simulate
from sim.sealing.record import read_record

KEPT = Path(__file__).parents[3] / "bench/results/crosscheck/alexnet-two_visit-asp-1-w2-slow/record"


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return Path(shutil.copytree(KEPT, tmp_path / "record"))


def summary(record: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = record / "summary.json"
    data = json.loads(path.read_text())
    change(data["series"][0])
    path.write_text(json.dumps(data))


def series(**values: object) -> Callable[[Path], None]:
    return lambda record: summary(record, lambda found: found.update(values))


def path_fact(**values: object) -> Callable[[Path], None]:
    return lambda record: summary(record, lambda found: found["path"].update(values))


def scenario(old: str, new: str) -> Callable[[Path], None]:
    def change(record: Path) -> None:
        path = record / "scenario.toml"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return change


def later(record: Path) -> None:
    """Let a computation end a microsecond later than it did."""
    path = record / "operations.parquet"
    table = pq.read_table(path)
    ends = table["end_ns"].to_pylist()
    row = table["kind"].to_pylist().index("compute")
    ends[row] += 1_000
    column = table.column_names.index("end_ns")
    pq.write_table(table.set_column(column, table.schema.field(column), pa.array(ends)), path)


def cut(record: Path) -> None:
    path = record / "summary.json"
    path.write_bytes(path.read_bytes()[:-100])


def test_the_record_itself_is_read(record):
    assert [series.cell for series, _ in read_record(record).cells] == ["alexnet/two_visit"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            later,
            r"operations\.parquet: alexnet/two_visit: step \d+: .*: took \d+ ns, by its job \d+",
        ),
        (
            scenario("seed = 1", "seed = 2"),
            r"summary\.json: .*: job_sha256: \w+: must be \w+, by its",
        ),
        (scenario("factor = 1.5", "factor = 1.6"), r"job_sha256: .*by its scenario"),
        (scenario('name = "two_visit"', 'name = "fifo"'), "is no training job of its scenario"),
        (series(cell="vgg11/two_visit"), "vgg11/two_visit: is no training job of its scenario"),
        (series(batch=9), "batch: 9: must be 8, by its scenario"),
        (series(batch=0), r"summary\.json: series\.0\.batch: .*greater than or equal to 1"),
        (series(rate_bps=10**9), "rate_bps: 1000000000: must be 100000000, by its scenario"),
        (series(synchronisation="bsp"), "synchronisation: bsp: must be asp"),
        (
            path_fact(bucket_bytes=-1),
            r"series\.0\.path\.bucket_bytes: .*greater than or equal to 1",
        ),
        (path_fact(handling_ns=10**20), r"series\.0\.path\.handling_ns: .*less than or equal to"),
        (series(points=[]), "points: 0: must be one, of one worker, in a record"),
        (
            series(messages={"asking_ns": 1, "parameter_ns": 1, "gradient_ns": 1, "spread": 0}),
            "messages: is for records by the machine's clock",
        ),
        (path_fact(segment_bytes=1), r"path\.segment_bytes: .*must be 0, or at least 500"),
        (cut, r"summary\.json: is damaged: not JSON"),
    ],
)
def test_one_that_was_changed_is_refused(record, change, said):
    change(record)
    with pytest.raises(NetcosimError, match=said) as refused:
        read_record(record)
    assert str(refused.value).startswith(str(record))


def test_the_command_says_so_in_a_line_and_seals_nothing(record, capsys):
    later(record)
    seal = record.parent / "seal.json"
    assert simulate(["--from", str(record), "--seal", str(seal)]) == 6
    assert "by its job" in capsys.readouterr().err
    assert not seal.exists()
