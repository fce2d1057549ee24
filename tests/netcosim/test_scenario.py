"""Scenario files: there and back without loss; what is wrong is named in one line."""

import re
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcosim.job import resolve_cells
from netcosim.scenario import build_scenario, dump_scenario, parse_scenario, read_scenario
from netcosim.units import format_duration, format_rate, format_size
from tests.snapshots import assert_kept, refusal, refusals

GOOD = """\
name = "x"
[cluster]
[cluster.link]
rate = "100mbit"
[[workload]]
name = "w"
set = "mixed8"
[[transport]]
name = "t"
sender = "h2"
receiver = "h2"
"""

# Hypothesis: scenarios as the plain data that a file holds.
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,20}", fullmatch=True)


def sizes(least=1, most=2**40):
    return st.integers(least, most).map(format_size)


buffers = sizes(4096, 2**30)
rates = st.integers(10**6, 10**12).map(format_rate)
durations = st.integers(0, 6 * 10**10).map(format_duration)


def record(required=None, **optional):
    return st.fixed_dictionaries(required or {}, optional=optional)


links = record(
    {"rate": rates},
    model=st.sampled_from(["fair", "fifo"]),
    delay=durations,
    jitter=durations,
    loss=st.floats(0, 1, exclude_max=True),
    queue=sizes(3028, 2**30),
)
clusters = record(
    {"link": links},
    topology=names,
    servers=st.integers(1, 1024),
    workers=st.integers(1, 65536),
    links=st.dictionaries(names, links, max_size=2),
    switch=st.sampled_from(["linuxbridge", "openvswitch"]),
    tcp=record(congestion_control=names, send_buffer=buffers, notsent_lowat=buffers),
)
tensors = st.lists(
    record({"name": names, "size": sizes()}, ready=durations, priority=st.integers(-9, 9)),
    min_size=1,
    max_size=4,
    unique_by=lambda tensor: tensor["name"],
)
more_of_a_workload = {
    "total": sizes(),
    "scale_window": st.booleans(),
    "direction": st.sampled_from(["pull", "pull-back", "push"]),
    "spacing": durations,
}
workloads = st.one_of(
    record({"name": names, "set": names}, **more_of_a_workload),
    record({"name": names, "tensors": tensors}, **more_of_a_workload),
    record({"name": names, "profile": st.sampled_from(["resnet50", "own/p.json", "graph.txt"])}),
)
transports = record(
    {"name": names, "sender": names, "receiver": names},
    window=sizes(1, 2**31 - 1),
    connection_window=sizes(65535, 2**31 - 1),
    credit=names,
    frame_size=sizes(16384, 2**24 - 1),
    discipline=names,
    options=st.dictionaries(names, st.one_of(st.integers(0, 9), st.booleans(), names), max_size=2),
    whole_messages=st.booleans(),
    sender_release=st.from_regex(r"[0-9]{1,2}\.[0-9]{1,2}(\.[0-9]{1,2}(rc1)?)?", fullmatch=True),
    receiver_script=names,
)
tables = st.dictionaries(
    st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1),
    st.integers(0, 9),
    min_size=1,
    max_size=3,
)
policies = st.one_of(
    record(
        order=names.filter(lambda n: n != "given"), placement=names.filter(lambda n: n != "given")
    ),
    st.fixed_dictionaries({"order": st.just("given"), "priorities": tables}),
    st.fixed_dictionaries({"placement": st.just("given"), "servers": tables}),
)
trainings = record(
    steps=st.integers(50, 10**7),
    warmup=st.integers(0, 49),
    batch=st.integers(1, 2**31 - 1),
    workers=st.lists(st.integers(1, 65536), min_size=1, max_size=4, unique=True),
    synchronisation=names,
    gap=st.integers(0, 10**7),
    share=names,
    both_busy=st.floats(0.01, 1),
    recorded=st.integers(1, 100_000),
    trace_steps=st.integers(0, 10**7),
).map(lambda t: {"warmup": 0, **t})
numbers = st.one_of(st.integers(-(2**62), 2**62), st.floats(allow_nan=False, allow_infinity=False))
values = st.one_of(numbers, st.booleans(), names, st.lists(numbers, min_size=1, max_size=3))
chosen = st.one_of(
    st.just("all"), st.lists(st.integers(0, 65535), min_size=1, max_size=3, unique=True)
)
stragglers = st.one_of(
    record({"kind": names, "workers": chosen}, options=st.dictionaries(names, values, max_size=3)),
    record({"kind": names, "count": st.integers(1, 65536)}),
    record({"kind": names, "share": st.floats(0, 1, exclude_min=True)}),
)
scenarios = record(
    {
        "name": names,
        "cluster": clusters,
        "workload": st.lists(workloads, min_size=1, max_size=3, unique_by=lambda w: w["name"]),
        "transport": st.lists(transports, min_size=1, max_size=3, unique_by=lambda t: t["name"]),
    },
    description=st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    seed=st.integers(0, 2**63 - 1),
    repetitions=st.integers(1, 1000),
    policy=policies,
    training=trainings,
    straggler=st.lists(stragglers, max_size=3),
)


@pytest.mark.oracle
@settings(max_examples=200, deadline=None)
@given(data=scenarios)
def test_there_and_back(data):
    scenario = build_scenario(data)
    text = dump_scenario(scenario)
    assert parse_scenario(text) == scenario
    assert dump_scenario(parse_scenario(text)) == text


def test_the_path_of_a_script_counts_from_the_scenario_file(tmp_path):
    file = tmp_path / "x.toml"
    file.write_text(GOOD + 'sender_script = "own/end.py"\nreceiver_script = "/opt/end"')
    [found] = read_scenario(file).transport
    assert (found.sender_script, found.receiver_script) == (f"{tmp_path}/own/end.py", "/opt/end")


def test_defaults():
    scenario = parse_scenario(GOOD)
    assert scenario.cluster.topology == "pair"
    assert scenario.cluster.link.rate == 100_000_000
    assert scenario.transport[0].flow_control
    assert not scenario.cluster.link.needs_netem


def instead(old, new):
    assert old in GOOD
    return GOOD.replace(old, new)


BAD = {
    "a negative window": GOOD + 'window = "-1MiB"',
    "a delay of hours": instead('rate = "100mbit"', 'rate = "100mbit"\ndelay = "2000s"'),
    "a rate of no link": instead('"100mbit"', '"99999999gbit"'),
    "a rate in another unit": instead('"100mbit"', '"1Gbps"'),
    "a priority of fifty digits": instead(
        'set = "mixed8"', f'tensors = [{{name="a", size="1B", priority={10**50}}}]'
    ),
    "a window of nothing": GOOD + 'window = "0B"',
    "a window that HTTP/2 can't say": GOOD + 'window = "2GiB"',
    "a window without a unit": GOOD + "window = 65535",
    "a window that flow control does not use": GOOD + 'flow_control = false\nwindow = "1MiB"',
    "a release with a v": GOOD + 'sender_release = "v1.39.0"',
    "a release that leads elsewhere": GOOD + 'receiver_release = "1.39.0/../.."',
    "a release as a number": GOOD + "sender_release = 1.39",
    "a script without a name": GOOD + 'sender_script = ""',
    "an unknown key": GOOD + "windw = 1",
    "an unknown key of a link": instead(
        "[[workload]]", "[cluster.links.w1]\nrat = 1\n[[workload]]"
    ),
    "a misspelt table": instead("[cluster]\n", "[clutser]\n"),
    "a misspelt key": instead("sender", "sendr"),
    "a rate without a unit": instead('"100mbit"', '"100"'),
    "a rate as a number": instead('"100mbit"', "100"),
    "a rate too low to emulate": instead("100mbit", "999kbit"),
    "a huge rate": instead("100mbit", "1e99999999999gbit"),
    "an exception's rate": GOOD + '[cluster.links.w0]\nrate = "fast"',
    "a negative delay": instead("rate =", 'delay = "-1ms"\nrate ='),
    "a loss of everything": instead("rate =", "loss = 1.0\nrate ="),
    "a loss that is no number": instead("rate =", "loss = nan\nrate ="),
    "an unknown link model": instead("rate =", 'model = "drop"\nrate ='),
    "too many workers": instead("[cluster]", "[cluster]\nworkers = 65537"),
    "too many servers": instead("[cluster]", "[cluster]\nservers = 1025"),
    "truth as a number": "seed = true\n" + GOOD,
    "text as a number": 'seed = "7"\n' + GOOD,
    "a number as truth": GOOD + "whole_messages = 1",
    "a huge seed": "seed = 99999999999999999999\n" + GOOD,
    "thousands of digits": "seed = " + "9" * 5000 + "\n" + GOOD,
    "no repetition": "repetitions = 0\n" + GOOD,
    "an option with a fraction": GOOD + "options = {quantum = 1.5}",
    "a name outside ASCII": instead('"x"', '"\u00fc"'),
    "a name with control characters": instead('"x"', '"a\\u001b[31m\\n"'),
    "a long name": instead('"x"', '"' + "x" * 500 + '"'),
    "two workloads of one name": GOOD + '[[workload]]\nname = "w"\nset = "alexnet"',
    "two transports of one name": GOOD
    + '[[transport]]\nname = "t"\nsender = "grpc"\nreceiver = "h2"',
    "two tensors of one name": instead(
        'set = "mixed8"', 'tensors = [{name="a", size="1B"}, {name="a", size="2B"}]'
    ),
    "an empty tensor": instead('set = "mixed8"', 'tensors = [{name="a", size="0B"}]'),
    "neither set nor tensors": instead('set = "mixed8"\n', ""),
    "both set and tensors": instead("set =", 'tensors = [{name="a", size="1B"}]\nset ='),
    "no transport": GOOD[: GOOD.index("[[transport]]")],
    "no list of transports": instead("[[transport]]", "[transport]"),
    "an empty list": "transport = []\n" + GOOD[: GOOD.index("[[transport]]")],
    "an empty file": "",
    "a line of YAML": "rate: 100mbit",
    "a NUL": 'name = "a\0"',
    "a key twice": 'name = "y"\n' + GOOD,
    "brackets without end": "x = " + "[" * 100_000,
}


def test_what_is_wrong_is_named_in_one_line():
    said = refusals({name: partial(parse_scenario, BAD[name], source="job.toml") for name in BAD})
    # What else is no TOML has the words of Python's own reader.
    said = re.sub(r"(not TOML: )(?!a number of|nested too).*", r"\1...", said)
    assert_kept(Path(__file__).parent / "snapshots/scenario.txt", said)


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=60))
def test_any_text_is_refused_in_one_line(text):
    """No text of this length is a whole scenario."""
    refusal(parse_scenario, text)


class TestFiles:
    def test_a_good_one(self, tmp_path):
        path = tmp_path / "job.toml"
        path.write_text(GOOD)
        assert read_scenario(path) == parse_scenario(GOOD)

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("none.toml", "No such file or directory"),
            ("", "Is a directory"),
            ("trace.parquet", "is not UTF-8 text"),
            ("x" * 300, "File name too long"),
        ],
    )
    def test_one_that_can_not_be_read(self, tmp_path, name, reason):
        (tmp_path / "trace.parquet").write_bytes(b"PAR1\xff\xfe\x00\x80")
        assert (
            refusal(read_scenario, tmp_path / name) == f"{tmp_path / name}: can't be read: {reason}"
        )


@pytest.mark.parametrize(
    ("was", "becomes", "line"),
    [
        ('"mixed8"', '"vgg99"', 'workload.set: "vgg99": unknown; allowed: alexnet, googlenet, '),
        ('"mixed8"', '"mixed8"\ntotal = "7B"', "total: 7: must be >= 8, a byte a tensor"),
        ('"mixed8"', '"../x"', 'workload[0].set: "../x": must begin with a letter'),
        (
            *("[cluster]\n", '[policy]\norder = "fastest"\n[cluster]\n'),
            'policy.order: "fastest": unknown; allowed: as_listed, given, random, reverse, ',
        ),
        (
            *("[cluster]\n", '[policy]\nplacement = "all"\n[cluster]\n'),
            'policy.placement: "all": unknown; allowed: given, greedy, round_robin',
        ),
    ],
)
def test_names_are_checked_when_they_are_resolved(was, becomes, line):
    text = instead(was, becomes)
    said = refusal(lambda: resolve_cells(parse_scenario(text, source="")))
    assert said.removeprefix(": ").startswith(line)
