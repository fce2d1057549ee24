"""Built-in profiles, scaled to the speed of a processor that others have measured.

Built-in profiles were recorded on a CPU. Zhang et al. (Prophet, ICPP 2021, table 2) measured
ResNet-50 on GPUs, where a step of 64 examples without any communication takes some 0.88 s: at 10
Gbit/s they reach 72.8 examples a second. Here all durations of a profile are multiplied by one
factor, the one that makes ResNet-50's computations take that long. SCALED, not measured.
"""

from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from netcosim.workload import Profile, dump_profile
from netcosim.workload.catalogue import load_profile

STEP_S: Final = 0.879
BATCH: Final = 64
_REFERENCE: Final = "resnet50"


def compute_s(profile: Profile, batch: int) -> float:
    """Seconds of a worker's computations in a step of so many examples, one after the other."""
    nodes = {resource.name: resource.node for resource in profile.step.resources}
    found = 0.0
    mean_ns = np.mean(profile.duration_ns, axis=0)
    for op, ns in zip(profile.step.computes, mean_ns.tolist(), strict=True):
        if nodes[op.resource] == "worker":
            found += ns * (1 - op.batch_share + op.batch_share * batch / profile.batch)
    return found / 1e9


@cache
def factor() -> float:
    """By which all durations are multiplied."""
    return STEP_S / compute_s(load_profile(_REFERENCE), BATCH)


@cache
def scaled(name: str) -> Profile:
    """A built-in profile with all durations multiplied."""
    profile = load_profile(name)
    durations = tuple(tuple(round(ns * factor()) for ns in row) for row in profile.duration_ns)
    return profile.model_copy(update={"name": f"{name}, scaled", "duration_ns": durations})


def write_scaled(folder: Path, name: str) -> Path:
    """Write a scaled profile's file into a folder; return its path."""
    path = folder / f"{name}.json"
    path.write_text(dump_profile(scaled(name)), encoding="utf-8")
    return path


def pushed_bytes(profile: Profile) -> int:
    """Bytes of all gradients of a step."""
    return sum(op.size_bytes for op in profile.step.transfers if op.source == "worker")
