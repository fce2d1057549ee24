"""The results folder: complete files or none, round trips, what is refused."""

import gzip
import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from netcosim.errors import StorageError
from netcosim.failure import CrashSite
from netcosim.report.write import draw_report
from netcosim.results.folder import ResultsFolder, default_path
from netcosim.results.host import SIMULATION, hash_files, hash_sources, versions
from netcosim.scenario import parse_scenario
from tests.netcosim.results.synthetic import (
    Case,
    grant_rows,
    lost_rows,
    measured_rows,
    predicted_rows,
    run_record,
    scenario,
    summary,
    window_rows,
    write_folder,
)

SMALL = Case(
    sizes=(400_000, 3_000_000, 300_000, 2_500_000), bursts=2, invalid=(1,), pause=(10**8, 10**7)
)


def create(path: Path) -> ResultsFolder:
    return ResultsFolder.create(path, scenario())


def files_below(path: Path) -> set[str]:
    return {str(f.relative_to(path)) for f in path.rglob("*") if f.is_file()}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    measured, predicted = measured_rows(SMALL), predicted_rows(SMALL)
    windows = window_rows(SMALL, measured)
    grants = grant_rows(SMALL, measured)
    with create(tmp_path / "deep" / "run") as folder:
        folder.write_trace(measured)
        folder.write_predictions(predicted)
        folder.write_windows(windows)
        folder.write_grants(grants)
        folder.write_lost(lost_rows(SMALL))
        folder.write_summary(summary((SMALL,)))
        folder.write_run(run_record((SMALL,)))
        folder.write_perfetto()
    with ResultsFolder.open(tmp_path / "deep" / "run") as folder:
        assert folder.read_scenario() == scenario()
        assert folder.read_trace() == tuple(measured)
        assert folder.read_predictions() == tuple(predicted)
        assert folder.read_windows() == tuple(windows)
        assert folder.read_grants() == tuple(grants)
        assert folder.read_lost() == tuple(lost_rows(SMALL))
        assert folder.read_run() == run_record((SMALL,))
        found = folder.read_summary()
        assert found is not None
        assert [c.best for c in found.cells] == ["two_visit"]
    tables = ("trace", "windows", "grants", "lost")
    assert files_below(tmp_path / "deep" / "run") == {
        *("scenario.toml", "summary.json", "run.json", "perfetto.json", "predictions.parquet"),
        *(f"{name}.parquet" for name in tables),
        *("schemas/summary.schema.json", "schemas/run.schema.json"),
        *(f"schemas/{name}.columns.json" for name in tables),
    }


def test_an_interrupted_run_reads_as_empty(tmp_path: Path) -> None:
    create(tmp_path / "run").close()
    with ResultsFolder.open(tmp_path / "run") as folder:
        for name in ("trace", "predictions", "windows", "grants", "lost"):
            assert getattr(folder, f"read_{name}")() == ()
        assert (folder.read_summary(), folder.read_run()) == (None, None)


def test_an_empty_folder_may_be_used(tmp_path: Path) -> None:
    create(tmp_path).close()
    assert (tmp_path / "scenario.toml").is_file()


def test_a_folder_with_anything_in_it_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(StorageError, match=r"is not empty: must be a new or an empty folder"):
        create(tmp_path)
    assert files_below(tmp_path) == {"thesis.tex"}


def test_an_earlier_run_is_never_overwritten(tmp_path: Path) -> None:
    create(tmp_path / "run").close()
    before = (tmp_path / "run" / "scenario.toml").stat().st_mtime_ns
    with pytest.raises(StorageError, match="is not empty"):
        create(tmp_path / "run")
    assert (tmp_path / "run" / "scenario.toml").stat().st_mtime_ns == before


def test_a_link_or_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "link").symlink_to(elsewhere)
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"link: can't be opened: (Not a directory|is a symb)"):
        create(tmp_path / "link")
    with pytest.raises(StorageError, match="file: can't be opened: Not a directory"):
        create(tmp_path / "file")
    with pytest.raises(StorageError, match="can't be"):
        create(tmp_path / "file" / "below")
    assert list(elsewhere.iterdir()) == []


def test_a_dangling_link_on_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results").symlink_to(tmp_path / "nowhere")
    with pytest.raises(StorageError):
        create(tmp_path / "results" / "run")
    assert not (tmp_path / "nowhere").exists()


def test_what_has_no_scenario_is_no_results_folder(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"is not a results folder: it has no scenario\.toml"):
        ResultsFolder.open(tmp_path)
    with pytest.raises(StorageError, match="No such file"):
        ResultsFolder.open(tmp_path / "missing")


def test_a_file_that_fails_half_way_leaves_the_earlier_one(tmp_path: Path) -> None:
    with create(tmp_path / "run") as folder:
        folder.write("summary.json", b"first")
        with pytest.raises(KeyboardInterrupt), folder.writing("summary.json") as file:
            file.write(b"second, but")
            raise KeyboardInterrupt
        assert folder.read("summary.json") == b"first"
        assert list((tmp_path / "run").glob(".*")) == []


def test_nothing_shows_under_its_name_before_it_is_complete(tmp_path: Path) -> None:
    with create(tmp_path / "run") as folder, folder.writing("run.json") as file:
        file.write(b"x" * 100_000)
        file.flush()
        assert not (tmp_path / "run" / "run.json").exists()
        assert (tmp_path / "run" / ".run.json.part").stat().st_size == 100_000
    assert (tmp_path / "run" / "run.json").stat().st_size == 100_000


def test_a_left_over_of_a_killed_run_is_replaced(tmp_path: Path) -> None:
    with create(tmp_path / "run") as folder:
        (tmp_path / "run" / ".run.json.part").write_text("left by kill -9, and longer than the new")
        folder.write("run.json", b"{}")
    assert (tmp_path / "run" / "run.json").read_bytes() == b"{}"
    assert not (tmp_path / "run" / ".run.json.part").exists()


@pytest.mark.parametrize(
    "name", ["../x", "a/b/c", "/etc/passwd", "", ".hidden", "a\nb", "a/", "a/.."]
)
def test_names_that_leave_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    with create(tmp_path / "run") as folder, pytest.raises(ValueError, match="not a name within"):
        folder.write(name, b"")


def test_a_capture_is_packed_the_same_way_each_time(tmp_path: Path) -> None:
    source = tmp_path / "eth0.pcap"
    source.write_bytes(b"\xd4\xc3\xb2\xa1" + bytes(300_000))
    with create(tmp_path / "one") as one, create(tmp_path / "two") as two:
        name = one.add_capture("mixed8/h2-on", 3, source)
        os.utime(source, (1, 1))
        two.add_capture("mixed8/h2-on", 3, source)
        assert name == "captures/mixed8@h2-on.c3.pcap.gz"
        assert one.read(name) == two.read(name)
        assert gzip.decompress(one.read(name)) == source.read_bytes()


CLASHING = """\
name = "clashing"
cluster = { link = { rate = "1gbit" } }
workload = [{ name = "a", set = "vgg16" }]
transport = [
    { name = "h2", sender = "h2", receiver = "h2", discipline = "fifo" },
    { name = "H2", sender = "h2", receiver = "h2", discipline = "fifo" },
    { name = "h2.r1", sender = "h2", receiver = "h2", discipline = "fifo" },
]
"""


def test_captures_and_jobs_of_different_cells_are_different_files(tmp_path: Path) -> None:
    """On a file system that ignores case, too, and where a cell is called as a run of another."""
    source = tmp_path / "eth0.pcap"
    runs = [(cell, run) for cell in ("a/h2", "a/H2", "a/h2.r1") for run in ("", "r1")]
    cells = sorted({cell for cell, _ in runs})
    with ResultsFolder.create(tmp_path / "run", parse_scenario(CLASHING)) as folder:
        names = []
        for cell, run in runs:
            source.write_bytes(f"{cell} {run}".encode())
            names.append(folder.add_capture(cell, 0, source, run))
        assert len({name.casefold() for name in names}) == len(names)
        assert names[4:] == ["captures/a@h2.r1.c0.pcap.gz", "captures/a@h2.r1.r1.c0.pcap.gz"]
        assert len({folder.run_name(*each) for each in runs}) == len(runs)
        for (cell, run), name in zip(runs, names, strict=True):
            assert gzip.decompress(folder.read(name)) == f"{cell} {run}".encode()
        for cell in cells:
            folder.write_job(cell, cell.encode())
        assert len({folder.job_name(cell).casefold() for cell in cells}) == len(cells)
        assert [folder.read_job(cell) for cell in cells] == [cell.encode() for cell in cells]
        # As earlier releases called it.
        folder.write("jobs/a@H2.json", b"earlier")
        assert folder.read_job("a/H2") == b"earlier"


def test_a_missing_capture_is_one_line(tmp_path: Path) -> None:
    with (
        create(tmp_path / "run") as folder,
        pytest.raises(StorageError, match=r"gone\.pcap: can't be read: No such file"),
    ):
        folder.add_capture("a/b", 0, tmp_path / "gone.pcap")


def test_space_is_checked_before_it_is_needed(tmp_path: Path) -> None:
    with create(tmp_path / "run") as folder:
        folder.check_space(1)
        with pytest.raises(StorageError, match=r"free: the run needs 1000000000000MB"):
            folder.check_space(10**18)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("trace.parquet", b"PAR1 no", r"trace\.parquet: can't be read as Parquet"),
        ("windows.parquet", b"", r"windows\.parquet: can't be read as Parquet"),
        ("summary.json", b"{", r"summary\.json: Invalid JSON"),
        ("summary.json", b"{}", r"summary\.json: scenario: Field required"),
        ("run.json", b'{"version": 2}', r"run\.json: version: Input should be 1"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path, name, content, message) -> None:
    with create(tmp_path / "run") as folder:
        folder.write(name, content)
        with pytest.raises(StorageError, match=message) as caught:
            getattr(folder, f"read_{Path(name).stem}")()
    assert "\n" not in str(caught.value)


def test_one_kind_of_table_is_not_taken_for_the_other(tmp_path: Path) -> None:
    with create(tmp_path / "run") as folder:
        folder.write_windows([])
        folder.write("trace.parquet", folder.read("windows.parquet"))
        with pytest.raises(StorageError, match="is not a netcosim trace"):
            folder.read_trace()


def test_two_runs_of_the_same_rows_are_equal_byte_for_byte(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_folder(tmp_path / name, (SMALL,))
    names = files_below(tmp_path / "one")
    assert names == files_below(tmp_path / "two")
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_default_paths_carry_the_utc_time_and_never_collide(tmp_path: Path) -> None:
    east = timezone(timedelta(hours=9))
    started = datetime(2026, 3, 1, 4, 30, 5, tzinfo=east)
    first = default_path("default", started, tmp_path)
    assert first == tmp_path / "default-20260228T193005Z"
    first.mkdir()
    assert default_path("default", started.astimezone(UTC), tmp_path).name.endswith("05Z-2")


def test_a_refused_run_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="free: the run needs "):
        ResultsFolder.create(tmp_path / "a/b/run", scenario(), needed_bytes=10**18)
    assert list(tmp_path.iterdir()) == []
    with ResultsFolder.create(tmp_path / "a/b/run", scenario()) as folder:
        folder.write("pictures/a.png", b"x")
        folder.withdraw()
    assert list(tmp_path.iterdir()) == []


def test_a_refused_run_leaves_a_folder_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/letter").write_text("dear")
    with pytest.raises(StorageError, match="free: the run needs "):
        ResultsFolder.create(tmp_path / "run", scenario(), needed_bytes=10**18)
    with ResultsFolder.create(tmp_path / "run", scenario()) as folder:
        (tmp_path / "run/link").symlink_to(tmp_path / "other")
        folder.withdraw()
    assert list((tmp_path / "run").iterdir()) == []
    assert (tmp_path / "other/letter").read_text() == "dear"
    ResultsFolder.create(tmp_path / "run", scenario()).close()


def test_a_folder_that_can_not_be_finished_is_taken_back(tmp_path, monkeypatch) -> None:
    def full(self: ResultsFolder, name: str, content: bytes) -> None:
        if name.startswith("schemas/"):
            raise StorageError("full")
        write(self, name, content)

    write = ResultsFolder.write
    monkeypatch.setattr(ResultsFolder, "write", full)
    with pytest.raises(StorageError, match="full"):
        ResultsFolder.create(tmp_path / "a/run", scenario())
    assert list(tmp_path.iterdir()) == []


def test_who_comes_second_to_an_empty_folder_leaves_the_first_alone(tmp_path, monkeypatch) -> None:
    ResultsFolder.create(tmp_path / "run", scenario()).close()
    before = sorted(path.name for path in (tmp_path / "run").rglob("*"))
    monkeypatch.setattr(ResultsFolder, "names", lambda self: [])  # it had looked before
    with pytest.raises(StorageError, match="schemas: can't be created: File exists"):
        ResultsFolder.create(tmp_path / "run", scenario())
    assert sorted(path.name for path in (tmp_path / "run").rglob("*")) == before


def test_a_parent_that_becomes_a_link_leads_nobody_elsewhere(tmp_path: Path) -> None:
    """The report, and the traceback of what fails later, go to the folder that was opened."""
    write_folder(tmp_path / "results/run", (SMALL,))
    write_folder(tmp_path / "victim/run", (SMALL,))
    before = sorted((tmp_path / "victim").rglob("*"))
    site = CrashSite()
    with ResultsFolder.open(tmp_path / "results/run") as folder:
        site.keep(folder)
        (tmp_path / "results").rename(tmp_path / "moved")
        (tmp_path / "results").symlink_to("victim")
        draw_report(folder)
    site.write("what went wrong", "emu.run")
    assert sorted((tmp_path / "victim").rglob("*")) == before
    there = {path.name for path in (tmp_path / "moved/run").iterdir()}
    assert {"report.html", "pictures", "traceback.txt"} <= there


def test_a_hash_of_files_tells_every_change_but_bytecode(tmp_path: Path) -> None:
    (tmp_path / "a" / "deep").mkdir(parents=True)
    file = tmp_path / "a" / "deep" / "one.py"
    file.write_text("x = 1")
    (tmp_path / "b").mkdir()
    seen = [hash_files(tmp_path, ["a"])]
    (tmp_path / "a" / "one.pyc").write_text("bytecode")
    (tmp_path / "b" / "other.py").write_text("elsewhere")
    assert hash_files(tmp_path, ["a"]) == seen[0]
    file.write_text("x = 2")
    seen.append(hash_files(tmp_path, ["a"]))
    file.rename(file.with_name("two.py"))
    seen.append(hash_files(tmp_path, ["a"]))
    (tmp_path / "a" / "data.json").write_text("{}")
    seen.append(hash_files(tmp_path, ["a"]))
    assert len(set(seen)) == len(seen)


def test_versions_have_the_hash_of_the_sources() -> None:
    assert versions(SIMULATION)["sources"] == hash_sources()
    assert len(hash_sources()) == 64
