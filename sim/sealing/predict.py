"""Predictions of a job's throughput: as it is, perturbed, and with wrong assumptions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from h2model import disciplines
from netcosim.policies.coordinator.observed import Use
from netcosim.results.training.seal import SealedPoint, StepTimes
from netcosim.training.job import TrainingJob
from netcosim.training.plan import Floats, Ints
from netcosim.training.throughput import ends_of_updates, steps_per_s
from sim.compiling import Kernel
from sim.coordination.coordinated import CoordinatedRun
from sim.engine.control import Control
from sim.engine.engine import Engine, Operations
from sim.plan import Network, Sending
from sim.sealing.assumed import Assumed
from sim.sealing.ensemble import LARGE_SD, RUNS, Ensemble, perturbed_runs
from sim.sealing.over_models import OverModels, run_over_models
from sim.sealing.over_packets import run_over_packets
from sim.settings import CHUNK_BYTES

_OTHER_DISCIPLINES: Final = ("fifo", "round_robin", "priority")


def kernels_needed(assumed: Assumed) -> tuple[Kernel, ...]:
    """Kernels of all simulations that `predict` does."""
    names = dict.fromkeys((assumed.sending.discipline, *_OTHER_DISCIPLINES))
    shares = {network.share for network in assumed.networks.values()}
    schedule = assumed.sending.schedule
    return tuple(Kernel(name, share, True, schedule) for name in names for share in sorted(shares))


def predict(
    assumed: Assumed, workers: int, begins: Callable[[str], None] = lambda _: None
) -> SealedPoint:
    """Prediction for so many workers; `begins` is told of what takes long.

    It is the simulator's, or the mean of perturbed simulations where chance decides. Where models
    follow packets, it is the mean of such runs if links may drop packets, or chance decides.
    """
    over = run_over_models(assumed, workers)
    point = _simulated(assumed, workers, over)
    if over is None or not (over.drops or (over.by_packet and _by_chance(point))):
        return point
    return _over_packets(
        assumed, point, lambda done: begins(f"packets followed through TCP, {done} of {RUNS} runs")
    )


def _by_chance(point: SealedPoint) -> bool:
    """True if perturbed simulations differ, or the run over models from the simulation."""
    simulated = point.simulated or point.examples_per_s
    off = 0.0 if point.models is None else abs(point.models / simulated - 1)
    return point.spread.sd > LARGE_SD or off > LARGE_SD


def _over_packets(assumed: Assumed, point: SealedPoint, done: Callable[[int], None]) -> SealedPoint:
    """A point as runs over TCP have it; as it is where they, or one worker's, come to rest."""
    packets = run_over_packets(assumed, point.workers, done)
    alone = run_over_models(assumed, 1)
    if packets is None or alone is None:
        return point
    baselines = _baselines(assumed, point.workers, alone.examples_per_s)
    return _as_ensemble(point, packets, "packets").model_copy(update=baselines)


def _as_ensemble(
    point: SealedPoint, ensemble: Ensemble, of: Literal["packets", "simulations"]
) -> SealedPoint:
    """A point with the mean of an ensemble for its prediction, which is `of` such runs.

    Other disciplines and orders stay as far from it as they were from the simulation.
    """
    more = ensemble.examples_per_s / point.examples_per_s
    return point.model_copy(
        update={
            "examples_per_s": ensemble.examples_per_s,
            "step_ns": _step_times(ensemble.lengths_ns),
            "spread": ensemble.spread,
            "simulated": point.simulated or point.examples_per_s,
            "mean_of": of,
            "disciplines": {name: rate * more for name, rate in point.disciplines.items()},
            "orders": {name: rate * more for name, rate in point.orders.items()},
        }
    )


def _simulated(assumed: Assumed, workers: int, over: OverModels | None) -> SealedPoint:
    """Prediction of the simulator."""
    job = assumed.job.first(workers)
    found = simulate(assumed, job)
    alone = simulate(assumed, assumed.job.first(1)).examples_per_s

    def run_of(perturbed: TrainingJob, network: Network) -> Simulated:
        return simulate(assumed, perturbed, network=network)

    ensemble = perturbed_runs(job, assumed.networks[workers], assumed.seed, run_of, assumed.uneven)
    point = SealedPoint(
        workers=workers,
        examples_per_s=found.examples_per_s,
        step_ns=_step_times(found.lengths_ns),
        spread=ensemble.spread,
        models=None if over is None else over.examples_per_s,
        **_baselines(assumed, workers, alone),
        disciplines={
            name: simulate(assumed, job, _with_discipline(assumed.sending, name)).examples_per_s
            for name in _OTHER_DISCIPLINES
            if name != assumed.sending.discipline
        },
        orders={
            name: simulate(assumed, replace(job, plan=plan)).examples_per_s
            for name, plan in assumed.orders.items()
        },
    )
    return point if ensemble.is_steady else _as_ensemble(point, ensemble, "simulations")


def _step_times(lengths_ns: Floats) -> StepTimes:
    return StepTimes(median=float(np.median(lengths_ns)), p95=float(np.quantile(lengths_ns, 0.95)))


def _baselines(assumed: Assumed, workers: int, alone: float) -> dict[str, float]:
    """Throughput by baselines, from that of one worker."""
    return {
        "linear": alone * workers,
        "bound": min(alone * workers, _port_bound(assumed, workers)),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """A simulation of a job.

    Attributes
    ----------
    examples_per_s : behind the warm-up, over all workers
    lengths_ns : (workers * counted steps,) times from one end of a worker's step to the next; from
        update to update where these count some workers only
    operations : where they are kept
    batches : (workers, steps) examples of each step, under a coordinator
    """

    examples_per_s: float
    lengths_ns: Floats
    operations: Operations
    batches: Ints | None = None


def simulate(
    assumed: Assumed,
    job: TrainingJob,
    sending: Sending | None = None,
    *,
    network: Network | None = None,
    keep_operations: bool = False,
    compiled: bool = True,
) -> Simulated:
    """Simulate a job with these assumptions; `sending` and `network` instead of theirs if given.

    Small jobs are done sooner as plain Python than a kernel is compiled. Under a coordinator a
    worker's step ends with its updates, and what calls take of links is left out.
    """
    coordinated = assumed.scenario.coordination is not None
    job = job.with_factors_apart() if coordinated else job
    engine = Engine(
        job.plan,
        assumed.networks[job.workers] if network is None else network,
        assumed.sending if sending is None else sending,
        job.draws,
        Control(
            staleness=job.staleness,
            join=job.join,
            keep_operations=keep_operations or job.counts_some,
            in_parts=not coordinated,
            stop_at_steps=coordinated,
        ),
        speeds=job.speeds,
        calls=None if coordinated else assumed.calls,
        compiled=compiled,
    )
    batches = _run(engine, assumed, job)
    parts = None if batches is None else batches / assumed.batch
    ends_ns = _ends_ns(engine, job, coordinated=coordinated)
    return Simulated(
        examples_per_s=steps_per_s(job, ends_ns, assumed.warmup, parts) * assumed.batch,
        lengths_ns=np.diff(ends_ns[:, assumed.warmup :], axis=1).ravel(),
        operations=engine.operations(),
        batches=batches,
    )


def _run(engine: Engine, assumed: Assumed, job: TrainingJob) -> Ints | None:
    """Run to the end; under a coordinator, (workers, steps) examples of each step."""
    coordination = assumed.coordination(job.workers)
    if coordination is None:
        engine.run()
        return None
    run = CoordinatedRun(
        engine, job.draws, coordination.coordinator, coordination.batching, lambda *_: Use()
    )
    run.run()
    return run.batches


def _ends_ns(engine: Engine, job: TrainingJob, *, coordinated: bool) -> Floats:
    """Begin and ends of each worker's steps, or of updates where these count some workers only.

    Under a coordinator begins of steps, and the end of the last one.
    """
    if job.counts_some:
        ops = engine.operations()
        made = ops.worker == job.workers
        return ends_of_updates(job, ops.step[made], ops.operation[made], ops.end_ns[made])
    steps = engine.steps()
    ends_ns = np.zeros((job.workers, job.steps + 1))
    ends_ns[steps.worker, steps.step + 1] = steps.end_ns
    if coordinated:
        ends_ns[steps.worker, steps.step] = steps.start_ns
    return ends_ns


def _port_bound(assumed: Assumed, workers: int) -> float:
    """Examples a second with which the busiest port of a server is full in one direction."""
    plan, network = assumed.job.plan, assumed.networks[workers]
    most_ns = 0.0
    for direction in {channel.direction for channel in plan.channels}:
        for server in range(plan.servers):
            carried = sum(
                int(plan.size_bytes[plan.place == number].sum())
                for number, channel in enumerate(plan.channels)
                if (channel.server, channel.direction) == (server, direction)
            )
            most_ns = max(most_ns, carried * 8e9 / float(network.server_bps[server]))
    return 1e9 * assumed.batch / most_ns if most_ns else float("inf")


def _with_discipline(sending: Sending, name: str) -> Sending:
    """The same connections under another discipline, without the kernel's buffer."""
    return Sending(
        discipline=name,
        options=tuple(disciplines.resolve_options(name, {})),
        window_bytes=sending.window_bytes,
        connection_window_bytes=sending.connection_window_bytes,
        chunk_bytes=CHUNK_BYTES,
        schedule=sending.schedule,
        schedule_options=sending.schedule_options,
    )
