"""A simulation's summary and tables: valid by their schemas, there and back, told from others."""

import json
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.errors import StorageError
from netcosim.results.columns import (
    OPERATION_COLUMNS,
    STEP_COLUMNS,
    operation_columns,
    step_columns,
)
from netcosim.results.folder import ResultsFolder
from netcosim.results.json_files import format_of, from_json, schema_json, to_json
from netcosim.results.storage.column_table import Words, whole_ns
from netcosim.results.training import operations, steps
from netcosim.results.training.summary import (
    Change,
    Estimate,
    LinkUse,
    Point,
    Recommendation,
    Saturation,
    Series,
    StepTimes,
    TimeShares,
    TrainingSummary,
)
from tests.netcosim.results import synthetic, synthetic_training
from tests.netcosim.results.synthetic_training import (
    Job,
    columns_of,
    recommendation,
    training_scenario,
    training_summary,
    write_training_folder,
)

SMALL = Job(counts=(1, 2), runs=2, steps=3, traced_steps=2, servers=2)
DOCS = Path(__file__).parents[4] / "docs" / "reference" / "results.md"
RECORDS = (
    *(TrainingSummary, Series, Point, Estimate, StepTimes, TimeShares, LinkUse, Saturation),
    *(Recommendation, Change),
)


def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(schema_json(TrainingSummary))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def same(one: Any, other: Any) -> bool:
    def values(record: Any) -> list[list[Any]]:
        columns = (getattr(record, field.name) for field in fields(record))
        return [c.texts() if isinstance(c, Words) else c.tolist() for c in columns]

    return values(one) == values(other)


def test_a_summary_is_valid_by_its_schema_and_comes_back() -> None:
    made = training_summary((SMALL,))
    advised = made.series[0].model_copy(update={"recommendation": recommendation()})
    made = made.model_copy(update={"series": (*made.series, advised)})
    validator().validate(json.loads(to_json(made)))
    again = from_json(TrainingSummary, to_json(made).encode(), "summary.json")
    assert to_json(again) == to_json(made)


@pytest.mark.parametrize(
    ("field", "value"),
    [("world", "emu"), ("format", "netcosim-summary"), ("series", None), ("extra", 1)],
)
def test_the_schema_refuses_what_is_no_such_summary(field: str, value: Any) -> None:
    wrong = json.loads(to_json(training_summary((SMALL,)))) | {field: value}
    assert not validator().is_valid(wrong)


def test_every_field_is_explained() -> None:
    text = DOCS.read_text()
    named = {name for record in RECORDS for name in record.model_fields}
    columns = {*OPERATION_COLUMNS, *STEP_COLUMNS}
    missing = [field for field in sorted(named | columns) if f"`{field}`" not in text]
    assert missing == []
    assert list(OPERATION_COLUMNS) == operations.TABLE.schema.names
    assert list(STEP_COLUMNS) == steps.TABLE.schema.names
    for columns_text in (operation_columns(), step_columns()):
        described = json.loads(columns_text)
        assert all(column["description"] for column in described["columns"])
        assert "run's beginning" in described["clock"]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write_training_folder(tmp_path / "run", (SMALL,))
    with ResultsFolder.open(tmp_path / "run") as folder:
        assert folder.world() == "sim"
        ops, rows = folder.read_operations(), folder.read_steps()
        found = folder.read_training_summary() or training_summary(())
        assert to_json(found) == to_json(training_summary((SMALL,)))
    wanted = [synthetic_training.operation_columns(SMALL, n) for n in SMALL.counts]
    assert same(ops, operations.TABLE.joined(wanted))
    assert len(ops) == sum(n * SMALL.traced_steps * len(SMALL.names) for n in SMALL.counts)
    wanted = [synthetic_training.step_columns(SMALL, n) for n in SMALL.counts]
    assert same(rows, steps.TABLE.joined(wanted))
    assert {p.name for p in (tmp_path / "run" / "schemas").iterdir()} == {
        *("run.schema.json", "summary.schema.json"),
        *("operations.columns.json", "steps.columns.json", "trace.columns.json"),
    }


def test_rows_say_what_the_engine_said() -> None:
    ops = columns_of(
        [(2, 5, 1, 0.4, 0.6, 10.0**15 + 0.5), (2, 5, 0, 1.0, 1.5, 2.5), (0, 4, 3, 2.0, 2.5, 3.5)],
        names=["w/pull", "w", "w/push", "w/update"],
        places=["server 1 down", "worker", "server 1 up", "server 1 ps"],
        sizes=[70, 0, 70, 0],
        workers=3,
        run=1,
    )
    assert ops.operation.texts() == ["w", "w/pull", "w/update"]
    assert ops.kind.texts() == ["compute", "transfer", "compute"]
    assert ops.place.texts() == ["worker", "server 1 down", "server 1 ps"]
    assert ops.size_bytes.tolist() == [0, 70, 0]
    assert (ops.workers.tolist(), ops.run.tolist()) == ([3] * 3, [1] * 3)
    assert ops.start_ns.tolist() == [1, 2, 2]
    assert ops.end_ns.tolist() == [10**15, 2, 4]
    assert ops.cell.texts() == ["a/b"] * 3


@pytest.mark.oracle
def test_a_million_rows_take_about_a_second(tmp_path: Path) -> None:
    part = synthetic_training.operation_columns(SMALL, 2)
    whole = operations.TABLE.joined([part] * (10**6 // len(part) + 1))
    with ResultsFolder.create(tmp_path / "run", training_scenario(), world="sim") as folder:
        begun = time.process_time()
        folder.write_operations([whole])
        again = folder.read_operations()
        # Measured: 0.7 s; a loop over the rows takes ten times as long.
        assert time.process_time() - begun < 4
    assert len(again) >= 10**6
    assert again.end_ns.sum() == whole.end_ns.sum()
    assert again.place.texts()[-1] == part.place.texts()[-1]


words = st.lists(st.text(max_size=5), min_size=1, max_size=5)


@pytest.mark.oracle
@given(st.lists(words, max_size=4))
def test_joined_words_keep_their_text(parts: list[list[str]]) -> None:
    made = [Words.chosen(part, np.arange(len(part))) for part in parts]
    columns = [
        steps.StepColumns(
            cell=w, **{n: np.arange(len(w)) for n in list(STEP_COLUMNS) if n != "cell"}
        )
        for w in made
    ]
    whole = steps.TABLE.read(steps.TABLE.table(steps.TABLE.joined(columns)))
    assert whole.cell.texts() == [word for part in parts for word in part]
    assert len(set(whole.cell.values)) == len(whole.cell.values)


def test_rows_are_chosen_by_a_mask() -> None:
    ops = synthetic_training.operation_columns(SMALL, 2)
    kept = operations.TABLE.where(ops, ops.place.are("worker"))
    assert set(kept.place.texts()) == {"worker"}
    assert len(kept) == ops.place.texts().count("worker") > 0
    assert not ops.place.are("nowhere").any()


def test_times_are_rounded_to_whole_nanoseconds() -> None:
    assert whole_ns([0.5, 1.4999, 2.0**52 + 1]).tolist() == [0, 1, 2**52 + 1]


def test_the_two_summaries_are_told_apart(tmp_path: Path) -> None:
    write_training_folder(tmp_path / "sim", (SMALL,))
    synthetic.write_folder(tmp_path / "emu", (synthetic.Case(sizes=(300_000,), bursts=1),))
    with ResultsFolder.open(tmp_path / "sim") as sim, ResultsFolder.open(tmp_path / "emu") as emu:
        assert (sim.world(), emu.world()) == ("sim", "emu")
        with pytest.raises(StorageError, match=r"format: Input should be 'netcosim-summary'"):
            sim.read_summary()
        with pytest.raises(StorageError, match=r"format: Input should be 'netcosim-training-s"):
            emu.read_training_summary()


def test_the_world_is_known_before_and_without_the_schemas(tmp_path: Path) -> None:
    for world in ("emu", "sim"):
        ResultsFolder.create(tmp_path / world, training_scenario(), world=world).close()  # type: ignore[arg-type]
        with ResultsFolder.open(tmp_path / world) as folder:
            assert folder.world() == world
            assert folder.read_training_summary() is None
            assert len(folder.read_operations()) == len(folder.read_steps()) == 0
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "scenario.toml").write_bytes((tmp_path / "sim" / "scenario.toml").read_bytes())
    with ResultsFolder.open(bare) as folder:
        assert folder.world() == "emu"
        folder.write_steps([])
        assert folder.world() == "sim"
        folder.write_summary(synthetic.summary(()))
        assert folder.world() == "emu"


@pytest.mark.parametrize(
    ("text", "found"), [(b'{"format": "x"}', "x"), (b'{"format": 1}', None), (b"[1]", None)]
)
def test_the_format_of_a_record_is_a_name_or_nothing(text: bytes, found: str | None) -> None:
    assert format_of(text) == found


@pytest.mark.parametrize("text", [b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_has_no_format(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        format_of(text)


def stored(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def test_a_table_that_is_not_one_is_refused_in_one_line(tmp_path: Path) -> None:
    table = operations.TABLE.table(synthetic_training.operation_columns(SMALL, 2))
    place = table.schema.get_field_index("place")
    null = pa.array([None] * len(table), type=table.schema.field("end_ns").type)
    wrong = {
        "is not a netcosim-operations table": steps.TABLE.table(steps.TABLE.empty()),
        'lacks the column "worker"': table.drop(["worker"]),
        'the column "place" is not dictionary': table.set_column(
            place, "place", table["place"].cast(pa.string())
        ),
        'the column "end_ns" is not int64': table.set_column(len(table.schema) - 1, "end_ns", null),
    }
    with ResultsFolder.create(tmp_path / "run", training_scenario(), world="sim") as folder:
        for message, content in wrong.items():
            folder.write("operations.parquet", stored(content))
            with pytest.raises(StorageError, match=message) as caught:
                folder.read_operations()
            assert "\n" not in str(caught.value)


def test_equal_simulations_make_equal_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_training_folder(tmp_path / name, (SMALL,))
    for file in (tmp_path / "one").rglob("*"):
        if file.is_file():
            twin = tmp_path / "two" / file.relative_to(tmp_path / "one")
            assert file.read_bytes() == twin.read_bytes()
