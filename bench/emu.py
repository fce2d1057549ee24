"""`./dev bench emu`: link utilisation, fairness, prediction errors and run times of the emulation.

Every figure comes out of real runs of `emu.run`, read from their results folders. What they cost
the machine is its subject, so they keep the real clock; `bench virtual` has the other.
"""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import capture
from bench.common.record import Figure, at_least, at_most, record
from netcosim.cli import run_main
from netcosim.errors import UntrustedResultError

ROOT = Path(__file__).parent.parent
RATES_MBIT = (50, 100, 200, 500, 1000)
BURST_S = 2.0
MAIN_JOB_S = 90.0
"""Target, on a machine with nothing else to do."""


def main() -> int:
    """Run everything, print the table, write the figures."""
    figures: list[Figure] = []
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as folder:
        for part in (_main_job, _utilisation, _twin, _network):
            print(f"{part.__name__.strip('_')} ...", flush=True)
            figures += part(Path(folder), notes)
    figures += capture.figures()
    return record("emu", figures, notes)


def _main_job(folder: Path, notes: list[str]) -> list[Figure]:
    """The default main job, as a person starts it on a machine already set up."""
    begin = time.monotonic()
    code = subprocess.run(
        [str(ROOT / "dev"), "run", "--out", str(folder / "main")],
        check=False,
        stdout=subprocess.DEVNULL,
    ).returncode
    elapsed = time.monotonic() - begin
    summary = _summary(folder / "main")
    invalid = sum(cell["invalid_bursts"] for cell in summary["cells"])
    note = f"exit code {code}, {invalid} invalid bursts repeated"
    whole = at_most("default main job", elapsed, "s", MAIN_JOB_S, note)
    if code not in (0, UntrustedResultError.exit_code):  # soon over, as it failed
        whole = replace(whole, met=False)
    figures = [whole]
    for cell in summary["cells"]:
        answer = cell["answer"]
        if answer["model"] is None:
            notes.append(f"main job: {cell['verdict']}")
            continue
        best = next(m for m in cell["models"] if m["model"] == answer["model"])
        name = f"main job, {cell['cell']}: {answer['kind']} {answer['model']}"
        figures += [
            Figure(
                name=f"{name}, order error, mean",
                value=100 * best["order"]["mean"],
                unit="%",
                note=_bursts(cell),
            ),
            Figure(
                name=f"{name}, time error, mean",
                value=100 * best["wire"]["mean"],
                unit="%",
                note=_lost(cell),
            ),
        ]
    notes += [f"main job: {reason}" for reason in summary["reasons"]]
    return figures


def _utilisation(folder: Path, notes: list[str]) -> list[Figure]:
    """A burst's goodput as a share of the capacity measured before it."""
    figures = []
    for rate in RATES_MBIT:
        size = round(rate * 1e6 / 8 * 0.95 * BURST_S / 1e6)
        # A frame costs the same processor time whatever its size.
        frame = 'frame_size = "64KiB"' if rate >= 500 else ""
        summary = _run(folder, notes, f"use-{rate}", _pair(rate, f"{size}MB", frame))
        figures += [
            at_least(
                f"use of the capacity, {rate} Mbit/s, {cell['transport']}",
                100 * cell["utilisation"],
                "%",
                99,
                f"{_bursts(cell)}; {_lost(cell)}",
            )
            for cell in summary["cells"]
        ]
    return figures


def _twin(folder: Path, notes: list[str]) -> list[Figure]:
    """Our own sender against the prediction of its own discipline."""
    text = (ROOT / "examples" / "disciplines.toml").read_text(encoding="utf-8")
    summary = _run(folder, notes, "twin", text)
    figures = []
    for cell in summary["cells"]:
        own = [m for m in cell["models"] if m["model"] == cell["configured_discipline"]]
        if not own:
            notes.append(f"twin: {cell['cell']} has no judged burst")
            continue
        name = f"h2 {cell['transport']} against its twin"
        order, wire = own[0]["order"], own[0]["wire"]
        exact = 100 * own[0]["orders_equal"] / own[0]["bursts"]
        figures += [
            at_least(f"{name}: bursts in exact order", exact, "%", 100, _bursts(cell)),
            at_most(f"{name}: order error, mean", 100 * order["mean"], "%", 0.3),
            at_most(f"{name}: order error, max", 100 * order["max"], "%", 1.5),
            at_most(f"{name}: time error, mean", 100 * wire["mean"], "%", 0.3, _lost(cell)),
            at_most(f"{name}: time error, max", 100 * wire["max"], "%", 1.5, _lost(cell)),
        ]
    return figures


def _bursts(cell: dict[str, Any]) -> str:
    return (
        f"{cell['judged_bursts']} bursts judged, {cell['shown_bursts']} shown,"
        f" {cell['invalid_bursts']} invalid"
    )


def _lost(cell: dict[str, Any]) -> str:
    if cell["lost_share"] is None:
        return "lost share not known"
    lost, unexplained = 100 * cell["lost_share"], 100 * cell["unexplained_share"]
    return f"grade {cell['grade']}, lost {lost:.2g} %, unexplained {unexplained:.2g} %"


def _network(folder: Path, notes: list[str]) -> list[Figure]:
    """Fairness of workers on a shared link, and the time until many hosts are up."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.common.network_probe"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    figures = [
        at_least(f"Jain index, {n} workers on a fair link of 200 Mbit/s", jain, "", 0.99)
        for n, jain in found["jain"].items()
    ]
    return [*figures, at_most("64 hosts up", found["up_64_s"], "s", 10)]


def _run(folder: Path, notes: list[str], name: str, scenario: str) -> dict[str, Any]:
    path = folder / f"{name}.toml"
    path.write_text(scenario, encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "emu.run"),
            *("--scenario", str(path), "--out", str(folder / name)),
        ],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        said = done.stderr.strip().rpartition("\n")[2]
        notes.append(f"{name}: exit code {done.returncode}: {said}")
    return _summary(folder / name)


def _summary(folder: Path) -> dict[str, Any]:
    path = folder / "summary.json"
    if not path.exists():
        return {"cells": [], "reasons": [f"{folder.name}: no results"]}
    summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return summary


def _pair(rate_mbit: int, size: str, frame: str) -> str:
    return f"""
name = "use"
repetitions = 3

[cluster.link]
rate = "{rate_mbit}mbit"

[[workload]]
name = "mixed8"
set = "mixed8"
total = "{size}"

[[transport]]
name = "h2"
sender = "h2"
receiver = "h2"
discipline = "fifo"
flow_control = false
{frame}

[[transport]]
name = "grpc"
sender = "grpc"
receiver = "grpc"
flow_control = false
"""


if __name__ == "__main__":
    sys.exit(run_main(lambda _: main(), "bench emu"))
