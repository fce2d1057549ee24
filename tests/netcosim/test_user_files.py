"""Files that a user names: regular ones alone, within a bound, and never waited for."""

import json
import os
import socket
from pathlib import Path

import pytest

from netcosim import user_files
from netcosim.errors import ScenarioError, StorageError
from netcosim.results.collection import RUNS, Collection
from netcosim.results.folder import ResultsFolder
from netcosim.scenario import parse_scenario, read_scenario
from netcosim.training.stragglers.trace_file import read_trace
from netcosim.user_files import FileKind, open_regular, read_all, read_text, write_text
from netcosim.workload import parse_profile
from netcosim.workload.profile_import import import_profile
from tests.netcosim.results.synthetic import scenario
from tests.netcosim.workload.profiles import plain
from tests.snapshots import refusal

SHORT = FileKind(name="a note", most_bytes=10)


def test_a_file_within_its_bound_is_read(tmp_path: Path) -> None:
    (tmp_path / "note").write_bytes("ä\r\nb\rc\nd".encode())
    (tmp_path / "link").symlink_to("note")
    assert read_text(tmp_path / "link", SHORT) == "ä\nb\nc\nd"
    with open_regular(tmp_path / "note") as file:
        assert len(read_all(file, SHORT)) == 9


def test_a_bound_is_no_request_for_memory(tmp_path: Path) -> None:
    """What is asked for is allocated, however little there is to be read."""
    (tmp_path / "note").write_bytes(b"short")
    endless = FileKind(name="a note", most_bytes=1 << 60)
    with open_regular(tmp_path / "note") as file:
        assert read_all(file, endless) == b"short"


def test_a_file_that_does_not_tell_its_length_is_read_to_its_end() -> None:
    """As one that grows while it is read: all of it, not what one reading gives."""
    with open_regular("/proc/self/smaps") as file:
        content = read_all(file, FileKind(name="a note", most_bytes=1 << 28))
    assert len(content) > 1 << 16
    assert content.splitlines()[-1].startswith(b"VmFlags:")


def test_a_file_above_its_bound_is_refused_unread(tmp_path: Path) -> None:
    (tmp_path / "note").write_bytes(b"")
    os.truncate(tmp_path / "note", 1 << 40)
    with pytest.raises(OSError, match="1099511627776 bytes: a note may have 10"):
        read_text(tmp_path / "note", SHORT)


def test_a_file_that_does_not_tell_its_length_is_read_up_to_the_bound() -> None:
    """As those of /proc, which say that they are empty."""
    with pytest.raises(OSError, match="11 bytes or more: a note may have 10"):
        read_text(Path("/proc/self/status"), SHORT)


def test_a_name_that_no_file_can_have() -> None:
    with pytest.raises(OSError, match="not a file name"):
        read_text(Path("a\0b"), SHORT)


def test_a_pipe_without_a_reader_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device or address"):
        write_text(tmp_path / "pipe", "text")
    write_text(tmp_path / "note", "long text")
    write_text(tmp_path / "note", "text \udcff")
    assert (tmp_path / "note").read_text() == "text \\udcff"


def test_a_key_of_many_parts_is_refused_at_once() -> None:
    for text in ("a." * 200_000 + "a = 1", "[" + '"a" . ' * 200_000 + "a]"):
        with pytest.raises(ScenarioError, match="job: not TOML: nested too deeply"):
            parse_scenario(text, "job")
    with pytest.raises(ScenarioError, match="job: not TOML: Expected '='"):
        parse_scenario("a" * 1_000_000, "job")


def test_a_key_of_any_length_is_named_by_its_beginning() -> None:
    for text in ("k" * 200_000 + " = 1", "[cluster]\n" + "k" * 200_000 + " = 1"):
        with pytest.raises(ScenarioError, match=r"job: .*kkk \.\.\. kkk.*: unknown key") as caught:
            parse_scenario(text, "job")
        assert len(str(caught.value)) < 1000
    with pytest.raises(ScenarioError, match=r"profile: kkk.* \.\.\. kkk.*: unknown key") as caught:
        parse_profile(json.dumps({**plain(), "k" * 200_000: 1}))
    assert len(str(caught.value)) < 1000


def other_kinds(folder: Path) -> dict[str, Path]:
    """A path for each kind of file that is not regular, by what is said of it."""
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(os.path.relpath(folder / "socket"))
    return {
        "Is a directory": folder,
        "is a pipe: must be a regular file": folder / "pipe",
        "is a socket: must be a regular file": folder / "socket",
        "is a device: must be a regular file": Path("/dev/zero"),
    }


@pytest.mark.parametrize("read", [read_scenario, import_profile, read_trace])
def test_inputs_that_are_no_regular_files(tmp_path: Path, read: object) -> None:
    for said, path in other_kinds(tmp_path).items():
        assert refusal(read, path) == f"{path}: can't be read: {said}"


def test_inputs_that_are_too_large(tmp_path: Path) -> None:
    for read, kind in (
        (read_scenario, user_files.SCENARIO),
        (import_profile, user_files.PROFILE),
        (read_trace, user_files.SPEED_TRACE),
    ):
        path = tmp_path / "large"
        path.touch()
        os.truncate(path, kind.most_bytes + 1)
        said = f"{kind.most_bytes + 1} bytes: {kind.name} may have {kind.most_bytes}"
        assert refusal(read, path) == f"{path}: can't be read: {said}"


def test_files_of_results_that_are_no_regular_ones_or_too_large(tmp_path: Path) -> None:
    with ResultsFolder.create(tmp_path / "run", scenario()) as folder:
        os.mkfifo(tmp_path / "run/trace.parquet")
        (tmp_path / "run/run.json").touch()
        os.truncate(tmp_path / "run/run.json", 1 << 40)
        with pytest.raises(StorageError, match=r"trace\.parquet: can't be read: is a pipe: must"):
            folder.read_trace()
        with pytest.raises(StorageError, match=r"run\.json: can't be read: 1099511627776 bytes: "):
            folder.read_run()
    os.mkfifo(tmp_path / RUNS)
    with pytest.raises(StorageError, match=r"runs\.parquet: can't be read: is a pipe: must"):
        Collection(path=tmp_path).names()


def test_a_table_of_too_many_values_is_refused_unread(tmp_path, monkeypatch) -> None:
    with ResultsFolder.create(tmp_path / "run", scenario(), world="sim") as folder:
        folder.write_steps([])
        assert len(folder.read_steps().worker) == 0
        monkeypatch.setattr("netcosim.results.storage.parquet.MOST_VALUES", -1)
        with pytest.raises(StorageError, match=r"steps\.parquet: 0 values: a table may have -1"):
            folder.read_steps()
