"""Machine code damaged on the disk is compiled again; a full disk keeps none and ends nothing."""

import gc
import importlib
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sim.kernels import kept
from sim.kernels.compiled import compile_kernel, kernel_folder
from tests.inside import ROOT


def seven_times(x: int) -> int:
    return 7 * x


def compiled() -> Callable[..., int]:
    """A kernel that is compiled in a moment, as the engines' are."""
    return compile_kernel(seven_times, "small", {}, {})


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache in which the kernel is kept."""
    monkeypatch.setenv("NETCOSIM_KERNELS", str(tmp_path / "kernels"))
    assert compiled()(6) == 42
    assert sorted(path.suffix for path in files(tmp_path)) == [".nbc", ".nbi"]
    return tmp_path


def files(cache: Path) -> list[Path]:
    found = (cache / "kernels").rglob("*")
    return [path for path in found if not path.is_dir() and path.suffix != ".lock"]


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    lines = [record.getMessage() for record in caplog.records]
    caplog.clear()
    return lines


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "of no length": lambda path: os.truncate(path, 0),
    "cut": cut,
    "a bit": flip,
    "garbage": lambda path: path.write_bytes(os.urandom(4096)),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"more"),
    "a pipe": pipe,
}


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_file_is_made_anew_with_one_line(cache, caplog, suffix, damage):
    caplog.set_level(logging.WARNING)
    [path] = [path for path in files(cache) if path.suffix == suffix]
    damage(path)
    assert compiled()(6) == 42
    [line] = said(caplog)
    assert line.startswith(f"kernel cache: {path}: ") and line.endswith(": compiled again")
    assert path.is_file()
    whole = {path: path.read_bytes() for path in files(cache)}
    assert compiled()(6) == 42
    assert said(caplog) == []
    assert {path: path.read_bytes() for path in files(cache)} == whole


def test_the_project_at_another_place_finds_what_was_compiled(tmp_path, monkeypatch):
    """As on a machine of a cluster, to which the sources are sent again and again."""
    monkeypatch.setenv("NETCOSIM_KERNELS", str(tmp_path / "kernels"))
    found = []
    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        source = tmp_path / place / "small_kernel.py"
        source.write_text("def seven_times(x: int) -> int:\n    return 7 * x\n")
        monkeypatch.setattr(kept, "_ROOT", tmp_path / place)
        with monkeypatch.context() as at_this_place:
            at_this_place.syspath_prepend(tmp_path / place)
            at_this_place.delitem(sys.modules, "small_kernel", raising=False)
            function = importlib.import_module("small_kernel").seven_times
            assert compile_kernel(function, "small", {}, {})(6) == 42
        found.append({path: path.stat().st_mtime_ns for path in files(tmp_path)})
        del function
        gc.collect()  # as in a new process, nothing of the first kernel is left
    assert len(found[0]) == 2 and found[0] == found[1]


def test_an_object_that_is_gone_is_compiled_again(cache, caplog):
    [path] = [path for path in files(cache) if path.suffix == ".nbc"]
    path.unlink()
    assert compiled()(6) == 42
    assert path.is_file()
    assert said(caplog) == []


def test_a_folder_in_an_index_s_place_is_told_and_left_alone(cache, caplog):
    [path] = [path for path in files(cache) if path.suffix == ".nbi"]
    path.unlink()
    path.mkdir()
    (path / "letter").write_text("dear")
    assert compiled()(6) == 42
    lines = said(caplog)
    assert lines and all(line.startswith("kernel cache: ") for line in lines)
    assert (path / "letter").read_text() == "dear"


def test_a_part_of_the_cache_that_can_not_be_written_is_done_without(cache, caplog):
    """And numba's other places, beside the sources, stay as they are."""
    below = files(cache)[0].parent
    shutil.rmtree(below)
    below.write_text("no folder")
    assert compiled()(6) == 42
    [line] = said(caplog)
    assert line.startswith("kernel cache: can't be used: ")
    assert list(Path(__file__).parent.rglob("*.nb[ic]")) == []


def test_without_any_cache_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("NETCOSIM_KERNELS", raising=False)
    (tmp_path / "home").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert kernel_folder() is None
    assert compiled()(6) == 42
    assert list(Path(__file__).parent.rglob("*.nb[ic]")) == []


FULL = """
import os, sys
from tests.sim.kernels.test_kept import compiled
cache = os.environ["NETCOSIM_KERNELS"]
with open(cache + "/filler", "wb", buffering=0) as file:
    try:
        while file.write(bytes(1 << 12)): pass
    except OSError:
        pass
print(compiled()(6))
os.unlink(cache + "/filler")
print(compiled()(6), compiled()(6))
print(sorted(name[-4:] for _, _, names in os.walk(cache) for name in names if '.n' in name))
"""


@pytest.mark.root
@pytest.mark.oracle
def test_a_full_disk_keeps_nothing_and_ends_nothing(tmp_path):
    script = 'mount -t tmpfs -o size=200k none "$1" && exec "$2" -c "$3"'
    done = subprocess.run(
        [
            *("unshare", "-m", "--propagation", "private", "sh", "-ec", script, "sh"),
            *(str(tmp_path), sys.executable, FULL),
        ],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NETCOSIM_KERNELS": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "42\n42 42\n['.nbc', '.nbi']\n"
    [line] = done.stderr.splitlines()
    assert line.startswith(f"kernel cache: {tmp_path}/")
    assert line.endswith(": can't be written: No space left on device: not kept")


_KERNEL = """
import sys
import numba
from sim.kernels.kept import keep


def kernel(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


numba.config.CACHE_DIR = sys.argv[1]
compiled = keep(numba.njit(kernel))
print("ready", flush=True)
sys.stdin.readline()
assert compiled(4) == 14
hits, misses = compiled.stats.cache_hits, compiled.stats.cache_misses
print(sum(hits.values()), sum(misses.values()))
"""


@pytest.mark.oracle
def test_processes_that_start_together_compile_a_kernel_once(tmp_path):
    script = tmp_path / "kernel.py"
    script.write_text(_KERNEL)
    started = [
        subprocess.Popen(
            [sys.executable, str(script), str(tmp_path / "cache")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": str(Path(__file__).parents[3])},
        )
        for _ in range(3)
    ]
    for process in started:
        assert process.stdout.readline() == "ready\n"
    said = []
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in started:
        said.append(process.communicate()[0].strip())
        assert process.returncode == 0
    assert sorted(said) == ["0 1", "1 0", "1 0"]


_KERNELS = """
import sys

import numpy as np

from sim.kernels import inlining
from sim.kernels.compiled import compile_kernel

inlining.MOST_INSTRUCTIONS = 100
STEP = 0


def mixed(values, n):
    total = STEP
    for i in range(n):
@MANY@
    return total


def kernel(values):
    return mixed(values, 3) + mixed(values, 2) - mixed(values, 1)


for step in map(int, sys.argv[1:]):
    compiled = compile_kernel(kernel, f"by_{step}", {}, {"STEP": step}, at_once=True)
    print(int(compiled(np.arange(100))))
"""


_LINE = "        values[{0}] = total % {1} + values[{2}] * STEP; total += values[{0}] // 3 - i"


def script() -> str:
    """One function is too long to be put where it is called, and is linked."""
    line = (_LINE.format(i, 2 + i % 41, 7 * i % 100) for i in range(25))
    return _KERNELS.replace("@MANY@", "\n".join(line))


def printed(folder: Path, *steps: int) -> list[str]:
    """Results of the kernels with these steps, one process having loaded them in this order."""
    path = folder / "kernels.py"
    path.write_text(script())
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, str(path), *map(str, steps)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": root, "NETCOSIM_KERNELS": str(folder / "cache")},
    )
    return done.stdout.split()


@pytest.mark.oracle
def test_each_calls_its_own_functions(tmp_path):
    one, two = printed(tmp_path, 1), printed(tmp_path, 2)
    assert one != two
    assert printed(tmp_path, 1, 2) == [*one, *two]
    assert printed(tmp_path, 2, 1) == [*two, *one]
