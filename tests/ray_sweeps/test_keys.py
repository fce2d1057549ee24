"""Keys: equal for two spellings of one point, different wherever a run may differ."""

from pathlib import Path
from typing import Any

import pytest

from netcosim.scenario import Scenario, build_scenario, with_values
from netcosim.user_files import FileContent, supplied
from netcosim.workload.catalogue import load_profile, profile_bytes
from netcosim.workload.profile_file import dump_profile
from ray_sweeps.keys import KEY_DIGITS, engine, key_of, spelled_key

JOB: dict[str, Any] = {
    "name": "job",
    "cluster": {"topology": "star", "workers": 4, "link": {"rate": "1gbit"}},
    "training": {"steps": 100, "warmup": 10},
    "workload": [{"name": "alexnet", "profile": "alexnet"}],
    "transport": [{"name": "grpc", "sender": "grpc", "receiver": "grpc"}],
}
OPTIONS = {"options": {"factor": 2.0}}
SLOW = {"kind": "slow", "workers": [0, 1], **OPTIONS}


def job(changes: dict[str, object] | None = None) -> Scenario:
    return with_values(build_scenario(JOB), changes or {})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"cluster.link.rate": "1000mbit"}),
        ({}, {"name": "another", "description": "words", "repetitions": 9}),
        ({}, {"workload.0.name": "x", "transport.0.name": "y"}),
        ({}, {"training.workers": [4]}),
        ({}, {"cluster.workers": 1, "training.workers": [4]}),
        ({}, {"training.rates": ["1gbit"], "cluster.link.rate": "3gbit"}),
        ({}, {"training.batch": load_profile("alexnet").batch}),
        ({}, {"training.trace_steps": 9}),
        ({}, {"training.gap": 7}),
        (
            {"coordination": {"kind": "ssp"}},
            {"coordination": {"kind": "ssp", "options": {"gap": 5}}},
        ),
        (
            {"coordination": {"kind": "lb_bsp"}},
            {"coordination": {"kind": "lb_bsp", "predictor": "average", "decision": "0ms"}},
        ),
        ({}, {"training.share": "equal"}),
        ({}, {"cluster.link.delay": "0ms", "cluster.link.model": "fair", "policy": {}}),
        ({}, {"transport.grpc.flow_control": True}),
        ({}, {"transport.grpc.sender_release": "1.85.1"}),
        ({"transport.grpc.window": "64KiB"}, {"transport.grpc.window": "65536B"}),
        ({"straggler": [SLOW]}, {"straggler": [{"kind": "slow", "count": 2, **OPTIONS}]}),
        ({"straggler": [SLOW]}, {"straggler": [{**SLOW, "options": {"factor": 2}}]}),
        (
            {"straggler": [{"kind": "delay", "workers": [0], "options": {"delay": "5ms"}}]},
            {"straggler": [{"kind": "delay", "workers": [0], "options": {"delay": "5000us"}}]},
        ),
    ],
)
def test_spellings_of_one_point(one: dict[str, Any], other: dict[str, Any]) -> None:
    key = key_of(job(one))
    assert key_of(job(other)) == key
    assert len(key) == KEY_DIGITS


DIFFERENT: dict[str, dict[str, object]] = {
    "nothing": {},
    "rate": {"cluster.link.rate": "2gbit"},
    "a link": {"cluster.links": {"w0": {"rate": "1gbit", "delay": "1ms"}}},
    "delay": {"cluster.link.delay": "1ms"},
    "workers": {"training.workers": [3]},
    "servers": {"cluster.servers": 2},
    "seed": {"seed": 2},
    "steps": {"training.steps": 101},
    "warm-up": {"training.warmup": 11},
    "batch": {"training.batch": 5},
    "recorded": {"training.recorded": 7},
    "bsp": {"training.synchronisation": "bsp"},
    "ssp": {"training.synchronisation": "ssp"},
    "gap": {"training.synchronisation": "ssp", "training.gap": 2},
    "share": {"training.share": "max_min"},
    "both busy": {"training.both_busy": 0.9},
    "order": {"policy.order": "reverse"},
    "placement": {"policy.placement": "round_robin"},
    "profile": {"workload.0.profile": "vgg11"},
    "flow control": {"transport.grpc.flow_control": False},
    "window": {"transport.grpc.window": "1MiB"},
    "release": {"transport.grpc.sender_release": "1.39.0"},
    "whole": {"transport.grpc.whole_messages": True, "transport.grpc.flow_control": False},
    "straggler": {"straggler": [SLOW]},
    "factor": {"straggler": [{**SLOW, "options": {"factor": 2.5}}]},
    "who": {"straggler": [{**SLOW, "workers": [0, 2]}]},
    "twice": {"straggler": [SLOW, SLOW]},
    "coordinator": {"coordination": {"kind": "asp"}},
    "balanced": {"coordination": {"kind": "lb_bsp"}},
    "predictor": {"coordination": {"kind": "lb_bsp", "predictor": "memoryless"}},
    "decision": {"coordination": {"kind": "lb_bsp", "decision": "1ms"}},
    "curve": {"coordination": {"kind": "lb_bsp", "curve": [{"saturated": 4}]}},
    "weight": {"coordination": {"kind": "lb_bsp", "predictor_options": {"newest": 0.5}}},
}


def test_what_differs_has_keys_of_its_own() -> None:
    keys = {name: key_of(job(changes)) for name, changes in DIFFERENT.items()}
    assert len(set(keys.values())) == len(keys)


def test_a_profile_is_its_bytes_wherever_they_lie(tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "folder/other.json"
    other.parent.mkdir()
    text = dump_profile(load_profile("alexnet"))
    one.write_text(text)
    other.write_text(text)
    first = key_of(job({"workload.0.profile": str(one)}))
    assert key_of(job({"workload.0.profile": str(other)})) == first
    assert first != key_of(job())
    other.write_text(text.replace('"batch": ', '"batch":  '))
    assert key_of(job({"workload.0.profile": str(other)})) != first
    other.unlink()
    with supplied({str(other): FileContent(data=text.encode())}):
        assert key_of(job({"workload.0.profile": str(other)})) == first
    copy = tmp_path / "copy.json"
    copy.write_bytes(profile_bytes("alexnet"))
    assert key_of(job({"workload.0.profile": str(copy)})) == key_of(job())


def test_a_speed_trace_is_its_bytes(tmp_path: Path) -> None:
    def key(path: Path) -> str:
        entry = {"kind": "trace", "workers": [0], "options": {"file": str(path)}}
        return key_of(job({"straggler": [entry]}))

    for name, slow in (("a.csv", 0.5), ("b.csv", 0.5), ("c.csv", 0.4)):
        (tmp_path / name).write_text(f"time_ns,speed\n0,1\n1000,{slow}\n")
    assert key(tmp_path / "a.csv") == key(tmp_path / "b.csv") != key(tmp_path / "c.csv")


def test_a_point_that_can_not_be_has_the_key_of_its_spelling() -> None:
    base = job()
    keys = {spelled_key(base, {"a": 1}), spelled_key(base, {"a": 2}), key_of(base)}
    assert len(keys) == 3
    assert spelled_key(base, {"b": 1, "a": 1}) == spelled_key(base, {"a": 1, "b": 1})


def test_the_engine_has_a_name() -> None:
    assert len(engine()) == 16 and int(engine(), 16) >= 0
