"""One run of a training job with all that chance decides: what both worlds read."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from netcosim.scenario import Scenario
from netcosim.training.plan import SERVER, Draws, Ints, StepPlan
from netcosim.training.speed import SpeedTrace
from netcosim.training.stragglers import Change, conditions
from netcosim.training.synchronisation import Join, join_of, staleness_of
from netcosim.training.workload_plan import DRAWS, STRAGGLERS, PlanMaker, stream_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """A run of a job, drawn before it begins, for so many workers.

    Attributes
    ----------
    plan : the step, with its recorded durations
    draws : which recorded step each step of each worker repeats, and factors
    staleness : how many steps a worker may be ahead of the slowest; None: any
    join : how servers join gradients; None: each worker's are updates of their own
    speeds : by worker; None: always 1
    absent, presence : workers that are not there from the start; those that join and leave later
    """

    plan: StepPlan
    draws: Draws
    staleness: int | None
    join: Join | None
    speeds: tuple[SpeedTrace | None, ...]
    absent: tuple[int, ...] = ()
    presence: tuple[Change, ...] = ()

    @property
    def workers(self) -> int:
        """Number of workers."""
        return len(self.draws.step)

    @property
    def steps(self) -> int:
        """Number of steps of each worker."""
        return int(self.draws.step.shape[1])

    def recorded_step(self, worker: int, step: int) -> int:
        """Number of the recorded step that a worker's step repeats."""
        return int(self.draws.step[worker, step])

    def end_of(self, operation: int, worker: int, step: int, begin_ns: float) -> float:
        """End of a computation that begins at a time, in a step of a worker."""
        work_ns = float(self.plan.duration_ns[self.recorded_step(worker, step), operation])
        processor = self.plan.processors[int(self.plan.place[operation]) - len(self.plan.channels)]
        if processor.node == SERVER:
            return begin_ns + work_ns
        factor = self.draws.factor
        work_ns *= float(factor[worker, step if factor.shape[1] > 1 else 0])
        speed = self.speeds[worker]
        return begin_ns + work_ns if speed is None else speed.end_of(begin_ns, work_ns)

    def first(self, workers: int) -> "TrainingJob":
        """The same job with only its first so many workers, whose draws stay as they are."""
        draws = Draws(step=self.draws.step[:workers], factor=self.draws.factor[:workers])
        return replace(
            self,
            draws=draws,
            speeds=self.speeds[:workers],
            absent=tuple(w for w in self.absent if w < workers),
            presence=tuple(change for change in self.presence if change.worker < workers),
        )

    def profiling(self) -> "TrainingJob":
        """The job of one worker that does each recorded step once, in order, at full speed."""
        return replace(
            self,
            draws=Draws(
                step=np.arange(self.plan.steps, dtype=np.int32)[np.newaxis],
                factor=np.ones((1, 1)),
            ),
            staleness=None,
            join=None,
            speeds=(None,),
            absent=(),
            presence=(),
        )


def draw_steps(seed: int, run: int, workers: int, steps: int, recorded: int) -> NDArray[np.int32]:
    """Draw the recorded step of each worker and step; more workers leave a worker's draws as is."""
    chosen = np.empty((workers, steps), dtype=np.int32)
    for worker, stream in enumerate(stream_of(seed, run, DRAWS).spawn(workers)):
        chosen[worker] = np.random.default_rng(stream).integers(0, recorded, steps)
    return chosen


def draw_job(
    scenario: Scenario,
    maker: PlanMaker,
    worker_bps: Ints,
    delay_ns: Ints,
    *,
    run: int,
    horizon_ns: float,
) -> TrainingJob:
    """Draw a run of a workload's job.

    Parameters
    ----------
    maker : of the workload's plans
    worker_bps, delay_ns : (workers,) rate of each worker's port, delay of its path one way
    run : its number
    horizon_ns : until when what goes on for ever is drawn

    Raises
    ------
    ScenarioError
        A straggler that makes no sense.
    """
    plan, training, workers = maker.plan(run), scenario.training, len(worker_bps)
    under = conditions(
        scenario.straggler,
        training.steps,
        worker_bps,
        delay_ns,
        stream_of(scenario.seed, run, STRAGGLERS),
        horizon_ns=horizon_ns,
    )
    return TrainingJob(
        plan=plan,
        draws=Draws(
            step=draw_steps(scenario.seed, run, workers, training.steps, plan.steps),
            factor=under.factor,
        ),
        staleness=staleness_of(training),
        join=join_of(training, workers),
        speeds=under.speeds,
        absent=under.absent,
        presence=under.presence,
    )
