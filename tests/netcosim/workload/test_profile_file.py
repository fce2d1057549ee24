"""The file format: what is written is read back, what is wrong is one line with a name in it."""

import itertools
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.errors import ScenarioError
from netcosim.workload import (
    Compute,
    Jitter,
    Parsing,
    Profile,
    Resource,
    Step,
    Transfer,
    dump_profile,
    parse_profile,
    read_profile,
)
from netcosim.workload.model import MOST
from netcosim.workload.topological_order import cycle_text, find_cycle, sorted_nodes
from tests.netcosim.workload.profiles import changed, plain, profile
from tests.snapshots import assert_kept, refusal

TEXT = st.text(st.characters(exclude_categories=("C",)), min_size=1, max_size=12)
WHOLE = st.integers(-MOST, MOST)
NAMES = st.lists(TEXT, max_size=3).map(tuple)
ROLE = st.sampled_from(["server", "worker"])
UNIT = st.floats(0, 1)

COMPUTES = st.builds(
    Compute, name=TEXT, resource=TEXT, after=NAMES, batch_share=UNIT, tensor=st.none() | TEXT
)
TRANSFERS = st.builds(
    Transfer,
    name=TEXT,
    source=ROLE,
    destination=ROLE,
    connection=TEXT,
    tensor=TEXT,
    slice=st.integers(0, 9),
    size_bytes=WHOLE,
    after=NAMES,
)
PROFILES = st.builds(
    Profile,
    name=TEXT,
    provenance=st.text(st.characters(exclude_categories=("C",)), max_size=40),
    batch=st.integers(1, 2**40),
    samples=st.sampled_from(["measured", "medians"]),
    jitter=st.none()
    | st.builds(
        Jitter,
        model=st.sampled_from(["deterministic", "lognormal", "pareto", "empirical"]),
        spread=st.floats(0, 1, exclude_max=True),
        scope=st.sampled_from(["operation", "step"]),
        factors=st.lists(st.floats(0, 10), max_size=3).map(tuple),
    ),
    window_bytes=st.none() | st.integers(1, 2**31 - 1),
    parsing=st.lists(
        st.builds(
            Parsing,
            destination=ROLE,
            resource=TEXT,
            alpha_ns_per_byte=st.floats(0, 1e6),
            beta_ns=st.floats(0, 1e9),
        ),
        max_size=2,
    ).map(tuple),
    step=st.builds(
        Step,
        resources=st.lists(
            st.builds(Resource, name=TEXT, node=ROLE, capacity=st.integers(1, 64)), max_size=2
        ).map(tuple),
        operations=st.lists(COMPUTES | TRANSFERS, max_size=5).map(tuple),
    ),
    duration_ns=st.lists(st.lists(WHOLE, max_size=4).map(tuple), max_size=3).map(tuple),
)


def refused(text: str) -> str:
    message = refusal(parse_profile, text, "p.json")
    assert message.startswith("p.json: ")
    return message.removeprefix("p.json: ")


@given(PROFILES)
def test_what_is_written_is_read_back(made):
    text = dump_profile(made)
    again = parse_profile(text)
    assert again == made
    assert dump_profile(again) == text


def test_an_operation_and_a_step_take_a_line_each():
    lines = dump_profile(profile()).splitlines()
    assert sum('"kind"' in line for line in lines) == 5
    assert "[10, 20, 5]," in lines
    assert "[11, 21, 6]" in lines


def test_keys_in_another_order_and_left_out_defaults_are_the_same_profile():
    data = plain()
    data["step"]["operations"][1]["batch_share"] = 1.0
    assert profile(dict(reversed(data.items()))) == profile()


WRONG = {
    "another version": plain(version=2),
    "two things": plain(version=2, news=[]),
    "another format": plain(format="other"),
    "no batch": plain(batch=0),
    "a batch with a fraction": plain(batch=4.0),
    "unknown samples": plain(samples="some"),
    "two lines": plain(provenance="a\nb"),
    "a step that is no list": plain(duration_ns=[[1, 2, 3], 4]),
    "half a nanosecond": plain(duration_ns=[[1, 2.5, 3]]),
    "truth as a duration": plain(duration_ns=[[1, 2, True]]),
    "text as a duration": plain(duration_ns=[[1, 2, 3, "4"]]),
    "a duration of many years": plain(duration_ns=[[2**60, 2, 3]]),
    "a duration beyond any double": plain(duration_ns=[[10**80, 1, 1]]),
    "more than the whole": changed("a/forward", batch_share=1.5),
    "a size with a unit": changed("w/push", size_bytes="4kB"),
    "a switch that sends": changed("w/push", source="switch"),
    "an unknown key of an operation": changed("w/push", bytes=4),
    "an unknown kind": changed("w/push", kind="teleport"),
    "a number as a name": changed("a/forward", name=7),
    "text as a list": changed("a/forward", after="w/pull"),
    "an unknown key": {**plain(), "extra": 1},
    "nothing": {},
    "a list": [],
    "null": None,
    "an unknown jitter": plain(jitter={"model": "normal"}),
    "half a rule of parsing": plain(parsing=[{"destination": "worker"}]),
}


def test_a_wrong_value_is_named():
    said = "".join(f"{name}: {refused(json.dumps(data))}\n" for name, data in WRONG.items())
    assert_kept(Path(__file__).parent / "snapshots/profile.txt", said)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "not JSON: Expecting value (line 1 column 1)"),
        (json.dumps(plain())[:-9], "not JSON: "),
        ("\ufeff{}", "not JSON: Unexpected UTF-8 BOM"),
        ("[" * 100_000, "not JSON: nested too deeply"),
        ('{"batch": ' + "9" * 5000 + "}", "not JSON: a number of thousands of digits"),
        ('{"batch": ' + "9" * 500 + "}", "name: is required"),
        ('{"a": 1, "a": 2}', 'not JSON: the key "a" stands twice in one object'),
        ('{"a": NaN}', "not JSON: NaN is no number"),
        ('{"a": -Infinity}', "not JSON: -Infinity is no number"),
        ('{"a\\u001b": NaN', "not JSON: NaN is no number"),
    ],
)
def test_what_is_no_json_is_refused_in_one_line(text, expected):
    assert refused(text).startswith(expected)


def test_a_number_beyond_any_double_is_refused():
    text = json.dumps(plain()).replace('"beta_ns": 100.0', '"beta_ns": 1e999')
    assert refused(text) == f"parsing[0].beta_ns: inf: must be <= {MOST}"


def test_a_file_that_cannot_be_read(tmp_path):
    latin = tmp_path / "latin.json"
    latin.write_bytes(b'{"name": "\xe9"}')
    for path, reason in (
        (latin, "is not UTF-8 text"),
        (tmp_path, "Is a directory"),
        (tmp_path / "none.json", "No such file or directory"),
        (tmp_path / "a\0b", "not a file name"),
    ):
        with pytest.raises(ScenarioError, match=reason) as caught:
            read_profile(path)
        assert str(caught.value).isprintable()


JUNK = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.integers(), max_size=2)
    | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
)


def spots(value: object) -> list[tuple[object, object]]:
    """Every (container, key) of plain data."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, inner in items:
        found.append((value, key))
        if isinstance(inner, dict | list):
            found += spots(inner)
    return found


@given(st.data())
def test_a_changed_value_is_read_or_refused(data):
    changing = json.loads(json.dumps(plain()))
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(spots(changing)))
        if data.draw(st.booleans()):
            container[key] = data.draw(JUNK)
        elif len(container) > 1:
            del container[key]
    read_or_refuse(json.dumps(changing))


@given(st.integers(0, 2**32))
def test_changed_bytes_are_read_or_refused(seed):
    rng = random.Random(seed)
    text = list(dump_profile(profile()))
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(text))
        text[place : place + rng.randint(0, 3)] = rng.choice(
            ["", "0", "-", '"', "[", "}", ",", "\ud800", "\0", "9" * 30]
        )
    read_or_refuse("".join(text))


def read_or_refuse(text: str) -> None:
    try:
        parse_profile(text, "p.json")
    except ScenarioError as problem:
        assert str(problem).startswith("p.json: ")
        assert str(problem).isprintable()


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14))
def test_a_graph_is_sorted_or_has_a_cycle(edges):
    after = {f"n{i}": [f"n{a}" for a, b in edges if b == i] for i in range(8)}
    order, cycle = sorted_nodes(after), find_cycle(after)
    place = {name: i for i, name in enumerate(order)}
    for name in order:
        assert all(place[other] < place[name] for other in after[name])
    assert (len(order) == 8) == (not cycle)
    if cycle:
        for earlier, later in itertools.pairwise([*cycle, cycle[0]]):
            assert earlier in after[later]
        assert len(set(cycle)) == len(cycle)


def test_a_graph_that_needs_no_sorting_stays_as_it_is():
    assert sorted_nodes({"c": [], "a": ["c"], "b": []}) == ["c", "a", "b"]


def test_a_long_cycle_is_cut_in_the_middle():
    assert cycle_text(["a", "b"]) == "a -> b -> a"
    assert cycle_text([str(i) for i in range(20)]) == (
        "0 -> 1 -> 2 -> 3 -> 4 -> 5 -> ... (13 more) -> 19 -> 0"
    )
