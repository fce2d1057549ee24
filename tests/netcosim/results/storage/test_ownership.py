"""Root writes into somebody else's folder: for them, and never through a link they planted."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from netcosim.errors import EnvironmentRefusedError, StorageError
from netcosim.results.folder import ResultsFolder
from netcosim.results.storage.ownership import Owner, calling_user
from tests.netcosim.results.synthetic import scenario
from tests.processes import ended

CALLER = Owner(uid=54321, gid=54322)
CHECKOUT = Path(__file__).parents[4]


def python(code: str, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return ended(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), **variables},
    )


WRITE_ALL = """
    import os, sys
    from pathlib import Path
    from netcosim.report import write_report
    from netcosim.results.storage.ownership import calling_user
    from tests.netcosim.results.synthetic import Case, write_folder
    path = Path(sys.argv[1])
    owner = calling_user(os.environ, os.geteuid())
    write_folder(path, (Case(sizes=(500_000, 300_000), bursts=1),), owner=owner)
    write_report(path, owner)
"""


def test_only_root_called_through_sudo_gives_files_away() -> None:
    sudo = {"SUDO_UID": "1000", "SUDO_GID": "1001", "SUDO_USER": "me"}
    assert calling_user(sudo, 0) == Owner(uid=1000, gid=1001)
    assert calling_user(sudo, 1000) is None
    assert calling_user({}, 0) is None
    assert calling_user({"SUDO_UID": "1000"}, 0) is None


@pytest.mark.parametrize("value", ["", "-1", "me", "4294967295", "1e3", "²"])
def test_a_senseless_caller_is_refused(value: str) -> None:
    with pytest.raises(EnvironmentRefusedError, match="SUDO_UID"):
        calling_user({"SUDO_UID": value, "SUDO_GID": "0"}, 0)


@pytest.mark.root
@pytest.mark.soak
def test_everything_belongs_to_who_called_sudo(tmp_path: Path) -> None:
    done = python(
        WRITE_ALL, tmp_path / "results" / "run", SUDO_UID=str(CALLER.uid), SUDO_GID=str(CALLER.gid)
    )
    assert (done.returncode, done.stderr) == (0, "")
    made = [tmp_path / "results", *(tmp_path / "results").rglob("*")]
    assert tmp_path / "results/run/pictures/mixed8@h2-on.timeline.png" in made
    owners = {str(p.relative_to(tmp_path)): (p.lstat().st_uid, p.lstat().st_gid) for p in made}
    assert {name: o for name, o in owners.items() if o != (CALLER.uid, CALLER.gid)} == {}
    assert tmp_path.stat().st_uid == 0  # what was there before keeps its owner


@pytest.mark.root
def test_a_file_belongs_to_the_caller_while_it_is_written(tmp_path: Path) -> None:
    with ResultsFolder.create(tmp_path / "run", scenario(), CALLER) as folder:
        assert (tmp_path / "run").stat().st_uid == CALLER.uid
        with folder.writing("captures/a.pcap.gz"):
            part = tmp_path / "run/captures/.a.pcap.gz.part"
            assert (part.stat().st_uid, part.stat().st_gid) == (CALLER.uid, CALLER.gid)


@pytest.mark.root
def test_a_planted_link_is_replaced_and_its_target_left_alone(tmp_path: Path) -> None:
    victim = tmp_path / "shadow"
    victim.write_text("secret")
    victim.chmod(0o600)
    with ResultsFolder.create(tmp_path / "run", scenario(), CALLER) as folder:
        for name in ("summary.json", ".summary.json.part"):
            (tmp_path / "run" / name).symlink_to(victim)
        folder.write("summary.json", b"{}")
    assert victim.read_text() == "secret"
    assert (victim.stat().st_uid, victim.stat().st_mode & 0o777) == (0, 0o600)
    assert not (tmp_path / "run" / "summary.json").is_symlink()
    assert (tmp_path / "run" / "summary.json").read_bytes() == b"{}"


@pytest.mark.root
def test_a_planted_link_to_a_folder_is_refused(tmp_path: Path) -> None:
    victim = tmp_path / "etc"
    victim.mkdir()
    with ResultsFolder.create(tmp_path / "run", scenario(), CALLER) as folder:
        (tmp_path / "run" / "captures").symlink_to(victim)
        with pytest.raises(StorageError, match="captures: can't be created"):
            folder.write("captures/a.pcap.gz", b"x")
    assert list(victim.iterdir()) == []
    assert victim.stat().st_uid == 0


@pytest.mark.root
def test_a_folder_swapped_for_a_link_in_mid_run_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    with ResultsFolder.create(tmp_path / "run", scenario(), CALLER) as folder:
        (tmp_path / "run").rename(tmp_path / "moved")
        (tmp_path / "run").symlink_to(victim)
        folder.write("summary.json", b"{}")
    assert list(victim.iterdir()) == []
    assert (tmp_path / "moved" / "summary.json").read_bytes() == b"{}"


@pytest.mark.root
def test_a_planted_folder_or_link_is_not_given_away(tmp_path: Path) -> None:
    with ResultsFolder.create(tmp_path / "run", scenario(), CALLER) as folder:
        (tmp_path / "run" / "pictures").mkdir()  # root's, made by something else
        folder.write("pictures/a.png", b"x")
    assert (tmp_path / "run" / "pictures").stat().st_uid == 0
    assert (tmp_path / "run" / "pictures" / "a.png").stat().st_uid == CALLER.uid


@pytest.mark.root
def test_a_link_or_pipe_is_never_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("{}")
    with ResultsFolder.create(tmp_path / "run", scenario(), CALLER) as folder:
        (tmp_path / "run" / "summary.json").symlink_to(tmp_path / "secret")
        with pytest.raises(StorageError, match=r"summary\.json: can't be read: is a symbolic link"):
            folder.read_summary()
        os.mkfifo(tmp_path / "run" / "run.json")
        with pytest.raises(
            StorageError, match=r"run\.json: can't be read: is a pipe: must be a regular file"
        ):
            folder.read_run()


@pytest.mark.root
def test_an_unwritable_folder_is_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "mine").mkdir(mode=0o755)
    code = """
        import os, sys
        from pathlib import Path
        from netcosim.errors import StorageError
        from netcosim.results.folder import ResultsFolder
        from tests.netcosim.results.synthetic import scenario
        made = scenario()
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        # By descriptor, for parents of the test's folder may be closed to others.
        os.fchdir(int(sys.argv[2]))
        for path in ("mine", "mine/below/run"):
            try:
                ResultsFolder.create(Path(path), made)
            except StorageError as problem:
                print(problem, problem.exit_code)
    """
    place = os.open(tmp_path, os.O_RDONLY)
    try:
        done = ended(
            [sys.executable, "-c", textwrap.dedent(code), "", str(place)],
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            pass_fds=[place],
        )
    finally:
        os.close(place)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all(line.endswith("can't be created: Permission denied 6") for line in lines)
    assert list((tmp_path / "mine").iterdir()) == []


@pytest.mark.root
def test_a_full_disk_is_one_line_and_keeps_what_was_there(tmp_path: Path) -> None:
    inside = """
        import sys
        from pathlib import Path
        from netcosim.errors import StorageError
        from netcosim.results.folder import ResultsFolder
        from tests.netcosim.results.synthetic import scenario
        path = Path(sys.argv[1]) / "run"
        with ResultsFolder.create(path, scenario()) as folder:
            folder.write("run.json", b"small")
            try:
                folder.check_space(10**9)
            except StorageError as problem:
                print(problem)
            try:
                with folder.writing("captures/a.pcap.gz") as file:
                    for _ in range(100):
                        file.write(bytes(100_000))
            except StorageError as problem:
                print(problem, problem.exit_code)
            print(sorted(p.name for p in path.iterdir()), list((path / "captures").iterdir()))
            print(folder.read("run.json"))
            folder.write("summary.json", b"fits")
    """
    script = 'mount -t tmpfs -o size=300k none "$1" && exec "$2" -c "$3" "$1"'
    done = ended(
        [
            *("unshare", "-m", "--propagation", "private", "sh", "-ec", script, "sh"),
            *(str(tmp_path), sys.executable, textwrap.dedent(inside)),
        ],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    space, full, names, kept = done.stdout.splitlines()
    assert space.startswith(f"{tmp_path}/run: ") and space.endswith("free: the run needs 1000MB")
    name = f"{tmp_path}/run/captures/a.pcap.gz"
    assert full == f"{name}: can't be written: No space left on device 6"
    assert names == "['captures', 'run.json', 'scenario.toml', 'schemas'] []"
    assert kept == "b'small'"
    assert list(tmp_path.iterdir()) == []  # the disk was private


@pytest.mark.root
def test_kill_leaves_nothing_outside_and_no_half_file_inside(tmp_path: Path) -> None:
    code = """
        import os, signal, sys
        from pathlib import Path
        from netcosim.results.folder import ResultsFolder
        from tests.netcosim.results.synthetic import scenario
        with ResultsFolder.create(Path(sys.argv[1]), scenario()) as folder:
            folder.write("run.json", b"{}")
            with folder.writing("trace.parquet") as file:
                file.write(bytes(100_000))
                file.flush()
                os.kill(os.getpid(), signal.SIGKILL)
    """
    done = python(code, tmp_path / "results" / "run")
    assert done.returncode == -9
    assert [p.name for p in tmp_path.iterdir()] == ["results"]
    left = {p.name for p in (tmp_path / "results" / "run").iterdir()}
    assert left == {"run.json", "scenario.toml", "schemas", ".trace.parquet.part"}
    with ResultsFolder.open(tmp_path / "results" / "run") as folder:
        assert folder.read_trace() == ()
