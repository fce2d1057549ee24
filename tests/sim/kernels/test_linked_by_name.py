"""Kernels that separate processes compiled, loaded side by side: each has functions of its own."""

import os
import subprocess
import sys
from pathlib import Path

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


def said(folder: Path, *steps: int) -> list[str]:
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


def test_each_calls_its_own_functions(tmp_path: Path) -> None:
    one, two = said(tmp_path, 1), said(tmp_path, 2)
    assert one != two
    assert said(tmp_path, 1, 2) == [*one, *two]
    assert said(tmp_path, 2, 1) == [*two, *one]
