"""Environments of gRPC releases, built offline from a wheel that only looks like grpcio."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.tools.project import make_wheel

TOOLS = Path(__file__).resolve().parents[2] / "tools"
STAMP = "netcosim-grpc-release.json"
OWN = "{}.{}".format(*sys.version_info)

# As much of grpcio as the trial of a new environment asks for.
GRPC = """
class _Any:
    def __getattr__(self, name): return lambda *args, **kw: self
    def __call__(self, *args, **kw): return self
    def __index__(self): return 1
server = insecure_channel = channel_ready_future = _Any()
"""


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """The tool alone, with a lock of its own and a folder of wheels."""

    root: Path

    @property
    def wheels(self) -> Path:
        return self.root.parent / "wheels"  # pip splits its settings at spaces

    @property
    def folder(self) -> Path:
        return self.root / ".grpc-releases"

    def wheel(self, release: str, body: str = GRPC, name: str = "grpcio") -> str:
        """Make a wheel; its digest."""
        made = self.wheels / f"{name}-{release}-py3-none-any.whl"
        make_wheel(made, name, release, f"{name.removesuffix('io')}/__init__.py", body or "\n")
        return hashlib.sha256(made.read_bytes()).hexdigest()

    def lock(self, **releases: tuple[str, str]) -> None:
        """Releases as r1_2_3 = (Python, digest)."""
        text = ""
        for key, (python, digest) in releases.items():
            release = key.lstrip("r").replace("_", ".")
            wanted = f"grpcio=={release} --hash=sha256:{digest}"
            text += f'["{release}"]\npythons = ["{python}"]\nrequirements = ["{wanted}"]\n'
        (self.root / "tools" / "grpc-releases.toml").write_text(text)

    def start(self, *args: str, **variables: str) -> subprocess.Popen[str]:
        program = str(self.root / "tools" / "grpc_releases.py")
        environ = {
            "PATH": os.defpath,
            "HOME": str(self.root),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheels),
            "PIP_CONFIG_FILE": os.devnull,
        }
        return subprocess.Popen(
            [sys.executable, program, *args],
            env=environ | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *args: str, **variables: str) -> tuple[int, list[str], list[str]]:
        process = self.start(*args, **variables)
        out, errors = process.communicate(timeout=100)
        return process.returncode, out.splitlines(), errors.splitlines()

    def runs(self, release: str) -> str:
        """The release that an environment's own Python finds."""
        done = subprocess.run(
            [self.folder / release / "bin" / "python", "-I", "-c", _TELL],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def leftovers(self) -> list[str]:
        return [path.name for path in self.folder.iterdir() if path.name.startswith(".building")]


_TELL = "import grpc, importlib.metadata as m; print(m.version('grpcio'))"


def make_checkout(folder: Path) -> Checkout:
    made = Checkout(root=folder / "check out")
    made.root.mkdir()
    made.wheels.mkdir()
    shutil.copytree(TOOLS, made.root / "tools")
    return made


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return make_checkout(tmp_path)


def rows(out: list[str]) -> dict[str, tuple[str, str]]:
    assert out[0].split() == ["release", "Python", "state"]
    split = [line.split(None, 2) for line in out[1:]]
    return {release: (python, state) for release, python, state in split}


def own_python(checkout: Checkout) -> Mapping[str, str]:
    """A PATH on which the interpreter of this very test is found."""
    folder = checkout.root / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / "python3"
    program.write_text(f'#!/bin/sh\necho x >>"{folder}/asked"\nexec {sys._base_executable} "$@"\n')
    program.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.defpath}"}


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    made = make_checkout(tmp_path_factory.mktemp("built"))
    made.lock(r1_2_3=(OWN, made.wheel("1.2.3")))
    code, out, errors = made.run(**own_python(made))
    assert (code, errors) == (0, [])
    python, state = rows(out)["1.2.3"]
    assert (python.rpartition(".")[0], state) == (OWN, "ready")
    assert (made.root / "bin" / "asked").exists()
    return made


@pytest.fixture
def built(built_once: Checkout, tmp_path: Path) -> Checkout:
    """A copy, to be spoilt."""
    shutil.copytree(built_once.root.parent, tmp_path, symlinks=True, dirs_exist_ok=True)
    return Checkout(root=tmp_path / "check out")


@pytest.mark.soak
def test_an_environment_has_its_release_and_nothing_of_ours(built: Checkout) -> None:
    assert built.runs("1.2.3") == "1.2.3"
    ours = subprocess.run(
        [built.folder / "1.2.3" / "bin" / "python", "-c", "import numpy"],
        capture_output=True,
        check=False,
    )
    assert b"ModuleNotFoundError" in ours.stderr
    assert built.leftovers() == []
    inside = {path.name for path in built.root.iterdir()}
    assert inside == {"tools", "bin", ".grpc-releases"}  # nothing else was touched


def test_the_second_time_nobody_is_asked(built: Checkout) -> None:
    shutil.rmtree(built.wheels)
    asked = (built.root / "bin" / "asked").read_text()
    code, out, errors = built.run(**own_python(built))
    assert (code, errors) == (0, [])
    assert rows(out)["1.2.3"][1] == "ready"
    assert (built.root / "bin" / "asked").read_text() == asked
    assert built.run("--quiet", **own_python(built)) == (0, [], [])


def test_a_missing_interpreter_is_no_failure_unless_it_was_asked_for(checkout: Checkout) -> None:
    checkout.lock(r1_2_3=("2.1", "0" * 64))
    code, out, errors = checkout.run()
    assert (code, errors) == (0, [])
    assert rows(out)["1.2.3"] == ("-", "not run: no Python 2.1 on this machine")
    code, _, errors = checkout.run("1.2.3")
    assert code == 3
    assert errors == ["dev: grpcio 1.2.3: no Python 2.1 on this machine"]
    assert (checkout.folder / "1.2.3.not-ready").read_text() == "no Python 2.1 on this machine\n"


@pytest.mark.soak
def test_a_release_that_is_not_locked_is_tried_with_what_is_there(checkout: Checkout) -> None:
    checkout.lock()
    checkout.wheel("1.2.4")
    checkout.wheel("60.0", "", "setuptools")  # up to 3.11 environments used to have it
    code, out, _ = checkout.run("1.2.4", **own_python(checkout))
    assert code == 0
    assert rows(out)["1.2.4"][1] == "ready"
    assert checkout.runs("1.2.4") == "1.2.4"
    code, _, errors = checkout.run("1.2.5", **own_python(checkout))
    assert code == 3
    assert len(errors) == 1
    assert errors[0].startswith("dev: grpcio 1.2.5: Python ")
    assert errors[0].endswith(": No matching distribution found for grpcio==1.2.5")


@pytest.mark.soak
def test_a_python_that_can_not_make_an_environment_is_passed_over(checkout: Checkout) -> None:
    checkout.lock(r1_2_3=(OWN, checkout.wheel("1.2.3")))
    variables = own_python(checkout)
    liar = checkout.root / "bin" / "python3.99"
    said = {
        "implementation": "CPython",
        "version": [*sys.version_info[:2], 99],
        "bits": 64,
        "threads": "gil",
        "executable": str(liar),
    }
    liar.write_text(f"#!/bin/sh\n[ \"$2\" = -c ] || exit 7\necho '{json.dumps(said)}'\n")
    liar.chmod(0o755)
    code, out, errors = checkout.run(**variables)
    assert (code, errors) == (0, [])
    python, state = rows(out)["1.2.3"]
    assert (python.rpartition(".")[0], state) == (OWN, "ready")
    liar.unlink()
    assert checkout.runs("1.2.3") == "1.2.3"


@pytest.mark.soak
def test_a_registry_that_does_not_answer_is_told_as_such(checkout: Checkout) -> None:
    checkout.lock()
    away = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1", "PIP_NO_INDEX": "0"}
    code, _, errors = checkout.run("1.2.3", **own_python(checkout), **away)
    assert (code, errors) == (3, ["dev: grpcio 1.2.3: the package registry does not answer"])


@pytest.mark.parametrize("name", ["1", "1.2.3/..", "../x", "1.2.3;true", "v1.2.3", "newest"])
def test_what_is_no_release_is_refused(checkout: Checkout, name: str) -> None:
    checkout.lock()
    code, out, errors = checkout.run("--", name)
    assert (code, out) == (2, [])
    assert f"{name}: not a release of grpcio" in errors[-1]
    assert not checkout.folder.exists()


@pytest.mark.soak
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise SystemError('no such symbol')", "SystemError: no such symbol"),
        ("import os; os._exit(9)", "python ended with 9"),
        (GRPC.replace("server = ", "other = "), "has no attribute 'server'"),
        (GRPC + "from types import SimpleNamespace as aio\n", "has no attribute 'server'"),
    ],
)
def test_what_does_not_work_is_not_ready(checkout: Checkout, body: str, reason: str) -> None:
    checkout.lock(r1_2_3=(OWN, checkout.wheel("1.2.3", body)))
    code, _, errors = checkout.run(**own_python(checkout))
    assert (code, len(errors)) == (3, 1)
    assert errors[0].startswith("dev: grpcio 1.2.3: ") and errors[0].endswith(reason)
    assert not (checkout.folder / "1.2.3").exists()
    assert checkout.leftovers() == []


@pytest.mark.soak
def test_another_wheel_than_the_locked_one_is_refused(checkout: Checkout) -> None:
    checkout.wheel("1.2.3")
    checkout.lock(r1_2_3=(OWN, "0" * 64))
    code, _, errors = checkout.run(**own_python(checkout))
    assert (code, len(errors)) == (3, 1)
    assert "PACKAGES DO NOT MATCH THE HASHES" in errors[0]
    assert not (checkout.folder / "1.2.3").exists()


@pytest.mark.soak
def test_a_killed_build_is_done_again(checkout: Checkout) -> None:
    mark = checkout.root / "importing"
    slow = f"open({str(mark)!r}, 'w').close()\nimport time\ntime.sleep(1000)"
    checkout.lock(r1_2_3=(OWN, checkout.wheel("1.2.3", slow)))
    process = checkout.start(**own_python(checkout))
    deadline = time.monotonic() + 600
    while not mark.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert checkout.leftovers() != []
    assert not (checkout.folder / "1.2.3").exists()
    checkout.lock(r1_2_3=(OWN, checkout.wheel("1.2.3")))
    code, out, _ = checkout.run(**own_python(checkout))
    assert (code, rows(out)["1.2.3"][1]) == (0, "ready")
    assert checkout.leftovers() == []


def spoil_stamp(environment: Path) -> None:
    stamp = environment / STAMP
    stamp.write_text(json.dumps(json.loads(stamp.read_text()) | {"release": "1.2.2"}))


def cut_stamp(environment: Path) -> None:
    (environment / STAMP).write_text((environment / STAMP).read_text()[:20])


def lose_python(environment: Path) -> None:
    (environment / "bin" / "python").unlink()
    (environment / "bin" / "python").symlink_to("/nowhere/python")


@pytest.mark.soak
@pytest.mark.parametrize("spoil", [spoil_stamp, cut_stamp, lose_python])
def test_an_environment_is_believed_only_as_it_was_built(built: Checkout, spoil) -> None:
    spoil(built.folder / "1.2.3")
    code, out, errors = built.run(**own_python(built))
    assert (code, errors, rows(out)["1.2.3"][1]) == (0, [], "ready")
    assert built.runs("1.2.3") == "1.2.3"
    assert built.leftovers() == []


@pytest.mark.soak
def test_two_at_once_build_once(checkout: Checkout) -> None:
    checkout.lock(r1_2_3=(OWN, checkout.wheel("1.2.3")))
    both = [checkout.start(**own_python(checkout)) for _ in range(2)]
    said = [process.communicate(timeout=100) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert [rows(out.splitlines())["1.2.3"][1] for out, _ in said] == ["ready", "ready"]
    assert len([path for path in checkout.folder.iterdir() if path.is_dir()]) == 1


def test_a_folder_that_can_not_be_made_is_one_line(checkout: Checkout) -> None:
    checkout.lock(r1_2_3=(OWN, "0" * 64))
    (checkout.root / "file").write_text("")
    code, _, errors = checkout.run(NETCOSIM_GRPC_RELEASES=str(checkout.root / "file" / "x"))
    assert code == 3
    assert errors == [f"dev: {checkout.root}/file/x: Not a directory"]
