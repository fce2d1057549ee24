"""Work stealing with other thresholds and costs than those that were chosen, one at a time."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from bench.balance.processes import (
    COSTS,
    STEPS,
    STEPS_QUICK,
    iteration_ns,
    machines_of,
    stealing_ns,
)
from bench.common.record import Figure
from netcosim.policies.stealing import BEHIND, FIRST_PART, NEXT_PART, WorkStealing
from netcosim.scenario import CoordinationSpec
from netcosim.training.stragglers.kinds.process import process_names
from sim.coordination.computing import StealingCosts

Json = dict[str, Any]

TIMES: Final = (0.5, 2.0)
"""Of what was chosen."""


def stealing_figures(rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    """Time of an iteration over BSP's on each process, least and most over all that was varied."""
    steps = STEPS_QUICK if quick else STEPS
    for process in process_names():
        machines = machines_of(process, seed=1)
        bsp_ns = iteration_ns(CoordinationSpec(kind="bsp"), machines, steps)
        found = {}
        for name, (rule, costs) in _varied().items():
            found[name] = stealing_ns(machines, steps, rule, costs) / bsp_ns
            rows.append(
                {"part": "stealing", "process": process, "varied": name, "over_bsp": found[name]}
            )
        least, most = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
        yield Figure(
            name=f"{process}: work stealing over BSP, as chosen",
            value=found["chosen"],
            unit="",
            note=f"{found[least]:.3f} with {least} to {found[most]:.3f} with {most}",
        )


def _varied() -> dict[str, tuple[WorkStealing, StealingCosts]]:
    varied: dict[str, tuple[WorkStealing, StealingCosts]] = {"chosen": (WorkStealing(), COSTS)}
    for times in TIMES:
        varied |= {
            f"behind {times * BEHIND:g}": (WorkStealing(behind=times * BEHIND), COSTS),
            f"parts {times * FIRST_PART:g} and {times * NEXT_PART:g}": (
                WorkStealing(first_part=times * FIRST_PART, next_part=times * NEXT_PART),
                COSTS,
            ),
            f"{times * COSTS.checks:g} looks": (
                WorkStealing(),
                replace(COSTS, checks=round(times * COSTS.checks)),
            ),
            f"costs x {times:g}": (
                WorkStealing(),
                replace(COSTS, check_ns=times * COSTS.check_ns, help_ns=times * COSTS.help_ns),
            ),
        }
    return varied
