"""Seals: there and back, and refused once anything in them was changed."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.errors import StorageError
from netcosim.results.training.seal import (
    Seal,
    SealedCell,
    SealedPoint,
    Spread,
    StepTimes,
    dump_seal,
    load_seal,
    sealed,
)

RATES = st.floats(1e-3, 1e6)


@st.composite
def points(draw: st.DrawFn) -> SealedPoint:
    return SealedPoint(
        workers=draw(st.integers(1, 64)),
        examples_per_s=draw(RATES),
        step_ns=StepTimes(median=draw(RATES), p95=draw(RATES)),
        spread=Spread(
            runs=20,
            perturbation=1e-3,
            sd=draw(RATES),
            low=draw(RATES),
            high=draw(RATES),
            bimodal=draw(st.booleans()),
        ),
        models=draw(st.none() | RATES),
        mean_of=draw(st.sampled_from([None, "packets", "simulations"])),
        linear=draw(RATES),
        bound=draw(RATES),
        disciplines={"fifo": draw(RATES)},
        orders={},
    )


@st.composite
def seals(draw: st.DrawFn) -> Seal:
    cell = SealedCell(
        cell="alexnet/h2",
        job_sha256="0" * 64,
        discipline="two_visit",
        order="reverse",
        batch=8,
        recorded_steps=12,
        recorded_examples_per_s=draw(RATES),
        points=tuple(draw(st.lists(points(), min_size=1, max_size=3))),
    )
    return sealed(
        scenario='name = "a"\n',
        record_sha256={"summary.json": "1" * 64},
        simulator="2" * 16,
        cells=(cell,),
    )


@given(seals())
def test_there_and_back(seal: Seal) -> None:
    data = dump_seal(seal)
    assert dump_seal(load_seal(data, "seal.json")) == data


@given(seals(), st.data())
def test_whatever_is_changed_is_found(seal: Seal, data: st.DataObject) -> None:
    record = json.loads(dump_seal(seal))
    change(record, data)
    with pytest.raises(StorageError, match=r"^seal\.json: sha256: is not the hash of the rest"):
        load_seal(json.dumps(record).encode(), "seal.json")


def change(record: dict[str, Any], data: st.DataObject) -> None:
    """Change one value, as deep as any."""
    point = record["cells"][0]["points"][0]
    holder, key = data.draw(
        st.sampled_from(
            [
                (record, "scenario"),
                (record, "simulator"),
                (record["record_sha256"], "summary.json"),
                (record["cells"][0], "job_sha256"),
                (record["cells"][0], "recorded_examples_per_s"),
                (point, "workers"),
                (point, "examples_per_s"),
                (point["spread"], "bimodal"),
                (point["disciplines"], "fifo"),
            ]
        )
    )
    value = holder[key]
    if isinstance(value, bool):
        holder[key] = not value
    else:
        holder[key] = value + "x" if isinstance(value, str) else 2 * value


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "netcosim-training"}'])
def test_what_is_no_seal_is_refused(text: str) -> None:
    with pytest.raises(StorageError, match=r"^seal\.json"):
        load_seal(text.encode(), "seal.json")


@given(seals())
def test_the_same_in_other_words_is_a_change(seal: Seal) -> None:
    """Another spelling of a number, a key twice: one file has one hash."""
    data = dump_seal(seal)
    for changed in (
        data.replace(b"{", b"{ ", 1),
        data.replace(b"{", b'{"sha256": "", ', 1),
        json.dumps(json.loads(data)).encode(),
    ):
        with pytest.raises(StorageError, match="changed"):
            load_seal(changed, "a.seal")


@pytest.mark.parametrize("value", [b"NaN", b"1e999"])
@given(seal=seals())
def test_what_is_no_number_is_refused(value: bytes, seal: Seal) -> None:
    changed = re.sub(rb'("sd": )[^,\s]+', rb"\g<1>" + value, dump_seal(seal), count=1)
    with pytest.raises(StorageError, match="sd"):
        load_seal(changed, "a.seal")
