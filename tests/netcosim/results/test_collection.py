"""Runs kept together: what goes in comes out, and whoever is killed leaves what was there."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcosim.errors import StorageError
from netcosim.results.collection import RUNS, Collection, open_run
from netcosim.results.folder import GRANTS, LOST, RUN, SCENARIO, grants_file, lost_file
from netcosim.results.storage.parquet import parquet_bytes
from netcosim.results.streams.grants import WINDOW_UPDATE, GrantRow
from netcosim.results.streams.lost import PAUSE, LostRow
from tests.netcosim.results.synthetic import Case, write_folder

ROOT = Path(__file__).parents[3]


def grant(time_ns: int) -> GrantRow:
    return GrantRow(
        cell="w/t",
        burst=0,
        connection=0,
        stream=1,
        time_ns=time_ns,
        kind=WINDOW_UPDATE,
        size_bytes=7,
        from_receiver=True,
    )


def pause(start_ns: int) -> LostRow:
    return LostRow(cell="w/t", burst=0, connection=0, start_ns=start_ns, length_ns=5, cause=PAUSE)


def files(value: int, rows: int, *, lost: bool = True) -> dict[str, bytes]:
    """A run all of whose files say `value`."""
    made = {
        SCENARIO: f"# {value}\n".encode(),
        RUN: str(value).encode(),
        GRANTS: grants_file(grant(value) for _ in range(rows)),
    }
    return made | ({LOST: lost_file([pause(value)] * (rows % 2))} if lost else {})


def assert_holds(collection: Collection, name: str, value: int, rows: int, *, lost: bool) -> None:
    with collection.open(name) as folder:
        assert folder.read(RUN) == str(value).encode()
        assert folder.read(SCENARIO) == f"# {value}\n".encode()
        assert folder.read_grants() == (grant(value),) * rows
        assert folder.has(LOST) is lost
        assert folder.read_lost() == (pause(value),) * (rows % 2 if lost else 0)


@pytest.mark.oracle
@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.booleans()), min_size=1, max_size=6
    )
)
def test_the_last_run_of_each_name_comes_out(tmp_path_factory, puts) -> None:
    collection = Collection(path=tmp_path_factory.mktemp("c") / "runs")
    last = {}
    for value, (name, rows, lost) in enumerate(puts):
        collection.put(name, files(value, rows, lost=lost))
        last[name] = (value, rows, lost)
    assert collection.names() == tuple(sorted(last))
    for name, (value, rows, lost) in last.items():
        assert_holds(collection, name, value, rows, lost=lost)


def test_order_of_rows_stays(tmp_path: Path) -> None:
    rng = random.Random(1)
    rows = {name: [grant(rng.randrange(10**9)) for _ in range(3000)] for name in "bca"}
    collection = Collection(path=tmp_path)
    for name, mine in rows.items():
        collection.put(name, files(0, 0) | {GRANTS: grants_file(mine)})
    for name, mine in rows.items():
        with collection.open(name) as folder:
            assert folder.read_grants() == tuple(mine)


@pytest.mark.oracle
def test_a_real_run_is_predicted_from_it(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    write_folder(whole, (Case(),))
    names = ("scenario.toml", "run.json", "trace.parquet", "grants.parquet")
    collection = Collection(path=tmp_path / "runs")
    collection.put("it", {n: (whole / n).read_bytes() for n in names if (whole / n).exists()})
    with open_run(Path(f"{tmp_path}/runs#it")) as one, open_run(whole) as other:
        assert one.read_trace() == other.read_trace()
        assert one.read_run() == other.read_run()
        assert one.read_scenario() == other.read_scenario()


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("runs#no", "runs#no: no such run: the folder has a"),
        ("none#no", "none#no: no such run: the folder has no runs.parquet"),
        ("none", "none: can't be opened"),
    ],
)
def test_what_is_not_there_is_one_line(tmp_path: Path, where: str, message: str) -> None:
    Collection(path=tmp_path / "runs").put("a", files(1, 1))
    with pytest.raises(StorageError, match=message), open_run(tmp_path / where):
        pass


def test_what_is_no_collection_is_one_line(tmp_path: Path) -> None:
    collection = Collection(path=tmp_path)
    (tmp_path / RUNS).write_bytes(b"no Parquet")
    with pytest.raises(StorageError, match="can't be read as Parquet"):
        collection.names()
    (tmp_path / RUNS).write_bytes(grants_file([grant(1)]))
    with pytest.raises(StorageError, match="is not a table of runs of version 1"):
        collection.names()


def test_a_table_of_something_else_is_one_line(tmp_path: Path) -> None:
    collection = Collection(path=tmp_path)
    collection.put("one", files(1, 1))
    other = pa.table({"run": [1, 2], "revision": [1, 1]})
    (tmp_path / GRANTS).write_bytes(parquet_bytes(other))
    message = f'{GRANTS}: is no table of a collection: has no column "run" of type string'
    with pytest.raises(StorageError, match=message), open_run(Path(f"{tmp_path}#one")):
        pass


WRITER = """
import itertools, sys
from pathlib import Path
from netcosim.results.collection import Collection
from tests.netcosim.results.test_collection import files
collection = Collection(path=Path(sys.argv[1]))
for value in itertools.count(1):
    collection.put("abc"[value % 3], files(value, 1 + value % 2))
    print(value, flush=True)
"""


@pytest.mark.oracle
def test_whoever_is_killed_leaves_whole_runs(tmp_path: Path) -> None:
    collection = Collection(path=tmp_path / "runs")
    for trial in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(collection.path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            said = [int(process.stdout.readline()) for _ in range(4)]
            time.sleep(random.Random(trial).uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
            said += [int(line) for line in process.stdout]
        assert collection.names() == ("a", "b", "c")
        for name in collection.names():
            value = int(collection.text(name, RUN) or "")
            assert value in (*said, said[-1] + 1)
            assert_holds(collection, name, value, 1 + value % 2, lost=True)
