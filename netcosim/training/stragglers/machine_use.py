"""Text on the processor and memory use of workers' machines."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from netcosim.training.plan import Floats
from netcosim.training.stragglers.effect import Use

_LISTED: Final = 4


def use_texts(use: Sequence[Use | None]) -> list[str]:
    """Describe each trace of use in one line: its workers, the mean and the largest value.

    Parameters
    ----------
    use : by worker; one that several have is listed once
    """
    workers_of: dict[int, tuple[Use, list[int]]] = {}
    for worker, one in enumerate(use):
        if one is not None:
            workers_of.setdefault(id(one), (one, []))[1].append(worker)
    return [f"{_who(workers)}: {_use_text(one)}" for one, workers in workers_of.values()]


def _use_text(use: Use) -> str:
    parts = []
    if use.cpu is not None:
        mean, most = 100 * _mean(use.time_ns, use.cpu), 100 * use.cpu.max()
        parts.append(f"processors {mean:.0f} % on average, {most:.0f} % at most")
    if use.memory_bytes is not None:
        mean, most = _mean(use.time_ns, use.memory_bytes) / 1e9, use.memory_bytes.max() / 1e9
        parts.append(f"memory {mean:.2f} GB on average, {most:.2f} GB at most")
    return "; ".join(parts)


def _mean(time_ns: Floats, values: Floats) -> float:
    """Mean over the time up to the last row, whose duration is not given."""
    if len(values) == 1:
        return float(values[0])
    return float(np.average(values[:-1], weights=np.diff(time_ns)))


def _who(workers: Sequence[int]) -> str:
    listed = ", ".join(f"w{worker}" for worker in workers[:_LISTED])
    more = len(workers) - _LISTED
    return f"{listed} and {more} more" if more > 0 else listed
