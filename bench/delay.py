"""`./dev bench delay`: bursts over round trips of 1, 5 and 20 ms, measured and predicted.

They run in a guest in virtual time, which has netem.
"""

import sys
from typing import Final

from bench.common.record import Figure, record
from netcosim.cli import run_main
from tests.emu.netem import guest
from tests.emu.netem.delays import SET, Compared, compare

TARGET: Final = "tests.emu.netem.delays:observe"
TIMEOUT_S: Final = 900.0


def main() -> int:
    """Run every transport at every delay, print the table, write the figures."""
    answer = guest.answers({TARGET: {"scenario": SET}}, timeout_s=TIMEOUT_S)[TARGET]
    found = compare(SET, answer)
    notes = [f"in a guest in virtual time, {answer['kernel']}"]
    return record("delay", [figure for each in found for figure in _figures(each)], notes)


def _figures(one: Compared) -> list[Figure]:
    name = f"{one.transport}, round trip {one.round_trip_ns / 1e6:g} ms"
    same = "as predicted" if one.order == one.predicted_order else "other than predicted"
    return [
        Figure(
            name=f"{name}: length of the burst",
            value=one.length_ns / 1e6,
            unit="ms",
            note=f"predicted {one.predicted_length_ns / 1e6:.1f}; order {same}",
        ),
        Figure(
            name=f"{name}: stalls of the link",
            value=one.stalls,
            unit="",
            note=f"predicted {one.predicted_stalls}",
        ),
    ]


if __name__ == "__main__":
    sys.exit(run_main(lambda _: main(), "bench delay"))
