"""Compiled kernels are kept by the text that they were made of, and nowhere else."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.added import LARGEST, copy_with_added_files
from tests.sim.cli.started import FAST, NO_POWERS, ROOT, run

PACKAGES = ("netcosim", "h2model", "sim", "topo")

# Three streams of a connection; prints the order in which the compiled discipline serves them.
TINY = """
import numpy as np
import sim
from h2model import disciplines
from h2model.state import CONNECTION_CREDIT, State, empty_state, enter, number_arrival
from sim.kernels.compiled import binding, compile_kernel
rule = disciplines.load("largest_first")
select = compile_kernel(rule.select, "largest_first", *binding("largest_first", "equal"))
s = State(*(np.array(each, dtype=np.int64) for each in empty_state(3, [16384])))
rule.start(s)
s.shared[CONNECTION_CREDIT] = 10**6
for i, size in enumerate((2000, 1000, 3000)):
    enter(s, i, 10**6, 0)
    s.left[i] = size
    number_arrival(s, i)
    rule.enqueued(s, i, 0)
print(sim.__file__)
print("".join("abc"[select(s, 10**6, 0)[0]] for _ in range(3)))
"""

SMALLEST = LARGEST.replace(">", "<")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The packages with a discipline of which only its file says anything."""
    return copy_with_added_files(tmp_path)


def order_of_service(copy: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", TINY],
        cwd=copy,
        env={
            **os.environ,
            "PYTHONPATH": str(copy),
            "NETCOSIM_KERNELS": str(copy / "kernels"),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    where, order = done.stdout.split()
    assert where == str(copy / "sim" / "__init__.py")
    return order


def kept(copy: Path) -> dict[Path, tuple[int, bytes]]:
    """Every file of the cache, its content and when it was written."""
    files = [path for path in (copy / "kernels").rglob("*") if path.is_file()]
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


@pytest.mark.oracle
def test_a_change_of_a_discipline_is_seen_and_nothing_is_compiled_twice(copy: Path) -> None:
    assert order_of_service(copy) == "cab"
    first = kept(copy)
    assert first
    assert order_of_service(copy) == "cab"
    assert kept(copy) == first
    rule = copy / "h2model/disciplines/largest_first.py"
    text = rule.read_text()
    assert text.count(LARGEST) == 1
    before = rule.stat()
    rule.write_text(text.replace(LARGEST, SMALLEST))
    os.utime(rule, ns=(before.st_atime_ns, before.st_mtime_ns))  # its text counts, not its age
    assert order_of_service(copy) == "bac"
    both = kept(copy)
    assert len(both) > len(first)
    assert both | first == both
    rule.write_text(text)
    assert order_of_service(copy) == "cab"
    assert kept(copy) == both
    strays = [path for path in copy.rglob("*.nb[ic]") if copy / "kernels" not in path.parents]
    assert strays == []


@pytest.mark.oracle
def test_who_has_no_cache_folder_compiles_for_once(tmp_path: Path) -> None:
    """Not root, and a home that can't be written: no kernel is left anywhere."""
    (tmp_path / "job.toml").write_text(FAST)
    home, temporary, work = (tmp_path / name for name in ("home", "tmp", "work"))
    temporary.mkdir()
    work.mkdir()
    home.mkdir(mode=0o555)
    before = strays_beside_the_sources()
    done = run(
        *("--scenario", str(tmp_path / "job.toml"), "--trace-steps", "0", "--out", "out"),
        *("--servers", "2", "--share", "max_min"),  # one kernel, where others take two
        cwd=work,
        environ={
            "HOME": str(home),
            "XDG_CACHE_HOME": "",
            "NETCOSIM_KERNELS": "",
            "TMPDIR": str(temporary),
            "MPLCONFIGDIR": "",
        },
        prefix=NO_POWERS,
    )
    assert done.code == 0, done.err
    assert "the cache folder can't be written" in done.err.splitlines()[0]
    summary: Any = json.loads((work / "out/summary.json").read_text())
    assert summary["complete"] is True
    assert list(home.iterdir()) == []
    assert list(temporary.rglob("*.nb[ic]")) == []
    assert [path.name for path in temporary.iterdir() if path.name.startswith("netcosim")] == []
    assert strays_beside_the_sources() == before


def strays_beside_the_sources() -> set[Path]:
    return {path for name in PACKAGES for path in (ROOT / name).rglob("*.nb[ic]")}
