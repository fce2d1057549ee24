"""The finder of interpreters, on programs that are not what their names say."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
PATIENCE_S = 1.0


@pytest.fixture
def pythons(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TOOLS))
    import pythons as found

    return found


def program(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def base() -> Path:
    return Path(sys._base_executable).resolve()


ANSWER = {
    "implementation": "CPython",
    "version": [3, 7, 1],
    "bits": 64,
    "threads": "gil",
    "executable": "/bin/sh",
}


def answers(**changed: object) -> str:
    return f"echo '{json.dumps(ANSWER | changed)}'"


def test_a_name_promises_nothing(pythons, tmp_path):
    program(tmp_path / "python3.7", f'exec {base()} "$@"')
    found = pythons.find_pythons([tmp_path])
    [one] = found.interpreters
    assert one.version == sys.version_info[:3]
    assert Path(one.executable) == base()
    assert one.minor == "{}.{}".format(*sys.version_info)
    assert found.rejected == ()


def test_an_environment_leads_to_its_interpreter(pythons, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "v"], check=True)
    found = pythons.find_pythons([tmp_path / "v" / "bin"])
    assert [Path(one.executable) for one in found.interpreters] == [base()]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("exit 127", "ended with exit code 127"),
        ("kill -SEGV $$", "ended with exit code -11"),
        ("echo Python 3.9.1", "does not answer as a Python"),
        ("echo '[3, 9]'", "does not answer as a Python"),
        ("true", "does not answer as a Python"),
        (answers(executable="/nowhere/python3.7"), "does not answer as a Python"),
        (answers(version=[3, 7]), "does not answer as a Python"),
        (answers(version="3.7.1"), "does not answer as a Python"),
        (answers(implementation="PyPy"), "is PyPy, 64 bits, threads: gil"),
        (answers(bits=32), "is CPython, 32 bits, threads: gil"),
        (answers(threads="free"), "is CPython, 64 bits, threads: free"),
    ],
)
def test_what_is_no_use_is_told(pythons, tmp_path, body, reason):
    candidate = program(tmp_path / "python3.9", body)
    found = pythons.find_pythons([tmp_path])
    assert found.interpreters == ()
    [one] = found.rejected
    assert (one.path, one.reason) == (str(candidate), reason)


def test_a_broken_program_is_told(pythons, tmp_path):
    candidate = tmp_path / "python3"
    candidate.write_text("#!/nowhere/interpreter\n")
    candidate.chmod(0o755)
    [one] = pythons.find_pythons([tmp_path]).rejected
    assert one.reason == "does not start: No such file or directory"


def test_one_that_hangs_is_ended_with_its_children(pythons, tmp_path):
    program(tmp_path / "python3.9", f"sleep 1000 & echo $! >{tmp_path}/child; wait")
    program(tmp_path / "python3", f'exec {base()} "$@"')
    found = pythons.find_pythons([tmp_path], PATIENCE_S)
    assert [one.reason for one in found.rejected] == ["did not answer within 1 s"]
    assert len(found.interpreters) == 1
    child = Path("/proc") / (tmp_path / "child").read_text().strip()
    deadline = time.monotonic() + 600
    while child.exists() and "Z" not in (child / "stat").read_text().rpartition(")")[2][:3]:
        assert time.monotonic() < deadline, "its child is still there"
        time.sleep(0.02)


def test_candidates_are_executables_with_a_pythons_name(pythons, tmp_path):
    for name in ("python3-config", "python3.9-dbg.sh", "pythonx", "python2", "python3."):
        program(tmp_path / name, "exit 1")
    (tmp_path / "python3.10").symlink_to("nowhere")
    (tmp_path / "python3.11").mkdir()
    (tmp_path / "python3.12").write_text("no program")
    found = pythons.find_pythons([tmp_path, tmp_path / "missing", tmp_path / "python2"])
    assert (found.interpreters, found.rejected) == ((), ())


def test_an_interpreter_of_many_names_is_asked_once(pythons, tmp_path):
    first = program(tmp_path / "a" / "python3.9", f'echo x >>{tmp_path}/asked; exec {base()} "$@"')
    (tmp_path / "a" / "python3").symlink_to(first)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert len(pythons.find_pythons([tmp_path / "a", tmp_path / "b"]).interpreters) == 1
    assert (tmp_path / "asked").read_text() == "x\n"


def test_a_wrapper_that_goes_by_its_name_is_asked_under_each(pythons, tmp_path):
    wrapper = program(
        tmp_path / "shim", f'case $0 in */python3.9) exit 1 ;; *) exec {base()} "$@" ;; esac'
    )
    for name in ("python3.9", "python3.8"):
        (tmp_path / name).symlink_to(wrapper)
    found = pythons.find_pythons([tmp_path])
    assert (len(found.interpreters), len(found.rejected)) == (1, 1)


def test_newest_comes_first(pythons, tmp_path):
    for minor in (9, 10, 7):
        own = program(tmp_path / f"own{minor}", "exit 1")
        text = answers(version=[3, minor, 2], executable=str(own))
        program(tmp_path / f"python3.{minor}", text)
    found = pythons.find_pythons([tmp_path]).interpreters
    assert [one.minor for one in found] == ["3.10", "3.9", "3.7"]


def test_where_it_looks(pythons, tmp_path, monkeypatch):
    class Caller:
        pw_dir = str(tmp_path / "caller")

    monkeypatch.setattr(pythons.pwd, "getpwnam", lambda name: {"somebody": Caller}[name])
    places = (
        "home/.pyenv/versions/3.9.1/bin",
        "caller/.pyenv/versions/3.7.1/bin",
        "caller/.local/share/uv/python/cpython-3.10/bin",
        "root/versions/3.8.1/bin",
    )
    for place in places:
        (tmp_path / place).mkdir(parents=True)
    folders = pythons.default_folders(
        {
            "PATH": f"{tmp_path}/first{os.pathsep}{os.pathsep}/usr/bin",
            "HOME": str(tmp_path / "home"),
            "PYENV_ROOT": str(tmp_path / "root"),
            "SUDO_USER": "somebody",
        }
    )
    assert folders[0] == tmp_path / "first"
    assert folders.count(Path("/usr/bin")) == 1 and Path("/usr/local/bin") in folders
    assert {tmp_path / place for place in places} <= set(folders)
    nobody = pythons.default_folders({"SUDO_USER": "gone"})
    assert nobody == [Path("/usr/bin"), Path("/usr/local/bin")]
