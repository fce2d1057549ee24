"""A port whose rate changes while a job trains: what a measured bandwidth is worth."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from bench.schedules.scaled import compute_s, pushed_bytes, scaled
from bench.schedules.transfers import SCHEDULES, Setting
from netcosim.scenario import build_scenario, with_values
from netcosim.training.plan import Draws
from sim.engine.control import Control
from sim.engine.engine import Engine
from sim.experiment.cell import training_cells
from sim.experiment.run import conditions_of, draw_steps
from topo.spec import GOODPUT_SHARE

PART: Final = 1 / 3
PERIODS_S: Final = (2.0, 20.0)
LENGTH_S: Final = 400.0
_STEPS: Final = 2000


def changing_rows(folder: Path) -> list[dict[str, Any]]:
    """Rates of each schedule while a worker's port goes from 3 to 1 Gbit/s and back."""
    rows = []
    for network in ("resnet50", "vgg11"):
        for period_s in PERIODS_S:
            for schedule in SCHEDULES:
                setting = Setting(
                    network=network, schedule=schedule, rate_bps=3 * 10**9, cost_ns=200_000
                )
                done = examples_per_s(setting, folder, period_s)
                rows.append(
                    {
                        "network": network,
                        "workers": 1,
                        "rates_bps": [3 * 10**9, 10**9],
                        "period_s": period_s,
                        "schedule": schedule,
                        "compute_s": compute_s(scaled(network), setting.batch),
                        "bytes_over_rate_s": [
                            8 * pushed_bytes(scaled(network)) / GOODPUT_SHARE / rate
                            for rate in (3e9, 1e9)
                        ],
                        "examples_per_s": done,
                    }
                )
    return rows


def examples_per_s(setting: Setting, folder: Path, period_s: float) -> float:
    """Examples a second over the whole time; the rate is lower in every second half of a period."""
    plain: Mapping[str, Any] = setting.scenario(folder / f"{setting.network}.json")
    scenario = with_values(
        build_scenario(dict(plain)), {"training.steps": _STEPS, "training.trace_steps": 0}
    )
    (cell,) = training_cells(scenario)
    prepared = cell.plans(0)
    drawn = draw_steps(cell, 1, 0, prepared.steps)
    under = conditions_of(cell, 1, 0, 1e12)
    engine = Engine(
        prepared.fused,
        replace(cell.network(1), worker_bps=under.worker_bps),
        cell.sending,
        Draws(step=drawn, factor=under.factor),
        Control(join=cell.join(1)),
    )
    now_s, low = 0.0, False
    while now_s < LENGTH_S:
        now_s += period_s / 2
        engine.run(now_s * 1e9)
        low = not low
        engine.set_port(0, PART if low else 1.0)
    return len(engine.steps().worker) * setting.batch / now_s
