"""Synchronisation of a job's workers: a bound on staleness, or gradients that servers join."""

from dataclasses import dataclass
from typing import Literal

from netcosim.errors import ScenarioError
from netcosim.policies import load_synchronisation, synchronisation_joins, synchronisation_names
from netcosim.scenario import TrainingSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Rule by which servers join the gradients of a step.

    An update is done when the gradients of `first` workers, or of all that take part if these are
    fewer, have arrived; those that come later are ignored. `by` "tensor": each tensor's update by
    itself. `by` "step": all updates together, once all gradients of these workers are there.
    """

    by: Literal["step", "tensor"]
    first: int


def staleness_of(training: TrainingSpec) -> int | None:
    """Number of steps that a worker may be ahead of the slowest; None: any."""
    return load_synchronisation(training.synchronisation)(training.gap)


def join_of(training: TrainingSpec, workers: int) -> Join | None:
    """Rule by which servers join the gradients of so many workers; None: they do not."""
    if not synchronisation_joins(training.synchronisation):
        return None
    return Join(by=training.join or "step", first=training.first or workers)


def check_join(training: TrainingSpec) -> None:
    """Refuse fields of joined gradients where none are joined.

    Raises
    ------
    ScenarioError
        One is set.
    """
    if synchronisation_joins(training.synchronisation):
        return
    joining = [each for each in synchronisation_names() if synchronisation_joins(each)]
    for name in ("join", "first"):
        value = getattr(training, name)
        if value is not None:
            why = (
                f"has no effect with synchronisation {training.synchronisation};"
                f" it is of {' or '.join(joining)}"
            )
            raise ScenarioError.at(f"training.{name}", value, why)
