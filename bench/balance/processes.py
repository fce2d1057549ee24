"""32 workers on each speed process: coordinators, predictors (Chen et al., Fig. 9 and Table 3)."""

import sys
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

import numpy as np

from bench.common.record import Figure
from netcosim.errors import EnvironmentRefusedError
from netcosim.policies.coordination.lb_bsp import LoadBalanced
from netcosim.policies.coordinator.observed import Coordinator, Ended, Use
from netcosim.policies.coordinators import make_coordinator, predictor_of
from netcosim.policies.stealing import WorkStealing
from netcosim.scenario import CoordinationSpec
from netcosim.training.stragglers.kinds.process import process_names
from netcosim.training.stragglers.speeds import Speeds
from sim.coordination.computing import Machine, StealingCosts, run_coordinated, run_stealing

WORKERS, SPARE, BATCH = 32, 2, 128
EXAMPLE_NS: Final = 5e9 / BATCH
"""A step of 5 s at full speed, of ResNet-32's batch (section 5.3)."""
STEPS, STEPS_QUICK = 150, 30
DECISION_NS: Final = 0.011 * 5e9
"""1.1 % of a step: the most that they measured (section 5.5)."""
SSP_GAP: Final = 4
"""Workers wait when the slowest is five steps behind (footnote 7)."""
COSTS: Final = StealingCosts(check_ns=1e-4 * 5e9, help_ns=5e-3 * 5e9)
"""Chosen: a look takes a hundredth of the time between two, help half a percent of a step."""
PUBLISHED: Final = {
    "memoryless": (11.85, 0.58),
    "average": (7.85, 0.48),
    "arima": (9.67, 0.52),
    "rnn": (8.34, 0.49),
    "lstm": (9.19, 0.51),
    "narx": (4.78, 0.42),
}
"""Table 3: root mean square error in examples/s, and a step's time over BSP's."""

Json = dict[str, Any]


def process_figures(rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    """Time of an iteration of 32 workers' batches over BSP's, and errors of predictions."""
    steps = STEPS_QUICK if quick else STEPS
    coordinators = _coordinators()
    for process in process_names():
        machines = machines_of(process, seed=1)
        bsp_ns = iteration_ns(CoordinationSpec(kind="bsp"), machines, steps)
        for name, spec in coordinators.items():
            begin = time.perf_counter()
            taken_ns, balanced, seconds = _run(spec, machines, steps)
            rmse = None if balanced is None else _rmse(balanced)
            row = {
                "part": "processes",
                "process": process,
                "coordinator": name,
                "over_bsp": taken_ns / bsp_ns,
                "rmse": rmse,
                "coordinator_s": seconds,
                "wall_s": time.perf_counter() - begin,
            }
            rows.append(row)
        rows.append(
            {
                "part": "processes",
                "process": process,
                "coordinator": "flexrr",
                "over_bsp": stealing_ns(machines, steps, WorkStealing(), COSTS) / bsp_ns,
            }
        )
        mine = {r["coordinator"]: r for r in rows if r.get("process") == process}
        order = " < ".join(sorted(mine, key=lambda each: float(mine[each]["over_bsp"])))
        best = min(float(r["over_bsp"]) for r in mine.values())
        yield Figure(
            name=f"{process}: fastest iteration over BSP's", value=best, unit="", note=order
        )
    yield from _redundancy()


def _coordinators() -> dict[str, CoordinationSpec]:
    found = {
        "asp": CoordinationSpec(kind="asp"),
        "ssp": CoordinationSpec(kind="ssp", options={"gap": SSP_GAP}),
        "redundant": CoordinationSpec(kind="redundant", options={"first": WORKERS}),
    }
    for name in filter(is_installed, PUBLISHED):
        found[f"lb_bsp {name}"] = CoordinationSpec(
            kind="lb_bsp", predictor=name, decision=f"{round(DECISION_NS)}ns"
        )
    return found


def is_installed(predictor: str) -> bool:
    """False for a predictor whose library is not there; says so."""
    try:
        predictor_of(CoordinationSpec(kind="lb_bsp", predictor=predictor), 1)(0)
    except EnvironmentRefusedError as problem:
        print(f"{predictor} is left out: {problem}", file=sys.stderr)
        return False
    return True


def machines_of(process: str, seed: int) -> list[Machine]:
    """Workers' machines, spare ones among them, with speeds by a process."""
    draw = import_module(f"netcosim.training.speed_processes.{process}").draw
    rows = 40 * STEPS
    machines = []
    for worker in range(WORKERS + SPARE):
        series = draw(rows, np.random.default_rng([seed, worker]))
        trace = Speeds(time_ns=1e9 * np.arange(rows, dtype=np.float64), speed=series.speed).trace()
        machines.append(Machine(speed=trace, use=_use(series)))
    return machines


def _use(series: Any) -> Any:
    def at(now_ns: float) -> Use:
        row = min(int(now_ns // 1e9), len(series.speed) - 1)
        return Use(processor=float(series.processor[row]), memory=float(series.memory[row]))

    return at


class _Timed:
    """Coordinator whose time is taken, with its predictors; `observed` are speeds by step."""

    def __init__(self, coordinator: Coordinator, workers: int) -> None:
        self._workers = workers
        self._inner = coordinator
        self.begin, self.counts = coordinator.begin, coordinator.counts
        self.seconds = 0.0
        self.observed: list[list[float]] = []
        self._round: dict[int, float] = {}

    def ended(self, ended: Ended, use: Any) -> Any:
        self._round[ended.worker] = 1e9 * ended.batch / ended.taken_ns
        if len(self._round) == self._workers:
            self.observed.append([self._round[w] for w in range(self._workers)])
            self._round = {}
        begin = time.perf_counter()
        found = self._inner.ended(ended, use)
        self.seconds += time.perf_counter() - begin
        return found


def _run(spec: CoordinationSpec, machines: list[Machine], steps: int) -> tuple[float, Any, float]:
    """Time of an iteration, predicted and observed speeds, seconds of the coordinator."""
    taking_part = machines if spec.kind == "redundant" else machines[:WORKERS]
    timed = _Timed(make_coordinator(spec, len(taking_part), 1), len(taking_part))
    found = run_coordinated(
        timed,
        taking_part,
        [BATCH] * len(taking_part),
        EXAMPLE_NS,
        examples=steps * WORKERS * BATCH,
        decision_ns=spec.decision,
    )
    iteration_ns = found.end_ns * WORKERS * BATCH / found.examples
    inner = timed._inner
    balanced = (inner.predicted, timed.observed) if isinstance(inner, LoadBalanced) else None
    return iteration_ns, balanced, timed.seconds


def stealing_ns(
    machines: list[Machine], steps: int, rule: WorkStealing, costs: StealingCosts
) -> float:
    """Mean time of an iteration in which work moves by the rule."""
    batches = [BATCH] * WORKERS
    found = run_stealing(rule, machines[:WORKERS], batches, EXAMPLE_NS, steps=steps, costs=costs)
    return found.end_ns / steps


def iteration_ns(spec: CoordinationSpec, machines: list[Machine], steps: int) -> float:
    """Mean time in which updates have counted an iteration's examples."""
    return _run(spec, machines, steps)[0]


def _rmse(balanced: tuple[list[list[float]], list[list[float]]]) -> float:
    """Root mean square error of the speeds predicted for the next step, mean over the workers."""
    predicted, observed = balanced
    count = min(len(predicted), len(observed) - 1)
    errors = np.array(predicted[:count]) - np.array(observed[1 : count + 1])
    return float(np.sqrt((errors**2).mean(axis=0)).mean())


def _redundancy() -> Iterator[Figure]:
    """34 equal workers, of which 32 count, with two and with three that are three times as slow."""
    for slow in (0, 2, 3):
        machines = []
        for worker in range(WORKERS + SPARE):
            speed = 1 / 3 if worker < slow else 1.0
            trace = Speeds(time_ns=np.zeros(1), speed=np.array([speed])).trace()
            machines.append(Machine(speed=trace, use=lambda _: Use()))
        spec = CoordinationSpec(kind="redundant", options={"first": WORKERS})
        ratio = _run(spec, machines, 50)[0] / 5e9
        target, met = ("<= 1.05", ratio <= 1.05) if slow < 3 else ("> 1.05", ratio > 1.05)
        yield Figure(
            name=f"34 / 32 with {slow} stragglers: a step over one without",
            value=ratio,
            unit="",
            target=target,
            met=met,
        )
