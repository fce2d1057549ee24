"""The command, from a sweep file to the dataset: serial in this process, on Ray in another one."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars
import pyarrow.parquet as pq
import pytest

from netcosim.cli.compare import main as compare_runs
from netcosim.report.__main__ import main as report
from netcosim.workload.catalogue import load_profile
from netcosim.workload.profile_file import dump_profile
from ray_sweeps.cli import command
from ray_sweeps.compare import main as compare_sweeps
from sim.cli.command import run as simulate
from tests.inside import ROOT
from tests.ray_sweeps.runner.ray_child import CRASHES, ray_child, raylet_of, working_in

BURST = """
name = "burst"
description = "A burst on two links."
replications = 2

[scenario]
name = "base"
[scenario.cluster]
topology = "star"
link = { rate = "1gbit" }
[scenario.training]
steps = 20
warmup = 2
[[scenario.workload]]
name = "small"
set = "mixed8"
[[scenario.transport]]
name = "h2"
sender = "h2"
receiver = "h2"
discipline = "round_robin"

[factors]
rate = ["1gbit", "2gbit"]
workers = [1, 2, 3]
"""


LONGER = BURST.replace("[1, 2, 3]", f"{list(range(1, 13))}").replace(
    "replications = 2", "replications = 10"
)
"""240 runs of 20 ms and more."""


def rows_in(folder: Path) -> polars.DataFrame:
    return polars.scan_parquet(folder / "runs/*.parquet").sort("key", "run").collect()


def run(*arguments: object) -> int:
    return command.run([str(each) for each in arguments])


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    path = tmp_path / "burst.toml"
    path.write_text(BURST)
    return path


def test_two_spellings_of_a_point_are_one(sweep, tmp_path):
    """Two transports that differ by their names alone, and by a default that one spells out."""
    again = (
        '[[scenario.transport]]\nname = "again"\nsender = "h2"\nreceiver = "h2"\n'
        'discipline = "round_robin"\nflow_control = true\n\n[factors]'
    )
    sweep.write_text(BURST.replace("[factors]", again))
    assert run(sweep, "--serial", "--out", tmp_path / "out") == 0
    rows = rows_in(tmp_path / "out")
    assert rows.height == 2 * 2 * 3
    assert set(rows["factor_transport"]) == {"h2"}
    assert sorted(rows.filter(polars.col("run") == 0)["workers"]) == [1, 1, 2, 2, 3, 3]
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert (record["complete"], record["points"], record["runs"]) == (True, 6, 12)
    assert record["twice"] == 6


@pytest.mark.soak
def test_more_values_and_replications_keep_what_was_made(sweep, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(sweep, "--serial", "--out", out) == 0
    before = rows_in(out)
    assert run("--resume", out, "--serial") == 0
    assert "nothing is left to do" in capsys.readouterr().out
    sweep.write_text(BURST.replace("[1, 2, 3]", "[1, 2, 3, 4]"))
    assert run(sweep, "--resume", out, "--serial", "--replications", 3) == 0
    assert "16 made now" not in (said := capsys.readouterr().out)
    assert "8 points, 24 runs; 12 made now" in said
    after = rows_in(out)
    assert after.height == 24
    assert after.join(before, on=before.columns, how="semi", nulls_equal=True).height == 12
    fresh = tmp_path / "fresh"
    assert run(sweep, "--serial", "--out", fresh, "--replications", 3) == 0
    assert rows_in(fresh).equals(after)


def damaged(part: Path, damage: str) -> None:
    """A part of a dataset as a full disk, a stranger or another sweep would leave it."""
    match damage:
        case "gone":
            part.unlink()
        case "cut":
            part.write_bytes(part.read_bytes()[:300])
        case "other columns":
            polars.read_parquet(part).select(x="run").write_parquet(part)
        case "other factors":
            table = pq.read_table(part)
            names = [n.replace("factor_rate", "factor_speed") for n in table.column_names]
            pq.write_table(table.rename_columns(names), part)


@pytest.mark.soak
@pytest.mark.parametrize("damage", ["gone", "cut", "other columns", "other factors"])
def test_a_complete_sweep_whose_rows_are_lost_is_not_complete(sweep, tmp_path, capsys, damage):
    out = tmp_path / "out"
    assert run(sweep, "--serial", "--no-report", "--out", out) == 0
    before = rows_in(out)
    parts = sorted((out / "runs").iterdir())  # a slow machine writes several
    for part in parts:
        damaged(part, damage)
    said = {
        "gone": "",
        "cut": f"{parts[0]}: can't be read as Parquet: ",
        "other columns": f"{parts[0]}: is not of a sweep by this release: differs in the column",
        "other factors": "has runs of a sweep with other factors (rate, speed): take a new folder",
    }[damage]
    capsys.readouterr()
    code = run("--resume", out, "--serial", "--no-report")
    heard = capsys.readouterr()
    if damage == "gone":
        assert code == 0 and "12 made now" in heard.out
    else:
        assert code in (2, 6)
        *_, last = heard.err.splitlines()
        assert said in last
        assert ("move it away, and --resume makes its runs again" in last) == (code == 6)
        for part in parts:
            part.unlink()
        assert run("--resume", out, "--serial", "--no-report") == 0
    assert rows_in(out).equals(before)


def test_a_sweep_of_another_name_is_told_of(sweep, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(sweep, "--serial", "--no-report", "--out", out) == 0
    sweep.write_text(BURST.replace('"burst"', '"other"', 1))
    assert run(sweep, "--serial", "--no-report", "--resume", out) == 0
    note = 'note: the folder is of the sweep "burst", the file of "other"'
    assert note in capsys.readouterr().err


@pytest.mark.soak
def test_the_folder_stands_for_itself(tmp_path):
    """A sweep that names a scenario and a profile by their paths, resumed without either file."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "own.json").write_text(dump_profile(load_profile("alexnet")))
    (folder / "base.toml").write_text(
        'name = "base"\n[cluster]\ntopology = "star"\nlink = { rate = "10gbit" }\n'
        "[training]\nsteps = 10\nwarmup = 1\n"
        '[[workload]]\nname = "own"\nprofile = "own.json"\n'
        '[[transport]]\nname = "h2"\nsender = "h2"\nreceiver = "h2"\n'
        'discipline = "round_robin"\nflow_control = false\n'
    )
    sweep = folder / "sweep.toml"
    sweep.write_text(
        'name = "own"\nscenario = "base.toml"\nreplications = 1\n[factors]\nworkers = [1, 2]\n'
    )
    out = tmp_path / "out"
    assert run(sweep, "--serial", "--out", out) == 0
    before = rows_in(out)
    assert before["error"].null_count() == 2
    (folder / "base.toml").unlink()
    sweep.unlink()
    assert run("--resume", out, "--serial", "--replications", 2) == 0
    assert rows_in(out).filter(polars.col("run") == 0).equals(before)


def test_what_reads_runs_says_that_a_folder_is_of_a_sweep(sweep, tmp_path, capsys):
    """And `ray_sweeps.compare` that one is of a run."""
    out = tmp_path / "out"
    assert run(sweep, "--serial", "--no-report", "--out", out) == 0
    capsys.readouterr()
    for command_of_runs, arguments, prog in (
        (compare_runs, (out, out), "netcosim.cli.compare"),
        (report, (out,), "netcosim.report"),
        (simulate, ("--resume", out), "sim.run"),
    ):
        assert command_of_runs([str(each) for each in arguments]) == 6
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err == (
            f"{prog}: {out}: is the folder of a sweep, not of a run: python -m ray_sweeps.run"
            " --resume FOLDER writes its report, python -m ray_sweeps.compare A B compares two\n"
        )
    assert compare_sweeps([str(out), str(out)]) == 0
    (out / "sweep.toml").unlink()
    (out / "runs").rename(out / "gone")
    capsys.readouterr()
    assert compare_sweeps([str(out), str(out)]) == 6
    assert "python -m netcosim.cli.compare compares runs" in capsys.readouterr().err


@pytest.mark.soak
def test_a_point_that_fails_is_a_row_with_its_error(sweep, tmp_path):
    more = 'workers = [1, 2]\nservers = [1, 2, 3]\n"training.share" = ["two_servers", "max_min"]'
    sweep.write_text(BURST.replace("workers = [1, 2, 3]", more))
    assert run(sweep, "--serial", "--out", tmp_path / "out") == 1
    rows = rows_in(tmp_path / "out")
    failed = rows.filter(polars.col("error").is_not_null())
    assert set(failed["factor_servers"]) == {3}
    assert set(failed["error"]) == {
        'training.share: "two_servers": is for two servers, not 3; take equal or max_min'
    }
    assert failed["examples_per_s"].null_count() == failed.height == 8
    assert rows.height == 48
    assert rows.filter(polars.col("error").is_null())["examples_per_s"].null_count() == 0


SCHEDULES = ROOT / "examples/sweeps/schedules.toml"


@pytest.mark.pages
def test_the_example_of_schedules_runs(tmp_path):
    """With fewer steps, rates and workers, and schedules that need few kernels."""
    text = SCHEDULES.read_text().replace("../schedules", f"{ROOT}/examples/schedules")
    small = (
        text.replace("steps = 100", 'steps = 4\n"training.warmup" = 1')
        .replace("replications = 3", "replications = 2")
        .replace('["100mbit", "200mbit", "400mbit"]', '["200mbit"]')
        .replace("[1, 4]", "[1]")
    )
    (tmp_path / "sweep.toml").write_text(small)
    assert run(tmp_path / "sweep.toml", "--out", tmp_path / "out", "--serial") == 0
    rows = rows_in(tmp_path / "out")
    assert rows["error"].is_null().all()
    rates = dict(rows.group_by("factor_schedule").agg(polars.col("examples_per_s").mean()).rows())
    assert set(rates) == {"fifo", "p3", "bytescheduler", "prophet"}
    assert rates["fifo"] == min(rates.values()) < rates["bytescheduler"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "SWEEP.toml: is required, or --resume DIR"),
        (["no.toml"], 2, "no.toml: can't be read: No such file"),
        (["--resume", "nothing"], 6, "nothing: can't be opened: No such file"),
        (["{sweep}", "--out", "/proc/x", "--serial"], 6, "/proc/x: can't be"),
        (["{sweep}", "--out", "{here}", "--serial"], 6, "is not empty: must be a new or an empty"),
        (["{sweep}", "--replications", "0"], 2, "--replications: 0: must be 1 to 1000"),
        (["{sweep}", "--serial", "--address", "auto"], 2, "--address: has no meaning with"),
        (["{sweep}", "--ship-code"], 2, "--ship-code: has no meaning without --address"),
        (["{sweep}", "--address", "nowhere"], 2, '--address: "nowhere": must be HOST:PORT'),
        (["{sweep}", "--address", "127.0.0.1:70000"], 2, "must be HOST:PORT of a Ray head"),
        (["{sweep}", "--address", "127.0.0.1:1"], 3, "127.0.0.1:1: nobody answers there"),
        (["{sweep}", "--out", ""], 2, "argument --out: must not be empty"),
        (["{sweep}", "--pln"], 2, "unrecognized arguments: --pln; did you mean --plan?"),
    ],
)
def test_what_is_wrong_is_one_line(sweep, tmp_path, capsys, monkeypatch, arguments, code, said):
    monkeypatch.chdir(tmp_path)
    given = [each.format(sweep=sweep, here=tmp_path) for each in arguments]
    assert run(*given) == code
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith("ray_sweeps.run: ") and said in last
    assert {path.name for path in tmp_path.iterdir()} == {"burst.toml"}


def test_a_plan_touches_nothing(sweep, tmp_path, capsys):
    assert run(sweep, "--plan") == 0
    said = capsys.readouterr().out
    assert "in all      6 points, 2 run(s) of each: 12 runs" in said
    assert [path.name for path in tmp_path.iterdir()] == ["burst.toml"]


def started(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ray_sweeps.run", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def long_sweep(folder: Path) -> tuple[Path, Path, subprocess.Popen[str]]:
    """A long sweep that was just started: its file, its results, its driver."""
    sweep, out = folder / "burst.toml", folder / "out"
    sweep.write_text(LONGER)
    return sweep, out, started(sweep, "--out", out)


def assert_some_are_kept(out: Path) -> None:
    """Each once, in a folder that says that it is not complete."""
    rows = rows_in(out)
    assert rows.height == rows.unique(["key", "run"]).height > 0
    assert not json.loads((out / "run.json").read_text())["complete"]


def record_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "ray.json").read_text())
    return found


def alive(record: dict[str, Any]) -> list[int]:
    found = []
    for process, start in record["processes"]:
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[19]) == start and fields[0] != "Z":
            found.append(process)
    return found


@pytest.mark.soak
def test_on_ray_the_same_and_after_a_kill_nothing_lost_or_left(tmp_path):
    """The driver is killed while runs are made; the next start makes the others."""
    sweep, out, driver = long_sweep(tmp_path)
    has_rows(out, driver)
    record = record_of(out)
    assert len(alive(record)) >= 2 and Path(record["folder"]).is_dir()
    assert only_here(driver.pid)
    driver.kill()
    driver.communicate()
    made = rows_in(out)
    assert 0 < made.height < 240
    deadline_s = time.monotonic() + 600
    while alive(record) and time.monotonic() < deadline_s:
        time.sleep(0.2)
    assert not alive(record)
    second = started("--resume", out)
    said, errors = second.communicate()
    assert second.returncode == 0, errors
    assert f"{240 - made.height} made now" in said
    assert not (out / "ray.json").exists() and not Path(record["folder"]).exists()
    assert run(sweep, "--serial", "--out", tmp_path / "serial") == 0
    assert rows_in(out).equals(rows_in(tmp_path / "serial"))


def has_rows(out: Path, driver: subprocess.Popen[str]) -> None:
    """Wait until a sweep has some."""
    while not list(out.glob("runs/*.parquet")):
        assert driver.poll() is None
        time.sleep(0.02)


def only_here(process: int) -> bool:
    """True if a process has a network of its own, or none was to be had."""
    own = Path(f"/proc/{process}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
    return own or os.geteuid() != 0


@pytest.mark.soak
def test_ctrl_c_keeps_what_was_made_and_leaves_nothing(tmp_path):
    _, out, driver = long_sweep(tmp_path)
    has_rows(out, driver)
    record = record_of(out)
    driver.send_signal(signal.SIGINT)
    _, errors = driver.communicate()
    assert driver.returncode == 130
    assert errors.splitlines()[-1].startswith("ray_sweeps.run: interrupted; what was finished is")
    assert not alive(record) and not Path(record["folder"]).exists()
    assert_some_are_kept(out)


@pytest.mark.soak
@pytest.mark.parametrize("number", CRASHES)
def test_a_ray_that_crashes_is_told_and_leaves_nothing(tmp_path, number):
    _, out, driver = long_sweep(tmp_path)
    has_rows(out, driver)
    record = record_of(out)
    os.kill(ray_child(driver.pid), number)
    _, errors = driver.communicate(timeout=600)
    assert driver.returncode == 3
    *_, last = errors.splitlines()
    kept = f"what was finished is kept: --resume {out}"
    assert last in {
        f"ray_sweeps.run: Ray ended by itself (signal {end:d}); {kept}" for end in CRASHES[number]
    }
    assert "Traceback" not in errors and "***" not in errors
    assert not alive(record) and not Path(record["folder"]).exists()
    assert not (out / "ray.json").exists()
    assert_some_are_kept(out)


@pytest.mark.soak
@pytest.mark.parametrize("moment", ["started", "resolving", "making"])
def test_a_raylet_that_dies_is_told_and_leaves_nothing(tmp_path, moment):
    _, out, driver = long_sweep(tmp_path)
    while (raylet := raylet_of(driver.pid)) is None:
        assert driver.poll() is None
        time.sleep(0.002)
    while moment == "resolving" and raylet not in alive(record_of(out)):
        time.sleep(0.002)
    if moment == "making":
        has_rows(out, driver)
    folder = Path(record_of(out)["folder"])
    os.kill(raylet, signal.SIGKILL)
    said, errors = driver.communicate()
    assert driver.returncode == 3, errors
    *_, last = errors.splitlines()
    assert last.startswith(("ray_sweeps.run: Ray ended by itself", "ray_sweeps.run: Ray does not"))
    assert last.endswith(f"--resume {out}") == ("made now" in said) == out.exists()
    assert not folder.exists() and not working_in(folder)


@pytest.mark.root
@pytest.mark.soak
def test_a_full_disk_is_told_and_gone_on_from(sweep, tmp_path):
    """What was made before is kept; the rest is made once there is space."""
    sweep.write_text(LONGER)
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M", "none", disk], check=True)
    try:
        driver = started(sweep, "--serial", "--out", disk / "out", "--no-report")
        has_rows(disk / "out", driver)
        filler = disk / "filler"
        with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
            while True:
                file.write(bytes(1 << 12))
        _, errors = driver.communicate()
        assert driver.returncode == 6
        first = next(line for line in errors.splitlines() if "No space left on device" in line)
        assert "No space left on device; what was finished is kept: --resume" in first
        made = rows_in(disk / "out").height
        assert 0 < made < 240
        filler.unlink()
        assert run("--resume", disk / "out", "--serial", "--no-report") == 0
        assert rows_in(disk / "out").height == 240
        assert run(sweep, "--serial", "--out", tmp_path / "all", "--no-report") == 0
        assert rows_in(disk / "out").equals(rows_in(tmp_path / "all"))
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_another_sweep_does_not_touch_a_folder(sweep, tmp_path):
    out = tmp_path / "out"
    assert run(sweep, "--serial", "--out", out, "--no-report") == 0
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    sweep.write_text(BURST.replace("workers = [1, 2, 3]", "servers = [1, 2]"))
    assert run(sweep, "--serial", "--resume", out) == 2
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
