"""The set-up of the Python environment: when it is made, believed, made anew and left alone."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.tools.project import Project

pytestmark = pytest.mark.soak

MAKING = "making the Python environment"


def snapshot(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in [folder, *folder.rglob("*")]}


def test_the_second_time_it_is_silent_and_touches_nothing(ready):
    before = snapshot(ready.venv)
    second = ready.dev("setup")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert snapshot(ready.venv) == before
    assert ready.pebble() == "1.0"


def test_a_changed_lock_or_a_python_that_is_gone_makes_it_anew(project):
    assert project.dev("setup").returncode == 0
    stray = project.venv / "stray"
    stray.touch()
    with (project.root / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    assert MAKING not in project.dev("setup").stderr
    assert stray.exists()

    project.lock("2.0")
    assert MAKING in project.dev("setup").stderr
    assert project.pebble() == "2.0"
    assert not stray.exists()

    for name in ("python", "python3"):
        link = project.venv / "bin" / name
        link.unlink()
        link.symlink_to("/no/such/python")
    done = project.dev("setup")
    assert (done.returncode, MAKING in done.stderr) == (0, True)
    assert project.pebble() == "2.0"


def test_a_wrong_hash_is_refused_and_not_believed_later(project):
    project.lock_of("plan").write_text(f"pebble==1.0 --hash=sha256:{64 * '0'}\n")
    refused = project.dev("setup")
    assert refused.returncode == 3
    assert "HASHES" in refused.stderr
    assert refused.stderr.splitlines()[-1] == "dev: the locked dependencies could not be installed"
    assert not list(project.venv.glob(".stamp-*"))


def test_what_is_needed_is_added_and_a_plan_needs_the_least(project):
    (project.root / "sim").mkdir()
    (project.root / "sim" / "__init__.py").touch()
    (project.root / "sim" / "run.py").write_text("import sys; print(sys.argv[1:])")
    (project.root / "netcosim").mkdir()
    (project.root / "netcosim" / "__init__.py").write_text('"""About."""\n\n__version__ = "7.5"\n')
    told = project.dev("sim", "--version")
    assert (told.stdout, told.stderr, project.venv.exists()) == ("netcosim 7.5\n", "", False)
    said = project.dev("sim", "--plan", "x")
    assert (said.returncode, said.stdout) == (0, "['--plan', 'x']\n"), said.stderr
    assert MAKING in said.stderr and "(plan: " in said.stderr
    stray = project.venv / "stray"
    stray.touch()
    assert "(base: " in project.dev("sim").stderr
    grown = project.dev("setup", "emu")
    assert "adding to the Python environment" in grown.stderr and "(emu: " in grown.stderr
    assert project.pebble(also="flint") == "1.0"
    assert stray.exists()
    assert project.dev("sim", "--plan").stderr == project.dev("sim").stderr == ""
    refused = project.dev("setup", "moon")
    allowed = "must be one of: plan base emu all dev"
    assert (refused.returncode, refused.stderr) == (2, f"dev: setup: moon: {allowed}\n")


def test_a_set_that_was_half_added_is_made_anew(project):
    assert project.dev("setup", "base").returncode == 0
    right = project.lock_of("emu").read_text()
    project.lock_of("emu").write_text("-r base.lock\nflint==2.0 --hash=sha256:00\n")
    assert project.dev("setup", "emu").returncode == 3
    project.lock_of("emu").write_text(right)
    assert MAKING in project.dev("setup", "base").stderr


def test_a_killed_setup_is_done_again(project):
    for moment in ("bin/python", ".tmp"):
        kill_setup(project, project.venv / moment)
        assert not (project.venv / ".stamp-dependencies").exists()
    half = project.venv / "half"
    half.touch()

    again = project.dev("setup")
    assert again.returncode == 0
    assert MAKING in again.stderr
    assert not half.exists()
    assert project.pebble() == "1.0"


def started(project: Project, **how: Any) -> subprocess.Popen[str]:
    """A set-up that goes on."""
    return subprocess.Popen(
        project.command("setup"), env=project.environment({}), stdin=subprocess.DEVNULL, **how
    )


def kill_setup(project: Project, there: Path) -> None:
    """Kill a set-up as soon as it has made this file."""
    there.unlink(missing_ok=True)
    nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = started(project, process_group=0, **nowhere)
    wait_for(there)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def shim(folder: Path, body: str, *names: str) -> dict[str, str]:
    """An environment in which these programs are found before the machine's own."""
    folder.mkdir()
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def wait_for(path: Path) -> None:
    end = time.monotonic() + 600
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.001)


def test_two_at_once_make_it_once(project):
    both = [started(project, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=600)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum(MAKING in text for text in said) == 1
    assert project.pebble() == "1.0"


def test_another_folder_for_it_relative_to_the_caller(project, tmp_path):
    done = project.dev("setup", cwd=tmp_path, env={"NETCOSIM_VENV": "else where/venv"})
    assert done.returncode == 0, done.stderr
    assert project.pebble(tmp_path / "else where" / "venv") == "1.0"
    assert not project.venv.exists()


def test_a_folder_of_somebody_elses_is_left_alone(project, tmp_path):
    letters = tmp_path / "letters"
    letters.mkdir()
    (letters / "letter").write_text("dear")
    refused = project.dev("setup", env={"NETCOSIM_VENV": str(letters)})
    assert refused.returncode == 3
    assert "holds something else" in refused.stderr
    assert snapshot(letters).keys() == {str(letters), str(letters / "letter")}


def test_a_python_that_does_not_run_is_passed_over(project, tmp_path):
    body = "echo 'no such version' >&2\nexit 127"
    done = project.dev("setup", env=shim(tmp_path / "shims", body, "python3", "python3.13"))
    assert done.returncode == 0, done.stderr
    assert project.pebble() == "1.0"


def test_a_killed_dpkg_query_is_no_list_of_missing_packages(project, tmp_path):
    done = project.dev("setup", env=shim(tmp_path / "shims", "kill -9 $$", "dpkg-query"))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "dev: dpkg-query ended with 137\n"
    assert not project.venv.exists()
