"""The command as a person uses it: what it says, what it leaves; Ctrl-C and kill -9."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import jsonschema
import pyarrow.parquet as pq
import pytest

from netcosim.report.write import write_report
from netcosim.results.folder import ResultsFolder
from netcosim.scenario import read_scenario
from tests.sim.cli.started import (
    COMPUTED,
    FAST,
    FROM_SOURCE,
    ROOT,
    Done,
    run,
    start,
    summary_of,
    wait_for,
)

LONG = ("--workers", "1,2,60", "--steps", "40000", "--repetitions", "1", "--trace-steps", "0")
FILES = {"scenario.toml", "run.json", "report.html", *COMPUTED}


@pytest.fixture
def job(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "job.toml").write_text(FAST)
    return ("--scenario", "job.toml", "--out", "out")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Path]:
    folder = tmp_path_factory.mktemp("whole")
    (folder / "job.toml").write_text(FAST)
    in_little_memory = ("prlimit", f"--as={3_000_000 * 1024}", "--")
    asked = ("--scenario", "job.toml", "--rate", "2gbit", "--out", "new/out")
    return run(*asked, cwd=folder, prefix=in_little_memory), folder / "new/out"


def assert_complete_files(folder: Path) -> None:
    """Every file is whole, and valid by the schema beside it; what is not is hidden."""
    for path in folder.rglob("*"):
        if path.name.startswith(".") and path.name.endswith(".part"):
            continue
        if path.suffix == ".parquet":
            pq.ParquetFile(path).read(use_threads=False)
        elif path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".html":
            assert path.read_text().rstrip().endswith("</html>")
    for name in ("summary", "run"):
        if (folder / f"{name}.json").exists():
            schema = json.loads((folder / f"schemas/{name}.schema.json").read_text())
            jsonschema.Draft202012Validator(schema).validate(
                json.loads((folder / f"{name}.json").read_text())
            )


@pytest.mark.oracle
def test_a_run_leaves_valid_files_and_a_report(whole):
    done, out = whole
    assert done.code == 0, done.err
    assert "report: new/out/report.html" in done.out
    assert {path.name for path in out.iterdir() if path.is_file()} == FILES
    assert_complete_files(out)
    for name in ("trace", "steps", "operations", "points"):
        columns = json.loads((out / f"schemas/{name}.columns.json").read_text())["columns"]
        found = pq.ParquetFile(out / f"{name}.parquet").schema_arrow.names
        assert found == [column["name"] for column in columns]
    assert "alexnet" in (out / "report.html").read_text()


def test_the_files_hold_what_was_asked_for(whole):
    _, out = whole
    with ResultsFolder.open(out) as folder:
        summary, scenario = folder.read_training_summary(), folder.read_scenario()
        steps, operations, record = folder.read_steps(), folder.read_operations(), folder.read_run()
    assert (summary.complete, summary.trusted, summary.reasons) == (True, True, ())
    assert scenario.cluster.link.rate == 2_000_000_000
    assert scenario.description == ""
    [series] = summary.series
    assert series.rate_bps == 2_000_000_000
    found = [(point.workers, point.runs, point.engine) for point in series.points]
    assert found == [(1, 2, "fast"), (2, 2, "fast")]
    assert set(steps.workers) == {1, 2}
    assert set(operations.workers) == {2}
    assert "--rate" in record.command


@pytest.mark.pages
def test_several_rates_on_several_transports_end_with_a_report(tmp_path):
    """As docs/how-to/simulate.md has it, with fewer workers, rates and steps."""
    done = run(
        *("--workload", "resnet50", "--workers", "1,2", "--rate", "1gbit,2500mbit"),
        *("--steps", "4", "--warmup", "1", "--repetitions", "1", "--out", "out"),
        cwd=tmp_path,
    )
    assert done.code == 0, done.err
    assert "report: out/report.html" in done.out
    names = [path.name for path in (tmp_path / "out/pictures").iterdir()]
    assert sorted(name for name in names if "throughput" in name) == [
        "resnet50-at-1gbit@-4870015201e3.throughput.png",
        "resnet50-at-2500mbit@-7bdc33970c26.throughput.png",
    ]
    assert "resnet50@grpc@1gbit.lanes.png" in names and len(names) == 10


@pytest.mark.pages
@pytest.mark.parametrize("schedule", ["fifo", "p3", "bytescheduler", "prophet"])
def test_the_example_runs_with_each_schedule(inside, tmp_path, monkeypatch, schedule):
    """As docs/how-to/choose-a-schedule.md has it, with fewer steps."""
    monkeypatch.chdir(tmp_path)
    inside.do(
        *("--scenario", str(ROOT / "examples/schedules.toml"), "--schedule", schedule),
        *("--workers", "1", "--steps", "4", "--repetitions", "1", "--out", "out"),
    )
    policy = read_scenario(Path("out/scenario.toml")).policy
    given = {"credit_bytes": 6_000_000} if schedule == "bytescheduler" else {}
    assert (policy.schedule, policy.schedule_options) == (schedule, given)
    assert summary_of().trusted


def test_help_list_and_plan_touch_nothing(inside, tmp_path, monkeypatch, job):
    monkeypatch.chdir(tmp_path)
    listed, planned = inside.do("--list"), inside.do(*job, "--plan")
    assert (listed.err, planned.err) == ("", "")
    for name in ("default", "resnet50", "one-slow", "asp", "max_min", "two_visit", "random"):
        assert name in listed.out
    with pytest.raises(SystemExit) as ended:
        inside.run("--help")
    said = inside.capsys.readouterr()
    assert (ended.value.code, said.err) == (0, "")
    for word in ("--workload", "--workers", "--straggler", "--trace-steps", "130 interrupted"):
        assert word in said.out
    assert [path.name for path in tmp_path.iterdir()] == ["job.toml"]


@pytest.mark.oracle
def test_what_is_not_simulated_is_told_before_and_kept(inside, tmp_path):
    text = FAST.replace("flow_control = false", 'window = "64KiB"')
    (tmp_path / "job.toml").write_text(text)
    few = ("--workers", "1", "--steps", "6", "--warmup", "1")
    job = ("--scenario", str(tmp_path / "job.toml"), "--straggler", "one-far", *few)
    said = "alexnet/whole: a window of 64KiB is less than what the path of w0 holds (1250 kB: "
    assert f"note        {said}" in inside.run(*job, "--plan").out
    done = inside.do(*job, "--out", str(tmp_path / "out"), interpreted=True)
    assert f"note: {said}" in done.err
    with ResultsFolder.open(tmp_path / "out") as folder:
        record = folder.read_run()
    assert record.problems[0].startswith(said)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("number", "who"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")]
)
def test_interrupted_in_mid_run_it_keeps_what_was_finished(tmp_path, job, number, who):
    with start(*job, *LONG, cwd=tmp_path) as process:
        wait_for(process, "2 workers")
        time.sleep(0.3)  # by then the sixty are at it
        process.send_signal(number)
        process.send_signal(number)  # as from a terminal and from who passes it on
        out, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "Traceback" not in out + err
    assert err.splitlines()[-1] == "sim.run: interrupted; what was finished is in out"
    assert "This run is incomplete" in out
    assert_what_was_finished_is_kept(tmp_path / "out", who)


@pytest.mark.oracle
def test_a_terminal_that_closes_is_an_interruption(tmp_path, job):
    """Nobody sees the end of it, but the results are there."""
    ours, theirs = os.openpty()
    command = (*FROM_SOURCE, *job, *LONG)
    with subprocess.Popen(
        ("setsid", "--ctty", *command), cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        said = b""
        while b"60 workers" not in said:
            said += os.read(ours, 65536)
            assert b"Traceback" not in said
            time.sleep(0.01)
        os.close(ours)
        assert process.wait(timeout=600) == 130
    assert_what_was_finished_is_kept(tmp_path / "out", "SIGHUP")


@pytest.mark.oracle
def test_nohup_is_heeded(tmp_path, job):
    with start(*job, cwd=tmp_path, prefix=("nohup",)) as process:
        wait_for(process, "simulating")
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=600)
    assert process.returncode == 0


def assert_what_was_finished_is_kept(out: Path, who: str) -> None:
    assert_complete_files(out)
    assert {path.name for path in out.iterdir() if path.is_file()} == FILES
    summary = summary_of(out)
    assert (summary.complete, summary.trusted) == (False, False)
    assert summary.reasons == (f"ended early: interrupted by {who}",)
    assert [point.workers for point in summary.series[0].points] == [1, 2]
    assert f"interrupted by {who}" in (out / "report.html").read_text()


def test_ctrl_c_while_libraries_load_is_one_line(tmp_path, job):
    with start(*job, *LONG, cwd=tmp_path) as process:
        while not loading(process.pid):
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
    assert "Traceback" not in out + err
    assert (process.returncode, err) == (130, "sim.run: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["job.toml"]


def loading(pid: int) -> bool:
    """True if a library is there; before, there is only an interpreter that starts."""
    try:
        return "site-packages" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


@pytest.mark.oracle
@pytest.mark.parametrize("line", ["simulating", "1 worker:", "tracing"])
def test_kill_9_leaves_complete_files(tmp_path, job, line):
    with start(*job, cwd=tmp_path) as process:
        wait_for(process, line)
        if line == "tracing":  # until the first results are there, and others are being written
            for _ in range(2000):
                if (tmp_path / "out/steps.parquet").exists():
                    break
                time.sleep(0.005)
        process.kill()
        process.communicate(timeout=600)
    assert_complete_files(tmp_path / "out")
    with ResultsFolder.open(tmp_path / "out") as folder:
        assert folder.world() == "sim"
        assert folder.read_scenario().name == "fast"
        summary = folder.read_training_summary()
    assert not (tmp_path / "out/report.html").exists()
    assert (summary.complete, summary.trusted) == (False, False)
    finished = [[1, 2]] if line == "tracing" else []
    assert [[p.workers for p in series.points] for series in summary.series] == finished
    assert summary.reasons == ("has not ended: it is under way, or was killed",)
    write_report(tmp_path / "out")
    assert summary.reasons[0] in (tmp_path / "out/report.html").read_text()


@pytest.mark.oracle
@pytest.mark.parametrize("option", ["--list", "--plan"])
def test_nobody_reading_is_quiet(tmp_path, option):
    with start(option, cwd=tmp_path) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141
