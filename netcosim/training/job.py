"""One run of a training job with all that chance decides: what both worlds read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from netcosim.policies import schedule_options
from netcosim.scenario import Scenario
from netcosim.training.plan import WORKER, Draws, StepPlan
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
    link_bps, more_delay_ns : by worker, rate of its link, and one-way delay on top of its path's;
        empty: as the network has them
    pushed : whether gradients are pushed by calls of their own, which servers answer when a message
        has arrived; else servers ask for them
    schedule, schedule_options : of the plan's gates
    gate_bps : by worker, rate that each gate's connection is expected to carry
    """

    plan: StepPlan
    draws: Draws
    staleness: int | None
    join: Join | None
    speeds: tuple[SpeedTrace | None, ...]
    absent: tuple[int, ...] = ()
    presence: tuple[Change, ...] = ()
    link_bps: tuple[int, ...] = ()
    more_delay_ns: tuple[int, ...] = ()
    pushed: bool = False
    schedule: str | None = None
    schedule_options: tuple[int, ...] = ()
    gate_bps: tuple[tuple[int, ...], ...] = ()

    @property
    def workers(self) -> int:
        """Number of workers."""
        return len(self.draws.step)

    @property
    def steps(self) -> int:
        """Number of steps of each worker."""
        return int(self.draws.step.shape[1])

    @property
    def counts_some(self) -> bool:
        """True if an update counts the gradients of some workers only, and the others' are late."""
        return self.join is not None and self.join.first < self.workers

    def recorded_step(self, worker: int, step: int) -> int:
        """Number of the recorded step that a worker's step repeats."""
        return int(self.draws.step[worker, step])

    def end_of(self, operation: int, worker: int, step: int, begin_ns: float) -> float:
        """End of a computation that begins at a time, in a step of a worker."""
        work_ns = float(self.plan.duration_ns[self.recorded_step(worker, step), operation])
        processor = self.plan.processors[int(self.plan.place[operation]) - len(self.plan.channels)]
        if processor.node != WORKER:
            return begin_ns + work_ns
        factor = self.draws.factor
        work_ns *= float(factor[worker, step if factor.shape[1] > 1 else 0])
        speed = self.speeds[worker]
        return begin_ns + work_ns if speed is None else speed.end_of(begin_ns, work_ns)

    def with_factors_apart(self) -> "TrainingJob":
        """The same job with a factor of its own for each step, which may be changed."""
        factor = np.broadcast_to(self.draws.factor, self.draws.step.shape).copy()
        return replace(self, draws=Draws(step=self.draws.step, factor=factor))

    def first(self, workers: int) -> "TrainingJob":
        """The same job with only its first so many workers, whose draws stay as they are."""
        draws = Draws(step=self.draws.step[:workers], factor=self.draws.factor[:workers])
        return replace(
            self,
            draws=draws,
            speeds=self.speeds[:workers],
            absent=tuple(w for w in self.absent if w < workers),
            presence=tuple(change for change in self.presence if change.worker < workers),
            link_bps=self.link_bps[:workers],
            more_delay_ns=self.more_delay_ns[:workers],
            gate_bps=self.gate_bps[:workers],
        )

    def profiling(self) -> "TrainingJob":
        """The job of one worker that does each recorded step once, in order, at full speed."""
        return replace(
            self.first(1),
            draws=Draws(
                step=np.arange(self.plan.steps, dtype=np.int32)[np.newaxis],
                factor=np.ones((1, 1)),
            ),
            staleness=None,
            join=None if self.join is None else replace(self.join, first=1),
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
    link_bps: Sequence[int],
    server_bps: Sequence[int],
    *,
    run: int,
    horizon_ns: float,
    payload_share: float,
) -> TrainingJob:
    """Draw a run of a workload's job.

    Parameters
    ----------
    maker : of the workload's plans
    link_bps, server_bps : rate of each worker's link, and of each server's
    run : its number
    horizon_ns : until when what goes on for ever is drawn
    payload_share : what part of a link's rate carries messages

    Raises
    ------
    ScenarioError
        A straggler that makes no sense.
    """
    plan, training, workers = maker.plan(run), scenario.training, len(link_bps)
    schedule = scenario.policy.schedule
    under = conditions(
        scenario.straggler,
        training.steps,
        np.array(link_bps, dtype=np.int64),
        np.zeros(workers, dtype=np.int64),
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
        link_bps=tuple(under.worker_bps.tolist()),
        more_delay_ns=tuple(under.delay_ns.tolist()),
        pushed=gradients_of(scenario) == "pushed",
        schedule=schedule,
        schedule_options=()
        if schedule is None
        else tuple(schedule_options(schedule, scenario.policy.schedule_options)),
        gate_bps=tuple(
            tuple(
                round(min(rate_bps, server_bps[plan.channels[gate.channel].server]) * payload_share)
                for gate in plan.gates
            )
            for rate_bps in under.worker_bps.tolist()
        ),
    )


def gradients_of(scenario: Scenario) -> str:
    """Way of gradients to servers: ``pulled``, or ``pushed``, as by default with a schedule."""
    by_default = "pulled" if scenario.policy.schedule is None else "pushed"
    return scenario.training.gradients or by_default
