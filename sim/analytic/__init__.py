"""Throughput from formulas: what `sim` is compared with; one file each, the registry is the folder.

What each one assumes, and what bounds what: docs/background/baselines.md.
"""

import importlib
import pkgutil
from collections.abc import Callable
from typing import cast

from netcosim.errors import ScenarioError
from sim.analytic import baselines
from sim.analytic.one_worker import OneWorker, Phases, one_worker

__all__ = ["OneWorker", "Phases", "Predict", "load", "names", "one_worker", "predict"]

Predict = Callable[[OneWorker, int], float]


def names() -> tuple[str, ...]:
    """The names of all baselines, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(baselines.__path__)))


def load(name: str) -> Predict:
    """``predict(one, workers) -> steps per second`` of the baseline of this name.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    if name not in names():
        raise ScenarioError.at("baseline", name, f"unknown; allowed: {', '.join(names())}")
    return cast("Predict", importlib.import_module(f"{baselines.__name__}.{name}").predict)


def predict(name: str, one: OneWorker, workers: int) -> float:
    """Steps per second of all workers together; times ``one.batch``, examples per second.

    Raises
    ------
    ScenarioError
        No such baseline, less than one worker, or the baseline needs what `one` does not hold.
    """
    return load(name)(one, workers)
