"""`./dev bench emu`: how well the emulation uses, shares and keeps to its links; how long it takes.

Every figure comes out of real runs of `emu.run`, read from their results folders.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import capture
from bench.record import Figure, at_least, at_most, record

ROOT = Path(__file__).parent.parent
RATES_MBIT = (50, 100, 200, 500, 1000)
BURST_S = 2.0


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
    figures = [at_most("default main job", elapsed, "s", 90, note)]
    for cell in summary["cells"]:
        best = cell["models"][0] if cell["models"] else None
        if best is not None:
            name = f"main job, {cell['cell']}: {best['model']}, primary error, mean"
            figures.append(Figure(name=name, value=100 * best["wire"]["mean"], unit="%"))
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
                f"{cell['valid_bursts']} bursts, {cell['invalid_bursts']} invalid",
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
            notes.append(f"twin: {cell['cell']} has no valid burst")
            continue
        name = f"h2 {cell['transport']} against its twin"
        wire = own[0]["wire"]
        exact = 100 * own[0]["orders_equal"] / own[0]["bursts"]
        bursts = f"{own[0]['bursts']} bursts, {cell['invalid_bursts']} invalid"
        figures += [
            at_least(f"{name}: bursts in exact order", exact, "%", 100, bursts),
            at_most(f"{name}: primary error, mean", 100 * wire["mean"], "%", 0.3),
            at_most(f"{name}: primary error, max", 100 * wire["max"], "%", 1.5),
        ]
    return figures


def _network(folder: Path, notes: list[str]) -> list[Figure]:
    """How workers share a fair link, how fast many hosts are up."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.network_probe"],
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
        notes.append(f"{name}: exit code {done.returncode}: {done.stderr.splitlines()[-1]}")
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
    sys.exit(main())
