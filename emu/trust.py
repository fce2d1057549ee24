"""Whether a run's figures may be used, and if not, why."""

from collections.abc import Mapping, Sequence

from netcosim.results.run_record import Validity


def reasons_against(judged: Mapping[str, Sequence[Validity]], repetitions: int) -> list[str]:
    """Why the run can't be trusted, one line a reason; empty if it can.

    `judged` has every judgement by cell.

    A run is trusted when every cell has as many valid bursts as were asked for, and nothing was
    wrong with its captures.
    """
    reasons = []
    for cell, validity in judged.items():
        valid = sum(v.valid for v in validity)
        if valid < repetitions:
            causes = sorted({reason for v in validity for reason in v.reasons})
            detail = f": {causes[0]}" if causes else ""
            reasons.append(
                f"{cell}: {valid} of {repetitions} bursts are"
                f" valid after {len(validity)} attempts{detail}"
            )
    return reasons
