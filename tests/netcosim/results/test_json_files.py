"""JSON records: equal bytes for equal content, valid by their schemas, every field explained."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from netcosim.results.columns import (
    GRANT_COLUMNS,
    LOST_COLUMNS,
    TRACE_COLUMNS,
    WINDOW_COLUMNS,
    grant_columns,
    lost_columns,
    trace_columns,
    window_columns,
)
from netcosim.results.json_files import dump_json, from_json, schema_json, to_json
from netcosim.results.run_record import RunRecord, Validity
from netcosim.results.streams import grants, lost, windows
from netcosim.results.streams.summary import Answer, CellSummary, ModelResult, Ratios, Summary
from netcosim.trace import trace_schema
from tests.netcosim.results.synthetic import Case, run_record, summary

SMALL = Case(sizes=(300_000, 2_000_000, 400_000), bursts=1)
DOCS = Path(__file__).parents[3] / "docs" / "reference" / "results.md"


def validator(kind: type[BaseModel]) -> jsonschema.Draft202012Validator:
    schema = json.loads(schema_json(kind))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("made", [summary((SMALL,)), run_record((SMALL,), "ab" * 32)])
def test_what_is_written_is_valid_by_its_schema(made: BaseModel) -> None:
    validator(type(made)).validate(json.loads(to_json(made)))


@pytest.mark.parametrize(
    ("field", "value"),
    [("trusted", "yes"), ("cells", None), ("version", 2), ("world", "moon"), ("extra", 1)],
)
def test_the_schema_refuses_what_is_not_a_summary(field: str, value: Any) -> None:
    wrong = json.loads(to_json(summary((SMALL,)))) | {field: value}
    assert not validator(Summary).is_valid(wrong)


def test_the_schema_asks_for_every_field() -> None:
    whole = json.loads(to_json(run_record()))
    for field in whole:
        less = {key: value for key, value in whole.items() if key != field}
        assert not validator(RunRecord).is_valid(less), field


def test_equal_content_makes_equal_bytes_whatever_the_order() -> None:
    forward = run_record().model_copy(update={"phases_s": {"a": 0.1 + 0.2, "b": 1.0}})
    backward = run_record().model_copy(update={"phases_s": {"b": 1.0, "a": 0.3}})
    assert to_json(forward) == to_json(backward)
    assert to_json(summary((SMALL,))) == to_json(summary((SMALL,)))


def test_a_summary_comes_back_as_it_was() -> None:
    made = summary((SMALL,))
    again = from_json(Summary, to_json(made).encode(), "summary.json")
    assert to_json(again) == to_json(made)
    assert again.cells[0].models[0].wire.mean == pytest.approx(
        made.cells[0].models[0].wire.mean, rel=1e-8
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_keep_nine_digits(value: float) -> None:
    assert json.loads(dump_json([value]))[0] == pytest.approx(value, rel=5.1e-9, abs=0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="can't be written as a number"):
        dump_json({"a": [value]})


def fields(*kinds: type[BaseModel]) -> Iterator[str]:
    for kind in kinds:
        yield from kind.model_fields


def test_every_column_is_explained() -> None:
    assert list(TRACE_COLUMNS) == trace_schema().names
    assert list(WINDOW_COLUMNS) == windows.TABLE.schema.names
    assert list(GRANT_COLUMNS) == grants.TABLE.schema.names
    assert list(LOST_COLUMNS) == lost.TABLE.schema.names
    for text in (trace_columns(), window_columns(), grant_columns(), lost_columns()):
        assert all(column["description"] for column in json.loads(text)["columns"])


def test_the_reference_names_every_field() -> None:
    text = DOCS.read_text()
    columns = {*TRACE_COLUMNS, *WINDOW_COLUMNS, *GRANT_COLUMNS, *LOST_COLUMNS}
    records = (Summary, CellSummary, Ratios, ModelResult, Answer, RunRecord, Validity)
    named = {*fields(*records), *columns}
    assert [field for field in sorted(named) if f"`{field}`" not in text] == []
