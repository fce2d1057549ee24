"""Engines and jobs for tests: what a test does not say is plain."""

from dataclasses import fields
from typing import Any

from netcosim.training.job import TrainingJob
from netcosim.training.plan import Draws, StepPlan
from sim.engine.control import Control
from sim.engine.engine import Engine
from sim.plan import Network, Sending
from tests.sim.naive.plans import make_network, make_sending, same_draws

CONTROL = {field.name for field in fields(Control)}


def make_engine(
    plan: StepPlan,
    draws: Draws | None = None,
    *,
    workers: int = 1,
    steps: int = 1,
    network: Network | None = None,
    sending: Sending | None = None,
    compiled: bool = False,
    **options: Any,
) -> Engine:
    """The generic engine on this job, interpreted: `options` are of it and of its `Control`.

    Plain are draws that are all the same, links of a byte a nanosecond, and first in, first out.
    """
    draws = draws or same_draws(workers, steps)
    network = network or make_network(workers=len(draws.step), servers=plan.servers)
    control = Control(**{name: options.pop(name) for name in CONTROL & options.keys()})
    sending = sending or make_sending()
    return Engine(plan, network, sending, draws, control, compiled=compiled, **options)


def ran(plan: StepPlan, draws: Draws | None = None, **options: Any) -> Engine:
    """The engine of `make_engine`, which has run to its end."""
    engine = make_engine(plan, draws, **options)
    engine.run()
    return engine


def make_job(plan: StepPlan, draws: Draws, **options: Any) -> TrainingJob:
    """A job of workers that wait for nobody, at full speed, but for what `options` say."""
    plain = {"staleness": None, "join": None, "speeds": (None,) * len(draws.step)}
    return TrainingJob(plan=plan, draws=draws, **plain | options)
