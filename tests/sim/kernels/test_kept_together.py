"""Machine code kept on disk, where several processes need the same kernel at once."""

import subprocess
import sys
from pathlib import Path

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


def test_processes_that_start_together_compile_a_kernel_once(tmp_path: Path) -> None:
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
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    said = []
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in started:
        said.append(process.communicate()[0].strip())
        assert process.returncode == 0
    assert sorted(said) == ["0 1", "1 0", "1 0"]
