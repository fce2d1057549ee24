"""`./dev bench prepare`: reading and preparing profiles of up to 50,000 operations.

Each profile is prepared in a process of its own, from its file to the first event; then 100 steps
of 4 workers are simulated on the fast path, whose kernel was compiled before. Times are processor
times, which other load on the machine hardly changes. ``python -m bench.prepare FILE`` is what such
a process does.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

from bench.common.memory import peak_bytes
from bench.common.record import Figure, at_most, record
from bench.common.transports import WHOLE_MESSAGES
from netcosim.scenario import build_scenario
from netcosim.workload import Profile, dump_profile
from netcosim.workload.layers import ASSUMED_JITTER, Layer, Tensor, build_step
from sim.experiment.cell import TrainingCell, training_cells

OPERATIONS: Final = (1_000, 10_000, 50_000)
WORKERS: Final = 4
STEPS: Final = 100
MOST_S: Final = 3.0
MOST_MB: Final = 300.0
_A_LAYER: Final = 5
"""Operations of a layer with one tensor: pull, forward, backward, push, update."""
_BRANCHES, _LONG = 4, 3


def main(arguments: list[str]) -> int:
    """Measure every shape and size, print the table, write the figures; or measure one file."""
    if arguments:
        print(json.dumps(measure(Path(arguments[0]))))
        return 0
    figures: list[Figure] = []
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as folder:
        for name, inputs in SHAPES.items():
            for operations in OPERATIONS:
                path = Path(folder) / f"{name}-{operations}.json"
                path.write_text(dump_profile(_profile(inputs, operations)), encoding="utf-8")
                found = _in_a_process(path)
                rows.append({"shape": name, **found})
                figures += _figures(name, found)
    return record("prepare", figures, [], rows)


def _in_a_process(path: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.prepare", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench prepare: {path.name}: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(path: Path) -> dict[str, Any]:
    """Seconds of processor time and peaks of memory of each phase, for one profile's file."""
    spent: dict[str, Any] = {"loaded_bytes": peak_bytes()}
    begin = time.process_time()
    cell = _cell(path)
    spent |= {"operations": len(cell.profile.step.operations), "read_s": _since(begin)}
    begin = time.process_time()
    prepared = cell.plans(0)
    spent |= {"prepared_s": _since(begin), "prepared_bytes": peak_bytes()}
    begin = time.process_time()
    cell.plans(1)
    spent |= {"next_run_s": _since(begin)}
    if prepared.shape is None:
        raise RuntimeError(f"{path}: {prepared.why_generic}")
    from sim.experiment.run import simulate

    simulate(cell, WORKERS, 0)  # loads the kernel
    begin = time.process_time()
    simulate(cell, WORKERS, 0)
    return spent | {"simulated_s": _since(begin), "simulated_bytes": peak_bytes()}


def _since(begin: float) -> float:
    return time.process_time() - begin


def _cell(path: Path) -> TrainingCell:
    """The cell of a scenario with this profile, on connections that send whole messages."""
    scenario = build_scenario(
        {
            "name": "prepare",
            "cluster": {"topology": "star", "link": {"rate": "10gbit"}},
            "training": {"steps": STEPS, "warmup": 0},
            "workload": [{"name": "profile", "profile": str(path)}],
            "transport": [WHOLE_MESSAGES],
        }
    )
    return training_cells(scenario)[0]


def _chain(layer: int) -> list[int]:
    return [layer - 1] if layer else []


def _wide(_layer: int) -> list[int]:
    return []


def _branches(layer: int) -> list[int]:
    """Blocks of branches, each a chain; a branch's first layer reads the ends of the last block."""
    block, place = divmod(layer, _BRANCHES * _LONG)
    if place % _LONG:
        return [layer - 1]
    before = (block - 1) * _BRANCHES * _LONG
    return [before + _LONG * b + _LONG - 1 for b in range(_BRANCHES)] if block else []


SHAPES: Final[dict[str, Callable[[int], list[int]]]] = {
    "chain": _chain,
    "wide": _wide,
    "branches": _branches,
}
"""The layers that each layer reads, by shape."""


def _profile(inputs: Callable[[int], list[int]], operations: int) -> Profile:
    """A profile of so many operations and the loss; a layer has one tensor."""
    random = Random(1)
    layers = [
        Layer(
            name=f"layer{i}",
            forward_ns=random.randrange(1000, 100_000),
            backward_ns=random.randrange(1000, 200_000),
            inputs=tuple(f"layer{j}" for j in inputs(i)),
            tensors=(
                Tensor(
                    name=f"layer{i}.weight",
                    size_bytes=random.randrange(1000, 50_000),
                    update_ns=random.randrange(1000, 20_000),
                ),
            ),
        )
        for i in range(operations // _A_LAYER)
    ]
    step, durations = build_step(layers, "bench prepare")
    return Profile(
        name="made up",
        provenance="random durations and sizes, for bench prepare",
        batch=1,
        samples="medians",
        jitter=ASSUMED_JITTER,
        step=step,
        duration_ns=(durations,),
    )


def _figures(name: str, found: dict[str, Any]) -> Iterator[Figure]:
    title = f"{name}, {found['operations']:,} operations"
    seconds = found["read_s"] + found["prepared_s"]
    note = (
        f"reading and checking {found['read_s']:.2f}, preparing {found['prepared_s']:.2f};"
        f" each further run {found['next_run_s']:.2f}"
    )
    yield at_most(f"{title}: from file to first event", seconds, "s", MOST_S, note)
    yield Figure(
        name=f"{title}: simulating",
        value=found["simulated_s"],
        unit="s",
        note=f"{WORKERS} workers, {STEPS} steps of each",
    )
    yield at_most(
        f"{title}: peak memory, prepared",
        found["prepared_bytes"] / 1e6,
        "MB",
        MOST_MB,
        f"{found['loaded_bytes'] / 1e6:.0f} MB before",
    )
    yield Figure(
        name=f"{title}: peak memory, simulated", value=found["simulated_bytes"] / 1e6, unit="MB"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
