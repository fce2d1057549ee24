"""Mistakes in an option, a profile, a scenario, a folder: one line, and nothing is left."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.netcosim.workload.profiles import changed, plain
from tests.sim.cli.started import FAST, NO_POWERS, ROOT, assert_refused, run, summary_of

EMULATED = [
    *sorted((ROOT / "emu/scenarios").glob("*.toml")),
    *sorted((ROOT / "examples").glob("*.toml")),
]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test is in an empty folder, where results would be seen."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--workload nosuch", 'workload[nosuch].profile: "nosuch": unknown; allowed: alexnet,'),
        ("--workload none.json", "none.json: can't be read: No such file or directory"),
        ("--workload /", "can't be read: Is a directory"),
        ("--workers 0", '--workers: "0": must be numbers or ranges from 1 to'),
        ("--workers 5-2", '--workers: "5-2": must be'),
        ("--workers x", '--workers: "x": must be'),
        ("--workers 1,,2", '--workers: "1,,2": must be'),
        ("--workers 1-9999999", '--workers: "1-9999999": must be'),
        ("--rate 0", 'cluster.link.rate: "0": has no unit; must be a rate such as'),
        ("--rate 0mbit", 'cluster.link.rate: "0mbit": must be'),
        ("--rate=-1gbit", 'cluster.link.rate: "-1gbit": '),
        ("--steps 0", "training.steps: 0: must be >= 1"),
        ("--steps one", "argument --steps: invalid int value: 'one'"),
        ("--warmup 20", "'warmup' (20) must be below 'steps' (20)"),
        ("--repetitions 0", "repetitions: 0: must be >= 1"),
        ("--batch 0", "training.batch: 0: must be >= 1"),
        ("--servers 0", "cluster.servers: 0: must be >= 1"),
        ("--trace 9", "--trace: 9: must be among the numbers of workers: 1, 2"),
        ("--trace-steps -1", "training.trace_steps: -1: must be >= 0"),
        ("--straggler nosuch", '--straggler: "nosuch": unknown; allowed: one-slow'),
        (
            "--share equal --straggler one-slow --straggler one-slow-link",
            "job.toml: straggler[1] (worker 0: link part 0.25): training.share: "
            '"equal": does not look at workers\' links, and w0 has 250mbit where s0 has 1gbit',
        ),
        ("--order nosuch", 'policy.order: "nosuch": unknown; allowed: as_listed'),
        ("--placement nosuch", 'policy.placement: "nosuch": unknown; allowed: given'),
        ("--share nosuch", 'training.share: "nosuch": unknown; allowed: equal'),
        ("--share two_servers --servers 3", 'training.share: "two_servers": is for two servers'),
        ("--synchronisation nosuch", 'training.synchronisation: "nosuch": unknown; allowed: asp'),
        ("--gap -1", "training.gap: -1: must be >= 0"),
        ("--gap 3", "--gap: 3: has no effect with synchronisation asp; it is of ssp"),
        ("--gap 3 --synchronisation bsp", "--gap: 3: has no effect with synchronisation bsp"),
        ("--trace 1 --trace-steps 0", "--trace: \"1\": keeps nothing with 'trace_steps' 0"),
        ("--trace-steps 21", "--trace-steps: 21: must be <= 20, the steps of each worker"),
        ("--rate 99999999gbit", 'cluster.link.rate: "99999999gbit": must be 1mbit to 100tbit'),
        ("--rate 1Gbps", "; did you mean 1gbit?"),
        ("--share maxmin", "; did you mean max_min? allowed: equal"),
        ("--wokers 4", "unrecognized arguments: --wokers 4; did you mean --workers?"),
        ("--scenario nosuch", '--scenario: "nosuch": must be a file or one of: default'),
        ("--scenario none.toml", "none.toml: can't be read: No such file or directory"),
        ("--nonsense", "unrecognized arguments: --nonsense"),
    ],
)
def test_a_wrong_option(inside, nowhere, arguments, message):
    (nowhere / "job.toml").write_text(FAST)
    scenario = () if "--scenario" in arguments else ("--scenario", "job.toml")
    assert_refused(inside.run(*scenario, *arguments.split(), "--out", "out"), message)
    assert [path.name for path in nowhere.iterdir()] == ["job.toml"]


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--repetitions 1000 --steps 5000000", "this would take about "),
        ("--workers 1-4 --steps 10000000 --repetitions 200", "h: have fewer --workers, --steps,"),
        ("--workers 65536 --steps 100000", "alexnet/whole would train for "),
        ("--steps 10000000 --rate 1mbit", "training.steps: 10000000: alexnet/whole would train"),
    ],
)
def test_what_takes_too_long(inside, nowhere, arguments, message):
    (nowhere / "job.toml").write_text(FAST)
    done = inside.run("--scenario", "./job.toml", *arguments.split(), "--out", "out")
    assert_refused(done, message)
    assert not (nowhere / "out").exists()


def test_long_runs_and_large_ones_are_asked_for_twice(inside, here, monkeypatch):
    arguments = ("--scenario", "./job.toml", "--workload", "mine.json", "--out", "out")
    monkeypatch.setattr("sim.cli.command.available_bytes", lambda: 10**6)
    large = "MB of memory, and 1 MB are free: have fewer --workers"
    assert_refused(inside.run(*arguments), large, code=3)
    monkeypatch.setattr("sim.cli.cost.LONG_S", 1.0)
    assert_refused(inside.run(*arguments), "this would take about 10 s: ")
    assert "asks for --yes" in inside.run(*arguments, "--plan").out
    inside.do(*arguments, "--yes", interpreted=True)


@pytest.mark.oracle
def test_a_wrong_option_from_the_shell(nowhere):
    assert_refused(run("--order", "nosuch", cwd=nowhere), "policy.order: ")
    assert list(nowhere.iterdir()) == []


# Profiles.


def test_a_profile_of_ones_own(inside, here):
    """The sound scenario that the broken ones below are made from is simulated."""
    arguments = ("--scenario", "./job.toml", "--workload", "mine.json", "--out", "out")
    inside.do(*arguments, interpreted=True)
    assert summary_of().complete is True


def with_rows(*rows: Any) -> dict[str, Any]:
    return plain(duration_ns=[[10, 20, 5], *rows])


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", ["of no known format; allowed: own: "]),
        (b"\xff\xfe\x00", ["is not UTF-8"]),
        (json.dumps(plain()).encode()[:400], ["not JSON"]),
        (b"[1, 2]", []),
        (b"[" * 100_000, ["of no known format"]),
        (json.dumps(plain(version=99)).encode(), ["version", "99"]),
        (json.dumps(plain(batch="eight")).encode(), ["batch"]),
        (json.dumps(plain(duration_ns=[])).encode(), ["duration_ns"]),
        (json.dumps(with_rows([1, 2])).encode(), ["w/update", "step 1"]),
        (json.dumps(with_rows([1, -2, 3])).encode(), ["step 1", "a/backward", "-2"]),
        (json.dumps(with_rows([1, 2.5, 3])).encode(), ["step 1", "a/backward", "2.5"]),
        (json.dumps(with_rows([1, None, 3])).encode(), ["step 1", "a/backward"]),
        (json.dumps(with_rows([1, 2, 3])).replace("3]]", "NaN]]").encode(), ["NaN"]),
        (json.dumps(changed("w/push", size_bytes=-1)).encode(), ["w/push", "-1"]),
        (json.dumps(changed("w/push", after=["nobody"])).encode(), ["w/push", "nobody"]),
        (json.dumps(changed("a/forward", after=["a/backward"])).encode(), ["a/", "cycle"]),
        (json.dumps(changed("a/forward", resource="gpu")).encode(), ["a/forward", "gpu"]),
        (json.dumps(changed("a/forward", kind="thought")).encode(), ["a/forward", "must be"]),
        (json.dumps(changed("w/push", name="w/pull")).encode(), ["w/pull"]),
    ],
)  # fmt: skip
def test_a_broken_profile(inside, nowhere, content, named):
    """The line names the file, and where it is about them the step and the operation."""
    (nowhere / "mine.json").write_bytes(content)
    done = inside.run("--workload", "mine.json", "--out", "out")
    assert_refused(done, "mine.json")
    for word in named:
        assert word in done.err
    assert [path.name for path in nowhere.iterdir()] == ["mine.json"]


# Scenarios of the emulator.


NOT_SIMULATED = {
    "own-endpoint.toml": "transport[to-grpc].discipline: is required",
    "workers.toml": 'workload[staggered].stagger: "150ms": must be 0 in a simulation',
}


@pytest.mark.oracle
@pytest.mark.parametrize("scenario", EMULATED, ids=lambda path: path.name)
def test_what_is_emulated_is_simulated_or_refused(inside, nowhere, scenario):
    trains = "[training]" in scenario.read_text()
    done = inside.run(
        *("--scenario", str(scenario), "--steps", "2", "--warmup", "0", "--repetitions", "1"),
        *("--trace-steps", "0", "--out", "out", *(("--plan",) if trains else ())),
        interpreted=True,
    )
    if scenario.name in NOT_SIMULATED:
        assert_refused(done, f"{scenario}: {NOT_SIMULATED[scenario.name]}")
        assert list(nowhere.iterdir()) == []
        return
    assert done.code == 0, done.err
    if trains:  # too many operations for an engine that is not compiled
        assert list(nowhere.iterdir()) == []
        return
    summary = json.loads((nowhere / "out/summary.json").read_text())
    assert summary["complete"] is True
    for series in summary["series"]:
        assert len(series["points"]) == 1
        assert all(point["steps_per_s"]["mean"] > 0 for point in series["points"])


# Folders.


def test_a_folder_that_is_not_empty(inside, nowhere):
    (nowhere / "letter").write_text("dear")
    assert_refused(inside.run("--out", "."), ".: is not empty: must be a new or", 6)
    assert_refused(inside.run("--out", "letter"), "letter: can't be opened: Not a directory", 6)
    assert [path.name for path in nowhere.iterdir()] == ["letter"]
    assert (nowhere / "letter").read_text() == "dear"


def test_a_folder_that_can_not_be_made(inside, nowhere):
    assert_refused(inside.run("--out", "/proc/out"), "/proc/out: can't be created: ", 6)


def test_a_folder_of_kernels_that_can_not_be_written(inside, nowhere, monkeypatch):
    """It was asked for; and numba would put them beside the sources, to be found by later ones."""
    monkeypatch.setenv("NETCOSIM_KERNELS", "/proc/kernels")
    done = inside.run("--out", "out")
    assert_refused(done, "NETCOSIM_KERNELS: /proc/kernels: can't be written: No such file", 6)
    assert list(nowhere.iterdir()) == []


@pytest.mark.oracle
def test_a_folder_without_permission(nowhere):
    """As one who is not root."""
    (nowhere / "closed").mkdir(mode=0o555)
    done = run("--out", "closed/out", cwd=nowhere, prefix=NO_POWERS)
    assert_refused(done, "closed/out: can't be created: Permission denied", 6)
    done = run("--out", "closed", cwd=nowhere, prefix=NO_POWERS)
    assert_refused(done, "closed/schemas: can't be created: Permission denied", 6)
    assert list((nowhere / "closed").iterdir()) == []
