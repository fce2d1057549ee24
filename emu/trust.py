"""Whether a run's figures may be used, and if not, why."""

from collections.abc import Sequence

from emu.cell import CellOutcome


def reasons_against(outcomes: Sequence[CellOutcome], repetitions: int) -> list[str]:
    """Why the run can't be trusted, one line a reason; empty if it can.

    A run is trusted when every cell has as many valid bursts as were asked for, and nothing was
    wrong with its captures.
    """
    reasons = []
    for outcome in outcomes:
        if outcome.valid_bursts < repetitions:
            causes = sorted({reason for v in outcome.validity for reason in v.reasons})
            detail = f": {causes[0]}" if causes else ""
            reasons.append(
                f"{outcome.cell.name}: {outcome.valid_bursts} of {repetitions} bursts are"
                f" valid after {len(outcome.validity)} attempts{detail}"
            )
    return reasons
