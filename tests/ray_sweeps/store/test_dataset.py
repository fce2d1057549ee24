"""The dataset: complete files only, read by other tools while it grows, resumed, never mixed."""

from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow.parquet as pq
import pytest

from netcosim.errors import ScenarioError, StorageError
from netcosim.results.storage.directory import Directory
from ray_sweeps.evaluation import Evaluator, Items, Rows, evaluate, resolve
from ray_sweeps.key_set import keys_of, runs_of
from ray_sweeps.store.dataset import Dataset
from tests.ray_sweeps.made import Made


def rows_of(evaluator: Evaluator, numbers: range) -> Rows:
    import numpy as np

    points = resolve(evaluator, numbers)
    ones = np.zeros(len(points.numbers), dtype=np.int64)
    return evaluate(
        evaluator, Items(points.numbers, keys_of(list(points.keys)), ones, points.work), 99.0
    )


def three_rows_in(path: Path) -> None:
    """A dataset with the first three rows of all points."""
    dataset = dataset_in(path, Made())
    dataset.add(rows_of(Made(), range(3)))
    dataset.flush()


def dataset_in(path: Path, evaluator: Evaluator) -> Dataset:
    return Dataset(Directory.open(path), evaluator.schema())


def test_rows_are_in_other_readers_as_soon_as_they_are_flushed(tmp_path):
    made = Made(failing=3)
    dataset = dataset_in(tmp_path, made)
    wanted = []
    for begin in (0, 10, 20):
        rows = rows_of(made, range(begin, begin + 10))
        wanted += rows.table.to_pylist()
        dataset.add(rows)
        dataset.flush()
        files = str(tmp_path / "runs/*.parquet")
        assert polars.scan_parquet(files).sort("factor_number").collect().to_dicts() == wanted
        told = duckdb.sql(f"select * from '{files}' order by factor_number").fetchall()
        assert told == [tuple(row.values()) for row in wanted]
        frame = pandas.read_parquet(tmp_path / "runs").sort_values("factor_number")
        assert frame["value"].dropna().tolist() == [
            row["value"] for row in wanted if row["value"] is not None
        ]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        f"part-00000{i}.parquet" for i in (1, 2, 3)
    ]


def test_what_is_there_is_known_and_added_to(tmp_path):
    made = Made()
    dataset = dataset_in(tmp_path, made)
    dataset.add(rows_of(made, range(7)))
    dataset.flush()
    (tmp_path / "runs/.part-000002.parquet.part").write_bytes(b"cut")  # a driver was killed
    again = dataset_in(tmp_path, made)
    taken = again.taken("made")
    assert len(taken) == 7
    import numpy as np

    new = taken.add(runs_of(keys_of([made.key(6), made.key(7)]), np.zeros(2, dtype=np.int64)))
    assert new.tolist() == [False, True]
    again.add(rows_of(made, range(7, 9)))
    again.flush()
    assert pq.read_table(tmp_path / "runs").num_rows == 9
    assert not list((tmp_path / "runs").glob(".part*"))


def test_nothing_is_written_where_nothing_was_made(tmp_path):
    dataset = dataset_in(tmp_path, Made())
    dataset.flush()
    assert not (tmp_path / "runs").exists()


class Wider(Made):
    """The same with a column more."""

    def schema(self):  # type: ignore[no-untyped-def]
        import pyarrow as pa

        return super().schema().append(pa.field("factor_more", pa.string()))


@pytest.mark.parametrize(
    ("evaluator", "engine", "said"),
    [
        (Wider(), "made", r"has runs of a sweep with other factors \(more\)"),
        (Made(), "other", "has runs of another release of the simulator, whose figures"),
    ],
)
def test_runs_of_another_engine_or_sweep_are_not_mixed(tmp_path, evaluator, engine, said):
    three_rows_in(tmp_path)
    with pytest.raises(ScenarioError, match=said):
        dataset_in(tmp_path, evaluator).taken(engine)


def test_a_damaged_file_is_named(tmp_path):
    three_rows_in(tmp_path)
    part = tmp_path / "runs/part-000001.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(StorageError, match=r"runs/part-000001\.parquet: can't be read as Parquet"):
        dataset_in(tmp_path, Made()).taken("made")


def test_rows_that_can_not_be_written_are_kept_for_another_try(tmp_path):
    made = Made()
    dataset = dataset_in(tmp_path, made)
    (tmp_path / "runs").write_text("in the way")
    dataset.add(rows_of(made, range(3)))
    with pytest.raises(StorageError, match="runs: can't be"):
        dataset.flush()
    (tmp_path / "runs").unlink()
    dataset.flush()
    assert pq.read_table(tmp_path / "runs").num_rows == 3
