"""Runs of the cells that have no observation yet, group by group."""

import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.common.children import ENDS_WITH_US
from bench.fidelity.listing import Listed, scenario_of
from bench.fidelity.store import Store
from emu.plan import make_plan, on_this_machine
from netcosim.errors import StorageError
from netcosim.results.folder import ResultsFolder
from netcosim.scenario import dump_scenario

ROOT: Final = Path(__file__).parent.parent.parent


def run_missing(
    cells: Iterable[Listed],
    store: Store,
    *,
    budget_s: float,
    say: Callable[[str], None],
    retry: bool = False,
    renew: bool = False,
    anew: bool = False,
) -> None:
    """Run what is missing, in the order of the list, until the budget is used up.

    A cell that was run once is done, whatever came out: with `retry` those with fewer valid bursts
    than were asked for are run again, with `renew` those that an older release observed, which did
    not look at what links lose, with `anew` all. A group that is begun is ended. What a run leaves
    is kept at once, so nothing is lost when this is killed.
    """
    begin = time.monotonic()
    for group, members in itertools.groupby(cells, key=lambda c: c.group):
        missing = [
            cell
            for cell in members
            if anew
            or not store.has(cell)
            or (retry and store.valid_bursts(cell) < cell.repetitions)
            or (renew and not store.knows_lost_time(cell))
        ]
        if not missing:
            continue
        if time.monotonic() - begin > budget_s:
            say(f"the budget of {budget_s:.0f} s is used up before {group}")
            return
        absent = lacking(missing)
        store.note_not_run(absent)
        for key, reason in absent.items():
            say(f"{key}: not run: {reason}")
        for line in _run_group([c for c in missing if c.key not in absent], store):
            say(line)


def lacking(cells: Sequence[Listed]) -> dict[str, str]:
    """Reasons why this machine can't run some cells of a group, by their keys."""
    plan = on_this_machine(make_plan(scenario_of(cells)))
    reasons = {each.transport: each.reason for each in plan.not_run}
    return {c.key: reasons[c.transport] for c in cells if c.transport in reasons}


def _run_group(cells: Sequence[Listed], store: Store) -> Iterator[str]:
    if not cells:
        return
    begin = time.monotonic()
    with _working_folder(store) as folder:
        path, out = folder / "scenario.toml", folder / "out"
        path.write_text(dump_scenario(scenario_of(cells)), encoding="utf-8")
        done = subprocess.run(
            [
                *ENDS_WITH_US,
                sys.executable,
                "-P",
                "-m",
                "emu.run",
                "--scenario",
                os.path.relpath(path, ROOT),  # it goes into what is committed
                "--out",
                os.path.relpath(out, ROOT),
            ],
            cwd=ROOT,
            check=False,
            capture_output=True,
            text=True,
        )
        said = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        yield f"{cells[0].group}: {time.monotonic() - begin:.0f} s, exit code {done.returncode}"
        for cell in cells:
            kept = _keep(cell, out, store)
            store.note_not_run({cell.key: "" if kept else said[0]})
            yield f"  {cell.transport}: {'kept' if kept else 'not run: ' + said[0]}"


@contextmanager
def _working_folder(store: Store) -> Iterator[Path]:
    """Folder for the run at hand; what a bench that was killed left in it is removed first."""
    folder = store.path / ".running"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _keep(cell: Listed, out: Path, store: Store) -> bool:
    try:
        with ResultsFolder.open(out) as run:
            return store.keep(cell, run)
    except StorageError:
        return False
