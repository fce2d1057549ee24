"""Analytic throughput models, the baselines that the simulator is compared with.

One file each in `baselines`; the folder is the registry. Their assumptions, and which one bounds
which: docs/background/baselines.md.
"""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import cast

from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from sim.analytic import baselines
from sim.analytic.one_worker import OneWorker, Phases, one_worker

__all__ = ["OneWorker", "Phases", "Predict", "load", "names", "one_worker", "predict"]

Predict = Callable[[OneWorker, int], float]


@cache
def names() -> tuple[str, ...]:
    """The names of all baselines, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(baselines.__path__)))


def load(name: str) -> Predict:
    """Load a baseline by name: ``predict(one, workers) -> steps per second``.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    if name not in names():
        raise ScenarioError.at("baseline", name, unknown(name, names()))
    return cast("Predict", importlib.import_module(f"{baselines.__name__}.{name}").predict)


def predict(name: str, one: OneWorker, workers: int) -> float:
    """Predict steps per second, all workers together; times ``one.batch``, examples per second.

    Raises
    ------
    ScenarioError
        No such baseline, less than one worker, or the baseline needs what `one` does not hold.
    """
    return load(name)(one, workers)
