"""What a simulation will cost, in words; one of more than an hour has to be asked for twice."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from netcosim.errors import EnvironmentRefusedError, ScenarioError
from netcosim.formatting import short_size, short_time
from netcosim.scenario import Scenario, StragglerSpec
from netcosim.training.stragglers import Conditions
from sim.experiment.axes import worker_counts
from sim.experiment.cell import TrainingCell
from sim.experiment.cost import Ahead, Estimate, estimate, step_ns
from sim.experiment.one_step_more import steps_more

LONG_S: Final = 3600.0
_LONGEST_SIMULATED_S: Final = 100 * 31_557_600.0
_MEMORY: Final = Path("/proc/meminfo")


def cost_of(
    scenario: Scenario,
    cells: Sequence[TrainingCell],
    traced: Sequence[int],
    *,
    recommending: bool,
) -> Estimate:
    """Estimate the cost of a simulation on this machine's processors.

    The runs for a recommendation are counted as if the most workers were recommended.

    Raises
    ------
    ScenarioError
        Its times are too long for the numbers that hold them.
    """
    counts = worker_counts(scenario)
    for cell in cells:
        _check_simulated_time(cell, Ahead.of(cell, counts[-1]))
    steps = (
        [more for cell in cells for more in steps_more(cell, counts[-1])] if recommending else []
    )
    more = [(step.cell, counts[-1]) for step in steps]
    return estimate(cells, counts, traced, len(os.sched_getaffinity(0)), more)


def cost_text(cost: Estimate) -> str:
    """Time, memory and disk, about."""
    processors = "1 processor" if cost.processors == 1 else f"{cost.processors} processors"
    asks = "; more than an hour asks for --yes" if cost.elapsed_s > LONG_S else ""
    return (
        f"about {short_time(cost.elapsed_s)} on {processors} once kernels are compiled,"
        f" {short_size(cost.memory_bytes)} of memory, {short_size(cost.disk_bytes)} of disk{asks}"
    )


def refuse_costly(cost: Estimate, available_bytes: int | None) -> None:
    """Refuse what takes more than an hour, or more memory than there is.

    Raises
    ------
    ScenarioError
        It takes long.
    EnvironmentRefusedError
        It does not fit.
    """
    fewer = "have fewer --workers, --steps, --repetitions or --trace-steps"
    if cost.elapsed_s > LONG_S:
        about = short_time(cost.elapsed_s)
        raise ScenarioError(f"this would take about {about}: {fewer}, or say --yes")
    if available_bytes is not None and cost.memory_bytes > available_bytes:
        raise EnvironmentRefusedError(
            f"this would take about {short_size(cost.memory_bytes)} of memory, and"
            f" {short_size(available_bytes)} are free: {fewer}, or say --yes"
        )


def _check_simulated_time(cell: TrainingCell, ahead: Ahead) -> None:
    """Refuse runs whose times no 64-bit number of nanoseconds would hold."""
    training, under = cell.scenario.training, ahead.under
    network = replace(ahead.network, worker_bps=under.worker_bps, delay_ns=under.delay_ns)
    work_ns = _slowest(cell.scenario.straggler, under) * step_ns(cell.plans(0).plan, network)
    simulated_s = training.steps * (work_ns + 4 * float(network.delay_ns.max())) / 1e9
    if simulated_s > _LONGEST_SIMULATED_S:
        why = f"{cell.name} would train for {short_time(simulated_s)}; must be at most 100 years"
        raise ScenarioError.at("training.steps", training.steps, why)


def _slowest(stragglers: Sequence[StragglerSpec], under: Conditions) -> float:
    """How much longer stragglers make a computation, at most and about."""
    slowest = 1.0
    for spec in stragglers:
        given = [spec.options.get("factor", 1.0), spec.options.get("factors", 1.0)]
        flat = [f for one in given for f in (one if isinstance(one, tuple) else (one,))]
        slowest *= max([1.0, *(float(f) for f in flat if isinstance(f, int | float))])
    speeds = [np.diff(s.work_ns) / np.diff(s.time_ns) for s in under.speeds if s is not None]
    return slowest / min([1.0, *(float(speed.min()) for speed in speeds)])


def available_bytes() -> int | None:
    """Memory that programs can still get, by what the kernel says; None: it does not."""
    try:
        lines = _MEMORY.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return 1024 * int(found[0]) if found else None
