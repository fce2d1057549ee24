"""Results of a benchmark: a printed table, and a JSON file for the documentation."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.common.clock import by_clock
from netcosim.results.host import describe_host

RESULTS = Path(__file__).parents[1] / "results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured value against its target.

    `target` is text such as ``>= 99``; `met` is None where nothing was promised.
    """

    name: str
    value: float
    unit: str
    target: str = ""
    met: bool | None = None
    note: str = ""


def at_least(name: str, value: float, unit: str, target: float, note: str = "") -> Figure:
    """Make a figure that should reach `target`."""
    return Figure(
        name=name,
        value=value,
        unit=unit,
        target=f">= {target:g}",
        met=value >= target,
        note=note,
    )


def at_most(name: str, value: float, unit: str, target: float, note: str = "") -> Figure:
    """Make a figure that should stay within `target`."""
    return Figure(
        name=name,
        value=value,
        unit=unit,
        target=f"<= {target:g}",
        met=value <= target,
        note=note,
    )


def record(
    name: str,
    figures: Sequence[Figure],
    notes: Sequence[str] = (),
    rows: Sequence[Mapping[str, Any]] = (),
    clock: str | None = None,
) -> int:
    """Write ``bench/results/NAME.json``, print the table; 0 if every target was met, else 1.

    `rows` are kept beside the figures that sum them up. `clock`, where a benchmark has a choice, is
    told; results by another clock than the real one have a file of their own.
    """
    RESULTS.mkdir(exist_ok=True)
    content = {
        "bench": name,
        "command": command(name, clock),
        **({"clock": clock} if clock else {}),
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "processor": describe_host()["processor"],
        "notes": list(notes),
        "figures": [asdict(f) for f in figures],
        **({"rows": list(rows)} if rows else {}),
    }
    path = RESULTS / f"{by_clock(name, clock) if clock else name}.json"
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    _table(name, figures)  # after the file, which is there if nobody reads this
    print(f"written: {path}")
    return 0 if all(f.met is not False for f in figures) else 1


def heading(name: str, clock: str | None = None) -> str:
    """Heading of a page of results: command, cores, date, commit."""
    day = datetime.now(UTC).date().isoformat()
    where = f"on {os.cpu_count()} cores, {day}, {commit()}"
    return f"# bench {name}\n\n`{command(name, clock)}` {where}.\n"


def command(name: str, clock: str | None = None) -> str:
    """The command that a benchmark is run by; it names a clock other than the real one."""
    other = "" if clock is None or by_clock(name, clock) == name else f" --clock {clock}"
    return f"./dev bench {name}{other}"


def _table(name: str, figures: Sequence[Figure]) -> None:
    table = Table("figure", "value", "unit", "target", "met", "note", title=f"bench {name}")
    for f in figures:
        met = {True: "yes", False: "[red]no[/red]", None: ""}[f.met]
        table.add_row(f.name, f"{f.value:.5g}", f.unit, f.target, met, f.note)
    Console().print(table)


def commit() -> str:
    """The checkout's commit, and whether something was changed since."""
    root = Path(__file__).parents[2]
    safe = ["-c", f"safe.directory={root}"]
    head = subprocess.run(
        ["git", *safe, "rev-parse", "--short=12", "HEAD"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    changed = subprocess.run(
        ["git", *safe, "status", "--porcelain", "--", "*.py"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return (head or "unknown") + ("+changes" if changed else "")
