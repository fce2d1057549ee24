"""Cynthia's formula for full duplex: Tc is halved, in U1 too (Li et al., section 4.4)."""

from sim.analytic.baselines import cynthia
from sim.analytic.one_worker import OneWorker


def predict(one: OneWorker, workers: int) -> float:
    """Steps per second, all workers together."""
    return cynthia.steps_per_s(one, workers, cynthia.transmission_ns(one) / 2)
