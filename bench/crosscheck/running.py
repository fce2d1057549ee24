"""A cell, from one worker's record to the measured runs beside what was sealed before."""

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from bench.common.children import ENDS_WITH_US
from bench.common.record import RESULTS, commit
from bench.crosscheck.attempts import KEPT, Attempt, done_by, keep
from bench.crosscheck.cells import Cell
from bench.crosscheck.listed import described, source_hash
from bench.crosscheck.records import RECORDS, keep_record
from netcosim.scenario import dump_scenario

ROOT: Final = Path(__file__).parents[2]
FOLDERS: Final = RESULTS / ".crosscheck"
"""Results folders, a cell's in one; not kept in the repository."""

_MOST_SAID: Final = 300
_SIDE_BY_SIDE: Final = 2
_TURN: Final = threading.Lock()

Step = tuple[str, Sequence[str]]


def run_missing(
    cells: Sequence[Cell],
    *,
    budget_s: float,
    say: Callable[[str], None],
    path: Path = KEPT,
    folders: Path = FOLDERS,
    records: Path = RECORDS,
) -> None:
    """Run the cells that these sources have not run to the end, until the budget is used up.

    Two cells side by side keep two processors busy, where one has more to do in one of its guests
    than in the others. Those by the machine's own clock come last, one after the other.
    """
    begun, sources = time.monotonic(), source_hash()
    done = done_by(sources, path)
    missing = [cell for cell in cells if cell.name not in done]
    ended = left = 0

    def run(cell: Cell) -> None:
        nonlocal ended, left
        if time.monotonic() - begun > budget_s:
            with _TURN:
                left += 1
            return
        attempt = run_cell(cell, sources, folders / cell.name)
        with _TURN:
            keep(attempt, path)
            if not attempt.failed:
                keep_record(folders / cell.name, records / cell.name)
            ended += 1
            say(f"{ended} of {len(missing)}: {line(attempt)}")

    for together, chosen in (
        (_SIDE_BY_SIDE, [cell for cell in missing if not cell.is_real]),
        (1, [cell for cell in missing if cell.is_real]),
    ):
        with ThreadPoolExecutor(together) as pool:
            list(pool.map(run, chosen))
    if left:
        say(f"the budget of {budget_s:.0f} s is used up; {left} cells are left")


def run_cell(cell: Cell, sources: str, folder: Path) -> Attempt:
    """One attempt; what an earlier one left in the folder is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "scenario.toml").write_text(dump_scenario(cell.scenario()), encoding="utf-8")
    seconds: dict[str, float] = {}
    failed, checked = "", None
    for name, command in _steps(folder):
        begun = time.monotonic()
        failed = _failure(name, command)
        seconds[name] = round(time.monotonic() - begun, 1)
        if failed:
            break
    if not failed:
        try:
            checked = _checked(folder / "checked" / "crosscheck.json")
        except (OSError, ValueError, KeyError) as problem:
            failed = f"check: {problem}"
    return Attempt(
        cell=cell.name,
        properties=described(cell),
        sources=sources,
        commit=commit(),
        seconds=seconds,
        failed=failed,
        checked=checked,
    )


def _steps(folder: Path) -> tuple[Step, ...]:
    record, seal, run = (str(folder / name) for name in ("record", "seal.json", "run"))
    emulate, scenario = "emu.run", str(folder / "scenario.toml")
    checked = str(folder / "checked")
    return (
        ("record", (emulate, "--scenario", scenario, "--only", "1", "--out", record)),
        ("prediction", ("sim.run", "--from", record, "--seal", seal)),
        ("runs", (emulate, "--sealed", seal, "--out", run)),
        ("check", ("ray_sweeps.crosscheck", run, "--out", checked)),
    )


def _failure(name: str, command: Sequence[str]) -> str:
    """Run a step; its last line if it failed."""
    done = subprocess.run(
        [*ENDS_WITH_US, sys.executable, "-P", "-m", *command],
        cwd=ROOT,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    if done.returncode == 0:
        return ""
    said = done.stderr.replace(f"{ROOT}/", "").strip().splitlines()
    last = said[-1][:_MOST_SAID] if said else "no word"
    return f"{name}: exit code {done.returncode}: {last}"


def _checked(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8").replace(f"{ROOT}/", ""))
    (cell,) = found["cells"]
    return dict(cell)


def line(attempt: Attempt) -> str:
    """An attempt's time with its errors, or the command that failed, in a line."""
    taken = f"{sum(attempt.seconds.values()):.0f} s"
    if attempt.checked is None:
        return f"{attempt.cell}: {taken}: failed: {attempt.failed}"
    points = (f"{p['workers']}: {100 * p['error']:+.2f} %" for p in attempt.checked["points"])
    return f"{attempt.cell}: {taken}: {', '.join(points)}"
